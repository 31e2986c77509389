"""Tables of text with a header, read in pieces."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import partial
from itertools import accumulate, islice
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.scheduling.workload.readers.columns import Wanted, convert, row_error
from swdual.scheduling.workload.swf import MAX_JOBS

OWN = "# swdual "
"""How the line begins that tells what a table written by swdual cannot hold; JSON follows."""

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
        self.header = [word.strip() for word in next(reader, [])]
        self._rows = csv.reader(text, delimiter=delimiter, quoting=quotes)

    def read(self, wanted: Wanted) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
        """Return (rows,) the columns that are wanted, and the line of each row.

        Raises
        ------
        InputError
            If a row or a text is malformed: with the line.
        """
        lines: list[int] = []
        found: dict[str, list[NDArray[Any]]] = {key: [] for key in wanted}
        places = {column: place for place, column in enumerate(self.header)}
        for piece, rows in self.pieces():
            lines += piece
            columns = [*zip(*rows, strict=True)]
            error = partial(row_error, self._name, piece)
            for key, (column, converter) in wanted.items():
                found[key].append(convert(columns[places[column]], column, converter, error))
        empty = [np.zeros(0)]
        arrays = {key: np.concatenate(parts or empty) for key, parts in found.items()}
        return arrays, np.array(lines, np.int64)

    def pieces(self) -> Iterator[tuple[list[int], list[list[str]]]]:
        """Yield the line of each row, and the rows, in pieces.

        Raises
        ------
        InputError
            If a row has another number of columns than the header, or there are too many.
        """
        count, line, width = 0, self._skipped + 1, len(self.header)
        try:
            while rows := [*islice(self._rows, PIECE_ROWS)]:
                # A row has several lines if there are line ends in quotes.
                counts = (1 + sum(cell.count("\n") for cell in row) for row in rows)
                end = self._skipped + self._rows.line_num + 1
                begins = (
                    range(line, end)
                    if end - line == len(rows)
                    else accumulate(counts, initial=line)
                )
                lines, line = [*islice(begins, len(rows))], end
                if {*map(len, rows)} != {width}:
                    lines = [number for number, row in zip(lines, rows, strict=True) if row]
                    rows = [row for row in rows if row]
                    for number, row in zip(lines, rows, strict=True):
                        if len(row) != width:
                            why = f"has {len(row)} columns, but the header {width}"
                            why += "; is a delimiter in a name?"
                            raise InputError(why, file=self._name, line=number)
                count += len(rows)
                if count > MAX_JOBS:
                    raise InputError(f"has more than {MAX_JOBS:,} rows", file=self._name)
                if rows:
                    yield lines, rows
        except csv.Error as error:
            line = self._skipped + self._rows.line_num
            raise InputError(f"is no row of a table: {error}", file=self._name, line=line) from None
