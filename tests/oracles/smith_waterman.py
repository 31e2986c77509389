"""Optimum Smith-Waterman local alignment scores, computed from the definitions.

A local alignment of a query and a target pairs increasing positions of the one with increasing
positions of the other.  Its score is the sum of the pair scores less the price of its gaps, and
a gap of length ``k`` costs ``gap_open + k * gap_extend`` (BLAST's convention).  The empty
alignment is an alignment, so no optimum is below 0.  A gap in one sequence may directly follow a
gap in the other; each is charged on its own.

Three functions of decreasing directness:

- `local_score` is the general-gap recurrence in Python integers: cubic time, a few dozen residues;
- `local_score_gotoh` is Gotoh's recurrence over anti-diagonals in NumPy: thousands of residues;
- `best_ungapped` allows no gap, and so bounds both of the others from below.

References
----------
Smith, T. F. and Waterman, M. S. (1981). Identification of common molecular subsequences.
J. Mol. Biol. 147, 195-197.

Waterman, M. S., Smith, T. F. and Beyer, W. A. (1976). Some biological sequence metrics.
Adv. Math. 20, 367-387.

Gotoh, O. (1982). An improved algorithm for matching biological sequences.
J. Mol. Biol. 162, 705-708.
"""

import operator
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

_INT64_SAFE = 2**61
"""Bound on every magnitude that the NumPy oracles form, so that a sum of two fits in int64."""


def local_score(
    query: str,
    target: str,
    score: Callable[[str, str], int],
    gap_open: int,
    gap_extend: int,
) -> int:
    """Return the optimum local alignment score by the general-gap recurrence.

    ``H(i, j)``, the best score of an alignment that ends at query position ``i`` and target
    position ``j``, is the greatest of 0, ``H(i - 1, j - 1) + score(query[i], target[j])``, and
    ``H(i - k, j) - w(k)`` and ``H(i, j - k) - w(k)`` for every gap length ``k``, where
    ``w(k) = gap_open + k * gap_extend``.  The optimum is the greatest ``H``.

    Parameters
    ----------
    query, target : str
        The sequences, one character a residue; either may be empty.
    score : callable
        ``score(a, b)`` is the score of query residue ``a`` paired with target residue ``b``.
    gap_open, gap_extend : int
        The price of having a gap, and of each residue in it; neither is negative.

    Returns
    -------
    int
        The optimum score, exact at any size.

    Raises
    ------
    ValueError
        If a gap price is negative.
    """
    gap_open, gap_extend = _checked_prices(gap_open, gap_extend)
    rows, columns = len(query), len(target)
    best = 0
    h = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            pair = operator.index(score(query[i - 1], target[j - 1]))
            candidates = [0, h[i - 1][j - 1] + pair]
            candidates += [h[i - k][j] - (gap_open + k * gap_extend) for k in range(1, i + 1)]
            candidates += [h[i][j - k] - (gap_open + k * gap_extend) for k in range(1, j + 1)]
            h[i][j] = max(candidates)
            best = max(best, h[i][j])
    return best


def local_score_gotoh(
    query_codes: npt.ArrayLike,
    target_codes: npt.ArrayLike,
    matrix: npt.ArrayLike,
    gap_open: int,
    gap_extend: int,
) -> int:
    """Return the optimum local alignment score by Gotoh's recurrence over anti-diagonals.

    Parameters
    ----------
    query_codes, target_codes : array_like of int
        The sequences as row and column numbers of `matrix`; either may be empty.
    matrix : array_like of int, two-dimensional
        ``matrix[a][b]`` is the score of query code ``a`` paired with target code ``b``.  It need
        be neither symmetric nor square.
    gap_open, gap_extend : int
        The price of having a gap, and of each residue in it; neither is negative.

    Returns
    -------
    int
        The optimum score, exact.

    Raises
    ------
    TypeError
        If the codes or the matrix are not integers.
    ValueError
        If a gap price is negative, a shape is wrong, or a code lies outside the matrix.
    OverflowError
        If a score or a price is so great that 64-bit arithmetic could not be proved exact.
    """
    gap_open, gap_extend = _checked_prices(gap_open, gap_extend)
    first = gap_open + gap_extend
    if first + gap_extend >= _INT64_SAFE:
        raise OverflowError("gap price too great for exact 64-bit arithmetic")
    query, target, scores = _checked_arrays(query_codes, target_codes, matrix)
    rows, columns = len(query), len(target)
    if rows == 0 or columns == 0:
        return 0

    # Cell (i, j) lies on anti-diagonal d = i + j and is stored at index i of that diagonal's
    # array.  Its left neighbour is at index i of diagonal d - 1, its upper neighbour at index
    # i - 1 of d - 1, its diagonal neighbour at index i - 1 of d - 2.  Index 0 (i = 0) is never
    # written, nor is index d (j = 0) before diagonal d + 1, so border cells keep H = 0.  A border
    # gap score of -first never beats opening a gap from a border cell, so it stands for minus
    # infinity.
    two_back, one_back, h = (np.zeros(rows + 1, dtype=np.int64) for _ in range(3))
    gap_in_query = np.full(rows + 1, -first, dtype=np.int64)  # ends at target j unpaired
    gap_in_target = np.full(rows + 1, -first, dtype=np.int64)  # ends at query i unpaired
    row_offset = query * scores.shape[1]
    flat = scores.ravel()
    reversed_target = target[::-1].copy()

    best = 0
    for d in range(2, rows + columns + 1):
        low, high = max(1, d - columns), min(rows, d - 1)
        here, above = slice(low, high + 1), slice(low - 1, high)
        # Row i meets target index d - i - 1, which is columns - d + i from the end.
        facing = reversed_target[columns - d + low : columns - d + high + 1]
        pair = flat.take(row_offset[low - 1 : high] + facing)
        e = np.maximum(one_back[here] - first, gap_in_query[here] - gap_extend)
        f = np.maximum(one_back[above] - first, gap_in_target[above] - gap_extend)
        pair += two_back[above]
        np.maximum(pair, e, out=pair)
        np.maximum(pair, f, out=pair)
        np.maximum(pair, 0, out=pair)
        gap_in_query[here] = e
        gap_in_target[here] = f
        h[here] = pair
        best = max(best, int(pair.max()))
        two_back, one_back, h = one_back, h, two_back
    return best


