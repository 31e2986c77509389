"""Any free processors: those with the lowest numbers (first fit).

Algorithm 2 of Machado Mendonca's thesis, section 4.5.2; and section 5.6.1.
"""

from __future__ import annotations

from swdual.scheduling.allocators import _blocks
from swdual.scheduling.platform import Platform
from swdual.scheduling.processors import Ranges

FORCED = False
LOWEST = True


def choose(free: Ranges, count: int, platform: Platform) -> Ranges | None:
    """Return the lowest free processors, or None if they are too few: see `Allocator.choose`."""
    return _blocks.lowest(free, count)
