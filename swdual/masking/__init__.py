"""Masks: where sequences have low complexity or repeats.

From top to bottom:

1. `mask`: what every mask offers, and how options spell masks;
2. `seg`: segments of proteins in which few kinds of letters occur, as BLAST finds them;
3. `dust`: the same for nucleotides, as BLAST finds them;
4. `tantan`: tandem repeats of either, as tantan finds them.
"""
