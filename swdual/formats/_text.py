"""Tables of text, read back: names of the fields first, or BLAST's twelve."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterator
from typing import Any

from swdual.errors import InputError
from swdual.format import NOTHING, Column, Table, check_value
from swdual.hits.fields import FIELDS, STANDARD
from swdual.io.text import pluralize

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

EXAMPLES = ("qcovs", "stitle", "qlen", "slen", "score", "nident", "positive", "qcovhsp")
"""Fields that messages name as examples: often added to BLAST's twelve."""

Row = tuple[int, list[str]]
"""The line on which a row of text ends, and its values."""


def read_rows(rows: Iterator[Row], name: str, number: str, fields: tuple[str, ...]) -> Table:
    """Return rows of text as a table.

    The first row may name the fields, by our names or MMseqs2's; otherwise they are `fields`.

    Parameters
    ----------
    rows
        The rows, each with its line.
    name
        Name of the file, for messages.
    number
        BLAST's number of the format, for messages.
    fields
        Names of the fields; empty for BLAST's twelve.

    Raises
    ------
    InputError
        If a row has more or fewer values than there are fields, the first row names others than
        `fields`, or a value should be a number and is not; with file and line.
    """
    first = next(rows, None)
    if first is None:
        return Table(fields or STANDARD, iter(()))
    if all(field in FIELDS for field in first[1]):
        named = tuple(first[1])
    elif {"query", "target"} <= {*first[1]} <= {*FIELDS, *MMSEQS_NAMES}:
        named = tuple(MMSEQS_NAMES.get(field, field) for field in first[1])
        rows = _read_fractions(rows, [field in MMSEQS_FRACTIONS for field in first[1]])
    else:
        named, rows = (), itertools.chain([first], rows)
        if not fields:
            _check_standard(first, name, number)
    if named:
        check_named(named, fields, name, first[0])
    fields = named or fields or STANDARD
    if len(fields) > 1:
        rows = (row for row in rows if row[1] != [""])
    lines = array("q")
    return Table(fields, read_chunks(rows, fields, name, lines), lines)


def check_named(named: tuple[str, ...], fields: tuple[str, ...], name: str, line: int) -> None:
    """Check that the fields that a file names are those that were given.

    Parameters
    ----------
    named, fields
        The fields that the file names; those that were given, or none.
    name, line
        Name of the file, and the line, for messages.

    Raises
    ------
    InputError
        If they differ.
    """
    if fields and named != fields:
        raise InputError(
            f"the fields are {' '.join(named)}, but `before` names {' '.join(fields)}; give the "
            "format without fields",
            file=name,
            line=line,
        )


def _check_standard(first: Row, name: str, number: str) -> None:
    """Check that the first row has BLAST's twelve fields.

    Parameters
    ----------
    first, name, number
        The row, the name of the file, and BLAST's number of the format.

    Raises
    ------
    InputError
        If not; the remedy is to name the fields, or format 7.
    """
    line, values = first
    if len(values) == len(STANDARD):
        return
    if values[0].startswith("# "):
        raise InputError(
            "this looks like BLAST's format 7, with comments; use `before=7`", file=name, line=line
        )
    example = ("std", *EXAMPLES[: len(values) - len(STANDARD)])
    if len(values) < len(STANDARD):
        example = STANDARD[: len(values)]
    raise InputError(
        f"{pluralize(len(values), 'value', 'values')}, but BLAST's standard fields are "
        f"{len(STANDARD)}; name the fields as they were given to BLAST, such as "
        f'`before="{number} {" ".join(example)}"`',
        file=name,
        line=line,
    )


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


def read_chunks(
    rows: Iterator[Row], fields: tuple[str, ...], name: str, lines: array[int]
) -> Iterator[list[Column]]:
    """Yield rows of text as chunks of columns.

    Parameters
    ----------
    rows
        The rows, each with its line.
    fields
        Names of the fields.
    name
        Name of the file, for messages.
    lines
        Gets the line of each row.

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
                    f"{pluralize(len(row), 'value', 'values')}, but there "
                    f"{'is' if len(fields) == 1 else 'are'} "
                    f"{pluralize(len(fields), 'field', 'fields')} ({' '.join(fields)})",
                    file=name,
                    line=line,
                )
            for field, column, text in zip(fields, columns, row, strict=True):
                column.append(_value(field, text, name, line))
            lines.append(line)
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
