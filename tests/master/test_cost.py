"""What tasks cost: the formula, how it learns, how it is measured, and where it is kept."""

from __future__ import annotations

import json
import math
import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.backend import MAX_SCORE
from swdual.backends import simd
from swdual.errors import InputError
from swdual.lanes.pack import INTRA_SEQUENCE_COST
from swdual.master import cost
from swdual.master.cost import (
    CALIBRATION_WORTH,
    KNOTS,
    MAX_COMMON_CORRECTION,
    MAX_CORRECTION,
    MAX_PROBE_SECONDS,
    MAX_SEEN,
    MIN_ALONE_LENGTH,
    MIN_SEEN_SECONDS,
    PROBE_LENGTH,
    PROBE_TARGETS,
    SHORT_LENGTH,
    TASK_SECONDS,
    CalibrationCache,
    CostModel,
    Seen,
    calibrate,
    choose_clock,
    compute_correction,
    estimate_rescoring,
    interpolate_columns,
)
from swdual.runtime.cache import cache_folder
from swdual.sequences import matrices
from swdual.sequences.scoring import ScoringScheme

CELLS = np.array([9.0, 8, 7, 6, 5, 4, 3, 2, 1]) * 1e-10
SPEEDS = np.array([0.1, 0.3, 0.5, 1, 2, 3, 4, 4.5, 5])
"""GCUPS at each knot."""


def rates(startup=0.0, layout=0.0, cells=CELLS):
    return CostModel(startup, layout, np.array(cells))


# The formula.


def interpolated(length):
    """Return the seconds of a cell, straight between knots over logarithms of both."""
    if length <= KNOTS[0]:
        return CELLS[0]
    for k in range(len(KNOTS) - 1):
        if length <= KNOTS[k + 1]:
            part = math.log(length / KNOTS[k]) / math.log(KNOTS[k + 1] / KNOTS[k])
            return CELLS[k] * (CELLS[k + 1] / CELLS[k]) ** part
    return CELLS[-1]


@examples(200)
@given(
    length=st.one_of(st.sampled_from([1, *KNOTS.tolist(), 10**6]), st.integers(1, 100_000)),
    residues=st.integers(1, 10**10),
    share=st.sampled_from([0.0, 0.25, 1.0]),
)
def test_seconds_follow_the_formula(length, residues, share):
    """Start-up, layout and cells; below the first knot and beyond the last the rate is theirs."""
    expected = 0.001 + residues * (2e-9 * share + length * interpolated(length))
    assert rates(0.001, 2e-9).seconds(length, residues, share) == pytest.approx(expected, rel=1e-12)


def test_seconds_are_computed_for_many_tasks_at_once():
    """Each of its own length and residues."""
    known = rates(0.5)
    found = known.seconds([1, 32, 10**6], [10, 20, 30])
    assert found.tolist() == [float(known.seconds(*x)) for x in ((1, 10), (32, 20), (10**6, 30))]
    assert known.seconds([], []).shape == (0,)


def test_lengths_between_knots_cost_something_between():
    """The geometric mean of two knots at theirs."""
    middle = math.sqrt(KNOTS[2] * KNOTS[3])
    found = float(rates().seconds(middle, 10**9)) / (middle * 10**9)
    assert found == pytest.approx(math.sqrt(CELLS[2] * CELLS[3]))


def test_columns_between_knots_are_interpolated_too():
    """For each range by itself, as many as there are."""
    columns = np.array([np.full(9, 1000.0), 1000.0 / np.arange(1, 10)])
    found = interpolate_columns(np.array([4, 10, 10**6]), columns)
    assert found == pytest.approx(np.array([[1000, 1000], [1000, 500], [1000, 1000 / 9]]))
    assert interpolate_columns(np.array([], int), columns).shape == (0, 2)
    assert interpolate_columns(np.array([5, 6, 7]), np.empty((0, 9))).shape == (3, 0)


# Learning.


def taught(known, truth, lengths, seconds=1.0, overhead=0.0):
    """Let rates learn from a task of each length that takes so many seconds, by the truth."""
    lengths = np.array(lengths, np.int64)
    columns = (seconds - overhead) / (lengths * truth)
    predicted = known.cells_time(lengths, columns) + overhead
    known.learn(lengths, predicted, np.full(len(lengths), overhead), np.full(len(lengths), seconds))


