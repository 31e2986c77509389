"""The inter-sequence kernel: one target in each lane, down the query in groups of four columns.

The recurrence and its numbers are those of `swdual.lanes.cell`. A lane whose `best` passes the
limit of its rung is scored again with wider numbers.

`best` need not look at every H: u of a cell is at least the H above it and the H to its left. The
u of every second column therefore see all H but those of the last row in these columns, which
their F holds after the last row. That is exact, and half the work.

Two registers a vector (`lanes` = twice a register's) hide the latency of the chain u, H, E.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from swdual.jit import kernel
from swdual.lanes.cell import COLUMNS, cell
from swdual.lanes.vector import TABLE_BYTES, choose, load, maximum, scores, splat, store


@cache
def score_kernel(bits: int, lanes: int) -> Callable[..., None]:
    """Return the kernel for numbers of `bits` bits in vectors of `lanes` lanes."""
    BITS, LANES = bits, lanes
    GROUP, ROW = COLUMNS * lanes, TABLE_BYTES

    @kernel
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
        numbers: tuple[int, int, int, int],
        H: NDArray[np.signedinteger],
        E: NDArray[np.signedinteger],
        profile: NDArray[np.signedinteger],
        lane_best: NDArray[np.signedinteger],
        lane_reset: NDArray[np.signedinteger],
        out: NDArray[np.int32],
    ) -> None:
        """Score one query against the batches `first` to `last - 1` of a pack (see `Pack`).

        H, E: len(query) vectors; profile: 32 groups; lane_best, lane_reset: one vector each.
        """
        zero_number, gx_number, ge_number, limit = numbers
        zero = splat(zero_number, BITS, LANES)
        gx = splat(gx_number, BITS, LANES)
        ge = splat(ge_number, BITS, LANES)
        for batch in range(first, last):
            event, last_event = event_starts[batch], event_starts[batch + 1]
            start = batch_starts[batch]
            best = zero
            fresh = True
            for lane in range(LANES):
                lane_reset[lane] = -1
            for group in range(start, batch_starts[batch + 1]):
                for letter in letters:
                    for column in range(COLUMNS):
                        at = letter * GROUP + column * LANES
                        place = group * GROUP + column * LANES
                        row = letter * ROW
                        store(profile, at, scores(low, high, row, codes, place, BITS, LANES))
                reset = load(lane_reset, 0, LANES)
                f0 = f1 = f2 = f3 = h0 = h1 = h2 = h3 = above = zero
                for i in range(len(query)):
                    left = load(H, i * LANES, LANES)
                    e = load(E, i * LANES, LANES)
                    if fresh:
                        left = choose(reset, zero, left)
                        e = choose(reset, zero, e)
                    at = query[i] * GROUP
                    s0 = load(profile, at, LANES)
                    s1 = load(profile, at + LANES, LANES)
                    s2 = load(profile, at + 2 * LANES, LANES)
                    s3 = load(profile, at + 3 * LANES, LANES)
                    d1, d2, d3 = h0, h1, h2
                    h0, e, f0, u = cell(above, s0, e, f0, zero, gx, ge)
                    h1, e, f1, u = cell(d1, s1, e, f1, zero, gx, ge)
                    best = maximum(best, u)
                    h2, e, f2, u = cell(d2, s2, e, f2, zero, gx, ge)
                    h3, e, f3, u = cell(d3, s3, e, f3, zero, gx, ge)
                    best = maximum(best, u)
                    above = left
                    store(H, i * LANES, h3)
                    store(E, i * LANES, e)
                best = maximum(best, maximum(f1, f3))
                if fresh:
                    fresh = False
                    for lane in range(LANES):
                        lane_reset[lane] = 0
                if event < last_event and event_groups[event] == group - start:
                    store(lane_best, 0, best)
                    while event < last_event and event_groups[event] == group - start:
                        lane = event_lanes[event]
                        number = np.int64(lane_best[lane])
                        score = -1 if number > limit else number - zero_number
                        out[event_targets[event]] = score
                        lane_best[lane] = zero_number
                        lane_reset[lane] = -1
                        event += 1
                    best = load(lane_best, 0, LANES)
                    fresh = True

    return score_batches
