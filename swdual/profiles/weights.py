"""Rows of a multiple alignment, purged and weighted as in PSI-BLAST.

Near-identical stretches of rows are removed. Each column has a block: the columns that all its rows
cover. Rows are weighted in it by the method of Henikoff and Henikoff (1994, Journal of Molecular
Biology 243, 574-578), as PSI-BLAST has it (Altschul et al. 1997, Nucleic Acids Research 25,
3389-3402). Narrow blocks can be widened, after PSI-BLASTexB (Oda, Lim and Tomii 2017, BMC
Bioinformatics 18, 288). All codes are NCBI's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swdual.profiles.letters import NCBI_EMPTY, NCBI_GAP, NCBI_LETTERS, NCBI_X
from swdual.runtime.native import native

SELF_IDENTITY = 1.0
"""A stretch of a row is removed from this share of identities with the query."""

NEAR_IDENTITY = 0.94
"""A stretch of a row is removed from this share of identities with a row before it."""

COMPARED = 32
"""Columns of two rows that are compared before it is seen whether they differ enough."""

NCBI_CODES = len(NCBI_LETTERS)

MAX_DISTINCT = 20
"""More distinct letters in a column count as this many."""


@dataclass(frozen=True, eq=False)
class ColumnWeights:
    """What the rows of a multiple alignment say about each of its L columns.

    Parameters
    ----------
    frequencies
        (L, 28) weight of the rows that have a letter, by NCBI's codes; with sum 1, or 0 where only
        the query has a letter.
    rows
        (L,) int64 rows that are aligned, the query included.
    informative
        (L,) whether at least two rows are aligned; one is enough if the query is none.
    left, right
        (L,) int64 first and last column of the block; beyond the ends where only the query is.
    distinct
        (L, 21) int64 how many columns of the block have 0 to 20 distinct letters.
    gapless
        (L,) weight of the rows that have no gap.
    letters
        (L,) int64 sum of the distinct letters of the block's columns, gaps included.
    """

    frequencies: NDArray[np.float64]
    rows: NDArray[np.int64]
    informative: NDArray[np.bool_]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    distinct: NDArray[np.int64]
    gapless: NDArray[np.float64]
    letters: NDArray[np.int64]


def weigh(
    query: NDArray[np.uint8],
    rows: NDArray[np.uint8],
    left_out: NDArray[np.bool_] | None = None,
    min_block_width: int = 0,
    *,
    ignores_query: bool = False,
) -> ColumnWeights:
    """Return the weights of the columns of a multiple alignment.

    Parameters
    ----------
    query
        (L,) letters of the query.
    rows
        (n, L) letters, gaps and `NCBI_EMPTY`; the best row first. No stretch begins or ends with a
        gap.
    left_out
        (L,) the columns in which the query is no row; None if it is one in all.
    min_block_width
        Blocks of fewer columns are widened: see `widen_blocks`. Where a row of the column is not
        aligned in its block then, it counts as a gap.
    ignores_query
        Whether the query is no row in any column. Stretches that repeat it are removed
        nevertheless, but for columns of `left_out`.
    """
    length = len(query)
    min_rows = 1 if ignores_query else 2
    present = np.ones(length, np.uint8) if left_out is None else (~left_out).astype(np.uint8)
    kept = np.ascontiguousarray(rows)[(rows != NCBI_EMPTY).any(axis=1)]
    bounds = np.empty((len(kept), 3), np.int64)
    purge(np.where(present, query, np.uint8(NCBI_EMPTY)), kept, bounds)
    kept = np.concatenate([query[None], kept[(kept != NCBI_EMPTY).any(axis=1)]])
    if ignores_query:
        present[:] = 0
    left = np.full(length, -1, np.int64)
    right = np.full(length, length, np.int64)
    find_blocks(kept[1:], left, right)
    widen_blocks(left, right, min_block_width)
    counts = np.count_nonzero(kept[1:] != NCBI_EMPTY, axis=0) + present
    found = ColumnWeights(
        np.zeros((length, NCBI_CODES)),
        counts,
        counts >= min_rows,
        left,
        right,
        np.zeros((length, MAX_DISTINCT + 1), np.int64),
        np.zeros(length),
        np.zeros(length, np.int64),
    )
    weigh_rows(
        found.informative,
        present,
        np.ascontiguousarray(kept.T),
        np.ascontiguousarray(np.where(kept == NCBI_EMPTY, np.uint8(NCBI_GAP), kept).T),
        left,
        right,
        np.empty((2, len(kept)), np.int64),
        np.empty(len(kept)),
        np.empty((2, NCBI_CODES)),
        found.frequencies,
        found.distinct,
        found.gapless,
        found.letters,
    )
    return found


@native
def find_bounds(row: NDArray[np.uint8], bounds: NDArray[np.int64]) -> None:
    """Write where the letters of a row begin and end, and whether nothing between them is empty."""
    first, end, count = len(row), 0, 0
    for k in range(len(row)):
        if row[k] != NCBI_EMPTY:
            first = min(first, k)
            end = k + 1
            count += 1
    bounds[0] = first
    bounds[1] = end
    bounds[2] = 1 if end - first == count else 0


@native
def are_different(
    one: NDArray[np.uint8], other: NDArray[np.uint8], first: int, end: int, limit: float
) -> bool:
    """Return whether two rows share too few letters, where one stretch covers both."""
    counted = identical = 0
    # All columns count at most. One difference more than those allowed, as fractions are rounded.
    allowed = (1.0 - limit) * (end - first) + 1.0
    for start in range(first, end, COMPARED):
        for k in range(start, min(start + COMPARED, end)):
            a, b = one[k], other[k]
            known = (a != NCBI_X) & (b != NCBI_X)
            counted += known
            identical += known & (a == b) & (a != NCBI_EMPTY)
        if counted - identical > allowed:
            return True
    return counted == 0 or identical / counted < limit


@native
def purge_pair(
    one: NDArray[np.uint8],
    other: NDArray[np.uint8],
    first: int,
    end: int,
    is_query: bool,
    limit: float,
) -> bool:
    """Empty the stretches of a row that are too similar to another one; return if there are any.

    Parameters
    ----------
    one, other
        (L,) letters; stretches of `other` are emptied.
    first, end
        The columns where either is aligned.
    is_query
        Whether `one` is the query: only the other row tells where stretches are.
    limit
        Share of identities, from 0 to 1, from which a stretch is emptied.
    """
    # A stretch begins with a letter, not with X, but for one in the first column. Its length is
    # counted, so that an X that it does not begin with belongs to it.
    counting = first == 0
    start, counted, unknown, identical = first, 0, 0, 0
    purged = False
    for k in range(first, end + 1):
        inside = k < end and (other[k] != NCBI_EMPTY or (not is_query and one[k] != NCBI_EMPTY))
        if not inside:
            if counting and counted > 0 and identical / counted >= limit:
                for m in range(start, start + counted + unknown):
                    other[m] = NCBI_EMPTY
                purged = True
            counting = False
        elif one[k] == NCBI_X or other[k] == NCBI_X:
            if counting:
                unknown += 1
        else:
            if not counting:
                start, counted, unknown, identical = k, 0, 0, 0
                counting = True
            counted += 1
            if one[k] == other[k]:
                identical += 1
    return purged


@native
def purge(query: NDArray[np.uint8], rows: NDArray[np.uint8], bounds: NDArray[np.int64]) -> None:
    """Empty the stretches of rows that tell nothing new.

    Parameters
    ----------
    query, rows
        (L,) and (n, L) letters; rows are changed.
    bounds
        (n, 3) work space.
    """
    count = len(rows)
    for k in range(count):
        find_bounds(rows[k], bounds[k])
        if purge_pair(query, rows[k], bounds[k, 0], bounds[k, 1], True, SELF_IDENTITY):
            find_bounds(rows[k], bounds[k])
    for distance in range(1, count):
        for k in range(count - distance):
            m = k + distance
            first, end = min(bounds[k, 0], bounds[m, 0]), max(bounds[k, 1], bounds[m, 1])
            if bounds[k, 1] == 0 or bounds[m, 1] == 0:
                continue
            connected = bounds[k, 0] <= bounds[m, 1] and bounds[m, 0] <= bounds[k, 1]
            if (
                connected
                and bounds[k, 2]
                and bounds[m, 2]
                and are_different(rows[k], rows[m], first, end, NEAR_IDENTITY)
            ):
                continue
            if purge_pair(rows[k], rows[m], first, end, False, NEAR_IDENTITY):
                find_bounds(rows[m], bounds[m])


@native
def find_blocks(rows: NDArray[np.uint8], left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
    """Write the first and the last column of the block of each column.

    Parameters
    ----------
    rows
        (n, L) letters, without the query.
    left, right
        (L,) -1 and L; receive the columns.
    """
    count, length = rows.shape
    for row in range(count):
        k = 0
        while k < length:
            if rows[row, k] == NCBI_EMPTY:
                k += 1
                continue
            start = k
            while k < length and rows[row, k] != NCBI_EMPTY:
                k += 1
            for m in range(start, k):
                left[m] = max(left[m], start)
                right[m] = min(right[m], k - 1)


def widen_blocks(left: NDArray[np.int64], right: NDArray[np.int64], min_width: int) -> None:
    """Widen the blocks that are narrower than a number of columns.

    A narrow block reaches half the width, rounded down, to both sides of its column, or as far as
    it did; it ends with the query. PSI-BLASTexB has 25 columns: 12 on each side. It widens after
    each row, so that its blocks can depend on the order of the rows; here all rows come first.

    Parameters
    ----------
    left, right
        (L,) first and last column of each block; -1 and L where only the query is. Changed.
    min_width
        The number of columns.
    """
    narrow = np.flatnonzero((left >= 0) & (right - left + 1 < min_width))
    half = min_width // 2
    left[narrow] = np.maximum(0, np.minimum(left[narrow], narrow - half))
    right[narrow] = np.minimum(len(right) - 1, np.maximum(right[narrow], narrow + half))


@native
def weigh_rows(
    informative: NDArray[np.bool_],
    present: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    filled: NDArray[np.uint8],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    members: NDArray[np.int64],
    weights: NDArray[np.float64],
    tallies: NDArray[np.float64],
    frequencies: NDArray[np.float64],
    distinct: NDArray[np.int64],
    gapless: NDArray[np.float64],
    letters: NDArray[np.int64],
) -> None:
    """Weigh the rows of each column.

    Parameters
    ----------
    informative
        (L,) the columns to weigh.
    present
        (L,) 1 where the query is a row.
    columns, filled
        (L, n) letters, the query's first; the same with gaps where rows are not aligned.
    left, right
        (L,) blocks.
    members, weights, tallies
        Work space: rows of a column and of the one before, their weights; counts of letters.
    frequencies, distinct, gapless, letters
        Receive the results: see `ColumnWeights`.
    """
    length, count = columns.shape
    before = 0
    for column in range(length):
        now, then = column % 2, 1 - column % 2
        size = 0
        for row in range(count):
            if columns[column, row] != NCBI_EMPTY and (row > 0 or present[column]):
                members[now, size] = row
                size += 1
        same = size == before and column > 0
        if same:
            same = left[column] == left[column - 1] and right[column] == right[column - 1]
        for k in range(size):
            same = same and members[now, k] == members[then, k]
        before = size
        if not informative[column]:
            continue
        if same:
            letters[column] = letters[column - 1]
            for k in range(MAX_DISTINCT + 1):
                distinct[column, k] = distinct[column - 1, k]
        else:
            letters[column] = weigh_block(
                filled[left[column] : right[column] + 1],
                members[now, :size],
                tallies,
                weights[:size],
                distinct[column],
            )
        for k in range(size):
            letter = columns[column, members[now, k]]
            frequencies[column, letter] += weights[k]
            if letter != NCBI_GAP:
                gapless[column] += weights[k]


@native
def weigh_block(
    block: NDArray[np.uint8],
    members: NDArray[np.int64],
    tallies: NDArray[np.float64],
    weights: NDArray[np.float64],
    distinct: NDArray[np.int64],
) -> int:
    """Weigh the rows of a block; return the sum of the distinct letters of its columns.

    Parameters
    ----------
    block
        (columns, n) letters.
    members
        The rows that take part.
    tallies
        Work space.
    weights
        Receives a weight for each of these rows, with sum 1.
    distinct
        Receives how many columns have 0 to 20 distinct letters; 0 before.
    """
    size = len(members)
    width = len(block)
    for k in range(size):
        weights[k] = 0.0
    total = 0
    varies = False
    counts, shares = tallies[0], tallies[1]
    for column in range(width):
        for letter in range(NCBI_CODES):
            counts[letter] = 0.0
        for k in range(size):
            counts[block[column, members[k]]] += 1.0
        kinds = known = 0
        for letter in range(NCBI_CODES):
            if counts[letter] > 0.0:
                kinds += 1
                if letter not in (NCBI_GAP, NCBI_X):
                    known += 1
        for letter in range(NCBI_CODES):
            if counts[letter] > 0.0:
                shares[letter] = 1.0 / (counts[letter] * kinds)
        for k in range(size):
            weights[k] += shares[block[column, members[k]]]
        distinct[min(known, MAX_DISTINCT)] += 1
        total += kinds
        varies = varies or kinds > 1
    if not varies:
        for k in range(size):
            weights[k] = 1.0 / size
        return total
    weight = 0.0
    for k in range(size):
        weights[k] /= width
        weight += weights[k]
    for k in range(size):
        weights[k] /= weight
    return total
