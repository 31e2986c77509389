"""Reservations of waiting jobs in an availability profile, each with a promised start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.scheduling.job import Job
from swdual.scheduling.processors import Ranges
from swdual.scheduling.profile import AvailabilityProfile, Choose


class Reservation(NamedTuple):
    """The start of a waiting job, and its processors in a profile that knows them."""

    job: Job
    start_time: float
    processors: Ranges | None


class Reservations:
    """Reservations of waiting jobs, all made in one profile.

    The rank of a reservation is its place in the order of submission, or in another order between
    `arrange` and `arrange_by_submission`. Reservations are also kept as columns, in
    which the profile finds those that could be earlier.

    Parameters
    ----------
    profile
        Where they are reserved.
    """

    def __init__(self, profile: AvailabilityProfile) -> None:
        capacity = 64
        self._profile = profile
        self._all: dict[int, tuple[Job, Ranges | None]] = {}
        self._index = np.zeros(capacity, np.int64)
        self._processors = np.zeros(capacity, np.int64)
        self._durations = np.zeros(capacity)
        self._starts = np.zeros(capacity)
        # Lower bound on the processors that must be freed before a job can start earlier.
        self._deficit = np.zeros(capacity, np.int64)
        # The row of words of each job; entries behind the last job are rows not in use.
        self._rows = np.arange(capacity)
        self._reserved = np.zeros((capacity, profile.words), np.uint64)
        self._refused = np.zeros_like(self._reserved)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Reservation]:
        return (self[rank] for rank in range(len(self)))

    @property
    def first(self) -> Job:
        """The job that was submitted before all others."""
        return self[0].job

    @property
    def next_start(self) -> float:
        """The earliest of all starts, in seconds."""
        return float(self._starts[: len(self)].min())

    @property
    def index(self) -> NDArray[np.int64]:
        """The indices of the jobs, by rank."""
        return self._index[: len(self)]

    def arrange(self, places: NDArray[np.int64]) -> None:
        """Change the order of the ranks.

        Parameters
        ----------
        places
            The present rank of the job that is to have each rank.
        """
        columns = self._index, self._processors, self._durations, self._starts, self._deficit
        for column in (*columns, self._rows):
            column[: len(self)] = column[places]

    def arrange_by_submission(self) -> None:
        """Return to the order of submission."""
        self.arrange(np.argsort(self.index))

    def find_due(self, now: float) -> list[Reservation]:
        """Return those whose time has come."""
        ranks = np.flatnonzero(self._starts[: len(self)] <= now)
        return [self[rank] for rank in ranks.tolist()]

    def add(self, reservation: Reservation) -> None:
        """Reserve for a job, which gets the last rank."""
        rank = len(self)
        if rank == len(self._index):
            self._grow()
        self._index[rank] = reservation.job.index
        self._processors[rank] = reservation.job.processors
        self._durations[rank] = reservation.job.requested_time
        self._refused[self._rows[rank]] = 0
        self.reserve(rank, reservation)

    def remove(self, job: Job) -> None:
        """Forget the reservation of a job that starts; its processors stay reserved."""
        rank = int(np.searchsorted(self._index[: len(self)], job.index))
        row = self._rows[rank]
        columns = self._index, self._processors, self._durations, self._starts, self._deficit
        for column in (*columns, self._rows):
            column[rank : len(self) - 1] = column[rank + 1 : len(self)]
        self._rows[len(self) - 1] = row
        del self._all[job.index]

    def release(self, rank: int) -> Reservation:
        """Return a reservation, and release its processors until `reserve` is called."""
        reservation = self[rank]
        job, start, which = reservation
        self._profile.release(start, start + job.requested_time, job.processors, which)
        return reservation

    def __getitem__(self, rank: int) -> Reservation:
        job, which = self._all[int(self._index[rank])]
        return Reservation(job, float(self._starts[rank]), which)

    def lower_deficits(self, start: float, end: float, which: Ranges | None) -> None:
        """Note that processors were released in the profile in [start, end).

        Parameters
        ----------
        start, end
            Seconds.
        which
            (ranges, 2) the processors; None in a profile that counts.
        """
        if which is not None and self._profile.by_processors:
            size = len(self)
            jobs = self._durations[:size], self._starts[:size], self._rows[:size], self._reserved
            self._profile.lower_deficits(start, end, which, *jobs, self._deficit[:size])

    def compress(self, choose: Choose | None) -> list[tuple[int, float]]:
        """Move jobs, by rank, to their earliest starts; never to later ones.

        For the parameters see `AvailabilityProfile.find_earliest`.

        Returns
        -------
        list
            The ranks of the jobs that moved, with the starts that they had.
        """
        size = len(self)
        columns = self._processors[:size], self._durations[:size], self._starts[:size]
        before = self._starts[:size].copy()
        if self._profile.by_processors:
            sets = self._rows[:size], self._reserved, self._deficit[:size]
            rank, since = self._profile.next_improvable_by_set(0, *columns, *sets)
            while rank < size:
                self._move(rank, since, choose)
                rank, since = self._profile.next_improvable_by_set(rank + 1, *columns, *sets)
        else:
            self._profile.compress(*columns)
        moved = np.flatnonzero(self._starts[:size] < before)
        return list(zip(moved.tolist(), before[moved].tolist(), strict=True))

    def _move(self, rank: int, since: float, choose: Choose | None) -> None:
        """Reserve for a job where it is earliest, all others staying, but not before some time."""
        job, start, reserved = before = self.release(rank)
        earliest, which = self._profile.find_earliest(
            job.processors, job.requested_time, choose, since
        )
        if earliest < start:
            self.reserve(rank, Reservation(job, earliest, which))
            self.lower_deficits(start, start + job.requested_time, reserved)
        else:
            self.reserve(rank, before)

    def start_early(self, choose: Choose | None) -> list[Job]:
        """Move the jobs that can start at the begin of the profile, by rank; return them.

        For the parameters see `AvailabilityProfile.find_earliest`.
        """
        profile, size = self._profile, len(self)
        columns = self._processors[:size], self._durations[:size], self._starts[:size]
        sets = self._rows[:size], self._reserved, self._refused
        moved = []
        rank = profile.next_startable(0, *columns, *sets)
        while rank < size:
            processors = int(self._processors[rank])
            suits, which = profile.choose_in_window(processors, choose)
            if suits:
                job = self.release(rank).job
                self.reserve(rank, Reservation(job, profile.begin, which))
                moved.append(job)
            else:
                self._refused[self._rows[rank]] = profile.window
                profile.refuse(processors)
            rank = profile.next_startable(rank + 1, *columns, *sets)
        return moved

    def reserve(self, rank: int, reservation: Reservation) -> None:
        """Reserve for a job that was released.

        Parameters
        ----------
        rank
            Its rank.
        reservation
            The job, its start, and its processors.
        """
        job, start, which = reservation
        self._profile.reserve(start, start + job.requested_time, job.processors, which)
        self._starts[rank] = start
        # This is its earliest start now: at least one processor is missing for an earlier one.
        self._deficit[rank] = 1
        self._all[job.index] = job, which
        if which is not None:
            self._profile.write_set(self._reserved[self._rows[rank]], which)

    def _grow(self) -> None:
        size = len(self._index)
        self._index = np.resize(self._index, 2 * size)
        self._processors = np.resize(self._processors, 2 * size)
        self._durations = np.resize(self._durations, 2 * size)
        self._starts = np.resize(self._starts, 2 * size)
        self._deficit = np.resize(self._deficit, 2 * size)
        self._rows = np.append(self._rows, np.arange(size, 2 * size))
        self._reserved = np.concatenate((self._reserved, np.zeros_like(self._reserved)))
        self._refused = np.concatenate((self._refused, np.zeros_like(self._refused)))
