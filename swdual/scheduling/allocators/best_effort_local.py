"""Few clusters: those with the most free processors, until they are enough.

Algorithm 4 of Machado Mendonca's thesis, section 4.5.2; and section 5.6.2.
"""

from __future__ import annotations

from swdual.scheduling.allocators import _blocks
from swdual.scheduling.platform import Platform
from swdual.scheduling.processors import Ranges

FORCED = False


def choose(free: Ranges, count: int, platform: Platform) -> Ranges | None:
    """Return the processors of the clusters that have most free ones, lower ones first if equal.

    Of the last one the lowest; None if too few processors are free: see `Allocator.choose`.
    """
    every = platform.clusters_needed(platform.processors)
    return _blocks.fullest_clusters(free, count, platform, every)
