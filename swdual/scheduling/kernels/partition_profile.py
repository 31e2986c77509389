"""What is idle in each partition of the processors, slice by slice: what is compiled for it.

The slices are those of `_slices`; row ``rows[k]`` of the levels has for each partition how many of
its processors are idle in slice k, and ``counts[k]`` is their sum.
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
    """Let so much more be idle in each partition in [start, end); return the size."""
    first, size = split(times, counts, rows, levels, size, start)
    stop, size = split(times, counts, rows, levels, size, end)
    for k in range(first, stop):
        for partition in range(len(shares)):
            counts[k] += shares[partition]
            levels[rows[k], partition] += shares[partition]
    size = join(times, counts, rows, levels, size, stop)
    return join(times, counts, rows, levels, size, first)


@kernel
def earliest(
    times: Times,
    rows: Counts,
    levels: Counts,
    size: int,
    processors: int,
    duration: float,
    home: int,
    wide: bool,
) -> tuple[float, Counts]:
    """Return when a job can start at home, or in all partitions if it is too wide, and its shares.

    In the last slice it can.
    """
    begin, stop = (0, levels.shape[1]) if wide else (home, home + 1)
    first = last = 0
    lowest = levels[rows[0]].copy()
    while True:
        if lower(lowest, levels[rows[last]], begin, stop) < processors:
            first += 1
            last = first
            lowest[:] = levels[rows[first]]
            continue
        last += 1
        if last == size or times[last] >= times[first] + duration:
            return times[first], shares(lowest, processors, home)


@kernel
def lower(lowest: Counts, free: Counts, begin: int, stop: int) -> int:
    """Lower what partitions have to what they have in a slice; return what some have together."""
    total = 0
    for partition in range(len(lowest)):
        lowest[partition] = min(lowest[partition], free[partition])
        if begin <= partition < stop:
            total += lowest[partition]
    return total


@kernel
def shares(free: Counts, processors: int, home: int) -> Counts:
    """Return how many processors of each partition a job gets that has room in all together.

    Those of its home, then those of whichever has most.
    """
    found = np.zeros_like(free)
    lender = home
    while True:
        found[lender] = min(processors, free[lender])
        processors -= found[lender]
        if processors == 0:
            return found
        lender = int(np.argmax(free - found))


@kernel
def narrowing(
    times: Times, rows: Counts, levels: Counts, size: int
) -> tuple[Times, Counts, Counts]:
    """Return when a partition has less than ever from now on, and what each and all have then.

    Until the next of these times a job that starts now finds so much idle all the time.
    """
    begins, room = np.empty(size), np.empty(size, np.int64)
    each = np.empty((size, levels.shape[1]), np.int64)
    lowest = levels[rows[0]].copy()
    found = 0
    for k in range(size):
        total = lower(lowest, levels[rows[k]], 0, len(lowest))
        if found == 0 or total < room[found - 1]:
            begins[found], each[found], room[found] = times[k], lowest, total
            found += 1
    return begins[:found], each[:found], room[:found]
