"""Tables of text, read back: names of the columns first, or BLAST's twelve."""

from __future__ import annotations

import itertools
import logging
import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from swdual.errors import InputError
from swdual.format import NOTHING, Column, Table
from swdual.hits.fields import FIELDS, STANDARD, standardize
from swdual.registry import unknown
from swdual.text.messages import pluralize

logger = logging.getLogger("swdual")

CHUNK_ROWS = 10_000

MAX_ROW_LENGTH = 1 << 28
"""Bytes of a line: a row may hold whole sequences."""

MMSEQS_NAMES: dict[str, str | None] = {
    **{"query": "qseqid", "target": "sseqid", "qheader": "qtitle", "theader": "stitle"},
    **{"raw": "score", "bits": "bitscore", "fident": "pident", "alnlen": "length"},
    **{"tstart": "sstart", "tend": "send", "tlen": "slen", "qcov": "qcovhsp", "tcov": "scovhsp"},
    **{"qaln": "qseq", "taln": "sseq", "qseq": "full_qseq", "tseq": "full_sseq"},
    **{"taxid": "staxid", "taxname": "ssciname"},
    **{"qframe": None, "tframe": None},  # which it leaves empty for proteins
}
"""MMseqs2's names of columns (``--format-output``), and our fields; None if we have none."""

MMSEQS_FRACTIONS = ("fident", "qcov", "tcov")
"""What MMseqs2 writes as a fraction, and we as a percentage."""

OTHER_NAMES = (
    *("sblastname", "sblastnames"),  # of BLAST
    # Of DIAMOND.
    *("approx_pident", "corrected_bitscore", "qstrand", "qqual", "full_qqual", "hspnum"),
    *("qseq_translated", "full_qseq_mate", "sphylums", "skingdoms"),
    # Of MMseqs2.
    *("empty", "qset", "qsetid", "tset", "tsetid", "taxlineage"),
    *("qorfstart", "qorfend", "torfstart", "torfend"),
)
"""Names of other programs for what we have no field for: such columns are left out."""

QUERY_IDS = ("qseqid", "qaccver", "qacc")
TARGET_IDS = ("sseqid", "saccver", "sacc", "sallseqid")
"""Fields that tell the same: the first that is there is taken."""

EXAMPLES = ("qcovs", "stitle", "qlen", "slen", "score", "nident", "positive", "qcovhsp")
"""Fields that messages name as examples: often added to BLAST's twelve."""

SEPARATORS = {"6": "\t", "10": ","}
"""What separates the columns of a format, by BLAST's numbers."""

_CALLED = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", " ": "spaces"}
_SAVE = "save the table with tabs between the columns, and with decimal points"

MAX_DIGITS = 4000
"""Python reads no longer numbers."""

MISSING = (NOTHING, "N/A")
"""What stands for a missing number: ours, and BLAST's."""

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_OLD_EXPONENT = re.compile(r"[eE][+-][0-9]+")

Row = tuple[int, list[str]]
"""The line on which a row of text ends, and its values."""


class SourceColumn(NamedTuple):
    """A column of a file.

    Parameters
    ----------
    name
        What the file, or the user, calls it.
    field
        The field that it holds; None if we have no such field.
    fraction
        Whether its numbers are fractions of what the field has as percentages.
    """

    name: str
    field: str | None
    fraction: bool = False


def find_columns(names: Sequence[str]) -> tuple[SourceColumn, ...]:
    """Return the columns that names of ours, BLAST, DIAMOND or MMseqs2 stand for.

    >>> find_columns(["query", "fident"])[1]
    SourceColumn(name='fident', field='pident', fraction=True)
    """
    # MMseqs2's `qseq` is the whole query, BLAST's the aligned part.
    theirs = any(name in MMSEQS_NAMES and name not in FIELDS for name in names)
    known: Mapping[str, str | None] = MMSEQS_NAMES if theirs else {}
    return tuple(
        SourceColumn(
            name, known.get(name, name if name in FIELDS else None), name in MMSEQS_FRACTIONS
        )
        for name in standardize(names)
    )


