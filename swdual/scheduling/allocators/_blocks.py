"""Choose free processors by blocks: the lowest of a block, the first block, the fullest clusters.

All functions take time proportional to the number of ranges, plus the number of clusters where
clusters are compared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.jit import kernel
from swdual.scheduling.platform import Platform
from swdual.scheduling.processors import Ranges, lowest_within, within

Sizes = NDArray[np.int64]


def lowest(free: Ranges, count: int) -> Ranges | None:
    """Return the lowest processors of a set, or None if it has too few.

    Parameters
    ----------
    free, count
        (ranges, 2) free processors, ascending, not adjacent, and how many are needed.
    """
    return _none_if_empty(lowest_within(free, 0, free[-1, 1], count)) if len(free) else None


def first_range(free: Ranges, count: int) -> Ranges | None:
    """Return the low end of the lowest range that is long enough, or None.

    Parameters
    ----------
    free, count
        (ranges, 2) free processors, ascending, not adjacent, and how many are needed.
    """
    return _none_if_empty(_first_range(free, count))


def largest_ranges(free: Ranges, count: int) -> Ranges | None:
    """Return the largest ranges, and the low end of the last one, or None if they are too few.

    Parameters
    ----------
    free, count
        (ranges, 2) free processors, ascending, not adjacent, and how many are needed.
    """
    return _none_if_empty(_largest_ranges(free, count))


def lowest_in_block(free: Ranges, size: int, count: int) -> Ranges | None:
    """Return the lowest processors of the first block of `size` that has enough, or None.

    Parameters
    ----------
    free
        (ranges, 2) free processors, ascending, not adjacent.
    size
        Processors of a block; block b has those from ``b * size`` on.
    count
        How many are needed.
    """
    block = _first_block(free, size, count)
    return None if block < 0 else lowest_within(free, block * size, (block + 1) * size, count)


def fullest_in_block(free: Ranges, size: int, count: int, platform: Platform) -> Ranges | None:
    """Return processors of the first block of `size` that has enough, or None.

    They are those of the block's clusters that have most free ones, and the lowest of the last.

    Parameters
    ----------
    free, size, count
        As of `lowest_in_block`.
    platform
        Its clusters.
    """
    block = _first_block(free, size, count)
    if block < 0:
        return None
    every = platform.clusters_needed(platform.processors)
    return fullest_clusters(within(free, block * size, (block + 1) * size), count, platform, every)


def fullest_clusters(
    free: Ranges, count: int, platform: Platform, max_clusters: int
) -> Ranges | None:
    """Return the processors of the clusters that have most free ones, and the lowest of the last.

    None if these are more than `max_clusters`, or all clusters together have too few.

    Parameters
    ----------
    free
        (ranges, 2) free processors, ascending.
    count
        How many are needed.
    platform
        Their clusters.
    max_clusters
        How many clusters may be used.
    """
    return _none_if_empty(_fullest(free, count, platform.cluster_size, max_clusters))


def _none_if_empty(ranges: Ranges) -> Ranges | None:
    return ranges if len(ranges) else None


@kernel
def _first_range(free: Ranges, count: int) -> Ranges:
    chosen = np.empty((1, 2), np.int64)
    for k in range(len(free)):
        if free[k, 1] - free[k, 0] >= count:
            chosen[0, 0] = free[k, 0]
            chosen[0, 1] = free[k, 0] + count
            return chosen
    return chosen[:0].copy()


@kernel
def _largest_first(sizes: Sizes, count: int) -> Sizes:
    """Return (groups,) how many processors to take of each: all of the largest groups, then a part.

    Of equal groups the first come first. The groups hold at least `count` together.
    """
    # Bisection for the largest size such that the groups of at least that size hold enough.
    low, high = 1, 1
    for size in sizes:
        high = max(high, size)
    while low < high:
        middle = (low + high + 1) // 2
        held = 0
        for size in sizes:
            if size >= middle:
                held += size
        if held >= count:
            low = middle
        else:
            high = middle - 1
    # So the larger ones do not hold enough: all of them are taken.
    taken = np.zeros(len(sizes), np.int64)
    for k in range(len(sizes)):
        if sizes[k] > low:
            taken[k] = sizes[k]
            count -= sizes[k]
    for k in range(len(sizes)):
        if sizes[k] == low:
            taken[k] = min(low, count)
            count -= taken[k]
    return taken


@kernel
def _largest_ranges(free: Ranges, count: int) -> Ranges:
    chosen = np.empty((len(free), 2), np.int64)
    sizes = np.empty(len(free), np.int64)
    held = made = 0
    for k in range(len(free)):
        sizes[k] = free[k, 1] - free[k, 0]
        held += sizes[k]
    if held >= count:
        taken = _largest_first(sizes, count)
        for k in range(len(free)):
            if taken[k]:
                chosen[made, 0] = free[k, 0]
                chosen[made, 1] = free[k, 0] + taken[k]
                made += 1
    return chosen[:made].copy()


@kernel
def _first_block(free: Ranges, size: int, count: int) -> int:
    """Return the first block of `size` that has at least `count` free processors, or -1."""
    block = -1
    held = 0
    for k in range(len(free)):
        first, stop = free[k, 0], free[k, 1]
        while first < stop:
            if first // size != block:
                block = first // size
                held = 0
            end = min(stop, (block + 1) * size)
            held += end - first
            if held >= count:
                return block
            first = end
    return -1


@kernel
def _fullest(free: Ranges, count: int, size: int, max_clusters: int) -> Ranges:
    """Return the processors of the fullest clusters of `size`, or none: see `fullest_clusters`."""
    if not len(free):
        return free.copy()
    first_cluster = free[0, 0] // size
    clusters = (free[-1, 1] - 1) // size - first_cluster + 1
    sizes = np.zeros(clusters, np.int64)
    held = made = used = 0
    for k in range(len(free)):
        first, stop = free[k, 0], free[k, 1]
        cluster = first // size - first_cluster
        while first < stop:
            end = min(stop, (first_cluster + cluster + 1) * size)
            sizes[cluster] += end - first
            held += end - first
            first = end
            cluster += 1
    chosen = np.empty((len(free) + clusters, 2), np.int64)
    if held < count:
        return chosen[:0].copy()
    left = _largest_first(sizes, count)
    for cluster in range(clusters):
        used += left[cluster] > 0
    if used > max_clusters:
        return chosen[:0].copy()
    for k in range(len(free)):
        first, stop = free[k, 0], free[k, 1]
        cluster = first // size - first_cluster
        while first < stop and count > 0:
            end = min(stop, (first_cluster + cluster + 1) * size)
            taken = min(left[cluster], end - first)
            if taken:
                left[cluster] -= taken
                count -= taken
                if made and chosen[made - 1, 1] == first:
                    chosen[made - 1, 1] = first + taken
                else:
                    chosen[made, 0] = first
                    chosen[made, 1] = first + taken
                    made += 1
            first = end
            cluster += 1
    return chosen[:made].copy()
