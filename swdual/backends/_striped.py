"""The intra-sequence kernel: one target at a time, the query's rows spread over the lanes.

For the few targets that would leave most lanes of the inter-sequence kernel idle. After Farrar
(Bioinformatics 23 (2007) 156-161): row i of the query stands in lane ``i // rows`` of vector
``i % rows``, where `rows` is the number of vectors, so that neighbouring rows lie in neighbouring
vectors and the profile of a letter is read in order. The recurrence and its numbers are those of
`swdual.lanes.cell`; F runs down a column in two steps::

    h = max(H_diagonal + S, zero, E - gx)      without F
    H = max(h, F - gx)
    F = max(F - ge, h)                         for the next row, since F - gx <= F - ge

A lane begins each column as if nothing came from the lane above. What did come is run down again
afterwards, for as long as any F exceeds by its next gap cost what the row has from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.lanes.score_widths import PER_TARGET, ScoreWidth, allocate_aligned
from swdual.runtime.native import native_family
from swdual.sequences.alphabet import CODES, PAD


class StripedQuery(NamedTuple):
    """A query, and where `target_kernel` finds the scores of its rows with a letter.

    They come from one profile for all targets; from a table for each target, whose rows are looked
    up first and written into the profile; or from a table for each in which the rows stand in
    striped order already.

    Parameters
    ----------
    rows
        What `stripe_query` returned; nothing if the rows are not looked up.
    profile
        What `stripe_profile` returned; work space if rows are looked up; None if the scores are
        read from the tables of targets.
    strides
        Numbers from the scores of a target to those of the next, and the same for letters.
    """

    rows: NDArray[np.int64]
    profile: NDArray[np.signedinteger] | None
    strides: tuple[int, int]

    @classmethod
    def of(cls, query: NDArray[np.int64], score_width: ScoreWidth, lanes: int) -> StripedQuery:
        """Return a query in striped order."""
        nothing = np.empty(0, np.int64)
        if score_width.source != PER_TARGET:
            profile = stripe_profile(query, score_width, lanes)
            return cls(nothing, profile, (0, len(profile) // CODES))
        size = score_width.table_rows
        rows = stripe_query(query, lanes, size - 1)
        real = rows < size - 1
        if score_width.is_profile_per_target and np.array_equal(rows[real], np.flatnonzero(real)):
            return cls(nothing, None, (CODES * size, size))
        profile = allocate_aligned(CODES * len(rows), score_width.kind)
        return cls(rows, profile, (0, len(rows)))

    def scores(self, target_tables: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
        """Return what the kernel reads scores from, with these tables of targets."""
        return target_tables if self.profile is None else self.profile


def number_striped(rows: int, lanes: int) -> NDArray[np.int64]:
    """Return the place of each row of a query in striped order.

    Parameters
    ----------
    rows
        Residues of the query.
    lanes
        Scores in a vector.

    >>> number_striped(5, 4).tolist()
    [0, 4, 1, 5, 2]
    """
    vectors = -(-rows // lanes)
    row = np.arange(rows)
    return row % max(vectors, 1) * lanes + row // max(vectors, 1)


def stripe_query(query: NDArray[np.int64], lanes: int, pad: int) -> NDArray[np.int64]:
    """Return the query in striped order, filled up.

    Parameters
    ----------
    query
        (residues,) rows of the score tables.
    lanes
        Scores in a vector.
    pad
        The row of no residue.

    Returns
    -------
    ``rows * lanes`` numbers: vector v holds rows v, v + rows, v + 2 * rows, ... of the query.

    >>> stripe_query(np.arange(3), 2, 31).tolist()
    [0, 2, 1, 31]
    """
    rows = -(-len(query) // lanes)
    striped = np.full(rows * lanes, pad)
    striped[: len(query)] = query
    return striped.reshape(lanes, rows).T.ravel()


def stripe_profile(
    query: NDArray[np.int64], score_width: ScoreWidth, lanes: int
) -> NDArray[np.signedinteger]:
    """Return the scores of a query with each code in striped order, filled up with those of `PAD`.

    Parameters
    ----------
    query
        (residues,) rows of the score table.
    score_width
        The score table.
    lanes
        Scores in a vector.

    Returns
    -------
    For each of the 32 codes ``rows * lanes`` scores, in the order of `stripe_query`.
    """
    table = score_width.table.astype(score_width.kind)
    rows = -(-len(query) // lanes)
    scores = np.full((rows * lanes, CODES), table[0, PAD])
    scores[: len(query)] = table[query]
    profile = allocate_aligned(scores.size, score_width.kind)
    profile.reshape(CODES, rows, lanes)[:] = scores.reshape(lanes, rows, CODES).T
    return profile


@native_family
def target_kernel(bits: int, lanes: int) -> Callable[..., None]:
    """Return the kernel for one score width.

    Parameters
    ----------
    bits
        Bits of a score: 8, 16 or 32.
    lanes
        Scores in a vector; their bytes are one register.
    """
    from swdual.lanes.vector import (
        add,
        load,
        maximum,
        reaches,
        shift_lanes,
        splat,
        store,
        subtract,
    )

    BITS, LANES = bits, lanes

    def score_targets(
        residues: NDArray[np.uint8],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        targets: NDArray[np.int64],
        query: NDArray[np.int64],
        target_tables: NDArray[np.signedinteger],
        table_rows: int,
        numbers: tuple[int, int, int, int],
        profile: NDArray[np.signedinteger],
        strides: tuple[int, int],
        H: NDArray[np.signedinteger],
        E: NDArray[np.signedinteger],
        lane_best: NDArray[np.signedinteger],
        out: NDArray[np.int32],
        tile: int,
        kept_rows: NDArray[np.signedinteger],
        kept_columns: NDArray[np.signedinteger],
        end: NDArray[np.int64],
    ) -> None:
        """Score a query against some targets of a pack, one after the other.

        Parameters
        ----------
        residues, starts, lengths
            Codes of a block, and where each target begins and how long it is.
        targets
            Numbers of the targets to score.
        query, target_tables, table_rows
            `StripedQuery.rows`, and those of `ScoreWidth`. Used only if rows are looked up.
        numbers
            What stands for score 0, the first and each further gap residue's cost, and the limit:
            a target's columns end with the first that exceeds it.
        profile, strides
            See `StripedQuery.scores` and `StripedQuery`.
        H, E, lane_best
            Work space: the query's rows in whole vectors, as much, one vector.
        out
            ``out[targets]`` receive the scores; -1 where a score is above the limit.
        tile, kept_rows, kept_columns
            Columns between column lines, and the lines that are kept for a walk back: see
            `swdual.alignment.lines`. Those of the last target remain. No lines are kept if `tile`
            is 0.
        end
            Receives row and column of the first cell above the limit (in the first column that has
            one, the first row), and its number. Not used unless lines are kept.
        """
        zero_number, gx_number, ge_number, limit = numbers
        target_stride, letter_stride = strides
        size = len(H)
        rows = size // LANES
        zero = splat(zero_number, BITS, LANES)
        gx = splat(gx_number, BITS, LANES)
        ge = splat(ge_number, BITS, LANES)
        one = splat(1, BITS, LANES)
        least = splat(zero_number + gx_number - ge_number, BITS, LANES)
        above_limit = splat(limit + 1, BITS, LANES)
        for target in targets:
            position = starts[target]
            last = position + lengths[target]
            if len(query):
                present = 0
                for k in range(position, last):
                    present |= 1 << residues[k]
                for letter in range(CODES):
                    if present >> letter & 1:
                        row = (target * CODES + letter) * table_rows
                        for k in range(size):
                            profile[letter * size + k] = target_tables[row + query[k]]
            # Striped order of a query of 8 rows in 4 lanes (rows = 2):
            #
            #              lane 0  1  2  3
            #     vector 0      0  2  4  6      The row above vector 0 is vector 1, moved up one
            #     vector 1      1  3  5  7      lane: that is what `shift_lanes` returns.
            #
            # Invariant before a column: H holds the column to the left, E what enters from there.
            for v in range(0, size, LANES):
                store(H, v, zero)
                store(E, v, zero)
            best = zero
            column = 0
            while position < last:
                at = target * target_stride + residues[position] * letter_stride
                position += 1
                # Pass 1: F runs down inside each lane, starting from nothing.
                diagonal = shift_lanes(load(H, size - LANES, LANES), zero)
                f = highest = zero
                for v in range(0, size, LANES):
                    e = load(E, v, LANES)
                    score = load(profile, at + v, LANES)
                    pair = maximum(add(diagonal, score), zero)
                    without_f = maximum(pair, subtract(e, gx))
                    h = maximum(without_f, subtract(f, gx))
                    f = maximum(subtract(f, ge), without_f)
                    diagonal = load(H, v, LANES)
                    store(H, v, h)
                    store(E, v, maximum(subtract(e, ge), h))
                    highest = maximum(highest, h)
                below = f
                # Pass 2 ("lazy F"): hand F to the lane above, at most once for each lane. It stops
                # where f - ge <= h in all lanes: pass 1 gave the next row an F of at least h. It
                # also stops where f - gx <= zero: such an F raises no H, nor do those that follow
                # from it. (`reaches` tests >=; against h + 1 that is >.)
                for _ in range(LANES):
                    f = shift_lanes(f, zero)
                    v = 0
                    while v < size:
                        h = load(H, v, LANES)
                        further = subtract(f, ge)
                        if not reaches(further, add(maximum(h, least), one)):
                            break
                        h = maximum(h, subtract(f, gx))
                        store(H, v, h)
                        store(E, v, maximum(load(E, v, LANES), h))
                        f = maximum(further, zero)  # so that no lane wraps at the bottom
                        v += LANES
                    if v < size:
                        break
                    below = maximum(below, f)
                best = maximum(best, highest)
                if tile:
                    line = column * 2 * LANES
                    store(kept_rows, line, load(H, size - LANES, LANES))
                    store(kept_rows, line + LANES, below)
                # The first column above the limit is the last: no later one may wrap.
                if reaches(highest, above_limit):
                    if tile:
                        end[0] = 0
                        while H[end[0] % rows * LANES + end[0] // rows] <= limit:
                            end[0] += 1
                        end[1] = column
                        end[2] = H[end[0] % rows * LANES + end[0] // rows]
                    break
                if tile:
                    column += 1
                    if column % tile == 0:
                        line = (column // tile - 1) * 2 * size
                        for v in range(0, size, LANES):
                            store(kept_columns, line + v, load(H, v, LANES))
                            store(kept_columns, line + size + v, load(E, v, LANES))
            store(lane_best, 0, best)
            number = np.int64(lane_best[0])
            for lane in range(1, LANES):
                if lane_best[lane] > number:
                    number = np.int64(lane_best[lane])
            out[target] = -1 if number > limit else number - zero_number

    return score_targets
