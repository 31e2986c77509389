"""Kernels of filters: rows that differ enough from each other, and weights of similar rows.

Rows are codes of letters, those of a residue below `RESIDUES`; gaps and X are no residues.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native

RESIDUES = 20
"""Codes below this are residues."""

UNKNOWN, GAP = 20, 21

WINDOW = 25
"""Columns on each side over which rows are counted that cover a column."""

LOWEST_IDENTITY = 20
"""The identity, in percent, from which on it is raised where too few rows cover a column."""

LARGEST_STEP = 5
"""By how much it is raised at most."""


@native
def differ_enough(
    one: NDArray[np.uint8], other: NDArray[np.uint8], most: int, least: float
) -> bool:
    """Return whether two rows differ in `most` columns or in the share `least` of the common ones.

    Common columns are those in which both have a residue.
    """
    common = differing = 0
    for i in range(len(one)):
        both = (one[i] < RESIDUES) & (other[i] < RESIDUES)
        common += both
        differing += both & (one[i] != other[i])
    return differing >= most or differing >= least * common


@native
def count_nearby(covered: NDArray[np.int64], nearby: NDArray[np.int64]) -> None:
    """Raise `nearby` to the most rows that cover one of the columns around each column."""
    length = len(covered)
    for i in range(length):
        first = max(0, min(length - 2 * WINDOW, i - WINDOW))
        end = min(length, max(2 * WINDOW, i + WINDOW + 1))
        for j in range(first, end):
            nearby[i] = max(nearby[i], covered[j])


@native
def select_diverse(
    rows: NDArray[np.uint8],
    extents: NDArray[np.int64],
    highest: int,
    diff: int,
    covered: NDArray[np.int64],
    nearby: NDArray[np.int64],
    limits: NDArray[np.int64],
    kept: NDArray[np.uint8],
) -> None:
    """Mark the rows that are kept: hhfilter's rule (HH-suite 3.3, options -id and -diff).

    In turn, a row is kept if its identity with each row kept before it is at most the limit. With
    `diff`, the limit begins at `LOWEST_IDENTITY` and rises to `highest` in several passes, but only
    for rows with a column around which fewer than `diff` rows are kept.

    Parameters
    ----------
    rows
        (n, L) codes, the query first, then the row with the most residues.
    extents
        (n, 3) of each row, the first column with a residue, the last one, and their number.
    highest
        The largest identity of two rows, in percent.
    diff
        The rows that are kept around each column, if there are so many; 0 for one pass.
    covered, nearby, limits
        (L,) work space; `nearby` holds zeros.
    kept
        (n,) zeros, which become 1 where a row is kept.
    """
    count, length = rows.shape
    passes_once = diff <= 0 or diff >= count
    if passes_once:
        diff = count
    identity = highest if passes_once else LOWEST_IDENTITY
    kept[0] = 1
    for i in range(length):
        limits[i] = identity
        covered[i] = extents[0, 0] <= i <= extents[0, 1]
    step = 0
    missing = diff
    while identity <= highest:
        missing_before, missing = missing, 0
        count_nearby(covered, nearby)
        for i in range(length):
            if nearby[i] < diff:
                limits[i] = identity
                missing = max(missing, diff - nearby[i])
        if missing == 0:
            return
        for k in range(1, count):
            if kept[k]:
                continue
            first, last, residues = extents[k, 0], extents[k, 1], extents[k, 2]
            limit = identity
            if identity < 100:
                limit = 0
                for i in range(first, last + 1):
                    limit = max(limit, limits[i])
            # Two rows of 90 % identity are not too similar; the last digits are hhfilter's.
            least = 0.9999 - 0.01 * limit
            is_kept = True
            if identity < 100:
                for j in range(k):
                    if kept[j]:
                        overlap = min(last, extents[j, 1]) - max(first, extents[j, 0]) + 1
                        most = int(least * min(residues, overlap) + 0.999)
                        if not differ_enough(rows[k], rows[j], most, least):
                            is_kept = False
                            break
            if is_kept:
                kept[k] = 1
                if identity < 100:
                    for i in range(first, last + 1):
                        covered[i] += 1
        step = max(1, min(LARGEST_STEP, missing // (missing_before - missing + 1) * step // 2))
        identity += step


@native
def count_similar(rows: NDArray[np.uint8], least: int, counts: NDArray[np.int64]) -> None:
    """Add to each row's count the rows with which it has at least so many letters in common."""
    for k in range(len(rows)):
        counts[k] += 1
        for j in range(k):
            equal = 0
            for i in range(rows.shape[1]):
                equal += rows[k, i] == rows[j, i]
            if equal >= least:
                counts[k] += 1
                counts[j] += 1
