"""Formats of multiple alignments, one per file: see `swdual.multiple_alignment.format`."""
