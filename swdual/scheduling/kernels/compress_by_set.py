"""Find reserved jobs that can start earlier, in a profile that knows processors (compiled).

To try all jobs whenever something is released would take most of a simulation. So a number is kept
for each job::

    deficit[j]      lower bound on the processors that must be freed before job j can start
                    earlier than reserved

A job with a deficit is passed over. A release of n processors lowers the deficit of the jobs that
could use one of them by n (`lower_deficits`). A job whose deficit is 0 or less is tried, and if it
cannot start earlier its deficit becomes what it needs less the most it found
(`next_improvable`): for any window before its reservation, no more than that are free in common.
"""

from __future__ import annotations

import numpy as np

from swdual.runtime.jit import kernel
from swdual.scheduling.kernels.profile import (
    Counts,
    Times,
    Words,
    find_common,
    intersect,
    popcount,
)


@kernel
def lower_deficits(
    times: Times,
    rows: Counts,
    words: Words,
    size: int,
    start: float,
    end: float,
    freed: Words,
    durations: Times,
    starts: Times,
    reserved_rows: Counts,
    reserved: Words,
    deficit: Counts,
) -> None:
    """Lower the deficits of the jobs that could use processors that were freed in [start, end).

    A job that could not run on any of them before its reservation keeps its deficit.

    Parameters
    ----------
    times, rows, words, size
        The profile, after the release; some of the processors may be reserved again.
    start, end
        Seconds.
    freed
        (words,) the processors.
    durations, starts
        (jobs,) how long the jobs take, and when they are reserved.
    reserved_rows, reserved
        (jobs,), (rows, words) the processors that each job has reserved.
    deficit
        (jobs,) it is changed.
    """
    nonzero = np.flatnonzero(freed)
    all_freed = freed[nonzero]
    left = all_freed.copy()
    number = intersect(left, left)
    # Spans: maximal runs of slices through which at least one of the freed processors is free all
    # the time. No job could use them otherwise. A span may begin before the release and end after:
    #
    #    processor 4       .------------.            (free where there is a line)
    #    processor 9                .------------.
    #    released              [start        end)
    #    spans             [------------)
    #                               [------------)
    begins, ends = np.empty(size), np.empty(size)
    spans = 0
    last = np.searchsorted(times[:size], start, side="right") - 1
    while last < size:
        # Go back from slice `last` as long as one processor is free all the way ...
        first = last + 1
        left[:] = all_freed
        while first > 0 and intersect_some(left, words[rows[first - 1]], nonzero):
            first -= 1
        if first == size or times[first] >= end:
            break
        # ... and forward again as far as one is free from there.
        left[:] = all_freed
        last = first
        while last < size and intersect_some(left, words[rows[last]], nonzero):
            last += 1
        if last > first:
            begins[spans] = times[first]
            ends[spans] = times[last] if last < size else np.inf
            spans += 1
    # A job could use a span that begins before its reservation and is as long as the job, or one
    # that lasts until its reservation.
    lowered = np.zeros(len(starts), np.bool_)
    for k in range(spans):
        begin, end = begins[k], ends[k]
        for job in range(len(starts)):
            lowered[job] |= (begin < starts[job]) & (end >= begin + durations[job])
    for k in range(spans):
        begin, end = begins[k], ends[k]
        for job in range(len(starts)):
            # A processor that the job has reserved needs to be free up to the reservation only.
            if begin < starts[job] <= end and not lowered[job]:
                lowered[job] = have_common(freed, reserved[reserved_rows[job]], nonzero)
    for job in range(len(starts)):
        deficit[job] -= number * lowered[job]


@kernel
def intersect_some(left: Words, row: Words, nonzero: Counts) -> bool:
    """Leave in some words the bits that are also in a row; return whether there are any.

    Parameters
    ----------
    left
        (nonzero words,) they are changed.
    row
        (words,) the row.
    nonzero
        (nonzero words,) where in the row they are.
    """
    bits = np.uint64(0)
    for k in range(len(nonzero)):
        left[k] &= row[nonzero[k]]
        bits |= left[k]
    return bool(bits)


@kernel
def have_common(one: Words, other: Words, nonzero: Counts) -> bool:
    """Return whether two rows have a bit in common in some of their words.

    Parameters
    ----------
    one, other
        (words,) the rows.
    nonzero
        Which words to compare.
    """
    bits = np.uint64(0)
    for word in nonzero:
        bits |= one[word] & other[word]
    return bool(bits)


