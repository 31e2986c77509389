"""What is compared: letters and their codes, records of a file, and the scores of letter pairs.

``alphabet``
    Letters and their codes.
``stream``, ``detection``
    Text as pieces of whole records; whether they hold proteins or nucleotides.
``fasta``, ``_parse``, ``validation``
    Records of FASTA and FASTQ files; the kernel that reads them; their errors.
``records``, ``objects``, ``pair_table``
    Sequences from the objects that users have; those of other libraries; pairs in a table.
``sequence``, ``location``
    One sequence, and batches of them; a part of one, as users name it.
``genetic_codes``, ``translation``, ``frames``
    Codons and their amino acids; the proteins of a frame; how a sequence is read to be compared.
``interval_file``
    Files with the masked intervals of sequences, read and written.
``matrices``, ``scoring``
    Substitution matrices; a matrix with gap penalties.
``synthesis``
    Artificial protein families, for tests and benchmarks.
"""
