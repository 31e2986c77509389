"""Several targets at once, keeping some rows and columns of the matrices, and walks back from them.

The kernel is that of `swdual.backends._gotoh` with four changes. After every `tile` rows it keeps
H and F of the four columns, after every `tile` columns H and E of all rows. Each lane has a goal,
the score that the search found for its target: the first group of columns that reaches it holds the
end of the alignment. If the score is not known, the goal rises with the best cell. And there may be
rectangles in which no pair is aligned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tile import DONE, IN_H, fill_tile, walk_tile
from swdual.lanes.registers import COLUMNS
from swdual.lanes.score_widths import MATRIX, PER_TARGET, PROFILE
from swdual.runtime.native import native, native_family
from swdual.sequences.alphabet import PAD


@native_family
def grid_kernel(bits: int, lanes: int, source: int) -> Callable[..., None]:
    """Return the kernel for one score width.

    Parameters
    ----------
    bits
        Bits of a score: 8, 16 or 32.
    lanes
        Scores in a vector; their bytes are one register.
    source
        Where scores come from: `MATRIX`, `PER_TARGET` or `PROFILE`.
    """
    from swdual.lanes.cell import (
        go_down,
        go_down_positions,
        set_profile,
        set_profile_per_target,
    )
    from swdual.lanes.vector import load, reaches, splat, store

    BITS, LANES = bits, lanes
    GROUP = COLUMNS * lanes
    MIN_NUMBER, MAX_NUMBER = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

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
        target_tables: NDArray[np.signedinteger],
        table_rows: int,
        scales: tuple[int, int, int],
        tile: int,
        H: NDArray[np.signedinteger],
        E: NDArray[np.signedinteger],
        profile: NDArray[np.signedinteger],
        lane_goal: NDArray[np.signedinteger],
        lane_reset: NDArray[np.signedinteger],
        lane_best: NDArray[np.signedinteger],
        lane_rows: NDArray[np.int64],
        kept_rows: NDArray[np.signedinteger],
        kept_columns: NDArray[np.signedinteger],
        end_groups: NDArray[np.int64],
        end_rows: NDArray[np.uint8],
        edges: NDArray[np.int64],
        cover: NDArray[np.int64],
        covered: NDArray[np.signedinteger],
        group_codes: NDArray[np.uint8],
    ) -> None:
        """Fill the grid of one batch of a pack (see `Pack`); stop when every goal is reached.

        Parameters
        ----------
        codes, start, groups
            Codes of the pack, the batch's first group, and its number of groups.
        event_groups, event_lanes
            The batch's events: see `Pack`.
        lane_targets, next_targets
            The first target of each lane, and the target that follows each event; -1 for none.
        goals
            (targets,) the number that each target's best cell has, or that of score 0 if it is not
            known; receives it.
        query, letters, low, high, target_tables, table_rows
            The query, and score tables: see `score_kernel` of `swdual.backends._gotoh`.
        scales
            What stands for score 0, and the first and each further gap residue's cost.
        tile
            Rows and columns between the lines that are kept, a multiple of four.
        H, E, profile, lane_goal, lane_reset, lane_best, lane_rows
            Work space: len(query) vectors, as many, `table_rows` groups, one vector each, and a
            number for each lane.
        kept_rows
            Row line r: for each column of the batch the vectors H and F below row
            ``(r + 1) * tile - 1``.
        kept_columns
            Column line c: for each row the vectors H and E right of column
            ``(c + 1) * tile - 1``.
        end_groups
            (targets,) -1; receives the group in which a target first reaches its goal; -1 stays
            for score 0.
        end_rows
            (targets, blocks of `tile` rows) 0; receives 1 for the blocks of that group in which the
            goal is reached. A block may be marked because of the row above it.
        edges
            (edges, 5) upper and lower edges of the rectangles without pairs, in ascending order of
            rows: the row from which it counts, lane, first column of the batch, column after the
            last, and 1 for an upper edge or -1.
        cover, covered, group_codes
            Work space: a number for each column and lane of a group, `table_rows` groups, and the
            codes of a group.
        """
        # What is kept of the matrices of a batch, with tile = 8 (o: a kept cell, in all lanes):
        #
        #               group 0   1     2   3
        #     rows 0-7       ....   ...o  ....   ...o      Column lines: all rows, right of every
        #                    ....   ...o  ....   ...o      second group (8 columns).
        #         row 7      oooo   oooo  oooo   oooo      Row line 0.
        #     rows 8-15      ....   ...o  ....   ...o
        #
        # Any tile between the lines can be filled again from its upper and left line: that is what
        # `walk_grid` does, for the few tiles that an alignment passes through.
        zero_number, gx_number, ge_number = scales
        zero = splat(zero_number, BITS, LANES)
        gx = splat(gx_number, BITS, LANES)
        ge = splat(ge_number, BITS, LANES)
        numbers = (zero, gx, ge)
        blocks = (len(query) + tile - 1) // tile
        fresh = True
        event = 0
        missing = len(event_groups)
        floor_number = MIN_NUMBER - zero_number
        for lane in range(LANES):
            lane_reset[lane] = -1
            if lane_targets[lane] >= 0:
                lane_goal[lane] = max(goals[lane_targets[lane]], zero_number + 1)
            else:
                lane_goal[lane] = MAX_NUMBER
        for group in range(groups):
            at = (start + group) * GROUP
            if source == PER_TARGET:
                set_profile_per_target(
                    profile, target_tables, table_rows, lane_targets, lane_rows, codes, at, LANES
                )
            elif source == MATRIX:
                set_profile(profile, letters, low, high, codes, at, BITS, LANES)
            else:
                for k in range(GROUP):
                    group_codes[k] = codes[at + k]
            if len(edges) > 0:
                for k in range(GROUP):
                    cover[k] = 0
            reset = load(lane_reset, 0, LANES)
            goal = load(lane_goal, 0, LANES)
            above = zero
            h = f = (zero, zero, zero, zero)
            edge = 0
            for block in range(blocks):
                first = block * tile
                last = min((block + 1) * tile, len(query))
                best = zero
                while first < last:
                    # A part of the block ends where a rectangle that has columns of this group
                    # begins or ends.
                    stop = last
                    while edge < len(edges):
                        row = edges[edge, 0]
                        left = max(edges[edge, 2] - group * COLUMNS, 0)
                        right = min(edges[edge, 3] - group * COLUMNS, COLUMNS)
                        if left < right:
                            if row > first:
                                stop = min(stop, row)
                                break
                            lane = edges[edge, 1]
                            for column in range(left, right):
                                place = column * LANES + lane
                                cover[place] += edges[edge, 4]
                                begins = edges[edge, 4] > 0 and cover[place] == 1
                                ends = cover[place] == 0
                                if source == PROFILE and (begins or ends):
                                    group_codes[place] = PAD if begins else codes[at + place]
                                elif begins:
                                    for k in range(table_rows):
                                        covered[k * GROUP + place] = profile[k * GROUP + place]
                                        profile[k * GROUP + place] = floor_number
                                elif ends:
                                    for k in range(table_rows):
                                        profile[k * GROUP + place] = covered[k * GROUP + place]
                        edge += 1
                    if source == PROFILE:
                        above, h, f, best = go_down_positions(
                            low,
                            high,
                            group_codes,
                            0,
                            first,
                            stop,
                            H,
                            E,
                            fresh,
                            reset,
                            numbers,
                            above,
                            h,
                            f,
                            best,
                            BITS,
                            LANES,
                        )
                    else:
                        above, h, f, best = go_down(
                            query,
                            first,
                            stop,
                            profile,
                            H,
                            E,
                            fresh,
                            reset,
                            numbers,
                            above,
                            h,
                            f,
                            best,
                            LANES,
                        )
                    first = stop
                # `best` restarts with zero in every block, so this asks: does a cell of this group
                # and block reach its lane's goal? If the score is known, no cell is above the goal;
                # else the goal rises to it.
                if reaches(best, goal):
                    store(lane_best, 0, best)
                    for lane in range(LANES):
                        target = lane_targets[lane]
                        if lane_best[lane] >= lane_goal[lane] and target >= 0:
                            if lane_best[lane] > goals[target]:
                                goals[target] = lane_best[lane]
                                lane_goal[lane] = lane_best[lane]
                                end_groups[target] = group
                                for k in range(blocks):
                                    end_rows[target, k] = 0
                            elif end_groups[target] < 0:
                                end_groups[target] = group
                                missing -= 1
                            if end_groups[target] == group:
                                end_rows[target, block] = 1
                            else:  # reached in an earlier group: look for more
                                lane_goal[lane] = min(lane_goal[lane] + 1, MAX_NUMBER)
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
                    lane_goal[lane] = max(goals[next_targets[event]], zero_number + 1)
                lane_reset[lane] = -1
                event += 1
                fresh = True

    return fill_grid


@native
def _number(memory: NDArray[np.int8], size: int, at: int) -> Any:
    """Return number `at` of a kept line, each of `size` bytes, the lowest first.

    So one `walk_grid` reads lines of any score width.
    """
    value = np.int64(memory[at * size + size - 1])
    for k in range(size - 2, -1, -1):
        value = (value << 8) | (np.int64(memory[at * size + k]) & 255)
    return value


@native
def _fill_from_lines(
    query: NDArray[np.int64],
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
    forbidden: NDArray[np.int64],
    bottom: int,
    right: int,
    scratch: NDArray[np.int64],
    directions: NDArray[np.uint8],
) -> tuple[int, int, int, int]:
    """Fill a tile of one target from the lines above and to the left of it.

    The tile ends in row `bottom` and in column `right` of the batch; the other parameters are those
    of `walk_grid`. Return its first row and column, and row and column of the first `goal` in it,
    -1 if there is none.
    """
    #              left        right
    #     corner | above line: H, F       Each line is kept by `fill_grid`, unless it is the edge
    #     -------+------------------      of the matrices, where H is zero and no gap enters.
    #     left   |
    #     line:  |   this tile
    #     H, E   |             bottom
    zero, _, _ = numbers
    H, F = scratch[:tile], scratch[tile : 2 * tile]
    left_H, left_E = scratch[2 * tile : 3 * tile], scratch[3 * tile : 4 * tile]
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
def walk_grid(
    query: NDArray[np.int64],
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
    forbidden: NDArray[np.int64],
    end_group: int,
    end_rows: NDArray[np.uint8],
    scratch: NDArray[np.int64],
    directions: NDArray[np.uint8],
    runs: NDArray[np.uint32],
) -> tuple[int, int, int, int, int]:
    """Find the end of one target's alignment, and walk back to its beginning.

    Parameters
    ----------
    query, target, table
        Rows of the table, residue codes, and scores: see `fill_tile`.
    numbers
        What stands for score 0, and the first and each further gap residue's cost.
    goal
        The number that the last cell has.
    tile
        Rows and columns between the lines that are kept.
    lanes, lane
        Lanes of the batch, and that of the target.
    first_column, groups
        The batch's column in which the target begins, and the batch's number of groups.
    number_bytes, kept_rows, kept_columns
        Bytes of a number, and the lines that `fill_grid` kept, as bytes.
    forbidden
        Rectangles of the target in which no pair is aligned: see `find_segment`.
    end_group, end_rows
        What `fill_grid` found for the target.
    scratch, directions
        Work space: 4 * tile numbers, and tile * tile.
    runs
        Receives the operations, last first.

    Returns
    -------
    First row and row after the last, first column and column after the last (of the target), and
    the number of runs; that is 0 if no cell has the goal.
    """
    # The end: in the group that reached the goal, the first column that has it, the first row.
    # Only the marked blocks are filled again; ends of alignments rarely mark more than one.
    end_row = end_column = -1
    right = min((end_group + 1) * COLUMNS, first_column + len(target)) - 1
    for block in range(len(end_rows)):
        if end_rows[block] == 0:
            continue
        bottom = min((block + 1) * tile, len(query)) - 1
        top, left, goal_row, goal_column = _fill_from_lines(
            query,
            target,
            table,
            numbers,
            goal,
            tile,
            lanes,
            lane,
            first_column,
            groups,
            number_bytes,
            kept_rows,
            kept_columns,
            forbidden,
            bottom,
            right,
            scratch,
            directions,
        )
        if goal_row >= 0 and (end_column < 0 or left + goal_column < end_column):
            end_row, end_column = top + goal_row, left + goal_column
    # The way back, tile by tile: fill the tile that ends in the current cell, walk through it to
    # its upper or left edge, and go on in the tile there.
    #
    #     +---------+---------+---------+
    #     | begin o-|-,       |         |     Here four tiles are filled, from the
    #     +---------+ | ------+---------+     right to the left, each only up to
    #     |         | `-------|---o end |     the cell where the walk enters it.
    #     +---------+---------+---------+
    row, column = end_row, end_column
    # Numba would compile `walk_tile` for literals, too.
    state: Any = np.int64(IN_H)
    count: Any = np.int64(0)
    while state != DONE and row >= 0 and column >= first_column:
        top, left, _, _ = _fill_from_lines(
            query,
            target,
            table,
            numbers,
            goal,
            tile,
            lanes,
            lane,
            first_column,
            groups,
            number_bytes,
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
    return row + 1, end_row + 1, column + 1 - first_column, end_column + 1 - first_column, count
