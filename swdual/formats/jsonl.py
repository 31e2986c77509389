"""JSON Lines: one object a hit, numbers in full."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from swdual.errors import InputError
from swdual.format import Table, make_table
from swdual.formats._objects import ObjectPosition, format_objects, parse_object, read_objects
from swdual.formats._text import MAX_ROW_LENGTH
from swdual.hits.fields import DATA
from swdual.hits.query_result import QueryResult
from swdual.io.input import read_lines
from swdual.io.output import Output, Utf8

FIELDS = DATA


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries: see `Format.write`. Every object names its fields."""
    write_table(make_table(results, fields), stream, header=header)


def write_table(table: Table, stream: Output, *, header: bool) -> None:
    """Write a table: see `TableFormat.write_table`. A missing value is null."""
    text = Utf8(stream)
    for line in format_objects(table):
        text.write(line + "\n")


def read_table(stream: IO[bytes], name: str) -> Table:
    """Return the table in a file: see `TableFormat.read_table`.

    The fields are those of its first object.

    Raises
    ------
    InputError
        If a line is no object, or has other fields than the first.
    """
    return read_objects(_objects(stream, name))


def _objects(stream: IO[bytes], name: str) -> Iterator[tuple[ObjectPosition, dict[str, Any]]]:
    for number, line in enumerate(read_lines(stream, name, MAX_ROW_LENGTH), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, object_pairs_hook=parse_object)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON: {error}", file=name, line=number) from error
        if not isinstance(value, dict):
            raise InputError("expected an object, one a line", file=name, line=number)
        yield (name, number), value
