"""Availability profiles: the processors that will be free, by requested times.

A profile is a sequence of time slices, each with its free processors: the textbook picture of
backfilling (thesis, section 4.5.1, figure 4.6). It either counts processors or knows which ones are
free; in the latter case a job must find the same processors free in all slices that it runs
through. The compiled parts are in `swdual.scheduling.kernels`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from swdual.scheduling.kernels import compress_by_count, compress_by_set, insertion
from swdual.scheduling.kernels import profile as slices
from swdual.scheduling.kernels.profile import Counts, Times, Words
from swdual.scheduling.processors import Ranges, whole

Choose = Callable[[Ranges, int], Ranges | None]
"""Chooses so many of the free processors, or returns None if none of them suit."""

NONE = np.zeros((0, 2), np.int64)

NO_WORDS = np.zeros(0, np.int64)


class AvailabilityProfile:
    """The free processors of a platform from now on; the last slice never ends.

    Parameters
    ----------
    processors
        How many the platform has; all are free.
    by_processors
        Know which ones are free, not only how many. A profile that only counts ignores sets of
        processors.

    Attributes
    ----------
    window
        (words,) the processors that are free throughout the job that was last looked for, one bit
        each; empty in a profile that only counts.
    """

    def __init__(self, processors: int, *, by_processors: bool = False) -> None:
        self.processors = processors
        self.by_processors = by_processors
        words = -(-processors // slices.WORD_BITS) if by_processors else 0
        capacity = 64
        self._size = 1
        self._times = np.full(capacity, -np.inf)
        self._counts = np.full(capacity, processors, np.int64)
        # The row of words of each slice; entries behind the last slice are rows not in use.
        self._rows = np.arange(capacity)
        self._words = np.zeros((capacity, words), np.uint64)
        self._intersections = np.zeros_like(self._words)  # work space
        self._back = np.zeros(words, np.uint64)  # work space
        self._refused = np.zeros(words, np.uint64)
        self.window = np.zeros(words, np.uint64)
        # The duration and earliest start of the last job of each number of processors and choice:
        # until something is released, no such job that takes as long can start before.
        self._earliest: dict[tuple[int, Choose | None], tuple[float, float]] = {}
        # What `next_startable` knows of this version of the profile.
        self._version = 1
        self._nonzero = NO_WORDS
        self._free_counts = np.zeros(capacity, np.int64)
        self._known = 0
        self._window_end = -1
        self._refusals = np.zeros((processors + 1 if by_processors else 0, 2), np.int64)
        if by_processors:
            slices.set_bits(self._words[0], whole(processors), True)

    @property
    def steps(self) -> list[tuple[float, int]]:
        """The begin of each slice, and how many processors are free in it."""
        return list(
            zip(
                self._times[: self._size].tolist(), self._counts[: self._size].tolist(), strict=True
            )
        )

    @property
    def begin(self) -> float:
        """When the first slice begins, in seconds."""
        return float(self._times[0])

    @property
    def free_now(self) -> int:
        """How many processors are free in the first slice."""
        return int(self._counts[0])

    def advance(self, now: float) -> None:
        """Forget what was before now."""
        self._size = slices.advance(self._times, self._counts, self._rows, self._size, now)
        self._forget()

    def find_earliest(
        self, processors: int, duration: float, choose: Choose | None = None, since: float = -np.inf
    ) -> tuple[float, Ranges | None]:
        """Return the earliest start of a job that delays no reservation, and its processors.

        Parameters
        ----------
        processors, duration
            How many processors the job needs, no more than the platform has, and for how long.
        choose
            Chooses processors from those free all the time; where it refuses, the job starts
            later. It must find some on an empty platform. Needs a profile by processors.
        since
            The begin of a slice before which it is known that the job cannot start.

        Returns
        -------
        start
            Seconds.
        processors
            (ranges, 2) what was chosen, or None in a profile that counts.
        """
        profile = self._times, self._counts, self._rows, self._words, self._size
        found = self._earliest.get((processors, choose))
        if found is not None and found[0] <= duration:
            since = max(since, found[1])
        first = int(np.searchsorted(self._times[: self._size], since))
        if not self.by_processors:
            first = slices.find_start_by_count(*profile, first, processors, duration, self.window)
            return self._note_earliest(first, processors, duration, choose), None
        self._forget()  # the work space is used
        self._refused[:] = 0
        sets = self.window, self._back, self._intersections, self._refused
        state = first, first, first
        while True:
            state = slices.find_start_by_set(*profile, *sets, *state, processors, duration)
            suits, chosen = self.choose_in_window(processors, choose)
            if suits:
                return self._note_earliest(state[0], processors, duration, choose), chosen
            self._refused[:] = self.window
            first, middle, last = state
            first += 1
            state = (first, middle, last) if first <= middle else (first, first, first)

    def _note_earliest(
        self, first: int, processors: int, duration: float, choose: Choose | None
    ) -> float:
        """Return the begin of a slice, which is the earliest start of a job, and remember it."""
        start = float(self._times[first])
        self._earliest[processors, choose] = duration, start
        return start

    def fits_now(
        self, processors: int, duration: float, choose: Choose | None = None
    ) -> tuple[bool, Ranges | None]:
        """Return whether a job can start at the profile's begin, and on which processors.

        See `AvailabilityProfile.find_earliest`.
        """
        profile = self._times, self._counts, self._rows, self._words, self._size
        if slices.find_blocking_slice(*profile, 0, processors, duration, self.window) >= 0:
            return False, None
        return self.choose_in_window(processors, choose)

    def fit_now(self, processors: Counts, durations: Times) -> NDArray[np.bool_]:
        """Return (jobs,) which of some jobs find processors free if they start now, each alone.

        Parameters
        ----------
        processors, durations
            (jobs,) what they need, and for how long.
        """
        min_count = processors.min(initial=self.processors)
        free = slices.count_free_until(self._counts, self._rows, self._words, self._size, min_count)
        ends = np.searchsorted(self._times[: self._size], self._times[0] + durations)
        fits: NDArray[np.bool_] = processors <= free[np.maximum(ends - 1, 0)]
        return fits

    def reserve(
        self, start: float, end: float, processors: int, which: Ranges | None = None
    ) -> None:
        """Reserve free processors in [start, end).

        Parameters
        ----------
        start, end
            Seconds.
        processors
            How many.
        which
            (ranges, 2) which ones; None in a profile that counts.
        """
        self._change(start, end, -processors, which)

    def release(
        self, start: float, end: float, processors: int, which: Ranges | None = None
    ) -> None:
        """Release reserved processors in [start, end). See `AvailabilityProfile.reserve`."""
        self._earliest.clear()
        self._change(start, end, processors, which)

    def next_improvable(
        self, begin: int, processors: Counts, durations: Times, starts: Times
    ) -> int:
        """Return the next of some reserved jobs that may be able to start earlier, or their number.

        A job that is passed over cannot; one that is returned can in a profile that counts.

        Parameters
        ----------
        begin
            The job to begin with.
        processors, durations, starts
            (jobs,) what the jobs need, for how long, and when they are reserved.
        """
        profile = self._times, self._counts, self._size
        return int(
            compress_by_count.next_improvable(*profile, begin, processors, durations, starts)
        )

    def compress(self, processors: Counts, durations: Times, starts: Times) -> None:
        """Move reserved jobs, one after the other, to their earliest start; never to a later one.

        Needs a profile that counts.

        Parameters
        ----------
        processors, durations
            (jobs,) what the jobs need, and for how long.
        starts
            (jobs,) when they are reserved; the new starts are written here.
        """
        job = 0
        self._earliest.clear()
        while job < len(starts):
            self._grow()
            profile = self._times, self._counts, self._rows, self._words, self._size, NONE
            job, self._size = compress_by_count.compress(
                *profile, job, processors, durations, starts
            )

    def next_improvable_by_set(
        self,
        begin: int,
        processors: Counts,
        durations: Times,
        starts: Times,
        rows: Counts,
        reserved: Words,
        deficit: Counts,
    ) -> tuple[int, float]:
        """Return the next of some reserved jobs that finds the same processors free earlier.

        Parameters
        ----------
        begin, processors, durations, starts
            As for `next_improvable`.
        rows, reserved
            As for `next_startable`.
        deficit
            (jobs,) lower bound on the processors that must be freed before a job can start earlier.
            Jobs with a deficit are passed over; the deficit of the others that are passed over is
            written here.

        Returns
        -------
        job
            Its index, or the number of jobs.
        start
            The earliest time at which it finds them; another may suit it better.
        """
        profile = self._times, self._counts, self._rows, self._words, self._size, self.window
        jobs = processors, durations, starts, rows, reserved, deficit
        job, first = compress_by_set.next_improvable(*profile, self._intersections, begin, *jobs)
        self._forget()  # the work space was used
        return int(job), float(self._times[first])

    def lower_deficits(
        self,
        start: float,
        end: float,
        which: Ranges,
        durations: Times,
        starts: Times,
        rows: Counts,
        reserved: Words,
        deficit: Counts,
    ) -> None:
        """Lower the deficits of reserved jobs, as processors were released in [start, end).

        Parameters
        ----------
        start, end, which
            When, and which processors; some may be reserved again.
        durations, starts, rows, reserved, deficit
            As for `next_improvable_by_set`.
        """
        profile = self._times, self._rows, self._words, self._size
        freed = np.zeros_like(self.window)
        self.write_set(freed, which)
        compress_by_set.lower_deficits(
            *profile, start, end, freed, durations, starts, rows, reserved, deficit
        )

    def next_startable(
        self,
        begin: int,
        processors: Counts,
        durations: Times,
        starts: Times,
        rows: Counts,
        reserved: Words,
        refused: Words,
    ) -> int:
        """Return the next of some reserved jobs that can start now, or their number.

        The `window` then has what is free for it all the time.

        Parameters
        ----------
        begin, processors, durations, starts
            As for `next_improvable`.
        rows, reserved, refused
            (jobs,) and (..., words) row ``rows[i]`` of `reserved` is the set that job i has
            reserved, as `write_set` wrote it, and of `refused` a set that did not suit it: parts of
            that will not do either.
        """
        if not self._known:
            self._nonzero = np.flatnonzero(self._words[self._rows[0]])
        profile = self._times, self._counts, self._rows, self._words, self._size, self.window
        intersections = self._nonzero, self._intersections, self._free_counts, self._known
        known = *intersections, self._version, self._refusals
        jobs = processors, durations, starts, rows, reserved, refused
        job, self._window_end, self._known = compress_by_count.next_startable(
            *profile, *known, begin, *jobs
        )
        return int(job)

    def refuse(self, processors: int) -> None:
        """Remember that the window of `next_startable` suits no job of so many processors."""
        if self._window_end >= 0:
            self._refusals[processors] = self._version, self._window_end

    def insert_last_job(
        self,
        step: int,
        processors: Counts,
        durations: Times,
        starts: Times,
        latest: Times,
        weights: Times,
    ) -> Times:
        """Insert the last job where the weighted sum of start times is smallest.

        The other jobs are in the sequence of their starts. Those before its position keep theirs;
        it and those behind it are placed anew in this order, each at the earliest time. At a tie
        the fewest jobs are moved, and none if nothing is cheaper. Needs a profile that counts, and
        leaves it as it is.

        Parameters
        ----------
        step
            Distance between two positions that are tried; the first position is one.
        processors, durations, starts
            As for `next_improvable`.
        latest
            (jobs,) when they must start at the latest.
        weights
            (jobs,) what a second of each start costs.

        Returns
        -------
        ndarray
            (jobs,) all start times.
        """
        profile = self._times, self._counts, self._size
        return insertion.insert_last_job(
            *profile, step, processors, durations, starts, latest, weights
        )

    def choose_in_window(
        self, processors: int, choose: Choose | None
    ) -> tuple[bool, Ranges | None]:
        """Return whether a job can have processors of the `window`, and which.

        Parameters
        ----------
        processors
            How many the job needs; the window has as many.
        choose
            As for `find_earliest`.
        """
        if choose is None:
            return True, None
        chosen = choose(slices.to_ranges(self.window), processors)
        return chosen is not None, chosen

    def write_set(self, row: Words, ranges: Ranges) -> None:
        """Write a set of processors as words, one bit a processor.

        Parameters
        ----------
        row
            (words,) is overwritten.
        ranges
            (ranges, 2) the processors.
        """
        row[:] = 0
        slices.set_bits(row, ranges, True)

    @property
    def words(self) -> int:
        """How many words a set of processors takes; none in a profile that counts."""
        return len(self.window)

    def _change(self, start: float, end: float, change: int, which: Ranges | None) -> None:
        self._grow()
        profile = self._times, self._counts, self._rows, self._words, self._size
        processors = NONE if which is None else which
        self._size = slices.change(*profile, start, end, change, processors)
        self._forget()

    def _forget(self) -> None:
        """Forget what `next_startable` knows of the profile."""
        self._version += 1
        self._known = 0

    def _grow(self) -> None:
        """Make the arrays long enough for a release and a reservation."""
        capacity = len(self._times)
        if self._size + slices.MAX_NEW_SLICES <= capacity:
            return
        self._times = np.concatenate((self._times, np.zeros(capacity)))
        self._counts = np.concatenate((self._counts, np.zeros(capacity, np.int64)))
        self._rows = np.concatenate((self._rows, np.arange(capacity, 2 * capacity)))
        self._words = np.concatenate((self._words, np.zeros_like(self._words)))
        self._intersections = np.zeros_like(self._words)
        self._free_counts = np.zeros(2 * capacity, np.int64)
        self._forget()
