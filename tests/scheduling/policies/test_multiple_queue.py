"""Multiple-queue backfilling delays no first job of a queue, and lends what is idle."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import rivals
from support.properties import seeds
from support.random_jobs import jobs_at_random, workload_of

from swdual import registry
from swdual.errors import InputError
from swdual.scheduling import allocator
from swdual.scheduling.platform import Platform
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations

pytestmark = pytest.mark.sample("values")

PLATFORM = Platform(12, (2, 6, 12))


def simulated(jobs, processors, limits, allocator="basic", **options):
    chosen = {"limits": limits, **options}
    return simulate(
        workload_of(jobs), processors, "multiple_queue", allocator, options=chosen, explain=[2, 3]
    )


def test_short_jobs_have_processors_of_their_own():
    """The third job is long and waits for its own partition, or until the other is idle.

    EASY keeps for it what becomes free first, so that the short job after it must wait.
    """
    jobs = [(0, 20, 20, 4), (0, 9, 9, 1), (1, 20, 20, 4), (2, 9, 9, 3)]
    assert simulated(jobs, 8, "10").start_time.tolist() == [0, 0, 11, 2]
    assert simulate(workload_of(jobs), 8, "easy").start_time.tolist() == [0, 0, 9, 20]


def test_a_job_as_wide_as_the_platform_does_not_starve():
    """Short jobs keep coming; the wide job starts when those that run at its submission end."""
    jobs = [(0, 9, 9, 4), (1, 50, 50, 8), *((second, 5, 5, 4) for second in range(2, 40, 2))]
    schedule = simulated(jobs, 8, "20")
    assert schedule.start_time[1] == schedule.promised[1] == 9


def test_one_queue_is_easy():
    for seed in seeds(40):
        workload = workload_of(jobs_at_random(seed, 60, 11))
        alone = simulate(workload, 11, "multiple_queue", options={"limits": ""})
        assert alone.start_time.tolist() == simulate(workload, 11, "easy").start_time.tolist()


@pytest.mark.sample(2)
@pytest.mark.parametrize("first", range(0, 240, 40))
def test_starts_are_those_of_the_definition(first):
    for seed in range(first, first + 40):
        processors = 3 + seed % 11
        jobs = jobs_at_random(seed, 16, processors)
        limits = ([6], [4, 8], [2, 5, 9])[seed % 3]
        starts = simulated(jobs, processors, " ".join(map(str, limits))).start_time.tolist()
        assert starts == rivals.multiple_queue(jobs, processors, limits), seed


@pytest.mark.parametrize("by", ["count", "processors"])
@pytest.mark.parametrize("name", registry.available(allocator.PACKAGE))
def test_pivots_start_as_promised_with_every_allocator(name, by):
    for seed in range(8):
        jobs = jobs_at_random(seed, 60, 12)
        schedule = simulated(jobs, PLATFORM, "3 6 9", name, by=by)
        assert violations(schedule) == []
        assert np.isfinite(schedule.promised).any()


def test_a_watched_job_hears_of_its_queue():
    schedule = simulated([(0, 9, 9, 4), (1, 5, 5, 4), (2, 5, 5, 4)], 4, "20")
    assert schedule.notes[1] == [
        (1.0, "first of queue 1: reserved at 9 s"),
        (9.0, "started as the first of queue 1"),
    ]
    assert schedule.notes[2][0] == (2.0, "not backfilled: it would delay the first of a queue")


@pytest.mark.parametrize("limits", ["100 100", "-5", "0 1", "1_0", "many", "inf", "nan"])
def test_limits_must_ascend(limits):
    with pytest.raises(InputError, match="limits cannot be"):
        simulated([(0, 1, 1, 1)], 4, limits)
