"""The format of an output file, by its name and by the user's choice, which must agree."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from swdual.errors import InputError
from swdual.format import Format, format_needs_alignment, full_name, parse_format
from swdual.io.endings import ENDINGS, TEXT_ENDINGS, detect_format, find_ending
from swdual.io.file_kind import PAGE, TABLE, FileKind, begins_with, is_table
from swdual.io.output import split_compression

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
    ending = find_ending(path)
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
