"""Processors of a job by the levels of the platform, from the printed algorithm.

The processors 0, 1, ... of a platform lie in blocks: a level is the size of its blocks, and block
b of a level of size s has the processors from b s on, up to the next block or to the last
processor.  Clusters are blocks of a size of their own.

Where the print leaves something open:

- Line 1 goes from the lowest level, of the smallest blocks, to the whole platform, and line 3 from
  the first block to the last: "as few levels in the platform as possible".  The list that section
  5.6.4 sorts "by descending size" would begin with the whole platform, and the other levels would
  never be used.
- Line 9 goes through Cn, which is empty then: Pn is meant.
- Of clusters with equally many processors in line 13, the lower one is first.
- In line 14, the clusters are taken whole, up to the last one, which gives its lowest processors.
- The forced variant tries a single level: the lowest whose blocks have room for the job when all
  processors are free.

Everything is lists that are walked from end to end.

References
----------
Machado Mendonca's thesis, section 5.6.4 and algorithm 5.
"""

from collections.abc import Collection, Sequence


def platform_level(
    free: Collection[int],
    count: int,
    block_sizes: Sequence[int],
    cluster_size: int,
    *,
    forced: bool,
) -> list[int] | None:
    """Return the processors of a job by algorithm 5, ascending, or None if it has to wait.

    Parameters
    ----------
    free : collection of int
        P, the available processors.
    count : int
        How many the job needs.
    block_sizes : sequence of int
        The size of a block of each level, ascending; the last is the whole platform.
    cluster_size : int
        The size of a cluster.
    forced : bool
        Whether only the lowest level may be used that can hold the job.
    """
    m = block_sizes[-1]
    for size in _levels(count, block_sizes, forced):  # line 1
        for first in range(0, m, size):  # lines 2 and 3
            available = _within(free, first, first + size)  # line 4
            if len(available) < count:  # lines 5 to 7
                continue
            clusters = [  # lines 8 to 12
                _within(available, begin, begin + cluster_size)
                for begin in range(0, m, cluster_size)
            ]
            taken: list[int] = []
            while len(taken) < count:  # lines 13 and 14
                largest = clusters[0]
                for cluster in clusters:
                    if len(cluster) > len(largest):
                        largest = cluster
                clusters.remove(largest)
                for processor in largest:
                    if len(taken) < count:
                        taken.append(processor)
            return sorted(taken)
    return None


def platform_level_lowest(
    free: Collection[int], count: int, block_sizes: Sequence[int], *, forced: bool
) -> list[int] | None:
    """Return the lowest processors of the block that `platform_level` uses, or None.

    Parameters
    ----------
    free, count, block_sizes, forced
        As for `platform_level`.
    """
    for size in _levels(count, block_sizes, forced):
        for first in range(0, block_sizes[-1], size):
            available = _within(free, first, first + size)
            if len(available) >= count:
                return available[:count]
    return None


def _levels(count: int, block_sizes: Sequence[int], forced: bool) -> list[int]:
    """Return the block sizes of the levels that may be used, from the lowest."""
    if not forced:
        return list(block_sizes)
    for size in block_sizes:
        if size >= count:
            return [size]
    return []


def _within(processors: Collection[int], first: int, stop: int) -> list[int]:
    """Return those from `first` on and before `stop`, ascending."""
    return [processor for processor in sorted(processors) if first <= processor < stop]
