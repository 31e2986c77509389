"""One block of as low a level of the tree as there is with enough free processors.

"Best effort platform level" of Machado Mendonca's thesis, section 5.6.4 and algorithm 5: the blocks
of the lowest level that can hold the job, then those of the next one, and so on. Of the first block
with enough free processors, the clusters with the most free ones are taken.
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
        chosen = _blocks.fullest_in_block(free, size, count, platform)
        if chosen is not None:
            return chosen
    return None
