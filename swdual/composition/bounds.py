"""Upper bounds of scores in mode 1, which tell that most targets need no scores of their own.

Mode 1 multiplies all scores of letters by a ratio r, 0.5 <= r <= 1, that depends on the target, and
leaves gap penalties alone. Let c be at least r and at most 1. Let an alignment pair n letters with
scores x_1, ..., x_n at ratio 1, and let its gaps cost g. Scores are rounded to multiples of 1 / 32,
so under the matrix of the target it scores at most::

    sum(r * x_i + 1/64) - g  <=  r/c * Y - g  with  Y = sum(c * x_i + 1/32),  as  1/64 <= r/c / 32

If Y >= 0, that is at most Y - g. If Y < 0, it is negative, and the alignment is none of the best.
So the best alignment of the scores c * x_i + 1/32 scores at least as much as that of any r up to c.
Rounding up to multiples of 1 / `BOUND_SCALE` only increases it.

X and O score at most -1/32 under r: 0 is a bound. ``*`` keeps its score, which is negative but for
pairs of two ``*``: a target that could have such a pair has no bound. Targets are masked or, where
they are nearly identical, not: the larger bound of both counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.backend import Progress
from swdual.backends.simd import score_targets
from swdual.composition.adjust import CYS, LETTERS, PYL, SEC, STOP, X
from swdual.composition.tables import FORBIDDEN, SCALE
from swdual.lanes.registers import register_bytes, register_count
from swdual.lanes.score_widths import score_widths
from swdual.sequences.scoring import ScoringScheme

CEILINGS = 32
"""Ratios are rounded up to multiples of 1 / `CEILINGS`; targets are bounded together if these are
equal."""

BOUND_SCALE = 3
"""Units of a bound in one unit of the matrix's own scores. Scores of about 60 units fit 8 bits."""


def bound_scores(
    scores: NDArray[np.float64], start: NDArray[np.int32], ceiling: float = 1.0
) -> NDArray[np.int32]:
    """Return scores whose best alignments are bounds, in units of 1 / `BOUND_SCALE`.

    Parameters
    ----------
    scores
        (rows, 27 or more) scores at ratio 1 in units of ``1 / SCALE``, of letters that are scaled.
    start
        (rows, 32) scores in the same units, of letters that are not; and of targets without amino
        acids, whose ratio is 1.
    ceiling
        The largest ratio of the targets.

    Returns
    -------
    (rows, 32) scores.
    """
    bounds = np.ceil(BOUND_SCALE / SCALE * start.astype(np.float64))
    scaled = np.ceil(BOUND_SCALE / SCALE * (ceiling * scores[:, :LETTERS] + 1.0))
    scaled[scores[:, :LETTERS] == FORBIDDEN] = FORBIDDEN
    scaled[:, X] = scaled[:, PYL] = 0.0
    scaled[:, SEC] = scaled[:, CYS]
    scaled[:, STOP] = bounds[:, STOP]
    if ceiling == 1.0:
        scaled = np.maximum(bounds[:, :LETTERS], scaled)
    bounds[:, :LETTERS] = scaled
    return bounds.astype(np.int32)


def bound_targets(
    bounds: NDArray[np.int32],
    targets: Sequence[bytes],
    scheme: ScoringScheme,
    progress: Progress = lambda cells: None,
) -> NDArray[np.float64]:
    """Return what the scores of targets do not exceed, in the units of the plain matrix.

    Parameters
    ----------
    bounds
        (residues, 32) result of `bound_scores` for the residues of a query.
    targets
        Residue codes.
    scheme
        The gap penalties.
    progress
        Called with 0 now and then; may raise to stop the work.

    Returns
    -------
    (targets,) bounds; infinite where a score does not fit 8 bits.
    """
    finer = ScoringScheme(
        scheme.matrix, BOUND_SCALE * scheme.gap_open, BOUND_SCALE * scheme.gap_extend
    )
    # Scores that are smaller than a gap would take range from 8 bits, and may be increased.
    bounds = np.maximum(bounds, -finer.gap_open - finer.gap_extend)
    narrowest = score_widths(finer, register_bytes() * register_count() // 16, bounds)[:1]
    found = score_targets(np.arange(len(bounds)), targets, narrowest, progress)
    limits = np.where(found < 0, np.inf, found / BOUND_SCALE)
    if (bounds[:, STOP] > 0).any():
        limits[[STOP in codes for codes in targets]] = np.inf
    return limits
