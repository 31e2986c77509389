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
    find_start_by_count,
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
        first = find_start_by_count(times, counts, rows, words, size, 0, need, duration, words[0])
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
    nonzero: Counts,
    until_end: Words,
    free_counts: Counts,
    known: int,
    version: int,
    refusals: Counts,
    begin: int,
    processors: Counts,
    durations: Times,
    starts: Times,
    reserved_rows: Counts,
    reserved: Words,
    refused: Words,
) -> tuple[int, int, int]:
    """Return the next job that finds processors free from now on.

    Parameters
    ----------
    times, counts, rows, words, size
        A profile, in which the jobs are reserved.
    window
        (words,) the processors that are free throughout the returned job are written here.
    nonzero
        The words of which some processor is free now. No others matter.
    until_end, free_counts, known
        (slices, words), (slices,) running intersections, of which the first ones are known from
        calls before: ``until_end[k]`` has the non-zero words of the processors that are free in all
        of slices 0 to k, and ``free_counts[k]`` is how many these are. They are made when the first
        job needs them.
    version, refusals
        (processors + 1, 2) jobs that need n processors do not suit ``until_end[refusals[n, 1]]``,
        if ``refusals[n, 0]`` is the version; nor do they suit parts of it.
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
    job
        The job's index; the number of jobs if there is none.
    last
        The slice up to which the window is the running intersection; -1 if some of it is the job's
        own reservation.
    known
        How many running intersections are known now.
    """
    if known == 0:
        for k in range(len(nonzero)):
            until_end[0, k] = words[rows[0], nonzero[k]]
        free_counts[0] = counts[0]
        known = 1
    for job in range(begin, len(starts)):
        need = processors[job]
        if need > counts[0] or starts[job] <= times[0]:
            continue
        #    slice   0 ...   before - 1 | before ...       last |
        #            only what is free  | what is free, and own |
        #           now             starts[job]            now + duration
        # A job of no time needs its processors at one moment, which is in slice 0.
        end = times[0] + durations[job]
        last = max(np.searchsorted(times[:size], end) - 1, 0)
        before = min(last + 1, np.searchsorted(times[:size], starts[job]))
        while known <= last and free_counts[known - 1] > 0:
            if words.shape[1]:
                free, row = 0, words[rows[known]]
                for k in range(len(nonzero)):
                    bits = until_end[known - 1, k] & row[nonzero[k]]
                    until_end[known, k] = bits
                    free += popcount(bits)
                free_counts[known] = free
            else:
                free_counts[known] = min(free_counts[known - 1], counts[known])
            known += 1
        if before > known or free_counts[before - 1] < need:
            continue
        if words.shape[1] == 0:
            return job, last, known
        # What was refused has all that is free until the reservation begins.
        if refusals[need, 0] == version and refusals[need, 1] < before:
            continue
        # Of the processors that are free until the reservation begins, those will do that are free
        # until the end, or are the job's own from then on.
        free_before, own = until_end[before - 1], reserved[reserved_rows[job]]
        unsuited = refused[reserved_rows[job]]
        free = 0
        new = False  # whether the window has more than what was refused
        window[:] = np.uint64(0)
        for k in range(len(nonzero)):
            word = nonzero[k]
            bits = until_end[last, k] if last < known else np.uint64(0)
            if before <= last:
                bits |= free_before[k] & own[word]
            window[word] = bits
            free += popcount(bits)
            new |= bits & ~unsuited[word] != 0
        if new and free >= need:
            return job, -1 if before <= last else last, known
    return len(starts), -1, known
