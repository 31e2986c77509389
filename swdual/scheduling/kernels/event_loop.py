"""The events of rigid jobs from first to last, under FCFS or EASY, on the lowest free processors.

All is arrays (compiled). A job waits while its start is not-a-number; jobs stand in the order of
their submission, so that the queue is what waits of those before `coming`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.jit import kernel
from swdual.scheduling.kernels.profile import Counts, Times, Words, count_low_ones, set_bits
from swdual.scheduling.kernels.waiting_bounds import (
    NONE,
    SHIFT,
    Bounds,
    add_waiting,
    skip_unfit,
    tighten,
)
from swdual.scheduling.processors import Ranges

State = Any
"""A record of `STATE`."""

_NUMBERS = "coming ended head reserved known free lowest running latest used"
STATE = np.dtype([(name, np.int64) for name in _NUMBERS.split()])
"""The next job to be submitted; how many have ended; the first that waits, and the one that had the
reservation in the last pass; up to where the bounds know the waiting jobs; free processors, and a
word before which none is; how many jobs run, latest ends there are, and ranges are in use."""


class Simulation(NamedTuple):
    """The columns of a simulation: what is asked for, what became of it, and what runs now.

    Parameters
    ----------
    submit_time, run_time, requested_time, processors
        (jobs,) those of a workload.
    start_time, backfilled, promised
        (jobs,) as in a `ScheduleData`.
    first
        (jobs,) where the ranges of each job begin.
    offsets
        (jobs + 1,) behind each job how many these are.
    ranges
        (ranges, 2) processors, in the order of the starts.
    ends, running
        A heap of ends in seconds, with the columns.
    free
        (words,) bit p % 64 of word p // 64 says that processor p is free.
    latest, released
        Ascending latest ends in seconds, each once, and how many processors are free then.
    bounds
        What the waiting jobs need at least.
    """

    submit_time: Times
    run_time: Times
    requested_time: Times
    processors: Counts
    start_time: Times
    backfilled: NDArray[np.bool_]
    promised: Times
    first: Counts
    offsets: Counts
    ranges: Ranges
    ends: Times
    running: Counts
    free: Words
    latest: Times
    released: Counts
    bounds: Bounds


@kernel
def advance(columns: Simulation, state: State, backfills: bool, room: int, until: int) -> None:
    """Go on from instant to instant until so many jobs have ended, or ranges may be too few.

    Parameters
    ----------
    columns
        They are changed.
    state
        (1,) where the simulation stands.
    backfills
        Whether jobs may overtake the head of the queue: EASY; else FCFS.
    room
        An instant needs no more ranges than these.
    until
        How many jobs.
    """
    now = state[0]
    while now.ended < until and now.used + room <= len(columns.ranges):
        time = np.inf if now.coming == len(columns.submit_time) else columns.submit_time[now.coming]
        if now.running and columns.ends[0] < time:
            time = columns.ends[0]
        ended = now.ended
        while now.running and columns.ends[0] <= time:
            _end(columns, now)
        new = now.coming
        while now.coming < len(columns.submit_time) and columns.submit_time[now.coming] <= time:
            now.coming += 1
        while now.head < now.coming:
            if not np.isnan(columns.start_time[now.head]):
                now.head += 1
            elif columns.processors[now.head] <= now.free:
                _start(columns, now, now.head, time)
                now.reserved = -1
            else:
                break
        if backfills and now.head < now.coming:
            # Where nothing ended and the head is the same, only new jobs can find room.
            same = ended == now.ended and now.reserved == now.head
            now.reserved = now.head
            _backfill(columns, now, time, new if same else now.head + 1)


@kernel
def _backfill(columns: Simulation, now: State, time: float, new: int) -> None:
    """Start the jobs that do not delay the head; those before `new` are known not to fit."""
    bounds, free, k = columns.bounds, now.free, 0
    while free < columns.processors[now.head]:
        free += columns.released[k]
        k += 1
    shadow, extra = columns.latest[k - 1], free - columns.processors[now.head]
    if np.isnan(columns.promised[now.head]):
        columns.promised[now.head] = shadow
    for job in range(max(now.known, now.head + 1), now.coming):
        add_waiting(bounds, job, columns.processors[job], columns.requested_time[job])
    now.known = now.coming
    # Bounds become exact only where a group is looked at from its begin, or from the head on.
    first = place = max(now.head + 1, new >> SHIFT << SHIFT)
    while place < now.coming and now.free:
        width = min(np.searchsorted(bounds.widths, now.free), len(bounds.widths) - 1)
        narrow = min(now.free, extra)
        behind = skip_unfit(bounds, place, place == first, width, narrow, time, shadow)
        if behind > place:
            place = behind
            continue
        group = place >> SHIFT
        narrowest, shortest = NONE, np.inf
        for job in range(place, min(group + 1 << SHIFT, now.coming)):
            if not np.isnan(columns.start_time[job]):
                continue
            need, duration = columns.processors[job], columns.requested_time[job]
            beyond = time + duration > shadow
            if need <= now.free and (need <= extra or not beyond):
                extra -= need * beyond
                columns.backfilled[job] = True
                _start(columns, now, job, time)
                continue
            narrowest = min(narrowest, need)
            if need <= bounds.widths[width]:
                shortest = min(shortest, duration)
        tighten(bounds, group, narrowest, width, shortest)
        place = group + 1 << SHIFT


@kernel
def _start(columns: Simulation, now: State, job: int, time: float) -> None:
    """Start a job on the lowest free processors."""
    need = columns.processors[job]
    columns.start_time[job] = time
    columns.first[job] = now.used
    now.free -= need
    stop = -1
    word = now.lowest
    while need:
        bits = columns.free[word]
        if bits == np.uint64(0):
            word += 1
            continue
        # The lowest run of ones, as far as it is needed.
        bit = count_low_ones(~bits)
        run = min(count_low_ones(bits >> np.uint64(bit)), need)
        columns.free[word] = bits & ~(
            np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - run) << np.uint64(bit)
        )
        if 64 * word + bit != stop:
            columns.ranges[now.used, 0] = 64 * word + bit
            now.used += 1
        stop = 64 * word + bit + run
        columns.ranges[now.used - 1, 1] = stop
        need -= run
    now.lowest = word
    columns.offsets[job + 1] = now.used - columns.first[job]
    _push_end(columns, now, time + min(columns.run_time[job], columns.requested_time[job]), job)
    _add_latest(columns, now, time + columns.requested_time[job], columns.processors[job])


@kernel
def _end(columns: Simulation, now: State) -> None:
    """Free the processors of the job that ends next."""
    job = _pop_end(columns, now)
    first = columns.first[job]
    ranges = columns.ranges[first : first + columns.offsets[job + 1]]
    set_bits(columns.free, ranges, True)
    now.lowest = min(now.lowest, ranges[0, 0] // 64)
    now.free += columns.processors[job]
    now.ended += 1
    latest = columns.start_time[job] + columns.requested_time[job]
    k = np.searchsorted(columns.latest[: now.latest], latest)
    columns.released[k] -= columns.processors[job]


@kernel
def _push_end(columns: Simulation, now: State, end: float, job: int) -> None:
    place = now.running
    now.running += 1
    while place and columns.ends[(place - 1) // 2] > end:
        above = (place - 1) // 2
        columns.ends[place], columns.running[place] = columns.ends[above], columns.running[above]
        place = above
    columns.ends[place], columns.running[place] = end, job


@kernel
def _pop_end(columns: Simulation, now: State) -> int:
    """Take the first end off the heap, and return its job."""
    job = columns.running[0]
    now.running -= 1
    last = now.running
    place, below = 0, 1
    while below < last:
        below += below + 1 < last and columns.ends[below + 1] < columns.ends[below]
        if columns.ends[below] >= columns.ends[last]:
            break
        columns.ends[place], columns.running[place] = columns.ends[below], columns.running[below]
        place, below = below, 2 * below + 1
    columns.ends[place], columns.running[place] = columns.ends[last], columns.running[last]
    return int(job)


@kernel
def _add_latest(columns: Simulation, now: State, latest: float, processors: int) -> None:
    """Add a latest end. Those at which nothing is released any more are dropped once in a while."""
    times, released = columns.latest, columns.released
    if now.latest > 2 * now.running:
        size, now.latest = now.latest, 0
        for k in range(size):
            if released[k]:
                times[now.latest], released[now.latest] = times[k], released[k]
                now.latest += 1
    place = np.searchsorted(times[: now.latest], latest)
    if place == now.latest or times[place] != latest:
        for k in range(now.latest, place, -1):
            times[k], released[k] = times[k - 1], released[k - 1]
        times[place], released[place] = latest, 0
        now.latest += 1
    released[place] += processors


@kernel
def in_order(first: Counts, offsets: Counts, ranges: Ranges) -> Ranges:
    """Return the ranges in the order of the jobs.

    Parameters
    ----------
    first
        (jobs,) where those of each job begin in `ranges`.
    offsets
        (jobs + 1,) where they are to begin.
    ranges
        (ranges, 2) in any order.
    """
    ordered = np.empty((offsets[-1], 2), np.int64)
    for job in range(len(first)):
        for k in range(offsets[job + 1] - offsets[job]):
            ordered[offsets[job] + k, 0] = ranges[first[job] + k, 0]
            ordered[offsets[job] + k, 1] = ranges[first[job] + k, 1]
    return ordered
