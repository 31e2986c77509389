"""Kinds of comparison besides that of sequences as they are written, one a file.

Each file has one subclass of `swdual.request.comparison.Comparison`, `KIND`. The first whose
`claim` accepts queries, targets and options is used; where none does, sequences are compared as
they are written.
"""