def test_rates_converge_to_the_truth():
    """Each knot has its own error; after some searches all are right within two percent."""
    truth = CELLS * np.array([3.0, 2.0, 2.0, 0.4, 1.5, 0.5, 2.0, 1.0, 0.8])
    known = rates()
    for _ in range(MAX_SEEN):
        taught(known, truth, KNOTS)
    assert known.cell_seconds == pytest.approx(truth, rel=0.02)
    for _ in range(100):
        taught(known, truth, KNOTS)
    assert known.cell_seconds == pytest.approx(truth, rel=0.02)


def test_one_slow_search_changes_nothing():
    """The calibration outweighs it: something else had the machine."""
    known = rates()
    taught(known, 2.5 * CELLS, KNOTS, 100.0)
    assert known.cell_seconds == pytest.approx(CELLS)


def test_a_busy_period_is_forgotten():
    """Some slow searches among others, and many slow ones before the last."""
    known = rates()
    for number in range(40):
        taught(known, CELLS * (2.5 if number % 2 else 1.0), KNOTS)
    assert known.cell_seconds == pytest.approx(CELLS)
    for _ in range(20):
        taught(known, CELLS * 2.5, KNOTS)
    assert (known.cell_seconds > 2 * CELLS).all()
    for _ in range(MAX_SEEN):
        taught(known, CELLS, KNOTS)
    assert known.cell_seconds == pytest.approx(CELLS)


def test_each_knot_follows_the_tasks_nearest_to_it():
    """Nearest in proportion: 170 residues belong to 100, 190 to 320."""
    for length, knot in ((170, 3), (190, 4), (1, 0), (10**6, 8)):
        known = rates()
        cell = float(np.interp(np.log(length), np.log(KNOTS), np.arange(9)))
        for _ in range(MAX_SEEN):
            columns = 1.0 / (length * CELLS[round(cell)])
            expected = CostModel(0, 0, CELLS).cells_time([length], [columns])
            known.learn(
                np.array([length]), known.cells_time([length], [columns]), np.zeros(1), 2 * expected
            )
        factors = known.cell_seconds / CELLS
        assert factors[knot] == factors.max() > 1.5
        others = np.delete(factors, knot)
        assert (others == others[0]).all()
        assert 1 < others[0] <= MAX_COMMON_CORRECTION


def test_knots_that_nobody_observed_share_a_small_correction():
    """However often one length is searched, and whatever it takes."""
    for factor in (0.01, 0.5, 0.9, 1.1, 2.0, 100.0):
        known = rates()
        for _ in range(50):
            taught(known, np.array([factor * CELLS[0]]), [4], 10.0)
        factors = known.cell_seconds / CELLS
        others = factors[1:]
        assert others == pytest.approx(np.full(8, others[0]))
        assert abs(math.log(others[0])) <= math.log(MAX_COMMON_CORRECTION) * (1 + 1e-9)
        assert abs(math.log(factors[0])) <= math.log(MAX_CORRECTION) * (1 + 1e-9)
        assert (others[0] - 1) * (factors[0] - 1) > 0


def test_searches_of_peptides_do_not_change_what_proteins_take():
    """Their time is that of start-up and layout, of which nothing is charged to cells."""
    known = CostModel(0.001, 1e-9, CELLS)
    for _ in range(200):
        for length, residues in ((8, 7_000_000), (10, 10_000), (10, 1)):
            overhead = known.overhead(residues, 1.0)
            predicted = overhead + known.cells_time(length, 0.01 * residues)
            known.learn(
                *(np.array([x], float) for x in (length, predicted, overhead, 5 * predicted))
            )
    assert known.seen == []


def test_short_tasks_tell_nothing_unless_they_are_many():
    """Together they must take long enough to be timed."""
    known = rates()
    for _ in range(100):
        taught(known, 2 * CELLS, KNOTS, 0.9 * MIN_SEEN_SECONDS)
    assert known.seen == []
    count = 20
    taught(known, np.full(count, 2 * CELLS[3]), [100] * count, 3 * MIN_SEEN_SECONDS / count)
    assert known.seen == [Seen(3, pytest.approx(2.0))]


def test_what_a_task_takes_besides_is_no_time_of_cells():
    """A fifth of it, here."""
    known = rates()
    for _ in range(MAX_SEEN):
        taught(known, 1.5 * CELLS, KNOTS, 1.0, 0.1)
    assert known.cell_seconds == pytest.approx(1.5 * CELLS)


