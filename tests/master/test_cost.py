"""What tasks cost: the formula, how it learns, how it is written, and for which machine."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.errors import InputError
from swdual.lanes.pack import INTRA_SEQUENCE_COST
from swdual.master import cost
from swdual.master.cost import (
    CALIBRATION_WORTH,
    KNOTS,
    MAX_COMMON_CORRECTION,
    MAX_CORRECTION,
    MAX_SEEN,
    MIN_SEEN_SECONDS,
    CostModel,
    Seen,
    compute_correction,
    interpolate_columns,
)

CELLS = np.array([9.0, 8, 7, 6, 5, 4, 3, 2, 1]) * 1e-10


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


# The machine.


def test_a_machine_is_named_after_its_processor(monkeypatch):
    """As far as the system says what it is."""
    assert f"{os.cpu_count()} logical CPUs" in cost.machine()
    for told, name in (("Acme 9", "Acme 9"), ("", "unknown processor")):
        monkeypatch.setattr(cost, "processor_name", lambda told=told: told)
        assert cost.machine() == f"{name}, {os.cpu_count()} logical CPUs"
