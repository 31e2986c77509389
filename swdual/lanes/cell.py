"""The recurrence of one vector of cells, and what its numbers stand for.

Numbers are kept with a wrapping arithmetic and shifted so that `zero`, not 0, stands for score 0.
E and F are kept *plus* the cost of a gap's first residue (gx; ge is that of each further one), so
that a cell takes nine operations, none of them saturating::

    u = max(E, F)
    H = max(H_diagonal + S, zero, u - gx)
    E = max(E - ge, H)          for the next column
    F = max(F - ge, H)          for the next row

Nothing wraps at the bottom, because zero lies at least gx and the smallest score above the lowest
number. Nothing wraps at the top unnoticed, because the first H above the width's limit (the
highest number less the largest score) still fits.
"""

from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.extending import intrinsic

from swdual.lanes.registers import COLUMNS, TABLE_BYTES
from swdual.lanes.vector import (
    add,
    choose,
    larger,
    load,
    maximum,
    scores,
    store,
    store_columns,
    subtract,
)
from swdual.sequences.alphabet import CODES


@intrinsic
def cell(
    typing: Any, diagonal: Any, score: Any, e: Any, f: Any, zero: Any, gx: Any, ge: Any
) -> Any:
    """Return H, E for the next column, F for the next row, and u.

    Parameters
    ----------
    diagonal, score
        H of the cell up and left, and the score of the pair of residues.
    e, f
        E from the left and F from above, both plus the cost of a gap's first residue.
    zero, gx, ge
        What stands for score 0, and the costs of a gap's first and of each further residue.

    These are LLVM's operations: Numba would take a tenth of a second for as many calls.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        diagonal, score, e, f, zero, gx, ge = args
        u = larger(builder, e, f)
        from_pair = larger(builder, builder.add(diagonal, score), zero)
        h = larger(builder, from_pair, builder.sub(u, gx))
        next_e = larger(builder, builder.sub(e, ge), h)
        next_f = larger(builder, builder.sub(f, ge), h)
        return context.make_tuple(builder, signature.return_type, (h, next_e, next_f, u))

    return types.UniTuple(e, 4)(diagonal, score, e, f, zero, gx, ge), codegen


@intrinsic
def offset_cell(typing: Any, diagonal: Any, score: Any, e: Any, f: Any, zero: Any, go: Any) -> Any:
    """Return H, E for the next column, F for the next row, and u, of numbers with offsets.

    Parameters
    ----------
    diagonal, score
        H of the cell up and left, and the score of the pair of residues plus two gap extensions.
    e, f
        E from the left and F from above, both plus the cost of a gap's first residue.
    zero, go
        What stands for score 0 in this cell, and the cost of a gap's first residue less that of a
        further one.

    See `go_down_with_offsets`.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        diagonal, score, e, f, zero, go = args
        u = larger(builder, e, f)
        from_pair = larger(builder, builder.add(diagonal, score), zero)
        h = larger(builder, from_pair, builder.sub(u, go))
        next_e = larger(builder, e, h)
        next_f = larger(builder, f, h)
        return context.make_tuple(builder, signature.return_type, (h, next_e, next_f, u))

    return types.UniTuple(e, 4)(diagonal, score, e, f, zero, go), codegen


@njit(inline="always")
def set_profile(profile, letters, low, high, codes, start, bits, lanes):  # type: ignore[no-untyped-def]
    """Write the scores of the query's letters with the group of columns at ``codes[start:]``.

    Parameters
    ----------
    profile
        32 groups; receives, for each letter, one vector a column.
    letters
        The codes that the query has.
    low, high
        Score tables: see `ScoreWidth`.
    codes, start
        Codes of a pack, and where the group begins in them.
    bits, lanes
        Bits of a score, and scores in a vector.
    """
    for letter in letters:
        for column in range(COLUMNS):
            at = column * lanes
            vector = scores(low, high, letter * TABLE_BYTES, codes, start + at, bits, lanes)
            store(profile, letter * COLUMNS * lanes + at, vector)


@njit(inline="always")
def set_profile_per_target(  # type: ignore[no-untyped-def]
    profile, target_tables, table_rows, lane_targets, lane_rows, codes, start, lanes
):
    """Write what `set_profile` does, for all rows, if scores are per target.

    Parameters
    ----------
    profile, codes, start, lanes
        See `set_profile`.
    target_tables, table_rows
        For each target `table_rows` scores of each of its letters, a multiple of 32: see
        `ScoreWidth.target_tables`.
    lane_targets
        The target of each lane, or -1.
    lane_rows
        Work space: a number for each lane.
    """
    for column in range(COLUMNS):
        at = column * lanes
        for lane in range(lanes):
            code = codes[start + at + lane]
            lane_rows[lane] = (max(lane_targets[lane], 0) * CODES + code) * table_rows
        for row in range(0, table_rows, CODES):
            there = row * COLUMNS * lanes + at
            store_columns(target_tables, lane_rows, profile, there, COLUMNS * lanes, lanes)
            for lane in range(lanes):
                lane_rows[lane] += CODES


