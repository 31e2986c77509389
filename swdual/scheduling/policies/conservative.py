"""Conservative backfilling: every job gets a reservation when it is submitted, and it is kept.

A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001; thesis, sections 4.5.1 and 5.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._reserving import chooser
from swdual.scheduling.policy import Option, Start, View
from swdual.scheduling.processors import Ranges
from swdual.scheduling.profile import AvailabilityProfile

OPTIONS = {
    "by": Option(
        "count",
        "Reservations are of so many processors, or of particular ones, as forced allocators need.",
        ("count", "processors"),
    ),
    "compression": Option(
        "textbook",
        "When a job ends early, waiting jobs, in the order of submission, move to their earliest "
        "time (textbook), move only if they can start now (thesis), or stay (none).",
        ("textbook", "thesis", "none"),
    ),
}


class Reservation(NamedTuple):
    """The start of a waiting job, and its processors in a profile that knows them."""

    job: Job
    start_time: float
    processors: Ranges | None


class Policy:
    """Reserves for each job the earliest time that delays no reservation.

    When a job ends before its requested time, the waiting jobs are taken out of the profile one
    by one and put back earlier, or as they were: nobody starts later than promised. A reservation
    that does not become earlier keeps its processors too.
    """

    def __init__(self, platform: Platform, allocator: Allocator, by: str, compression: str) -> None:
        by_processors = by == "processors" or allocator.FORCED
        self._compression = compression
        self._profile = AvailabilityProfile(platform.processors, by_processors=by_processors)
        self._choose = chooser(platform, allocator, by_processors)
        self._reservations: dict[int, Reservation] = {}

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs whose reserved time has come."""
        profile, reservations, now = self._profile, self._reservations, view.now
        profile.advance(now)
        early = False
        for ended in view.ended:
            if ended.latest_end > now:
                profile.give(now, ended.latest_end, ended.job.processors, ended.processors)
                early = True
        if early and reservations and self._compression != "none":
            self._compress(view)
        for job in view.submitted:
            start, processors = profile.earliest(job.processors, job.requested_time, self._choose)
            self._reserve(Reservation(job, start, processors))
            view.promise(job, start)
            view.note(job, f"submitted: promised a start at {start:g} s")
        due = [each for each in reservations.values() if each.start_time <= now]
        for job, _, processors in due:
            first = next(iter(reservations))
            del reservations[job.index]
            view.note(job, "started" if job.index == first else f"backfilled before job {first}")
            yield Start(job, processors, backfilled=job.index != first)
        if reservations:
            view.wake(min(each.start_time for each in reservations.values()))

    def _reserve(self, reservation: Reservation) -> None:
        job, start, processors = reservation
        self._profile.take(start, start + job.requested_time, job.processors, processors)
        self._reservations[job.index] = reservation

    def _compress(self, view: View) -> None:
        profile, now = self._profile, view.now
        waiting = list(self._reservations.values())
        counts = np.array([each.job.processors for each in waiting])
        durations = np.array([each.job.requested_time for each in waiting])
        starts = np.array([each.start_time for each in waiting])
        now_only = self._compression == "thesis"
        place = -1
        while True:
            place = profile.improvable(place + 1, counts, durations, starts, now_only=now_only)
            if place == len(waiting):
                return
            job, start, processors = before = waiting[place]
            profile.give(start, start + job.requested_time, job.processors, processors)
            if now_only:
                fits, other = profile.fits_now(job.processors, job.requested_time, self._choose)
                earlier = now if fits else start
            else:
                earlier, other = profile.earliest(job.processors, job.requested_time, self._choose)
            moved = earlier < start
            self._reserve(Reservation(job, earlier, other) if moved else before)
            if moved:
                view.note(job, f"moved from {start:g} s to {earlier:g} s, as a job ended early")