def best_ungapped(
    query_codes: npt.ArrayLike, target_codes: npt.ArrayLike, matrix: npt.ArrayLike
) -> int:
    """Return the best score of a segment pair without gaps, over all diagonals.

    Parameters
    ----------
    query_codes, target_codes : array_like of int
        The sequences as row and column numbers of `matrix`; either may be empty.
    matrix : array_like of int, two-dimensional
        ``matrix[a][b]`` is the score of query code ``a`` paired with target code ``b``.

    Returns
    -------
    int
        The best score, 0 where no segment pair scores more.

    Raises
    ------
    TypeError
        If the codes or the matrix are not integers.
    ValueError
        If a shape is wrong or a code lies outside the matrix.
    OverflowError
        If a score is so great that 64-bit arithmetic could not be proved exact.
    """
    query, target, scores = _checked_arrays(query_codes, target_codes, matrix)
    if len(query) == 0 or len(target) == 0:
        return 0
    best = 0
    ending = np.zeros(len(target) + 1, dtype=np.int64)  # best segment that ends at this column
    for code in query:
        ending[1:] = np.maximum(0, ending[:-1] + scores[code][target])
        best = max(best, int(ending.max()))
    return best


def _checked_prices(gap_open: int, gap_extend: int) -> tuple[int, int]:
    """Return both gap prices as Python integers, refusing a negative one.

    Parameters
    ----------
    gap_open, gap_extend : int
        The price of having a gap, and of each residue in it.

    Returns
    -------
    tuple of int
        The same prices.
    """
    prices = operator.index(gap_open), operator.index(gap_extend)
    if min(prices) < 0:
        raise ValueError(f"gap prices must not be negative: {prices}")
    return prices


def _checked_arrays(
    query_codes: npt.ArrayLike, target_codes: npt.ArrayLike, matrix: npt.ArrayLike
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return codes and matrix as int64, refusing what 64-bit arithmetic could get wrong.

    Parameters
    ----------
    query_codes, target_codes : array_like of int
        The sequences as row and column numbers of `matrix`.
    matrix : array_like of int, two-dimensional
        The pair scores.

    Returns
    -------
    tuple of ndarray
        The query, the target and the matrix.
    """
    raw_matrix = np.asarray(matrix)
    if raw_matrix.ndim != 2:
        raise ValueError("the matrix must be two-dimensional")
    raw_codes = np.asarray(query_codes), np.asarray(target_codes)
    for raw in (*raw_codes, raw_matrix):
        if raw.size and raw.dtype.kind not in "iu":
            raise TypeError(f"expected integers, got {raw.dtype}")
    for raw, size in zip(raw_codes, raw_matrix.shape, strict=True):
        if raw.ndim != 1:
            raise ValueError("the codes must be one-dimensional")
        if raw.size and not 0 <= int(raw.min()) <= int(raw.max()) < size:
            raise ValueError(f"a code lies outside 0..{size - 1}")
    if raw_matrix.size:
        greatest = max(abs(int(raw_matrix.min())), abs(int(raw_matrix.max())))
        if greatest * (1 + min(len(raw) for raw in raw_codes)) >= _INT64_SAFE:
            raise OverflowError("pair scores too great for exact 64-bit arithmetic")
    query, target = (raw.astype(np.int64) for raw in raw_codes)
    return query, target, np.ascontiguousarray(raw_matrix, dtype=np.int64)
