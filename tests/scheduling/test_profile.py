"""The availability profile, against a table of unit time steps."""

from __future__ import annotations

from functools import reduce
from operator import and_

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.processor_sets import numbers, ranges
from support.properties import examples
from support.selection_rules import RULES, lowest, suits_lowest

from swdual.scheduling import processors as sets
from swdual.scheduling.profile import AvailabilityProfile

HORIZON = 60


class Table:
    """The free processors of each second; after the horizon all are free."""

    def __init__(self, processors):
        self.processors = processors
        self.free = [set(range(processors)) for _ in range(HORIZON)]

    def window(self, start, duration):
        together = set(range(self.processors))
        for second in range(start, min(start + duration, HORIZON)):
            together &= self.free[second]
        return together

    def least(self, start, duration):
        counts = [len(self.free[s]) for s in range(start, min(start + duration, HORIZON))]
        return min([self.processors, *counts])

    def earliest(self, now, count, duration, suits, *, by_processors):
        for start in range(now, HORIZON + 1):
            if by_processors:
                if suits(self.window(start, duration), count):
                    return start
            elif self.least(start, duration) >= count:
                return start
        raise AssertionError


@examples(150)
@given(st.sampled_from(["count", *RULES]), st.integers(1, 70), st.data())
def test_jobs_are_placed_as_early_as_in_a_table_of_seconds(rule, processors, data):
    """Through submissions, early ends and the passing of time."""
    by_processors = rule != "count"
    choose, suits = RULES.get(rule, (None, None))
    table = Table(processors)
    profile = AvailabilityProfile(processors, by_processors=by_processors)
    now, placed = 0, []
    profile.advance(now)
    for _ in range(data.draw(st.integers(1, 12))):
        count = data.draw(st.integers(1, processors))
        duration = data.draw(st.integers(1, 9))
        start, chosen = profile.find_earliest(count, duration, choose)
        assert start == table.earliest(now, count, duration, suits, by_processors=by_processors)
        fits, now_chosen = profile.fits_now(count, duration, choose)
        assert fits == (start == now)
        several = [(count, duration), (data.draw(st.integers(1, processors)), 0), (1, 20)]
        # A job of no time needs them for a moment too.
        fitting = [
            now
            == table.earliest(now, width, max(time, 1), suits_lowest, by_processors=by_processors)
            for width, time in several
        ]
        counts, durations = np.array(several, np.int64).T
        assert profile.fit_now(counts, durations.astype(float)).tolist() == fitting
        if start + duration < HORIZON:
            if by_processors:
                assert sets.count(chosen) == count
                assert numbers(chosen) <= table.window(int(start), duration)
                if fits:
                    assert numbers(now_chosen) == numbers(chosen)
            else:
                # A table of seconds has sets only: any that are free each second will do.
                chosen = None
            profile.reserve(start, start + duration, count, chosen)
            held = []
            for second in range(int(start), int(start) + duration):
                mine = numbers(chosen) if by_processors else set(sorted(table.free[second])[:count])
                table.free[second] -= mine
                held.append((second, mine))
            placed.append((start, start + duration, count, chosen, held))
        if placed and data.draw(st.booleans()):
            start, end, count, chosen, held = placed.pop(data.draw(st.integers(0, len(placed) - 1)))
            since = max(start, now)
            profile.release(since, max(end, since), count, chosen)
            for second, mine in held:
                if second >= since:
                    table.free[second] |= mine
        now += data.draw(st.integers(0, 3))
        profile.advance(now)
        assert profile.steps[0][0] == now
        for (begin, free), (other, _) in zip(
            profile.steps, [*profile.steps[1:], (HORIZON, 0)], strict=True
        ):
            for second in range(int(begin), min(int(other), HORIZON)):
                assert free == len(table.free[second])


