"""The format of an output file, by its name and by the user's choice, which must agree."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from swdual.errors import InputError
from swdual.format import Format, format_needs_alignment, full_name, parse_format
from swdual.io.file_kind import PAGE, TABLE, FileKind, begins_with, is_table
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

BEGINNINGS: dict[str, Callable[[bytes], object]] = {
    "tabular": is_table,
    "csv": is_table,
    "commented": is_table,
    "lca": is_table,
    "paf": is_table,
    "json": begins_with(b"["),
    "jsonl": begins_with(b"{"),
    "parquet": begins_with(b"PAR1"),
    "arrow": begins_with(b"ARROW1"),
    "xlsx": begins_with(b"PK"),
    "npz": begins_with(b"PK"),
    "pairwise": begins_with(b"swdual "),
    "xml": begins_with(b"<?xml"),
    "sam": begins_with(b"@HD\t"),
    "html": PAGE.begins,
}
"""How files of each format begin."""

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

TABLES_OF_TEXT = ("tabular", "csv", "commented", "lca")
"""Formats of text that programs read whatever the ending is."""

SELF_COMPRESSED = ("arrow", "npz", "parquet", "xlsx")
"""Binary formats that compress their content themselves."""


class OutputFormat(NamedTuple):
    """How a file is written: name and module of the format, fields, and whether with a header."""

    name: str
    format: Format
    fields: tuple[str, ...]
    header: bool

    @property
    def needs_alignment(self) -> bool:
        """Whether the format needs alignments."""
        return format_needs_alignment(self.format, self.fields)

    @property
    def kind(self) -> FileKind:
        """The kind of the file."""
        return find_kind(self.name)


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
    ending = _ending(path)
    if ending in OTHER_ENDINGS:
        raise InputError(
            f"swdual does not {verb} {OTHER_ENDINGS[ending]}; known endings: "
            f"{' '.join([*ENDINGS, *TEXT_ENDINGS])}, and after those of text "
            f"{' '.join(COMPRESSIONS)}",
            file=path,
        )
    return ENDINGS.get(ending)


def find_kind(name: str) -> FileKind:
    """Return the kind of files of a format; what is no format of hits is a table.

    A name may say nothing, such as hits.txt: text may also replace format 0, which names swdual.
    """
    if name not in BEGINNINGS:
        return TABLE
    alike = TABLES_OF_TEXT if name in TABLES_OF_TEXT else (name,)
    endings = tuple(ending for ending, format in ENDINGS.items() if format in alike)
    own = BEGINNINGS[name]
    others = () if name in SELF_COMPRESSED else (BEGINNINGS["pairwise"],)
    return FileKind(
        f"output in the format {name}",
        endings,
        lambda head: any(begins(head) for begins in (own, *others)),
    )


def choose_format(
    path: str | os.PathLike[str],
    outfmt: str | None = None,
    header: bool | None = None,
    *,
    default: str = "tabular",
) -> OutputFormat:
    """Return how to write a file.

    Parameters
    ----------
    path
        The file, or "-" for standard output.
    outfmt
        Format and fields, such as "6 std qcovhsp"; by default the name's format.
    header
        Whether to write the names of the fields first. By default only for the name "csv", not for
        BLAST's number 10, as BLAST writes none.
    default
        The format if neither `outfmt` nor the name tells it.

    Raises
    ------
    InputError
        If there is no such format or field, or the name of the file stands for another format, or
        for a compression of one that compresses already: programs could not read that.

    >>> choose_format("hits.csv").header, choose_format("hits.csv", "10").header
    (True, False)
    """
    by_name = detect_format(path)
    text = (by_name or default) if outfmt is None else outfmt
    chosen = parse_format(text)
    word = text.replace(",", " ").split()[0].lower()
    name = full_name(word)
    ending = _ending(path)
    agrees = by_name in (None, name) or {by_name, name} <= {*TABLES_OF_TEXT}
    if not agrees or (ending in TEXT_ENDINGS and name in SELF_COMPRESSED):
        better = next((end for end, known in ENDINGS.items() if known == name), ".txt")
        raise InputError(
            f"the name ends in {ending}, but the format is {name}; choose a name that ends in "
            f"{better}" + ("" if by_name is None else f", or the format {by_name}"),
            file=path,
        )
    stem, compression = split_compression(path)
    if compression is not None and name in SELF_COMPRESSED:
        raise InputError(
            f"format {name} compresses already, and programs do not read it compressed again; "
            f"write to {os.path.basename(stem)}",
            file=path,
        )
    return OutputFormat(
        name, chosen.format, chosen.fields, word == "csv" if header is None else header
    )


def _ending(path: str | os.PathLike[str]) -> str:
    return os.path.splitext(split_compression(path)[0])[1].lower()
