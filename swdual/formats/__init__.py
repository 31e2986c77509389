"""How results are shown: one format a file.

``_header``
    What formats that are no tables share.
``tabular``, ``commented``, ``csv``, ``_text``
    Tables as text; ``_text`` reads them back.
``pairwise``
    Lists of hits and their alignments, to read.
``json``, ``jsonl``, ``_objects``
    An object for each hit; ``_objects`` makes it.
``xml``, ``sam``, ``paf``
    BLAST's XML, and the formats of read mappers.
``arrow``, ``parquet``, ``xlsx``, ``_arrow``
    Files with typed columns, and Excel's workbooks; ``_arrow`` makes the columns.
``html``, ``_report_table``
    A report to look at, in one file; ``_report_table`` makes one of a table. The folder `_html` has
    the scripts.
``lca``
    The lowest common ancestor of the organisms that each query hits.
``npz``
    A sparse matrix of one number for each hit.
"""
