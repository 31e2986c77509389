"""Tables of text with a header, read in pieces."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.io.stream import open_text
from swdual.scheduling.workload.readers.columns import Wanted, check_once, convert, row_error
from swdual.scheduling.workload.swf import MAX_JOBS
from swdual.text.messages import quote

Row = TypeVar("Row")

OWN = "# swdual "
"""How the line begins that tells what a table written by swdual cannot hold; JSON follows."""

FREE = ("jobname", "submitline", "comment", "admincomment", "systemcomment", "workdir")
"""Columns of sacct that users fill as they like."""

PIECE_ROWS = 1_000
"""Few enough for the caches of the processor: more take twice the time."""


class TextTable:
    """An open table of text.

    Parameters
    ----------
    stream, name
        The text, and its file for messages.
    delimiters
        Characters of which the most frequent one in the header is the delimiter.
    quotes
        How texts are quoted: a constant of `csv`.

    Attributes
    ----------
    header
        The names of the columns.
    notes
        What `swdual` wrote about the table, behind `OWN` in a line before the header, or None.
    """

    def __init__(
        self,
        stream: IO[bytes],
        name: str,
        delimiters: str,
        quotes: Literal[0, 3] = csv.QUOTE_MINIMAL,
    ) -> None:
        text = io.TextIOWrapper(stream, "utf-8", "surrogateescape", newline="")
        self.notes: str | None = None
        self._name, self._skipped, line = name, 0, ""
        for line in text:
            self._skipped += 1
            if line.startswith(OWN):
                self.notes = line.removeprefix(OWN)
            if line.strip() and not line.startswith("#"):
                break
        delimiter = max(delimiters, key=line.count)
        reader = csv.reader([line], delimiter=delimiter, quoting=quotes)
        self._first = next(reader, [])
        self.header = [word.strip() for word in self._first]
        self._rows = csv.reader(text, delimiter=delimiter, quoting=quotes)

    def read(self, wanted: Wanted) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
        """Return (rows,) the columns that are wanted, and the line of each row.

        Raises
        ------
        InputError
            If a row or a text is malformed: with the line.
        """
        check_once(self.header, wanted, self._name)
        numbers = [np.zeros(0, np.int64)]
        found: dict[str, list[NDArray[Any]]] = {key: [] for key in wanted}
        places = {column: place for place, column in enumerate(self.header)}
        for lines, rows in self.pieces():
            numbers.append(np.array(lines))
            columns = [*zip(*rows, strict=True)]
            error = partial(row_error, self._name, lines)
            for key, (column, converter) in wanted.items():
                found[key].append(convert(columns[places[column]], column, converter, error))
        empty = [np.zeros(0)]
        # The parts of a column are let go once they are joined.
        arrays = {key: np.concatenate(found.pop(key) or empty) for key in wanted}
        return arrays, np.concatenate(numbers)

    def pieces(self) -> Iterator[tuple[list[int], list[list[str]]]]:
        """Yield the line of each row, and the rows, in pieces; without headers between them.

        Raises
        ------
        InputError
            If a row has another number of columns than the header, or there are too many.
        """
        lines: list[int] = []
        rows: list[list[str]] = []
        end, width = 0, len(self.header)
        try:
            for row in islice(self._rows, MAX_JOBS):
                line, end = self._skipped + end + 1, self._rows.line_num  # it may be several
                if row == self._first:
                    continue
                if len(row) == width:
                    lines.append(line)
                    rows.append(row)
                elif row:
                    why = (
                        f"has {len(row)} columns, but the header {width}; is a delimiter in a name"
                    )
                    why += "?" if len(row) > width else ", or was the line cut?"
                    if free := [name for name in self.header if name.lower() in FREE]:
                        why += f" Leave {', '.join(free)} out"
                    raise InputError(why, file=self._name, line=line)
                if len(rows) == PIECE_ROWS:
                    yield lines, rows
                    lines, rows = [], []
            if rows:
                yield lines, rows
            if next(self._rows, None) is not None:
                raise InputError(f"has more than {MAX_JOBS:,} rows", file=self._name)
        except csv.Error as error:
            line = self._skipped + self._rows.line_num
            raise InputError(f"is no row of a table: {error}", file=self._name, line=line) from None


def parse_rows(
    path: str | os.PathLike[str], columns: Sequence[str], parse: Callable[..., Row]
) -> list[Row]:
    """Return what the rows of a small CSV file mean.

    Parameters
    ----------
    path
        The file, compressed or not.
    columns
        Its columns, which may be in any order.
    parse
        Returns what a row means, whose texts it takes by the names of the columns.

    Raises
    ------
    InputError
        If the columns are other ones, or ``parse`` says so: with the line.
    """
    found = []
    name = os.fspath(path)
    with open_text(Path(path)) as stream:  # a path, as "-" would be standard input
        table = TextTable(stream, name, ",")
        header = [column.lower() for column in table.header]
        if sorted(header) != sorted(columns):
            given = quote(",".join(table.header))
            why = f"the first line must name the columns {', '.join(columns)}, not {given}"
            raise InputError(why, file=name, line=1)
        for lines, rows in table.pieces():
            for line, row in zip(lines, rows, strict=True):
                try:
                    found.append(parse(**dict(zip(header, map(str.strip, row), strict=True))))
                except InputError as error:
                    raise InputError(error.message, file=name, line=line) from error
    return found