def test_tasks_that_were_done_together_are_worth_what_both_took():
    """One of a pair takes the time of both, the other none: nothing is to be learnt from that."""
    known = rates()
    lengths = np.full(4, int(KNOTS[3]))
    predicted = known.cells_time(lengths, np.full(4, 10**7))
    known.learn(lengths, predicted, np.zeros(4), predicted * [2, 0, 2, 0])
    assert known.cell_seconds == pytest.approx(CELLS)


def test_nothing_observed_changes_nothing():
    """A search that was ended before its first task."""
    known = rates(0.1, 0.2)
    before = known.to_dict()
    known.learn(*np.empty((4, 0)))
    assert known.to_dict() == before


ratios = st.floats(1 / MAX_CORRECTION, MAX_CORRECTION)
seen_by_searches = st.lists(
    st.builds(Seen, st.integers(0, len(KNOTS) - 1), ratios), max_size=MAX_SEEN * len(KNOTS)
)


@examples(100)
@given(seen=seen_by_searches, random=st.randoms())
def test_the_order_of_searches_does_not_matter(seen, random):
    """As long as none is forgotten."""
    mixed = random.sample(seen, len(seen))
    assert compute_correction(mixed) == pytest.approx(compute_correction(seen), rel=1e-12)


@examples(100)
@given(seen=seen_by_searches)
def test_corrections_are_bounded(seen):
    """Those of lengths that nobody searched much closer than the others."""
    found = compute_correction(seen)
    assert (abs(np.log(found)) <= math.log(MAX_CORRECTION) * (1 + 1e-9)).all()
    unknown = np.setdiff1d(np.arange(len(KNOTS)), [each.knot for each in seen])
    assert (found[unknown] >= 1 / MAX_COMMON_CORRECTION).all()
    assert (found[unknown] <= MAX_COMMON_CORRECTION).all()
    assert len(set(found[unknown].tolist())) <= 1
    for each in seen:
        mine = [other.ratio for other in seen if other.knot == each.knot] + [1.0]
        assert min(mine) * (1 - 1e-9) <= found[each.knot] <= max(mine) * (1 + 1e-9)
        if len(mine) <= CALIBRATION_WORTH:
            assert found[each.knot] <= 1.0 + 1e-9


@examples(100)
@given(
    searches=st.lists(
        st.lists(
            st.tuples(st.integers(1, 40_000), st.integers(1, 10**8), st.floats(1e-6, 1e6)),
            max_size=8,
        ),
        max_size=8,
    ),
)
def test_whatever_is_observed_rates_stay_near_the_calibration(searches):
    """So that the next plan can be made, and the file be read."""
    known = rates(1e-5, 1e-9)
    for tasks in searches:
        lengths = np.array([task[0] for task in tasks], np.int64)
        residues = np.array([task[1] for task in tasks], np.int64)
        overhead, predicted = known.overhead(residues), known.seconds(lengths, residues)
        observed = predicted * np.array([task[2] for task in tasks])
        known.learn(lengths, predicted, overhead, observed)
        factors = known.cell_seconds / CELLS
        assert (abs(np.log(factors)) <= math.log(MAX_CORRECTION) * (1 + 1e-9)).all()
        assert max(np.bincount([each.knot for each in known.seen]), default=0) <= MAX_SEEN
        CostModel.from_dict(json.loads(json.dumps(known.to_dict())))


# As JSON.


def test_rates_survive_json():
    """All that they hold."""
    known = CostModel(0.001, 2e-9, CELLS.copy(), 64, np.arange(1.0, 10.0), [Seen(3, 2.0)] * 8)
    again = CostModel.from_dict(json.loads(json.dumps(known.to_dict())))
    assert (again.startup, again.layout, again.width) == (0.001, 2e-9, 64)
    assert again.cell_seconds == pytest.approx(known.cell_seconds, rel=1e-12)
    assert again.sparse == pytest.approx(np.arange(1.0, 10.0), rel=1e-12)
    assert again.seen == []


def test_rates_of_earlier_releases_are_read():
    """With another set of lengths, and what they call trust."""
    told = {"startup": 1, "layout": 2, "width": 3, "gcups": {"32": 4, "32000": 4}, "trust": [0.5]}
    known = CostModel.from_dict(told)
    assert (known.startup, known.layout, known.width) == (1, 2, 3)
    assert known.cell_seconds == pytest.approx(0.25e-9)


