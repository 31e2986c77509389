"""Comma-separated values (RFC 4180 quoting, Unix line ends); BLAST's format 10."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from swdual.errors import InputError
from swdual.format import Table, make_table, print_column
from swdual.formats._text import MAX_ROW_LENGTH, Row, read_rows
from swdual.hits.fields import STANDARD
from swdual.hits.query_result import QueryResult
from swdual.io.input import read_lines
from swdual.io.output import Output, Utf8
from swdual.text.messages import LATIN_1

FIELDS = STANDARD

MAX_TEXT_LENGTH = 2**31 - 1
"""Characters of a value; Python's own bound is shorter than a protein may be."""


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries: see `Format.write`."""
    write_table(make_table(results, fields), stream, header=header)


def write_table(table: Table, stream: Output, *, header: bool) -> None:
    """Write a table: see `TableFormat.write_table`."""
    writer = csv.writer(Utf8(stream), lineterminator="\n")
    if header:
        writer.writerow(table.fields)
    for chunk in table.chunks:
        texts = [
            print_column(field, column, tab="\t")
            for field, column in zip(table.fields, chunk, strict=True)
        ]
        writer.writerows(zip(*texts, strict=True))


def read_table(stream: IO[bytes], name: str, fields: tuple[str, ...] = ()) -> Table:
    """Return the table in a file: see `TableFormat.read_table`.

    The first line names the fields; otherwise they are `fields`, or BLAST's twelve.
    """
    return read_rows(_rows(stream, name), name, "10", fields)


def _rows(stream: IO[bytes], name: str) -> Iterator[Row]:
    csv.field_size_limit(max(csv.field_size_limit(), MAX_TEXT_LENGTH))
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors=LATIN_1, newline="")
    reader = csv.reader(read_lines(text, name, MAX_ROW_LENGTH))
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=name, line=reader.line_num) from error
    finally:
        if not stream.closed:
            text.detach()
