"""How results are shown: what every format offers, and how BLAST prints a value.

A module in ``swdual.formats`` is chosen by its name or by BLAST's number. It has
``write(results, stream, fields, *, header)``, and `FIELDS`: the fields it shows unless others are
named. Empty `FIELDS` stand for a fixed layout, for which alignments are always computed, unless the
module says ``ALIGNED = False``. `STD` are the fields that ``std`` stands for, if not `STANDARD`. A
format that can be converted also has `write_table` and `read_table`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from swdual import registry
from swdual.errors import InputError
from swdual.hits.fields import FIELDS, STANDARD, Kind, columns, needs_alignment, parse_fields
from swdual.hits.fields import check_taxonomy as check_fields_taxonomy
from swdual.hits.query_result import QueryResult
from swdual.hits.targets import TargetRecords
from swdual.hits.taxa import require_taxonomy
from swdual.io.output import Output
from swdual.request.search_parameters import SearchParameters
from swdual.text.messages import sanitize

Column = Sequence[Any] | NDArray[Any]

NUMBERS = {"0": "pairwise", "5": "xml", "6": "tabular", "7": "commented", "10": "csv", "17": "sam"}
"""BLAST's numbers of the formats."""

REPLACED = {
    **dict.fromkeys("1234", "0 (pairwise), or in a report (html) the alignments as A3M"),
    **dict.fromkeys(("8", "9", "11"), "json or parquet, which swdual convert turns into others"),
    **dict.fromkeys(("12", "13", "15"), "json, one object a hit"),
    **dict.fromkeys(("14", "16"), "5 (xml), BLAST's older XML"),
    "18": "lca, or 6 with the fields staxids, sscinames and slineage",
}
"""BLAST's numbers of formats that we lack, and what to take instead."""

SYNONYMS = {**NUMBERS, "tsv": "tabular", "102": "lca"}
"""All other names of the formats."""

UNTRANSLATED = ("sam", "paf")
"""Formats whose operations run along both sequences as given."""

ORGANISMS = ("lca",)
"""Formats that need the taxonomy of the targets."""

REPORT_ALIGNMENTS = 500
"""Hits of a query whose alignments a report holds, unless another number is asked for."""

NOTHING = "NA"
"""What a table of text shows where there is no value."""

BLAST_NOTHING = {"qcovus": "N/A"}
"""The same for fields of which BLAST shows it."""


_SURROGATES = re.compile("[\ud800-\udfff]")


class Table(NamedTuple):
    """Rows in chunks of columns; a column holds texts, whole numbers or real numbers.

    Of a file of text, `lines` has the line of each row that was read so far, and `comments` what is
    above the first row. `without_hits` has the queries that the part that was read lists without a
    hit.
    """

    fields: tuple[str, ...]
    chunks: Iterator[list[Column]]
    lines: Sequence[int] = ()
    comments: Sequence[str] = ()
    without_hits: Collection[str] = ()

    def collect(self) -> dict[str, list[Any]]:
        """Return all columns by their fields; of a field named twice, the last column."""
        places = {field: place for place, field in enumerate(self.fields)}
        columns: dict[str, list[Any]] = {field: [] for field in places}
        for chunk in self.chunks:
            for field, place in places.items():
                column = chunk[place]
                columns[field] += column.tolist() if isinstance(column, np.ndarray) else column
        return columns


class Format(Protocol):
    """A module in ``swdual.formats``."""

    FIELDS: tuple[str, ...]

    def write(
        self, results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
    ) -> None:
        """Write the hits of all queries.

        Parameters
        ----------
        results
            The hits of each query, in order; consumed one by one. They may tell of their run:
            `command` is the command line, `timing`, after the last, what took the time, and
            `report_alignments` the hits of a query whose alignments a report holds.
        stream
            Where to write bytes; `Utf8` takes text.
        fields
            Names of the fields to show, as `parse_fields` returns them; empty if the layout is
            fixed.
        header
            Whether to write the names of the fields first; ignored where the format always names
            them.

        Raises
        ------
        InputError, OutputError
            If the format cannot hold the hits, or the stream cannot be written.
        """
        ...


class TableFormat(Format, Protocol):
    """A format that tables are converted to and from without losing what they hold."""

    def write_table(self, table: Table, stream: Output, *, header: bool) -> None:
        """Write a table.

        Parameters
        ----------
        table
            The rows in chunks of columns.
        stream
            Where to write bytes.
        header
            As for `Format.write`.
        """
        ...

    def read_table(self, stream: IO[bytes], name: str, **fields: tuple[str, ...]) -> Table:
        """Return the table in a file.

        Parameters
        ----------
        stream
            The open file, without compression.
        name
            Name of the file, for messages.
        fields
            Names of the columns, for formats of text: empty for those that the file names, or else
            BLAST's twelve. The other formats name their fields, and do not take it.

        Raises
        ------
        InputError
            If the file is not of this format; with file and line where they are known. Errors in
            later rows are raised when the chunks are read.
        """
        ...


class ChosenFormat(NamedTuple):
    """A format and the names of its fields."""

    format: Format
    fields: tuple[str, ...]

    @property
    def needs_alignment(self) -> bool:
        """Whether alignments must be known."""
        return format_needs_alignment(self.format, self.fields)


def format_needs_alignment(chosen: Format, fields: Sequence[str]) -> bool:
    """Return whether a format with these fields shows alignments, or what is computed of them."""
    return needs_alignment(fields) if fields else getattr(chosen, "ALIGNED", True)


