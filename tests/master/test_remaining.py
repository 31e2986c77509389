"""What is left is predicted: by a clock that the tests turn, against searches that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

import swdual
from swdual.hits.query_result import QueryResult
from swdual.io.progress import Bar
from swdual.master.remaining import ADJUST_CELLS, RemainingTime, Work
from swdual.master.search import Search
from swdual.request.options import SearchOptions

TARGETS, LENGTH = 5000, 400


@pytest.fixture(scope="module")
def params():
    """The options of a usual search, with scores that are adjusted."""
    family = {f"t{k}": "MKVLAWGGHERWCDEF" * 3 for k in range(5)}
    return Search({"q": "MKVLAWGGHERWCDEF"}, family, SearchOptions(threads=1)).params


class Clock:
    """Shows the time that a test sets."""

    now = 0.0

    def __call__(self):
        return self.now


def play(params, lengths, candidates, *, threads=1, beside=False, cell=1e-8, aligned=4e-8):
    """Play a search; return times, true and predicted seconds left, and the parts that are shown.

    Scores take `cell` seconds a cell, alignments `aligned`. Where others score meanwhile,
    alignments do not hold them up.
    """
    cells = [length * TARGETS * LENGTH for length in lengths]
    clock = Clock()
    remaining = RemainingTime(
        cells, TARGETS, params, aligns=True, aligners=threads, beside=beside, clock=clock
    )
    works = [Work(n, n * length * LENGTH) for n, length in zip(candidates, lengths, strict=True)]
    steps, free = [], 0.0
    for number, (size, work) in enumerate(zip(cells, works, strict=True)):
        seconds = size * cell / (1 if beside else threads)
        for _ in range(4):
            clock.now += seconds / 4
            remaining.add_cells(size // 4)
            steps.append((clock.now, remaining.estimate()))
        remaining.add_scored_query(number, work)
        spent = (work.cells + ADJUST_CELLS * work.targets) * aligned
        if beside:
            free = max(free, clock.now) + spent / threads
        else:
            clock.now += spent / threads
        remaining.add_aligning(spent)
        remaining.add_aligned(work)
        steps.append((clock.now, remaining.estimate()))
    end = max(clock.now, free)
    return [(now / end, end - now, told) for now, told in steps], end


CASES = {
    "alike": ([300] * 60, [400] * 60),
    "lengths": (np.random.default_rng(1).integers(50, 2000, 300).tolist(), [400] * 300),
    "candidates": (
        [400] * 300,
        np.random.default_rng(2).lognormal(5.5, 1.0, 300).astype(int).tolist(),
    ),
    "few candidates": ([400] * 100, [3] * 100),
}


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("name", CASES)
def test_the_time_left_is_told_within_a_quarter_from_a_tenth_on(params, name, threads):
    """Whatever the queries and their candidates, until next to nothing is left."""
    steps, end = play(params, *CASES[name], threads=threads)
    for part, left, told in steps:
        if part >= 0.1 and left > 0.05 * end:
            assert told.seconds == pytest.approx(left, rel=0.25), part


@pytest.mark.parametrize("name", CASES)
def test_the_part_that_is_shown_never_falls_and_is_not_all_before_the_end(params, name):
    """It is that of the time, not of the cells."""
    steps, _ = play(params, *CASES[name])
    shown = [told.fraction for _, _, told in steps]
    assert shown == sorted(shown)
    assert shown[-1] <= 0.99
    for part, _, told in steps:
        if 0.1 <= part <= 0.95:
            assert told.fraction == pytest.approx(part, rel=0.25)


def test_a_single_query_is_not_done_when_its_scores_are(params):
    """Its candidates are expected before they are known."""
    steps, _ = play(params, [400], [400])
    scored = steps[3]
    assert scored[0] < 0.9
    assert scored[2].fraction < 0.95
    assert scored[2].seconds > 0


def test_scores_beside_alignments_are_not_added_to_them(params):
    """Threads align beside a GPU: what takes longer counts."""
    clock = Clock()
    cells = [TARGETS * LENGTH * 400] * 10
    remaining = RemainingTime(
        cells, TARGETS, params, aligns=True, aligners=4, beside=True, clock=clock
    )
    work = Work(100, 100 * 400 * LENGTH)
    for number in range(5):
        clock.now += 1.0
        remaining.add_cells(cells[number])
        remaining.add_scored_query(number, work)
        remaining.add_aligning(2.0)
        remaining.add_aligned(work)
    assert remaining.estimate().seconds == pytest.approx(5.0)
    assert remaining.estimate().fraction == pytest.approx(0.5)


def test_what_was_done_before_counts_as_done_and_not_for_the_speed(params):
    """A resumed search begins with the part that its journal has."""
    clock = Clock()
    cells = [1000] * 10
    remaining = RemainingTime(cells, 1, params, aligns=False, aligners=1, beside=False, clock=clock)
    remaining.skip(5000)
    clock.now = 1.0
    assert math.isnan(remaining.estimate().seconds)
    remaining.add_cells(1000)
    told = remaining.estimate()
    assert (told.seconds, told.fraction, told.before) == pytest.approx((4.0, 0.6, 0.5))


def test_the_first_second_tells_the_part_but_no_time(params):
    """So few cells say little of the whole search."""
    clock = Clock()
    remaining = RemainingTime(
        [1000] * 10, 1, params, aligns=False, aligners=1, beside=False, clock=clock
    )
    clock.now = 0.5
    remaining.add_cells(1000)
    told = remaining.estimate()
    assert told.fraction == pytest.approx(0.1)
    assert math.isnan(told.seconds)


@pytest.mark.parametrize("options", [{}, {"comp_based_stats": 0}, {"max_hsps": 3}])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_search_tells_all_that_it_scores_and_aligns(monkeypatch, options, threads):
    """Each query once, each candidate once; so nothing is left at the end."""
    rng = np.random.default_rng(4)
    letters = [*"ARNDCQEGHILKMFPSTWYV"]
    texts = {f"t{k}": "".join(rng.choice(letters, 60)) for k in range(40)}
    kept, asked = [], []
    make = Search._remaining_time
    monkeypatch.setattr(Search, "_remaining_time", lambda run: kept.append(make(run)) or kept[-1])
    monkeypatch.setattr(Bar, "ask", lambda bar, estimate: asked.append(estimate))
    found = swdual.search(texts, texts, evalue=1e3, threads=threads, **options)
    assert all(isinstance(each, QueryResult) and len(each) for each in found)
    (remaining,) = kept
    assert remaining._unscored == remaining._unscored_cells == 0
    assert remaining._aligned == remaining._work > 0
    assert remaining._aligning_seconds > 0
    assert asked[0]().fraction == 0.99
