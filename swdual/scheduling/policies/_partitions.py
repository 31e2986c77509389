"""Partitions of the processors that lend to each other what reservations leave idle.

The home of a job is the partition of its queue. It borrows from other partitions what its home does
not have; loans return to the lender when the job ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, Protocol

import numpy as np

from swdual.scheduling import processors as sets
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.kernels import partition_profile
from swdual.scheduling.kernels.profile import Counts, advance
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._waiting import WaitingColumns
from swdual.scheduling.policy import Running
from swdual.scheduling.processors import Ranges
from swdual.scheduling.profile import AvailabilityProfile, Choose

Allocation = Any
"""What a job gets: (partitions,) how many processors of each, or (ranges, 2) which ones."""


class Partitions(Protocol):
    """What is idle in which partition, now and later, by requested times."""

    def settle(self, now: float, ended: Iterable[Running]) -> None:
        """Advance to a time, and release what the ended jobs held.

        Parameters
        ----------
        now, ended
            Seconds, and the jobs that have ended since.
        """
        ...

    def fits_now(self, job: Job, home: int) -> Allocation | None:
        """Return what a job gets if it can start now and delay no reservation, else None.

        Parameters
        ----------
        job, home
            A waiting job, and the index of its partition.
        """
        ...

    def next_fitting(self, waiting: WaitingColumns, since: int) -> int | None:
        """Return the index of the next waiting job that may fit now; None if there is none.

        Parameters
        ----------
        waiting, since
            The waiting jobs, and the index to begin with.
        """
        ...

    def find_earliest(self, job: Job, home: int) -> tuple[float, Allocation]:
        """Return the earliest start of a job, and what it gets then.

        It is at its home; in all partitions together if it is too wide for that.

        Parameters
        ----------
        job, home
            A waiting job, and the index of its partition.
        """
        ...

    def reserve(self, start_time: float, job: Job, allocation: Allocation) -> None:
        """Reserve an allocation for as long as the job requests.

        Parameters
        ----------
        start_time, job, allocation
            Seconds, the job, and what it gets.
        """
        ...

    def release(self, start_time: float, job: Job, allocation: Allocation) -> None:
        """Release a reservation.

        Parameters
        ----------
        start_time, job, allocation
            As they were reserved.
        """
        ...

    def start(self, job: Job, allocation: Allocation) -> Ranges | None:
        """Start a job now; return its processors, None if any will do.

        Parameters
        ----------
        job, allocation
            The job, and what `fits_now` returned for it.
        """
        ...


class PartitionsByCount:
    """Partitions that are numbers of processors.

    Parameters
    ----------
    sizes
        How many processors each has.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        capacity = 64
        self._sizes = sizes
        self._now = -inf
        self._allocations: dict[int, Counts] = {}
        self._size = 1
        self._times = np.full(capacity, -inf)
        self._counts = np.full(capacity, sum(sizes), np.int64)
        self._rows = np.arange(capacity)
        self._levels = np.zeros((capacity, len(sizes)), np.int64)
        self._levels[0] = sizes
        # Running minimum of what is idle from now on; empty until it is needed.
        self._begins: list[float] = []
        self._room: list[int] = []
        self._lowest = self._levels[:0]
        self._drops = self._times[:0], self._counts[:0]

    def settle(self, now: float, ended: Iterable[Running]) -> None:
        """Advance to a time, and release what the ended jobs held: see `Partitions.settle`."""
        self._now = now
        self._size = advance(self._times, self._counts, self._rows, self._size, now)
        self._begins = []
        for running in ended:
            self._change(now, running.latest_end, self._allocations.pop(running.job.index))

    def fits_now(self, job: Job, home: int) -> Counts | None:
        """Return how many processors of each partition a job gets now.

        See `Partitions.fits_now`.
        """
        self._find_drops()
        step = bisect_left(self._begins, self._now + job.requested_time, 1) - 1
        if job.processors > self._room[step]:
            return None
        return partition_profile.divide_job(self._lowest[step], job.processors, home)

    def next_fitting(self, waiting: WaitingColumns, since: int) -> int | None:
        """Return the index of the next waiting job that fits now: see `Partitions.next_fitting`."""
        self._find_drops()
        return waiting.next_under_steps(since, self._now, *self._drops)

    def find_earliest(self, job: Job, home: int) -> tuple[float, Counts]:
        """Return when a job can start, and how many processors of each partition it gets then.

        See `Partitions.find_earliest`.
        """
        wide = job.processors > self._sizes[home]
        slices = self._times, self._rows, self._levels, self._size
        return partition_profile.find_earliest(
            *slices, job.processors, job.requested_time, home, wide
        )

    def reserve(self, start_time: float, job: Job, allocation: Counts) -> None:
        """Reserve processors of each partition: see `Partitions.reserve`."""
        self._change(start_time, start_time + job.requested_time, -allocation)

    def release(self, start_time: float, job: Job, allocation: Counts) -> None:
        """Release a reservation: see `Partitions.release`."""
        self._change(start_time, start_time + job.requested_time, allocation)

    def start(self, job: Job, allocation: Counts) -> None:
        """Start a job now, on whichever processors: see `Partitions.start`."""
        self._allocations[job.index] = allocation
        self.reserve(self._now, job, allocation)

    def _find_drops(self) -> None:
        if not self._begins:
            slices = self._times, self._rows, self._levels, self._size
            begins, self._lowest, room = partition_profile.find_drops(*slices)
            self._drops = begins, room
            self._begins, self._room = begins.tolist(), room.tolist()

    def _change(self, start: float, end: float, shares: Counts) -> None:
        start = max(start, self._now)
        if end <= start:
            return
        if self._size + 2 > len(self._times):
            self._grow()
        slices = self._times, self._counts, self._rows, self._levels, self._size
        self._size = partition_profile.change(*slices, start, end, shares)
        self._begins = []

    def _grow(self) -> None:
        capacity = len(self._times)
        self._times = np.resize(self._times, 2 * capacity)
        self._counts = np.resize(self._counts, 2 * capacity)
        self._rows = np.append(self._rows, np.arange(capacity, 2 * capacity))
        self._levels = np.concatenate((self._levels, np.zeros_like(self._levels)))


