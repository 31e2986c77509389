"""BLAST's format 6: one line a hit, fields separated by tabs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO

from swdual.format import Table, make_table, print_column
from swdual.formats._text import MAX_ROW_LENGTH, read_rows
from swdual.hits.fields import STANDARD
from swdual.hits.query_result import QueryResult
from swdual.io.input import read_lines
from swdual.io.output import Output, Utf8

FIELDS = STANDARD


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

    The first line names the fields; otherwise they are `fields`, or BLAST's twelve.
    """
    whole = read_lines(stream, name, MAX_ROW_LENGTH)
    texts = (line.decode("utf-8-sig", "replace").rstrip("\r\n") for line in whole)
    return read_rows(enumerate((text.split("\t") for text in texts), start=1), name, "6", fields)
