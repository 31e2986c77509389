"""The upper bound of Smith-Waterman scores by its definition: one block of 2 x 2 after the other.

Whole numbers of any size, and a dictionary for everything that has a place.  `docs/bound.md` has
the definition, and the proof that no bound is below the score.
"""

import math
from collections.abc import Sequence


def bound(
    query: Sequence[int],
    target: Sequence[int],
    matrix: Sequence[Sequence[int]],
    gap_open: int,
    gap_extend: int,
) -> int:
    """Return the upper bound of the best local alignment of two sequences.

    Parameters
    ----------
    query, target : sequence of int
        Rows and columns of the matrix: codes, or the positions of a profile.
    matrix : two-dimensional sequence of int
        The score of each pair.
    gap_open, gap_extend : int
        A gap of k residues costs ``gap_open + k * gap_extend``.
    """

    def pair(i: int, j: int) -> float:
        """Return the score of a pair; a residue behind the end pairs with none."""
        inside = i < len(query) and j < len(target)
        return int(matrix[query[i]][target[j]]) if inside else -math.inf

    value: dict[tuple[int, int], float] = {}
    gap: dict[tuple[int, int], float] = {}
    best = 0.0
    for a in range((len(query) + 1) // 2):
        for b in range((len(target) + 1) // 2):
            i, j = 2 * a, 2 * b
            entering = max(0, gap.get((a, b - 1), 0), gap.get((a - 1, b), 0))
            upper_left = max(value.get((i - 1, j - 1), 0) + pair(i, j), entering)
            upper_right = value.get((i - 1, j), 0) + pair(i, j + 1)
            lower_left = value.get((i, j - 1), 0) + pair(i + 1, j)
            lower_right = upper_left + pair(i + 1, j + 1)
            highest = max(upper_left, upper_right, lower_left, lower_right)
            opened = highest - gap_open - gap_extend
            inside = max(entering, opened)
            value[i, j + 1] = max(upper_right, inside)
            value[i + 1, j] = max(lower_left, inside)
            value[i + 1, j + 1] = max(lower_right, inside)
            gap[a, b] = max(entering - 2 * gap_extend, opened)
            best = max(best, highest)
    return int(best)
