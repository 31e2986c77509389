"""Whether a schedule can be: checked from what it says happened, not from how it was made."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from swdual.scheduling.schedule import Schedule

SHOWN = 3
"""Jobs that a violation names."""


def violations(schedule: Schedule) -> list[str]:
    """Return what is impossible or forbidden in a schedule; nothing if it is valid.

    Every job runs once, not before its submission, on as many processors as it needs, none of
    which another job holds; it runs for its run time (longer where a penalty applies) or is killed
    at its requested time; and it starts no later than promised. A forced allocator has given every
    job what it is there for.
    """
    return [*_of_each_job(schedule), *_of_allocations(schedule), *_of_placement(schedule)]


def _of_each_job(schedule: Schedule) -> Iterator[str]:
    executions = schedule.executions
    # A finish is a sum of seconds, so a duration is known only as well as these.
    exact = 1e-9 * np.maximum(1.0, np.abs(schedule.finish_time))
    done = np.bincount(
        executions.job,
        weights=executions.kept * executions.rate * (executions.end - executions.start),
        minlength=len(schedule),
    )
    work, limit = _needed(schedule)
    wrong = {
        "never ran": ~np.isfinite(schedule.finish_time),
        "start before their submission": schedule.start_time < schedule.workload.submit_time,
        "were killed, but not at their requested time": schedule.killed
        & (np.abs(done - limit) > exact),
        "ran longer than requested": done > limit + exact,
        "did not end when their work was done": ~schedule.killed & (np.abs(done - work) > exact),
        "were killed for no reason": schedule.killed & (work <= limit),
        "were killed too late or not at all": ~schedule.killed & (work > limit),
        "start later than promised": schedule.start_time > schedule.promised,
    }
    for what, jobs in wrong.items():
        if jobs.any():
            yield _named(schedule, np.flatnonzero(jobs), what)


def _needed(schedule: Schedule) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the seconds that each job needs on its processors, and after which it is killed."""
    workload, platform = schedule.workload, schedule.platform
    work, limit = workload.run_time, workload.requested_time
    counts = schedule.processors
    if workload.speedup is not None:
        pairs = zip(range(len(workload)), counts.tolist(), strict=True)
        ratios = np.array([workload.stretching(index, count) for index, count in pairs])
        work, limit = work * ratios, limit * ratios
    if schedule.penalty is not None:
        levels = platform.levels(schedule.offsets, schedule.ranges)
        distances = levels - platform.minimum_levels(counts)
        work = np.array([*map(schedule.penalty.run_time, work.tolist(), distances.tolist())])
    return work, limit


def _of_allocations(schedule: Schedule) -> Iterator[str]:
    workload, executions = schedule.workload, schedule.executions
    wrong = np.flatnonzero(schedule.processors != workload.processors)
    # Jobs that were resized may hold fewer, and those that started shrunk, which slows them.
    rigid = workload.speedup is None and not len(schedule.interrupted)
    if len(wrong) and rigid and (schedule.last_rate == 1).all():
        yield _named(schedule, wrong, "hold more or fewer processors than they need")
    jobs = np.repeat(np.arange(len(executions)), np.diff(executions.offsets))
    ranges = executions.ranges
    outside = (ranges[:, 0] < 0) | (ranges[:, 1] > schedule.platform.processors)
    outside |= ranges[:, 0] >= ranges[:, 1]
    if outside.any():
        wrong = np.unique(executions.job[jobs[outside]])
        yield _named(schedule, wrong, "hold processors that the platform does not have")
        return
    overlapping = []
    busy_until = np.full(schedule.platform.processors, -np.inf)
    starts, ends = executions.start[jobs], executions.end[jobs]
    # Of two at one instant the one that ends at once is first: [start, end) is empty.
    order = np.lexsort((ends, starts))
    for execution, start, end, (first, stop) in zip(
        jobs[order].tolist(),
        starts[order].tolist(),
        ends[order].tolist(),
        ranges[order].tolist(),
        strict=True,
    ):
        held_until = busy_until[first:stop]
        if held_until.max() > start:
            overlapping.append(executions.job[execution])
        np.maximum(held_until, end, out=held_until)
    if overlapping:
        yield _named(schedule, np.unique(overlapping), "hold processors that another job holds")


def _of_placement(schedule: Schedule) -> Iterator[str]:
    platform, counts = schedule.platform, schedule.processors
    offsets, ranges = schedule.offsets, schedule.ranges
    if schedule.allocator == "contiguous":
        wrong = np.diff(offsets) != 1
    elif schedule.allocator == "local":
        wrong = platform.clusters(offsets, ranges) != platform.clusters_needed(counts)
    elif schedule.allocator == "platform_level":
        wrong = platform.levels(offsets, ranges) != platform.minimum_levels(counts)
    else:
        return
    if wrong.any():
        yield _named(schedule, np.flatnonzero(wrong), f"are not {schedule.allocator}")


def _named(schedule: Schedule, jobs: NDArray[np.int64], what: str) -> str:
    numbers = ", ".join(str(schedule.workload.number[job]) for job in jobs[:SHOWN])
    more = ", ..." if len(jobs) > SHOWN else ""
    return f"{len(jobs):,} jobs {what}: {numbers}{more}"
