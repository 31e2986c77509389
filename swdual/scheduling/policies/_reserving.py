"""Backfilling around several reservations, which are made anew whenever jobs have ended.

Between two ends nothing becomes free: reservations stay, and waiting jobs go on waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from operator import attrgetter

import numpy as np

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job, seconds
from swdual.scheduling.orders import QueueOrder
from swdual.scheduling.placing import reason_to_wait
from swdual.scheduling.platform import Platform
from swdual.scheduling.policy import Start, View
from swdual.scheduling.processors import Ranges
from swdual.scheduling.profile import AvailabilityProfile, Choose

MIN_BATCH = 16
"""Jobs from which on it is quicker to test all at once first than one after the other."""


def make_choose(platform: Platform, allocator: Allocator, by_processors: bool) -> Choose | None:
    """Return the allocator's choice of processors for a profile; None where it only counts.

    Parameters
    ----------
    platform, allocator
        Where jobs run, and what chooses their processors.
    by_processors
        Whether the profile knows which processors are free.
    """
    if not by_processors:
        return None

    def choose(free: Ranges, count: int) -> Ranges | None:
        return allocator.choose(free, count, platform)

    return choose


class Reserving:
    """Starts the jobs that fit, in the order of the queue, and reserves for the first others.

    Parameters
    ----------
    platform, allocator
        Where jobs run, and what chooses their processors.
    depth
        How many jobs hold a reservation: the first ones that cannot start.
    by_processors
        Reservations are of particular processors, not only of so many.
    order
        That of the queue; None: that of submission.
    backfill_order
        The order in which others are tried after the reservations.
    """

    def __init__(
        self,
        platform: Platform,
        allocator: Allocator,
        depth: int,
        by_processors: bool,
        order: QueueOrder | None,
        backfill_order: QueueOrder | None,
    ) -> None:
        self._depth = depth
        self._order = order
        self._backfill_order = backfill_order
        self._profile = AvailabilityProfile(platform.processors, by_processors=by_processors)
        self._choose = make_choose(platform, allocator, by_processors)
        self._reserved: list[tuple[float, Job, Ranges | None]] = []

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs that start now."""
        profile, now = self._profile, view.now
        profile.advance(now)
        for order in {self._order, self._backfill_order}:  # which may be the same
            if order is not None:
                order.update(view)
        for ended in view.ended:
            profile.release(now, ended.latest_end, ended.job.processors, ended.processors)
        reserved, candidates = self._reserved, [*view.submitted]
        if view.ended or self._order is not None:
            for time, job, processors in reserved:
                profile.release(time, time + job.requested_time, job.processors, processors)
            reserved.clear()
            candidates = list(view.queue.values())
            if self._order is not None:
                candidates = self._order.sort(view, candidates)
        tried = 0
        while tried < len(candidates) and len(reserved) < self._depth:
            job = candidates[tried]
            tried += 1
            start = self._start(view, job, backfilled=bool(reserved))
            if start is not None:
                yield start
                continue
            time, processors = profile.find_earliest(
                job.processors, job.requested_time, self._choose
            )
            profile.reserve(time, time + job.requested_time, job.processors, processors)
            reserved.append((time, job, processors))
            if len(reserved) == 1 and self._order is None:
                view.promise(job, time)
            view.note(job, f"{reason_to_wait(view, job)}; reserved at {seconds(time)}")
        rest = candidates[tried:]
        for job in self._filter_fitting(view, rest):
            # Candidates in another order than that of submission are all waiting jobs.
            waiting = view.queue if self._order is None else (job.index for job in candidates)
            first = next(index for index in waiting if index in view.queue)
            start = self._start(view, job, backfilled=job.index != first)
            if start is not None:
                yield start
        if view.watching:
            for job in rest:
                if job.index in view.queue:
                    view.note(job, _refusal(view, job))

    def _filter_fitting(self, view: View, jobs: Sequence[Job]) -> list[Job]:
        """Return the jobs that may fit now, in the order to try; all others do not fit."""
        fitting = [job for job in jobs if job.processors <= view.free_count]
        if len(fitting) >= MIN_BATCH:
            processors = np.array([job.processors for job in fitting], np.int64)
            durations = np.array([job.requested_time for job in fitting])
            fitting = list(compress(fitting, self._profile.fit_now(processors, durations)))
        if self._order is not None:
            fitting.sort(key=attrgetter("index"))  # back to the order of submission
        return fitting if self._backfill_order is None else self._backfill_order.sort(view, fitting)

    def _start(self, view: View, job: Job, *, backfilled: bool) -> Start | None:
        if job.processors > view.free_count:
            return None
        fits, processors = self._profile.fits_now(job.processors, job.requested_time, self._choose)
        if not fits:
            return None
        self._profile.reserve(view.now, view.now + job.requested_time, job.processors, processors)
        view.note(job, "backfilled" if backfilled else "started as the head of the queue")
        return Start(job, processors, backfilled)


def _refusal(view: View, job: Job) -> str:
    if job.processors > view.free_count:
        return f"not backfilled: {reason_to_wait(view, job)}"
    return "not backfilled: it would delay a job before it in the queue, which has a reservation"
