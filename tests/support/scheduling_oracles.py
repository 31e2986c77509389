"""Policies with the oracles of their start times, and random jobs for both."""

from __future__ import annotations

import numpy as np
from oracles import scheduling as oracle

from swdual.scheduling.workload.workload import Workload

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
        extra={"user": rng.integers(1, 4, jobs)},
    )


def jobs_of(workload):
    return [
        oracle.Job(job.submit_time, job.run_time, job.requested_time, job.processors)
        for job in workload
    ]
