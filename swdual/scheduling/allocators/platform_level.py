"""One block of the lowest level of the tree that can hold the job, or the job waits.

"Forced platform level" of Machado Mendonca's thesis, section 5.6.4: the first block by number with
enough free processors, and of its clusters those with the most free ones (algorithm 5).
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
    return _blocks.fullest_in_block(free, size, count, platform)
