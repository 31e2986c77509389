"""Which of the jobs that are taken out of a profile could start earlier: what is compiled for it.

A job with a reservation finds, besides what is free, its own processors while it holds them. Only
starts before the reservation count, so that its windows end before the reservation does.
"""

from __future__ import annotations

import numpy as np

from swdual.runtime.jit import kernel
from swdual.scheduling.kernels.profile import (
    ROOM,
    Counts,
    Times,
    Words,
    change,
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
