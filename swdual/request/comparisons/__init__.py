"""Kinds of comparison besides that of sequences as they are written, one a file.

Each file has one subclass of `swdual.request.comparison.Comparison`, `KIND`. All are asked, and at
most one claims the sources; where none does, sequences are compared as they are written.
"""
