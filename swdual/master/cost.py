"""What a task costs: seconds of one query against one range of targets, on one kind of worker.

The model::

    seconds = startup + layout * residues * share + columns * query_length * cell_seconds

`startup` is seconds of a task. `layout` is seconds a residue of reading a range and of laying it
out for the worker, which the queries of the range share. `columns` are the columns of cells: the
residues of the range, and those of lanes that idle (see `swdual.master.ranges.compute_columns`).
`cell_seconds` is seconds of a cell, known at the query lengths in `KNOTS` and interpolated between
them.

All of it is measured when such workers first compute together on a machine (`calibration`), and
kept in the cache folder (`calibration_cache`). Searches correct it, and only `cell_seconds`,
because nothing else shows in the time of a large task. So that the correction cannot drift, it is
computed anew from two things, and never from an earlier correction: from the calibration, and from
what the last `MAX_SEEN` searches with queries of such a length took, relative to the calibration
(see `CostModel.learn`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swdual.errors import InputError
from swdual.lanes.pack import INTRA_SEQUENCE_COST

KNOTS = np.array([4, 10, 32, 100, 320, 1000, 3200, 10_000, 32_000])
"""Query lengths at which the time of a cell is known."""

MIN_GCUPS, MAX_GCUPS, MAX_SECONDS = 1e-9, 1e12, 1e9
"""Bounds of rates: no worker is outside of them, and predicted times stay finite."""

MAX_WIDTH = 1 << 20
"""Max targets that a worker computes side by side; a GPU computes some thousand."""

MAX_SPARSE = 1e6
"""Max cost of a residue, relative to one in full lanes."""

MIN_SEEN_SECONDS = 0.05
"""Min seconds of a search's tasks together, so that rates learn from them.

A thread that has to wait for a processor once waits for some milliseconds.
"""

MIN_CELL_PART = 0.75
"""Min part of a task's time that its cells take, so that it shows their speed."""

MAX_SEEN = 8
"""Max searches that are remembered for each of `KNOTS`, so that a changed machine is noticed."""

_TELLING = {"model name", "CPU implementer", "CPU part"}
"""What ``/proc/cpuinfo`` calls a processor: one name on x86, two numbers on ARM."""

CALIBRATION_WORTH = 2
"""Number of searches that the calibration counts as, so that one search changes little."""

MAX_CORRECTION = 3.0
"""Max factor by which searches correct the calibrated time at a length in `KNOTS`.

A calibration that was disturbed all the time by an equal competitor is wrong by a factor of two.
"""

MAX_COMMON_CORRECTION = 1.25
"""The same for lengths that were never searched; they share only the load of the machine."""


class Seen(NamedTuple):
    """What one search has shown about queries of about one length.

    Parameters
    ----------
    knot
        The number of the length in `KNOTS`.
    ratio
        Seconds that the cells took, relative to the calibration.
    """

    knot: int
    ratio: float


