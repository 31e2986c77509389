"""What every table is checked for, whoever wrote it: rows without a hit, values in range, units."""

from __future__ import annotations

import logging
import math
from array import array
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.format import Column, Table
from swdual.formats._text import QUERY_IDS, TARGET_IDS
from swdual.hits.fields import FIELDS
from swdual.text.messages import pluralize, quote

logger = logging.getLogger("swdual")

TARGETS = (*TARGET_IDS, "stitle", "salltitles")
"""Fields that tell the target."""

NO_TARGET = "*"
"""What DIAMOND (``--unal 1``) writes for the target where a query has none; numbers are -1 then."""

PERCENTAGES = ("pident", "ppos", "qcovhsp", "qcovs", "qcovus", "scovhsp")

_AT_LEAST_0, _AT_LEAST_1 = (0, math.inf), (1, math.inf)

RANGES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("evalue", "first_evalue", "score", "relscore", "lambda_ratio"), _AT_LEAST_0),
    **dict.fromkeys(("length", "nident", "mismatch", "positive", "gapopen", "gaps"), _AT_LEAST_0),
    **dict.fromkeys(("qstart", "qend", "sstart", "send"), _AT_LEAST_1),
    **dict.fromkeys(("qlen", "slen", "qnum", "snum", "rank"), _AT_LEAST_1),
    **dict.fromkeys(("round", "first_round", "first_qstart", "first_qend"), _AT_LEAST_0),
    **dict.fromkeys(("first_sstart", "first_send", "qgi", "sgi"), _AT_LEAST_0),
    **dict.fromkeys(PERCENTAGES, (0, 100)),
    **dict.fromkeys(("qframe", "sframe"), (-3, 3)),
}
"""The smallest and the largest value of fields; the other numbers are finite."""

OF_QUERIES = ("qlen", "qnum", "qgi", "qframe", "round")
"""Numbers that a query has without a hit."""

_PARTNERS = {"qstart": "qend", "qend": "qstart", "sstart": "send", "send": "sstart"}
"""The first and the last place of a sequence: of an empty alignment (score 0) they are 1 and 0."""

ROUNDED = 0.01
"""So far, as a share, numbers may be from each other that programs print of the same."""

FIT = 0.1
"""So far, on average, percentages may be from what other columns tell."""


def check_table(table: Table, file: str) -> Table:
    """Return a table with the hits of another alone, with values in range and percentages.

    Rows of queries without a hit are left out, and these queries are `without_hits`. Fractions of
    identity and coverage, which MMseqs2 writes, become percentages.

    Parameters
    ----------
    table, file
        The table, and the name of its file for messages.

    Raises
    ------
    InputError
        When the chunks are read: if a value is out of range, or identities may be fractions or
        percentages; with file and line, or else the number of the row.
    """
    lines = array("q")
    without: dict[str, None] = {}
    chunks = _Checker(table, file, lines, without).chunks()
    return table._replace(chunks=chunks, lines=lines, without_hits=without)


