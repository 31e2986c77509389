"""Comma-separated values (RFC 4180 quoting, Unix line ends); BLAST's format 10."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import IO

from swdual.format import Table, printed, table_of
from swdual.formats._text import read_rows
from swdual.hits.fields import STANDARD
from swdual.hits.query_result import QueryResult
from swdual.output import Output, Utf8

FIELDS = STANDARD


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries."""
    write_table(table_of(results, fields), stream, header=header)


def write_table(table: Table, stream: Output, *, header: bool) -> None:
    """Write a table."""
    writer = csv.writer(Utf8(stream), lineterminator="\n")
    if header:
        writer.writerow(table.fields)
    for chunk in table.chunks:
        texts = [printed(field, column) for field, column in zip(table.fields, chunk, strict=True)]
        writer.writerows(zip(*texts, strict=True))


def read_table(stream: IO[bytes], name: str) -> Table:
    """Return the table in a file: of the fields in its first line, or of the standard ones."""
    text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="")
    return read_rows((row for row in csv.reader(text) if row), name)
