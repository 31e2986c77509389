"""What a task costs: seconds of one query against one range of targets, on one kind of worker.

The model::

    seconds = startup + layout * residues * share + columns * query_length * cell_seconds

`startup` is seconds of a task. `layout` is seconds a residue of reading a range and of laying it
out for the worker, which the queries of the range share. `columns` are the columns of cells: the
residues of the range, and those of lanes that idle (see `swdual.master.ranges.compute_columns`).
`cell_seconds` is seconds of a cell, known at the query lengths in `KNOTS` and interpolated between
them.

All of it is measured in some tenths of a second when such workers first compute together on a
machine: the calibration, which is kept in the cache folder. Searches correct it, and only
`cell_seconds`, because nothing else shows in the time of a large task. So that the correction
cannot drift, it is computed anew from two things, and never from an earlier correction: from the
calibration, and from what the last `MAX_SEEN` searches with queries of such a length took,
relative to the calibration (see `CostModel.learn`).
"""

from __future__ import annotations

import itertools
import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swdual.backend import MAX_SCORE, ScoreCutoffs, Scorer, SelectingScorer
from swdual.database.database import Database
from swdual.errors import InputError
from swdual.lanes.pack import INTRA_SEQUENCE_COST
from swdual.request.search_parameters import SearchParameters
from swdual.runtime.cache import cache_folder
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

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

CALIBRATION_WORTH = 2
"""Number of searches that the calibration counts as, so that one search changes little."""

MAX_CORRECTION = 3.0
"""Max factor by which searches correct the calibrated time at a length in `KNOTS`.

A calibration that was disturbed all the time by an equal competitor is wrong by a factor of two.
"""

MAX_COMMON_CORRECTION = 1.25
"""The same for lengths that were never searched; they share only the load of the machine."""

TASK_SECONDS = 1e-3
"""Seconds of a task besides scoring: score cutoff, candidates, reports.

It is time of the Python interpreter, about the same on all current CPUs. One thread at a time runs
it, so cutting a small search into many tasks makes it slower.
"""

PROBE_TARGETS, PROBE_LENGTH = 512, 304
"""Number and residues of the targets that calibrate a worker; more for wider ones."""

MAX_PROBE_TARGETS = 2048
"""Max targets that calibrate a worker so fast that fewer would take no time."""

FILLING_WIDTHS = 4
"""How many times its width are the targets that fill a worker wider than `PROBE_TARGETS`: a GPU.

As long as there are fewer, more of them take no more time: each has lanes of its own.
"""

SHORT_LENGTH = 80
"""Residues of the targets for queries that are too long for `PROBE_LENGTH`."""

PROBE_SECONDS, MAX_PROBE_SECONDS = 0.004, 0.08
"""Desired and max seconds of one measurement."""

MIN_ALONE_LENGTH = 320
"""Residues of a query below which so few targets take no time that could be measured."""

RESCORED, RESCORED_LENGTH = 0.08, 10_000
"""Part of the time of a query of so many residues for scores that need wider numbers.

Random sequences have none, so the calibration does not see it. The longer a protein, the more of
its parts have relatives; of shorter ones the part is in proportion, of longer ones the same.
Chosen so that it fits proteins, one after the other, against 1,000 to 70,000 proteins.
"""

BOUND_LENGTH = 1000
"""Residues of the query with which upper bounds are measured beside scores: few cells have none."""

LEFT = 0.25
"""Part of the time of upper bounds for the exact scores of the targets that they leave.

20 queries of 144 to 5,478 residues against 74,000 proteins: .19 at E <= 10, .29 at E <= 100.
"""

PASSES = 3
"""How often everything is measured. The least time counts: few disturbances last as long."""

MAX_CLOCK_STEP = 1e-5
"""Max resolution in seconds of a clock that can measure short times."""

DISTINCT_QUERIES = 256
"""How many queries of one length are measured before the first comes again.

A GPU keeps the scores of the last task, and would answer at once.
"""

NEIGHBOUR_LENGTH = 320
"""Residues of the query that the other workers score during a calibration."""


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


