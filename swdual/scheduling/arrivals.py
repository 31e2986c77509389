"""When the jobs of a workload are submitted: at their own times, or after their preceding jobs."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.scheduling.job import Job
from swdual.scheduling.workload.preceding import NO_ROW, PRECEDING, THINK_TIME, find_preceding
from swdual.scheduling.workload.workload import COLUMNS, Workload


class Arrivals:
    """The submissions of a workload in which each job is submitted at its own time.

    Parameters
    ----------
    workload
        The jobs.

    Attributes
    ----------
    workload
        The jobs, in the order of submission, as policies see them.
    rows
        The place in the given workload of each submitted job, by its index.
    """

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.rows: Sequence[int] = range(len(workload))
        self._jobs = list(workload)
        self._coming = 0

    def next_time(self) -> float:
        """Return when the next job is submitted; infinite if none is known to come."""
        return self._jobs[self._coming].submit_time if self._coming < len(self._jobs) else np.inf

    def take(self, now: float) -> list[Job]:
        """Return the jobs that are submitted up to now, and were not returned before."""
        first = self._coming
        while self._coming < len(self._jobs) and self._jobs[self._coming].submit_time <= now:
            self._coming += 1
        return self._jobs[first : self._coming]

    def end(self, index: int, now: float) -> None:
        """Note that a job has ended."""

    def submitted_workload(self) -> Workload:
        """Return the jobs as they were submitted, when all of them were."""
        return self.workload


class FollowingArrivals(Arrivals):
    """The submissions of a workload in which jobs follow others.

    A job with a preceding job is submitted when that one has ended and the think time has passed,
    and not before its own time. So the order of submission is known as the simulation goes on.
    Policies count on an index that is a place in this order: a job gets its index when it is
    submitted, and its row of the columns moves to that place. Behind it are the jobs that are not
    yet submitted, in no particular order.

    Parameters
    ----------
    workload
        The jobs.
    """

    def __init__(self, workload: Workload) -> None:
        own = {name: getattr(workload, name).copy() for name in COLUMNS}
        extra = {name: column.copy() for name, column in workload.extra.items()}
        lines = None if workload.lines is None else workload.lines.copy()
        # The workload has views of these columns, which cannot be written to, but see each move.
        shown: dict[str, Any] = {name: _read_only(column) for name, column in own.items()}
        others = {name: _read_only(column) for name, column in extra.items()}
        numbers = None if lines is None else _read_only(lines)
        self.workload = replace(workload, **shown, extra=others, lines=numbers)
        self._submit_time = own["submit_time"]
        self._own = own
        self._columns: list[NDArray[Any]] = [*own.values(), *extra.values()]
        if lines is not None:
            self._columns.append(lines)
        self._earliest: list[float] = workload.submit_time.tolist()
        think_time = workload.extra[THINK_TIME]
        self._think_time: list[float] = np.where(think_time > 0, think_time, 0).tolist()
        self._followers: dict[int, list[int]] = {}
        self._heap: list[tuple[float, int]] = []
        preceding = find_preceding(workload.number, workload.extra[PRECEDING])
        for row, before in enumerate(preceding.tolist()):
            if before == NO_ROW:
                self._heap.append((self._earliest[row], row))  # ascending, so that it is a heap
            else:
                self._followers.setdefault(before, []).append(row)
        self.rows: list[int] = []
        self._row_at = list(range(len(workload)))
        self._place_of = list(range(len(workload)))

    def next_time(self) -> float:
        """Return when the next job is submitted; infinite if none is known to come."""
        return self._heap[0][0] if self._heap else np.inf

    def take(self, now: float) -> list[Job]:
        """Return the jobs that are submitted up to now, and were not returned before."""
        jobs = []
        while self._heap and self._heap[0][0] <= now:
            time, row = heapq.heappop(self._heap)
            index = len(self.rows)
            self.rows.append(row)
            self._move(row, index)
            self._submit_time[index] = time
            jobs.append(Job(index, *(column[index].item() for column in self._own.values())))
        return jobs

    def end(self, index: int, now: float) -> None:
        """Note that a job has ended: the jobs behind it are submitted after their think times."""
        for row in self._followers.pop(self.rows[index], ()):
            time = max(self._earliest[row], now + self._think_time[row])
            heapq.heappush(self._heap, (time, row))

    def submitted_workload(self) -> Workload:
        """Return the jobs as they were submitted, when all of them were."""
        return replace(self.workload, follow=False)

    def _move(self, row: int, place: int) -> None:
        """Exchange the job of a row with the one that stands at a place."""
        other, free = self._row_at[place], self._place_of[row]
        if free == place:
            return
        for column in self._columns:
            column[place], column[free] = column[free], column[place]
        self._row_at[place], self._row_at[free] = row, other
        self._place_of[row], self._place_of[other] = place, free


def find_arrivals(workload: Workload) -> Arrivals:
    """Return the submissions of a workload."""
    return FollowingArrivals(workload) if workload.follow else Arrivals(workload)


def _read_only(column: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to."""
    view = column.view()
    view.setflags(write=False)
    return view
