"""Exact Smith-Waterman search of proteins and nucleotides."""

__version__ = "0.1.0"
