"""Tables of text, read back: names of the fields first, or BLAST's twelve."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

from swdual.errors import InputError
from swdual.format import NOTHING, Column, Table
from swdual.hits.fields import FIELDS, STANDARD, parse_fields

CHUNK_ROWS = 10_000


def read_rows(rows: Iterable[list[str]], name: str) -> Table:
    """Return rows of text as a table.

    Raises
    ------
    InputError
        If a row has more or fewer values than there are fields, or a value is no number where
        there should be one; names file and line.
    """
    rows = iter(rows)
    first = next(rows, None)
    named = first is not None and all(field in FIELDS for field in first)
    fields = parse_fields(first) if first is not None and named else STANDARD
    if first is not None and not named:
        rows = itertools.chain([first], rows)
    return Table(fields, _chunks(rows, fields, name, 2 if named else 1))


def _chunks(
    rows: Iterable[list[str]], fields: tuple[str, ...], name: str, line: int
) -> Iterator[list[Column]]:
    while chunk := list(itertools.islice(rows, CHUNK_ROWS)):
        columns: list[list[Any]] = [[] for _ in fields]
        for number, row in enumerate(chunk, start=line):
            if len(row) != len(fields):
                raise InputError(
                    f"{len(row)} values, but there are {len(fields)} fields ({' '.join(fields)}); "
                    "a table of other fields needs their names in its first line (--header)",
                    file=name,
                    line=number,
                )
            for field, column, text in zip(fields, columns, row, strict=True):
                column.append(value_of(field, text, name, number))
        line += len(chunk)
        yield list(columns)


def value_of(field: str, text: str, name: str, line: int) -> str | int | float:
    """Return the value that a text stands for; file and line are for the error."""
    kind = FIELDS[field].kind
    if kind == "text":
        return text
    try:
        if kind == "whole":
            return int(text)
        return math.nan if text == NOTHING else float(text)
    except ValueError as error:
        raise InputError(f"{field} is {text!r}, not a number", file=name, line=line) from error
