"""One rectangle of the matrices: fill it from its upper and left border, and walk back through it.

The recurrence is that of `swdual.lanes.cell`, in whole numbers: E and F are kept plus the cost of
a gap's first residue. Borders hold what enters the rectangle: H and F from above, H and E from the
left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracebacks import BASE_BACK, BASE_SKIPPED, PAIR, QUERY_ONLY, TARGET_ONLY
from swdual.runtime.native import native

IN_H, IN_E, IN_F, DONE = 0, 1, 2, 3
"""State of a walk: at an H; behind a residue of a gap in E (in F); at the alignment's beginning."""

STOP, DIAGONAL, FROM_E, FROM_F = 0, 1, 2, 3
E_OPENS, F_OPENS = 4, 8
"""Bits of a direction: where H comes from, and whether the gaps that leave the cell open in it."""


@native
def find_segment(forbidden: NDArray[np.int64], row: int, column: int, end: int) -> tuple[int, bool]:
    """Return where the next part of a row ends, and whether its pairs are forbidden.

    Parameters
    ----------
    forbidden
        (rectangles, 4) first row, row after the last, first column, column after the last.
    row, column, end
        The row, the first column of the part, and the column after the last of the row.
    """
    stop = end
    inside = False
    for k in range(len(forbidden)):
        if forbidden[k, 0] <= row < forbidden[k, 1]:
            if forbidden[k, 2] <= column < forbidden[k, 3]:
                if not inside or forbidden[k, 3] > stop:
                    stop = min(end, forbidden[k, 3])
                inside = True
            elif not inside and column < forbidden[k, 2] and forbidden[k, 2] < stop:
                stop = forbidden[k, 2]
    return stop, inside


@native
def fill_tile(
    query: NDArray[np.int64],
    target: NDArray[np.uint8],
    table: NDArray[np.int64],
    numbers: tuple[int, int, int],
    goal: int,
    corner: int,
    H: NDArray[np.int64],
    F: NDArray[np.int64],
    left_H: NDArray[np.int64],
    left_E: NDArray[np.int64],
    forbidden: NDArray[np.int64],
    top: int,
    left: int,
    directions: NDArray[np.uint8],
) -> tuple[int, int]:
    """Fill a rectangle; return row and column of the first `goal` in it, or (-1, -1).

    Parameters
    ----------
    query, target
        The row of the table of each row, and the residue of each column.
    table
        Scores, each row with the 32 codes: of the codes that a query has, or of its positions.
    numbers
        What stands for score 0, and the costs of a gap's first residue and of each further one.
    goal
        An H to look for: in the first column that has it, the first row.
    corner
        The H up and left of the first cell.
    H, F
        What enters from above, for each column at least; on return, what leaves below.
    left_H, left_E
        What enters from the left, for each row at least.
    forbidden, top, left
        Rectangles in which no pair is aligned (see `find_segment`), and where this one begins among
        their rows and columns.
    directions
        (rows * columns,) receives the directions.
    """
    # Row by row. Before cell (i, j): `diagonal` is H(i-1, j-1), H[j] and F[j] are H(i-1, j) and
    # F(i, j), `e` is E(i, j), and H[j-1] is H(i, j-1) already:
    #
    #     diagonal   H[j], F[j]     row i - 1
    #     H[j-1]  e  (i, j)         row i
    #
    # Ties decide which of several best alignments is walked: of STOP, DIAGONAL, FROM_E, FROM_F the
    # first that explains h, hence the tests in reverse order. A gap opens where it can (>=), so
    # gaps are as short as they can be.
    zero, gx, ge = numbers
    columns = len(target)
    goal_row = goal_column = -1
    above_left = corner
    at = 0
    for i in range(len(query)):
        row = table[query[i]]
        diagonal = above_left
        above_left = left_H[i]
        e = left_E[i]
        start = 0
        while start < columns:
            stop, inside = find_segment(forbidden, top + i, left + start, left + columns)
            stop -= left
            for j in range(start, stop):
                f = F[j]
                pair = zero - 1 if inside else diagonal + row[target[j]]
                h = max(pair, zero, max(e, f) - gx)
                diagonal = H[j]
                direction = FROM_F
                if h == e - gx:
                    direction = FROM_E
                if h == pair:
                    direction = DIAGONAL
                if h == zero:
                    direction = STOP
                e -= ge
                f -= ge
                if h >= e:
                    direction += E_OPENS
                    e = h
                if h >= f:
                    direction += F_OPENS
                    f = h
                H[j] = h
                F[j] = f
                directions[at] = direction
                at += 1
                if h == goal and (goal_column < 0 or j < goal_column):
                    goal_row, goal_column = i, j
            start = stop
    return goal_row, goal_column


