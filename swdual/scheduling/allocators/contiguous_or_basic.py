"""The lowest range that is long enough or, where there is none, the lowest processors.

Best effort contiguity as in algorithm 3 of Machado Mendonca's thesis, section 4.5.2 (which, read to
the letter, returns one processor too many). Chapter 5 has another rule: `best_effort_contiguous`.
"""

from __future__ import annotations

from swdual.scheduling.allocators import _blocks
from swdual.scheduling.platform import Platform
from swdual.scheduling.processors import Ranges

FORCED = False


def choose(free: Ranges, count: int, platform: Platform) -> Ranges | None:
    """Return the low end of the lowest range that is long enough, else the lowest processors.

    None if too few are free: see `Allocator.choose`.
    """
    chosen = _blocks.first_range(free, count)
    return _blocks.lowest(free, count) if chosen is None else chosen
