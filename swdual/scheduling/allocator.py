"""The contract of allocators: which of the free processors a job gets."""

from __future__ import annotations

from typing import Protocol

from swdual.scheduling.platform import Platform
from swdual.scheduling.processors import Ranges

PACKAGE = "swdual.scheduling.allocators"


class Allocator(Protocol):
    """A module in ``swdual.scheduling.allocators``.

    A forced allocator refuses what does not suit it and says so with ``FORCED = True``; if it
    refuses a set it refuses all its parts. A best effort takes the next best. Both find room for
    any job on an empty platform that is large enough.
    """

    FORCED: bool

    def choose(self, free: Ranges, count: int, platform: Platform) -> Ranges | None:
        """Return processors for a job, or None if the free ones will not do.

        Parameters
        ----------
        free
            (ranges, 2) free processors: [first, stop) each, ascending, not adjacent.
        count
            How many are needed.
        platform
            Their topology.

        Returns
        -------
        ndarray
            (ranges, 2) processors, in the same form.
        """
        ...
