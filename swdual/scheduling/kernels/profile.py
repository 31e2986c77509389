"""The slices of an availability profile, as arrays, and what is compiled to change and search them.

Slice k begins at ``times[k]`` and has ``counts[k]`` free processors; row ``rows[k]`` of the words
says which, one bit a processor. The rows behind the last slice are those that no slice has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.jit import kernel
from swdual.scheduling.processors import Ranges

Times = NDArray[np.float64]
Counts = NDArray[np.int64]
Words = NDArray[np.uint64]
Rows = NDArray[Any]
"""What a slice has besides its count: words, or some other numbers."""

WORD = 64

ROOM = 4
"""How many slices more there may be for a moment: two for each part of time that changes."""


@kernel
def advance(times: Times, counts: Counts, rows: Counts, size: int, now: float) -> int:
    """Drop the slices that end by now, let the first begin now, and return how many are left."""
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
def split(
    times: Times, counts: Counts, rows: Counts, words: Rows, size: int, time: float
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
def join(times: Times, counts: Counts, rows: Counts, words: Rows, size: int, place: int) -> int:
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
def write(row: Words, ranges: Ranges, free: bool) -> None:
    """Set or clear the bits of some processors."""
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
def change(
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
    """Let so many processors, and these, be free or taken in [start, end); return the size."""
    if end <= start:
        return size
    first, size = split(times, counts, rows, words, size, start)
    stop, size = split(times, counts, rows, words, size, end)
    for k in range(first, stop):
        counts[k] += change
        if words.shape[1]:
            write(words[rows[k]], ranges, change > 0)
    size = join(times, counts, rows, words, size, stop)
    return join(times, counts, rows, words, size, first)


@kernel
def blocked(
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
    """Return the slice up to which too little is free, or -1 and what is free all the time."""
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
            if intersect(window, words[rows[k]]) < processors:
                return k
    return -1


@kernel
def search(
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
        against = blocked(
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
        if against < 0:
            return first
        # Later starts run through that slice too; they fail as long as they run through so many
        # slices before it that too little is free in all.
        first = against
        if counts[against] < processors:
            first += 1
        else:
            window[:] = words[rows[against]]
            while intersect(window, words[rows[first - 1]]) >= processors:
                first -= 1


@kernel
def together(counts: Counts, rows: Counts, words: Words, size: int, least: int) -> Counts:
    """Return (slices,) how many processors are free from the first slice to the end of each.

    Numbers below `least` may be too small.
    """
    free = np.zeros(size, np.int64)
    window = words[rows[0]].copy()
    free[0] = counts[0]
    for k in range(1, size):
        free[k] = min(free[k - 1], counts[k])
        if free[k] >= least and len(window):
            free[k] = intersect(window, words[rows[k]])
        if free[k] < least:
            break
    return free


@kernel
def intersect(window: Words, row: Words) -> int:
    """Leave in a window what is also in a row, and return how many bits that is."""
    total = 0
    for word in range(len(window)):
        window[word] &= row[word]
        total += popcount(window[word])
    return total


@kernel
def common(one: Words, other: Words) -> int:
    """Return how many bits two rows have in common."""
    total = 0
    for word in range(len(one)):
        total += popcount(one[word] & other[word])
    return total


@kernel
def popcount(word: np.uint64) -> int:
    """Return how many bits of a word are set: sums of 2, 4 and 8 bits, then of the bytes."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def ranges(window: Words) -> Ranges:
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
