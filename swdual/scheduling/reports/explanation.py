"""Explain one job: what the policy noted about it, its outcome, and which jobs overtook it."""

from __future__ import annotations

import math

import numpy as np

from swdual.errors import InputError
from swdual.io.text import pluralize
from swdual.scheduling import processors
from swdual.scheduling.job import seconds
from swdual.scheduling.schedule_data import ScheduleData
from swdual.scheduling.workload.workload import Workload

NAMED = 10
"""Max jobs of a list that are named."""


def check_number(workload: Workload, number: int) -> None:
    """Check that a workload has a job that the trace calls so.

    Parameters
    ----------
    workload, number
        The jobs, and a number of the trace.

    Raises
    ------
    InputError
        If it has none.
    """
    if not (workload.number == number).any():
        known = (
            f"they are from {workload.number.min()} to {workload.number.max()}"
            if len(workload)
            else "it has no jobs"
        )
        raise InputError(
            f"no job of the workload has the number {number}; {known}, and some may have been "
            "dropped",
            file=workload.source,
        )


def explain_job(schedule: ScheduleData, number: int) -> list[str]:
    """Return lines about the jobs with a number: request, notes with their times, and outcome.

    Notes are there if `swdual.scheduling.engine.simulate` was asked to explain the job, and the
    policy has something to say.

    Parameters
    ----------
    schedule, number
        The schedule, and what the trace calls the job.

    Raises
    ------
    InputError
        If no job has this number.
    """
    check_number(schedule.workload, number)
    lines: list[str] = []
    for index in np.flatnonzero(schedule.workload.number == number).tolist():
        job = schedule.workload[index]
        request = pluralize(job.processors, "processor", "processors")
        lines.append(
            f"job {job.number}: submitted at {seconds(job.submit_time)}, {request} for at most "
            f"{seconds(job.requested_time)}"
        )
        lines += [f"  {seconds(time)}: {why}" for time, why in schedule.notes.get(index, ())]
        lines += [f"  {line}" for line in _describe_outcome(schedule, index)]
    return lines


def _describe_outcome(schedule: ScheduleData, index: int) -> list[str]:
    start, promised = float(schedule.start_time[index]), float(schedule.promised[index])
    promise = (
        "" if math.isnan(promised) else f"promised to start at {seconds(promised)} at the latest"
    )
    how = " by backfilling" if schedule.backfilled[index] else ""
    finish, waited = float(schedule.finish_time[index]), float(schedule.waiting_time[index])
    end = "killed at its requested time" if schedule.killed[index] else "ended"
    later = np.flatnonzero(schedule.start_time[index + 1 :] < start) + index + 1
    changes = int(np.count_nonzero(schedule.interrupted.job == index))
    earlier = np.flatnonzero(schedule.start_time[:index] > start)
    return [
        *filter(None, [promise]),
        f"started at {seconds(start)}{how}, {seconds(waited)} after its submission, "
        f"on processors {processors.text(schedule.allocation(index))}",
        *([f"stopped or resized {pluralize(changes, 'time', 'times')} since"] if changes else []),
        f"{end} at {seconds(finish)}, after {seconds(finish - start)}",
        *_list_jobs(schedule, later, "overtaken by"),
        *_list_jobs(schedule, earlier, "overtook"),
    ]


def _list_jobs(schedule: ScheduleData, indices: np.ndarray, what: str) -> list[str]:
    """Return a line about jobs, if there are any: how many, and the first ones by number."""
    if not len(indices):
        return []
    numbers = ", ".join(str(number) for number in schedule.workload.number[indices[:NAMED]])
    more = ", ..." if len(indices) > NAMED else ""
    return [f"{what} {pluralize(len(indices), 'job', 'jobs')}: {numbers}{more}"]
