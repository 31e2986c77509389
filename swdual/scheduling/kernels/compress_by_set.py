"""Which reserved jobs find the same processors free sooner: what is compiled for it.

A job lacks so many processors at least, in any part of time that is long enough and begins before
its reservation. What is freed lowers that; who seems to lack none is looked at.
"""

from __future__ import annotations

import numpy as np

from swdual.runtime.jit import kernel
from swdual.scheduling.kernels.profile import Counts, Times, Words, common, intersect, popcount


@kernel
def relieve(
    times: Times,
    rows: Counts,
    words: Words,
    size: int,
    start: float,
    end: float,
    freed: Words,
    durations: Times,
    starts: Times,
    held_rows: Counts,
    held: Words,
    lacks: Counts,
) -> None:
    """Lower what reserved jobs lack by the processors that were freed in [start, end).

    A job still lacks as many as before if it could not run on any of these before its reservation.
    """
    some = np.flatnonzero(freed)
    all_freed = freed[some]
    left = all_freed.copy()
    number = intersect(left, left)
    # As long as one and the same of them is free: from the begin of a slice to that of another.
    begins, ends = np.empty(size), np.empty(size)
    spans = 0
    last = np.searchsorted(times[:size], start, side="right") - 1
    while last < size:
        first = last + 1
        left[:] = all_freed
        while first > 0 and narrow(left, words[rows[first - 1]], some):
            first -= 1
        if first == size or times[first] >= end:
            break
        left[:] = all_freed
        last = first
        while last < size and narrow(left, words[rows[last]], some):
            last += 1
        if last > first:
            begins[spans] = times[first]
            ends[spans] = times[last] if last < size else np.inf
            spans += 1
    relieved = np.zeros(len(starts), np.bool_)
    for k in range(spans):
        begin, end = begins[k], ends[k]
        for job in range(len(starts)):
            relieved[job] |= (begin < starts[job]) & (end >= begin + durations[job])
    for k in range(spans):
        begin, end = begins[k], ends[k]
        for job in range(len(starts)):
            # One that the job holds needs to be free up to the reservation only.
            if begin < starts[job] <= end and not relieved[job]:
                relieved[job] = meet(freed, held[held_rows[job]], some)
    for job in range(len(starts)):
        lacks[job] -= number * relieved[job]


@kernel
def narrow(left: Words, row: Words, some: Counts) -> bool:
    """Leave of some words what is also in a row, and return whether that is any."""
    found = np.uint64(0)
    for k in range(len(some)):
        left[k] &= row[some[k]]
        found |= left[k]
    return bool(found)


@kernel
def meet(one: Words, other: Words, some: Counts) -> bool:
    """Return whether two rows have anything in common in some words."""
    found = np.uint64(0)
    for word in some:
        found |= one[word] & other[word]
    return bool(found)


@kernel
def sooner(
    times: Times,
    counts: Counts,
    rows: Counts,
    words: Words,
    size: int,
    window: Words,
    behind: Words,
    begin: int,
    processors: Counts,
    durations: Times,
    starts: Times,
    held_rows: Counts,
    held: Words,
    lacks: Counts,
) -> tuple[int, int]:
    """Return the next job that finds processors free earlier, and the slice where it can start.

    For jobs that seemed to lack none, and do, it is written how many they lack.
    """
    # The last such job: before its start at most so many are free together for so long.
    failed, known = -1, 0
    for job in range(begin, len(starts)):
        if lacks[job] > 0:
            continue
        need, duration, start = processors[job], durations[job], starts[job]
        own = np.searchsorted(times[:size], start)
        first = most = 0
        if failed >= 0 and need >= processors[failed] and duration >= durations[failed]:
            first, most = np.searchsorted(times[:size], starts[failed]), known
        first, free = before(
            times, counts, rows, words, window, behind, first, own, start, need, duration
        )
        if free < need:
            most = max(most, free)
            mine = held[held_rows[job]]
            first, free = into(
                times, rows, words, size, window, behind, own, start, need, duration, mine
            )
        if free >= need:
            return job, first
        most = max(most, free)
        lacks[job] = need - most
        failed, known = job, most
    return len(starts), 0


@kernel
def before(
    times: Times,
    counts: Counts,
    rows: Counts,
    words: Words,
    window: Words,
    behind: Words,
    first: int,
    own: int,
    start: float,
    need: int,
    duration: float,
) -> tuple[int, int]:
    """Return the first slice from one on where a job can run before its reservation begins.

    And what it needs; if there is none, less: the most processors that are free together from any.
    """
    most = 0
    # The window is what is free from the middle to `last`; `behind` has what is free from each
    # slice before the middle up to there.
    last = middle = stop = first
    while first < own and times[first] + duration <= start:
        limit = times[first] + duration
        stop = max(stop, first)
        while stop < own and times[stop] < limit and counts[stop] >= need:
            stop += 1
        if stop < own and times[stop] < limit:
            most = max(most, counts[stop])
            first = last = middle = stop + 1
            continue
        if first == last:
            # Nothing is known: look back from the end.
            middle = last = stop
            free, begin = look_back(rows, words, behind, first, stop, need)
            if free >= need:
                return first, need
            most = max(most, free)
            # What is known is kept where that is most of it.
            if 2 * (begin - first) > last - first:
                middle = last = begin
            first = begin
            continue
        if last == stop:
            return first, need
        row = words[rows[last]]
        for word in range(len(window)):
            window[word] = row[word] & window[word] if last > middle else row[word]
        last += 1
        while first < middle:
            together = common(behind[first], window)
            if together >= need:
                break
            most = max(most, together)
            first += 1
        if first == middle and common(window, window) < need:
            first = last = middle = first + 1
    return first, most


@kernel
def into(
    times: Times,
    rows: Counts,
    words: Words,
    size: int,
    window: Words,
    behind: Words,
    own: int,
    start: float,
    need: int,
    duration: float,
    mine: Words,
) -> tuple[int, int]:
    """Return the first slice where a job can start and run into its reservation, as `before`.

    From `start`, that is slice `own`, on it finds, besides what is free all the time, its own.
    """
    first = own
    while first > 0 and times[first - 1] + duration > start:
        first -= 1
    if first == own:
        return own, 0
    free, first = look_back(rows, words, behind, first, own, need)
    most = free if free < need else 0
    window[:] = np.uint64(0xFFFFFFFFFFFFFFFF)
    last = own
    for begin in range(first, own):
        while last < size and times[last] < times[begin] + duration:
            row = words[rows[last]]
            last += 1
            # Later starts find no more than is free just before the reservation.
            free = 0
            for word in range(len(window)):
                window[word] &= row[word]
                free += popcount(behind[own - 1, word] & (window[word] | mine[word]))
            if free < need:
                return own, max(most, free)
        free = 0
        for word in range(len(window)):
            free += popcount(behind[begin, word] & (window[word] | mine[word]))
        if free >= need:
            return begin, free
        most = max(most, free)
    return own, most


@kernel
def look_back(
    rows: Counts, words: Words, behind: Words, first: int, stop: int, need: int
) -> tuple[int, int]:
    """Write what is free from each slice up to `stop`, from the last one down to the first.

    It ends at a slice from which less than needed is free. Returns how much is free from the last
    that it looked at, and the first from which enough is.
    """
    free, begin = need, stop
    while begin > first:
        row, free = words[rows[begin - 1]], 0
        for word in range(len(row)):
            bits = row[word] & behind[begin, word] if begin < stop else row[word]
            behind[begin - 1, word] = bits
            free += popcount(bits)
        if free < need:
            break
        begin -= 1
    return free, begin