@pytest.mark.parametrize("given_", [5, 5.0, {"gcups": 5}, {"gcups": {"100": 5}}])
def test_a_bare_number_is_gcups_at_any_length(given_):
    """So that a person can write one."""
    known = CostModel.from_dict(given_)
    assert (known.startup, known.layout, known.width) == (0, 0, 1)
    assert known.sparse.tolist() == [INTRA_SEQUENCE_COST] * len(KNOTS)
    for length in (1, 100, 5000, 10**6):
        assert known.seconds(length, 10**9 / length) == pytest.approx(0.2)


def test_gcups_may_be_given_for_any_lengths():
    """In between they are interpolated."""
    known = CostModel.from_dict(
        {"gcups": {"3200": 4, "32": 1}, "startup": 2, "layout": 3, "width": 7}
    )
    assert known.cell_seconds[[0, 1, 2, 6, 7, 8]] == pytest.approx([1e-9] * 3 + [2.5e-10] * 3)
    assert known.cell_seconds[4] == pytest.approx(0.5e-9)
    assert (known.startup, known.layout, known.width) == (2, 3, 7)


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        (None, "must be numbers"),
        ("fast", "must be numbers"),
        ([], "must be numbers"),
        ([1, 2], "must be numbers"),
        ({}, "rates are a number of GCUPS"),
        ({"startup": 1}, "rates are a number of GCUPS"),
        ({"gcups": 1, "speed": 2}, "rates are a number of GCUPS"),
        (0, "above 0"),
        (-1.0, "above 0"),
        (math.nan, "above 0"),
        (math.inf, "above 0"),
        ({"gcups": {}}, "above 0"),
        ({"gcups": {"0": 1}}, "above 0"),
        ({"gcups": {"-5": 1}}, "above 0"),
        ({"gcups": {"100": 0}}, "above 0"),
        ({"gcups": {"x": 1}}, "must be numbers"),
        ({"gcups": {"100": None}}, "must be numbers"),
        ({"gcups": 1, "startup": -1}, "from 0"),
        ({"gcups": 1, "startup": math.nan}, "from 0"),
        ({"gcups": 1, "startup": []}, "must be numbers"),
        ({"gcups": 1, "layout": math.inf}, "from 0"),
        ({"gcups": 1, "layout": "x"}, "must be numbers"),
        ({"gcups": 1, "width": 0}, "at least 1"),
        ({"gcups": 1, "width": None}, "must be numbers"),
        ({"gcups": 1, "sparse": "x"}, "must be numbers"),
        ({"gcups": 1, "sparse": [1, 2]}, "must be numbers"),
        ({"gcups": 1, "sparse": {}}, "above 0"),
        ({"gcups": 1, "sparse": 0}, "above 0"),
        ({"gcups": 1, "sparse": {"32": -1}}, "above 0"),
        ({"gcups": 1, "sparse": 1e7}, "at most"),
        ({"gcups": 1, "sparse": math.nan}, "above 0"),
    ],
)
def test_what_are_no_rates_is_an_input_error(given_, words):
    """Missing, unknown, no numbers, or numbers out of range."""
    with pytest.raises(InputError, match=words):
        CostModel.from_dict(given_)


@pytest.mark.parametrize(
    "given_",
    [
        {"gcups": 1, "width": math.inf},
        {"gcups": 10**400},
        10**400,
        {"gcups": {"1e999": 1}},
    ],
    ids=["infinite width", "huge speed", "huge number", "infinite length"],
)
def test_numbers_that_nothing_can_be_computed_with_are_an_input_error(given_):
    """JSON has Infinity, NaN and whole numbers of any size."""
    with pytest.raises(InputError):
        CostModel.from_dict(given_)


# Calibration.


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
    cell = 0.05e-9 * estimate_rescoring(KNOTS) * ((1 + cost.LEFT) / 2 if bounds else 1)
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
    assert choose_clock("gpu") is cost.time.perf_counter
    if cost.time.get_clock_info("thread_time").resolution <= 1e-5:
        assert choose_clock("cpu") is cost.time.thread_time


# The book.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache folder of its own."""
    monkeypatch.setenv("SWDUAL_CACHE_DIR", os.fspath(tmp_path))
    cache_folder.cache_clear()
    yield cache_folder()
    cache_folder.cache_clear()


class Measure:
    """Counts how often it is asked."""

    def __init__(self, gcups=2.0):
        self.gcups, self.calls = gcups, 0

    def __call__(self):
        self.calls += 1
        return CostModel.from_dict(self.gcups)


def gcups(found):
    return pytest.approx(1e-9 / found.cell_seconds[0])


def never():
    raise AssertionError("it was measured before")


