"""Few ranges of consecutive processors: the largest ones, until they are enough.

Section 5.6.3 of Machado Mendonca's thesis. Chapter 4's rule (algorithm 3) takes the lowest range
that is long enough and, where there is none, does not look at ranges: it is `contiguous_or_basic`.
"""

from __future__ import annotations

from swdual.scheduling.allocators import _blocks
from swdual.scheduling.platform import Platform
from swdual.scheduling.processors import Ranges

FORCED = False


def choose(free: Ranges, count: int, platform: Platform) -> Ranges | None:
    """Return the largest ranges, lower ones first if equal, and of the last one the low end.

    None if too few processors are free: see `Allocator.choose`.
    """
    return _blocks.largest_ranges(free, count)
