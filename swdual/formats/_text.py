"""Tables of text, read back: names of the fields first, or BLAST's twelve."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from swdual.errors import InputError
from swdual.format import NOTHING, Column, Table, check_value
from swdual.hits.fields import FIELDS, STANDARD

CHUNK_ROWS = 10_000

MAX_ROW_LENGTH = 1 << 28
"""Bytes of a line: a row may hold whole sequences."""

MMSEQS_NAMES = {
    **{"query": "qseqid", "target": "sseqid", "qheader": "qtitle", "theader": "stitle"},
    **{"raw": "score", "bits": "bitscore", "fident": "pident", "alnlen": "length"},
    **{"tstart": "sstart", "tend": "send", "tlen": "slen", "qcov": "qcovhsp", "tcov": "scovhsp"},
    **{"qaln": "qseq", "taln": "sseq", "qseq": "full_qseq", "tseq": "full_sseq"},
}
"""Names that MMseqs2 writes in the first line with ``--format-mode 4``, and our fields."""

MMSEQS_FRACTIONS = ("fident", "qcov", "tcov")
"""What MMseqs2 writes as a fraction, and we as a percentage."""

Row = tuple[int, list[str]]
"""The line on which a row of text ends, and its values."""


def read_rows(rows: Iterator[Row], name: str) -> Table:
    """Return rows of text as a table.

    The first row may name the fields, by our names or MMseqs2's; otherwise they are BLAST's twelve.

    Parameters
    ----------
    rows
        The rows, each with its line.
    name
        Name of the file, for messages.

    Raises
    ------
    InputError
        If a row has more or fewer values than there are fields, or a value should be a number and
        is not; with file and line.
    """
    first = next(rows, None)
    if first is None:
        return Table(STANDARD, iter(()))
    if all(field in FIELDS for field in first[1]):
        fields = tuple(first[1])
    elif {"query", "target"} <= {*first[1]} <= {*FIELDS, *MMSEQS_NAMES}:
        fields = tuple(MMSEQS_NAMES.get(field, field) for field in first[1])
        rows = _read_fractions(rows, [field in MMSEQS_FRACTIONS for field in first[1]])
    else:
        fields, rows = STANDARD, itertools.chain([first], rows)
    if len(fields) > 1:
        rows = (row for row in rows if row[1] != [""])
    return Table(fields, read_chunks(rows, fields, name))


def _read_fractions(rows: Iterator[Row], fractions: list[bool]) -> Iterator[Row]:
    """Yield rows with percentages where they have fractions.

    Parameters
    ----------
    rows
        The rows.
    fractions
        Of each column, whether it has fractions.
    """
    for line, row in rows:
        if len(row) == len(fractions):  # else it is refused later
            row = [
                _as_percentage(text) if fraction else text
                for text, fraction in zip(row, fractions, strict=True)
            ]
        yield line, row


def _as_percentage(text: str) -> str:
    """Return a fraction as a percentage; what is no number stays, and is refused later.

    >>> _as_percentage("0.391"), _as_percentage("x")
    ('39.1', 'x')
    """
    try:
        return f"{100 * float(text):.10g}"
    except ValueError:
        return text


def read_chunks(rows: Iterator[Row], fields: tuple[str, ...], name: str) -> Iterator[list[Column]]:
    """Yield rows of text as chunks of columns.

    Parameters
    ----------
    rows
        The rows, each with its line.
    fields
        Names of the fields.
    name
        Name of the file, for messages.

    Raises
    ------
    InputError
        As for `read_rows`.
    """
    while chunk := list(itertools.islice(rows, CHUNK_ROWS)):
        columns: list[list[Any]] = [[] for _ in fields]
        for line, row in chunk:
            if len(row) != len(fields):
                raise InputError(
                    f"{len(row)} values, but there are {len(fields)} fields ({' '.join(fields)}); "
                    "a table of other fields needs their names in its first line (`header=True`)",
                    file=name,
                    line=line,
                )
            for field, column, text in zip(fields, columns, row, strict=True):
                column.append(_value(field, text, name, line))
        yield list(columns)


def _value(field: str, text: str, name: str, line: int) -> Any:
    kind = FIELDS[field].kind
    value: object = text
    try:
        if kind == "whole":
            value = int(text)
        elif kind == "real":
            value = math.nan if text == NOTHING else float(text)
    except ValueError as error:
        raise InputError(f"{field} is {text!r}, not a number", file=name, line=line) from error
    return check_value(field, value, name, line)