def parse_names(words: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns that a user gives; `std` stands for twelve.

    Raises
    ------
    InputError
        If no program that we know has such a column; the message names the nearest.
    """
    known = {"std", *FIELDS, *MMSEQS_NAMES, *OTHER_NAMES}
    for word in words:
        if word not in known:
            raise InputError(unknown("field", word, known))
    return tuple(
        itertools.chain.from_iterable(STANDARD if word == "std" else [word] for word in words)
    )


def keep_known(
    columns: Sequence[SourceColumn], file: str, line: int | None = None
) -> tuple[str, ...]:
    """Return the fields of the columns that we know; a warning names the others.

    Parameters
    ----------
    columns, file, line
        The columns of a file, its name, and the line that names them, for messages.

    Raises
    ------
    InputError
        If none is known; the message names the field that is nearest to the first.
    """
    fields = tuple(column.field for column in columns if column.field is not None)
    if not fields and columns:
        raise InputError(unknown("field", columns[0].name, FIELDS), file=file, line=line)
    others = [repr(column.name) for column in columns if column.field is None]
    if others:
        logger.warning(
            "%s: swdual has no field for %s: left out",
            file,
            f"the {'column' if len(others) == 1 else 'columns'} {', '.join(others)}",
        )
    return fields


def read_rows(
    rows: Iterator[Row], name: str, number: str, fields: tuple[str, ...], line: int = 0
) -> Table:
    """Return rows of text as a table.

    The first row may name the columns, by the names of BLAST, DIAMOND, MMseqs2 or ours; otherwise
    they are `fields`.

    Parameters
    ----------
    rows
        The rows, each with its line.
    name
        Name of the file, for messages.
    number
        BLAST's number of the format, for messages.
    fields
        Names of the columns; empty for BLAST's twelve.
    line
        The line that tells these names, if one does; else 0.

    Raises
    ------
    InputError
        If a row has more or fewer values than there are columns, the first row names others than
        `fields`, or a value should be a number and is not; with file and line.
    """
    given = find_columns(fields or STANDARD)
    first = next(rows, None)
    if first is None:
        return Table(keep_known(given, name, line or None), iter(()))
    columns = given
    named = [first[1][0].lstrip("# "), *first[1][1:]]  # some put "#" in front of the names
    if _names_columns(named):
        columns, line = find_columns(named), first[0]
        if fields:
            check_named(columns, given, name, line)
    else:
        if not fields:
            _check_names(named, name, first[0])
        _check_separator(first, len(given), name, number)
        rows = itertools.chain([first], rows)
        if not fields:
            _check_standard(first, name, number)
    if len(columns) > 1:
        rows = (row for row in rows if row[1] != [""])
    lines = array("q")
    known = keep_known(columns, name, line or first[0])
    return Table(known, read_chunks(rows, columns, name, lines), lines)


def _names_columns(values: Sequence[str]) -> bool:
    """Return whether a row has names of columns.

    >>> _names_columns(["query", "target", "lddt"]), _names_columns(["query", "target", "0.5"])
    (True, False)
    """
    if all(value in FIELDS for value in values):
        return True
    query, target = ("query", *QUERY_IDS), ("target", *TARGET_IDS)
    named = all(any(name in values for name in names) for names in (query, target))
    return named and not any(_NUMBER.fullmatch(value.strip()) for value in values)


def _check_names(values: Sequence[str], name: str, line: int) -> None:
    """Check that a row has no names of columns.

    Raises
    ------
    InputError
        If it has, and others that no program that we know has; names the first of these.
    """
    known = {*FIELDS, *MMSEQS_NAMES, *OTHER_NAMES}
    others = [value for value in values if value not in known]
    names = any(value.lower() in known for value in values)
    if others and names and not any(_NUMBER.fullmatch(value.strip()) for value in values):
        raise InputError(unknown("field", others[0], known), file=name, line=line)


def _check_separator(first: Row, expected: int, name: str, number: str) -> None:
    """Check that the columns are not separated by another character.

    Parameters
    ----------
    first, expected
        The first row, and how many columns there should be.
    name, number
        The name of the file, and BLAST's number of the format.

    Raises
    ------
    InputError
        If they are; the message names it, and the remedy.
    """
    line, values = first
    if len(values) == expected or values[0].startswith("# "):
        return
    text = SEPARATORS[number].join(values)
    if text.startswith("sep="):
        message = f"{text[:5]!r} is Excel's: delete this line"
        if text[4:5] != SEPARATORS[number]:
            message += f", and {_SAVE}"
        raise InputError(message, file=name, line=line)
    for separator in sorted(_CALLED, key=text.count, reverse=True):
        parts = [part.strip(' "') for part in text.split(separator)]
        fits = len(parts) in (expected, len(STANDARD)) or _names_columns(parts)
        if separator == SEPARATORS[number] or not (fits or len(parts) > len(values) == 1):
            continue
        others = [number for number, own in SEPARATORS.items() if own == separator]
        raise InputError(
            f"the columns are separated by {_CALLED[separator]}; "
            + (f"use `before={others[0]}`" if others else _SAVE),
            file=name,
            line=line,
        )


def check_named(
    named: Sequence[SourceColumn], given: Sequence[SourceColumn], name: str, line: int
) -> None:
    """Check that the columns that a file names are those that were given.

    Parameters
    ----------
    named, given
        The columns that the file names, and those that were given.
    name, line
        Name of the file, and the line, for messages.

    Raises
    ------
    InputError
        If they differ.
    """
    if [column[1:] for column in named] != [column[1:] for column in given]:
        raise InputError(
            f"the fields are {_show(named)}, but `before` names {_show(given)}; give the format "
            "without fields",
            file=name,
            line=line,
        )


def _show(columns: Sequence[SourceColumn]) -> str:
    return " ".join(column.name for column in columns)


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


def read_chunks(
    rows: Iterator[Row], sources: Sequence[SourceColumn], name: str, lines: array[int]
) -> Iterator[list[Column]]:
    """Yield rows of text as chunks of columns, those of known fields.

    Parameters
    ----------
    rows
        The rows, each with its line.
    sources
        The columns of the file.
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
        for line, row in chunk:
            if len(row) != len(sources):
                raise InputError(
                    f"{pluralize(len(row), 'value', 'values')}, but there "
                    f"{'is' if len(sources) == 1 else 'are'} "
                    f"{pluralize(len(sources), 'field', 'fields')} ({_show(sources)})",
                    file=name,
                    line=line,
                )
        own = [line for line, _ in chunk]
        texts = zip(*(row for _, row in chunk), strict=True)
        columns = [
            _read_column(source, column, name, own)
            for source, column in zip(sources, texts, strict=True)
            if source.field is not None
        ]
        lines.extend(own)
        yield columns


def _read_column(
    source: SourceColumn, texts: Sequence[str], name: str, lines: Sequence[int]
) -> Column:
    """Return the values of a column.

    Parameters
    ----------
    source, texts
        The column, and what it has in each row.
    name, lines
        Name of the file, and the line of each row, for messages.
    """
    assert source.field is not None
    kind = FIELDS[source.field].kind
    if kind == "text":
        return list(texts)
    read = int if kind == "whole" else float
    dtype = np.int64 if kind == "whole" else np.float64
    values: np.ndarray[Any, Any]
    joined = "".join(texts)
    try:
        # Python's numbers may have "_", and digits of other scripts.
        values = np.array(list(map(read, texts)), dtype)
        plain = joined.isascii() and "_" not in joined and bool(np.isfinite(values).all())
    except (ValueError, OverflowError):
        plain = False
    if not plain:
        values = np.array(
            [
                _read_number(source, text, name, line)
                for text, line in zip(texts, lines, strict=True)
            ],
            dtype,
        )
    if source.fraction:
        for row in np.flatnonzero(values > 1)[:1].tolist():
            raise InputError(
                f"{source.name} is {texts[row]!r}, but it is a fraction: at most 1",
                file=name,
                line=lines[row],
            )
        values = np.where(values > 0, np.round(100 * values, 8), values)
    return values


def _read_number(source: SourceColumn, text: str, name: str, line: int) -> float:
    """Return a number that is not written as Python would.

    Parameters
    ----------
    source, text
        The column, and the number.
    name, line
        Where it stands, for messages.
    """
    assert source.field is not None
    whole = FIELDS[source.field].kind == "whole"
    bare = text.strip(" \t")
    if not whole:
        if bare in MISSING:
            return math.nan
        if _OLD_EXPONENT.fullmatch(bare):  # of blastall: no mantissa where it is 1
            return float("1" + bare)
        if _NUMBER.fullmatch(bare):
            return float(bare)
    elif _NUMBER.fullmatch(bare) and bare.lstrip("+-").isdigit():
        if len(bare) < MAX_DIGITS and -(2**63) <= int(bare) < 2**63:
            return int(bare)
        raise InputError(
            f"{source.name} is {text[:50]!r}, which is too large", file=name, line=line
        )
    remedy = "; write decimal points" if _NUMBER.fullmatch(bare.replace(",", ".", 1)) else ""
    raise InputError(f"{source.name} is {text[:50]!r}, not a number{remedy}", file=name, line=line)
