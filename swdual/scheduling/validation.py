"""Whether a schedule can be: checked from what it says happened, not from how it was made."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swdual.scheduling.schedule import Schedule

SHOWN = 3
"""Jobs that a violation names."""


def violations(schedule: Schedule) -> list[str]:
    """Return what is impossible or forbidden in a schedule; nothing if it is valid.

    Every job runs once, not before its submission, on as many processors as it needs, none of
    which another job holds; it runs for its run time (longer where a penalty applies) or is killed
    at its requested time; and it starts no later than promised.
    """
    return [*_of_each_job(schedule), *_of_allocations(schedule)]


def _of_each_job(schedule: Schedule) -> Iterator[str]:
    workload = schedule.workload
    lasted = schedule.execution_time
    # A finish is a sum of seconds, so a duration is known only as well as these.
    exact = 1e-9 * np.maximum(1.0, np.abs(schedule.finish_time))
    requested, run = workload.requested_time, workload.run_time
    wrong = {
        "never ran": ~np.isfinite(lasted),
        "start before their submission": schedule.start_time < workload.submit_time,
        "were killed, but not at their requested time": schedule.killed
        & (np.abs(lasted - requested) > exact),
        "ran longer than requested": lasted > requested + exact,
        "ended before their work was done": ~schedule.killed & (lasted < run - exact),
        "were killed too late or not at all": ~schedule.killed & (run > requested),
        "start later than promised": schedule.start_time > schedule.promised,
    }
    for what, jobs in wrong.items():
        if jobs.any():
            yield _named(schedule, np.flatnonzero(jobs), what)


def _of_allocations(schedule: Schedule) -> Iterator[str]:
    ranges, offsets = schedule.ranges, schedule.offsets
    sizes = ranges[:, 1] - ranges[:, 0]
    jobs = np.repeat(np.arange(len(schedule)), np.diff(offsets))
    held = np.bincount(jobs, weights=sizes, minlength=len(schedule))
    wrong = np.flatnonzero(held != schedule.workload.processors)
    if len(wrong):
        yield _named(schedule, wrong, "hold more or fewer processors than they need")
    outside = (ranges[:, 0] < 0) | (ranges[:, 1] > schedule.platform.processors) | (sizes <= 0)
    if outside.any():
        yield _named(schedule, jobs[outside], "hold processors that the platform does not have")
        return
    overlapping = []
    busy_until = np.full(schedule.platform.processors, -np.inf)
    # Of two jobs at one instant the one that ends at once is first: [start, finish) is empty.
    order = np.lexsort((schedule.finish_time[jobs], schedule.start_time[jobs]))
    starts, finishes = schedule.start_time[jobs].tolist(), schedule.finish_time[jobs].tolist()
    for k, (first, stop) in zip(order.tolist(), ranges[order].tolist(), strict=True):
        held_until = busy_until[first:stop]
        if held_until.max() > starts[k]:
            overlapping.append(int(jobs[k]))
        np.maximum(held_until, finishes[k], out=held_until)
    if overlapping:
        yield _named(schedule, np.unique(overlapping), "hold processors that another job holds")


def _named(schedule: Schedule, jobs: np.ndarray, what: str) -> str:
    numbers = ", ".join(str(schedule.workload.number[job]) for job in jobs[:SHOWN])
    more = ", ..." if len(jobs) > SHOWN else ""
    return f"{len(jobs):,} jobs {what}: {numbers}{more}"
