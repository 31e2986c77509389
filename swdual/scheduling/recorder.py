"""Record the starts and ends of a simulation, and make a schedule of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from swdual.scheduling.policy import Running
from swdual.scheduling.processors import Ranges
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.schedule_data import Executions

NONE = np.zeros((0, 2), np.int64)


class ScheduleRecorder:
    """The executions of jobs up to now.

    Parameters
    ----------
    jobs
        How many jobs there are.
    """

    def __init__(self, jobs: int) -> None:
        self._start_time = np.full(jobs, np.nan)
        self._finish_time = np.full(jobs, np.nan)
        self._killed = np.zeros(jobs, np.bool_)
        self._backfilled = np.zeros(jobs, np.bool_)
        self._promised = np.full(jobs, np.nan)
        self._last_start = np.full(jobs, np.nan)
        self._last_rate = np.ones(jobs)
        self._allocations: list[Ranges] = [NONE] * jobs
        self._interrupted: list[tuple[int, float, float, float]] = []
        self._interrupted_on: list[Ranges] = []
        self._kept: list[bool] = []
        self._numbers: dict[int, list[int]] = {}

    def promise(self, index: int, time: float) -> None:
        """Record a promised start; only the first of a job counts.

        Parameters
        ----------
        index, time
            The job's index, and seconds.
        """
        if np.isnan(self._promised[index]):
            self._promised[index] = time

    def start(self, index: int, now: float, backfilled: bool) -> None:
        """Record a start; only the first of a job counts.

        Parameters
        ----------
        index
            The job's index.
        now
            Seconds.
        backfilled
            Whether it overtook a job that was submitted before it.
        """
        if np.isnan(self._start_time[index]):
            self._start_time[index] = now
            self._backfilled[index] = backfilled

    def interrupt(
        self, index: int, begin: float, now: float, running: Running, *, keep: bool, stopped: bool
    ) -> None:
        """Record an execution that was stopped or resized.

        An execution of 0 s does not count: if the job is stopped then, its start is its next one.

        Parameters
        ----------
        index
            The job's index.
        begin, now
            When the execution began, and now: seconds.
        running
            The job as it ran.
        keep
            Its work counts.
        stopped
            The job waits again; else it goes on with other processors.
        """
        numbers = self._numbers.setdefault(index, [])
        if now > begin:
            numbers.append(len(self._interrupted))
            self._interrupted.append((index, begin, now, running.rate))
            self._interrupted_on.append(running.processors)
            self._kept.append(keep)
        elif stopped and not numbers:
            self._start_time[index] = np.nan

    def restart(self, index: int) -> None:
        """Record that a job begins anew: all its work until now is lost."""
        for number in self._numbers.get(index, ()):
            self._kept[number] = False

    def end(self, index: int, begin: float, now: float, killed: bool, running: Running) -> None:
        """Record the execution with which a job ended.

        Parameters
        ----------
        index
            The job's index.
        begin, now
            When the execution began and ended: seconds.
        killed
            Whether the job was killed at its requested time.
        running
            The job as it ran.
        """
        self._finish_time[index] = now
        self._killed[index] = killed
        self._last_start[index] = begin
        self._last_rate[index] = running.rate
        self._allocations[index] = running.processors

    def schedule(self, **given: Any) -> Schedule:
        """Return the schedule; `given` are the fields of `Schedule` that the engine knows."""
        columns = np.array(self._interrupted, np.float64).reshape(-1, 4).T
        interrupted = Executions(
            job=columns[0].astype(np.int64),
            start=columns[1],
            end=columns[2],
            rate=columns[3],
            kept=np.array(self._kept, np.bool_),
            offsets=np.cumsum([0, *map(len, self._interrupted_on)]),
            ranges=np.concatenate([NONE, *self._interrupted_on]),
        )
        return Schedule(
            start_time=self._start_time,
            finish_time=self._finish_time,
            killed=self._killed,
            backfilled=self._backfilled,
            promised=self._promised,
            last_start=self._last_start,
            last_rate=self._last_rate,
            offsets=np.cumsum([0, *map(len, self._allocations)]),
            ranges=np.concatenate([NONE, *self._allocations]),
            interrupted=interrupted,
            **given,
        )
