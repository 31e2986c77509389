"""The score of a pair of sequences by Gotoh's recurrence, one cell after the other, compiled.

Written from the definition (a gap of k residues costs ``first + (k - 1) * following``), in 64-bit
numbers, a whole row at a time, and the best of all cells: none of what makes the kernels quick.
So are upper bounds.
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
def _bound(query, target, matrix, first, following):
    """Blocks of two residues of each: ``kernels/bound.cuh``, with numbers that are H.

    Returns the bound, and that of alignments that go on behind the last column.
    """
    nothing = np.int64(-(2**60))
    columns = len(query) + len(query) % 2
    across = np.int64(0)
    below = np.zeros(columns + 1, np.int64)  # the lower cells of the blocks above
    gaps = np.zeros(columns // 2, np.int64)
    best = np.int64(0)
    for i in range(0, len(target), 2):
        corner, right, gap = np.int64(0), np.int64(0), np.int64(0)
        for b in range(columns // 2):
            j = 2 * b
            pairs = np.full((2, 2), nothing)
            for r in range(2):
                for c in range(2):
                    if i + r < len(target) and j + c < len(query):
                        pairs[r, c] = matrix[query[j + c], target[i + r]]
            enters = max(np.int64(0), gap, gaps[b])
            one = max(corner + pairs[0, 0], enters)
            two = below[j + 1] + pairs[0, 1]
            three = right + pairs[1, 0]
            four = one + pairs[1, 1]
            opens = max(one, two, three) - first
            inside = max(enters, opens)
            corner = below[j + 2]
            right = max(two, inside)
            below[j + 1], below[j + 2] = max(three, inside), max(four, inside)
            gap = gaps[b] = max(enters - 2 * following, opens, four - first)
            best = max(best, one, two, three, four)
        if columns:
            across = max(across, right, below[columns])
    return best, across


@numba.njit
def _whole_bound(query, target, matrix, first, following):
    return _bound(query, target, matrix, first, following)[0]


@numba.njit
def _halved_bound(query, target, matrix, first, following):
    """The kernels know no bound of the second half that is less than the price of a gap."""
    middle = len(query) // 4 * 2
    one, across = _bound(query[:middle], target, matrix, first, following)
    other = _bound(query[middle:], target, matrix, first, following)[0]
    return max(one, other, across + max(other, first))


@numba.njit
def _each(of_pair, query, residues, starts, lengths, matrix, first, following):
    found = np.empty(len(starts), np.int64)
    for k in range(len(starts)):
        target = residues[starts[k] : starts[k] + lengths[k]]
        found[k] = of_pair(query, target, matrix, first, following)
    return found


def scores(query, targets, scheme):
    """Return the exact score of a query with each of some targets, which are codes.

    A query is codes, too, or (positions, 32) scores that take the place of the scheme's.
    """
    return _of_targets(_score, query, targets, scheme)


def bounds(query, targets, scheme, *, halved=False):
    """Return upper bounds of the scores: see `scores`; of a query as it is, or in halves."""
    of_pair = _halved_bound if halved else _whole_bound
    return _of_targets(of_pair, query, targets, scheme)


def _of_targets(of_pair, query, targets, scheme):
    lengths = np.array([len(target) for target in targets], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    residues = np.frombuffer(b"".join(targets), np.uint8)
    rows, matrix = np.arange(len(query)), query
    if isinstance(query, bytes):
        rows, matrix = np.frombuffer(query, np.uint8).astype(np.int64), scheme.matrix
    prices = scheme.gap_first, scheme.gap_next
    return _each(of_pair, rows, residues, starts, lengths, matrix.astype(np.int64), *prices)
