"""Partitions of the processors that lend to each other what reservations leave idle.

Of a job the partitions know its home, the partition of its queue. It borrows from others what its
home lacks; loans return to the lender when the job ends.
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
from swdual.scheduling.kernels import partition_profile as levels
from swdual.scheduling.kernels.profile import Counts, advance
from swdual.scheduling.platform import Platform
from swdual.scheduling.policy import Running
from swdual.scheduling.processors import Ranges
from swdual.scheduling.profile import AvailabilityProfile, Choose

Place = Any
"""Where a job is to run, as far as the partitions need to know: see `start`."""


class Partitions(Protocol):
    """What is idle in which partition, now and later, by requested times."""

    def settle(self, now: float, ended: Iterable[Running]) -> None:
        """Take note of the time, and of the jobs that have ended."""
        ...

    def fits_now(self, job: Job, home: int) -> Place | None:
        """Return where a job can start now, no reservation being delayed; None if nowhere."""
        ...

    def earliest(self, job: Job, home: int) -> tuple[float, Place]:
        """Return when and where a job can start at its home, or beyond if it is too wide for it."""
        ...

    def reserve(self, start_time: float, job: Job, place: Place) -> None:
        """Keep a place from others for as long as a job requests."""
        ...

    def release(self, start_time: float, job: Job, place: Place) -> None:
        """Give back what was reserved."""
        ...

    def start(self, job: Job, place: Place) -> Ranges | None:
        """Have a job start now; return its processors, None if any will do."""
        ...


class Counted:
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
        self._held: dict[int, Counts] = {}
        self._size = 1
        self._times = np.full(capacity, -inf)
        self._counts = np.full(capacity, sum(sizes), np.int64)
        self._rows = np.arange(capacity)
        self._levels = np.zeros((capacity, len(sizes)), np.int64)
        self._levels[0] = sizes
        # When less is idle than ever from now on, and how much then; empty until somebody asks.
        self._begins: list[float] = []
        self._room: list[int] = []
        self._lowest = self._levels[:0]

    def settle(self, now: float, ended: Iterable[Running]) -> None:
        """Take note of the time, and of the jobs that have ended."""
        self._now = now
        self._size = advance(self._times, self._counts, self._rows, self._size, now)
        self._begins = []
        for each in ended:
            self._change(now, each.latest_end, self._held.pop(each.job.index))

    def fits_now(self, job: Job, home: int) -> Counts | None:
        """Return how many processors of each partition a job can have now."""
        if not self._begins:
            slices = self._times, self._rows, self._levels, self._size
            begins, self._lowest, room = levels.narrowing(*slices)
            self._begins, self._room = begins.tolist(), room.tolist()
        place = bisect_left(self._begins, self._now + job.requested_time, 1) - 1
        if job.processors > self._room[place]:
            return None
        return levels.shares(self._lowest[place], job.processors, home)

    def earliest(self, job: Job, home: int) -> tuple[float, Counts]:
        """Return when a job can start, and how many processors of each partition it gets."""
        wide = job.processors > self._sizes[home]
        slices = self._times, self._rows, self._levels, self._size
        return levels.earliest(*slices, job.processors, job.requested_time, home, wide)

    def reserve(self, start_time: float, job: Job, place: Counts) -> None:
        """Keep a place from others for as long as a job requests."""
        self._change(start_time, start_time + job.requested_time, -place)

    def release(self, start_time: float, job: Job, place: Counts) -> None:
        """Give back what was reserved."""
        self._change(start_time, start_time + job.requested_time, place)

    def start(self, job: Job, place: Counts) -> None:
        """Have a job start now, on whichever processors."""
        self._held[job.index] = place
        self.reserve(self._now, job, place)

    def _change(self, start: float, end: float, shares: Counts) -> None:
        start = max(start, self._now)
        if end <= start:
            return
        if self._size + 2 > len(self._times):
            self._grow()
        slices = self._times, self._counts, self._rows, self._levels, self._size
        self._size = levels.change(*slices, start, end, shares)
        self._begins = []

    def _grow(self) -> None:
        capacity = len(self._times)
        self._times = np.resize(self._times, 2 * capacity)
        self._counts = np.resize(self._counts, 2 * capacity)
        self._rows = np.append(self._rows, np.arange(capacity, 2 * capacity))
        self._levels = np.concatenate((self._levels, np.zeros_like(self._levels)))


class Particular:
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
        """Take note of the time, and of the jobs that have ended."""
        self._now = now
        self._profile.advance(now)
        for each in ended:
            self._profile.give(now, each.latest_end, each.job.processors, each.processors)

    def fits_now(self, job: Job, home: int) -> Ranges | None:
        """Return processors on which a job can start now, if possible at home."""
        choose_home = self._at(home)

        def choose(free: Ranges, count: int) -> Ranges | None:
            chosen = choose_home(free, count)
            return self._anywhere(free, count) if chosen is None else chosen

        return self._profile.fits_now(job.processors, job.requested_time, choose)[1]

    def earliest(self, job: Job, home: int) -> tuple[float, Ranges | None]:
        """Return when a job can start, and on which processors."""
        choose = self._at(home)
        if choose(np.array([self._bounds[home : home + 2]]), job.processors) is None:
            choose = self._anywhere
        return self._profile.earliest(job.processors, job.requested_time, choose)

    def reserve(self, start_time: float, job: Job, place: Ranges) -> None:
        """Keep a place from others for as long as a job requests."""
        end = start_time + job.requested_time
        self._profile.take(start_time, end, job.processors, place)

    def release(self, start_time: float, job: Job, place: Ranges) -> None:
        """Give back what was reserved."""
        end = start_time + job.requested_time
        self._profile.give(max(start_time, self._now), end, job.processors, place)

    def start(self, job: Job, place: Ranges) -> Ranges:
        """Have a job start now, on these processors."""
        self.reserve(self._now, job, place)
        return place

    def _anywhere(self, free: Ranges, count: int) -> Ranges | None:
        return self._allocator.choose(free, count, self._platform)

    def _at(self, home: int) -> Choose:
        first, stop = self._bounds[home : home + 2]

        def choose(free: Ranges, count: int) -> Ranges | None:
            inside = sets.within(free, first, stop)
            if sets.count(inside) < count:
                return None
            return self._anywhere(inside, count)

        return choose