def calibrate(
    bind: Callable[[Database], Scorer],
    together: int = 1,
    clock: Callable[[], float] = time.perf_counter,
    bounds: bool = False,
) -> CostModel:
    """Return the rates of a kind of worker, measured now in some tenths of a second.

    Parameters
    ----------
    bind
        Returns a scorer for a database.
    together
        How many such workers compute at the same time. They share memory and clock, and perhaps
        a core, so all of them compute while one is measured.
    clock
        What tells the seconds that a worker has taken: see `choose_clock`.
    bounds
        Whether to measure upper bounds of scores, of workers that have them.
    """
    probe = _Probe(bind, PROBE_TARGETS, PROBE_LENGTH, clock)
    width, some = probe.width, int(KNOTS[2])
    lanes = min(width, PROBE_TARGETS)
    probe.score_itself()
    probe.seconds(1, 1)  # what is loaded or compiled once is no part of the times
    probe.seconds(some, lanes)
    startup = probe.seconds(1, 1, 5)
    cell = max(probe.seconds(some, lanes, 2) - startup, startup / 10) / (
        some * PROBE_LENGTH * width
    )
    wanted = min(PROBE_SECONDS / (int(KNOTS[0]) * PROBE_LENGTH * cell), MAX_PROBE_TARGETS)
    doublings = int(math.log2(max(1.0, wanted / (2 * width))))
    long = _Probe(bind, 2 * probe.full << doublings, PROBE_LENGTH, clock)
    short = _Probe(bind, 2 * probe.full, SHORT_LENGTH, clock)
    layout = _layout(bind, long.targets, clock)
    with _neighbours(together - 1, long):
        seconds, sparse = _of_cells(long, short, cell, startup)
        seconds *= estimate_rescoring(KNOTS)
        if bounds:
            seconds *= min(1.0, _compare_bounds(long, cell) * (1 + LEFT))
    return CostModel(startup + TASK_SECONDS, layout, seconds, width, sparse)


def estimate_rescoring(query_lengths: ArrayLike) -> NDArray[np.float64]:
    """Return how much longer cells take than those of random sequences: see `RESCORED`."""
    lengths = np.minimum(np.asarray(query_lengths), RESCORED_LENGTH)
    return np.asarray(1 + RESCORED * lengths / RESCORED_LENGTH)


def choose_clock(kind: str) -> Callable[[], float]:
    """Return the clock that measures a worker of some kind.

    A CPU computes in the thread that asks it to. The processor time of the thread does not grow
    while other programs have the processor, so that a busy machine does not look slow. A GPU is
    waited for.
    """
    fine = time.get_clock_info("thread_time").resolution <= MAX_CLOCK_STEP
    return time.thread_time if kind == "cpu" and fine else time.perf_counter


