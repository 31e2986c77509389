"""JSON: an array with one object a hit, numbers in full."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import IO

from swdual.errors import InputError
from swdual.format import Table, make_table
from swdual.formats._objects import format_objects, parse_object, read_objects
from swdual.hits.fields import DATA
from swdual.hits.query_result import QueryResult
from swdual.io.output import Output, Utf8

FIELDS = DATA


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries: see `Format.write`. Every object names its fields."""
    write_table(make_table(results, fields), stream, header=header)


def write_table(table: Table, stream: Output, *, header: bool) -> None:
    """Write a table: see `TableFormat.write_table`.

    Each object has a line of its own; a missing value is null.
    """
    text = Utf8(stream)
    separator = "[\n"
    for line in format_objects(table):
        text.write(separator + line)
        separator = ",\n"
    text.write("[]\n" if separator == "[\n" else "\n]\n")


def read_table(stream: IO[bytes], name: str) -> Table:
    """Return the table in a file: see `TableFormat.read_table`.

    The whole file is in memory. The fields are those of its first object.

    Raises
    ------
    InputError
        If it is no array of objects, or an object has other fields than the first.
    """
    try:
        values = json.load(stream, object_pairs_hook=parse_object)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", file=name) from error
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise InputError("expected an array of objects, one a hit", file=name)
    places = ((f"{name}, object {number}", None) for number in range(1, len(values) + 1))
    return read_objects(zip(places, values, strict=True))