class _Checker:
    """Checks the chunks of a table one by one.

    Parameters
    ----------
    table, file
        The table, and the name of its file.
    lines, without
        Get the lines of the hits, and the queries without a hit.
    """

    def __init__(
        self, table: Table, file: str, lines: array[int], without: dict[str, None]
    ) -> None:
        self._table, self._file, self._lines, self._without = table, file, lines, without
        self._seen = 0
        self._with_hits: set[str] = set()
        self._fractions: dict[int, bool] = {}

    def chunks(self) -> Iterator[list[Column]]:
        """Yield the hits."""
        for chunk in self._table.chunks:
            columns = dict(zip(self._table.fields, chunk, strict=True))
            count = len(chunk[0]) if chunk else 0
            kept = np.flatnonzero(~_find_empty(columns, count))
            queries = next((columns[name] for name in QUERY_IDS if name in columns), None)
            if len(kept) < count:
                if queries is not None:
                    own = {*kept.tolist()}
                    self._without |= {queries[k]: None for k in range(count) if k not in own}
                chunk = [_take(column, kept) for column in chunk]
                columns = dict(zip(self._table.fields, chunk, strict=True))
            if queries is not None:
                self._with_hits.update(queries[k] for k in kept.tolist())
            self._check_ranges(chunk, columns, kept)
            chunk = self._as_percentages(chunk, columns, kept)
            self._check_repeated(chunk, kept)
            if self._table.lines:
                self._lines.extend(self._table.lines[self._seen + k] for k in kept.tolist())
            self._seen += count
            yield chunk
        for name in self._table.without_hits:
            self._without[name] = None
        wrong = self._with_hits & {*self._without}
        for name in wrong:
            del self._without[name]
        if wrong:  # DIAMOND 2.1.3 writes such rows of all queries
            queries = pluralize(len(wrong), "query has", "queries have")
            logger.info("%s: %s hits and a row without: that row is left out", self._file, queries)
        if self._without:
            queries = pluralize(len(self._without), "query has", "queries have")
            logger.info("%s: %s no hits", self._file, queries)

    def _fail(self, message: str, row: int) -> InputError:
        """Return an error about a row of the chunk."""
        place = self._seen + row
        if self._table.lines:
            return InputError(message, file=self._file, line=self._table.lines[place])
        return InputError(f"row {place + 1}: {message}", file=self._file)

    def _check_ranges(
        self, chunk: list[Column], columns: Mapping[str, Column], kept: NDArray[np.int64]
    ) -> None:
        """Check that all numbers of a chunk can be what they are called.

        Parameters
        ----------
        chunk, columns
            The hits, and their columns by fields.
        kept
            Their rows in the file's chunk.
        """
        wrong: list[tuple[int, str]] = []
        for field, column in zip(self._table.fields, chunk, strict=True):
            if FIELDS[field].kind == "text":
                continue
            least, most = RANGES.get(field, (-math.inf, math.inf))
            values = np.asarray(column, np.float64)
            outside = (values < least) | (values > most) | np.isinf(values)
            if field in _PARTNERS and _PARTNERS[field] in columns:
                pair = values, np.asarray(columns[_PARTNERS[field]], np.float64)
                empty = (np.minimum(*pair) == 0) & (np.maximum(*pair) == 1)
                outside &= ~(empty & (np.asarray(columns.get("length", 0)) == 0))
            for row in np.flatnonzero(outside)[:1].tolist():
                value = column[row]
                limits = "finite" if math.isinf(value) else _describe(least, most)
                wrong.append((row, f"{field} is {value}, but it must be {limits}"))
        if wrong:
            row, message = min(wrong)
            raise self._fail(message, int(kept[row]))

    def _check_repeated(self, chunk: list[Column], kept: NDArray[np.int64]) -> None:
        """Check that columns of the same field are the same, as far as they may be rounded.

        For the parameters see `_check_ranges`.
        """
        fields = self._table.fields
        for place, field in enumerate(fields):
            one, other = chunk[fields.index(field)], chunk[place]
            if one is other:
                continue
            if FIELDS[field].kind == "text":
                differs = np.array([a != b for a, b in zip(one, other, strict=True)], np.bool_)
            else:
                a, b = (np.asarray(column, np.float64) for column in (one, other))
                within = 1 if field in PERCENTAGES else 0
                differs = ~np.isclose(a, b, ROUNDED, within, equal_nan=True)
            for row in np.flatnonzero(differs)[:1].tolist():
                message = f"{field} is named twice, for different values: "
                shown = f"{_quote(one[row])} and {_quote(other[row])}"
                raise self._fail(f"{message}{shown}; leave one out", int(kept[row]))

    def _as_percentages(
        self, chunk: list[Column], columns: Mapping[str, Column], kept: NDArray[np.int64]
    ) -> list[Column]:
        """Return a chunk whose fractions are percentages.

        For the parameters see `_check_ranges`.
        """
        shares = _find_shares(columns)
        fields = self._table.fields
        # What tells of identities comes first: coverages may follow it.
        for place in sorted(range(len(fields)), key=lambda place: fields[place] != "pident"):
            field = fields[place]
            if field not in PERCENTAGES:
                continue
            values = np.asarray(chunk[place], np.float64)
            above = np.flatnonzero(values > 1)
            if self._fractions.get(place) and len(above):
                value = chunk[place][above[0]]
                message = f"{field} is {value}, but those of the rows before are fractions"
                raise self._fail(message, int(kept[above[0]]))
            if place in self._fractions or not (values > 0).any():
                continue
            told = False if len(above) else _are_fractions(values, shares.get(field))
            if told is None and field == "pident":
                raise self._fail(_AMBIGUOUS, int(kept[np.flatnonzero(values > 0)[0]]))
            if told is None:
                told = any(self._fractions.get(k) for k, x in enumerate(fields) if x == "pident")
            self._fractions[place] = told
            if told:
                logger.info(
                    "%s: %s is written as a fraction, as MMseqs2 does; read as a percentage",
                    self._file,
                    field,
                )
        return [
            np.round(100 * np.asarray(column, np.float64), 8)
            if self._fractions.get(place)
            else column
            for place, column in enumerate(chunk)
        ]


