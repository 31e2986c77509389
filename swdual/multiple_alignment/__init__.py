"""Multiple alignments of a query and its hits: rows, filters, complexes and files.

``multiple_alignment``
    A query and the rows that are aligned with it; chains of a complex, whose rows are paired.
``rows``
    Rows from the alignments of hits.
``organisms``
    The organism of a row, by taxonomy ids or header lines.
``filters``
    Which rows stay.
``diversity``
    Kernels: rows that are not too similar to each other, weights of similar rows.
``alphafold_input``
    AlphaFold 3's input: the proteins that need an alignment.
``format``, ``formats``
    How they are written.
"""
