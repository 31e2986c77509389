"""Start times of FCFS, EASY and conservative backfilling against a program of its own.

The oracle is written from the definitions and shares no code with the package.
"""

from __future__ import annotations

import numpy as np
import pytest
from oracles import scheduling as oracle

from swdual.scheduling.engine import simulate
from swdual.scheduling.validation import violations
from swdual.scheduling.workload.swf import read_swf
from swdual.scheduling.workload.workload import Workload

TRACES = {
    "KTH-SP2-1996-2.1-cln": 100,
    "SDSC-SP2-1998-4.2-cln": 128,
    "CTC-SP2-1996-3.1-cln": 338,
    "HPC2N-2002-2.2-cln": 240,
    "SDSC-BLUE-2000-4.2-cln": 1152,
}
JOBS = 5000

BY_COUNT = {
    "fcfs": ("fcfs", {}, oracle.fcfs),
    "easy": ("easy", {}, oracle.easy),
    "easy, shortest first": (
        "easy",
        {"order": "shortest"},
        lambda jobs, m: oracle.easy(jobs, m, shortest_first=True),
    ),
    "conservative": (
        "conservative",
        {},
        lambda jobs, m: oracle.conservative(jobs, m)[0],
    ),
    "conservative, thesis": (
        "conservative",
        {"compression": "thesis"},
        lambda jobs, m: oracle.conservative(jobs, m, "thesis")[0],
    ),
    "conservative, none": (
        "conservative",
        {"compression": "none"},
        lambda jobs, m: oracle.conservative(jobs, m, "none")[0],
    ),
    **{
        f"reserve depth {depth}": (
            "easy",
            {"reserve_depth": str(depth)},
            lambda jobs, m, depth=depth: oracle.easy_depth(jobs, m, depth),
        )
        for depth in (0, 2, 5)
    },
    "reserve depth all": (
        "easy",
        {"reserve_depth": "all"},
        lambda jobs, m: oracle.conservative(jobs, m)[0],
    ),
}
BY_PROCESSORS = {
    f"conservative by processors, {compression}": (
        "conservative",
        {"by": "processors", "compression": compression},
        lambda jobs, m, compression=compression: oracle.conservative_processors(
            jobs, m, compression, keep_processors=True
        )[0],
    )
    for compression in ("textbook", "thesis", "none")
}


def random_workload(seed, jobs, m, *, whole=True):
    """Return jobs that come a little faster than they can be done, with many ties."""
    rng = np.random.default_rng(seed)
    run_time = rng.integers(1, 40, jobs).astype(float)
    if not whole:
        run_time *= rng.uniform(0.5, 2, jobs)
    factors = rng.choice([0.7, 1.0, 1.0, 1.5, 4.0], jobs)
    gap = rng.uniform(0.5, 1.5) * 20 / 3
    return Workload.from_arrays(
        submit_time=np.floor(np.cumsum(rng.exponential(gap, jobs))),
        run_time=run_time,
        requested_time=np.maximum(
            1.0, np.round(run_time * factors) if whole else run_time * factors
        ),
        processors=rng.integers(1, m + 1, jobs)
        if rng.random() < 0.3
        else rng.integers(1, m // 2 + 2, jobs),
    )


def jobs_of(workload):
    return [
        oracle.Job(job.submit_time, job.run_time, job.requested_time, job.processors)
        for job in workload
    ]


@pytest.mark.parametrize("name", BY_COUNT | BY_PROCESSORS)
def test_random_jobs_start_when_the_oracle_says(name):
    """On hundreds of small instances, whole and broken seconds."""
    policy, options, expected = (BY_COUNT | BY_PROCESSORS)[name]
    for seed in range(200):
        m = 2 + seed % 15
        workload = random_workload(seed, 60, m, whole=seed % 3 > 0)
        schedule = simulate(workload, m, policy, options=options)
        assert schedule.start_time.tolist() == expected(jobs_of(workload), m), seed
        assert violations(schedule) == []


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


@pytest.mark.parametrize("seed", range(30))
def test_easy_by_count_and_around_one_reservation_are_the_same(seed):
    """The shadow time and extra processors say what a profile with one reservation says."""
    m = 5 + seed
    workload = random_workload(seed, 200, m)
    jobs = jobs_of(workload)
    starts = simulate(workload, m, "easy").start_time.tolist()
    assert starts == oracle.easy_depth(jobs, m, 1)
    assert not oracle.head_delays(jobs, m, starts)
