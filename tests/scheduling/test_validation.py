"""Broken schedules are found out, each for what is wrong with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.scheduling_oracles import random_workload

from swdual.scheduling.platform import Platform
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations


@pytest.fixture
def schedule():
    return simulate(random_workload(4, 60, 16), Platform(16, (4, 16)), "conservative")


def changed(schedule, column, index, value):
    """Return a schedule with one entry of a column changed."""
    entries = getattr(schedule, column).copy()
    entries[index] = value
    return replace(schedule, **{column: entries})


def moved(schedule, index, seconds):
    """Return a schedule in which a job runs at another time."""
    for column in ("start_time", "finish_time", "last_start"):
        value = getattr(schedule, column)[index] + seconds
        schedule = changed(schedule, column, index, value)
    return schedule


def test_a_sound_schedule_has_no_violations(schedule):
    assert violations(schedule) == []


def test_a_start_before_its_submission_is_found(schedule):
    early = moved(schedule, 0, -1.0)
    assert any("1 job, start before their submission: 1" in what for what in violations(early))


def test_a_late_start_is_found(schedule):
    last = int(np.argmax(schedule.start_time))
    late = moved(schedule, last, schedule.promised[last] - schedule.start_time[last] + 1)
    assert violations(late) == [f"1 job, start later than promised: {last + 1}"]


def test_a_job_that_never_ran_is_found(schedule):
    lost = changed(schedule, "finish_time", 7, np.nan)
    assert any("1 job, never ran: 8" in what for what in violations(lost))


def test_wrong_ends_are_found(schedule):
    whole = int(np.flatnonzero(~schedule.killed)[-1])
    short = changed(schedule, "finish_time", whole, schedule.finish_time[whole] - 0.5)
    assert any("did not end when their work was done" in what for what in violations(short))
    killed = int(np.flatnonzero(schedule.killed)[-1])
    other = changed(schedule, "finish_time", killed, schedule.finish_time[killed] - 0.5)
    assert any("not at their requested time" in what for what in violations(other))
    pardoned = changed(schedule, "killed", killed, False)
    assert any("killed too late or not at all" in what for what in violations(pardoned))
    innocent = changed(schedule, "killed", whole, True)
    assert any("killed for no reason" in what for what in violations(innocent))


def test_processors_held_twice_or_wrong_are_found(schedule):
    start, finish = schedule.start_time, schedule.finish_time
    one, other = next(
        (i, j)
        for i in range(60)
        for j in range(i + 1, 60)
        if start[i] < finish[j] and start[j] < finish[i]
    )
    first = schedule.offsets[one]
    taken = schedule.ranges[first].copy()
    ranges = schedule.ranges.copy()
    ranges[schedule.offsets[other] : schedule.offsets[other + 1]] = taken
    assert any("another job holds" in what for what in violations(replace(schedule, ranges=ranges)))
    ranges = schedule.ranges.copy()
    ranges[first] = (16, 16 + taken[1] - taken[0])
    found = violations(replace(schedule, ranges=ranges))
    assert found == [f"1 job, hold processors that the platform does not have: {one + 1}"]
    ranges = schedule.ranges.copy()
    ranges[first, 1] += 1
    assert any("more or fewer" in what for what in violations(replace(schedule, ranges=ranges)))


@pytest.mark.parametrize("allocator", ["contiguous", "local", "platform_level"])
def test_a_forced_property_that_is_not_kept_is_found(schedule, allocator):
    """Basic allocation gives it to some jobs only."""
    found = violations(replace(schedule, allocator=allocator))
    assert len(found) == 1
    assert f"are not {allocator}" in found[0]
