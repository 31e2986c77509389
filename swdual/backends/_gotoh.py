"""The inter-sequence kernel: one target in each lane, down the query in groups of four columns.

The recurrence, and what its numbers stand for, are those of `swdual.lanes.cell`. A lane whose
best number passes the limit of its score width is scored again with wider numbers.

Two registers a vector (`lanes` = twice a register's) hide the latency of the chain u, H, E.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from swdual.lanes.registers import COLUMNS
from swdual.lanes.score_widths import FRAMESHIFT, MATRIX, MATRIX_WITH_OFFSETS, PROFILE
from swdual.runtime.native import native_family


@native_family
def score_kernel(bits: int, lanes: int, source: int, is_bound: bool) -> Callable[..., None]:
    """Return the kernel for one score width.

    Parameters
    ----------
    bits
        Bits of a score: 8, 16 or 32.
    lanes
        Scores in a vector; their bytes are one register or two.
    source
        Where scores come from: `MATRIX`, `PROFILE`, `FRAMESHIFT` or `MATRIX_WITH_OFFSETS`. With
        `MATRIX` and more than 8 bits, targets may also have a matrix each.
    is_bound
        Whether to compute upper bounds, which only `MATRIX` and `PROFILE` have.
    """
    from swdual.lanes.bound import go_down_bound, go_down_bound_positions
    from swdual.lanes.cell import (
        go_down,
        go_down_frames,
        go_down_positions,
        go_down_with_offsets,
        set_profile,
        set_profile_per_target,
    )
    from swdual.lanes.vector import add, load, splat, store, subtract

    BITS, LANES = bits, lanes
    GROUP = COLUMNS * lanes

    def score_batches(
        codes: NDArray[np.uint8],
        batch_starts: NDArray[np.int64],
        event_starts: NDArray[np.int64],
        event_groups: NDArray[np.int64],
        event_lanes: NDArray[np.int64],
        event_targets: NDArray[np.int64],
        first: int,
        last: int,
        query: NDArray[np.int64],
        letters: NDArray[np.int64],
        low: NDArray[np.int8],
        high: NDArray[np.int8],
        target_tables: NDArray[np.signedinteger],
        table_rows: int,
        first_targets: NDArray[np.int64],
        next_targets: NDArray[np.int64],
        scales: tuple[int, int, int, int, int, int],
        H: NDArray[np.signedinteger],
        E: NDArray[np.signedinteger],
        profile: NDArray[np.signedinteger],
        zeros: NDArray[np.signedinteger],
        peaks: NDArray[np.signedinteger],
        lane_best: NDArray[np.signedinteger],
        lane_reset: NDArray[np.signedinteger],
        lane_targets: NDArray[np.int64],
        lane_rows: NDArray[np.int64],
        out: NDArray[np.int32],
    ) -> None:
        """Score one query against the batches `first` to `last - 1` of a pack (see `Pack`).

        Parameters
        ----------
        codes, batch_starts, event_starts, event_groups, event_lanes, event_targets
            The pack: see `Pack`.
        first, last
            Batches to score, `last` excluded.
        query, letters
            Rows of the score table, and the different rows among them. Only the length is used if
            the scores are those of a profile: its rows are 0, 1, 2, ...
        low, high
            Score tables: see `ScoreWidth`. Not used if scores are per target.
        target_tables, table_rows, first_targets, next_targets
            See `ScoreWidth`, and `Pack` for the order of targets in lanes, which is empty unless
            scores are per target.
        scales
            What stands for score 0, the first and each further gap residue's cost, the limit, the
            cost of a frameshift, and the rows after which offsets begin anew.
        zeros, peaks
            See `go_down_with_offsets`. Used only with offsets.
        H, E, profile, lane_best, lane_reset, lane_targets, lane_rows
            Work space: len(query) vectors (32 more with frameshifts), len(query) vectors,
            `table_rows` groups, one vector, one vector, and twice a number for each lane.
        out
            (targets,) receives the scores; -1 where a score is above the limit.
        """
        zero_number, gx_number, ge_number, limit, shift_number, rows = scales
        per_target = len(first_targets) > 0
        zero = splat(zero_number, BITS, LANES)
        gx = splat(gx_number, BITS, LANES)
        ge = splat(ge_number, BITS, LANES)
        numbers = (zero, gx, ge)
        shift = splat(shift_number, BITS, LANES)
        costs = (
            splat(gx_number - ge_number, BITS, LANES),
            ge,
            splat(COLUMNS * ge_number, BITS, LANES),
            splat(rows * ge_number, BITS, LANES),
        )
        # A batch: every lane runs through its own targets, one column group after the other.
        #
        #             group  0     1     2     3
        #     lane 0       AAAA  AAAA  AAAA  AAA.     A is the longest target of the batch.
        #     lane 1       BBBB  BB..  CCCC  C...     Event in group 1: B ends, C follows it.
        #     lane 2       DDDD  DDDD  DDDD  ....     '.' is PAD, whose scores no H survives.
        #
        # Invariant before a group: H and E hold, for each row of the query, H of the column left of
        # the group and E for its first column; `best` holds the largest number of each lane's
        # target so far.
        for batch in range(first, last):
            event, last_event = event_starts[batch], event_starts[batch + 1]
            start = batch_starts[batch]
            best = zero
            # `fresh`: a target begins in this group in the lanes where `lane_reset` is -1. There H
            # and E are left over from another target, and `go_down` takes zero instead. All other
            # groups skip these two selections in each row.
            fresh = True
            for lane in range(LANES):
                lane_reset[lane] = -1
                if per_target:
                    lane_targets[lane] = first_targets[batch * LANES + lane]
            for group in range(start, batch_starts[batch + 1]):
                if source == MATRIX and BITS > 8 and per_target:
                    set_profile_per_target(
                        profile,
                        target_tables,
                        table_rows,
                        lane_targets,
                        lane_rows,
                        codes,
                        group * GROUP,
                        LANES,
                    )
                elif source != PROFILE:
                    set_profile(profile, letters, low, high, codes, group * GROUP, BITS, LANES)
                reset = load(lane_reset, 0, LANES)
                h = f = (zero, zero, zero, zero)
                if source == FRAMESHIFT:
                    best = go_down_frames(
                        query,
                        profile,
                        H,
                        E,
                        H[len(query) * LANES :],
                        fresh,
                        reset,
                        numbers,
                        shift,
                        best,
                        LANES,
                    )
                elif source == MATRIX_WITH_OFFSETS:
                    best = go_down_with_offsets(
                        query,
                        profile,
                        H,
                        E,
                        zeros,
                        peaks,
                        fresh,
                        reset,
                        costs,
                        rows,
                        best,
                        LANES,
                    )
                elif is_bound and source == MATRIX:
                    best = go_down_bound(
                        query, profile, H, E, fresh, reset, (zero, gx, add(ge, ge)), best, LANES
                    )
                elif is_bound:
                    best = go_down_bound_positions(
                        low,
                        high,
                        codes,
                        group * GROUP,
                        len(query),
                        H,
                        E,
                        fresh,
                        reset,
                        (zero, gx, add(ge, ge)),
                        best,
                        BITS,
                        LANES,
                    )
                elif source == PROFILE:
                    _, _, _, best = go_down_positions(
                        low,
                        high,
                        codes,
                        group * GROUP,
                        0,
                        len(query),
                        H,
                        E,
                        fresh,
                        reset,
                        numbers,
                        zero,
                        h,
                        f,
                        best,
                        BITS,
                        LANES,
                    )
                else:
                    _, _, _, best = go_down(
                        query,
                        0,
                        len(query),
                        profile,
                        H,
                        E,
                        fresh,
                        reset,
                        numbers,
                        zero,
                        h,
                        f,
                        best,
                        LANES,
                    )
                if fresh:
                    fresh = False
                    for lane in range(LANES):
                        lane_reset[lane] = 0
                # Targets end here: read their lanes' numbers. Above the limit a number may have
                # wrapped in a later cell, so the target is scored again with a wider width.
                # `best` of a bound is kept less the cost of a gap's first residue.
                if event < last_event and event_groups[event] == group - start:
                    store(lane_best, 0, add(best, gx) if is_bound else best)
                    while event < last_event and event_groups[event] == group - start:
                        lane = event_lanes[event]
                        number = np.int64(lane_best[lane])
                        score = -1 if number > limit else number - zero_number
                        out[event_targets[event]] = score
                        lane_best[lane] = zero_number
                        lane_reset[lane] = -1
                        if per_target:
                            lane_targets[lane] = next_targets[event]
                        event += 1
                    best = load(lane_best, 0, LANES)
                    best = subtract(best, gx) if is_bound else best
                    fresh = True

    return score_batches
