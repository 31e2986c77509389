"""Which of the jobs that are taken out of a profile could start earlier: what is compiled for it.

A job with a reservation finds, besides what is free, its own processors while it holds them. Only
starts before the reservation count, so that its windows end before the reservation does.
"""

from __future__ import annotations

import numpy as np

from swdual.jit import kernel
from swdual.scheduling._slices import (
    ROOM,
    Counts,
    Times,
    Words,
    change,
    common,
    intersect,
    popcount,
    search,
)
from swdual.scheduling.processors import Ranges


@kernel
def improvable(
    times: Times,
    counts: Counts,
    size: int,
    begin: int,
    processors: Counts,
    durations: Times,
    starts: Times,
) -> int:
    """Return the next job that finds enough processors free earlier than it has reserved them."""
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
def compress(
    times: Times,
    counts: Counts,
    rows: Counts,
    words: Words,
    size: int,
    none: Ranges,
    begin: int,
    processors: Counts,
    durations: Times,
    starts: Times,
) -> tuple[int, int]:
    """Move jobs to their earliest starts, in a profile that counts, as far as there is room.

    Returns the job to go on with, or the number of jobs, and the number of slices.
    """
    job = begin
    while size + ROOM <= len(times):
        job = improvable(times, counts, size, job, processors, durations, starts)
        if job == len(starts):
            break
        need, duration = processors[job], durations[job]
        end = starts[job] + duration
        size = change(times, counts, rows, words, size, starts[job], end, need, none)
        first = search(times, counts, rows, words, size, 0, need, duration, words[0])
        starts[job] = times[first]
        end = starts[job] + duration
        size = change(times, counts, rows, words, size, starts[job], end, -need, none)
        job += 1
    return job, size


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
        need, duration = processors[job], durations[job]
        own = np.searchsorted(times[:size], starts[job])
        # A window that runs into the reservation has all slices up to there: from `low` on these
        # have enough.
        low, most = own, 0
        window[:] = np.uint64(0xFFFFFFFFFFFFFFFF)
        while low > 0 and times[low - 1] + duration > starts[job]:
            free = intersect(window, words[rows[low - 1]])
            if free < need:
                most = free
                break
            low -= 1
        first = 0
        if failed >= 0 and need >= processors[failed] and duration >= durations[failed]:
            first = np.searchsorted(times[:size], starts[failed])
            most = max(most, known)
            if first > 0 and times[first - 1] + duration > starts[job]:
                # Into its reservation this job finds processors that the other did not.
                first = low
        first, free = before(
            *(times, counts, rows, words, size, window, behind),
            *(first, low, own, starts[job], need, duration, held[held_rows[job]]),
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
    size: int,
    window: Words,
    behind: Words,
    first: int,
    low: int,
    own: int,
    start: float,
    need: int,
    duration: float,
    mine: Words,
) -> tuple[int, int]:
    """Return the first slice where a job can start before its reservation, and what it needs.

    If there is none, the latter is less: the most processors that are free together from any. It
    holds its own from `start`, that is slice `own`, on. Windows that reach there begin at `low` or
    later.
    """
    most = 0
    # The window is what is free from the middle to `last`; `behind` has what is free from each
    # slice before the middle up to there.
    last = middle = counted = first
    while first < own:
        limit = times[first] + duration
        if first < low and limit > start:
            first = last = middle = low
            continue
        counted = max(counted, first)
        while counted < own and times[counted] < limit and counts[counted] >= need:
            counted += 1
        if counted < own and times[counted] < limit:
            most = max(most, counts[counted])
            first = last = middle = counted + 1
            continue
        if last == size or times[last] >= limit:
            return first, need
        row = words[rows[last]]
        for word in range(len(window)):
            bits = row[word]
            if last >= own:
                bits |= mine[word]
            if last > middle:
                bits &= window[word]
            window[word] = bits
        last += 1
        while first < middle:
            together = common(behind[first], window)
            if together >= need:
                break
            most = max(most, together)
            first += 1
        if first == middle and common(window, window) < need:
            # Nothing is left behind: look back from here as far as enough is free.
            middle = first = last
            free = need
            while free >= need:
                first -= 1
                row, free = words[rows[first]], 0
                for word in range(len(window)):
                    bits = row[word] | mine[word] if first >= own else row[word]
                    behind[first, word] = (
                        bits & behind[first + 1, word] if first + 1 < middle else bits
                    )
                    free += popcount(behind[first, word])
            most = max(most, free)
            first += 1
    return first, most


@kernel
def startable(
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
    """Return the next job that finds processors free from now on, which then are the window."""
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
                together[known] = intersect(windows[known], words[rows[known]])
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
            free += popcount(window[word])
            new |= window[word] & ~unsuited[word] != 0
        if new and free >= processors[job]:
            return job
    return len(starts)
