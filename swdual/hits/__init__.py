"""The hits of a search: columns for each query, and views of single hits.

``targets``
    The records that hits name.
``adjustment_counts``
    How many pairs were adjusted for composition.
``adjusters``
    What adjusts scores for composition.
``columns``
    The hits of one query, as columns.
``further``
    The alignments of hits besides the best.
``inclusion``
    How targets came into the profile of an iterated search.
``aligned_hits``
    The columns, with further alignments and inclusions.
``hit``, ``searchio``
    One row of them; Biopython's object for it.
``query_result``
    All of these, with what users do with them.
``linking``
    E-values of alignments that follow each other: sum statistics.
``taxa``
    Taxa of targets, and the lowest common ancestor of those of a query.
``self_scores``, ``fields``
    Scores relative to those of sequences with themselves; the columns that tables can show.
``sparse``
    The hits of many queries as a sparse matrix.
``shown``
    Tables in notebooks.
"""
