"""`best_effort_platform_level`, but of the block the lowest processors, whatever their clusters.

So does the program of Machado Mendonca's thesis: see `platform_level_lowest`.
"""

from __future__ import annotations

from swdual.scheduling.allocators import _blocks
from swdual.scheduling.platform import Platform
from swdual.scheduling.processors import Ranges

FORCED = False


def choose(free: Ranges, count: int, platform: Platform) -> Ranges | None:
    """Return processors of one block of the lowest level that has enough, or None.

    See `Allocator.choose`.
    """
    for size in platform.block_sizes[platform.minimum_level(count) - 1 :]:
        chosen = _blocks.lowest_in_block(free, size, count)
        if chosen is not None:
            return chosen
    return None
