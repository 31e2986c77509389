"""JSON Lines: one object a hit, numbers in full."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import numpy as np

from swdual.errors import InputError
from swdual.format import Column, Table, checked, table_of
from swdual.formats._text import LONGEST_ROW
from swdual.hits.fields import DATA, known_fields
from swdual.hits.query_result import QueryResult
from swdual.input import lines
from swdual.output import Output, Utf8

FIELDS = DATA
CHUNK_ROWS = 10_000


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries; every object names its fields, so `header` adds nothing."""
    write_table(table_of(results, fields), stream, header=header)


def write_table(table: Table, stream: Output, *, header: bool) -> None:
    """Write a table; a value that is missing is null."""
    text = Utf8(stream)
    for chunk in table.chunks:
        lists = [column.tolist() if isinstance(column, np.ndarray) else column for column in chunk]
        for row in zip(*lists, strict=True):
            values = (None if isinstance(x, float) and math.isnan(x) else x for x in row)
            text.write(json.dumps(dict(zip(table.fields, values, strict=True))) + "\n")


def read_table(stream: IO[bytes], name: str) -> Table:
    """Return the table in a file: of the fields of its first object.

    Raises
    ------
    InputError
        If a line is no object, or has other fields than the first; names file and line.
    """
    rows = _objects(stream, name)
    first = next(rows, None)
    if first is None:
        return Table(FIELDS, iter(()))
    fields = known_fields(list(first[1]))
    return Table(fields, _chunks(itertools.chain([first], rows), fields, name))


def _objects(stream: IO[bytes], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines(stream, name, LONGEST_ROW), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON: {error}", file=name, line=number) from error
        if not isinstance(value, dict):
            raise InputError("expected an object, one a line", file=name, line=number)
        yield number, value


def _chunks(
    rows: Iterator[tuple[int, dict[str, Any]]], fields: tuple[str, ...], name: str
) -> Iterator[list[Column]]:
    while chunk := list(itertools.islice(rows, CHUNK_ROWS)):
        columns: list[list[Any]] = [[] for _ in fields]
        for number, row in chunk:
            if set(row) != set(fields):
                raise InputError(
                    f"the fields are not those of the first object: {' '.join(fields)}",
                    file=name,
                    line=number,
                )
            for field, column in zip(fields, columns, strict=True):
                column.append(checked(field, row[field], name, number))
        yield list(columns)
