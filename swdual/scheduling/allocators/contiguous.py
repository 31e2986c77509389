"""One range of consecutive processors, the lowest that is long enough, or the job waits.

"Forced contiguity" of Machado Mendonca's thesis, sections 4.5.2 and 5.6.3. Section 5.6.3 takes the
largest range; both chapters refuse the same jobs, and this is chapter 4's choice and that of the
thesis's own program. A range ends at the last processor: going on at the first one, as that program
lets it, is not contiguous by the definition of section 4.3.
"""

from __future__ import annotations

from swdual.scheduling.allocators import _blocks
from swdual.scheduling.platform import Platform
from swdual.scheduling.processors import Ranges

FORCED = True


def choose(free: Ranges, count: int, platform: Platform) -> Ranges | None:
    """Return the low end of the lowest range that is long enough, or None.

    See `Allocator.choose`.
    """
    return _blocks.first_range(free, count)
