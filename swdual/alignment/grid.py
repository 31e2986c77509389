"""Several targets at once, a target in each lane, keeping some rows and columns of the matrices.

The kernel is that of `swdual.backends._gotoh` with four changes. After every `tile` rows it keeps
H and F of the four columns, after every `tile` columns H and E of all rows. Each lane has a goal,
the score that the search found for its target: the first group of columns that reaches it holds the
end of the alignment. If the score is not known, the goal rises with the best cell. And there may be
rectangles in which no pair is aligned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.lines import fill_from_lines, walk_lines
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
        # `walk_lines` fills the tiles between the lines again that an alignment passes through.
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
def find_end(
    query: NDArray[np.int64],
    target: NDArray[np.uint8],
    table: NDArray[np.int64],
    numbers: tuple[int, int, int],
    goal: int,
    layout: tuple[int, int, int, int, int, int, int, int],
    kept_rows: NDArray[np.int8],
    kept_columns: NDArray[np.int8],
    forbidden: NDArray[np.int64],
    end_group: int,
    end_rows: NDArray[np.uint8],
    scratch: NDArray[np.int64],
    directions: NDArray[np.uint8],
) -> tuple[int, int]:
    """Return row and column (of the batch) where one target's alignment ends, or (-1, -1).

    Parameters
    ----------
    query, target, table, numbers, layout, kept_rows, kept_columns, forbidden, scratch, directions
        See `walk_lines`.
    goal
        The number that the last cell has.
    end_group, end_rows
        What `fill_grid` found for the target.
    """
    # In the group that reached the goal, the first column that has it, the first row. Only the
    # marked blocks are filled again; ends of alignments rarely mark more than one.
    tile_rows, first_column = layout[3], layout[6]
    end_row = end_column = -1
    right = min((end_group + 1) * COLUMNS, first_column + len(target)) - 1
    for block in range(len(end_rows)):
        if end_rows[block] == 0:
            continue
        bottom = min((block + 1) * tile_rows, len(query)) - 1
        top, left, goal_row, goal_column = fill_from_lines(
            query,
            target,
            table,
            numbers,
            goal,
            layout,
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
    return end_row, end_column


@native
def walk_targets(
    query: NDArray[np.int64],
    residues: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    tables: NDArray[np.int64],
    numbers: tuple[int, int, int],
    layout: tuple[int, int, int, int, int, int, int, int],
    goals: NDArray[np.int64],
    end_groups: NDArray[np.int64],
    end_rows: NDArray[np.uint8],
    lanes: NDArray[np.int64],
    first_columns: NDArray[np.int64],
    kept_rows: NDArray[np.int8],
    kept_columns: NDArray[np.int8],
    forbidden: NDArray[np.int64],
    forbidden_starts: NDArray[np.int64],
    scratch: NDArray[np.int64],
    directions: NDArray[np.uint8],
    places: NDArray[np.int64],
    runs: NDArray[np.uint32],
    run_ends: NDArray[np.int64],
) -> int:
    """Find the alignments of some targets of a batch, until `runs` is full.

    Parameters
    ----------
    query, numbers, layout, kept_rows, kept_columns, scratch, directions
        See `walk_lines`; lane and first column of `layout` are not used.
    residues, starts, lengths
        The codes of all targets, and (targets,) where those of each begin, and how many they are.
    tables
        (1 or targets, rows, 32) the scores of all targets, or of each.
    goals, end_groups, end_rows
        (targets,) the number of each target's last cell; (targets,) and (targets, blocks) what
        `fill_grid` found.
    lanes, first_columns
        (targets,) where they are in the batch.
    forbidden, forbidden_starts
        (rectangles, 4) and (targets + 1,): see `Around`.
    places
        (targets, 4) receives first row, row behind the last, first column, column behind the last.
    runs, run_ends
        Receives the operations, first to last, and (targets,) where those of each target end.

    Returns
    -------
    The number of targets done. If no cell of target k has its goal, ``-1 - k``.
    """
    filled = 0
    for k in range(len(starts)):
        if filled + len(query) + lengths[k] > len(runs):
            return k
        target = residues[starts[k] : starts[k] + lengths[k]]
        table = tables[min(k, len(tables) - 1)]
        rectangles = forbidden[forbidden_starts[k] : forbidden_starts[k + 1]]
        first = first_columns[k]
        own = (*layout[:5], lanes[k], first, layout[7])
        end_row, end_column = find_end(
            query,
            target,
            table,
            numbers,
            goals[k],
            own,
            kept_rows,
            kept_columns,
            rectangles,
            end_groups[k],
            end_rows[k],
            scratch,
            directions,
        )
        if end_row < 0:
            return -1 - k
        row, column, count = walk_lines(
            query,
            target,
            table,
            numbers,
            own,
            kept_rows,
            kept_columns,
            rectangles,
            end_row,
            end_column,
            scratch,
            directions,
            runs[filled:],
        )
        for n in range(count // 2):  # the walk found the last operation first
            one, other = filled + n, filled + count - 1 - n
            runs[one], runs[other] = runs[other], runs[one]
        filled += count
        run_ends[k] = filled
        places[k, 0], places[k, 1] = row, end_row + 1
        places[k, 2], places[k, 3] = column - first, end_column + 1 - first
    return len(starts)
