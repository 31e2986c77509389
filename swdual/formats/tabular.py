"""BLAST's format 6: one line a hit, fields separated by tabs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from swdual.format import Table, make_table, print_column
from swdual.formats._text import MAX_ROW_LENGTH, check_named, find_columns, read_rows
from swdual.hits.fields import STANDARD
from swdual.hits.query_result import QueryResult
from swdual.io.input import read_lines
from swdual.io.output import Output, Utf8
from swdual.text.messages import LATIN_1

FIELDS = STANDARD

INVOCATION = "# Invocation: "
"""How DIAMOND begins the comment with its command line."""

_OUTFMT = re.compile(r" (?:-f|--outfmt)[ =]6((?: [a-z]\w*)*)")


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries: see `Format.write`. Control characters are replaced."""
    write_table(make_table(results, fields), stream, header=header)


def write_table(table: Table, stream: Output, *, header: bool) -> None:
    """Write a table: see `TableFormat.write_table`."""
    text = Utf8(stream)
    if header:
        text.write("\t".join(table.fields) + "\n")
    for chunk in table.chunks:
        texts = [
            print_column(field, column) for field, column in zip(table.fields, chunk, strict=True)
        ]
        text.write("".join("\t".join(row) + "\n" for row in zip(*texts, strict=True)))


def read_table(stream: IO[bytes], name: str, fields: tuple[str, ...] = ()) -> Table:
    """Return the table in a file: see `TableFormat.read_table`.

    The first line names the fields; otherwise they are `fields`, or BLAST's twelve. Comments at the
    top as DIAMOND writes them (``--header``) name the fields, too.
    """
    whole = read_lines(stream, name, MAX_ROW_LENGTH)
    texts: Iterator[str] = (line.decode("utf-8-sig", LATIN_1).rstrip("\r\n") for line in whole)
    comments: list[str] = []
    for text in texts:
        if not text.startswith("# ") or not (comments or text.startswith("# DIAMOND ")):
            texts = itertools.chain([text], texts)
            break
        comments.append(text)
    named, line = _find_fields(comments)
    if named and fields:
        check_named(find_columns(named), find_columns(fields), name, line)
    rows = enumerate((text.split("\t") for text in texts), start=len(comments) + 1)
    return read_rows(rows, name, "6", fields or named, line)._replace(comments=comments)


def _find_fields(comments: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Return the columns that a command line of DIAMOND asks for, and its line; else (), 0.

    Parameters
    ----------
    comments
        The comments of the file.

    >>> _find_fields(["# Invocation: diamond blastp -f 6 qseqid sseqid bitscore -k 5"])
    (('qseqid', 'sseqid', 'bitscore'), 1)
    """
    for line, comment in enumerate(comments, start=1):
        if comment.startswith(INVOCATION):
            match = _OUTFMT.search(comment)
            return tuple(match[1].split()) if match else (), line
    return (), 0
