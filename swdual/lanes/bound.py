"""Upper bounds of scores in half the operations: gaps are handled once in a block of 2 x 2 cells.

Most targets do not come near the score that could make them a hit. For these an upper bound is
enough. A block knows one number g for all gaps that enter it, from the left and from above, and
passes one on, G, to the right and down::

                 above       u = 0, 1: column of the block; rows likewise
                   G         d: v11 of the block up and left
            d  v10 | v11     g   = max(G left, G above, zero)
              +----+----+    u00 = max(d + s00, g)      u01 = v10 above + s01
       v01    | 00 | 01 |    u10 = v01 left + s10       u11 = u00 + s11
    G  -------+----+----+    x   = max(u00, u01, u10, u11) - gx
       v11    | 10 | 11 |    G   = max(g - 2 ge, x)     v01, v10, v11 = max(u, max(g, x))
              +----+----+

gx is the cost of a gap's first residue, ge that of each further one. That is 17.5 operations for
four cells; `swdual.lanes.cell` takes 38. Numbers wrap, and `zero` stands for score 0, as there.

Every v is at least H of its cell, by induction over blocks, with H, E and F of Gotoh's recurrence.
Let m be the largest u; m >= g, as u00 >= g. Let g be at least all E and F that enter the block, and
d, v01 and v10 around it at least their H. Then

- H00 <= u00: it is that of a pair, which follows d, or that of a gap.
- H01 <= v01: u01 covers the pair. A gap there enters from above, so that it is at most g, or comes
  from 00, where it is at most g or opens: H00 - gx <= x. H10 <= v10 likewise.
- H11 <= v11: u11 covers the pair, as H00 <= u00. A gap there comes from 01 or 10, where it is at
  most max(g, x), or opens there: from max(u, g, x) <= max(m, x), and so at x at most.
- G is at least what leaves the block: a gap that entered it has passed two residues, and one that
  has opened in it is at most x.

So the largest m is at least the score; m is x + gx. ``docs/bound.md`` tells it with a drawing.
"""

from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.extending import intrinsic

from swdual.lanes.registers import COLUMNS, TABLE_BYTES
from swdual.lanes.vector import choose, larger, load, maximum, scores, store


