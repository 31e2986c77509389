"""The cheapest place of a new job, against making all plans in full, and at single places."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.scheduling.profile import AvailabilityProfile


def planned(profile, jobs):
    """Take jobs out, each at its earliest time; return these."""
    starts = []
    for processors, duration in jobs:
        start, _ = profile.find_earliest(processors, duration)
        profile.reserve(start, start + duration, processors)
        starts.append(start)
    return starts


def plans(profile, jobs, starts, step):
    """Yield the starts of all jobs for each place of the last one, the last place first."""
    *others, new = range(len(jobs))
    for place in reversed(others[::step]):
        moved = [new, *others[place:]]
        trial = deepcopy(profile)
        for job in moved:
            processors, duration = jobs[job]
            trial.release(starts[job], starts[job] + duration, processors)
        tried = list(starts)
        for job, start in zip(moved, planned(trial, [jobs[job] for job in moved]), strict=True):
            tried[job] = start
        yield tried


def found(profile, jobs, starts, latest, weights, step):
    processors, durations = (np.array(column) for column in zip(*jobs, strict=True))
    columns = processors, durations.astype(float), np.array(starts), np.array(latest)
    return profile.insert_last_job(step, *columns, np.array(weights, float)).tolist()


@examples(200)
@given(
    st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(2, 20), st.integers(1, 5),
)  # fmt: skip
def test_the_cheapest_plan_that_nobody_is_too_late_in_is_kept(seed, count, processors, step):
    random = np.random.default_rng(seed)
    profile = AvailabilityProfile(processors)
    profile.advance(0)
    jobs = [
        (int(random.integers(1, processors + 1)), int(random.integers(1, 15)))
        for _ in range(count + 3)
    ]
    planned(profile, jobs[count:])  # these run
    jobs = jobs[:count]
    starts = planned(profile, jobs)
    order = sorted(range(count - 1), key=starts.__getitem__)
    jobs = [jobs[job] for job in (*order, count - 1)]
    starts = [starts[job] for job in (*order, count - 1)]
    latest = [start + int(random.integers(0, 40)) for start in starts]
    weights = random.integers(1, 4, count).tolist()
    best, least = starts, np.dot(starts, weights)
    for tried in plans(profile, jobs, starts, step):
        price = np.dot(tried, weights)
        if price < least and all(s <= last for s, last in zip(tried, latest, strict=True)):
            best, least = tried, price
    before = profile.steps
    assert found(profile, jobs, starts, latest, weights, step) == best
    assert profile.steps == before


WAITING = [(4, 10), (4, 10), (4, 2)]
"""One after the other on four processors; the last is short."""


@pytest.mark.parametrize(
    ("latest", "weights", "step", "starts"),
    [
        ([99, 99, 99], [1, 1, 1], 1, [2, 12, 0]),
        ([1, 99, 99], [1, 1, 1], 1, [0, 12, 10]),
        ([1, 11, 99], [1, 1, 1], 1, [0, 10, 20]),
        ([99, 99, 99], [1, 1, 0.2], 1, [0, 10, 20]),
        ([1, 99, 99], [1, 1, 1], 2, [0, 10, 20]),
    ],
)
def test_a_short_job_comes_before_those_who_can_wait(latest, weights, step, starts):
    """Before both; one; none, as they cannot wait or what it gains is little; not tried."""
    profile = AvailabilityProfile(4)
    profile.advance(0)
    assert planned(profile, WAITING) == [0, 10, 20]
    assert found(profile, WAITING, [0.0, 10.0, 20.0], latest, weights, step) == starts


def test_a_job_too_short_for_the_precision_of_times_takes_nothing():
    """The second job runs on through the start of the first, which needs all processors."""
    now = 1e9
    profile = AvailabilityProfile(4)
    profile.advance(now)
    profile.reserve(now, now + 20, 3)
    profile.reserve(now + 30, now + 34, 1)
    jobs, starts = [(4, 1e-9), (3, 20), (1, 4)], [now, now, now + 30]
    latest = [now + 99] * 3
    assert found(profile, jobs, starts, latest, [1, 1, 1], 2) == [now + 4, now, now]