class _Probe:
    """Random targets of one length, to be scored with parts of a random query.

    Parameters
    ----------
    bind
        Returns a scorer for a database.
    targets, length
        How many targets, and their residues.
    clock
        Tells seconds.
    """

    def __init__(
        self,
        bind: Callable[[Database], Scorer],
        targets: int,
        length: int,
        clock: Callable[[], float],
    ) -> None:
        self.targets, self.length = targets, length
        self._clock = clock
        codes = np.random.default_rng(1).integers(0, 20, (targets, length), np.uint8)
        self._first = codes[0].tobytes()
        batch = batch_of(Sequence(str(k), row.tobytes()) for k, row in enumerate(codes))
        database = Database.from_batches([batch], PROTEIN, "probe")
        self.scorer = bind(database)
        self.width = self.scorer.width
        self.full = self.width * (FILLING_WIDTHS if self.width > PROBE_TARGETS else 1)
        # No letter is like the one before: queries that follow each other differ.
        steps = np.random.default_rng(2).integers(1, 20, int(KNOTS[-1]) + DISTINCT_QUERIES)
        letters = (np.cumsum(steps) % 20).astype(np.uint8)
        self._letters, self._starts = letters.tobytes(), itertools.cycle(range(DISTINCT_QUERIES))
        self._least: dict[tuple[int, int, bool], float] = {}

    def score_itself(self) -> None:
        """Score the first target with itself: a large score, for which wider numbers are used."""
        self.scorer(self._first, 0, 0, 1, _ignore)

    def score(
        self,
        query_length: int,
        targets: int,
        progress: Callable[[int], None],
        bounds: bool = False,
    ) -> None:
        """Score so many targets with a query of so many residues, another one each time.

        With `bounds`, a score cutoff is given that none of them reaches.
        """
        first = next(self._starts)
        query = self._letters[first : first + query_length]
        if bounds:
            assert isinstance(self.scorer, SelectingScorer)
            self.scorer.best(query, 0, 0, targets, ScoreCutoffs.of(MAX_SCORE), progress)
        else:
            self.scorer(query, 0, 0, targets, progress)

    def seconds(
        self, query_length: int, targets: int, times: int = 1, bounds: bool = False
    ) -> float:
        """Return the least seconds that this took, now or before; the first time does not count."""
        key = query_length, targets, bounds
        for _ in range(times):
            started = self._clock()
            self.score(query_length, targets, _ignore, bounds)
            took = self._clock() - started
            self._least[key] = min(self._least.get(key, math.inf), took)
        return self._least[key]

    def cell_seconds(self, query_length: int, targets: int) -> float:
        """Return the seconds of a cell; what comes once for each task is no part of it."""
        few, many = (self.seconds(query_length, n, 2) for n in (self.full, targets))
        cells = (targets - self.full) * self.length * query_length
        return max(many - few, many / 10) / cells


def _compare_bounds(probe: _Probe, cell: float) -> float:
    """Return the time of cells if no target reaches a score cutoff, relative to that of scores.

    Parameters
    ----------
    probe
        Many targets.
    cell
        About the seconds of a cell.
    """
    takes_long = BOUND_LENGTH * probe.length * probe.targets * cell > MAX_PROBE_SECONDS
    if takes_long or not isinstance(probe.scorer, SelectingScorer):
        return 1.0
    scored, bounded = (
        probe.seconds(BOUND_LENGTH, probe.targets, PASSES, bounds) for bounds in (False, True)
    )
    return bounded / scored if scored > 0 else 1.0


