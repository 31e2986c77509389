"""Where the targets lie: a file, or one and its shards, that every backend maps into memory.

``source``
    The records to build from, and their alphabet.
``reader``, ``readers``
    Databases of other programs, as records.
``makedb``
    From these records to a database file.
``build``, ``memory``, ``hashes``
    Sorts records by length and cuts them into blocks; in how much memory; hashes of identifiers.
``masks``, ``_masks``, ``interval_cache``
    Finds masked letters while a database is built, or when it is searched; its kernels.
``taxids``, ``_taxids``
    Taxonomy ids of records while a database is built; the kernels that read them.
``layout``, ``writing``
    What stands where in the file; writes blocks to it and to its shards.
``mapping``, ``remote``, ``storage``
    Bytes of a file or of memory; of a remote file; which file has which block.
``validity``, ``_check``
    Checks before a file is used; the kernel that checks residues.
``blocks``
    Blocks of targets, and their masks.
``database``
    The database as an object.
``subset``
    A view of some targets of a database.
``target_range``
    A range of targets, which a task scores.
``translation``
    The frames of a database of nucleotides, as a database of proteins.
``lookup``, ``_find``
    Finds records by their identifiers; its kernel.
``id_list``
    Lists of identifiers, as options give them.
"""
