"""Databases of other programs, one module for each kind: see `swdual.database.reader`.

``blast``, ``_volume``, ``_alias``, ``_deflines``, ``_bases``
    BLAST databases; one volume; files that name volumes; kernels for headers, bases and masks.
``mmseqs``, ``_entries``
    MMseqs2 databases; the kernel that reads their index.
``diamond``
    DIAMOND databases.
``_records``, ``_codes``
    What the readers share: mapped files and batches; the kernel that copies residues.
"""
