"""Insert a new job into a sequence of planned starts, where that costs least (compiled)."""

from __future__ import annotations

import numpy as np

from swdual.runtime.jit import kernel
from swdual.scheduling.kernels.profile import Counts, Times, change


@kernel
def insert_last_job(
    profile_times: Times,
    profile_counts: Counts,
    size: int,
    step: int,
    processors: Counts,
    durations: Times,
    starts: Times,
    latest: Times,
    weights: Times,
) -> Times:
    """Insert the last job where the weighted sum of start times is smallest; return all starts.

    Parameters
    ----------
    profile_times, profile_counts, size
        A profile that only counts, in which all jobs are reserved; it stays as it is.
    step
        Distance between two positions that are tried.
    processors, durations, starts
        (jobs,) the planned jobs in the sequence of their starts, and the new one behind them.
    latest
        (jobs,) latest start that each may be given.
    weights
        (jobs,) what a second of each start costs.
    """
    new = len(starts) - 1
    # The release of a job adds two slices at most, and its reservation in a trial one.
    capacity = size + 3 * len(starts)
    times, counts = np.empty(capacity), np.empty(capacity, np.int64)
    times[:size], counts[:size] = profile_times[:size], profile_counts[:size]
    rows, words = np.arange(capacity), np.empty((capacity, 0), np.uint64)
    none = np.empty((0, 2), np.int64)
    trial_times, trial_counts = np.empty_like(times), np.empty_like(counts)
    best_starts, trial_starts, max_gain = starts.copy(), starts.copy(), 0.0
    # Positions are tried from the last to the first, so that each only has to release the jobs
    # between it and the one before:
    #
    #    sequence    0  1  2 | 3  4  5 | 6  7      new = 8
    #    position 6  0  1  2   3  4  5   8 [6  7]          released: 8 6 7
    #    position 3  0  1  2   8 [3  4  5   6  7]          released: 8 3 4 5 6 7
    #
    # Invariant: in `times`, `counts` the jobs from `released_from` on are released. A trial copies
    # that, and reserves the new job and those behind it in this order, each at the earliest time.
    released_from = new + 1
    for position in range((new - 1) // step * step, -1, -step):
        for job in range(position, released_from):
            end = starts[job] + durations[job]
            size = change(times, counts, rows, words, size, starts[job], end, processors[job], none)
        released_from = position
        trial_times[:size], trial_counts[:size] = times[:size], counts[:size]
        trial_size, gain = size, 0.0
        for k in range(position - 1, new):
            job = new if k < position else k
            trial_starts[job], trial_size = reserve_earliest(
                trial_times, trial_counts, trial_size, processors[job], durations[job]
            )
            if trial_starts[job] > latest[job]:
                break
            gain += weights[job] * (starts[job] - trial_starts[job])
        else:
            # Only a larger gain counts, so that at a tie the fewest jobs are moved.
            if gain > max_gain:
                best_starts[:position] = starts[:position]
                best_starts[position:] = trial_starts[position:]
                max_gain = gain
    return best_starts


@kernel
def reserve_earliest(
    times: Times, counts: Counts, size: int, processors: int, duration: float
) -> tuple[float, int]:
    """Reserve for a job at its earliest start; return that, and how many slices there are.

    Parameters
    ----------
    times, counts, size
        A profile that only counts; it is changed.
    processors, duration
        What the job needs.
    """
    # Invariant: slices first to last - 1 have enough processors.
    #
    #    counts  |too few|  enough  |  enough  | ?
    #                     first ...             last ->   until the job's duration is covered
    first = last = 0
    while True:
        if counts[last] < processors:
            first = last + 1
        elif last + 1 == size or times[last + 1] >= times[first] + duration:
            break
        last += 1
    start, end = times[first], times[first] + duration
    last += 1
    if end == start:
        return start, size  # it is too short for the precision of times
    if last == size or times[last] > end:
        # The job ends within a slice, which is split there.
        for k in range(size, last, -1):
            times[k], counts[k] = times[k - 1], counts[k - 1]
        times[last], counts[last] = end, counts[last - 1]
        size += 1
    for k in range(first, last):
        counts[k] -= processors
    return start, size
