"""Masks: where sequences have low complexity or repeats.

1. `seg`: segments of proteins in which few kinds of letters occur, as BLAST finds them;
2. `dust`: the same for nucleotides, as BLAST finds them;
3. `tantan`: tandem repeats of either, as tantan finds them.
"""
