"""Combinational backfilling starts the fullest group that leaves the head its reservation."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import rivals
from support.properties import seeds
from support.random_jobs import jobs_at_random, workload_of

from swdual import registry
from swdual.scheduling import allocator
from swdual.scheduling.platform import Platform
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations

PLATFORM = Platform(12, (2, 6, 12))


def starts(jobs, processors, policy="combinational"):
    return simulate(workload_of(jobs), processors, policy).start_time.tolist()


def test_a_group_is_preferred_to_the_first_job_that_fits():
    """Seven idle processors: EASY takes the 4 and then the 2, the group 5 and 2 leaves none."""
    jobs = [(0, 10, 10, 3), (1, 10, 10, 10), (2, 5, 5, 4), (2, 5, 5, 5), (2, 5, 5, 2)]
    assert starts(jobs, 10, "easy") == [0, 10, 2, 20, 2]
    assert starts(jobs, 10) == [0, 10, 20, 2, 2]


def test_only_extra_processors_are_used_beyond_the_shadow_time():
    """At 10 the head leaves 2 of 10 processors: for one of the jobs that run until 11."""
    jobs = [(0, 10, 10, 4), (1, 10, 10, 8), (2, 9, 9, 2), (2, 9, 9, 2), (2, 8, 8, 3)]
    assert starts(jobs, 10) == [0, 10, 2, 11, 2]


def test_earlier_jobs_are_preferred_among_equal_groups():
    jobs = [(0, 10, 10, 6), (1, 5, 5, 10), (2, 3, 3, 2), (2, 3, 3, 2), (2, 3, 3, 2), (2, 3, 3, 4)]
    assert starts(jobs, 10)[2:4] == [2, 2]


@pytest.mark.sample(2)
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_starts_are_those_of_all_groups_tried(first):
    for seed in range(first, first + 50):
        processors = 4 + seed % 9
        jobs = jobs_at_random(seed, 14, processors)
        assert starts(jobs, processors) == rivals.combinational(jobs, processors), seed


def test_it_is_easy_where_no_two_jobs_fit_together():
    for seed in seeds(20):
        jobs = [(*job[:3], max(4, job[3])) for job in jobs_at_random(seed, 30, 7)]
        assert starts(jobs, 7) == starts(jobs, 7, "easy")


@pytest.mark.parametrize("name", registry.available(allocator.PACKAGE))
def test_the_head_starts_as_promised_with_every_allocator(name):
    for seed in seeds(10):
        workload = workload_of(jobs_at_random(seed, 60, 12))
        schedule = simulate(workload, PLATFORM, "combinational", name)
        assert violations(schedule) == []
        assert np.isfinite(schedule.promised).any()


def test_a_watched_job_hears_of_its_group():
    jobs = [(0, 10, 10, 3), (1, 10, 10, 10), (2, 5, 5, 4), (2, 5, 5, 5), (2, 5, 5, 2)]
    schedule = simulate(workload_of(jobs), 10, "combinational", explain=[3, 4])
    assert [why for _, why in schedule.notes[3]] == ["backfilled in a group of 2 beside job 2"]
    assert schedule.notes[2][0] == (2.0, "not in the group that was backfilled around job 2")
