"""A trace of columns in seconds, KB and names, as all readers but that of SWF make it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.io.output import split_compression
from swdual.scheduling.workload.swf import find_wrong
from swdual.scheduling.workload.trace import EXTRA, FIELDS, MISSING, Trace
from swdual.text.messages import quote

INSTANTS = ("submit_time", "start_time", "end_time")
DERIVED = (*INSTANTS[1:], "processors", "job_memory")
"""What stands for other fields: run time and waiting time, both numbers of processors, and KB of
the whole job."""

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
        return np.nan if text.strip().lower() in ABSENT else float(text)
    date = datetime.fromisoformat(text)
    return (date - (UTC_EPOCH if date.tzinfo else EPOCH)) / timedelta(seconds=1)


def parse_duration(text: str) -> float:
    """Return the seconds in a number or ``[days-][[hours:]minutes:]seconds``.

    >>> parse_duration("1-02:03:04"), parse_duration("05:00"), parse_duration("7.5")
    (93784.0, 300.0, 7.5)
    """
    if text.strip().lower() in ABSENT:
        return np.nan
    days, dash, clock = text.rpartition("-") if ":" in text else ("", "", text)
    total = 0.0
    for part in clock.split(":"):
        total = 60 * total + float(part)
    return total + 86_400 * float(days if dash else 0)


def parse_identifier(text: str) -> float:
    """Return the number of a job, NaN for a text."""
    return float(text) if text.strip().isdecimal() else np.nan


def to_numbers(
    texts: Sequence[str], parse: Callable[[str], float], name: str, column: str, lines: Any
) -> NDArray[np.float64]:
    """Return the values of texts; NaN for what is not known.

    Parameters
    ----------
    texts, parse
        The texts, and what returns the value of one, or raises a `ValueError`.
    name, column, lines
        The file, its column, and the line of each text; None if it has no lines.

    Raises
    ------
    InputError
        If a text has no value: with the line, or the row.
    """
    try:
        return np.array([float(text) if text else np.nan for text in texts], np.float64)
    except ValueError:
        values = np.empty(len(texts))
    for row, text in enumerate(texts):
        try:
            values[row] = parse(text)
        except (ValueError, OverflowError):
            kind = "date" if parse is parse_instant else "number"
            why = f"column {column} is {quote(text)}, which is no {kind}; correct it or empty it"
            raise _error(why, name, row, lines) from None
    return values


def encode(texts: Sequence[str], seen: dict[str, int]) -> NDArray[np.float64]:
    """Return (texts,) the place of each among the different ones, to which new ones are added."""
    return np.array([seen.setdefault(text, len(seen)) for text in texts], np.float64)


def settle_names(
    texts: Sequence[str], codes: NDArray[np.float64]
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the numbers for texts, and their names: from 1 in the order of their appearance.

    Texts that are all numbers are these numbers, and have no names.

    Parameters
    ----------
    texts, codes
        The texts, in the order of their first appearance, and (jobs,) the place of each job's.
    """
    known = [text for text in texts if text.strip().lower() not in ABSENT]
    if all(text.removeprefix("-").isdecimal() for text in known):
        table, known = {text: float(text) for text in known}, []
    else:
        table = {text: float(number) for number, text in enumerate(known, 1)}
    numbers = np.array([table.get(text, MISSING) for text in texts], np.float64)
    return numbers[codes.astype(np.int64)], tuple(known)


def settle_states(texts: Sequence[str], codes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the numbers of SWF for words such as ``CANCELLED by 1000``: see `settle_names`."""
    words = [(text.split() or [""])[0] for text in texts]
    found = [
        float(word) if word.removeprefix("-").isdecimal() else STATES.get(word.lower(), MISSING)
        for word in words
    ]
    return np.array(found, np.float64)[codes.astype(np.int64)]


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
        of `DERIVED`.
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
        raise InputError("has no jobs", file=name)
    start, end = given.pop("start_time", None), given.pop("end_time", None)
    if start is not None:
        given.setdefault("wait_time", start - submit)
        if end is not None:
            given.setdefault("run_time", end - start)
    wide = given.pop("processors", None)
    for field in ("allocated_processors", "requested_processors"):
        if wide is not None:
            given.setdefault(field, wide)
    memory = given.pop("job_memory", None)
    if memory is not None:
        widths = [
            given.get(each, np.nan) for each in ("requested_processors", "allocated_processors")
        ]
        width = np.where(widths[0] > 0, *widths)
        given.setdefault("requested_memory", memory / np.where(width > 0, width, np.nan))
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
    for row, why in find_wrong(values):
        raise _error(why, name, row, lines)
    for field in EXTRA.keys() & given.keys() - {"power"}:
        column = np.where(np.isnan(given[field]), MISSING, given[field])
        wrong = column != np.floor(column)
        if wrong.any():
            row = int(wrong.argmax())
            raise _error(f"{field} is {column[row]:g}; write a whole number", name, row, lines)
        given[field] = column.astype(np.int64)
    called = Path(split_compression(name)[0]).stem
    return Trace(values, header, called, name, lines, given, names or {})


def _error(why: str, name: str, row: int, lines: NDArray[np.int64] | None) -> InputError:
    if lines is None:
        return InputError(f"row {row + 1}: {why}", file=name)
    return InputError(why, file=name, line=int(lines[row]))