@examples(200)
@given(st.integers(1, 8), st.booleans(), st.data())
def test_a_job_that_is_passed_over_could_not_start_earlier(processors, now_only, data):
    """And one that is named could, in a profile that counts."""
    profile = AvailabilityProfile(processors)
    profile.advance(0)
    jobs = []
    for _ in range(data.draw(st.integers(1, 8))):
        count, duration = data.draw(st.integers(1, processors)), data.draw(st.integers(1, 6))
        start, _ = profile.find_earliest(count, duration)
        profile.reserve(start, start + duration, count)
        jobs.append((count, duration, start))
    # Something ends early, and leaves a hole.
    count, duration, start = jobs.pop(data.draw(st.integers(0, len(jobs) - 1)))
    profile.release(start, start + duration, count)
    counts, durations, starts = (
        np.array(column, kind)
        for column, kind in zip(
            zip(*jobs, strict=True) if jobs else [(), (), ()],
            (np.int64, np.float64, np.float64),
            strict=True,
        )
    )
    no_words = np.zeros((len(jobs), 0), np.uint64)
    none = np.arange(len(jobs)), no_words, no_words
    named, place = [], -1
    while True:
        if now_only:
            place = profile.next_startable(place + 1, counts, durations, starts, *none)
        else:
            place = profile.next_improvable(place + 1, counts, durations, starts)
        if place == len(jobs):
            break
        named.append(place)
    for number, (count, duration, start) in enumerate(jobs):
        profile.release(start, start + duration, count)
        if now_only:
            better = profile.fits_now(count, duration)[0] and start > 0
        else:
            better = profile.find_earliest(count, duration)[0] < start
        profile.reserve(start, start + duration, count)
        assert (number in named) == better


def most_before(free, start, duration, held):
    """Return how many processors a reserved job finds together at best, if it starts earlier.

    `free` has one bit a processor for each second, and the job holds `held`.
    """
    seconds = [
        among | held if start <= second < start + duration else among
        for second, among in enumerate(free)
    ]
    found = (reduce(and_, seconds[first : first + duration]) for first in range(start))
    return max((together.bit_count() for together in found), default=0)


@examples(500)
@given(seed=st.integers(0, 2**32 - 1), processors=st.integers(1, 12) | st.integers(60, 140))
def test_the_deficit_of_a_job_is_a_lower_bound(seed, processors):
    """However much is released and reserved since; and a job that has none is named."""
    random = np.random.default_rng(seed)
    profile = AvailabilityProfile(processors, by_processors=True)
    profile.advance(0)
    free = [2**processors - 1] * HORIZON
    jobs, deficit = [], np.zeros(0, np.int64)
    for _ in range(30):
        freed = None
        if len(jobs) > 4 and random.random() < 0.5:
            # A job ends early or moves away.
            gone = random.integers(len(jobs))
            start, duration, count, which, bits = jobs.pop(gone)
            deficit = np.delete(deficit, gone)
            freed = start, start + duration, which
            profile.release(start, start + duration, count, which)
        else:
            duration, count = (int(random.integers(1, most + 1)) for most in (9, processors))
            time, which = profile.find_earliest(count, duration, lowest)
            start, bits = int(time), sum(1 << number for number in numbers(which))
            if start + duration >= HORIZON:
                continue
            profile.reserve(start, start + duration, count, which)
            jobs.append((start, duration, count, which, bits))
            deficit = np.append(deficit, 1)
        for second in range(start, start + duration):
            free[second] ^= bits
        starts, durations = (np.array([job[k] for job in jobs], float) for k in (0, 1))
        counts = np.array([job[2] for job in jobs])
        rows, held = np.arange(len(jobs)), np.zeros((len(jobs), profile.words), np.uint64)
        for row, job in zip(held, jobs, strict=True):
            profile.write_set(row, job[3])
        columns = durations, starts, rows, held, deficit
        if freed is not None:
            profile.lower_deficits(*freed, *columns)
        if random.random() < 0.2:
            deficit[:] = 0  # as if nothing were known
        most = np.array([most_before(free, job[0], job[1], job[4]) for job in jobs])
        assert (most <= counts - deficit)[deficit > 0].all()
        if random.random() < 0.5:
            named, place = [], -1
            while place < len(jobs):
                place, time = profile.next_improvable_by_set(place + 1, counts, *columns)
                if place < len(jobs):
                    assert time < starts[place]
                    named.append(place)
            assert named == np.flatnonzero(most >= counts).tolist()
            assert (most <= counts - deficit)[deficit > 0].all()


@pytest.mark.parametrize("by_processors", [False, True])
def test_what_is_released_leaves_no_trace(by_processors):
    """The slices are joined again: a long simulation needs no more room than a short one."""
    profile = AvailabilityProfile(100, by_processors=by_processors)
    profile.advance(0)
    which = ranges(range(10, 75))
    for number in range(500):
        profile.reserve(number, number + 7, 65, which)
        profile.release(number, number + 7, 65, which)
    assert profile.steps == [(0.0, 100)]
