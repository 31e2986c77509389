"""Tables of text with a header, read in pieces."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice
from typing import IO, Literal, NamedTuple

from swdual.errors import InputError
from swdual.scheduling.workload.swf import MAX_JOBS

PIECE_ROWS = 100_000


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
        rows, jobs = self._rows, 0
        while True:
            try:
                numbered = [(rows.line_num, row) for row in islice(rows, PIECE_ROWS)]
            except csv.Error as error:
                line = self._skipped + rows.line_num
                raise InputError(
                    f"is no row of a table: {error}", file=self._name, line=line
                ) from None
            if not numbered:
                break
            numbered = [(self._skipped + line, row) for line, row in numbered if row]
            jobs += len(numbered)
            if jobs > MAX_JOBS:
                raise InputError(
                    f"has more than {MAX_JOBS:,} jobs; cut it in parts", file=self._name
                )
            for line, row in numbered:
                if len(row) != len(self.header):
                    why = f"has {len(row)} columns, but the header {len(self.header)}"
                    raise InputError(
                        f"{why}; is a delimiter in a name?", file=self._name, line=line
                    )
            if numbered:
                lines, cells = zip(*numbered, strict=True)
                columns = zip(self.header, zip(*cells, strict=True), strict=True)
                yield Piece([*lines], dict(columns))
        if not jobs:
            raise InputError("has no jobs; is this a table with a header?", file=self._name)
