"""Intervals of masks that a search computes, because the database does not hold them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


class IntervalCache:
    """The intervals of masks that were computed, for the blocks where they were needed.

    Attributes
    ----------
    checked
        The sections with stored intervals or taxonomy ids that were found to be consistent.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._computed: dict[tuple[str, int], NDArray[np.uint32]] = {}
        self.checked: set[str] = set()

    def find(
        self, block: int, mask: str, compute: Callable[[], NDArray[np.uint32]]
    ) -> NDArray[np.uint32]:
        """Return the intervals of a mask in a block; one thread computes them, others wait."""
        with self._lock:
            if (mask, block) not in self._computed:
                self._computed[mask, block] = compute()
            return self._computed[mask, block]