@njit(inline="always")
def go_down(  # type: ignore[no-untyped-def]
    query, first, last, profile, H, E, fresh, reset, numbers, above, h, f, best, lanes
):
    """Fill rows `first` to `last - 1` of a group of four columns.

    Parameters
    ----------
    query, first, last
        Codes of the query, and the rows to fill, `last` excluded.
    profile
        What `set_profile` wrote for these columns.
    H, E
        For each row H left of the group and E for its first column; on return, right of the group.
    fresh, reset
        Whether targets begin in this group, and the lanes where they do (negative numbers).
    numbers
        Vectors of zero, gx and ge.
    above, h, f
        H left of the group, and H and F of its four columns, in the row before `first`.
    best
        The largest numbers so far.
    lanes
        Scores in a vector.

    Returns
    -------
    `above`, `h`, `f` and `best` after the last row.

    `best` need not look at every H: u of a cell is at least the H above it and the H to its left.
    The u of every second column therefore see all H but those of the last row in these columns,
    which their F holds after the last row. That is exact, and half the work.
    """
    for i in range(first, last):
        at = query[i] * COLUMNS * lanes
        pairs = (
            load(profile, at, lanes),
            load(profile, at + lanes, lanes),
            load(profile, at + 2 * lanes, lanes),
            load(profile, at + 3 * lanes, lanes),
        )
        above, h, f, best = fill_row(
            i, pairs, H, E, fresh, reset, numbers, above, h, f, best, lanes
        )
    return above, h, f, maximum(best, maximum(f[1], f[3]))


@njit(inline="always")
def go_down_with_offsets(  # type: ignore[no-untyped-def]
    query, profile, H, E, zeros, peaks, fresh, reset, costs, rows, best, lanes
):
    """Fill all rows of a group of four columns, in numbers with offsets.

    Parameters
    ----------
    query, fresh, reset, best, lanes
        See `go_down`.
    profile
        What `set_profile` wrote from the tables of `Offsets`.
    H, E
        As for `go_down`, with offsets.
    zeros
        ``rows + 5`` vectors: what stands for score 0, plus 0, 1, 2, ... gap extensions.
    peaks
        Work space: ``rows + 3`` vectors.
    costs
        Vectors: the cost of a gap's first residue less that of a further one, that of a further
        one, of `COLUMNS` further ones, and of `rows` further ones.
    rows
        Rows after which the offsets begin anew.

    Returns
    -------
    `best` after the last row, which sees all H, without offset.
    """
    # A number of cell (i, c) is kept plus an offset of `ge` for each anti-diagonal, from the
    # corner at the upper left of every `rows` rows of the group:
    #
    #     c:           -1   0   1   2   3
    #     i % rows -1:  0   1   2   3   4      offsets t, in gap extensions: t = i % rows + c + 2
    #               0:  1   2   3   4   5
    #               1:  2   3   4   5   6      E and F that enter a cell have the offset of the
    #             ...                          neighbour that they come from, t - 1
    #
    # A gap that is extended costs `ge`, but the next cell's offset is `ge` more: E and F need no
    # subtraction. A pair goes two anti-diagonals on, and the profile has two `ge` added:
    #
    #     u = max(E, F)
    #     H = max(H_diagonal + (S + 2 ge), zero + t ge, u - (gx - ge))
    #     E = max(E, H),  F = max(F, H)
    #
    # Range. Every number is that without offset plus t * ge, and 0 <= t <= rows + 4. The bottom is
    # as far as without offsets, or farther. The highest number less (rows + 4) * ge takes the
    # place of the highest one in the limit, so the first H above the limit still fits. Nothing is
    # added to it until `peaks` has seen it: E, F and u only take maxima, and rows that begin anew
    # subtract. What wraps later in that lane cannot lower a maximum. So an overflow is not missed.
    #
    # Each t has a peak of its own, from which the offset is subtracted once, after the last row.
    go, ge, columns_on, rows_on = costs
    used = min(rows, len(query)) + 3
    for t in range(used):
        store(peaks, t * lanes, load(zeros, (t + 2) * lanes, lanes))
    above = load(zeros, 0, lanes)
    h0 = f0 = load(zeros, lanes, lanes)
    h1 = f1 = load(zeros, 2 * lanes, lanes)
    h2 = f2 = load(zeros, 3 * lanes, lanes)
    f3 = load(zeros, 4 * lanes, lanes)
    for block in range(0, len(query), rows):
        if block > 0:
            above = subtract(above, rows_on)
            h0, h1, h2 = subtract(h0, rows_on), subtract(h1, rows_on), subtract(h2, rows_on)
            f0, f1 = subtract(f0, rows_on), subtract(f1, rows_on)
            f2, f3 = subtract(f2, rows_on), subtract(f3, rows_on)
        for i in range(block, min(block + rows, len(query))):
            t = (i - block) * lanes
            at = query[i] * COLUMNS * lanes
            left = subtract(load(H, i * lanes, lanes), columns_on)
            e = subtract(load(E, i * lanes, lanes), columns_on)
            if fresh:
                zero = load(zeros, t + lanes, lanes)
                left = choose(reset, zero, left)
                e = choose(reset, zero, e)
            z0, z1 = load(zeros, t + 2 * lanes, lanes), load(zeros, t + 3 * lanes, lanes)
            z2, z3 = load(zeros, t + 4 * lanes, lanes), load(zeros, t + 5 * lanes, lanes)
            d0, d1, d2, d3 = above, h0, h1, h2
            h0, e, f0, u = offset_cell(d0, load(profile, at, lanes), e, f0, z0, go)
            h1, e, f1, u = offset_cell(d1, load(profile, at + lanes, lanes), e, f1, z1, go)
            store(peaks, t, maximum(load(peaks, t, lanes), u))
            h2, e, f2, u = offset_cell(d2, load(profile, at + 2 * lanes, lanes), e, f2, z2, go)
            h3, e, f3, u = offset_cell(d3, load(profile, at + 3 * lanes, lanes), e, f3, z3, go)
            store(peaks, t + 2 * lanes, maximum(load(peaks, t + 2 * lanes, lanes), u))
            store(H, i * lanes, h3)
            store(E, i * lanes, e)
            above = left
    below = ((len(query) - 1) % rows + 1) * lanes
    store(peaks, below, maximum(load(peaks, below, lanes), f1))
    below += 2 * lanes
    store(peaks, below, maximum(load(peaks, below, lanes), f3))
    offset = add(ge, ge)
    for t in range(used):
        best = maximum(best, subtract(load(peaks, t * lanes, lanes), offset))
        offset = add(offset, ge)
    return best


