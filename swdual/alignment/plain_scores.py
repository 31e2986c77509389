"""Scores of a query with single targets, under the matrix of the scheme or its own profile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.backend import TOO_LARGE, Progress
from swdual.backends.simd import score_targets
from swdual.errors import EngineError
from swdual.lanes.registers import register_bytes
from swdual.lanes.score_widths import number_rows, score_widths
from swdual.sequences.scoring import ScoringScheme


def score_plain(
    query: bytes,
    targets: Sequence[bytes],
    scheme: ScoringScheme,
    progress: Progress = lambda cells: None,
    profile: NDArray[np.int32] | None = None,
) -> NDArray[np.int64]:
    """Return (targets,) Smith-Waterman scores.

    Parameters
    ----------
    query, targets
        Residue codes.
    scheme
        Substitution matrix and gap penalties.
    progress
        Called with 0 now and then; may raise to stop the work.
    profile
        (residues, 32) scores of each position of the query, instead of the matrix.

    Raises
    ------
    EngineError
        If a score is above 2**31 - 1.
    """
    widths = score_widths(scheme, register_bytes(), profile)
    scores = score_targets(number_rows(query, profile), targets, widths, progress)
    if scores.min(initial=0) < 0:
        raise EngineError(TOO_LARGE)
    return scores
