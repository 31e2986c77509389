"""The formats that endings of file names stand for."""

from __future__ import annotations

import os

from swdual.errors import InputError
from swdual.io.output import COMPRESSIONS, split_compression

ENDINGS = {
    ".tsv": "tabular",
    ".tab": "tabular",
    ".m8": "tabular",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "xlsx",
    ".npz": "npz",
    ".aln": "pairwise",
    ".xml": "xml",
    ".sam": "sam",
    ".paf": "paf",
    ".html": "html",
    ".htm": "html",
}
"""Endings of file names, and their formats."""

TEXT_ENDINGS = (".txt", ".out", ".blast")
"""Endings of text files in any format."""

OTHER_ENDINGS = {
    ".xls": "old Excel workbooks (.xlsx is for Excel)",
    ".ods": "OpenDocument spreadsheets (LibreOffice opens .xlsx and .csv)",
    ".pdf": "PDF files",
    ".asn": "ASN.1 files",
    ".asn1": "ASN.1 files",
    ".bam": "BAM files (samtools converts .sam)",
    ".cram": "CRAM files (samtools converts .sam)",
    ".gff": "GFF files",
    ".gff3": "GFF files",
    ".bed": "BED files",
    ".fa": "sequences here",
    ".faa": "sequences here",
    ".fna": "sequences here",
    ".fasta": "sequences here",
    ".fastq": "sequences here",
    ".fq": "sequences here",
    ".db": "databases here",
    ".dmnd": "databases here",
    ".sqlite": "databases here",
    ".pkl": "pickled objects",
    ".pickle": "pickled objects",
    ".npy": "NumPy files",
    ".h5": "HDF5 files",
    ".rds": "R's files",
    ".zip": "archives (.gz compresses)",
    ".7z": "archives (.gz compresses)",
    ".rar": "archives (.gz compresses)",
    ".tar": "archives (.gz compresses)",
    ".tgz": "archives (.gz compresses)",
    ".lz4": "LZ4 files (.zst compresses)",
    ".z": "files of 'compress' (.gz compresses)",
}
"""Endings of files that swdual neither reads nor writes here, and what they are."""


def detect_format(path: str | os.PathLike[str], *, verb: str = "write") -> str | None:
    """Return the format that the name of a file stands for, or None.

    Parameters
    ----------
    path
        The file; an ending of a compression is ignored.
    verb
        "read" or "write", for messages.

    Raises
    ------
    InputError
        If the name stands for a format that swdual does not have.

    >>> detect_format("hits.csv.gz"), detect_format("hits.txt"), detect_format("-")
    ('csv', None, None)
    """
    ending = find_ending(path)
    if ending in OTHER_ENDINGS:
        raise InputError(
            f"swdual does not {verb} {OTHER_ENDINGS[ending]}; known endings: "
            f"{' '.join([*ENDINGS, *TEXT_ENDINGS])}, and after those of text "
            f"{' '.join(COMPRESSIONS)}",
            file=path,
        )
    return ENDINGS.get(ending)


def check_csv(path: str | os.PathLike[str]) -> None:
    """Check that the name of a file does not promise another format than CSV.

    Parameters
    ----------
    path
        The file; an ending of a compression is ignored.

    Raises
    ------
    InputError
        If it does.
    """
    try:
        known = detect_format(path)
    except InputError:
        known = "another"
    if known not in (None, "csv"):
        raise InputError(
            "the table is written as CSV; choose a name that ends in .csv, or .csv.gz to compress "
            "it",
            file=path,
        )


def find_ending(path: str | os.PathLike[str]) -> str:
    """Return the ending of a name in lower case, in front of that of a compression.

    Parameters
    ----------
    path
        The file.
    """
    return os.path.splitext(split_compression(path)[0])[1].lower()
