"""Tables of text with a header, read in pieces."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import accumulate, islice
from typing import IO, Literal, NamedTuple

from swdual.errors import InputError
from swdual.scheduling.workload.swf import MAX_JOBS

PIECE_ROWS = 1_000
"""Few enough for the caches of the processor: more take twice the time."""


class Piece(NamedTuple):
    """Some rows: the line of each, and the texts of each column by its name."""

    lines: list[int]
    columns: dict[str, tuple[str, ...]]


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
    comments
        The lines with a ``#`` before the header.
    header
        The names of the columns.
    """

    def __init__(
        self,
        stream: IO[bytes],
        name: str,
        delimiters: str,
        quotes: Literal[0, 3] = csv.QUOTE_MINIMAL,
    ) -> None:
        text = io.TextIOWrapper(stream, "utf-8", "surrogateescape", newline="")
        self.comments: list[str] = []
        self._name, self._skipped, line = name, 0, ""
        for line in text:
            self._skipped += 1
            if line.startswith("#"):
                self.comments.append(line)
            elif line.strip():
                break
        delimiter = max(delimiters, key=line.count)
        reader = csv.reader([line], delimiter=delimiter, quoting=quotes)
        self.header = [word.strip() for word in next(reader, [])]
        self._rows = csv.reader(text, delimiter=delimiter, quoting=quotes)

    def pieces(self) -> Iterator[Piece]:
        """Yield the rows in pieces.

        Raises
        ------
        InputError
            If a row has another number of columns than the header, or there are no rows.
        """
        jobs, line, width = 0, self._skipped + 1, len(self.header)
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
                jobs += len(rows)
                if jobs > MAX_JOBS:
                    raise InputError(f"has more than {MAX_JOBS:,} jobs", file=self._name)
                if rows:
                    columns = zip(*rows, strict=True)
                    yield Piece(lines, dict(zip(self.header, columns, strict=True)))
        except csv.Error as error:
            line = self._skipped + self._rows.line_num
            raise InputError(f"is no row of a table: {error}", file=self._name, line=line) from None
        if not jobs:
            raise InputError("has no jobs; is this a table with a header?", file=self._name)
