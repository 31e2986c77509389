"""Hits as JSON objects: shared by the formats that are made of them."""

from __future__ import annotations

import itertools
import json
import math
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np

from swdual.errors import InputError
from swdual.format import Column, Table, check_value
from swdual.formats._text import SourceColumn, keep_known
from swdual.hits.fields import DATA, FIELDS

CHUNK_ROWS = 10_000

ObjectPosition = tuple[str, int | None]
"""Where an object is: the file, and the line if it is known."""


def format_objects(table: Table) -> Iterator[str]:
    """Return each row of a table as the text of an object; a value that is missing is null."""
    for chunk in table.chunks:
        lists = [column.tolist() if isinstance(column, np.ndarray) else column for column in chunk]
        for row in zip(*lists, strict=True):
            values = (None if isinstance(x, float) and math.isnan(x) else x for x in row)
            yield json.dumps(dict(zip(table.fields, values, strict=True)))


def parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, for `json.loads`.

    Raises
    ------
    ValueError
        If it has a name twice: one of the values would be lost.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise ValueError(f"an object has the name {twice!r} twice")
    return found


def read_objects(rows: Iterator[tuple[ObjectPosition, dict[str, Any]]]) -> Table:
    """Return objects as a table of the fields of the first.

    Raises
    ------
    InputError
        If no field is known, an object has other fields than the first, or a value is not of its
        field's kind; names the place.
    """
    first = next(rows, None)
    if first is None:
        return Table(DATA, iter(()))
    names = tuple(first[1])
    columns = [SourceColumn(name, name if name in FIELDS else None) for name in names]
    fields = keep_known(columns, *first[0])
    lines = array("q")
    return Table(fields, _chunks(itertools.chain([first], rows), names, fields, lines), lines)


def _chunks(
    rows: Iterator[tuple[ObjectPosition, dict[str, Any]]],
    names: tuple[str, ...],
    fields: tuple[str, ...],
    lines: array[int],
) -> Iterator[list[Column]]:
    while chunk := list(itertools.islice(rows, CHUNK_ROWS)):
        columns: list[list[Any]] = [[] for _ in fields]
        for (file, line), row in chunk:
            if set(row) != set(names):
                raise InputError(
                    f"the fields are not those of the first object: {' '.join(names)}",
                    file=file,
                    line=line,
                )
            for field, column in zip(fields, columns, strict=True):
                column.append(check_value(field, row[field], file, line))
            if line is not None:
                lines.append(line)
        yield list(columns)
