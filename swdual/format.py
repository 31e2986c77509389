"""How results are shown: what every format offers, and how BLAST prints a value.

A module in ``swdual.formats`` has ``write(results, stream, fields, header)`` and `FIELDS`, the
fields it shows unless others are named (none: its layout is fixed), and is chosen by its name or by
BLAST's number. One that can be converted also has `write_table` and `read_table`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from swdual import registry
from swdual.errors import InputError
from swdual.hits.fields import FIELDS, Kind, columns, needs_alignment, parse_fields
from swdual.hits.query_result import QueryResult
from swdual.io.output import Output
from swdual.io.text import sanitize

Column = Sequence[Any] | NDArray[Any]

NUMBERS = {"0": "pairwise", "5": "xml", "6": "tabular", "7": "commented", "10": "csv", "17": "sam"}
"""BLAST's numbers of the formats."""

NOTHING = "NA"
"""What a table of text shows where there is no value."""


_SURROGATES = re.compile("[\ud800-\udfff]")


class Table(NamedTuple):
    """Rows in chunks of columns; a column holds texts, whole numbers or real numbers."""

    fields: tuple[str, ...]
    chunks: Iterator[list[Column]]


class Format(Protocol):
    """A module in ``swdual.formats``."""

    FIELDS: tuple[str, ...]

    def write(
        self,
        results: Iterable[QueryResult],
        stream: Output,
        fields: Sequence[str],
        *,
        header: bool,
    ) -> None:
        """Write the hits of all queries, the names of the fields first if `header`."""
        ...


class TableFormat(Format, Protocol):
    """A format that tables are converted to and from without losing what they hold."""

    def write_table(self, table: Table, stream: Output, *, header: bool) -> None:
        """Write a table."""
        ...

    def read_table(self, stream: IO[bytes], name: str) -> Table:
        """Return the table in a file."""
        ...


class ChosenFormat(NamedTuple):
    """A format and its fields."""

    format: Format
    fields: tuple[str, ...]

    @property
    def needs_alignment(self) -> bool:
        """Whether alignments must be known."""
        return not self.fields or needs_alignment(self.fields)


def is_format(name: str) -> bool:
    """Return whether a word is the name or the number of a format.

    >>> is_format("6"), is_format("csv"), is_format("evalue")
    (True, True, False)
    """
    return NUMBERS.get(name.lower(), name.lower()) in registry.available("swdual.formats")


def parse_format(text: str) -> ChosenFormat:
    """Return the format and the fields that ``-f`` names, such as "6 qseqid sseqid score".

    Raises
    ------
    InputError
        If there is no such format or field; the message names the nearest.

    >>> parse_format("6 qseqid score").fields
    ('qseqid', 'score')
    """
    for word in text.split():
        if word.startswith("delim="):
            raise InputError(
                f"{word!r} is not supported: format 6 separates fields by tabs, format 10 by commas"
            )
    name, *names = text.replace(",", " ").split() or [""]
    name = name.lower()
    known = registry.available("swdual.formats")
    if NUMBERS.get(name, name) not in known:
        raise InputError(registry.unknown("format", name, [*NUMBERS, *known]))
    module = cast(Format, registry.load("swdual.formats", NUMBERS.get(name, name)))
    if names and not module.FIELDS:
        raise InputError(f"format {name} has no fields to choose, but {' '.join(names)} was given")
    return ChosenFormat(module, parse_fields(names or module.FIELDS))


def make_table(results: Iterable[QueryResult], fields: Sequence[str]) -> Table:
    """Return the hits of all queries as a table, a chunk a query or less."""
    pieces = (piece for found in results for piece in found.pieces())
    return Table(tuple(fields), (columns(piece, fields) for piece in pieces))


def check_value(field: str, value: object, file: str, line: int | None) -> Any:
    """Return a value that was read, as a column of its field holds it.

    Raises
    ------
    InputError
        If the field cannot have it.
    """
    kind = FIELDS[field].kind
    if kind == "text" and isinstance(value, str) and not _SURROGATES.search(value):
        return value
    if kind == "whole" and type(value) is int and -(2**63) <= value < 2**63:
        return value
    if kind == "real":
        if value is None:
            return math.nan
        if type(value) in (int, float):
            try:
                return float(value)  # type: ignore[arg-type]
            except OverflowError:
                pass
    raise InputError(f"{field} is {repr(value)[:50]}, not a {kind} value", file=file, line=line)


def print_column(field: str, column: Column, tab: str = " ") -> list[str]:
    """Return a column as BLAST prints it; `tab` stands for the tabs of texts.

    >>> printed("evalue", [3.14159e-20, 0.0123, 2.5]), printed("bitscore", [31.23, 131.9])
    (['3.14e-20', '0.012', '2.5'], ['31.2', '131'])
    """
    as_text = _PRINTED.get(field)
    kind: Kind = FIELDS[field].kind
    if kind == "text":
        return [sanitize(str(value), tab) for value in column]
    values = column.tolist() if isinstance(column, np.ndarray) else column
    if kind == "whole":
        return [NOTHING if value is None else str(value) for value in values]
    as_text = as_text or repr
    return [NOTHING if value is None or math.isnan(value) else as_text(value) for value in values]


def print_evalue(evalue: float) -> str:
    """Return an E-value as BLAST's tables have it: three digits, 0.0 below 1e-180."""
    if evalue < 1e-180:
        return "0.0"
    if evalue < 0.0009:
        return f"{evalue:.2e}"
    if evalue < 0.1:
        return f"{evalue:.3f}"
    if evalue < 1.0:
        return f"{evalue:.2f}"
    if evalue < 10.0:
        return f"{evalue:.1f}"
    return f"{evalue:.0f}"


def print_bits(bits: float) -> str:
    """Return a bit score as BLAST's tables have it: whole from 100 on."""
    if bits > 99999:
        return f"{bits:.3e}"
    return f"{int(bits)}" if bits > 99.9 else f"{bits:.1f}"


def print_coverage(percent: float) -> str:
    """Return a coverage as BLAST has it: the nearest whole number, but 100 only for all of it."""
    return f"{min(percent, 99.4):.0f}" if percent < 100 else "100"


_PRINTED: dict[str, Callable[[float], str]] = {
    "evalue": print_evalue,
    "bitscore": print_bits,
    "log10_evalue": "{:.3f}".format,
    "pident": "{:.3f}".format,
    "ppos": "{:.2f}".format,
    "qcovhsp": print_coverage,
    "qcovs": print_coverage,
    "scovhsp": "{:.1f}".format,
}
