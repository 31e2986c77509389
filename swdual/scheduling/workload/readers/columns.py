"""Columns of texts become numbers, and these a trace, in all readers but that of SWF."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.io.output import split_compression
from swdual.scheduling.workload.swf import find_wrong
from swdual.scheduling.workload.trace import EXTRA, FACTS, FIELDS, MISSING, Trace
from swdual.text.messages import parse_number, quote

DERIVED = ("start_time", "end_time", "processors")
"""What stands for other fields: run time and waiting time, and both numbers of processors."""

ABSENT = frozenset(
    {
        *("", "unknown", "none", "null", "nan", "na", "n/a", "nat", "none assigned"),
        *("unlimited", "partition_limit", "infinite", "invalid"),
    }
)
"""How files say that a value is not known, or that there is no limit."""

STATES = {
    **dict.fromkeys(("completed", "pass", "completed_successfully"), 1),
    **dict.fromkeys(("failed", "timeout", "node_fail", "out_of_memory", "boot_fail"), 0),
    **dict.fromkeys(("deadline", "preempted", "completed_walltime_reached"), 0),
    **dict.fromkeys(("cancelled", "canceled", "killed"), 5),
}
"""Words for the status of a job, and its numbers in SWF. All others are not known."""

FIRST_DATE = 1e8
"""Submit times from here on are dates, as seconds since 1970: then the trace begins at 0."""

EPOCH, UTC_EPOCH = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)


def parse_instant(text: str) -> float:
    """Return seconds since 1970 of a date in ISO 8601; one without a time zone is taken as UTC.

    >>> parse_instant("1970-01-02 00:00:01"), parse_instant("1970-01-02T00:00:01+01:00")
    (86401.0, 82801.0)
    """
    if text[4:5] != "-":
        return parse_number(text)
    date = datetime.fromisoformat(text)
    return (date - (UTC_EPOCH if date.tzinfo else EPOCH)).total_seconds()


def parse_duration(text: str) -> float:
    """Return the seconds in a number or ``[days-][[hours:]minutes:]seconds``.

    >>> parse_duration("1-02:03:04"), parse_duration("05:00"), parse_duration("7.5")
    (93784.0, 300.0, 7.5)
    """
    days, dash, clock = text.rpartition("-") if ":" in text else ("", "", text)
    total = 0.0
    for part in clock.split(":"):
        total = 60 * total + parse_number(part)
    return total + 86_400 * parse_number(days if dash else 0)


def parse_identifier(text: str) -> float:
    """Return the number of a job, NaN for a text."""
    return float(text) if text.strip().isdecimal() else np.nan


def parse_state(text: str) -> float:
    """Return the status in SWF of a word such as ``CANCELLED by 1000``."""
    word = (text.split(maxsplit=1) or [""])[0]
    return float(word) if word.isdecimal() else STATES.get(word.lower(), MISSING)


class Converter(Protocol):
    """What makes numbers of the texts of a column, piece by piece."""

    @property
    def what(self) -> str:
        """What a text should be."""

    def __call__(self, texts: Sequence[str]) -> NDArray[Any]:
        """Return the numbers; a ValueError or OverflowError if a text is wrong."""


@dataclass(frozen=True)
class ToNumbers:
    """Texts that stand for numbers; NaN for those of `ABSENT`.

    Parameters
    ----------
    parse
        Returns the number of a text, or raises a ValueError.
    what
        What a text should be.
    plain
        Whether a text that is a number stands for it.
    """

    parse: Callable[[str], float]
    what: str = "number"
    plain: bool = True

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the numbers."""
        if self.plain and "_" not in "".join(texts):
            try:
                return np.array([float(text) if text else np.nan for text in texts], np.float64)
            except ValueError:
                pass
        values = {text: self._parse(text) for text in {*texts}}
        return np.array([values[text] for text in texts], np.float64)

    def _parse(self, text: str) -> float:
        try:
            return self.parse(text)
        except ValueError:
            if text.strip().lower() in ABSENT:
                return np.nan
            raise


INSTANTS = ToNumbers(parse_instant, "date")
DURATIONS = ToNumbers(parse_duration)
IDENTIFIERS = ToNumbers(parse_identifier)
STATUS = ToNumbers(parse_state)


@dataclass(frozen=True)
class ToType:
    """Texts of values of a NumPy type, which is what they should be."""

    what: str

    def __call__(self, texts: Sequence[str] | NDArray[Any]) -> NDArray[Any]:
        """Return the values."""
        array = np.array(texts)
        if array.dtype.kind == "U" and np.dtype(self.what).kind in "iuf" and "_" in "".join(texts):
            raise ValueError
        return array.astype(self.what)


