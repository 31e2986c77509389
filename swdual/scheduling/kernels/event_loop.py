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


class Jobs(NamedTuple):
    """What is asked for, as the columns of a workload: (jobs,) each."""

    submit_time: Times
    run_time: Times
    requested_time: Times
    processors: Counts


class Running(NamedTuple):
    """What runs now.

    Parameters
    ----------
    ends, job
        (running,) a heap of the ends in seconds, with the jobs.
    free
        (words,) bit p % 64 of word p // 64 says that processor p is free.
    latest, released
        Ascending latest ends in seconds, each once, and how many processors are free then.
    """

    ends: Times
    job: Counts
    free: Words
    latest: Times
    released: Counts


class Outcome(NamedTuple):
    """What became of the jobs.

    Parameters
    ----------
    start_time, backfilled, promised
        As in a `ScheduleData`.
    first
        (jobs,) where the ranges of each job begin.
    offsets
        (jobs + 1,) behind each job how many these are.
    ranges
        (ranges, 2) processors, in the order of the starts.
    """

    start_time: Times
    backfilled: NDArray[np.bool_]
    promised: Times
    first: Counts
    offsets: Counts
    ranges: Ranges


@kernel
def advance(
    jobs: Jobs,
    running: Running,
    outcome: Outcome,
    bounds: Bounds,
    state: State,
    backfills: bool,
    room: int,
    until: int,
) -> None:
    """Go on from instant to instant until so many jobs have ended, or ranges may be too few.

    Parameters
    ----------
    jobs, running, outcome, bounds
        The columns; all but the jobs are changed.
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
    while now.ended < until and now.used + room <= len(outcome.ranges):
        time = np.inf if now.coming == len(jobs.submit_time) else jobs.submit_time[now.coming]
        if now.running and running.ends[0] < time:
            time = running.ends[0]
        ended = now.ended
        while now.running and running.ends[0] <= time:
            _end(jobs, running, outcome, now, backfills)
        new = now.coming
        while now.coming < len(jobs.submit_time) and jobs.submit_time[now.coming] <= time:
            now.coming += 1
        while now.head < now.coming:
            if outcome.start_time[now.head] == outcome.start_time[now.head]:
                now.head += 1
            elif jobs.processors[now.head] <= now.free:
                _start(jobs, running, outcome, now, now.head, time, backfills)
                now.reserved = -1
            else:
                break
        if backfills and now.head < now.coming:
            # Where nothing ended and the head is the same, only new jobs can find room.
            same = ended == now.ended and now.reserved == now.head
            now.reserved = now.head
            _backfill(jobs, running, outcome, bounds, now, time, new if same else now.head + 1)


@kernel
def _backfill(
    jobs: Jobs,
    running: Running,
    outcome: Outcome,
    bounds: Bounds,
    now: State,
    time: float,
    new: int,
) -> None:
    """Start the jobs that do not delay the head; those before `new` are known not to fit."""
    free, k = now.free, 0
    while free < jobs.processors[now.head]:
        free += running.released[k]
        k += 1
    shadow, extra = running.latest[k - 1], free - jobs.processors[now.head]
    if np.isnan(outcome.promised[now.head]):
        outcome.promised[now.head] = shadow
    for job in range(max(now.known, now.head + 1), now.coming):
        add_waiting(bounds, job, jobs.processors[job], jobs.requested_time[job])
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
            if not np.isnan(outcome.start_time[job]):
                continue
            need, duration = jobs.processors[job], jobs.requested_time[job]
            beyond = time + duration > shadow
            if need <= now.free and (need <= extra or not beyond):
                extra -= need * beyond
                outcome.backfilled[job] = True
                _start(jobs, running, outcome, now, job, time, True)
                continue
            narrowest = min(narrowest, need)
            if need <= bounds.widths[width]:
                shortest = min(shortest, duration)
        tighten(bounds, group, narrowest, width, shortest)
        place = group + 1 << SHIFT


@kernel
def _start(
    jobs: Jobs,
    running: Running,
    outcome: Outcome,
    now: State,
    job: int,
    time: float,
    backfills: bool,
) -> None:
    """Start a job on the lowest free processors."""
    need = jobs.processors[job]
    outcome.start_time[job] = time
    outcome.first[job] = now.used
    now.free -= need
    stop = -1
    word = now.lowest
    while need:
        bits = running.free[word]
        if bits == np.uint64(0):
            word += 1
            continue
        # The lowest run of ones, as far as it is needed.
        bit = count_low_ones(~bits)
        run = min(count_low_ones(bits >> np.uint64(bit)), need)
        running.free[word] = bits & ~(
            np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - run) << np.uint64(bit)
        )
        if 64 * word + bit != stop:
            outcome.ranges[now.used, 0] = 64 * word + bit
            now.used += 1
        stop = 64 * word + bit + run
        outcome.ranges[now.used - 1, 1] = stop
        need -= run
    now.lowest = word
    outcome.offsets[job + 1] = now.used - outcome.first[job]
    _push_end(running, now, time + min(jobs.run_time[job], jobs.requested_time[job]), job)
    if backfills:
        _add_latest(running, now, time + jobs.requested_time[job], jobs.processors[job])


@kernel
def _end(jobs: Jobs, running: Running, outcome: Outcome, now: State, backfills: bool) -> None:
    """Free the processors of the job that ends next."""
    job = _pop_end(running, now)
    first = outcome.first[job]
    ranges = outcome.ranges[first : first + outcome.offsets[job + 1]]
    set_bits(running.free, ranges, True)
    now.lowest = min(now.lowest, ranges[0, 0] // 64)
    now.free += jobs.processors[job]
    now.ended += 1
    if backfills:
        latest = outcome.start_time[job] + jobs.requested_time[job]
        k = np.searchsorted(running.latest[: now.latest], latest)
        running.released[k] -= jobs.processors[job]


@kernel
def _push_end(running: Running, now: State, end: float, job: int) -> None:
    place = now.running
    now.running += 1
    while place and running.ends[(place - 1) // 2] > end:
        above = (place - 1) // 2
        running.ends[place], running.job[place] = running.ends[above], running.job[above]
        place = above
    running.ends[place], running.job[place] = end, job


@kernel
def _pop_end(running: Running, now: State) -> int:
    """Take the first end off the heap, and return its job."""
    job = running.job[0]
    now.running -= 1
    last = now.running
    place, below = 0, 1
    while below < last:
        below += below + 1 < last and running.ends[below + 1] < running.ends[below]
        if running.ends[below] >= running.ends[last]:
            break
        running.ends[place], running.job[place] = running.ends[below], running.job[below]
        place, below = below, 2 * below + 1
    running.ends[place], running.job[place] = running.ends[last], running.job[last]
    return int(job)


@kernel
def _add_latest(running: Running, now: State, latest: float, processors: int) -> None:
    """Add a latest end. Those at which nothing is released any more are dropped once in a while."""
    times, released = running.latest, running.released
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