def check_taxonomy(name: str, fields: Sequence[str], targets: TargetRecords) -> None:
    """Check that what a format shows of the taxonomy of targets is known.

    Parameters
    ----------
    name, fields, targets
        The name of the format, its fields, and the targets.

    Raises
    ------
    InputError
        If it is not; the message says how to get it.
    """
    if name in ORGANISMS:
        require_taxonomy(targets)
    check_fields_taxonomy(fields, targets)


def check_translated(name: str, params: SearchParameters) -> None:
    """Check that a format holds the alignments of a search.

    Parameters
    ----------
    name
        The name of the format.
    params
        What was searched.

    Raises
    ------
    InputError
        If it has no place for proteins of translated nucleotides.
    """
    if name in UNTRANSLATED and params.comparison.translates:
        raise InputError(
            f"{name} has no place for alignments of translated sequences ({params.program}); write "
            "a table with the fields cigar, qframe and sframe, or another format"
        )


def full_name(name: str) -> str:
    """Return the name of a format's module; a word that names no format in lower case.

    >>> full_name("6"), full_name("TSV"), full_name("csv")
    ('tabular', 'tabular', 'csv')
    """
    return SYNONYMS.get(name.lower(), name.lower())


def is_format(name: str) -> bool:
    """Return whether a word is the name or the number of a format.

    >>> is_format("6"), is_format("csv"), is_format("evalue")
    (True, True, False)
    """
    return full_name(name) in registry.available("swdual.formats")


def load_format(name: str) -> Format:
    """Return the module of a format, by its name or BLAST's number.

    Raises
    ------
    InputError
        If there is none; the message names the nearest, or what to take instead.
    """
    if name in REPLACED:
        raise InputError(f"swdual lacks BLAST's format {name}; take {REPLACED[name]}")
    return cast(Format, registry.load("swdual.formats", full_name(name)))


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
                f"{word!r} is not supported: format 6 separates fields by tabs, format 10 by "
                "commas; tr makes others of tabs, as in | tr '\\t' ';'"
            )
    name, *names = text.replace(",", " ").split() or [""]
    name = name.lower()
    known = registry.available("swdual.formats")
    if name not in REPLACED and full_name(name) not in known:
        raise InputError(registry.unknown("format", name, [*SYNONYMS, *known]))
    module = load_format(name)
    if names and not module.FIELDS:
        raise InputError(f"format {name} has no fields to choose, but {' '.join(names)} was given")
    standard = getattr(module, "STD", STANDARD)
    return ChosenFormat(module, parse_fields(names or module.FIELDS, standard))


def make_table(results: Iterable[QueryResult], fields: Sequence[str]) -> Table:
    """Return the alignments of all queries as a table, with one chunk or more for each with hits.

    Parameters
    ----------
    results, fields
        The hits of each query, and names of the fields.
    """
    pieces = (piece for found in results if len(found) for piece in found.pieces())
    return Table(tuple(fields), (columns(piece.per_alignment(), fields) for piece in pieces))


def check_value(field: str, value: object, file: str, line: int | None) -> Any:
    """Return a value that was read, in the type that columns of its field hold.

    Parameters
    ----------
    field
        Name of the field.
    value
        The value; None for a missing real number.
    file, line
        Where it was read, for messages.

    Raises
    ------
    InputError
        If the field cannot have this value.
    """
    kind = FIELDS[field].kind
    if kind == "text" and isinstance(value, str) and not _SURROGATES.search(value):
        return value
    if kind == "whole" and type(value) is int and -(2**63) <= value < 2**63:
        return value
    if kind == "real":
        if value is None:
            return math.nan
        if type(value) in (int, float) and value == value:  # noqa: PLR0124 - no not-a-number
            try:
                return float(value)  # type: ignore[arg-type]
            except OverflowError:
                pass
    raise InputError(f"{field} is {repr(value)[:50]}, not a {kind} value", file=file, line=line)


def print_column(field: str, column: Column, tab: str = " ") -> list[str]:
    """Return a column as BLAST prints it.

    Parameters
    ----------
    field
        Name of the field.
    column
        Its values.
    tab
        What replaces tabs in texts.

    >>> print_column("evalue", [3.14159e-20, 0.0123, 2.5]), print_column("bitscore", [31.23, 131.9])
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
    nothing = BLAST_NOTHING.get(field, NOTHING)
    return [nothing if value is None or math.isnan(value) else as_text(value) for value in values]


def print_evalue(evalue: float) -> str:
    """Return an E-value as in BLAST's tables: three digits, 0.0 below 1e-180."""
    if 0 <= evalue < 1e-180:
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
    """Return a bit score as in BLAST's tables: a whole number from 100 on."""
    if bits > 99999:
        return f"{bits:.3e}"
    return f"{int(bits)}" if bits > 99.9 else f"{bits:.1f}"


def print_coverage(percent: float) -> str:
    """Return a coverage as in BLAST: the nearest whole number, but 100 only for all of it.

    >>> print_coverage(42.5), print_coverage(99.9)
    ('43', '99')
    """
    return str(int(min(percent, 99.0) + 0.5)) if percent < 100 else "100"


_PRINTED: dict[str, Callable[[float], str]] = {
    "evalue": print_evalue,
    "first_evalue": print_evalue,
    "bitscore": print_bits,
    "log10_evalue": "{:.3f}".format,
    "pident": "{:.3f}".format,
    "ppos": "{:.2f}".format,
    "qcovhsp": print_coverage,
    "qcovs": print_coverage,
    "qcovus": print_coverage,
    "scovhsp": "{:.1f}".format,
    "lambda_ratio": "{:.4f}".format,
    "relscore": "{:.4f}".format,
}