@intrinsic
def block(typing: Any, near: Any, pairs: Any, gaps: Any, numbers: Any) -> Any:
    """Return v01, v10 and v11 of a block, the gaps that leave it, and max(g, x).

    Parameters
    ----------
    near
        v11 of the block up and left, v10 of the block above, v01 of the block on the left.
    pairs
        Scores of the pairs 00, 01, 10 and 11.
    gaps
        What enters from the left and from above.
    numbers
        What stands for score 0, and the costs of a gap's first residue and of two further ones.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def unpack(which: int) -> list[Any]:
            count = len(signature.args[which])
            return [builder.extract_value(args[which], k) for k in range(count)]

        def maxima(*vectors: Any) -> Any:
            first, *rest = vectors
            for vector in rest:
                first = larger(builder, first, vector)
            return first

        (diagonal, above, left), (s00, s01, s10, s11) = unpack(0), unpack(1)
        gap_left, gap_above = unpack(2)
        zero, gx, two_ge = unpack(3)
        g = maxima(gap_left, gap_above, zero)
        u00 = maxima(builder.add(diagonal, s00), g)
        u01, u10 = builder.add(above, s01), builder.add(left, s10)
        u11 = builder.add(u00, s11)
        x = builder.sub(larger(builder, maxima(u00, u01), maxima(u10, u11)), gx)
        gap = maxima(g, x)
        v01, v10, v11 = (larger(builder, u, gap) for u in (u01, u10, u11))
        leaving = larger(builder, builder.sub(g, two_ge), x)
        return context.make_tuple(builder, signature.return_type, (v01, v10, v11, leaving, gap))

    vector = near.dtype
    return types.UniTuple(vector, 5)(near, pairs, gaps, numbers), codegen


@njit(inline="always")
def go_down_bound(  # type: ignore[no-untyped-def]
    query, profile, H, E, fresh, reset, numbers, best, lanes
):
    """Bound all rows of a group of four columns: two rows of two blocks at a time.

    Parameters
    ----------
    query
        Rows of the score table, an even number of them.
    profile
        What `swdual.lanes.cell.set_profile` wrote for these columns.
    H, E
        For each two rows v01 and v11 left of the group, and the gaps that enter its first column;
        on return, right of the group.
    fresh, reset, lanes
        See `swdual.lanes.cell.go_down`.
    numbers
        Vectors of zero, gx and 2 ge.
    best
        The largest numbers so far, less gx.

    Returns
    -------
    `best` after the last row.
    """
    zero = numbers[0]
    d = h00 = h01 = h10 = h11 = f0 = f1 = zero
    for i in range(0, len(query), 2):
        top, bottom = query[i] * COLUMNS * lanes, query[i + 1] * COLUMNS * lanes
        pairs = (
            (
                load(profile, top, lanes),
                load(profile, top + lanes, lanes),
                load(profile, bottom, lanes),
                load(profile, bottom + lanes, lanes),
            ),
            (
                load(profile, top + 2 * lanes, lanes),
                load(profile, top + 3 * lanes, lanes),
                load(profile, bottom + 2 * lanes, lanes),
                load(profile, bottom + 3 * lanes, lanes),
            ),
        )
        d, h00, h01, h10, h11, f0, f1, best = bound_rows(
            i, pairs, H, E, fresh, reset, numbers, (d, h00, h01, h10, h11, f0, f1), best, lanes
        )
    return best


@njit(inline="always")
def go_down_bound_positions(  # type: ignore[no-untyped-def]
    low, high, codes, start, rows, H, E, fresh, reset, numbers, best, bits, lanes
):
    """Do what `go_down_bound` does, with the scores of each position of a profile.

    Parameters
    ----------
    low, high, codes, start
        See `swdual.lanes.cell.go_down_positions`.
    rows
        Positions, an even number of them.
    H, E, fresh, reset, numbers, best, lanes
        See `go_down_bound`, which returns the same.
    bits
        Bits of a score.
    """
    zero = numbers[0]
    d = h00 = h01 = h10 = h11 = f0 = f1 = zero
    for i in range(0, rows, 2):
        top, bottom = i * TABLE_BYTES, (i + 1) * TABLE_BYTES
        second, third, fourth = start + lanes, start + 2 * lanes, start + 3 * lanes
        pairs = (
            (
                scores(low, high, top, codes, start, bits, lanes),
                scores(low, high, top, codes, second, bits, lanes),
                scores(low, high, bottom, codes, start, bits, lanes),
                scores(low, high, bottom, codes, second, bits, lanes),
            ),
            (
                scores(low, high, top, codes, third, bits, lanes),
                scores(low, high, top, codes, fourth, bits, lanes),
                scores(low, high, bottom, codes, third, bits, lanes),
                scores(low, high, bottom, codes, fourth, bits, lanes),
            ),
        )
        d, h00, h01, h10, h11, f0, f1, best = bound_rows(
            i, pairs, H, E, fresh, reset, numbers, (d, h00, h01, h10, h11, f0, f1), best, lanes
        )
    return best


@njit(inline="always")
def bound_rows(  # type: ignore[no-untyped-def]
    i, pairs, H, E, fresh, reset, numbers, above, best, lanes
):
    """Bound rows i and i + 1 of a group of four columns.

    Parameters
    ----------
    i
        The first row, an even number.
    pairs
        Scores of the pairs of both blocks: see `block`.
    H, E, fresh, reset, numbers, best, lanes
        See `go_down_bound`.
    above
        v11 left of the group in the rows above; v10 and v11 of both blocks above; and the gaps that
        enter both from there.

    Returns
    -------
    `above` for the rows below, and `best`.

    `best` looks at every second block: max(g, x) is at least the block's own x, and at least that
    of the block on its left, which g has got from there. g is no more than some x before.
    """
    d, h00, h01, h10, h11, f0, f1 = above
    left, down_left = load(H, i * lanes, lanes), load(H, (i + 1) * lanes, lanes)
    e = load(E, i // 2 * lanes, lanes)
    if fresh:
        zero = numbers[0]
        left, down_left = choose(reset, zero, left), choose(reset, zero, down_left)
        e = choose(reset, zero, e)
    diagonal = h01
    left, h00, h01, f0, _ = block((d, h00, left), pairs[0], (e, f0), numbers)
    left, h10, h11, f1, gap = block((diagonal, h10, left), pairs[1], (f0, f1), numbers)
    store(H, i * lanes, left)
    store(H, (i + 1) * lanes, h11)
    store(E, i // 2 * lanes, f1)
    return down_left, h00, h01, h10, h11, f0, f1, maximum(best, gap)
