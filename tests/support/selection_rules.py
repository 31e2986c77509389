"""Rules that choose among free processors, and what must hold for them to find some."""

from __future__ import annotations

import numpy as np

from swdual.scheduling import processors as sets


def lowest(free, count):
    return sets.lowest(free, count)


def even_begin(free, count):
    """A forced choice: a range that begins at an even number."""
    for first, stop in free.tolist():
        first += first % 2
        if stop - first >= count:
            return np.array([[first, first + count]])
    return None


def suits_lowest(free, count):
    return len(free) >= count


def suits_even(free, count):
    return any(
        set(range(first, first + count)) <= free for first in range(0, max(free, default=0) + 1, 2)
    )


RULES = {"lowest": (lowest, suits_lowest), "forced": (even_begin, suits_even)}
