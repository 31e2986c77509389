"""Several targets at once, keeping some rows and columns of the matrices, and walks back from them.

The kernel is that of `swdual.backends._gotoh` with three changes. After every `tile` rows it keeps
H and F of the four columns, after every `tile` columns H and E of all rows; and each lane has a
goal, the score that the search found for its target: the first group of columns that reaches it
holds the end of the alignment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tile import DONE, IN_H, fill_tile, walk_tile
from swdual.lanes.registers import COLUMNS
from swdual.runtime.native import native, native_family


@native_family
def grid_kernel(bits: int, lanes: int) -> Callable[..., None]:
    """Return the kernel for numbers of `bits` bits in vectors of `lanes` lanes."""
    from swdual.lanes.cell import go_down, set_profile
    from swdual.lanes.vector import load, reaches, splat, store

    BITS, LANES = bits, lanes
    GROUP = COLUMNS * lanes
    MAX_NUMBER = (1 << (bits - 1)) - 1

    def fill_grid(
        codes: NDArray[np.uint8],
        start: int,
        groups: int,
        event_groups: NDArray[np.int64],
        event_lanes: NDArray[np.int64],
        lane_targets: NDArray[np.int64],
        next_targets: NDArray[np.int64],
        goals: NDArray[np.int64],
        query: NDArray[np.int64],
        letters: NDArray[np.int64],
        low: NDArray[np.int8],
        high: NDArray[np.int8],
        scales: tuple[int, int, int],
        tile: int,
        H: NDArray[np.signedinteger],
        E: NDArray[np.signedinteger],
        profile: NDArray[np.signedinteger],
        lane_goal: NDArray[np.signedinteger],
        lane_reset: NDArray[np.signedinteger],
        lane_best: NDArray[np.signedinteger],
        kept_rows: NDArray[np.signedinteger],
        kept_columns: NDArray[np.signedinteger],
        end_groups: NDArray[np.int64],
        end_rows: NDArray[np.uint8],
    ) -> None:
        """Fill the grid of one batch of a pack (see `Pack`); stop when every goal is reached.

        Row line r has, for each column of the batch, the vectors H and F below row
        ``(r + 1) * tile - 1``; column line c has, for each row, H and E right of column
        ``(c + 1) * tile - 1``. Target t reaches its goal in group ``end_groups[t]`` (counted from
        the batch's first), in blocks of `tile` rows that ``end_rows[t]`` marks; a block may be
        marked because of the row above it.
        """
        zero_number, gx_number, ge_number = scales
        zero = splat(zero_number, BITS, LANES)
        gx = splat(gx_number, BITS, LANES)
        ge = splat(ge_number, BITS, LANES)
        numbers = (zero, gx, ge)
        blocks = (len(query) + tile - 1) // tile
        fresh = True
        event = 0
        missing = len(event_groups)
        for lane in range(LANES):
            lane_reset[lane] = -1
            if lane_targets[lane] >= 0:
                lane_goal[lane] = goals[lane_targets[lane]]
            else:
                lane_goal[lane] = MAX_NUMBER
        for group in range(groups):
            place = (start + group) * GROUP
            set_profile(profile, letters, low, high, codes, place, BITS, LANES)
            reset = load(lane_reset, 0, LANES)
            goal = load(lane_goal, 0, LANES)
            above = zero
            h = f = (zero, zero, zero, zero)
            for block in range(blocks):
                last = min((block + 1) * tile, len(query))
                above, h, f, best = go_down(
                    query,
                    block * tile,
                    last,
                    profile,
                    H,
                    E,
                    fresh,
                    reset,
                    numbers,
                    above,
                    h,
                    f,
                    zero,
                    LANES,
                )
                if reaches(best, goal):
                    store(lane_best, 0, best)
                    for lane in range(LANES):
                        target = lane_targets[lane]
                        if lane_best[lane] >= lane_goal[lane] and target >= 0:
                            if end_groups[target] < 0:
                                end_groups[target] = group
                                missing -= 1
                            if end_groups[target] == group:
                                end_rows[target, block] = 1
                            else:
                                lane_goal[lane] = MAX_NUMBER
                if last < len(query):
                    line = (block * groups + group) * 2 * GROUP
                    store(kept_rows, line, h[0])
                    store(kept_rows, line + LANES, h[1])
                    store(kept_rows, line + 2 * LANES, h[2])
                    store(kept_rows, line + 3 * LANES, h[3])
                    store(kept_rows, line + 4 * LANES, f[0])
                    store(kept_rows, line + 5 * LANES, f[1])
                    store(kept_rows, line + 6 * LANES, f[2])
                    store(kept_rows, line + 7 * LANES, f[3])
            if missing == 0:
                return
            if (group + 1) * COLUMNS % tile == 0:
                line = ((group + 1) * COLUMNS // tile - 1) * len(query) * 2 * LANES
                for i in range(len(query)):
                    store(kept_columns, line + 2 * i * LANES, load(H, i * LANES, LANES))
                    store(kept_columns, line + (2 * i + 1) * LANES, load(E, i * LANES, LANES))
            if fresh:
                fresh = False
                for lane in range(LANES):
                    lane_reset[lane] = 0
            while event < len(event_groups) and event_groups[event] == group:
                lane = event_lanes[event]
                lane_targets[lane] = next_targets[event]
                lane_goal[lane] = MAX_NUMBER
                if next_targets[event] >= 0:
                    lane_goal[lane] = goals[next_targets[event]]
                lane_reset[lane] = -1
                event += 1
                fresh = True

    return fill_grid


@native
def _number(memory: NDArray[np.int8], size: int, at: int) -> Any:
    """Return a number of so many bytes, the lowest first: one `walk_grid` then reads any width."""
    value = np.int64(memory[at * size + size - 1])
    for k in range(size - 2, -1, -1):
        value = (value << 8) | (np.int64(memory[at * size + k]) & 255)
    return value


@native
def walk_grid(
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    table: NDArray[np.int64],
    numbers: tuple[int, int, int],
    goal: int,
    tile: int,
    lanes: int,
    lane: int,
    first_column: int,
    groups: int,
    number_bytes: int,
    kept_rows: NDArray[np.int8],
    kept_columns: NDArray[np.int8],
    end_group: int,
    end_rows: NDArray[np.uint8],
    scratch: NDArray[np.int64],
    directions: NDArray[np.uint8],
    runs: NDArray[np.uint32],
) -> tuple[int, int, int, int, int]:
    """Return first and last row and column of one target's alignment, and its number of runs.

    Parameters
    ----------
    lane, first_column
        Where the target lies in the batch.
    number_bytes, kept_rows, kept_columns
        The bytes of what `fill_grid` kept, so many for each number.
    scratch, directions
        4 * tile numbers, and tile * tile.
    runs
        Receives the operations, last first.
    """
    zero, _, _ = numbers
    H, F = scratch[:tile], scratch[tile : 2 * tile]
    left_H, left_E = scratch[2 * tile : 3 * tile], scratch[3 * tile : 4 * tile]
    # The end: in the group that reached the goal, the first column that has it, the first row.
    row = column = -1
    # Numba would compile `walk_tile` for literals, too.
    state: Any = np.int64(IN_H)
    count: Any = np.int64(0)
    block = 0
    end_column = min((end_group + 1) * COLUMNS, first_column + len(target)) - 1
    searching = True
    end_row = last_column = -1
    while state != DONE:
        if searching:
            while block < len(end_rows) and end_rows[block] == 0:
                block += 1
            if block == len(end_rows):
                searching = False
                row, column = end_row, last_column
                continue
            bottom, right = min((block + 1) * tile, len(query)) - 1, end_column
        else:
            if row < 0 or column < first_column:
                break
            bottom, right = row, column
        band, strip = bottom // tile, right // tile
        top = band * tile
        left = max(strip * tile, first_column)
        width, height = right + 1 - left, bottom + 1 - top
        corner = zero
        for k in range(width):
            H[k] = F[k] = zero
            if band > 0:
                group, part = (left + k) // COLUMNS, (left + k) % COLUMNS
                at = (((band - 1) * groups + group) * 2 * COLUMNS + part) * lanes + lane
                H[k] = _number(kept_rows, number_bytes, at)
                F[k] = _number(kept_rows, number_bytes, at + COLUMNS * lanes)
        for k in range(height):
            left_H[k] = left_E[k] = zero
            if left > first_column:
                at = ((strip - 1) * len(query) + top + k) * 2 * lanes + lane
                left_H[k] = _number(kept_columns, number_bytes, at)
                left_E[k] = _number(kept_columns, number_bytes, at + lanes)
        if left > first_column and top > 0:
            at = ((strip - 1) * len(query) + top - 1) * 2 * lanes + lane
            corner = _number(kept_columns, number_bytes, at)
        place = left - first_column
        found_row, found_column = fill_tile(
            query[top : bottom + 1],
            target[place : place + width],
            table,
            numbers,
            goal,
            corner,
            H,
            F,
            left_H,
            left_E,
            directions,
        )
        if searching:
            if found_row >= 0 and (last_column < 0 or left + found_column < last_column):
                end_row, last_column = top + found_row, left + found_column
            block += 1
            continue
        row, column, state, count = walk_tile(
            directions, width, row - top, column - left, state, runs, count
        )
        row += top
        column += left
    return row + 1, end_row + 1, column + 1 - first_column, last_column + 1 - first_column, count
