"""Explain one job: what the policy noted about it, its outcome, and which jobs overtook it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.scheduling import processors
from swdual.scheduling.job import seconds
from swdual.scheduling.schedule_data import ScheduleData
from swdual.scheduling.workload.workload import Workload
from swdual.text.messages import pluralize

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


def check_explained(workload: Workload, numbers: Any) -> list[int]:
    """Return the numbers of jobs to explain, checked.

    Parameters
    ----------
    workload, numbers
        The jobs, and numbers of the trace.

    Raises
    ------
    InputError
        If they are no list of numbers, or no job has one of them.
    """
    if isinstance(numbers, str) or not isinstance(numbers, Iterable):
        raise InputError(f"explain takes a list of numbers of jobs, such as [3], not {numbers!r}")
    explained = [*numbers]
    wrong = [number for number in explained if not isinstance(number, Real)]
    if wrong:
        raise InputError(f"explain takes numbers of jobs, such as 3, not {wrong[0]!r}")
    known = {*workload.number.tolist()}
    for number in explained:
        if number not in known:
            check_number(workload, number)
    return explained


def explain_job(schedule: ScheduleData, number: int) -> list[str]:
    """Return lines about the jobs with a number: request, notes with their times, and outcome.

    Notes are there if `swdual.scheduling.simulation.simulate` was asked to explain the job, and the
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
    explainer = Explainer(schedule)
    indices = np.flatnonzero(schedule.workload.number == number).tolist()
    return [line for index in indices for line in explainer.lines(index)]


class Explainer:
    """Explains jobs of a schedule, each in a time that does not depend on the number of all jobs.

    Parameters
    ----------
    schedule
        The schedule.
    """

    def __init__(self, schedule: ScheduleData) -> None:
        self._schedule = schedule
        self._latest_start = np.fmax.accumulate(schedule.start_time)
        changed = schedule.interrupted.job
        if schedule.outages is not None:  # a stop leaves two parts: up to a checkpoint, and behind
            stops = [outage.start for outage in schedule.outages.outages]
            changed = changed[np.isin(schedule.interrupted.end, stops)]
        self._changes = np.bincount(changed, minlength=len(schedule))

    def lines(self, index: int) -> list[str]:
        """Return lines about a job: see `explain_job`.

        Parameters
        ----------
        index
            The job's index.
        """
        schedule = self._schedule
        job = schedule.workload[index]
        request = pluralize(job.processors, "processor", "processors")
        return [
            f"job {job.number}: submitted at {seconds(job.submit_time)}, {request} for at most "
            f"{seconds(job.requested_time)}",
            *(f"  {seconds(time)}: {why}" for time, why in schedule.notes.get(index, ())),
            *(f"  {line}" for line in self._describe_outcome(index)),
        ]

    def _describe_outcome(self, index: int) -> list[str]:
        schedule = self._schedule
        start, promised = float(schedule.start_time[index]), float(schedule.promised[index])
        promise = (
            ""
            if math.isnan(promised)
            else f"promised to start at {seconds(promised)} at the latest"
        )
        how = " by backfilling" if schedule.backfilled[index] else ""
        finish = float(schedule.finish_time[index])
        waited = start - float(schedule.workload.submit_time[index])
        end = "killed at its requested time" if schedule.killed[index] else "ended"
        changes = int(self._changes[index])
        later, earlier = self._find_overtaking(index, start)
        return [
            *filter(None, [promise]),
            f"started at {seconds(start)}{how}, {seconds(waited)} after its submission, "
            f"{'at last ' if changes else ''}on processors "
            f"{processors.text(schedule.allocation(index))}",
            *(
                [f"stopped or resized {pluralize(changes, 'time', 'times')} since"]
                if changes
                else []
            ),
            f"{end} at {seconds(finish)}, after {seconds(finish - start)}",
            *_list_jobs(schedule, later, "overtaken by"),
            *_list_jobs(schedule, earlier, "overtook"),
        ]

    def _find_overtaking(
        self, index: int, start: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the jobs that overtook a job, and those that it overtook.

        A job that overtakes this one is submitted before this one starts. One that is overtaken is
        not in front of the first job with a later start. So few jobs are looked at.
        """
        starts, submitted = self._schedule.start_time, self._schedule.workload.submit_time
        stop = int(np.searchsorted(submitted, start, "right"))
        later = np.flatnonzero(starts[index + 1 : stop] < start) + index + 1
        first = int(np.searchsorted(self._latest_start[:index], start, "right"))
        earlier = np.flatnonzero(starts[first:index] > start) + first
        return later, earlier


def _list_jobs(schedule: ScheduleData, indices: NDArray[np.int64], what: str) -> list[str]:
    """Return a line about jobs, if there are any: how many, and the first ones by number."""
    if not len(indices):
        return []
    numbers = ", ".join(str(number) for number in schedule.workload.number[indices[:NAMED]])
    more = ", ..." if len(indices) > NAMED else ""
    return [f"{what} {pluralize(len(indices), 'job', 'jobs')}: {numbers}{more}"]