def _layout(bind: Callable[[Database], Scorer], targets: int, clock: Callable[[], float]) -> float:
    """Return the seconds of reading and of laying out a residue.

    The first task against a block of the database verifies it; the first against a range lays it
    out, which is measured by many targets, to which few are compared. The targets are as unlike as
    proteins, because those of one length are laid out faster.
    """
    rng = np.random.default_rng(3)
    lengths = np.clip(rng.lognormal(np.log(PROBE_LENGTH), 0.6, targets), 30, 3000).astype(int)
    lengths = np.sort(lengths)[::-1]
    found = (rng.integers(0, 20, length, np.uint8).tobytes() for length in lengths)
    batch = batch_of(Sequence(str(k), codes) for k, codes in enumerate(found))
    counts = max(1, targets // 4), targets
    short = int(KNOTS[0])
    reading, least = math.inf, np.full((2, 2), math.inf)
    for _ in range(PASSES):
        database = Database.from_batches([batch], PROTEIN, "probe")
        started = clock()
        database.block(0)
        reading = min(reading, clock() - started)
        scorer = bind(database)
        for laid_out in (0, 1):
            for which, count in enumerate(counts):
                started = clock()
                scorer(bytes([laid_out]) * short, 0, 0, count, _ignore)
                least[laid_out, which] = min(least[laid_out, which], clock() - started)
    few, many = least[0] - least[1]
    layout = max(0.0, float(many - few)) / int(lengths[counts[0] :].sum())
    return reading / database.residues + layout


def _of_cells(
    long: _Probe, short: _Probe, cell: float, startup: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (knots,) seconds of a cell, and what a residue of few targets costs, to one of many.

    Parameters
    ----------
    long, short
        Many targets, and shorter ones for queries that would take too long with these. Queries
        that take too long with both have the time of the longest that does not.
    cell, startup
        About the seconds of a cell, and those of a task.
    """
    seconds, alone = np.full(len(KNOTS), np.nan), np.full(len(KNOTS), np.nan)
    few = long.width // 8
    chosen: dict[int, tuple[_Probe, int]] = {}
    for _ in range(PASSES):
        for knot, length in enumerate(KNOTS.tolist()):
            if knot not in chosen:
                found = _fitting(long, short, length * cell)
                if found is None:
                    break
                chosen[knot] = found
            probe, targets = chosen[knot]
            seconds[knot] = cell = probe.cell_seconds(length, targets)
            if few and length >= MIN_ALONE_LENGTH:
                taken = long.seconds(length, few, 2) - startup
                alone[knot] = max(taken, startup / 10) / (few * long.length)
    if not chosen:
        seconds[:] = cell
    known = np.flatnonzero(np.isfinite(seconds))
    seconds = seconds[np.clip(np.arange(len(KNOTS)), known[0], known[-1])]
    known = np.flatnonzero(np.isfinite(alone))
    if not len(known):
        return seconds, np.full(len(KNOTS), float(INTRA_SEQUENCE_COST))
    # A residue of a single target takes longer with a longer query: at shorter ones it takes
    # less than at the first, beyond the last as much longer as in full lanes.
    least = alone[known[0]] / (KNOTS * seconds)
    sparse = np.where(np.arange(len(KNOTS)) < known[0], least, alone / (KNOTS * seconds))
    sparse = sparse[np.minimum(np.arange(len(KNOTS)), known[-1])]
    return seconds, np.clip(sparse, 1 / MAX_SPARSE, MAX_SPARSE)


def _fitting(long: _Probe, short: _Probe, column: float) -> tuple[_Probe, int] | None:
    """Return the most targets that do not take too long, a column of each taking so long."""
    for probe, most in ((long, PROBE_SECONDS), (short, MAX_PROBE_SECONDS)):
        targets = probe.targets
        while targets >= 2 * probe.full:
            if targets * probe.length * column <= most:
                return probe, targets
            targets //= 2
    return None


@contextmanager
def _neighbours(count: int, probe: _Probe) -> Iterator[None]:
    """Have so many threads score a probe again and again during the ``with`` block."""
    over = threading.Event()

    def heed(_: int) -> None:
        if over.is_set():
            raise InterruptedError

    def work() -> None:
        with suppress(InterruptedError):
            while not over.is_set():
                probe.score(NEIGHBOUR_LENGTH, probe.targets, heed)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _ignore(_: int) -> None:
    """Take no note of progress."""


class Setting(NamedTuple):
    """What the rates of workers depend on, besides their devices.

    Parameters
    ----------
    place
        Where they run, if that matters, such as "in a node".
    cells
        What cells have that those of sequences as they are written have not.
    bounds
        Whether most targets have upper bounds only: see `SelectingScorer`.
    """

    place: str = ""
    cells: str = ""
    bounds: bool = False

    @classmethod
    def of(cls, params: SearchParameters, place: str = "") -> Self:
        """Return the setting of a search.

        Parameters
        ----------
        params
            What the search is for.
        place
            Where it runs.
        """
        return cls(place, params.comparison.cells, params.has_cutoffs)

    @property
    def name(self) -> str:
        """How the file of a `CalibrationCache` calls it."""
        words = self.place, self.cells, "with bounds" * self.bounds
        return " ".join(filter(None, words))


USUAL = Setting()
"""That of exact scores, on this machine."""

_saving = threading.Lock()
"""Searches of a process write one at a time: they share the name of the temporary file."""


class CalibrationCache:
    """The rates of this machine's workers, kept from run to run.

    A file that is damaged or cannot be written only makes the next search calibrate again.

    Parameters
    ----------
    setting
        Where these workers run and what they compute: their rates are not valid elsewhere.
    every
        Min seconds between two writes of the file.
    """

    def __init__(self, setting: Setting = USUAL, every: float = 0.0) -> None:
        self.setting = setting
        self._every = every
        self._saved = -math.inf
        folder = cache_folder()
        self.path = None if folder is None else folder / "rates.json"
        self._known: dict[str, CostModel] = {}
        self._new: dict[str, CostModel] = {}
        self._read()

    def _read(self) -> None:
        if self.path is None:
            return
        try:
            kept = json.loads(self.path.read_text())[machine()].items()
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        for key, entry in kept:
            with suppress(InputError, ValueError, TypeError, KeyError, OverflowError):
                self._known[key] = _rates_of_entry(entry)

    def find(self, name: str, device_mix: str, measure: Callable[[], CostModel]) -> CostModel:
        """Return the rates of a kind of worker, measured if they are not known.

        Parameters
        ----------
        name
            What equal devices are called.
        device_mix
            The devices that compute at the same time; rates depend on them.
        measure
            Returns the rates; called if they are not known.
        """
        key = self._key(name, device_mix)
        if key not in self._known:
            self._known[key] = self._new[key] = measure()
            self.save()
        known = self._known[key]
        return replace(known, seen=[*known.seen])

    def keep(self, name: str, device_mix: str, rates: CostModel) -> None:
        """Remember corrected rates; write them with `save`.

        Parameters
        ----------
        name, device_mix
            As for `find`.
        rates
            They are copied.
        """
        key = self._key(name, device_mix)
        self._known[key] = self._new[key] = replace(rates, seen=[*rates.seen])

    def _key(self, name: str, device_mix: str) -> str:
        return " ".join(filter(None, [name, "among", device_mix, self.setting.name]))

    def save(self, *, at_once: bool = False) -> None:
        """Write what is new into the file, beside what other machines and searches know.

        Parameters
        ----------
        at_once
            Whether also within `every` seconds of the last write.
        """
        with _saving:
            now = time.monotonic()
            if self.path is None or (now - self._saved < self._every and not at_once):
                return
            self._saved = now
            self._write(self.path)

    def _write(self, path: Path) -> None:
        try:
            everything = json.loads(path.read_text())
        except (OSError, ValueError, RecursionError):
            everything = {}
        if not isinstance(everything, dict):
            everything = {}
        ours = everything.get(machine())
        new = {key: _entry_of(rates) for key, rates in [*self._new.items()]}
        everything[machine()] = {**(ours if isinstance(ours, dict) else {}), **new}
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            beside.write_text(json.dumps(everything, indent=1))
            beside.replace(path)
        except OSError:
            with suppress(OSError):
                beside.unlink()


def _entry_of(rates: CostModel) -> dict[str, Any]:
    """Return what is kept of rates: the calibration, and what was seen since then.

    Entries without "probed" are not read: earlier releases kept corrected rates, which could be
    anything, or rates of GPUs that were those of a look-up.
    """
    seen = [[int(KNOTS[each.knot]), each.ratio] for each in rates.seen]
    return {"probed": replace(rates, seen=[]).to_dict(), "seen": seen}


def _rates_of_entry(entry: Any) -> CostModel:
    """Return the rates that were kept.

    Raises
    ------
    InputError, KeyError, TypeError, ValueError
        If they are damaged, or older.
    """
    rates = CostModel.from_dict(entry["probed"])
    knots = {int(length): knot for knot, length in enumerate(KNOTS)}
    rates.seen = [Seen(knots[length], float(ratio)) for length, ratio in entry["seen"]]
    for _, ratio in rates.seen:
        if not 1 / MAX_CORRECTION <= ratio <= MAX_CORRECTION:
            raise InputError(f"a search cannot have taken {ratio:g} times the calibrated time")
    return rates


def _median(values: NDArray[np.float64]) -> float:
    """Return what `numpy.median` does, without loading masked arrays, which takes 10 ms."""
    middle = (len(values) - 1) // 2, len(values) // 2
    return float(np.sort(values)[[*middle]].mean())


def machine() -> str:
    """Return what tells this machine's processors from those of others with the same home."""
    model = ""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass
    return f"{model or 'unknown processor'}, {os.cpu_count()} logical CPUs"
