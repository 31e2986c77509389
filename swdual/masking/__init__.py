"""Masks: where sequences have low complexity or repeats.

1. `seg`: segments of proteins in which few kinds of letters occur, as BLAST finds them.
"""