_AMBIGUOUS = (
    "no pident is above 1, and other columns do not tell whether they are fractions, as MMseqs2 "
    'writes them; if so, name them fident: `before="6 query target fident ..."`'
)


def _quote(value: Any) -> str:
    """Return a value for a message."""
    return quote(value) if isinstance(value, str) else f"{value:g}"


def _take(column: Column, rows: NDArray[np.int64]) -> Column:
    """Return some rows of a column."""
    if isinstance(column, np.ndarray):
        return column[rows]
    return [column[k] for k in rows.tolist()]


def _find_empty(columns: Mapping[str, Column], count: int) -> NDArray[np.bool_]:
    """Return which rows say that a query has no hit, (rows,).

    Parameters
    ----------
    columns, count
        The columns by fields, and the number of rows.
    """
    targets = [columns[name] for name in TARGETS if name in columns]
    if not targets:
        return np.zeros(count, np.bool_)
    empty = np.array([target == NO_TARGET for target in targets[0]], np.bool_)
    if empty.any():
        for name in columns:
            told = name == "bitscore" or RANGES.get(name, (-1,))[0] >= 0
            if told and name not in OF_QUERIES:
                empty &= np.asarray(columns[name], np.float64) == -1
    return empty


def _describe(least: float, most: float) -> str:
    """Return a range in words."""
    return f"at least {least:g}" if math.isinf(most) else f"from {least:g} to {most:g}"


def _find_shares(columns: Mapping[str, Column]) -> dict[str, NDArray[np.float64]]:
    """Return what other columns tell of identities and coverages, as fractions.

    >>> columns = {"length": [100, 0], "mismatch": [30, 0]}
    >>> _find_shares(columns)["pident"].tolist()
    [0.7, nan]
    """

    def number(name: str) -> NDArray[np.float64]:
        return np.asarray(columns[name], np.float64)

    found: dict[str, Any] = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        if {"length", "nident"} <= {*columns}:
            found["pident"] = number("nident") / number("length")
        elif {"length", "mismatch"} <= {*columns}:
            found["pident"] = 1 - number("mismatch") / number("length")
        for side, field in (("q", "qcovhsp"), ("s", "scovhsp")):
            names = [f"{side}{word}" for word in ("start", "end", "len")]
            if {*names} <= {*columns}:
                start, end, size = map(number, names)
                found[field] = (np.abs(end - start) + 1) / size
    return found


def _are_fractions(values: NDArray[np.float64], shares: NDArray[np.float64] | None) -> bool | None:
    """Return whether values of at most 1 are fractions and not percentages; None if neither fits.

    >>> values = np.array([1.0, 0.4])
    >>> _are_fractions(values, np.array([1.0, 0.43])), _are_fractions(values, values / 100)
    (True, False)

    Parameters
    ----------
    values, shares
        The values, and about what they should be as fractions, if it is known.
    """
    if shares is None:
        return None
    known = np.isfinite(values) & np.isfinite(shares)
    if not known.any():
        return None
    values, shares = values[known], shares[known]
    as_fractions, as_percentages = (
        float(np.abs(values / unit - shares).mean()) for unit in (1, 100)
    )
    if min(as_fractions, as_percentages) > FIT:
        return None
    return as_fractions < as_percentages
