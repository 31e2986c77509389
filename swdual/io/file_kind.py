"""Kinds of files that swdual writes: which existing files of a name they may replace."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable
from dataclasses import dataclass

HEAD_BYTES = 4096
"""How much of a file tells its kind."""

_COMMENTED = re.compile(rb"# [A-Z]*BLAST[A-Z]? ")
_NO_WORD = re.compile(rb"\s|[^\w.|:-]")
_A3M = re.compile(rb"\s*>|#\d+(,\d+)*\t\d+(,\d+)*\n>")
"""Rows; that of a complex begins with the lengths of its chains, and how often each occurs."""

_INTERVALS = re.compile(rb"(?:>[^\n]*\n)+(?:\d+ - \d+\n|\Z)")


@dataclass(frozen=True)
class FileKind:
    """A kind of files.

    Parameters
    ----------
    name
        What such a file is called in messages, with its article.
    endings
        How names of such files end, without the ending of a compression.
    begins
        Returns whether a file that begins with these bytes, at most `HEAD_BYTES`, is of this kind.
    """

    name: str
    endings: tuple[str, ...]
    begins: Callable[[bytes], object]

    def fits(self, path: str, head: bytes) -> bool:
        """Return whether a file is of this kind, by its name or by how it begins.

        Parameters
        ----------
        path
            The file, without the ending of a compression.
        head
            Its first bytes; an empty file is of every kind.
        """
        ending = os.path.splitext(path)[1].lower()
        return not head or ending in self.endings or bool(self.begins(head))


def begins_with(*openings: bytes) -> Callable[[bytes], bool]:
    """Return a function that tells whether bytes begin with one of `openings`, behind blanks."""
    return lambda head: head.lstrip().startswith(openings)


def is_table(head: bytes) -> bool:
    """Return whether text is a table: lines of equally many columns, or of one word.

    >>> is_table(b"q1\\tt1\\t98.5\\nq1\\tt2\\t50.0\\n"), is_table(b"#!/bin/sh\\nls -l\\n")
    (True, False)
    """
    if _COMMENTED.match(head):
        return True
    lines = head.decode("utf-8", "replace").split("\n")
    if len(lines) > 1:
        lines.pop()  # empty, or cut
    if "\0" in lines[0]:
        return False
    rows = [line.split("\t") for line in lines], [*csv.reader(lines)]
    for widths in ({len(row) for row in each} for each in rows):
        if len(widths) == 1 and widths != {1}:
            return True
    return not any(_NO_WORD.search(line.encode()) for line in lines)


FASTA = FileKind(
    "a FASTA file",
    (".fa", ".faa", ".fas", ".fasta", ".ffn", ".fna", ".frn", ".mpfa", ".pep", ".seq"),
    begins_with(b">"),
)
A3M = FileKind("an a3m file", (".a3m",), _A3M.match)
INTERVALS = FileKind("a table of intervals", (".interval", ".intervals"), _INTERVALS.match)
BED = FileKind("a BED file", (".bed",), is_table)
TABLE = FileKind("a table", (".csv", ".m8", ".tab", ".tsv"), is_table)
PARQUET = FileKind("a Parquet file", (".parquet",), begins_with(b"PAR1"))
JSON = FileKind("a JSON file", (".json",), begins_with(b"{", b"["))
PAGE = FileKind("a page", (".htm", ".html"), begins_with(b"<!DOCTYPE html"))
DRAWING = FileKind(
    "a drawing", (".pdf", ".png", ".svg"), begins_with(b"%PDF-", b"\x89PNG", b"<?xml", b"<svg")
)
