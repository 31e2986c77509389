"""What will be free, by requested times: slices of time, each with its free processors.

The textbook picture of backfilling (thesis, section 4.5.1, figure 4.6). A profile counts
processors, or knows which ones they are; then a job must find the same processors free in all
slices that it runs through.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from swdual.scheduling.kernels import compress_by_count as earlier
from swdual.scheduling.kernels import compress_by_set as sooner
from swdual.scheduling.kernels import profile as slices
from swdual.scheduling.kernels.insertion import cheapest
from swdual.scheduling.kernels.profile import Counts, Times, Words
from swdual.scheduling.processors import Ranges, whole

Choose = Callable[[Ranges, int], Ranges | None]
"""Picks some of the free processors, or refuses them."""

NONE = np.zeros((0, 2), np.int64)


class AvailabilityProfile:
    """The free processors of a platform from now on; the last slice never ends.

    Parameters
    ----------
    processors
        How many the platform has; all are free.
    by_processors
        Know which ones are free, not only how many; else what is said about that is ignored.
    """

    def __init__(self, processors: int, *, by_processors: bool = False) -> None:
        self.processors = processors
        self.by_processors = by_processors
        words = -(-processors // slices.WORD) if by_processors else 0
        capacity = 64
        self._size = 1
        self._times = np.full(capacity, -np.inf)
        self._counts = np.full(capacity, processors, np.int64)
        # A slice's row of words; what lies behind the size are the rows that no slice has.
        self._rows = np.arange(capacity)
        self._words = np.zeros((capacity, words), np.uint64)
        self._behind = np.zeros_like(self._words)
        self.window = np.zeros(words, np.uint64)
        if by_processors:
            slices.write(self._words[0], whole(processors), True)

    @property
    def steps(self) -> list[tuple[float, int]]:
        """The begin of each slice, and how many processors are free in it."""
        return list(
            zip(
                self._times[: self._size].tolist(), self._counts[: self._size].tolist(), strict=True
            )
        )

    def advance(self, now: float) -> None:
        """Forget what was before now."""
        self._size = slices.advance(self._times, self._counts, self._rows, self._size, now)

    def earliest(
        self,
        processors: int,
        duration: float,
        choose: Choose | None = None,
        since: float = -np.inf,
    ) -> tuple[float, Ranges | None]:
        """Return the earliest start of a job that nothing taken stands against.

        Parameters
        ----------
        processors, duration
            What the job needs, no more than the platform has, and for how long.
        choose
            Picks processors from those free all the time; where it refuses, the job starts
            later. It must find some on an empty platform. Needs a profile by processors.
        since
            The begin of a slice before which it is known that the job cannot start.

        Returns
        -------
        start
            Seconds.
        processors
            (ranges, 2) what was picked, or None in a profile that counts.
        """
        first = int(np.searchsorted(self._times[: self._size], since))
        while True:
            first = self._search(first, processors, duration)
            if choose is None:
                return float(self._times[first]), None
            chosen = choose(slices.ranges(self.window), processors)
            if chosen is not None:
                return float(self._times[first]), chosen
            first += 1

    def fits_now(
        self, processors: int, duration: float, choose: Choose | None = None
    ) -> tuple[bool, Ranges | None]:
        """Return whether a job can start at the profile's begin, and on which processors."""
        if not self._fits(processors, duration):
            return False, None
        return self.pick(processors, choose)

    def fitting(self, processors: Counts, durations: Times) -> NDArray[np.bool_]:
        """Return (jobs,) which of some jobs find processors free if they start now, each alone.

        Parameters
        ----------
        processors, durations
            (jobs,) what they need, and for how long.
        """
        least = processors.min(initial=self.processors)
        free = slices.together(self._counts, self._rows, self._words, self._size, least)
        ends = np.searchsorted(self._times[: self._size], self._times[0] + durations)
        fits: NDArray[np.bool_] = processors <= free[np.maximum(ends - 1, 0)]
        return fits

    def take(self, start: float, end: float, processors: int, which: Ranges | None = None) -> None:
        """Take processors, which are free, out of [start, end)."""
        self._change(start, end, -processors, which)

    def give(self, start: float, end: float, processors: int, which: Ranges | None = None) -> None:
        """Give back processors, which were taken, in [start, end)."""
        self._change(start, end, processors, which)

    def improvable(self, begin: int, processors: Counts, durations: Times, starts: Times) -> int:
        """Return the next of some reserved jobs that may be able to start earlier, or their number.

        A job that is passed over cannot; one that is returned can in a profile that counts.

        Parameters
        ----------
        begin
            The job to begin with.
        processors, durations, starts
            (jobs,) what the jobs need, for how long, and where they are taken out at present.
        """
        profile = self._times, self._counts, self._size
        return int(earlier.improvable(*profile, begin, processors, durations, starts))

    def compress(self, processors: Counts, durations: Times, starts: Times) -> None:
        """Move reserved jobs, one after the other, to their earliest start; never to a later one.

        Needs a profile that counts.

        Parameters
        ----------
        processors, durations
            (jobs,) what the jobs need, and for how long.
        starts
            (jobs,) where they are taken out; the new starts are written here.
        """
        job = 0
        while job < len(starts):
            self._grow()
            profile = self._times, self._counts, self._rows, self._words, self._size, NONE
            job, self._size = earlier.compress(*profile, job, processors, durations, starts)

    def sooner(
        self,
        begin: int,
        processors: Counts,
        durations: Times,
        starts: Times,
        rows: Counts,
        held: Words,
        lacks: Counts,
    ) -> tuple[int, float]:
        """Return the next of some reserved jobs that finds the same processors free earlier.

        Parameters
        ----------
        begin, processors, durations, starts
            As for `improvable`.
        rows, held
            As for `startable`.
        lacks
            (jobs,) so many processors at least must be freed before a job can start earlier. Jobs
            that lack any are passed over; what others that are passed over lack is written here.

        Returns
        -------
        job
            Its index, or the number of jobs.
        start
            The earliest time at which it finds them; another may suit it better.
        """
        profile = self._times, self._counts, self._rows, self._words, self._size, self.window
        job, first = sooner.sooner(
            *profile, self._behind, begin, processors, durations, starts, rows, held, lacks
        )
        return int(job), float(self._times[first])

    def relieve(
        self,
        start: float,
        end: float,
        which: Ranges,
        durations: Times,
        starts: Times,
        rows: Counts,
        held: Words,
        lacks: Counts,
    ) -> None:
        """Lower what reserved jobs lack, as processors were given back in [start, end).

        Parameters
        ----------
        start, end, which
            When, and which processors; some may be taken again.
        durations, starts, rows, held, lacks
            As for `sooner`.
        """
        profile = self._times, self._rows, self._words, self._size
        freed = np.zeros_like(self.window)
        self.write(freed, which)
        sooner.relieve(*profile, start, end, freed, durations, starts, rows, held, lacks)

    def startable(
        self,
        begin: int,
        processors: Counts,
        durations: Times,
        starts: Times,
        rows: Counts,
        held: Words,
        refused: Words,
    ) -> int:
        """Return the next of some reserved jobs that can start now, or their number.

        What is free for it all the time is then the `window`.

        Parameters
        ----------
        begin, processors, durations, starts
            As for `improvable`.
        rows, held, refused
            (jobs,) and (..., words) row ``rows[i]`` of `held` is what job i has taken out, as
            `write` wrote it, and of `refused` a set that did not suit it: parts of that will not
            do either.
        """
        profile = self._times, self._counts, self._rows, self._words, self._size, self.window
        return int(
            earlier.startable(*profile, begin, processors, durations, starts, rows, held, refused)
        )

    def cheapest(
        self,
        step: int,
        processors: Counts,
        durations: Times,
        starts: Times,
        latest: Times,
        weights: Times,
    ) -> Times:
        """Return the starts of some jobs after the last came to its cheapest place among them.

        The others are in the sequence of their starts. Those before the place keep theirs; the job
        and those behind the place are placed anew in this order, each at the earliest time. The
        price is the sum of all starts, each times its weight; at a tie fewest jobs are moved, and
        none if nothing is cheaper. Needs a profile that counts, and leaves it as it is.

        Parameters
        ----------
        step
            From one place that is tried to the next; the first place is one.
        processors, durations, starts
            As for `improvable`.
        latest
            (jobs,) when they must start at the latest.
        weights
            (jobs,) what a second of each costs.
        """
        profile = self._times, self._counts, self._size
        return cheapest(*profile, step, processors, durations, starts, latest, weights)

    def pick(self, processors: int, choose: Choose | None) -> tuple[bool, Ranges | None]:
        """Return whether a job can have processors of the window, and which."""
        if choose is None:
            return True, None
        chosen = choose(slices.ranges(self.window), processors)
        return chosen is not None, chosen

    def write(self, row: Words, ranges: Ranges) -> None:
        """Write a set of processors as words, one bit a processor."""
        row[:] = 0
        slices.write(row, ranges, True)

    @property
    def words(self) -> int:
        """How many words a set of processors takes; none in a profile that counts."""
        return len(self.window)

    def _search(self, first: int, processors: int, duration: float) -> int:
        return int(
            slices.search(
                self._times,
                self._counts,
                self._rows,
                self._words,
                self._size,
                first,
                processors,
                duration,
                self.window,
            )
        )

    def _fits(self, processors: int, duration: float) -> bool:
        blocked = slices.blocked(
            self._times,
            self._counts,
            self._rows,
            self._words,
            self._size,
            0,
            processors,
            duration,
            self.window,
        )
        return bool(blocked < 0)

    def _change(self, start: float, end: float, change: int, which: Ranges | None) -> None:
        self._grow()
        self._size = slices.change(
            self._times,
            self._counts,
            self._rows,
            self._words,
            self._size,
            start,
            end,
            change,
            NONE if which is None else which,
        )

    def _grow(self) -> None:
        """Have room for the slices of a job that is given back and taken again."""
        capacity = len(self._times)
        if self._size + slices.ROOM <= capacity:
            return
        self._times = np.concatenate((self._times, np.zeros(capacity)))
        self._counts = np.concatenate((self._counts, np.zeros(capacity, np.int64)))
        self._rows = np.concatenate((self._rows, np.arange(capacity, 2 * capacity)))
        self._words = np.concatenate((self._words, np.zeros_like(self._words)))
        self._behind = np.zeros_like(self._words)
