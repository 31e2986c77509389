"""The cheapest place of a new job in a sequence of planned starts: what is compiled for it."""

from __future__ import annotations

import numpy as np

from swdual.runtime.jit import kernel
from swdual.scheduling.kernels.profile import Counts, Times, change


@kernel
def cheapest(
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
    """Return the starts of some jobs after the last one came to the place where that is cheapest.

    All are taken out of the profile, which only counts. Each `step`-th place in the sequence of
    the others is tried, from the last one on; the job and those behind the place are placed anew
    in this order, each at the earliest time. The price is the sum of the weighted starts.
    """
    new = len(starts) - 1
    capacity = size + 3 * len(starts)
    times, counts = np.empty(capacity), np.empty(capacity, np.int64)
    times[:size], counts[:size] = profile_times[:size], profile_counts[:size]
    rows, words = np.arange(capacity), np.empty((capacity, 0), np.uint64)
    none = np.empty((0, 2), np.int64)
    tried_times, tried_counts = np.empty_like(times), np.empty_like(counts)
    best, found, most = starts.copy(), starts.copy(), 0.0
    lifted = new + 1
    for place in range((new - 1) // step * step, -1, -step):
        for job in range(place, lifted):
            end = starts[job] + durations[job]
            size = change(times, counts, rows, words, size, starts[job], end, processors[job], none)
        lifted = place
        tried_times[:size], tried_counts[:size] = times[:size], counts[:size]
        tried, gain = size, 0.0
        for k in range(place - 1, new):
            job = new if k < place else k
            found[job], tried = put(
                tried_times, tried_counts, tried, processors[job], durations[job]
            )
            if found[job] > latest[job]:
                break
            gain += weights[job] * (starts[job] - found[job])
        else:
            if gain > most:
                best[:place], best[place:], most = starts[:place], found[place:], gain
    return best


@kernel
def put(
    times: Times, counts: Counts, size: int, processors: int, duration: float
) -> tuple[float, int]:
    """Take a job out at its earliest time; return that, and how many slices there are."""
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
        for k in range(size, last, -1):
            times[k], counts[k] = times[k - 1], counts[k - 1]
        times[last], counts[last] = end, counts[last - 1]
        size += 1
    for k in range(first, last):
        counts[k] -= processors
    return start, size