@njit(inline="always")
def go_down_positions(  # type: ignore[no-untyped-def]
    low,
    high,
    codes,
    start,
    first,
    last,
    H,
    E,
    fresh,
    reset,
    numbers,
    above,
    h,
    f,
    best,
    bits,
    lanes,
):
    """Do what `go_down` does, with the scores of each position of a profile.

    They are looked up where they are used: each is used once, so a table of them in memory would
    only take time.

    Parameters
    ----------
    low, high
        Score tables, with a row for each position: see `ScoreWidth`.
    codes, start
        Codes of a pack, and where the group begins in them.
    first, last, H, E, fresh, reset, numbers, above, h, f, best, lanes
        See `go_down`, which returns the same.
    bits
        Bits of a score.
    """
    for i in range(first, last):
        row = i * TABLE_BYTES
        pairs = (
            scores(low, high, row, codes, start, bits, lanes),
            scores(low, high, row, codes, start + lanes, bits, lanes),
            scores(low, high, row, codes, start + 2 * lanes, bits, lanes),
            scores(low, high, row, codes, start + 3 * lanes, bits, lanes),
        )
        above, h, f, best = fill_row(
            i, pairs, H, E, fresh, reset, numbers, above, h, f, best, lanes
        )
    return above, h, f, maximum(best, maximum(f[1], f[3]))


