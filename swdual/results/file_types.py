"""The format of an output file: what its name says, what was asked for, and whether they agree."""

from __future__ import annotations

import os
from typing import NamedTuple

from swdual.errors import InputError
from swdual.format import NUMBERS, Format, parse_format
from swdual.hits.fields import needs_alignment
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
    ".aln": "pairwise",
    ".xml": "xml",
    ".sam": "sam",
    ".paf": "paf",
}
"""Endings that say the format."""

TEXT_ENDINGS = (".txt", ".out", ".blast")
"""Endings of text in any format."""

OTHER_ENDINGS = {
    ".xls": "old Excel workbooks (.xlsx is for Excel)",
    ".ods": "OpenDocument spreadsheets (LibreOffice opens .xlsx and .csv)",
    ".html": "web pages",
    ".htm": "web pages",
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
    ".npz": "NumPy files",
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
"""Endings of what is neither read nor written, and what it is."""

TABLES_OF_TEXT = ("tabular", "csv", "commented")
"""Formats that programs read under each other's endings."""

COMPRESSED_WITHIN = ("arrow", "parquet", "xlsx")
"""Formats that are no text, and compress what they hold."""


class OutputFormat(NamedTuple):
    """How a file is written: the format's name and module, the fields, and a header or none."""

    name: str
    format: Format
    fields: tuple[str, ...]
    header: bool

    @property
    def needs_alignment(self) -> bool:
        """Whether alignments must be known."""
        return not self.fields or needs_alignment(self.fields)


def detect_format(path: str | os.PathLike[str], *, verb: str = "write") -> str | None:
    """Return the format that a file's name says, or None if it says none.

    Parameters
    ----------
    path
        The file; an ending of a compression is passed over.
    verb
        What is to be done with it, for the message.

    Raises
    ------
    InputError
        If the name says something that is not a format of swdual's.

    >>> format_of("hits.csv.gz"), format_of("hits.txt"), format_of("-")
    ('csv', None, None)
    """
    ending = _ending(path)
    if ending in OTHER_ENDINGS:
        raise InputError(
            f"swdual does not {verb} {OTHER_ENDINGS[ending]}; known endings: {_known_endings()}",
            file=path,
        )
    return ENDINGS.get(ending)


def choose_format(
    path: str | os.PathLike[str],
    outfmt: str | None = None,
    header: bool | None = None,
    *,
    default: str = "tabular",
) -> OutputFormat:
    """Return how a file is written.

    Parameters
    ----------
    path
        The file, or "-" for standard output.
    outfmt
        Format and fields, such as "6 std qcovhsp"; by default what the name says.
    header
        Whether a table of text begins with the names of its fields. By default one in the format
        "csv" does, but not by BLAST's number 10, as BLAST writes none.
    default
        The format where neither says one.

    Raises
    ------
    InputError
        If there is no such format or field, or if whoever opens the file by its name could not
        read it.

    >>> output_format("hits.csv").header, output_format("hits.csv", "10").header
    (True, False)
    """
    by_name = detect_format(path)
    text = (by_name or default) if outfmt is None else outfmt
    chosen = parse_format(text)
    word = text.replace(",", " ").split()[0].lower()
    name = NUMBERS.get(word, word)
    ending = _ending(path)
    agrees = by_name in (None, name) or {by_name, name} <= {*TABLES_OF_TEXT}
    if not agrees or (ending in TEXT_ENDINGS and name in COMPRESSED_WITHIN):
        better = next((each for each, known in ENDINGS.items() if known == name), ".txt")
        raise InputError(
            f"the name ends in {ending}, but the format is {name}; choose a name that ends in "
            f"{better}" + ("" if by_name is None else f", or the format {by_name}"),
            file=path,
        )
    refuse_double_compression(path, name)
    return OutputFormat(
        name, chosen.format, chosen.fields, word == "csv" if header is None else header
    )


def refuse_double_compression(path: str | os.PathLike[str], name: str) -> None:
    """Refuse to compress a file whose format does that itself; readers would not see through it."""
    stem, compression = split_compression(path)
    if compression is not None and name in COMPRESSED_WITHIN:
        raise InputError(
            f"a file of the format {name} is not compressed again: readers expect it as it is; "
            f"write to {os.path.basename(stem)}",
            file=path,
        )


def _ending(path: str | os.PathLike[str]) -> str:
    return os.path.splitext(split_compression(path)[0])[1].lower()


def _known_endings() -> str:
    return (
        f"{' '.join([*ENDINGS, *TEXT_ENDINGS])}, and after those of text {' '.join(COMPRESSIONS)}"
    )
