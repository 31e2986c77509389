"""Availability profiles as arrays: compiled functions that change and search them.

A profile is a step function of time. Slice k begins at ``times[k]``, ends where slice k + 1
begins, and has ``counts[k]`` free processors; the last slice never ends::

    free 8 |                   .-----------    slice    0     1     2
         5 |        .----------'               times  [ 0,   40,   90]
         3 |--------'                          counts [ 3,    5,    8]
           +--------|----------|-----> time    rows   [ 2,    0,    1]
           0       40         90

Row ``rows[k]`` of `words` says which processors are free in slice k: bit p % 64 of word p // 64
is processor p. A profile that only counts has rows of no words. Slices are inserted and deleted
often, and rows are long: so `rows` is a permutation, and only its entries move. Entries from
`size` on are the rows that are not in use.
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
"""What a slice has besides its count: words, or the numbers of several partitions."""

WORD_BITS = 64

MAX_NEW_SLICES = 4
"""Slices that a release and the next reservation may add together: two for each."""


@kernel
def advance(times: Times, counts: Counts, rows: Counts, size: int, now: float) -> int:
    """Drop the slices that end by now, let the first begin now, and return how many are left.

    Parameters
    ----------
    times, counts, rows, size
        The profile; it is changed.
    now
        Seconds.
    """
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
    """Return the slice that begins at a time, made if need be, and how many slices there are.

    The time must not be before the first slice.

    Parameters
    ----------
    times, counts, rows, words, size
        The profile.
    time
        Seconds.
    """
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    if low < size and times[low] == time:
        return low, size
    # The new slice is a copy of the one before it: |---- k-1 ----|  ->  |- k-1 -|-- k --|
    row = rows[size]
    for k in range(size, low, -1):
        times[k], counts[k], rows[k] = times[k - 1], counts[k - 1], rows[k - 1]
    times[low], counts[low], rows[low] = time, counts[low - 1], row
    words[row] = words[rows[low - 1]]
    return low, size + 1


@kernel
def join(times: Times, counts: Counts, rows: Counts, words: Rows, size: int, index: int) -> int:
    """Join a slice to the one before it if the same is free in both; return the number left.

    Parameters
    ----------
    times, counts, rows, words, size
        The profile.
    index
        The slice; nothing happens if it is the first one, or behind the last.
    """
    if index == 0 or index >= size or counts[index] != counts[index - 1]:
        return size
    row = rows[index]
    for word in range(words.shape[1]):
        if words[row, word] != words[rows[index - 1], word]:
            return size
    for k in range(index, size - 1):
        times[k], counts[k], rows[k] = times[k + 1], counts[k + 1], rows[k + 1]
    rows[size - 1] = row
    return size - 1


@kernel
def set_bits(row: Words, ranges: Ranges, free: bool) -> None:
    """Set the bits of some processors (free) or clear them.

    Parameters
    ----------
    row
        (words,) it is changed.
    ranges
        (ranges, 2) the processors.
    free
        Set their bits, or clear them.
    """
    for k in range(len(ranges)):
        first, stop = ranges[k, 0], ranges[k, 1]
        while first < stop:
            # One word at a time: `bits` ones, shifted to the first processor's bit.
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
    """Reserve (`change` below 0) or release processors in [start, end); return the new size.

    Parameters
    ----------
    times, counts, rows, words, size
        The profile.
    start, end
        Seconds; nothing happens if the interval is empty.
    change
        How many processors become free; below 0, how many are reserved.
    ranges
        (ranges, 2) which ones; not used in a profile that only counts.
    """
    if end <= start:
        return size
    # Only the slices of the interval change. Afterwards just its two ends can have become equal
    # to their neighbours; inside, all slices change by the same.
    #
    #        start            end
    #    --.   |---.            |
    #      '---|   '---.   .----|---       before
    #          |        '--'    |
    #    --.   .---.            |
    #      '---'   '---.   .----.---       after a release of one processor
    #                   '--'    '
    first, size = split(times, counts, rows, words, size, start)
    stop, size = split(times, counts, rows, words, size, end)
    for k in range(first, stop):
        counts[k] += change
        if words.shape[1]:
            set_bits(words[rows[k]], ranges, change > 0)
    size = join(times, counts, rows, words, size, stop)
    return join(times, counts, rows, words, size, first)


@kernel
def find_blocking_slice(
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
    """Return the slice that keeps a job from starting with slice `first`, or -1.

    Parameters
    ----------
    times, counts, rows, words, size
        The profile.
    first
        The slice at whose begin the job would start.
    processors, duration
        What the job needs.
    window
        (words,) if the result is -1: the processors that are free throughout the job.
    """
    end = times[first] + duration
    last = first
    if counts[first] < processors:
        return first
    while last + 1 < size and times[last + 1] < end:
        last += 1
        if counts[last] < processors:
            return last
    if len(window):
        # Invariant: the window has the processors that are free in all of slices first to k.
        window[:] = words[rows[first]]
        for k in range(first + 1, last + 1):
            if intersect(window, words[rows[k]]) < processors:
                return k
    return -1


@kernel
def find_start_by_count(
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
    """Return the first slice, from `first` on, at whose begin a job can start.

    The last slice always is one, as it never ends. Needs a profile that counts.

    Parameters
    ----------
    times, counts, rows, words, size
        The profile.
    first
        The slice at whose begin the job may start at the earliest.
    processors, duration
        What the job needs: no more processors than the platform has, and seconds.
    window
        (0,) no words.
    """
    while True:
        blocking = find_blocking_slice(
            times, counts, rows, words, size, first, processors, duration, window
        )
        if blocking < 0:
            return first
        first = blocking + 1


@kernel
def find_start_by_set(
    times: Times,
    counts: Counts,
    rows: Counts,
    words: Words,
    size: int,
    window: Words,
    back: Words,
    suffixes: Words,
    refused: Words,
    first: int,
    middle: int,
    last: int,
    processors: int,
    duration: float,
) -> tuple[int, int, int]:
    """Return the first slice, from `first` on, at whose begin a job finds processors that suit it.

    The last slice always is one, as it never ends.

    Parameters
    ----------
    times, counts, rows, words, size
        The profile.
    window
        (words,) becomes the processors that are free throughout the job.
    back, suffixes
        (words,), (slices, words) work space, which stays if the search goes on.
    refused
        (words,) a set that did not suit the job; parts of it will not do either.
    first, middle, last
        The slice at whose begin the job may start at the earliest, three times; or what was
        returned, to go on behind a slice at which the window was refused.
    processors, duration
        What the job needs: no more processors than the platform has, and seconds.

    Returns
    -------
    first
        The slice.
    middle, last
        Which intersections are known: see `find_common`.
    """
    while True:
        first, middle, last, _ = find_common(
            times,
            counts,
            rows,
            words,
            back,
            suffixes,
            first,
            middle,
            last,
            size,
            np.inf,
            processors,
            duration,
        )
        new = False
        for word in range(len(window)):
            bits = np.uint64(0xFFFFFFFFFFFFFFFF)
            if first < middle:
                bits &= suffixes[first, word]
            if middle < last:
                bits &= back[word]
            window[word] = bits
            new |= bits & ~refused[word] != 0
        if new:
            return first, middle, last
        first += 1
        if first > middle:
            middle = last = first


@kernel
def find_common(
    times: Times,
    counts: Counts,
    rows: Counts,
    words: Words,
    back: Words,
    suffixes: Words,
    first: int,
    middle: int,
    last: int,
    stop_slice: int,
    stop_time: float,
    need: int,
    duration: float,
) -> tuple[int, int, int, int]:
    """Find the first slice from which enough processors are free in common as long as a job runs.

    Return (first, middle, last, free); free >= need if found, else the largest common free count
    (< need).

    Parameters
    ----------
    times, counts, rows, words
        The profile.
    back, suffixes
        (words,), (slices, words) work space.
    first, middle, last
        The slice to begin with, and which intersections are known: see below. At first all three
        are the same.
    stop_slice, stop_time
        The slice where the search ends, and when the job must end at the latest.
    need, duration
        What the job needs.
    """
    max_free = 0
    # A queue of slices, of which the intersection is always known, as two stacks: a slice is added
    # behind and dropped in front without going through all others again.
    #
    #    slice   first           middle          last           stop        stop_slice
    #              |               |               |              |              |
    #              |---------------|---------------|--------------|--------------|
    #               suffixes[first]       back       not read yet    too far, or too few
    #
    # Invariants: slices first to stop - 1 have enough processors each; suffixes[k] has what is free
    # in all of slices k to middle - 1, for each k from first on; `back` has what is free in all of
    # slices middle to last - 1.
    stop = last
    while first < stop_slice and times[first] + duration <= stop_time:
        limit = times[first] + duration
        stop = max(stop, first)
        # A job of no time needs its processors at the begin of the slice.
        while stop < stop_slice and (stop == first or times[stop] < limit) and counts[stop] >= need:
            stop += 1
        if stop < stop_slice and (stop == first or times[stop] < limit):
            # Slice `stop` has too few by itself: no start up to it, begin anew behind it.
            max_free = max(max_free, counts[stop])
            first = last = middle = stop + 1
            continue
        if first == last:
            # The queue is empty. Fill the front stack at once, from the end of the job backwards:
            # where that fails, all starts before fail, too.
            middle = last = stop
            free, begin = intersect_backwards(rows, words, suffixes, first, stop, need)
            if free >= need:
                return first, middle, last, need
            max_free = max(max_free, free)
            # Keep what is known if it is at least half; else it is as quick to begin anew.
            if 2 * (begin - first) > last - first:
                middle = last = begin
            first = begin
            continue
        if last == stop:
            return first, middle, last, need  # all is read, and enough is free in common
        # Add slice `last`, then drop slices in front until enough is free in common.
        row = words[rows[last]]
        for word in range(len(back)):
            back[word] = row[word] & back[word] if last > middle else row[word]
        last += 1
        while first < middle:
            free = count_common(suffixes[first], back)
            if free >= need:
                break
            max_free = max(max_free, free)
            first += 1
        if first == middle and count_common(back, back) < need:
            first = last = middle = first + 1
    return first, middle, last, max_free


@kernel
def intersect_backwards(
    rows: Counts, words: Words, suffixes: Words, first: int, stop: int, need: int
) -> tuple[int, int]:
    """Write what is free in common from each slice up to `stop`, from the last slice backwards.

    It ends with a slice from which less than needed is free in common.

    Parameters
    ----------
    rows, words
        The profile.
    suffixes
        (slices, words) ``suffixes[k]`` becomes what is free in all of slices k to stop - 1.
    first, stop
        The slices, [first, stop).
    need
        Processors.

    Returns
    -------
    free
        How much is free in common from the last slice that was written.
    begin
        The first slice from which enough is.
    """
    free, begin = need, stop
    while begin > first:
        # suffixes[begin - 1] = slice begin - 1 & suffixes[begin]
        row, free = words[rows[begin - 1]], 0
        for word in range(len(row)):
            bits = row[word] & suffixes[begin, word] if begin < stop else row[word]
            suffixes[begin - 1, word] = bits
            free += popcount(bits)
        if free < need:
            break
        begin -= 1
    return free, begin


@kernel
def count_free_until(
    counts: Counts, rows: Counts, words: Words, size: int, min_count: int
) -> Counts:
    """Return (slices,) how many processors are free from now to the end of each slice.

    Numbers below `min_count` may be too small.

    Parameters
    ----------
    counts, rows, words, size
        The profile.
    min_count
        Numbers below it are not needed.
    """
    free = np.zeros(size, np.int64)
    window = words[rows[0]].copy()
    free[0] = counts[0]
    for k in range(1, size):
        # No more than the lowest count so far; that is cheaper than to intersect.
        free[k] = min(free[k - 1], counts[k])
        if free[k] >= min_count and len(window):
            free[k] = intersect(window, words[rows[k]])
        if free[k] < min_count:
            break
    return free


@kernel
def intersect(window: Words, row: Words) -> int:
    """Leave in a window the bits that are also in a row, and return how many these are.

    Parameters
    ----------
    window
        (words,) it is changed.
    row
        (words,) the row.
    """
    total = 0
    for word in range(len(window)):
        window[word] &= row[word]
        total += popcount(window[word])
    return total


@kernel
def count_common(one: Words, other: Words) -> int:
    """Return how many bits two rows have in common.

    Parameters
    ----------
    one, other
        (words,) the rows.
    """
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
    # The product adds all eight bytes up in the highest one.
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def count_low_ones(word: np.uint64) -> int:
    """Return how many bits of a word are set from the lowest one on, up to the first that is not.

    Parameters
    ----------
    word
        The word.
    """
    return popcount(word & ~(word + np.uint64(1)))


@kernel
def to_ranges(window: Words) -> Ranges:
    """Return the (ranges, 2) of processors whose bits are set in a row of words."""
    # At most every second bit begins a range.
    ranges = np.empty((32 * len(window), 2), np.int64)
    size = 0
    inside = False  # whether the last range goes on
    for word in range(len(window)):
        bits = window[word]
        if bits == np.uint64(0):
            if inside:
                ranges[size - 1, 1] = 64 * word
                inside = False
            continue
        if bits == np.uint64(0xFFFFFFFFFFFFFFFF):
            if not inside:
                ranges[size, 0] = 64 * word
                size += 1
                inside = True
            continue
        # From run to run of equal bits; those before `bit` are shifted out.
        bit = 0
        while bits or inside:
            bit_run = count_low_ones(bits if inside else ~bits)
            bit += bit_run
            if bit >= 64:
                break
            if inside:
                ranges[size - 1, 1] = 64 * word + bit
            else:
                ranges[size, 0] = 64 * word + bit
                size += 1
            inside = not inside
            bits >>= np.uint64(bit_run)
    if inside:
        ranges[size - 1, 1] = 64 * len(window)
    return ranges[:size].copy()
