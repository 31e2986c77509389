"""Clusters of sequences, made of all pairs that pass: `swdual cluster` and `swdual.find_clusters`.

In the order in which data passes them: `rules` (which pairs pass), `linkage` (which of them make a
cluster) and `clusters` (the result).
"""