@dataclass
class CostModel:
    """Predicts the seconds of a task on one kind of worker.

    Parameters
    ----------
    startup
        Seconds of a task besides its cells.
    layout
        Seconds to lay out one residue of a range, which its queries share.
    calibrated
        (knots,) seconds of a cell for a query of each length in `KNOTS`, as measured before any
        search.
    width
        Targets that are computed side by side: with too few of them some of it idles.
    sparse
        (knots,) max cost of a residue where targets are too few, relative to one in full lanes.
    seen
        What searches have shown since, the latest last.
    """

    startup: float
    layout: float
    calibrated: NDArray[np.float64]
    width: int = 1
    sparse: NDArray[np.float64] = field(
        default_factory=lambda: np.full(len(KNOTS), float(INTRA_SEQUENCE_COST))
    )
    seen: list[Seen] = field(default_factory=list)

    @property
    def cell_seconds(self) -> NDArray[np.float64]:
        """(knots,) seconds of a cell for a query of each length in `KNOTS`, as corrected."""
        return self.calibrated * compute_correction(self.seen)

    def seconds(
        self, query_lengths: ArrayLike, residues: ArrayLike, share: float = 0.0
    ) -> NDArray[np.float64]:
        """Return predicted seconds of tasks whose lanes are full.

        Parameters
        ----------
        query_lengths, residues
            (tasks,) residues of the query and of the range of each task.
        share
            The part of a range's layout that each task pays for.
        """
        return self.overhead(residues, share) + self.cells_time(query_lengths, residues)

    def overhead(self, residues: ArrayLike, share: float = 0.0) -> NDArray[np.float64]:
        """Return predicted seconds of tasks besides their cells.

        Parameters
        ----------
        residues
            (tasks,) of each task's range.
        share
            The part of a range's layout that each task pays for.
        """
        return self.startup + np.asarray(residues) * (self.layout * share)

    def cells_time(self, query_lengths: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Return predicted seconds of the cells of tasks.

        Parameters
        ----------
        query_lengths
            Of each task.
        columns
            Columns of cells of each task, those of idle lanes included: see `interpolate_columns`.
        """
        lengths = np.asarray(query_lengths, np.float64)
        return np.asarray(columns) * lengths * interpolate(lengths, self.cell_seconds)

    def learn(
        self,
        query_lengths: NDArray[np.int64],
        predicted: NDArray[np.float64],
        overhead: NDArray[np.float64],
        observed: NDArray[np.float64],
    ) -> None:
        """Correct the time of a cell by the tasks of one search.

        The tasks of each length in `KNOTS` that is nearest to them count together, if their cells
        take `MIN_CELL_PART` of the time and `MIN_SEEN_SECONDS` together. For each such length
        the corrected time is the calibrated one times the median of the last `MAX_SEEN` ratios of
        observed to calibrated time, so that a busy period does not count; the calibration itself
        counts as `CALIBRATION_WORTH` ratios of 1. The result is at most `MAX_CORRECTION` times
        more or less. Lengths that were never observed keep the calibrated time, times the mean
        correction of the others within `MAX_COMMON_CORRECTION`.

        Parameters
        ----------
        query_lengths
            (tasks,) residues of the queries.
        predicted, overhead
            (tasks,) seconds that these rates predicted, and the part that is no time of cells.
        observed
            (tasks,) seconds that they took.
        """
        lengths = np.asarray(query_lengths, np.float64)
        cells = predicted - overhead
        # Only the time of cells is compared. `expected` is what they take by the calibration, not
        # by the corrected rates: corrections must not build on each other.
        tells = (cells > 0) & (cells >= MIN_CELL_PART * predicted) & np.isfinite(observed)
        lengths, cells = lengths[tells], cells[tells]
        took = observed[tells] - overhead[tells]
        expected = cells * interpolate(lengths, self.calibrated / self.cell_seconds)
        nearest = _nearest(lengths)
        expected_at = np.bincount(nearest, expected, len(KNOTS))
        took_at = np.bincount(nearest, took, len(KNOTS))
        for knot in np.flatnonzero(np.minimum(expected_at, took_at) >= MIN_SEEN_SECONDS).tolist():
            ratio = float(took_at[knot] / expected_at[knot])
            bounded = min(max(ratio, 1 / MAX_CORRECTION), MAX_CORRECTION)
            self.seen.append(Seen(knot, bounded))
            mine = [index for index, seen in enumerate(self.seen) if seen.knot == knot]
            if len(mine) > MAX_SEEN:
                del self.seen[mine[0]]

    def to_dict(self) -> dict[str, Any]:
        """Return the corrected rates for JSON, the speed of cells in GCUPS."""
        return {
            "startup": self.startup,
            "layout": self.layout,
            "width": self.width,
            "gcups": _by_length(1e-9 / self.cell_seconds),
            "sparse": _by_length(self.sparse),
        }

    @classmethod
    def from_dict(cls, given: float | Mapping[str, Any]) -> Self:
        """Return the rates that `to_dict` or a user wrote; a number alone is GCUPS.

        What earlier releases wrote is accepted; their "trust" has no meaning any more.

        Raises
        ------
        InputError
            If a value is missing, or is not a positive number.
        """
        facts = given if isinstance(given, Mapping) else {"gcups": given}
        if any(isinstance(x, bool) for x in facts.values()):
            raise InputError("rates are numbers, not true or false")
        optional = {"startup", "layout", "width", "sparse", "trust"}
        if set(facts) - optional != {"gcups"}:
            raise InputError(
                "rates are a number of GCUPS, or gcups with startup, layout and width, "
                f"not {given!r:.80}"
            )
        try:
            speeds = _at_knots(facts["gcups"])
            sparse = _at_knots(facts.get("sparse", INTRA_SEQUENCE_COST))
            startup, layout = float(facts.get("startup", 0)), float(facts.get("layout", 0))
            width = int(facts.get("width", 1))
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"rates must be numbers: {error}") from error
        if not ((speeds >= MIN_GCUPS) & (speeds <= MAX_GCUPS)).all():
            raise InputError(
                f"gcups must be from {MIN_GCUPS:g} to {MAX_GCUPS:g}, at query lengths above 0"
            )
        if not ((sparse > 0) & (sparse <= MAX_SPARSE)).all():
            raise InputError(f"sparse must be above 0 and at most {MAX_SPARSE:g}")
        seconds = np.array([startup, layout])
        if not 1 <= width <= MAX_WIDTH or not ((seconds >= 0) & (seconds <= MAX_SECONDS)).all():
            raise InputError(
                f"startup and layout must be seconds from 0 to {MAX_SECONDS:g}, and width "
                f"at least 1 and at most {MAX_WIDTH:,}"
            )
        return cls(startup, layout, 1e-9 / speeds, width, sparse)


def interpolate_columns(
    query_lengths: NDArray[np.int64], columns: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (lengths, ranges) columns, of ranges whose columns are known at `KNOTS`.

    Parameters
    ----------
    query_lengths
        (lengths,) residues of queries.
    columns
        (ranges, knots) columns of each range, for a query of each length in `KNOTS`.
    """
    at_lengths = np.empty((len(query_lengths), len(columns)))
    for index, each in enumerate(columns):
        at_lengths[:, index] = interpolate(query_lengths, each)
    return at_lengths


def interpolate(query_lengths: ArrayLike, at_knots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values at query lengths, straight between `KNOTS` over logarithms of both.

    Below the first length in `KNOTS` it is the first value, beyond the last one the last.

    Parameters
    ----------
    query_lengths
        Residues, 1 or more; the result has this shape.
    at_knots
        (knots,) the value at each length in `KNOTS`, above 0.
    """
    values: NDArray[np.float64] = np.exp(
        np.interp(np.log(query_lengths), np.log(KNOTS), np.log(at_knots))
    )
    return values


def compute_correction(seen: list[Seen]) -> NDArray[np.float64]:
    """Return (knots,) the factor between calibrated and observed seconds of a cell.

    Their order does not matter: see `CostModel.learn`.
    """
    if not seen:
        return np.ones(len(KNOTS))
    factors = np.full(len(KNOTS), np.nan)
    for knot in {each.knot for each in seen}:
        ratios = [each.ratio for each in seen if each.knot == knot] + [1.0] * CALIBRATION_WORTH
        factors[knot] = math.exp(_median(np.log(ratios)))
    known = np.log(factors[np.isfinite(factors)])
    # As if one more length had been seen that took what was calibrated: a mean of logarithms.
    common = math.exp(known.sum() / (len(known) + 1))
    bounded = min(max(common, 1 / MAX_COMMON_CORRECTION), MAX_COMMON_CORRECTION)
    return np.where(np.isfinite(factors), factors, bounded)


def _nearest(query_lengths: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of the length in `KNOTS` that each is nearest to, in proportion."""
    distance = abs(np.log(query_lengths.reshape(-1, 1)) - np.log(KNOTS))
    return np.asarray(distance.argmin(axis=1))


def _by_length(values: NDArray[np.float64]) -> dict[str, float]:
    return {str(length): x for length, x in zip(KNOTS.tolist(), values.tolist(), strict=True)}


def _at_knots(given: Any) -> NDArray[np.float64]:
    """Return numbers for `KNOTS`, given for any lengths above 0, or one for all; NaN if none is."""
    if not isinstance(given, Mapping):
        return np.full(len(KNOTS), float(given))
    by_length = sorted((float(length), float(number)) for length, number in given.items())
    if not all(length > 0 and 0 < number < math.inf for length, number in by_length):
        return np.full(len(KNOTS), np.nan)
    if not by_length or by_length[-1][0] == math.inf:
        return np.full(len(KNOTS), np.nan)
    lengths, numbers = zip(*by_length, strict=True)
    found: NDArray[np.float64] = np.exp(np.interp(np.log(KNOTS), np.log(lengths), np.log(numbers)))
    return found


def _median(values: NDArray[np.float64]) -> float:
    """Return what `numpy.median` does, without loading masked arrays, which takes 10 ms."""
    middle = (len(values) - 1) // 2, len(values) // 2
    return float(np.sort(values)[[*middle]].mean())


def machine() -> str:
    """Return what tells this machine's processors from those of others with the same home."""
    lines: list[str] = []
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    facts = (line.partition(":") for line in lines)
    told = dict.fromkeys(value.strip() for name, _, value in facts if name.strip() in _TELLING)
    return f"{' '.join(told) or 'unknown processor'}, {os.cpu_count()} logical CPUs"
