"""The recurrence of one vector of cells, and what its numbers stand for.

Numbers are kept with a wrapping arithmetic and shifted so that `zero`, not 0, stands for score 0.
E and F are kept *plus* the price of a gap's first residue (gx; ge is that of each further one), so
that a cell takes nine operations, none of them saturating::

    u = max(E, F)
    H = max(H_diagonal + S, zero, u - gx)
    E = max(E - ge, H)          for the next column
    F = max(F - ge, H)          for the next row

Nothing wraps at the bottom, because zero lies at least gx and the smallest score above the lowest
number. Nothing wraps at the top unnoticed, because the first H above the rung's limit (the highest
number less the largest score) still fits.
"""

from __future__ import annotations

from numba import njit

from swdual.lanes.vector import add, maximum, subtract

COLUMNS = 4
"""Target columns of a group: their H and F stay in registers all the way down the query."""


@njit(inline="always")
def cell(diagonal, score, e, f, zero, gx, ge):  # type: ignore[no-untyped-def]
    """Return H, E for the next column, F for the next row, and u."""
    u = maximum(e, f)
    h = maximum(maximum(add(diagonal, score), zero), subtract(u, gx))
    return h, maximum(subtract(e, ge), h), maximum(subtract(f, ge), h), u
