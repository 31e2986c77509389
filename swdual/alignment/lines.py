"""Walks back from the end of an alignment, between lines of the matrices that a kernel kept.

A kernel that fills the matrices keeps some rows, with H and F, and some columns, with H and E. Any
tile between these lines can be filled again from its upper and its left line. A walk fills the few
tiles that its alignment passes through.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tile import DONE, IN_H, fill_tile, walk_tile
from swdual.lanes.registers import COLUMNS
from swdual.runtime.native import native


class Layout(NamedTuple):
    """Where a kernel kept the lines of a target.

    Row line r is below row ``(r + 1) * tile_rows - 1``, column line c right of column
    ``(c + 1) * tile_columns - 1``, counted from the first column of the batch.

    Parameters
    ----------
    striped
        0 if the lanes hold targets, side by side: then line r has, for each group of four columns,
        four vectors H and four vectors F, and line c two vectors H and E for each row. 1 if they
        hold the rows of the query (`swdual.backends._striped`): then each column has two vectors H
        and F, in which lane r belongs to line r, and line c has all H, then all E, in striped
        order.
    number_bytes, lanes
        Bytes of a number, and numbers in a vector.
    tile_rows, tile_columns
        Rows and columns between lines.
    lane, first_column, groups
        If not striped: the target's lane, the batch's column in which the target begins, and the
        batch's number of groups.
    """

    striped: int
    number_bytes: int
    lanes: int
    tile_rows: int
    tile_columns: int
    lane: int = 0
    first_column: int = 0
    groups: int = 0


@native
def _number(memory: NDArray[np.int8], size: int, at: int) -> Any:
    """Return number `at` of a kept line, each of `size` bytes, the lowest first.

    So one `walk_lines` reads lines of any score width.
    """
    value = np.int64(memory[at * size + size - 1])
    for k in range(size - 2, -1, -1):
        value = (value << 8) | (np.int64(memory[at * size + k]) & 255)
    return value


@native
def _find_in_row_line(
    layout: tuple[int, int, int, int, int, int, int, int], line: int, column: int
) -> tuple[int, int]:
    """Return the indices of H and F of a column in a row line."""
    striped, _, lanes, _, _, lane, _, groups = layout
    if striped:
        at = column * 2 * lanes + line
        return at, at + lanes
    group, part = column // COLUMNS, column % COLUMNS
    at = ((line * groups + group) * 2 * COLUMNS + part) * lanes + lane
    return at, at + COLUMNS * lanes


@native
def _find_in_column_line(
    layout: tuple[int, int, int, int, int, int, int, int], rows: int, line: int, row: int
) -> tuple[int, int]:
    """Return the indices of H and E of a row in a column line."""
    striped, _, lanes, tile_rows, _, lane, _, _ = layout
    if striped:
        size = tile_rows * lanes
        at = line * 2 * size + row % tile_rows * lanes + row // tile_rows
        return at, at + size
    at = (line * rows + row) * 2 * lanes + lane
    return at, at + lanes


@native
def fill_from_lines(
    query: NDArray[np.int64],
    target: NDArray[np.uint8],
    table: NDArray[np.int64],
    numbers: tuple[int, int, int],
    goal: int,
    layout: tuple[int, int, int, int, int, int, int, int],
    kept_rows: NDArray[np.int8],
    kept_columns: NDArray[np.int8],
    forbidden: NDArray[np.int64],
    bottom: int,
    right: int,
    scratch: NDArray[np.int64],
    directions: NDArray[np.uint8],
) -> tuple[int, int, int, int]:
    """Fill a tile of one target from the lines above and to the left of it.

    The tile ends in row `bottom` and in column `right` of the batch; the other parameters are those
    of `walk_lines`. Return its first row and column, and row and column of the first `goal` in it,
    -1 if there is none.
    """
    #              left        right
    #     corner | above line: H, F       Each line is kept by a kernel, unless it is the edge
    #     -------+------------------      of the matrices, where H is zero and no gap enters.
    #     left   |
    #     line:  |   this tile
    #     H, E   |             bottom
    zero, _, _ = numbers
    _, number_bytes, _, tile_rows, tile_columns, _, first_column, _ = layout
    H, F = scratch[:tile_columns], scratch[tile_columns : 2 * tile_columns]
    first = 2 * tile_columns
    left_H = scratch[first : first + tile_rows]
    left_E = scratch[first + tile_rows : first + 2 * tile_rows]
    band, strip = bottom // tile_rows, right // tile_columns
    top = band * tile_rows
    left = max(strip * tile_columns, first_column)
    width, height = right + 1 - left, bottom + 1 - top
    corner = zero
    for k in range(width):
        H[k] = F[k] = zero
        if band > 0:
            at, other = _find_in_row_line(layout, band - 1, left + k)
            H[k] = _number(kept_rows, number_bytes, at)
            F[k] = _number(kept_rows, number_bytes, other)
    for k in range(height):
        left_H[k] = left_E[k] = zero
        if left > first_column:
            at, other = _find_in_column_line(layout, len(query), strip - 1, top + k)
            left_H[k] = _number(kept_columns, number_bytes, at)
            left_E[k] = _number(kept_columns, number_bytes, other)
    if left > first_column and top > 0:
        at, _ = _find_in_column_line(layout, len(query), strip - 1, top - 1)
        corner = _number(kept_columns, number_bytes, at)
    start = left - first_column
    row, column = fill_tile(
        query[top : bottom + 1],
        target[start : start + width],
        table,
        numbers,
        goal,
        corner,
        H,
        F,
        left_H,
        left_E,
        forbidden,
        top,
        start,
        directions,
    )
    return top, left, row, column


@native
def walk_lines(
    query: NDArray[np.int64],
    target: NDArray[np.uint8],
    table: NDArray[np.int64],
    numbers: tuple[int, int, int],
    layout: tuple[int, int, int, int, int, int, int, int],
    kept_rows: NDArray[np.int8],
    kept_columns: NDArray[np.int8],
    forbidden: NDArray[np.int64],
    end_row: int,
    end_column: int,
    scratch: NDArray[np.int64],
    directions: NDArray[np.uint8],
    runs: NDArray[np.uint32],
) -> tuple[int, int, int]:
    """Walk back from the end of one target's alignment to its beginning.

    Parameters
    ----------
    query, target, table
        Rows of the table, residue codes, and scores: see `fill_tile`.
    numbers
        What stands for score 0, and the first and each further gap residue's cost.
    layout
        See `Layout`.
    kept_rows, kept_columns
        The lines, as bytes.
    forbidden
        Rectangles of the target in which no pair is aligned: see `find_segment`.
    end_row, end_column
        The last cell, in columns of the batch.
    scratch, directions
        Work space: 2 * (tile_rows + tile_columns) numbers, and tile_rows * tile_columns.
    runs
        Receives the operations, last first.

    Returns
    -------
    First row, first column (of the batch), and the number of runs.
    """
    # Tile by tile: fill the tile that ends in the current cell, walk through it to its upper or
    # left edge, and go on in the tile there.
    #
    #     +---------+---------+---------+
    #     | begin o-|-,       |         |     Here four tiles are filled, from the
    #     +---------+ | ------+---------+     right to the left, each only up to
    #     |         | `-------|---o end |     the cell where the walk enters it.
    #     +---------+---------+---------+
    first_column = layout[6]
    row, column = end_row, end_column
    # Numba would compile `walk_tile` for literals, too.
    state: Any = np.int64(IN_H)
    count: Any = np.int64(0)
    no_goal: Any = np.int64(-1)
    while state != DONE and row >= 0 and column >= first_column:
        top, left, _, _ = fill_from_lines(
            query,
            target,
            table,
            numbers,
            no_goal,
            layout,
            kept_rows,
            kept_columns,
            forbidden,
            row,
            column,
            scratch,
            directions,
        )
        row, column, state, count = walk_tile(
            directions, column + 1 - left, row - top, column - left, state, runs, count
        )
        row += top
        column += left
    return row + 1, column + 1, count
