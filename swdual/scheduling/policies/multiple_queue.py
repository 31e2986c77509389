"""Multiple-queue backfilling: short and long jobs wait in queues of their own, with own processors.

B. Lawson and E. Smirni, "Multiple-queue backfilling scheduling with priorities and reservations
for parallel systems", JSSPP 2002. From there, as far as its abstract and others' accounts of it
say: jobs are classified by the time they request, not by their width; each class has a queue and a
partition of the processors, at first all of one size; partitions lend each other idle processors,
as far as that delays no first job of a queue; a job as wide as the whole platform does not starve.
Where that leaves a choice it is ours, and said below.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from math import inf
from typing import NamedTuple

from swdual.errors import InputError
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job, seconds
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies import conservative
from swdual.scheduling.policies._partitions import (
    Allocation,
    Partitions,
    PartitionsByCount,
    PartitionsBySet,
)
from swdual.scheduling.policies._waiting import MIN_COLUMNS, WaitingColumns
from swdual.scheduling.policy import Option, Start, View
from swdual.text.messages import parse_number

OPTIONS = {
    "limits": Option(
        "100 1000 10000",
        "Requested times, ascending, at which the next class of jobs begins, with its own queue.",
    ),
    "by": conservative.OPTIONS["by"],
}


class Pivot(NamedTuple):
    """The first job of a queue, and its reservation: from when on, and what it gets."""

    job: Job
    start_time: float
    allocation: Allocation


class Policy:
    """Starts in each queue the first job, the pivot, then any job that delays no pivot.

    The processors are divided evenly among the partitions, the first ones having one more where
    they cannot. A partition lends processors for as long as a job runs; then they return to it
    (ours; it makes sure that a loan delays nobody). A job borrows from whichever partition can
    spare most, then the next.

    Each pivot has a reservation that no later decision delays: the earliest time at which its own
    partition has room for it as long as it runs, or all together if it is wider than its own.
    Reservations are made as jobs become pivots, in the order of submission if several do at once.
    When jobs end, they move forwards in the order in which they were made, each with the others
    in place (ours).

    Any waiting job starts as soon as its own partition, and what others can lend for its requested
    time, have room for it without a pivot being delayed: pivots are tried first, then the others
    in the order of submission. With a single queue this is EASY.

    A pivot starts at its first reservation at the latest. Partitions are numbers of processors. By
    processors they are sets, the lowest ones the first, and the allocator chooses at home if it
    can, else among all; with a forced allocator it is always so, which keeps the promise. A job
    that it refuses at home even if all is idle counts as wider.
    """

    def __init__(self, platform: Platform, allocator: Allocator, limits: str, by: str) -> None:
        self._limits = _parse(limits)
        queues = len(self._limits) + 1
        size, rest = divmod(platform.processors, queues)
        sizes = [size + (queue < rest) for queue in range(queues)]
        self._partitions: Partitions = (
            PartitionsBySet(sizes, platform, allocator)
            if by == "processors" or allocator.FORCED
            else PartitionsByCount(sizes)
        )
        self._queues: list[dict[int, Job]] = [{} for _ in sizes]
        self._waiting = WaitingColumns()
        self._pivots: list[Pivot] = []  # in the order in which they became pivots

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs that start now."""
        self._partitions.settle(view.now, view.ended)
        for job in view.submitted:
            self._queues[self._queue(job)][job.index] = job
            self._waiting.add(job.index, job.processors, job.requested_time)
        yield from self._start_pivots(view)
        yield from self._backfill(view)
        if self._pivots:
            view.wake(min(pivot.start_time for pivot in self._pivots))

    def _queue(self, job: Job) -> int:
        return bisect_right(self._limits, job.requested_time)

    def _start_pivots(self, view: View) -> Iterator[Start]:
        """Yield the pivots that can start, and reserve for the others, new ones behind old ones."""
        moving = view.ended or any(pivot.start_time <= view.now for pivot in self._pivots)
        index = 0 if moving else len(self._pivots)
        while True:
            if index < len(self._pivots):
                pivot = self._pivots.pop(index)
                self._partitions.release(pivot.start_time, pivot.job, pivot.allocation)
            else:
                job = self._next_pivot()
                if job is None:
                    return
                pivot = Pivot(job, inf, None)
            start = self._start(view, pivot.job)
            if start is not None:
                view.note(pivot.job, f"started as the first of queue {self._queue(pivot.job) + 1}")
                yield start
            else:
                self._reserve(view, index, pivot)
                index += 1

    def _next_pivot(self) -> Job | None:
        """Return the first submitted of the first jobs of the queues that have no pivot."""
        having = {self._queue(pivot.job) for pivot in self._pivots}
        firsts = [
            next(iter(jobs.values()))
            for queue, jobs in enumerate(self._queues)
            if jobs and queue not in having
        ]
        return min(firsts, default=None, key=lambda job: job.index)

    def _backfill(self, view: View) -> Iterator[Start]:
        """Yield the jobs that delay no pivot; one sweep is enough, for every start leaves less."""
        pivots = {pivot.job.index for pivot in self._pivots}
        for job in self._list_candidates(view):
            if job.index in pivots or job.index not in view.queue:
                continue
            start = self._start(view, job)
            if start is not None:
                view.note(job, f"backfilled in queue {self._queue(job) + 1}")
                yield start
            elif view.watching:
                view.note(job, "not backfilled: it would delay the first of a queue")

    def _list_candidates(self, view: View) -> Iterator[Job]:
        """Yield waiting jobs, without some that have no room when it is their turn."""
        queue = view.queue
        # Where nothing ended, what waited before finds no more room now than it did then.
        if not view.ended:
            yield from list(view.submitted)
        elif view.watching or len(queue) < MIN_COLUMNS:
            yield from list(queue.values())
        else:
            index = self._partitions.next_fitting(self._waiting, 0)
            while index is not None:
                yield queue[index]
                index = self._partitions.next_fitting(self._waiting, index + 1)

    def _start(self, view: View, job: Job) -> Start | None:
        """Return the start of a job that delays no pivot now."""
        if job.processors > view.free_count:
            return None
        queue = self._queue(job)
        allocation = self._partitions.fits_now(job, queue)
        if allocation is None:
            return None
        del self._queues[queue][job.index]
        self._waiting.remove(job.index)
        backfilled = job is not next(iter(view.queue.values()))
        return Start(job, self._partitions.start(job, allocation), backfilled)

    def _reserve(self, view: View, index: int, pivot: Pivot) -> None:
        """Reserve for a pivot, never later than it had."""
        job = pivot.job
        start_time, allocation = self._partitions.find_earliest(job, self._queue(job))
        if start_time < pivot.start_time:
            pivot = Pivot(job, start_time, allocation)
            view.promise(job, start_time)
            when = seconds(start_time)
            view.note(job, f"first of queue {self._queue(job) + 1}: reserved at {when}")
        self._partitions.reserve(pivot.start_time, job, pivot.allocation)
        self._pivots.insert(index, pivot)


def _parse(limits: str) -> list[float]:
    """Return the requested times at which classes begin."""
    try:
        times = [parse_number(word) for word in limits.replace(",", " ").split()]
    except ValueError:
        times = [inf]
    if not all(low < high for low, high in pairwise([0.0, *times, inf])):
        raise InputError(
            f"limits cannot be {limits!r}: they are ascending seconds, such as 100 1000 10000"
        )
    return times
