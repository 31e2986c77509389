"""Schedules made by hand or at random, without engine or policy, for what looks at schedules."""

from __future__ import annotations

import numpy as np

from swdual.scheduling.platform import Platform
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.schedule_data import Executions
from swdual.scheduling.workload.workload import Workload

NEVER_INTERRUPTED = Executions(
    np.zeros(0, np.int64), *np.zeros((4, 0)), np.zeros(1, np.int64), np.zeros((0, 2), np.int64)
)
"""No executions."""


def built(platform, jobs, policy="easy", allocator="basic", name="made", **more):
    """Return a schedule of jobs, each (submit, start, finish, [(first, stop), ...])."""
    submit = np.array([job[0] for job in jobs], np.float64)
    start = np.array([job[1] for job in jobs], np.float64)
    finish = np.array([job[2] for job in jobs], np.float64)
    ranges = [job[3] for job in jobs]
    processors = [sum(stop - first for first, stop in job[3]) for job in jobs]
    run_time = finish - start
    workload = Workload.from_arrays(
        submit_time=submit,
        run_time=run_time,
        processors=np.array(processors, np.int64),
        requested_time=np.maximum(run_time, 1),
        name=name,
    )
    false = np.zeros(len(jobs), np.bool_)
    columns = {
        "killed": false,
        "backfilled": false,
        "promised": np.full(len(jobs), np.nan),
        "options": {},
        "last_start": start,
        "last_rate": np.ones(len(jobs)),
        "interrupted": NEVER_INTERRUPTED,
        **more,
    }
    return Schedule(
        workload=workload,
        platform=platform,
        policy=policy,
        allocator=allocator,
        start_time=start,
        finish_time=finish,
        offsets=np.cumsum([0, *map(len, ranges)]),
        ranges=np.array([each for some in ranges for each in some], np.int64).reshape(-1, 2),
        **columns,
    )


def drawn(seed, jobs, platform=None):
    """Return a random schedule in whole seconds in which no processor has two jobs at once."""
    draw = np.random.default_rng(seed)
    platform = platform or Platform(24, block_sizes=(2, 6, 24), cluster_size=4)
    taken = np.zeros((400, platform.processors), np.bool_)
    made = []
    for submit in np.sort(draw.integers(0, 60, jobs)).tolist():
        count = int(draw.integers(1, platform.processors + 1))
        run = int(draw.choice([0, 1, 2, 5, 20]))
        start = submit + int(draw.choice([0, 0, 3, 9]))
        while (~taken[start : start + max(run, 1)].any(axis=0)).sum() < count:
            start += 1
        free = np.flatnonzero(~taken[start : start + max(run, 1)].any(axis=0))
        chosen = np.sort(draw.choice(free, count, replace=False))
        if draw.random() < 0.5:
            chosen = free[:count]
        taken[start : start + run, chosen] = True
        cuts = np.flatnonzero(np.diff(chosen) > 1) + 1
        pieces = [(int(part[0]), int(part[-1]) + 1) for part in np.split(chosen, cuts)]
        made.append((submit, start, start + run, pieces))
    killed = draw.random(jobs) < 0.2
    backfilled = (draw.random(jobs) < 0.2) & ~killed
    return built(platform, made, killed=killed, backfilled=backfilled)