class PartitionsBySet:
    """Partitions that are sets of processors, on which an allocator may insist.

    Parameters
    ----------
    sizes
        How many processors each has, from the lowest on.
    platform, allocator
        Where, and what chooses.
    """

    def __init__(self, sizes: Sequence[int], platform: Platform, allocator: Allocator) -> None:
        self._now = -inf
        self._profile = AvailabilityProfile(platform.processors, by_processors=True)
        self._bounds = np.cumsum([0, *sizes]).tolist()
        self._allocator = allocator
        self._platform = platform

    def settle(self, now: float, ended: Iterable[Running]) -> None:
        """Advance to a time, and release what the ended jobs held: see `Partitions.settle`."""
        self._now = now
        self._profile.advance(now)
        for running in ended:
            end, processors = running.latest_end, running.processors
            self._profile.release(now, end, running.job.processors, processors)

    def fits_now(self, job: Job, home: int) -> Ranges | None:
        """Return the processors that a job gets now, at home if the allocator finds some there.

        See `Partitions.fits_now`.
        """
        choose_home = self._choose_at(home)

        def choose(free: Ranges, count: int) -> Ranges | None:
            chosen = choose_home(free, count)
            return self._anywhere(free, count) if chosen is None else chosen

        return self._profile.fits_now(job.processors, job.requested_time, choose)[1]

    def next_fitting(self, waiting: WaitingColumns, since: int) -> int | None:
        """Return the index of the next job that finds as many free now.

        See `Partitions.next_fitting`.
        """
        free = np.array([self._profile.free_now])
        return waiting.next_under_steps(since, self._now, np.array([self._now]), free)

    def find_earliest(self, job: Job, home: int) -> tuple[float, Ranges | None]:
        """Return when a job can start, and on which processors: see `Partitions.find_earliest`."""
        choose = self._choose_at(home)
        if choose(np.array([self._bounds[home : home + 2]]), job.processors) is None:
            choose = self._anywhere
        return self._profile.find_earliest(job.processors, job.requested_time, choose)

    def reserve(self, start_time: float, job: Job, allocation: Ranges) -> None:
        """Reserve these processors: see `Partitions.reserve`."""
        end = start_time + job.requested_time
        self._profile.reserve(start_time, end, job.processors, allocation)

    def release(self, start_time: float, job: Job, allocation: Ranges) -> None:
        """Release what is left of a reservation: see `Partitions.release`."""
        end = start_time + job.requested_time
        self._profile.release(max(start_time, self._now), end, job.processors, allocation)

    def start(self, job: Job, allocation: Ranges) -> Ranges:
        """Start a job now; return its processors: see `Partitions.start`."""
        self.reserve(self._now, job, allocation)
        return allocation

    def _anywhere(self, free: Ranges, count: int) -> Ranges | None:
        return self._allocator.choose(free, count, self._platform)

    def _choose_at(self, home: int) -> Choose:
        first, stop = self._bounds[home : home + 2]

        def choose(free: Ranges, count: int) -> Ranges | None:
            inside = sets.within(free, first, stop)
            if sets.count(inside) < count:
                return None
            return self._anywhere(inside, count)

        return choose
