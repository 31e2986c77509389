"""Scores of a query with targets that have a matrix each: in 16 bits, then in 32 where needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.pairs import TargetMatrices
from swdual.backend import TOO_LARGE, Progress
from swdual.backends.simd import score_targets
from swdual.composition.sequences import join_targets
from swdual.errors import EngineError
from swdual.lanes.registers import register_bytes
from swdual.lanes.score_widths import score_widths_per_target


def rescore(
    query: NDArray[np.integer],
    targets: Sequence[bytes],
    scoring: TargetMatrices,
    progress: Progress = lambda cells: None,
    lanes: int | None = None,
    cutoffs: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Return the Smith-Waterman scores of a query with some targets.

    Parameters
    ----------
    query, targets
        Rows of the matrices, and residue codes; masked residues are X.
    scoring
        The matrices, and what gaps cost.
    progress
        Called with 0 now and then; may raise to stop the work.
    lanes
        8-bit numbers in a vector, a power of two; by default one register's full.
    cutoffs
        (targets,) the lowest scores that are asked for, if not all are.

    Returns
    -------
    (targets,) scores, or upper bounds of them below the cutoffs.

    Raises
    ------
    EngineError
        If a score is above 2**31 - 1.
    """
    residues, _, _ = join_targets(targets)
    lanes = register_bytes() if lanes is None else lanes
    matrices, gap_penalties, extremes = scoring
    widths = score_widths_per_target(query, residues, matrices, *gap_penalties, lanes, extremes)
    scores = score_targets(query.astype(np.int64), targets, widths, progress, cutoffs)
    if scores.min(initial=0) < 0:
        raise EngineError(TOO_LARGE)
    return scores
