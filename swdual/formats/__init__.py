"""How results are shown: one format a file."""
