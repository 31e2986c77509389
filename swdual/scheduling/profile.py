"""What will be free, by requested times: slices of time, each with its free processors.

The textbook picture of backfilling (thesis, section 4.5.1, figure 4.6). A profile counts
processors, or knows which ones they are; then a job must find the same processors free in all
slices that it runs through.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from swdual.jit import kernel
from swdual.scheduling.processors import Ranges, whole

Times = NDArray[np.float64]
Counts = NDArray[np.int64]
Words = NDArray[np.uint64]

Choose = Callable[[Ranges, int], Ranges | None]
"""Picks some of the free processors, or refuses them."""

WORD = 64

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
        words = -(-processors // WORD) if by_processors else 0
        capacity = 64
        self._size = 1
        self._times = np.full(capacity, -np.inf)
        self._counts = np.full(capacity, processors, np.int64)
        # A slice's row of words; what lies behind the size are the rows that no slice has.
        self._rows = np.arange(capacity)
        self._words = np.zeros((capacity, words), np.uint64)
        self.window = np.zeros(words, np.uint64)
        if by_processors:
            _set(self._words[0], whole(processors), True)

    @property
    def slices(self) -> list[tuple[float, int]]:
        """The begin of each slice, and how many processors are free in it."""
        return list(
            zip(
                self._times[: self._size].tolist(), self._counts[: self._size].tolist(), strict=True
            )
        )

    def advance(self, now: float) -> None:
        """Forget what was before now."""
        self._size = _advance(self._times, self._counts, self._rows, self._size, now)

    def earliest(
        self, processors: int, duration: float, choose: Choose | None = None
    ) -> tuple[float, Ranges | None]:
        """Return the earliest start of a job that nothing taken stands against.

        Parameters
        ----------
        processors, duration
            What the job needs, no more than the platform has, and for how long.
        choose
            Picks processors from those free all the time; where it refuses, the job starts
            later. It must find some on an empty platform. Needs a profile by processors.

        Returns
        -------
        start
            Seconds.
        processors
            (ranges, 2) what was picked, or None in a profile that counts.
        """
        first = 0
        while True:
            first = self._search(first, processors, duration)
            if choose is None:
                return float(self._times[first]), None
            chosen = choose(_ranges(self.window), processors)
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
        return int(_improvable(*profile, begin, processors, durations, starts))

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
        return int(_startable(*profile, begin, processors, durations, starts, rows, held, refused))

    def pick(self, processors: int, choose: Choose | None) -> tuple[bool, Ranges | None]:
        """Return whether a job can have processors of the window, and which."""
        if choose is None:
            return True, None
        chosen = choose(_ranges(self.window), processors)
        return chosen is not None, chosen

    def write(self, row: Words, ranges: Ranges) -> None:
        """Write a set of processors as words, one bit a processor."""
        row[:] = 0
        _set(row, ranges, True)

    @property
    def words(self) -> int:
        """How many words a set of processors takes; none in a profile that counts."""
        return len(self.window)

    def _search(self, first: int, processors: int, duration: float) -> int:
        return int(
            _search(
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
        blocked = _blocked(
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
        if end <= start:
            return
        if self._size + 2 > len(self._times):
            self._grow()
        self._size = _change(
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
        capacity = len(self._times)
        self._times = np.concatenate((self._times, np.zeros(capacity)))
        self._counts = np.concatenate((self._counts, np.zeros(capacity, np.int64)))
        self._rows = np.concatenate((self._rows, np.arange(capacity, 2 * capacity)))
        self._words = np.concatenate((self._words, np.zeros_like(self._words)))


@kernel
def _advance(times: Times, counts: Counts, rows: Counts, size: int, now: float) -> int:
    gone = 0
    while gone + 1 < size and times[gone + 1] <= now:
        gone += 1
    if gone:
        freed = rows[:gone].copy()
        for k in range(size - gone):
            times[k], counts[k], rows[k] = times[k + gone], counts[k + gone], rows[k + gone]
        rows[size - gone : size] = freed
    times[0] = max(times[0], now)
    return size - gone


@kernel
def _split(
    times: Times, counts: Counts, rows: Counts, words: Words, size: int, time: float
) -> tuple[int, int]:
    """Return the slice that begins at a time, made if need be, and how many slices there are."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    if low < size and times[low] == time:
        return low, size
    row = rows[size]
    for k in range(size, low, -1):
        times[k], counts[k], rows[k] = times[k - 1], counts[k - 1], rows[k - 1]
    times[low], counts[low], rows[low] = time, counts[low - 1], row
    words[row] = words[rows[low - 1]]
    return low, size + 1


@kernel
def _join(times: Times, counts: Counts, rows: Counts, words: Words, size: int, place: int) -> int:
    """Join a slice to the one before it if the same is free in both; return the number left."""
    if place == 0 or place >= size or counts[place] != counts[place - 1]:
        return size
    row = rows[place]
    for word in range(words.shape[1]):
        if words[row, word] != words[rows[place - 1], word]:
            return size
    for k in range(place, size - 1):
        times[k], counts[k], rows[k] = times[k + 1], counts[k + 1], rows[k + 1]
    rows[size - 1] = row
    return size - 1


@kernel
def _set(row: Words, ranges: Ranges, free: bool) -> None:
    for k in range(len(ranges)):
        first, stop = ranges[k, 0], ranges[k, 1]
        while first < stop:
            word, bit = first // 64, first % 64
            bits = min(64 - bit, stop - first)
            mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - bits) << np.uint64(bit)
            if free:
                row[word] |= mask
            else:
                row[word] &= ~mask
            first += bits