def test_rates_are_measured_once_and_then_read(folder):
    """By this book, and by the next one."""
    assert folder is not None
    book, measure = CalibrationCache(), Measure()
    for _ in range(2):
        assert gcups(book.find("simd", "1 simd", measure)) == 2.0
    assert measure.calls == 1
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 2.0
    other = Measure(3.0)
    assert gcups(CalibrationCache().find("reference", "1 simd", other)) == 3.0
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 2.0
    assert sorted(path.name for path in folder.iterdir()) == ["rates.json"]


def test_corrected_rates_are_kept_for_each_crowd(folder):
    """Each crowd is measured, too: neighbours share memory and clock."""
    book = CalibrationCache()
    book.find("simd", "4 simd", Measure(2.0))
    book.keep("simd", "4 simd", CostModel.from_dict(1.5))
    book.keep("simd", "1 simd", CostModel.from_dict(2.5))
    book.save()
    for each in (book, CalibrationCache()):
        assert gcups(each.find("simd", "4 simd", never)) == 1.5
        assert gcups(each.find("simd", "1 simd", never)) == 2.5
    assert gcups(book.find("simd", "3 simd", Measure(2.2))) == 2.2
    assert gcups(CalibrationCache().find("simd", "3 simd", never)) == 2.2


def test_what_is_found_may_be_changed_without_changing_the_book(folder):
    """Rates learn while a search runs; only `keep` writes them down."""
    book = CalibrationCache()
    for _ in range(2):
        found = book.find("simd", "1 simd", Measure())
        assert gcups(found) == 2.0
        found.seen += [Seen(0, 0.5)] * MAX_SEEN
        assert gcups(found) != 2.0


KEY = "simd among 1 simd"

DAMAGED = [
    "", "{", "null", "5", '"text"', "[]", "[[1]]", "{}", '{"x": 1}', "\0\0\0",
    *(json.dumps({"MACHINE": inner}) for inner in (
        None, 5, "text", [], [1], {KEY: None}, {KEY: "x"}, {KEY: []}, {KEY: {}},
        {KEY: {"gcups": 1, "trust": [1] * 7}}, {KEY: {"probed": {"gcups": 0}, "seen": []}},
        {KEY: {"probed": 1}}, {KEY: {"probed": 1, "seen": 5}}, {KEY: {"probed": {}}},
        {KEY: {"probed": 1, "seen": [[320, 1e30]]}}, {KEY: {"probed": 1, "seen": [[5, 1]]}},
        {KEY: {"probed": 1, "seen": [[320, "x"]]}}, {KEY: {"probed": 1, "seen": [[1]]}},
        {KEY: {"probed": 1, "seen": [["x", 1]]}}, {KEY: {"probed": 1, "seen": [None]}},
        {KEY: {"probed": 1, "seen": [[320, math.nan]]}},
        {KEY: {"probed": 1, "seen": [[[], 1]]}},
        {KEY: {"probed": {"gcups": {"100": 25216, "1000": 5e-12}}, "seen": []}},
        {"other": None},
    )),
]  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_costs_a_calibration_only(folder, text):
    """Cut off, or of another shape: it is measured again, and then the file is right again."""
    (folder / "rates.json").write_text(text.replace('"MACHINE"', json.dumps(cost.machine())))
    measure = Measure()
    assert gcups(CalibrationCache().find("simd", "1 simd", measure)) == 2.0
    assert measure.calls == 1
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 2.0


def test_a_file_that_was_cut_off_anywhere_costs_a_calibration_only(folder):
    """At any byte."""
    book = CalibrationCache()
    book.find("simd", "1 simd", Measure())
    whole = (folder / "rates.json").read_bytes()
    for end in range(0, len(whole), 7):
        (folder / "rates.json").write_bytes(whole[:end])
        assert gcups(CalibrationCache().find("simd", "1 simd", Measure())) == 2.0
        assert (folder / "rates.json").read_bytes() == whole


def test_bytes_that_are_no_text_cost_a_calibration_only(folder):
    """UTF-8 or not."""
    (folder / "rates.json").write_bytes(b"\xff\xfe{}")
    assert gcups(CalibrationCache().find("simd", "1 simd", Measure())) == 2.0
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 2.0


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"MACHINE": {"simd among 1 simd": '
        '{"seen": [], "probed": {"gcups": 1, "width": Infinity}}}}',
        '{"MACHINE": {"simd among 1 simd": {"seen": [], "probed": 1' + 400 * "0" + "}}}",
    ],
    ids=["nested", "infinite", "huge"],
)
def test_a_file_of_nonsense_costs_a_calibration_only(folder, text):
    """Brackets without end, and numbers that do not fit."""
    (folder / "rates.json").write_text(text.replace('"MACHINE"', json.dumps(cost.machine())))
    assert gcups(CalibrationCache().find("simd", "1 simd", Measure())) == 2.0
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 2.0


