"""Check a schedule: its executions alone tell whether it is possible and keeps the rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from swdual.scheduling.node_validation import find_wrong_jobs
from swdual.scheduling.schedule_data import Executions, ScheduleData

SHOWN = 3
"""Max jobs that a violation names."""


def violations(schedule: ScheduleData) -> list[str]:
    """Return the violations of a schedule, a line each; none if it is valid.

    Every job runs once, not before its submission, on as many processors as it needs, none of
    which another job holds; it runs for its run time (longer where a penalty applies) or is killed
    at its requested time; and it starts no later than promised. A forced allocator has given every
    job what it is there for. On nodes, no job is short of memory or GPUs, on the wrong partition,
    or on a node that is down.
    """
    found = [*_check_jobs(schedule), *_check_allocations(schedule), *_check_placement(schedule)]
    nodes = schedule.platform.node_table
    if nodes is not None and not found:
        wrong = find_wrong_jobs(schedule, nodes)
        found = [_describe(schedule, jobs, what) for what, jobs in wrong if len(jobs)]
    return found


def _check_jobs(schedule: ScheduleData) -> Iterator[str]:
    executions = schedule.executions
    jobs, submit_time = len(schedule), schedule.workload.submit_time
    lasted = executions.kept * executions.rate * (executions.end - executions.start)
    done = np.bincount(executions.job, weights=lasted, minlength=jobs)
    # A duration is a difference of times, each known to its last digit; so is what is done in it,
    # times the rate.
    parts = np.bincount(executions.job, minlength=jobs)
    latest = np.max(np.abs(schedule.finish_time), initial=1.0, where=parts > 0)
    fastest = np.ones(jobs)
    np.maximum.at(fastest, executions.job, executions.rate)
    exact = 8 * (1 + parts) * fastest * np.spacing(latest)
    # A promise rests on the ends of others, which are no more exact where they are resized.
    late = np.max(exact, initial=0.0) if schedule.malleable else 0.0
    first = np.full(jobs, np.inf)
    np.minimum.at(first, executions.job, executions.start)
    work, limit = _compute_needs(schedule)
    wrong = {
        "never ran": ~np.isfinite(schedule.finish_time) | (parts == 0),
        "start at another time than they ran": schedule.start_time != first,
        "start before their submission": schedule.start_time < submit_time,
        "were killed, but not at their requested time": schedule.killed
        & (np.abs(done - limit) > exact),
        "ran longer than requested": done > limit + exact,
        "did not end when their work was done": ~schedule.killed & (np.abs(done - work) > exact),
        "were killed for no reason": schedule.killed & (work <= limit),
        "were killed too late or not at all": ~schedule.killed & (work > limit),
        "start later than promised": schedule.start_time > schedule.promised + late,
        "ran twice at a time": _find_overlaps(executions, jobs),
    }
    for what, jobs_of_it in wrong.items():
        if jobs_of_it.any():
            yield _describe(schedule, np.flatnonzero(jobs_of_it), what)


def _find_overlaps(executions: Executions, jobs: int) -> NDArray[np.bool_]:
    """Return (jobs,) whether an execution of a job begins before the last one ended."""
    order = np.lexsort((executions.start, executions.job))
    job, start, end = (x[order] for x in (executions.job, executions.start, executions.end))
    wrong = (job[1:] == job[:-1]) & (start[1:] < end[:-1])
    return np.bincount(job[1:][wrong], minlength=jobs) > 0


def _compute_needs(schedule: ScheduleData) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the seconds that each job needs on its processors, and after which it is killed."""
    workload, platform = schedule.workload, schedule.platform
    work, limit = workload.run_time, workload.requested_time
    counts = schedule.processors
    if workload.speedup is not None and not schedule.malleable:
        pairs = zip(range(len(workload)), counts.tolist(), strict=True)
        ratios = np.array([workload.stretching(index, count) for index, count in pairs])
        work, limit = work * ratios, limit * ratios
    if schedule.penalty is not None:
        levels = platform.levels(schedule.offsets, schedule.ranges)
        distances = levels - platform.minimum_levels(counts)
        work = np.array([*map(schedule.penalty.run_time, work.tolist(), distances.tolist())])
    return work, limit


def _check_allocations(schedule: ScheduleData) -> Iterator[str]:
    workload, executions = schedule.workload, schedule.executions
    held, needed = executions.processors, workload.processors[executions.job]
    wrong = (held != needed) | (executions.rate != 1)
    if schedule.malleable:
        fastest = np.maximum(1.0, held / needed)
        wrong = (held < 1) | ~((executions.rate > 0) & (executions.rate <= fastest))
    elif workload.speedup is not None:
        wrong = (held < 1) | (executions.rate != 1)
    if wrong.any():
        what = "hold more or fewer processors than they need, or run at another rate"
        yield _describe(schedule, np.unique(executions.job[wrong]), what)
    flat = executions.ranges
    follows = np.ones(len(flat), np.bool_)
    follows[executions.offsets[:-1][np.diff(executions.offsets) > 0]] = False
    if (follows[1:] & (flat[1:, 0] <= flat[:-1, 1])).any():
        yield "some jobs hold ranges of processors that do not ascend, or touch"
    jobs = np.repeat(np.arange(len(executions)), np.diff(executions.offsets))
    ranges = executions.ranges
    outside = (ranges[:, 0] < 0) | (ranges[:, 1] > schedule.platform.processors)
    outside |= ranges[:, 0] >= ranges[:, 1]
    if outside.any():
        wrong = np.unique(executions.job[jobs[outside]])
        yield _describe(schedule, wrong, "hold processors that the platform does not have")
        return
    # A node that is off, up to the end of its boot, is held like by a job: its number here is -1.
    off, power = schedule.off_periods, schedule.power
    starts, ends = executions.start[jobs], executions.end[jobs]
    if off is not None and power is not None:
        jobs = np.concatenate((jobs, np.full(len(off), -1)))
        ranges = np.concatenate((ranges, off.ranges))
        starts = np.concatenate((starts, off.since))
        ends = np.concatenate((ends, off.until + power.boot_time))
    overlapping = []
    busy_until = np.full(schedule.platform.processors, -np.inf)
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
            overlapping.append(-1 if execution < 0 else int(executions.job[execution]))
        np.maximum(held_until, end, out=held_until)
    if -1 in overlapping:
        yield "nodes are switched off while jobs run on them"
    wrong = np.unique([job for job in overlapping if job >= 0])
    if len(wrong):
        what = "hold processors that another job holds" + (", or that are off" if off else "")
        yield _describe(schedule, wrong, what)


def _check_placement(schedule: ScheduleData) -> Iterator[str]:
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
        yield _describe(schedule, np.flatnonzero(wrong), f"are not {schedule.allocator}")


def _describe(schedule: ScheduleData, jobs: NDArray[np.int64], what: str) -> str:
    numbers = ", ".join(str(schedule.workload.number[job]) for job in jobs[:SHOWN])
    more = ", ..." if len(jobs) > SHOWN else ""
    noun = "job" if len(jobs) == 1 else "jobs"
    return f"{len(jobs):,} {noun}, {what}: {numbers}{more}"