@kernel
def _change(
    times: Times,
    counts: Counts,
    rows: Counts,
    words: Words,
    size: int,
    start: float,
    end: float,
    change: int,
    ranges: Ranges,
) -> int:
    first, size = _split(times, counts, rows, words, size, start)
    stop, size = _split(times, counts, rows, words, size, end)
    for k in range(first, stop):
        counts[k] += change
        if words.shape[1]:
            _set(words[rows[k]], ranges, change > 0)
    size = _join(times, counts, rows, words, size, stop)
    return _join(times, counts, rows, words, size, first)


@kernel
def _blocked(
    times: Times,
    counts: Counts,
    rows: Counts,
    words: Words,
    size: int,
    first: int,
    processors: int,
    duration: float,
    window: Words,
) -> int:
    """Return the slice that stands against a start, or -1 and what is free all the time."""
    end = times[first] + duration
    last = first
    if counts[first] < processors:
        return first
    while last + 1 < size and times[last + 1] < end:
        last += 1
        if counts[last] < processors:
            return last
    if len(window):
        window[:] = words[rows[first]]
        for k in range(first + 1, last + 1):
            if _intersect(window, words[rows[k]]) < processors:
                return first
    return -1


@kernel
def _search(
    times: Times,
    counts: Counts,
    rows: Counts,
    words: Words,
    size: int,
    first: int,
    processors: int,
    duration: float,
    window: Words,
) -> int:
    """Return the first slice from one on at whose begin a job can start; the last always does."""
    while True:
        blocked = _blocked(
            times,
            counts,
            rows,
            words,
            size,
            first,
            processors,
            duration,
            window,
        )
        if blocked < 0:
            return first
        # No start up to a slice with too few can avoid it.
        first = blocked + 1


@kernel
def _improvable(
    times: Times,
    counts: Counts,
    size: int,
    begin: int,
    processors: Counts,
    durations: Times,
    starts: Times,
) -> int:
    for job in range(begin, len(starts)):
        # Within its own reservation it finds its processors, so only what comes before counts.
        since = times[0]
        for k in range(size):
            if times[k] >= starts[job]:
                if since < starts[job]:
                    return job
                break
            if times[k] >= since + durations[job]:
                return job
            if counts[k] < processors[job]:
                if k + 1 == size:
                    break
                since = times[k + 1]
        else:
            if since < starts[job]:
                return job
    return len(starts)


@kernel
def _startable(
    times: Times,
    counts: Counts,
    rows: Counts,
    words: Words,
    size: int,
    window: Words,
    begin: int,
    processors: Counts,
    durations: Times,
    starts: Times,
    held_rows: Counts,
    held: Words,
    refused: Words,
) -> int:
    # What is free from now to the end of each slice, found when the first job needs to know it.
    windows = np.empty((size, words.shape[1]), np.uint64)
    together = np.empty(size, np.int64)
    windows[0] = words[rows[0]]
    together[0] = counts[0]
    known = 1
    for job in range(begin, len(starts)):
        if starts[job] <= times[0]:
            continue
        end = times[0] + durations[job]
        last = np.searchsorted(times[:size], end) - 1
        own = np.searchsorted(times[:size], min(end, starts[job]))
        while known <= last and together[known - 1] > 0:
            if words.shape[1]:
                windows[known] = windows[known - 1]
                together[known] = _intersect(windows[known], words[rows[known]])
            else:
                together[known] = min(together[known - 1], counts[known])
            known += 1
        if own > known or together[own - 1] < processors[job]:
            continue
        if words.shape[1] == 0:
            return job
        # From its own reservation on it finds, besides what is free all the time, its own.
        before, mine, unsuited = windows[own - 1], held[held_rows[job]], refused[held_rows[job]]
        free = 0
        new = False
        for word in range(len(window)):
            window[word] = windows[last, word] if last < known else np.uint64(0)
            if own <= last:
                window[word] |= before[word] & mine[word]
            free += _bits(window[word])
            new |= window[word] & ~unsuited[word] != 0
        if new and free >= processors[job]:
            return job
    return len(starts)


@kernel
def _intersect(window: Words, row: Words) -> int:
    """Leave in a window what is also in a row, and return how many bits that is."""
    total = 0
    for word in range(len(window)):
        window[word] &= row[word]
        total += _bits(window[word])
    return total


@kernel
def _bits(word: np.uint64) -> int:
    """Return how many bits of a word are set: sums of 2, 4 and 8 bits, then of the bytes."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _ranges(window: Words) -> Ranges:
    """Return the ranges of a row of words."""
    found = np.empty((32 * len(window), 2), np.int64)
    size = 0
    inside = False
    for word in range(len(window)):
        bits = window[word]
        if bits == np.uint64(0):
            if inside:
                found[size - 1, 1] = 64 * word
                inside = False
            continue
        if bits == np.uint64(0xFFFFFFFFFFFFFFFF):
            if not inside:
                found[size, 0] = 64 * word
                size += 1
                inside = True
            continue
        for bit in range(64):
            free = (bits >> np.uint64(bit)) & np.uint64(1) == np.uint64(1)
            if free and not inside:
                found[size, 0] = 64 * word + bit
                size += 1
            if inside and not free:
                found[size - 1, 1] = 64 * word + bit
            inside = free
    if inside:
        found[size - 1, 1] = 64 * len(window)
    return found[:size].copy()