@njit(inline="always")
def go_down_frames(  # type: ignore[no-untyped-def]
    query, profile, H, E, recent, fresh, reset, numbers, shift, best, lanes
):
    """Fill all rows of a group of four columns, where rows are those of all frames of a strand.

    Row i is the codon that begins with base i. The codon before it begins three bases earlier; two
    or four bases earlier after a frameshift. Gaps stay in the frame.

    Parameters
    ----------
    query, profile, H, E, fresh, reset, numbers, best, lanes
        See `go_down`.
    recent
        Work space: 32 vectors.
    shift
        The cost of a frameshift.

    Returns
    -------
    `best` after the last row, which sees all H: see `go_down`.
    """
    # The four last rows are kept in `recent`, row i in place i & 3: H left of the group and of its
    # first three columns, which are diagonals of later rows, then F of the four columns.
    #
    #     row i - 4 \
    #     row i - 3  >  H of the column before, less `shift` but for row i - 3;  F of row i - 3
    #     row i - 2 /
    #     row i - 1     not looked at
    zero, gx, ge = numbers
    for k in range(32):
        store(recent, k * lanes, zero)
    place = 8 * lanes
    for i in range(len(query)):
        at = query[i] * COLUMNS * lanes
        own, same, near = (i & 3) * place, ((i + 1) & 3) * place, ((i + 2) & 3) * place
        left = load(H, i * lanes, lanes)
        e = load(E, i * lanes, lanes)
        if fresh:
            left = choose(reset, zero, left)
            e = choose(reset, zero, e)
        d0 = shifted(recent, own, same, near, shift, lanes)
        d1 = shifted(recent, own + lanes, same + lanes, near + lanes, shift, lanes)
        d2 = shifted(recent, own + 2 * lanes, same + 2 * lanes, near + 2 * lanes, shift, lanes)
        d3 = shifted(recent, own + 3 * lanes, same + 3 * lanes, near + 3 * lanes, shift, lanes)
        f0, f1 = load(recent, same + 4 * lanes, lanes), load(recent, same + 5 * lanes, lanes)
        f2, f3 = load(recent, same + 6 * lanes, lanes), load(recent, same + 7 * lanes, lanes)
        h0, e, f0, u = cell(d0, load(profile, at, lanes), e, f0, zero, gx, ge)
        h1, e, f1, u = cell(d1, load(profile, at + lanes, lanes), e, f1, zero, gx, ge)
        best = maximum(best, u)
        h2, e, f2, u = cell(d2, load(profile, at + 2 * lanes, lanes), e, f2, zero, gx, ge)
        h3, e, f3, u = cell(d3, load(profile, at + 3 * lanes, lanes), e, f3, zero, gx, ge)
        best = maximum(best, u)
        store(H, i * lanes, h3)
        store(E, i * lanes, e)
        store(recent, own, left)
        store(recent, own + lanes, h0)
        store(recent, own + 2 * lanes, h1)
        store(recent, own + 3 * lanes, h2)
        store(recent, own + 4 * lanes, f0)
        store(recent, own + 5 * lanes, f1)
        store(recent, own + 6 * lanes, f2)
        store(recent, own + 7 * lanes, f3)
    for k in range(4):  # no row below sees the H of the last three rows
        best = maximum(best, load(recent, k * place + 5 * lanes, lanes))
        best = maximum(best, load(recent, k * place + 7 * lanes, lanes))
    return best


@njit(inline="always")
def shifted(recent, far, same, near, shift, lanes):  # type: ignore[no-untyped-def]
    """Return the largest H that a pair follows: in its own frame, or in another one, less `shift`.

    Parameters
    ----------
    recent, shift, lanes
        See `go_down_frames`.
    far, same, near
        Where the H of the codons are that begin four, three and two bases before.
    """
    other = maximum(load(recent, far, lanes), load(recent, near, lanes))
    return maximum(load(recent, same, lanes), subtract(other, shift))


@njit(inline="always")
def fill_row(  # type: ignore[no-untyped-def]
    i, pairs, H, E, fresh, reset, numbers, above, h, f, best, lanes
):
    """Fill row i of a group of four columns.

    Parameters
    ----------
    i
        The row.
    pairs
        Scores of its residue with those of the four columns.
    H, E, fresh, reset, numbers, above, h, f, best, lanes
        See `go_down`; the row before is row ``i - 1``.

    Returns
    -------
    `above`, `h`, `f` and `best` after the row; `best` as `go_down` keeps it.
    """
    # Row i of the group; "above" is H(i-1, j-1), the diagonal of its first column:
    #
    #       above | h0   h1   h2   h3       H of row i - 1, in registers
    #       ------+--------------------
    #       left  | d0   d1   d2   d3       left and e come from memory, h3 and e go back
    #       e  -> |    ->   ->   ->   -> e
    #
    # Memory is touched twice a row for four cells: that is why a group has four columns.
    zero, gx, ge = numbers
    s0, s1, s2, s3 = pairs
    h0, h1, h2, h3 = h
    f0, f1, f2, f3 = f
    left = load(H, i * lanes, lanes)
    e = load(E, i * lanes, lanes)
    if fresh:
        left = choose(reset, zero, left)
        e = choose(reset, zero, e)
    d1, d2, d3 = h0, h1, h2
    h0, e, f0, u = cell(above, s0, e, f0, zero, gx, ge)
    h1, e, f1, u = cell(d1, s1, e, f1, zero, gx, ge)
    best = maximum(best, u)
    h2, e, f2, u = cell(d2, s2, e, f2, zero, gx, ge)
    h3, e, f3, u = cell(d3, s3, e, f3, zero, gx, ge)
    best = maximum(best, u)
    store(H, i * lanes, h3)
    store(E, i * lanes, e)
    return left, (h0, h1, h2, h3), (f0, f1, f2, f3), best
