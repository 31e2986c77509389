"""Idle processors of several partitions over time, as arrays (compiled).

The slices are those of `swdual.scheduling.kernels.profile`. Row ``rows[k]`` of `levels` has, for
each partition, how many of its processors are idle in slice k, and ``counts[k]`` is their sum::

    slice            0    1    2
    partition 0      4    4    8
    partition 1      0    3    3       levels, in the order of rows
    partition 2      5    1    8
    counts           9    8   19
"""

from __future__ import annotations

import numpy as np

from swdual.runtime.jit import kernel
from swdual.scheduling.kernels.profile import Counts, Times, join, split


@kernel
def change(
    times: Times,
    counts: Counts,
    rows: Counts,
    levels: Counts,
    size: int,
    start: float,
    end: float,
    shares: Counts,
) -> int:
    """Add to the idle processors of each partition in [start, end); return the new size.

    Parameters
    ----------
    times, counts, rows, levels, size
        The profile.
    start, end
        Seconds.
    shares
        (partitions,) how many processors become idle; below 0, how many are reserved.
    """
    first, size = split(times, counts, rows, levels, size, start)
    stop, size = split(times, counts, rows, levels, size, end)
    for k in range(first, stop):
        for partition in range(len(shares)):
            counts[k] += shares[partition]
            levels[rows[k], partition] += shares[partition]
    size = join(times, counts, rows, levels, size, stop)
    return join(times, counts, rows, levels, size, first)


@kernel
def find_earliest(
    times: Times,
    rows: Counts,
    levels: Counts,
    size: int,
    processors: int,
    duration: float,
    home: int,
    wide: bool,
) -> tuple[float, Counts]:
    """Return the earliest start of a job, and how many processors each partition gives it.

    In the last slice everything is idle, so that there is one.

    Parameters
    ----------
    times, rows, levels, size
        The profile.
    processors, duration
        What the job needs.
    home
        The partition of its queue.
    wide
        The job is wider than its home, so that it waits for room in all partitions together.
    """
    begin, stop = (0, levels.shape[1]) if wide else (home, home + 1)
    first = last = 0
    # Invariant: `lowest` has the minimum of each partition over slices first to last - 1.
    #
    #    slice   ... | first |   |   | last |  ...   too few in `last`:  first + 1 is tried next
    #                <---- lowest ---->
    lowest = levels[rows[0]].copy()
    while True:
        if lower_to(lowest, levels[rows[last]], begin, stop) < processors:
            first += 1
            last = first
            lowest[:] = levels[rows[first]]
            continue
        last += 1
        if last == size or times[last] >= times[first] + duration:
            return times[first], divide_job(lowest, processors, home)


@kernel
def lower_to(lowest: Counts, idle: Counts, begin: int, stop: int) -> int:
    """Lower each partition's minimum to what is idle in a slice.

    Returns the sum of the minima of partitions begin to stop - 1.

    Parameters
    ----------
    lowest
        (partitions,) the minima; they are changed.
    idle
        (partitions,) what is idle in the slice.
    begin, stop
        The partitions that count for the sum.
    """
    total = 0
    for partition in range(len(lowest)):
        lowest[partition] = min(lowest[partition], idle[partition])
        if begin <= partition < stop:
            total += lowest[partition]
    return total


@kernel
def divide_job(idle: Counts, processors: int, home: int) -> Counts:
    """Return (partitions,) how many processors of each partition a job gets.

    First those of its home, then those of whichever partition has most left. All together have
    enough.

    Parameters
    ----------
    idle
        (partitions,) processors that are idle throughout the job.
    processors
        How many it needs.
    home
        The partition of its queue.
    """
    shares = np.zeros_like(idle)
    lender = home
    # Invariant: `processors` is what the job still lacks; each lender so far has given all it has.
    while True:
        shares[lender] = min(processors, idle[lender])
        processors -= shares[lender]
        if processors == 0:
            return shares
        lender = int(np.argmax(idle - shares))


@kernel
def find_drops(
    times: Times, rows: Counts, levels: Counts, size: int
) -> tuple[Times, Counts, Counts]:
    """Return the running minimum of idle processors from now on, as a step function.

    It only falls: until the next step, a job that starts now finds so much idle all the time::

        levels   5    |_    _|^^|_          minimum  5    |____
                 3      |__|      |__                3         |____
                        ^         (no drop)               ^ steps

    Parameters
    ----------
    times, rows, levels, size
        The profile.

    Returns
    -------
    begins
        (steps,) seconds at which it falls; the first is now.
    lowest
        (steps, partitions) the minimum of each partition from then on.
    room
        (steps,) the sum of these.
    """
    begins, room = np.empty(size), np.empty(size, np.int64)
    minima = np.empty((size, levels.shape[1]), np.int64)
    lowest = levels[rows[0]].copy()
    steps = 0
    for k in range(size):
        total = lower_to(lowest, levels[rows[k]], 0, len(lowest))
        if steps == 0 or total < room[steps - 1]:
            begins[steps], minima[steps], room[steps] = times[k], lowest, total
            steps += 1
    return begins[:steps], minima[:steps], room[:steps]
