"""Alignments of translated nucleotides with frameshifts: all frames of a strand in one matrix.

Row i is the codon that begins with base i. The pair before one in row i lies in row i - 3; after a
frameshift, in row i - 2 (a base is read twice) or i - 4 (a base is skipped). X. Guan and E. C.
Uberbacher, CABIOS 12 (1996) 31-40; frameshifts next to pairs only, as in DIAMOND.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.pairs import Pairs, find_residues
from swdual.alignment.tracebacks import BASE_BACK, BASE_SKIPPED, PAIR, QUERY_ONLY, TARGET_ONLY
from swdual.backend import Progress
from swdual.errors import EngineError
from swdual.runtime.native import native
from swdual.sequences.translation import CODON

_STOP, _SAME, _NEAR, _FAR, _FROM_E, _FROM_F = 0, 1, 2, 3, 4, 5
_E_OPENS, _F_OPENS = 8, 16
"""Directions: where H comes from, and whether the gaps that leave the cell open in it."""


@native
def fill_frames(
    query: NDArray[np.int64],
    target: NDArray[np.uint8],
    table: NDArray[np.int64],
    costs: tuple[int, int, int],
    goal: int,
    H: NDArray[np.int32],
    E: NDArray[np.int32],
    previous: NDArray[np.int32],
    F: NDArray[np.int32],
    tile: int,
    kept: NDArray[np.int32],
    directions: NDArray[np.uint8],
) -> tuple[int, int]:
    """Fill columns; return row and column of the first cell with the score `goal`, or (-1, -1).

    Parameters
    ----------
    query, target, table
        The row of the table of each row, the residue of each column, and the scores.
    costs
        Of a gap's first residue, of each further one, and of a frameshift.
    goal
        A score to look for, column by column; filling stops there. -1: none.
    H, E
        (rows,) the column before the first, and what enters from it; on return, the last column.
    previous, F
        (rows,) work space.
    tile
        Distance of the columns that are kept.
    kept
        (columns // tile, 2, rows) receives H and E behind every `tile` columns; may be empty.
    directions
        (columns * rows,) receives the directions; may be empty.
    """
    first_gap, next_gap, shift = costs
    rows = len(query)
    for j in range(len(target)):
        residue = target[j]
        for i in range(rows):
            previous[i] = H[i]
        for i in range(rows):
            same = previous[i - 3] if i >= 3 else 0
            near = previous[i - 2] - shift if i >= 2 else -shift
            far = previous[i - 4] - shift if i >= 4 else -shift
            pair = max(same, near, far) + table[query[i], residue]
            f = -first_gap
            if i >= 3:
                f = max(H[i - 3] - first_gap, F[i - 3] - next_gap)
            e = E[i]
            h = max(0, pair, e, f)
            H[i] = h
            F[i] = f
            E[i] = max(h - first_gap, e - next_gap)
            if len(directions) > 0:
                direction = _FROM_F
                if h == e:
                    direction = _FROM_E
                if h == pair:
                    direction = _FAR
                    if near >= far:
                        direction = _NEAR
                    if same >= max(near, far):
                        direction = _SAME
                if h == 0:
                    direction = _STOP
                if h - first_gap >= e - next_gap:
                    direction += _E_OPENS
                if h - first_gap >= f - next_gap:
                    direction += _F_OPENS
                directions[j * rows + i] = direction
            if h == goal:
                return i, j
        if len(kept) > j // tile and (j + 1) % tile == 0:
            for i in range(rows):
                kept[j // tile, 0, i] = H[i]
                kept[j // tile, 1, i] = E[i]
    return -1, -1


@native
def walk_frames(
    directions: NDArray[np.uint8],
    rows: int,
    row: int,
    column: int,
    state: int,
    runs: NDArray[np.uint32],
    count: int,
) -> tuple[int, int, int, int]:
    """Walk back from a cell until the alignment begins or the columns end.

    Parameters
    ----------
    directions, rows
        What `fill_frames` wrote, and the rows of the matrix.
    row, column, state
        Where the walk is; the state is 0 in an H, 1 in a gap of E, 2 in a gap of F, 3 at the end.
    runs, count
        Operations so far, last first: ``length << 4 | operation``.

    Returns
    -------
    Row, column, state and number of runs.
    """
    while column >= 0:
        direction = directions[column * rows + row]
        operation = direction & 7
        if state == 1 and not direction & _E_OPENS:
            operation = _FROM_E
        elif state == 2 and not direction & _F_OPENS:
            operation = _FROM_F
        if operation == _STOP:
            return row, column, 3, count
        kind, state, step, shift = PAIR, 0, 3, 0
        if operation == _FROM_E:
            kind, state, step = TARGET_ONLY, 1, 0
        elif operation == _FROM_F:
            kind, state = QUERY_ONLY, 2
        elif operation == _NEAR:
            step, shift = 2, BASE_BACK
        elif operation == _FAR:
            step, shift = 4, BASE_SKIPPED
        if count > 0 and runs[count - 1] & 15 == kind:
            runs[count - 1] += 16
        else:
            runs[count] = 16 | kind
            count += 1
        if shift:
            runs[count] = 16 | shift
            count += 1
        row -= step
        if operation != _FROM_F:
            column -= 1
        if row < 0:
            return row, column, 3, count
    return row, column, state, count


def trace_frames(
    pairs: Pairs, scores: NDArray[np.int64], shift: int, progress: Progress
) -> tuple[NDArray[np.int64], list[NDArray[np.uint32]]]:
    """Return the alignments of a strand with targets: numbers as in `Tracebacks`, and operations.

    Of the numbers only the first four are known. Places in the query are rows.

    Parameters
    ----------
    pairs
        The query, whose rows are those of all frames of a strand, and its targets.
    scores
        (targets,) the scores; where one is 0 the alignment is empty.
    shift
        The cost of a frameshift.
    progress
        Called with 0 now and then; may raise to stop the work.

    Raises
    ------
    EngineError
        If the best alignment of a target has another score than given.
    """
    numbers = np.zeros((9, len(scores)), np.int64)
    runs = [np.empty(0, np.uint32)] * len(scores)
    open_cost, next_gap = pairs.gap_penalties
    costs = open_cost + next_gap, next_gap, shift
    table = pairs.widths[-1].table
    for k in np.flatnonzero(scores > 0).tolist():
        progress(0)
        found = _trace(pairs.query, find_residues(pairs.targets, k), table, costs, int(scores[k]))
        if found is None:
            raise EngineError(f"the best alignment of target {k} does not have the score")
        numbers[:4, k], runs[k] = found
    return numbers, runs


def _trace(
    query: NDArray[np.int64],
    target: NDArray[np.uint8],
    table: NDArray[np.int64],
    costs: tuple[int, int, int],
    score: int,
) -> tuple[tuple[int, int, int, int], NDArray[np.uint32]] | None:
    """Return the places and the operations of the best alignment, or None if its score differs."""
    # Columns are kept at such a distance that they take as much memory as the directions of the
    # columns between two of them: 8 bytes a row and 1 byte a cell.
    columns = len(target)
    tile = max(16, math.isqrt(8 * columns))
    nothing = np.empty((0, 2, 0), np.int32), np.empty(0, np.uint8)
    first_row = 0
    longest = _bound_rows(columns, int(table.max()), costs[1])
    if len(query) > 2 * longest:  # look at the rows that the alignment can have only
        H, E = _begin(len(query), costs[0])
        space = np.empty(len(query), np.int32), np.empty(len(query), np.int32)
        last, _ = fill_frames(query, target, table, costs, score, H, E, *space, tile, *nothing)
        first_row = max(0, last + 1 - longest)
        query = query[first_row : last + 1]
    rows = len(query)
    kept = np.empty((columns // tile, 2, rows), np.int32)
    H, E = _begin(rows, costs[0])
    space = np.empty(rows, np.int32), np.empty(rows, np.int32)
    end = fill_frames(query, target, table, costs, score, H, E, *space, tile, kept, nothing[1])
    if end[1] < 0:
        return None
    row, column, state, count = *end, 0, 0
    buffer = np.empty(2 * (rows // CODON + columns) + 8, np.uint32)
    while column >= 0 and state != 3:
        strip = column // tile
        first = strip * tile
        H, E = _begin(rows, costs[0]) if strip == 0 else kept[strip - 1].copy()
        part = target[first : column + 1]
        directions = np.empty(rows * len(part), np.uint8)
        fill_frames(query, part, table, costs, -1, H, E, *space, tile, nothing[0], directions)
        row, inside, state, count = walk_frames(
            directions, rows, row, column - first, state, buffer, count
        )
        column = first + inside
    operations = buffer[:count][::-1].copy()
    last_row = first_row + end[0]
    first = _find_first_row(last_row, operations)
    return (first, last_row + 1, column + 1, end[1] + 1), operations


def _bound_rows(columns: int, largest: int, next_gap: int) -> int:
    """Return the most rows that an alignment can pass through.

    Pairs score at most `largest` each, and residues of the query in gaps cost as much at most.
    """
    if next_gap == 0:
        return 1 << 62
    residues = columns + columns * largest // next_gap
    return (CODON + 1) * residues + CODON


def _find_first_row(last: int, operations: NDArray[np.uint32]) -> int:
    """Return the row of the first residue of an alignment that ends in row `last`."""
    counts, kinds = operations >> 4, operations & 15
    residues = int(counts[(kinds == PAIR) | (kinds == QUERY_ONLY)].sum())
    shifts = int((kinds == BASE_SKIPPED).sum()) - int((kinds == BASE_BACK).sum())
    return last - CODON * (residues - 1) - shifts


def _begin(rows: int, first_gap: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return H before the first column, and what enters E."""
    return np.zeros(rows, np.int32), np.full(rows, -first_gap, np.int32)
