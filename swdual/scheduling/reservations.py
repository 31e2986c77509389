"""The waiting jobs that have a place in a profile, each with a start that it was promised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from swdual.scheduling.job import Job
from swdual.scheduling.processors import Ranges
from swdual.scheduling.profile import AvailabilityProfile, Choose


class Reservation(NamedTuple):
    """The start of a waiting job, and its processors in a profile that knows them."""

    job: Job
    start_time: float
    processors: Ranges | None


class Reservations:
    """Reservations in the order of submission, taken out of a profile.

    They are also kept as columns, in which the profile finds those that could be earlier.

    Parameters
    ----------
    profile
        What they are taken out of.
    """

    def __init__(self, profile: AvailabilityProfile) -> None:
        capacity = 64
        self._profile = profile
        self._all: dict[int, tuple[Job, Ranges | None]] = {}
        self._index = np.zeros(capacity, np.int64)
        self._processors = np.zeros(capacity, np.int64)
        self._durations = np.zeros(capacity)
        self._starts = np.zeros(capacity)
        # How many more processors must be freed, at least, before a job can start earlier.
        self._lacks = np.zeros(capacity, np.int64)
        # A job's row of words; what lies behind the last job are the rows that none has.
        self._rows = np.arange(capacity)
        self._held = np.zeros((capacity, profile.words), np.uint64)
        self._refused = np.zeros_like(self._held)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Reservation]:
        return (self[place] for place in range(len(self)))

    @property
    def first(self) -> Job:
        """The job that was submitted before all others."""
        return next(iter(self._all.values()))[0]

    @property
    def next_start(self) -> float:
        """The earliest of all starts."""
        return float(self._starts[: len(self)].min())

    def due(self, now: float) -> list[Reservation]:
        """Return those whose time has come."""
        places = np.flatnonzero(self._starts[: len(self)] <= now)
        return [self[place] for place in places.tolist()]

    def add(self, reservation: Reservation) -> None:
        """Reserve for a job that was submitted after all others."""
        place = len(self)
        if place == len(self._index):
            self._grow()
        self._index[place] = reservation.job.index
        self._processors[place] = reservation.job.processors
        self._durations[place] = reservation.job.requested_time
        self._refused[self._rows[place]] = 0
        self.put(place, reservation)

    def remove(self, job: Job) -> None:
        """Forget the reservation of a job that starts; its processors stay taken."""
        place = int(np.searchsorted(self._index[: len(self)], job.index))
        row = self._rows[place]
        columns = self._index, self._processors, self._durations, self._starts, self._lacks
        for column in (*columns, self._rows):
            column[place : len(self) - 1] = column[place + 1 : len(self)]
        self._rows[len(self) - 1] = row
        del self._all[job.index]

    def release(self, place: int) -> Reservation:
        """Return a reservation, and give its processors back to the profile for the moment."""
        reservation = self[place]
        job, start, which = reservation
        self._profile.give(start, start + job.requested_time, job.processors, which)
        return reservation

    def refuse(self, place: int) -> None:
        """Remember that what the profile found for a job to start now does not suit it."""
        self._refused[self._rows[place]] = self._profile.window

    def __getitem__(self, place: int) -> Reservation:
        job, which = self._all[int(self._index[place])]
        return Reservation(job, float(self._starts[place]), which)

    def freed(self, start: float, end: float, which: Ranges | None) -> None:
        """Note that processors were given back to the profile in [start, end)."""
        if which is not None and self._profile.by_processors:
            size = len(self)
            jobs = self._durations[:size], self._starts[:size], self._rows[:size], self._held
            self._profile.relieve(start, end, which, *jobs, self._lacks[:size])

    def compress(self, choose: Choose | None) -> list[tuple[int, float]]:
        """Move jobs, in the order of submission, to their earliest starts; never to later ones.

        Parameters
        ----------
        choose
            As for `AvailabilityProfile.earliest`.

        Returns
        -------
        list
            The places of the jobs that moved, with the starts that they had.
        """
        size = len(self)
        columns = self._processors[:size], self._durations[:size], self._starts[:size]
        before = self._starts[:size].copy()
        if self._profile.by_processors:
            sets = self._rows[:size], self._held, self._lacks[:size]
            place, since = self._profile.sooner(0, *columns, *sets)
            while place < size:
                self._move(place, since, choose)
                place, since = self._profile.sooner(place + 1, *columns, *sets)
        else:
            self._profile.compress(*columns)
        moved = np.flatnonzero(self._starts[:size] < before)
        return list(zip(moved.tolist(), before[moved].tolist(), strict=True))

    def _move(self, place: int, since: float, choose: Choose | None) -> None:
        """Put a job where it is earliest with all others in place, but not before some time."""
        job, start, held = before = self.release(place)
        earlier, which = self._profile.earliest(job.processors, job.requested_time, choose, since)
        if earlier < start:
            self.put(place, Reservation(job, earlier, which))
            self.freed(start, start + job.requested_time, held)
        else:
            self.put(place, before)

    def startable(self, begin: int) -> int | None:
        """Return the next place from one on whose job can start now, in the profile's window."""
        size = len(self)
        columns = self._processors[:size], self._durations[:size], self._starts[:size]
        sets = self._rows[:size], self._held, self._refused
        place = self._profile.startable(begin, *columns, *sets)
        return None if place == size else place

    def put(self, place: int, reservation: Reservation) -> None:
        """Reserve for a job that was released."""
        job, start, which = reservation
        self._profile.take(start, start + job.requested_time, job.processors, which)
        self._starts[place] = start
        self._lacks[place] = 1
        self._all[job.index] = job, which
        if which is not None:
            self._profile.write(self._held[self._rows[place]], which)

    def _grow(self) -> None:
        size = len(self._index)
        self._index = np.resize(self._index, 2 * size)
        self._processors = np.resize(self._processors, 2 * size)
        self._durations = np.resize(self._durations, 2 * size)
        self._starts = np.resize(self._starts, 2 * size)
        self._lacks = np.resize(self._lacks, 2 * size)
        self._rows = np.append(self._rows, np.arange(size, 2 * size))
        self._held = np.concatenate((self._held, np.zeros_like(self._held)))
        self._refused = np.concatenate((self._refused, np.zeros_like(self._refused)))
