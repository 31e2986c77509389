"""Calibration: the rates of a kind of worker, measured in some tenths of a second.

A probe scores random targets with parts of a random query. What `CostModel` needs follows from
differences of such times, so that what every task takes besides cancels out::

    seconds       many targets  /
                             / |
                           /   |  the slope is the time of a cell,
       full lanes ______ /     |  for each query length in `KNOTS`
                 ______/       |
          few lanes  |         |
                     +---------+---------> targets

Up to the targets that fill the lanes, more of them take no more time: few of them tell what a
residue costs in lanes that idle.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swdual.backend import MAX_SCORE, ScoreCutoffs, Scorer, SelectingScorer
from swdual.database.database import Database
from swdual.lanes.pack import INTRA_SEQUENCE_COST
from swdual.master.cost import KNOTS, MAX_SPARSE, CostModel
from swdual.runtime.system import THREAD_TIME_STEP
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

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
    # One row of one target is little more than the start-up. Full lanes add the cells, whose time
    # is at least a tenth of that here: a difference of two times may be noise, even negative.
    startup = probe.seconds(1, 1, 5)
    cell = max(probe.seconds(some, lanes, 2) - startup, startup / 10) / (
        some * PROBE_LENGTH * width
    )
    # Double the targets until the shortest query takes about `PROBE_SECONDS`.
    wanted = min(PROBE_SECONDS / (int(KNOTS[0]) * PROBE_LENGTH * cell), MAX_PROBE_TARGETS)
    doublings = int(math.log2(max(1.0, wanted / (2 * width))))
    long = _Probe(bind, 2 * probe.full << doublings, PROBE_LENGTH, clock)
    short = _Probe(bind, 2 * probe.full, SHORT_LENGTH, clock)
    layout = _layout(bind, long.targets, clock)
    # The others compute meanwhile: workers share the memory and the clock of the processor.
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
    fine = THREAD_TIME_STEP <= MAX_CLOCK_STEP
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
    # The first call lays a range out, the second finds it there: the difference is its layout. That
    # of many targets less that of few is free of what each range takes.
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