class ToNames:
    """Texts that become their places among the different ones, by their first appearance."""

    what = "name"

    def __init__(self) -> None:
        self._places: defaultdict[str, int] = defaultdict()
        self._places.default_factory = self._places.__len__

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the places."""
        return np.fromiter(map(self._places.__getitem__, texts), np.float64, len(texts))

    def settle(self, places: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
        """Return the numbers for the places of texts, and the names that they stand for, from 1.

        Texts that are all numbers are these numbers, and have no names.
        """
        if not self._places:  # the column holds numbers
            return places, ()
        known = [text for text in self._places if text.strip().lower() not in ABSENT]
        numbers = dict(zip(known, range(1, len(known) + 1), strict=True))
        if all(text.removeprefix("-").isdecimal() for text in known):
            numbers, known = {text: int(text) for text in known}, []
        table = np.array([numbers.get(text, MISSING) for text in self._places], np.float64)
        return table[places.astype(np.int64)], tuple(known)


Wanted = Mapping[str, tuple[str, Converter]]
"""What is read of a table: a column, and what makes numbers of it, by any keys."""


def convert(
    texts: Sequence[str], column: str, converter: Converter, error: Callable[[int, str], InputError]
) -> NDArray[Any]:
    """Return what a converter makes of texts; ``error`` makes one of a place and what is wrong."""
    try:
        return converter(texts)
    except (ValueError, OverflowError):
        for place, text in enumerate(texts):
            try:
                converter([text])
            except (ValueError, OverflowError):
                why = f"column {column} is {quote(text)}, which is no {converter.what}"
                raise error(place, f"{why}; correct it or empty it") from None
        raise


def check_once(header: Sequence[str], wanted: Wanted, name: str) -> None:
    """Raise an InputError if a column that is wanted is there several times."""
    for column, _ in wanted.values():
        if header.count(column) > 1:
            why = f"has the column {quote(column)} {header.count(column)} times; rename all but one"
            raise InputError(why, file=name)


def settle(found: dict[str, NDArray[Any]], wanted: Wanted) -> dict[str, tuple[str, ...]]:
    """Put the numbers for names into what was read; return the names, where there are any."""
    names = {}
    for key, (_, converter) in wanted.items():
        if isinstance(converter, ToNames):
            found[key], names[key] = converter.settle(found[key])
    return {key: told for key, told in names.items() if told}


def build_trace(
    columns: Mapping[str, NDArray[Any]],
    name: str,
    *,
    lines: NDArray[np.int64] | None = None,
    names: Mapping[str, tuple[str, ...]] | None = None,
    header: tuple[str, ...] | None = None,
) -> Trace:
    """Return the trace of columns.

    Parameters
    ----------
    columns
        (jobs,) values by field; NaN is not known. Besides the fields of a trace there may be those
        of `DERIVED` and `FACTS`.
    name, lines
        The file, and the line of each job in it, if it has lines.
    names, header
        As in `Trace`. Without a header, times that are dates begin at 0.

    Raises
    ------
    InputError
        If a value is one that no field may have: with the line, or the row.
    """
    given = dict(columns)
    submit = given["submit_time"]
    if not len(submit):
        raise InputError("has no jobs; a table has a header, and a row for each job", file=name)
    start, end = given.pop("start_time", None), given.pop("end_time", None)
    if start is not None:
        given.setdefault("wait_time", start - submit)
        if end is not None:
            given.setdefault("run_time", end - start)
    wide = given.pop("processors", None)
    for field in ("allocated_processors", "requested_processors"):
        if wide is not None:
            given.setdefault(field, wide)
    facts = {fact: given.pop(fact) for fact in FACTS if fact in given}
    if np.isnan(given.get("number", np.nan)).all():
        given["number"] = np.arange(1.0, len(submit) + 1)
    first = np.nanmin(submit) if np.isfinite(submit).any() else 0.0
    if header is None:
        header = ()
        if first >= FIRST_DATE:
            first = np.floor(first)
            given["submit_time"] = submit - first
            header = (f"; UnixStartTime: {first:.0f}",)
    values = np.full((len(FIELDS), len(submit)), float(MISSING)).T  # column by column
    for place, field in enumerate(FIELDS):
        if field in given:
            column = given.pop(field)
            values[:, place] = np.where(np.isnan(column), MISSING, column)
    error = partial(row_error, name, lines)
    for row, why in find_wrong(values):
        raise error(row, why)
    for field in EXTRA.keys() & given.keys() - {"power"}:
        column = np.where(np.isnan(given[field]), MISSING, given[field])
        wrong = column != np.floor(column)
        if wrong.any():
            row = int(wrong.argmax())
            raise error(row, f"{field} is {column[row]:g}; write a whole number")
        given[field] = column.astype(np.int64)
    called = Path(split_compression(name)[0]).stem
    return Trace(values, header, called, name, lines, given, names or {}, facts)


def row_error(
    name: str, lines: Sequence[int] | NDArray[np.int64] | None, row: int, why: str
) -> InputError:
    """Return the error for what is wrong in a row of a file, with its line if it has lines."""
    if lines is None:
        return InputError(f"row {row + 1}: {why}", file=name)
    return InputError(why, file=name, line=int(lines[row]))
