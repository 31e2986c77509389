"""Partitions of the processors that lend to each other what reservations leave idle.

Of a job the partitions know its home, the partition of its queue. It borrows from others what its
home lacks; loans return to the lender when the job ends.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from math import inf
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.platform import Platform
from swdual.scheduling.policy import Running
from swdual.scheduling.processors import Ranges
from swdual.scheduling.profile import AvailabilityProfile, Choose

Place = Any
"""Where a job is to run, as far as the partitions need to know: see `start`."""

Shares = tuple[int, ...]
"""How many processors of each partition a job has."""

Levels = list[int]
"""How many processors of each partition are idle."""


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
        self._sizes = sizes
        self._now = -inf
        self._idle = list(sizes)
        self._held: dict[int, Shares] = {}
        self._latest_ends: list[tuple[float, int]] = []
        self._reserved: dict[int, tuple[float, float, Shares]] = {}
        self._slices: list[tuple[float, Levels]] = []  # empty until somebody asks
        self._bounds: list[tuple[float, Levels]] = []

    def settle(self, now: float, ended: Iterable[Running]) -> None:
        """Take note of the time, and of the jobs that have ended."""
        self._now = now
        self._change()
        for each in ended:
            index = each.job.index
            del self._latest_ends[bisect_left(self._latest_ends, (each.latest_end, index))]
            self._idle = _plus(self._idle, self._held.pop(index), 1)

    def fits_now(self, job: Job, home: int) -> Shares | None:
        """Return how many processors of each partition a job can have now."""
        if job.processors > sum(self._idle):
            return None
        if not self._bounds:
            # Between the starts of reservations there only comes to be more.
            starts = {start for start, _, _ in self._reserved.values()} | {self._now}
            slices = self._outlook() if self._reserved else [(self._now, self._idle)]
            self._bounds = [each for each in slices if each[0] in starts]
        free = _least(self._bounds, 0, self._now + job.requested_time)
        return _shares(job, home, free) if job.processors <= sum(free) else None

    def earliest(self, job: Job, home: int) -> tuple[float, Shares]:
        """Return when a job can start, and how many processors of each partition it gets."""
        wide = job.processors > self._sizes[home]
        slices = self._outlook()
        for first, (time, free) in enumerate(slices):
            if job.processors > (sum(free) if wide else free[home]):
                continue
            free = _least(slices, first, time + job.requested_time)
            if job.processors <= (sum(free) if wide else free[home]):
                break
        return time, _shares(job, home, free)

    def reserve(self, start_time: float, job: Job, place: Shares) -> None:
        """Keep a place from others for as long as a job requests."""
        self._reserved[job.index] = start_time, start_time + job.requested_time, place
        self._change()

    def release(self, start_time: float, job: Job, place: Shares) -> None:
        """Give back what was reserved."""
        del self._reserved[job.index]
        self._change()

    def start(self, job: Job, place: Shares) -> None:
        """Have a job start now, on whichever processors."""
        self._idle = _plus(self._idle, place, -1)
        self._held[job.index] = place
        insort(self._latest_ends, (self._now + job.requested_time, job.index))
        self._change()

    def _change(self) -> None:
        self._slices, self._bounds = [], []

    def _outlook(self) -> list[tuple[float, Levels]]:
        """Return what is idle from each time on; at last that is everything."""
        if not self._slices:
            changes = [(time, self._held[index], 1) for time, index in self._latest_ends]
            for start, end, shares in self._reserved.values():
                changes += [(start, shares, -1), (end, shares, 1)]
            changes.sort(key=itemgetter(0))
            self._slices = [(self._now, self._idle)]
            for time, shares, sign in changes:
                last, levels = self._slices[-1]
                if time <= last:
                    self._slices.pop()
                self._slices.append((max(last, time), _plus(levels, shares, sign)))
        return self._slices


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
            inside = np.clip(free, first, stop)
            inside = inside[inside[:, 0] < inside[:, 1]]
            if (inside[:, 1] - inside[:, 0]).sum() < count:
                return None
            return self._anywhere(inside, count)

        return choose


def _shares(job: Job, home: int, free: Levels) -> Shares:
    """Return how many processors of each partition a job gets that has room in all together."""
    shares = [0] * len(free)
    missing = job.processors
    for place in sorted(range(len(free)), key=lambda place: (place != home, -free[place])):
        shares[place] = min(missing, free[place])
        missing -= shares[place]
    return tuple(shares)


def _plus(levels: Levels, shares: Shares, sign: int) -> Levels:
    return [level + sign * share for level, share in zip(levels, shares, strict=True)]


def _least(slices: Sequence[tuple[float, Levels]], first: int, end: float) -> Levels:
    """Return the least that is idle in each partition from a slice on to before an end."""
    least = slices[first][1]
    for place in range(first + 1, len(slices)):
        time, levels = slices[place]
        if time >= end:
            break
        least = list(map(min, least, levels))
    return least
