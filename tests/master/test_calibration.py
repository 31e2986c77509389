"""Calibration measures the rates of scorers whose time is known."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

from swdual.backend import MAX_SCORE
from swdual.backends import simd
from swdual.master import calibration
from swdual.master.calibration import (
    MAX_PROBE_SECONDS,
    MIN_ALONE_LENGTH,
    PROBE_LENGTH,
    PROBE_TARGETS,
    SHORT_LENGTH,
    TASK_SECONDS,
    calibrate,
    choose_clock,
    estimate_rescoring,
)
from swdual.master.cost import (
    KNOTS,
    CostModel,
)
from swdual.sequences import matrices
from swdual.sequences.scoring import ScoringScheme

SPEEDS = np.array([0.1, 0.3, 0.5, 1, 2, 3, 4, 4.5, 5])
"""GCUPS at each knot."""


class Clock:
    """Moves only when a scorer says so."""

    now = 50.0

    def perf_counter(self):
        return self.now


class FakeScorer:
    """Takes exactly what it is told to, on a clock of its own; the last task again takes none."""

    def __init__(self, clock, speeds, width, startup=0.0, layout=0.0, targets=None, full=None):
        self._clock, self._startup, self._layout = clock, startup, layout
        self._targets = np.full(10_000, PROBE_LENGTH) if targets is None else targets
        self._cells = 1e-9 / np.broadcast_to(speeds, len(KNOTS))
        self.width, self._full = width, full or width
        self.calls = 0
        self._laid_out = set()
        self._last = None

    def __call__(self, query, block, first, last, progress, profile=None):
        assert (block, first) == (0, 0)
        self.calls += 1
        count = last - first
        if self._last == (query, count):
            return np.zeros(count, np.int32)
        self._last = query, count
        cell = np.interp(math.log(len(query)), np.log(KNOTS), self._cells)
        assert count <= len(self._targets)
        columns = int(self._targets[: count : self._full].sum()) * self._full
        self._clock.now += self._startup + columns * len(query) * cell
        if count not in self._laid_out:
            self._laid_out.add(count)
            self._clock.now += int(self._targets[:count].sum()) * self._layout
        return np.zeros(count, np.int32)


def measured(*args, **options):
    """Return the rates of a fake scorer, the scorers, and the seconds that measuring took."""
    clock = Clock()
    scorers = []

    def bind(database):
        scorers.append(FakeScorer(clock, *args, **options, targets=database.lengths(0)))
        return scorers[-1]

    found = calibrate(bind, 1, clock.perf_counter)
    return found, scorers, clock.now - 50.0


@pytest.mark.parametrize(
    ("speeds", "width"),
    [
        *((0.002, 1), (0.05, 1), (1.0, 1), (1.0, 16), (8.0, 128), (400.0, 1), (400.0, 4000)),
        *((SPEEDS, 1), (SPEEDS, 32), (10 * SPEEDS, 128)),
    ],
)
def test_the_speed_of_a_worker_is_measured(speeds, width):
    """From that of slow Python to that of a fast card, in a fraction of a second.

    At lengths that would take too long the last that was measured is taken.
    """
    found, _, seconds = measured(speeds, width)
    found.calibrated = found.calibrated / estimate_rescoring(KNOTS)
    right = 1e-9 / found.cell_seconds == pytest.approx(speeds, rel=0.04)
    if not right:
        truth = np.broadcast_to(speeds, len(KNOTS))
        wrong = np.flatnonzero(abs(1e-9 / found.cell_seconds / truth - 1) > 0.04)
        assert (np.diff(found.cell_seconds[wrong[0] - 1 :]) == 0).all()
        longest = 2 * width * SHORT_LENGTH * KNOTS[wrong[0]] / truth[wrong[0] - 1] * 1e-9
        assert longest > MAX_PROBE_SECONDS
    assert found.width == width
    if width >= 8:
        tells = KNOTS >= MIN_ALONE_LENGTH
        assert found.sparse[tells] == pytest.approx(width / (width // 8), rel=0.1)
    assert seconds < 2.5


def test_the_speed_of_a_card_is_measured_where_its_targets_fill_it():
    """Twice as many targets as its width take no more time, since each has lanes of its own."""
    found, *_ = measured(6000.0, 2112, startup=0.0002, full=4 * 2112)
    tells = KNOTS >= 100  # shorter queries take less time than the launch
    speeds = 1e-9 / (found.calibrated / estimate_rescoring(KNOTS))
    assert speeds[tells] == pytest.approx(6000, rel=0.1)


def test_start_up_and_layout_are_measured():
    """What a task takes besides its cells, and what a range costs its first query."""
    found, *_ = measured(5.0, 64, startup=0.0005, layout=3e-9)
    assert found.startup == pytest.approx(0.0005 + TASK_SECONDS, rel=0.02)
    assert found.layout == pytest.approx(3e-9, rel=0.02)
    assert found.cell_seconds == pytest.approx(0.2e-9 * estimate_rescoring(KNOTS), rel=0.04)


def test_calibrated_rates_predict_what_they_were_measured_on():
    """The same tasks again, within a few percent."""
    found, (scorer, *_), _ = measured(2 * SPEEDS, 16, startup=0.0003, layout=1e-9)
    scorer(bytes([1] * 32), 0, 0, PROBE_TARGETS, None)  # lays the targets out
    for length in (32, 150, 1000, 2000):
        before = scorer._clock.now
        scorer(bytes(length), 0, 0, PROBE_TARGETS, None)
        predicted = float(found.seconds(length, PROBE_TARGETS * PROBE_LENGTH))
        took = scorer._clock.now - before + TASK_SECONDS
        assert predicted == pytest.approx(took, rel=0.05)


def test_a_very_slow_worker_is_not_measured_long():
    """At 20,000 cells a second: a few calls, and one speed for all lengths."""
    found, scorers, seconds = measured(0.00002, 1)
    assert sum(scorer.calls for scorer in scorers) < 50
    assert seconds < 10
    assert found.cell_seconds == pytest.approx(50e-6 * estimate_rescoring(KNOTS), rel=0.05)


@pytest.mark.parametrize("seconds", [1e-7, 1e-3, 0.5])
def test_a_worker_whose_time_says_nothing_has_a_speed(seconds):
    """Where every task takes the same, rates are still numbers above 0."""
    clock = Clock()
    scorer = FakeScorer(clock, math.inf, 8, startup=seconds)
    found = calibrate(lambda database: scorer, 1, clock.perf_counter)
    again = CostModel.from_dict(found.to_dict())
    assert (again.cell_seconds > 0).all()
    assert clock.now - 50.0 < 400 * seconds


@pytest.mark.parametrize("bounds", [False, True])
def test_upper_bounds_are_measured_where_a_search_has_them(bounds):
    """They take half the time here; exact scores of what they leave follow."""
    clock = Clock()
    asked = []

    class Bounding(FakeScorer):
        exact_part = 0.0

        def memory(self, longest_query, max_range_cost):
            return 0, 0

        def best(self, query, block, first, last, cutoffs, progress, profile=None):
            asked.append(cutoffs.lowest)
            before = clock.now
            self(query, block, first, last, progress, profile)
            clock.now = before + (clock.now - before) / 2
            return np.empty(0, np.int32), np.empty(0, np.int64)

    found = calibrate(
        lambda database: Bounding(clock, 20.0, 8), 1, clock.perf_counter, bounds=bounds
    )
    assert set(asked) == ({MAX_SCORE} if bounds else set())
    cell = 0.05e-9 * estimate_rescoring(KNOTS) * ((1 + calibration.LEFT) / 2 if bounds else 1)
    assert found.cell_seconds[:7] == pytest.approx(cell[:7], rel=0.05)


def test_the_simd_backend_is_measured():
    """On whatever machine this is: positive rates of a believable size."""
    scheme = ScoringScheme(matrices.load("BLOSUM62"), 11, 1)
    threads = threading.active_count()
    found = calibrate(lambda database: simd.bind(database, scheme), 2, choose_clock("cpu"))
    assert threading.active_count() == threads
    gcups = 1e-9 / found.cell_seconds
    assert ((gcups > 0.01) & (gcups < 1000)).all()
    assert 0 < found.startup < 0.1
    assert 0 <= found.layout < 1e-5
    assert found.width == simd.bind(None, scheme).width


def test_workers_that_compute_together_are_measured_together():
    """All but one of them score something else meanwhile, and end with the measurement."""
    scorers = set()
    beside = threading.Barrier(3)
    main = threading.get_ident()
    met = threading.Event()

    class Scorer:
        width = 1

        def __call__(self, query, block, first, last, progress, profile=None):
            mine = threading.get_ident()
            if len(scorers) < 3 and threading.active_count() > threads and mine not in scorers:
                scorers.add(mine)
                beside.wait(60)
                met.set()
            if mine != main:
                progress(1)
            return np.zeros(last - first, np.int32)

    threads = threading.active_count()
    calibrate(lambda database: Scorer(), 3)
    assert met.is_set()
    assert len(scorers) == 3
    assert threading.active_count() == threads


def test_a_processor_is_timed_by_what_it_computes():
    """Waiting is no part of it; of a GPU it is."""
    assert choose_clock("gpu") is calibration.time.perf_counter
    if calibration.THREAD_TIME_STEP <= 1e-5:
        assert choose_clock("cpu") is calibration.time.thread_time
