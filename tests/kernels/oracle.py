"""The score of a pair of sequences by Gotoh's recurrence, one cell after the other, compiled.

Written from the definition (a gap of k residues costs ``first + (k - 1) * following``), in 64-bit
numbers, a whole row at a time, and the best of all cells: none of what makes the kernels quick.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit
def _score(query, target, matrix, first, following):
    lowest = np.int64(-(2**60))
    above = np.zeros(len(target) + 1, np.int64)
    down = np.full(len(target) + 1, lowest)  # the best that ends with a gap in the target
    best = np.int64(0)
    for residue in query:
        diagonal = left = np.int64(0)
        across = lowest  # the best that ends with a gap in the query
        for j in range(len(target)):
            across = max(across - following, left - first)
            down[j + 1] = max(down[j + 1] - following, above[j + 1] - first)
            pair = diagonal + matrix[residue, target[j]]
            diagonal = above[j + 1]
            left = max(np.int64(0), pair, across, down[j + 1])
            above[j + 1] = left
            best = max(best, left)
    return best


@numba.njit
def _scores(query, residues, starts, lengths, matrix, first, following):
    scores = np.empty(len(starts), np.int64)
    for k in range(len(starts)):
        target = residues[starts[k] : starts[k] + lengths[k]]
        scores[k] = _score(query, target, matrix, first, following)
    return scores


def scores(query, targets, scheme):
    """Return the exact score of a query with each of some targets, which are codes.

    A query is codes, too, or (positions, 32) scores that take the place of the scheme's.
    """
    lengths = np.array([len(target) for target in targets], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    residues = np.frombuffer(b"".join(targets), np.uint8)
    rows, matrix = np.arange(len(query)), query
    if isinstance(query, bytes):
        rows, matrix = np.frombuffer(query, np.uint8).astype(np.int64), scheme.matrix
    prices = scheme.gap_first, scheme.gap_next
    return _scores(rows, residues, starts, lengths, matrix.astype(np.int64), *prices)
