"""Find reserved jobs that can start earlier, in a profile (compiled): by count, and to start now.

A job that is tried finds, besides what is free, the processors of its own reservation while it
holds them. So only what is free before its reservation begins can keep it back: its window, the
slices that must have room for it, ends there at the latest::

    free     |      own reservation
             |____       .---------.
                  '------'         '----
                    ^    ^
                since    starts[job]        window: [since, min(since + duration, starts[job]))
"""

from __future__ import annotations

import numpy as np

from swdual.runtime.jit import kernel
from swdual.scheduling.kernels.profile import (
    MAX_NEW_SLICES,
    Counts,
    Times,
    Words,
    change,
    find_start,
    intersect,
    popcount,
)
from swdual.scheduling.processors import Ranges


@kernel
def next_improvable(
    times: Times,
    counts: Counts,
    size: int,
    begin: int,
    processors: Counts,
    durations: Times,
    starts: Times,
) -> int:
    """Return the next job that finds enough processors free before its reservation.

    Parameters
    ----------
    times, counts, size
        A profile, in which the jobs are reserved.
    begin
        The job to begin with.
    processors, durations, starts
        (jobs,) what each job needs, and when it is reserved.

    Returns
    -------
    int
        The job's index; the number of jobs if there is none.
    """
    for job in range(begin, len(starts)):
        # Invariant: all slices from `since` up to slice k have enough processors.
        since = times[0]
        for k in range(size):
            if times[k] >= starts[job]:
                # The window reached the reservation: the job can run on into it.
                if since < starts[job]:
                    return job
                break
            if times[k] >= since + durations[job]:
                return job  # the slices before this one cover the whole job
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
    """Move jobs, one by one, to their earliest starts, in a profile that only counts.

    Compression, as of Mu'alem and Feitelson: release a job's reservation, then reserve at the
    earliest start, which is never later than before.

    Parameters
    ----------
    times, counts, rows, words, size
        The profile; it is changed. The arrays may be too short for all of it.
    none
        (0, 2) an empty set of processors.
    begin
        The job to begin with.
    processors, durations
        (jobs,) what each job needs.
    starts
        (jobs,) when each is reserved; new starts are written here.

    Returns
    -------
    job
        The job to go on with when the arrays are longer; the number of jobs if all is done.
    size
        The new number of slices.
    """
    job = begin
    while size + MAX_NEW_SLICES <= len(times):
        job = next_improvable(times, counts, size, job, processors, durations, starts)
        if job == len(starts):
            break
        need, duration = processors[job], durations[job]
        end = starts[job] + duration
        size = change(times, counts, rows, words, size, starts[job], end, need, none)
        first = find_start(times, counts, rows, words, size, 0, need, duration, words[0])
        starts[job] = times[first]
        end = starts[job] + duration
        size = change(times, counts, rows, words, size, starts[job], end, -need, none)
        job += 1
    return job, size


@kernel
def next_startable(
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
    reserved_rows: Counts,
    reserved: Words,
    refused: Words,
) -> int:
    """Return the next job that finds processors free from now on.

    Parameters
    ----------
    times, counts, rows, words, size
        A profile, in which the jobs are reserved.
    window
        (words,) the processors that are free throughout the returned job are written here.
    begin
        The job to begin with.
    processors, durations, starts
        (jobs,) what each job needs, and when it is reserved.
    reserved_rows
        (jobs,) the row of each job in `reserved` and `refused`.
    reserved
        (rows, words) the processors that each job has reserved.
    refused
        (rows, words) a set that did not suit the job; parts of it will not do either.

    Returns
    -------
    int
        The job's index; the number of jobs if there is none.
    """
    # Running intersections, computed when the first job needs them: until_end[k] has the processors
    # that are free in all of slices 0 to k, and free_counts[k] is how many these are.
    until_end = np.empty((size, words.shape[1]), np.uint64)
    free_counts = np.empty(size, np.int64)
    until_end[0] = words[rows[0]]
    free_counts[0] = counts[0]
    known = 1
    for job in range(begin, len(starts)):
        if starts[job] <= times[0]:
            continue
        #    slice   0 ...   before - 1 | before ...       last |
        #            only what is free  | what is free, and own |
        #           now             starts[job]            now + duration
        end = times[0] + durations[job]
        last = np.searchsorted(times[:size], end) - 1
        before = np.searchsorted(times[:size], min(end, starts[job]))
        while known <= last and free_counts[known - 1] > 0:
            if words.shape[1]:
                until_end[known] = until_end[known - 1]
                free_counts[known] = intersect(until_end[known], words[rows[known]])
            else:
                free_counts[known] = min(free_counts[known - 1], counts[known])
            known += 1
        if before > known or free_counts[before - 1] < processors[job]:
            continue
        if words.shape[1] == 0:
            return job
        # Of the processors that are free until the reservation begins, those will do that are free
        # until the end, or are the job's own from then on.
        free_before, own = until_end[before - 1], reserved[reserved_rows[job]]
        unsuited = refused[reserved_rows[job]]
        free = 0
        new = False  # whether the window has more than what was refused
        for word in range(len(window)):
            window[word] = until_end[last, word] if last < known else np.uint64(0)
            if before <= last:
                window[word] |= free_before[word] & own[word]
            free += popcount(window[word])
            new |= window[word] & ~unsuited[word] != 0
        if new and free >= processors[job]:
            return job
    return len(starts)