@kernel
def next_improvable(
    times: Times,
    counts: Counts,
    rows: Counts,
    words: Words,
    size: int,
    window: Words,
    suffixes: Words,
    begin: int,
    processors: Counts,
    durations: Times,
    starts: Times,
    reserved_rows: Counts,
    reserved: Words,
    deficit: Counts,
) -> tuple[int, int]:
    """Return the next job that can start earlier than reserved, and the slice where it can.

    Parameters
    ----------
    times, counts, rows, words, size
        A profile, in which the jobs are reserved.
    window, suffixes
        (words,), (slices, words) work space.
    begin
        The job to begin with.
    processors, durations, starts
        (jobs,) what each job needs, and when it is reserved.
    reserved_rows, reserved
        (jobs,), (rows, words) the processors that each job has reserved.
    deficit
        (jobs,) jobs with a deficit are passed over; it is written for those that are tried in vain.

    Returns
    -------
    job
        The job's index; the number of jobs if there is none.
    first
        The slice at whose begin it can start.
    """
    # Jobs that need no less than one that was tried in vain, for no less time, fail at least up to
    # its reservation, and find no more there: they begin behind that.
    failed, failed_max = -1, 0
    nonzero, own_words = np.empty(len(window), np.int64), np.empty_like(window)
    for job in range(begin, len(starts)):
        if deficit[job] > 0:
            continue
        need, duration, start = processors[job], durations[job], starts[job]
        reserved_slice = np.searchsorted(times[:size], start)
        first = max_free = 0
        if failed >= 0 and need >= processors[failed] and duration >= durations[failed]:
            first, max_free = np.searchsorted(times[:size], starts[failed]), failed_max
        first, _, _, free = find_common(
            times,
            counts,
            rows,
            words,
            window,
            suffixes,
            first,
            first,
            first,
            reserved_slice,
            start,
            need,
            duration,
        )
        if free < need:
            max_free = max(max_free, free)
            own = reserved[reserved_rows[job]]
            first, free = find_overlapping(
                times,
                counts,
                rows,
                words,
                size,
                window,
                suffixes,
                nonzero,
                own_words,
                reserved_slice,
                start,
                need,
                duration,
                own,
            )
        if free >= need:
            return job, first
        max_free = max(max_free, free)
        deficit[job] = need - max_free
        failed, failed_max = job, max_free
    return len(starts), 0


@kernel
def find_overlapping(
    times: Times,
    counts: Counts,
    rows: Counts,
    words: Words,
    size: int,
    window: Words,
    suffixes: Words,
    nonzero: Counts,
    own_words: Words,
    reserved_slice: int,
    start: float,
    need: int,
    duration: float,
    own: Words,
) -> tuple[int, int]:
    """Find where a job can start before its reservation begins, and run on into it.

    Return (slice, free); free >= need if found, else the largest common free count (< need).

    Parameters
    ----------
    times, counts, rows, words, size
        The profile.
    window, suffixes, nonzero, own_words
        (words,), (slices, words), (words,), (words,) work space.
    reserved_slice, start
        The slice where the reservation begins, and when that is.
    need, duration
        What the job needs.
    own
        (words,) the processors that it has reserved, which it finds free from `start` on.
    """
    first = reserved_slice
    while first > 0 and times[first - 1] + duration > start:
        first -= 1
    if first == reserved_slice:
        return reserved_slice, 0
    if counts[reserved_slice - 1] < need:
        return reserved_slice, counts[reserved_slice - 1]
    free, first, number = intersect_nonzero_backwards(
        rows, words, suffixes, nonzero, first, reserved_slice, need
    )
    max_free = free if free < need else 0
    # The job can have the processors that are free from its start to the reservation, and from
    # there on are either free to its end or its own:
    #
    #    slice   begin                 reserved_slice            last
    #              |---------------------------|-------------------|
    #                    suffixes[begin]     &   (window | own)
    #
    # Invariant: the window has what is free in all of slices reserved_slice to last - 1. Later
    # begins reach further, so `last` only grows. Only words matter that are not zero in the slice
    # before the reservation.
    before = suffixes[reserved_slice - 1]
    for k in range(number):
        window[k] = np.uint64(0xFFFFFFFFFFFFFFFF)
        own_words[k] = own[nonzero[k]]
    last = reserved_slice
    for begin in range(first, reserved_slice):
        while last < size and times[last] < times[begin] + duration:
            row = words[rows[last]]
            last += 1
            # Later starts find no more than is free just before the reservation.
            free = 0
            for k in range(number):
                window[k] &= row[nonzero[k]]
                free += popcount(before[k] & (window[k] | own_words[k]))
            if free < need:
                return reserved_slice, max(max_free, free)
        free = 0
        for k in range(number):
            free += popcount(suffixes[begin, k] & (window[k] | own_words[k]))
        if free >= need:
            return begin, free
        max_free = max(max_free, free)
    return reserved_slice, max_free


@kernel
def intersect_nonzero_backwards(
    rows: Counts,
    words: Words,
    suffixes: Words,
    nonzero: Counts,
    first: int,
    stop: int,
    need: int,
) -> tuple[int, int, int]:
    """Write what is free in common from each slice up to `stop`, from the last slice backwards.

    It ends with a slice from which less than needed is free in common. Few words of the last slice
    are not zero on a busy platform, and no others matter: all sets have these words only.

    Parameters
    ----------
    rows, words
        The profile.
    suffixes
        (slices, words) ``suffixes[k]`` becomes what is free in all of slices k to stop - 1.
    nonzero
        (words,) which word of a row each word of these sets is; it is written.
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
    number
        How many words the sets have.
    """
    row = words[rows[stop - 1]]
    number = free = 0
    for word in range(len(row)):
        nonzero[number] = word
        number += row[word] != 0
    for k in range(number):
        suffixes[stop - 1, k] = row[nonzero[k]]
        free += popcount(row[nonzero[k]])
    begin = stop
    while free >= need:
        begin -= 1
        if begin == first:
            break
        # suffixes[begin - 1] = slice begin - 1 & suffixes[begin]
        row, free = words[rows[begin - 1]], 0
        for k in range(number):
            bits = row[nonzero[k]] & suffixes[begin, k]
            suffixes[begin - 1, k] = bits
            free += popcount(bits)
    return free, begin, number
