"""Sets of processors: between Python's sets and the ranges of the package."""

from __future__ import annotations

import numpy as np


def ranges(numbers):
    """Return a set in the form of the package, one processor at a time."""
    pairs = []
    for number in sorted(numbers):
        if pairs and pairs[-1][1] == number:
            pairs[-1][1] += 1
        else:
            pairs.append([number, number + 1])
    return np.array(pairs, np.int64).reshape(-1, 2)


def numbers(found):
    return {number for first, stop in found.tolist() for number in range(first, stop)}
