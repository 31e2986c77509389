"""Start times of FCFS, EASY and conservative backfilling against a program of its own.

The oracle is written from the definitions and shares no code with the package.
"""

from __future__ import annotations

import pytest
from oracles import scheduling as oracle
from support.properties import in_parts, seeds
from support.scheduling_oracles import BY_COUNT, BY_PROCESSORS, jobs_of, random_workload

from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload.swf import read_swf

pytestmark = pytest.mark.sample("values")

TRACES = {
    "KTH-SP2-1996-2.1-cln": 100,
    "SDSC-SP2-1998-4.2-cln": 128,
    "CTC-SP2-1996-3.1-cln": 338,
    "HPC2N-2002-2.2-cln": 240,
    "SDSC-BLUE-2000-4.2-cln": 1152,
}
JOBS = 5000


@in_parts
@pytest.mark.parametrize("name", BY_COUNT | BY_PROCESSORS)
def test_random_jobs_start_when_the_oracle_says(name, part):
    """On hundreds of small instances, whole and broken seconds."""
    policy, options, expected = (BY_COUNT | BY_PROCESSORS)[name]
    for seed in seeds(200, part):
        m = 2 + seed % 15
        workload = random_workload(seed, 60, m, whole=seed % 3 > 0)
        schedule = simulate(workload, m, policy, options=options)
        assert schedule.start_time.tolist() == expected(jobs_of(workload), m), seed
        assert violations(schedule) == []


@pytest.mark.sample(8)
@pytest.mark.parametrize("seed", range(40))
def test_promises_and_processors_are_the_oracles_too(seed):
    m = 3 + seed % 11
    workload = random_workload(seed, 50, m)
    schedule = simulate(workload, m, "conservative", options={"by": "processors"})
    starts, promised, processors = oracle.conservative_processors(
        jobs_of(workload), m, keep_processors=True
    )
    assert schedule.start_time.tolist() == starts
    assert schedule.promised.tolist() == promised
    for index, expected in enumerate(processors):
        allocated = schedule.allocation(index).tolist()
        assert [k for first, stop in allocated for k in range(first, stop)] == expected


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["fcfs", "easy", "conservative"])
@pytest.mark.parametrize("trace", TRACES)
def test_real_jobs_start_when_the_oracle_says(trace, name, archived):
    """The first 5,000 valid jobs of five traces, to the second."""
    policy, options, expected = BY_COUNT[name]
    m = TRACES[trace]
    workload = read_swf(archived(trace))
    workload = workload.take(workload.processors <= m)[:JOBS]
    assert len(workload) == JOBS
    schedule = simulate(workload, m, policy, options=options)
    assert schedule.start_time.tolist() == expected(jobs_of(workload), m)
    assert violations(schedule) == []


@pytest.mark.sample(8)
@pytest.mark.parametrize("seed", range(30))
def test_easy_by_count_and_around_one_reservation_are_the_same(seed):
    """The shadow time and extra processors say what a profile with one reservation says."""
    m = 5 + seed
    workload = random_workload(seed, 200, m)
    jobs = jobs_of(workload)
    starts = simulate(workload, m, "easy").start_time.tolist()
    assert starts == oracle.easy_depth(jobs, m, 1)
    assert not oracle.head_delays(jobs, m, starts)