@native
def walk_tile(
    directions: NDArray[np.uint8],
    columns: int,
    row: int,
    column: int,
    state: int,
    runs: NDArray[np.uint32],
    count: int,
) -> tuple[int, int, int, int]:
    """Walk back from a cell until the alignment begins or the rectangle ends.

    Parameters
    ----------
    directions, columns
        What `fill_tile` wrote, and the columns of its rectangle.
    row, column, state
        The cell of the rectangle where the walk is, and `IN_H`, `IN_E` or `IN_F`.
    runs, count
        Operations so far, last first: ``length << 4 | operation``.

    Returns
    -------
    Row and column (-1 where the rectangle was left), state and number of runs.
    """
    # In E (F) the walk came through a gap. If the gap opened in this cell, H of this cell explains
    # it, and the walk goes on as from an H; otherwise one more residue belongs to the gap.
    while row >= 0 and column >= 0:
        direction = directions[row * columns + column]
        source = direction & 3
        if (
            state == IN_H
            or (state == IN_E and direction & E_OPENS)
            or (state == IN_F and direction & F_OPENS)
        ):
            operation = source
        else:
            operation = FROM_E if state == IN_E else FROM_F
        if operation == STOP:
            return row, column, DONE, count
        if operation == DIAGONAL:
            kind, state = PAIR, IN_H
            row -= 1
            column -= 1
        elif operation == FROM_E:
            kind, state = TARGET_ONLY, IN_E
            column -= 1
        else:
            kind, state = QUERY_ONLY, IN_F
            row -= 1
        if count > 0 and runs[count - 1] & 15 == kind:
            runs[count - 1] += 16
        else:
            runs[count] = 16 | kind
            count += 1
    return row, column, state, count


@native
def tally(
    query: NDArray[np.uint8],
    residues: NDArray[np.uint8],
    starts: NDArray[np.int64],
    numbers: NDArray[np.int64],
    run_starts: NDArray[np.int64],
    runs: NDArray[np.uint32],
    positive_pairs: NDArray[np.int64],
    step: int,
) -> None:
    """Count what alignments consist of.

    Parameters
    ----------
    query, residues, starts
        Residue codes of the query, and of the targets, and (alignments,) where each target begins.
    numbers
        (9, alignments) `swdual.alignment.tracebacks.COLUMNS`: the places; receives the others.
    run_starts, runs
        (alignments + 1,) where the operations of each alignment begin; the operations, first to
        last: ``length << 4 | operation``.
    positive_pairs
        (32, 32) 1 for each pair of letters that counts as positive, else 0.
    step
        Codes of the query between two that follow each other: 3 where it is all frames of a strand.
        Frameshifts are no columns.
    """
    for n in range(len(starts)):
        length = identities = positives = openings = gaps = 0
        i, j = numbers[0, n], starts[n] + numbers[2, n]
        for run in runs[run_starts[n] : run_starts[n + 1]]:
            operation, count = run & 15, int(run >> 4)
            if operation == BASE_SKIPPED:
                i += 1
                continue
            if operation == BASE_BACK:
                i -= 1
                continue
            length += count
            if operation == PAIR:
                for k in range(count):
                    residue = query[i + step * k]
                    identities += int(residue == residues[j + k])
                    positives += positive_pairs[residue, residues[j + k]]
                i += step * count
                j += count
            else:
                openings += 1
                gaps += count
                if operation == QUERY_ONLY:
                    i += step * count
                else:
                    j += count
        numbers[4, n], numbers[5, n], numbers[6, n] = length, identities, positives
        numbers[7, n], numbers[8, n] = openings, gaps
