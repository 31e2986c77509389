"""`platform_level`, but of the block the lowest processors, whatever their clusters.

So does the program of Machado Mendonca's thesis. The job's own level, and so its penalty, is that
of algorithm 5; the jobs after it find other processors free.
"""

from __future__ import annotations

from swdual.scheduling.allocators import _blocks
from swdual.scheduling.platform import Platform
from swdual.scheduling.processors import Ranges

FORCED = True


def choose(free: Ranges, count: int, platform: Platform) -> Ranges | None:
    """Return processors of one block of the lowest level, or None if none has enough.

    See `Allocator.choose`.
    """
    size = platform.block_sizes[platform.minimum_level(count) - 1]
    return _blocks.lowest_in_block(free, size, count)