def test_other_machines_with_the_same_home_are_left_alone(folder, monkeypatch):
    """Each has its own rates, whatever another's look like."""
    (folder / "rates.json").write_text(json.dumps({"old": "strange"}))
    book = CalibrationCache()
    book.find("simd", "1 simd", Measure(2.0))
    monkeypatch.setattr(cost, "machine", lambda: "another")
    other = CalibrationCache()
    assert gcups(other.find("simd", "1 simd", Measure(9.0))) == 9.0
    kept = json.loads((folder / "rates.json").read_text())
    assert kept.pop("old") == "strange"
    assert len(kept) == 2
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 9.0
    monkeypatch.undo()
    monkeypatch.setenv("SWDUAL_CACHE_DIR", os.fspath(folder.parent))
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 2.0


def test_books_that_write_one_after_the_other_leave_a_whole_file(folder):
    """The last one's rates are there and what only the first one knew, and no file beside it."""
    books = CalibrationCache(), CalibrationCache()
    for book, name, speed in zip(books, ("simd", "other"), (2.0, 3.0), strict=True):
        book.find(name, "1 simd", Measure(speed))
    for _ in range(3):
        for number, book in enumerate(books):
            book.keep("simd", "2 simd", CostModel.from_dict(4.0 + number))
            book.save()
            json.loads((folder / "rates.json").read_text())
    assert gcups(CalibrationCache().find("simd", "2 simd", never)) == 5.0
    for name, speed in (("simd", 2.0), ("other", 3.0)):
        assert gcups(CalibrationCache().find(name, "1 simd", never)) == speed
    assert [path.name for path in folder.iterdir()] == ["rates.json"]


def test_without_a_folder_rates_are_measured_in_each_run(monkeypatch):
    """Where nothing can be written, nothing is kept."""
    monkeypatch.setattr(cost, "cache_folder", lambda: None)
    book, measure = CalibrationCache(), Measure()
    assert book.path is None
    for _ in range(2):
        book.find("simd", "1 simd", measure)
        book.save()
    assert measure.calls == 1
    CalibrationCache().find("simd", "1 simd", measure)
    assert measure.calls == 2


def test_a_folder_that_vanished_or_a_full_disk_costs_a_calibration_only(folder, monkeypatch):
    """What cannot be written is not kept, and no half of it stays."""
    book = CalibrationCache()
    folder.rename(folder.with_name("elsewhere"))
    assert gcups(book.find("simd", "1 simd", Measure())) == 2.0
    folder.with_name("elsewhere").rename(folder)

    def full(path, text):
        path.write_bytes(text[: len(text) // 2].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cost.Path, "write_text", full)
    book.keep("simd", "2 simd", CostModel.from_dict(1.0))
    book.save()
    assert list(folder.iterdir()) == []


def test_a_disk_that_became_read_only_costs_a_calibration_only(folder, monkeypatch):
    """There even the removal of a file that does not exist is refused."""

    def refused(path, *_, **__):
        raise OSError(30, "Read-only file system")

    book = CalibrationCache()
    monkeypatch.setattr(cost.Path, "write_text", refused)
    monkeypatch.setattr(cost.Path, "unlink", refused)
    assert gcups(book.find("simd", "1 simd", Measure())) == 2.0


def test_a_folder_in_the_place_of_the_file_costs_a_calibration_only(folder):
    """It is neither read nor replaced."""
    (folder / "rates.json").mkdir()
    assert gcups(CalibrationCache().find("simd", "1 simd", Measure())) == 2.0
    assert [path.name for path in folder.iterdir()] == ["rates.json"]


def test_a_machine_is_named_after_its_processor(monkeypatch):
    """As far as it says what it is."""
    assert f"{os.cpu_count()} logical CPUs" in cost.machine()
    for text, name in (("flags: x\nmodel name\t: Acme 9\nmodel name\t: Acme 9\n", "Acme 9"),
                       ("", "unknown processor")):  # fmt: skip
        monkeypatch.setattr(cost.Path, "read_text", lambda _, text=text: text)
        assert cost.machine().startswith(f"{name}, ")
