"""Kinds of comparison besides that of sequences as they are written, one a file.

Each file has one subclass of `swdual.request.comparison.Comparison`, `KIND`. All are asked, and one
at most claims queries, targets and options; where none does, sequences are compared as they are
written.
"""
