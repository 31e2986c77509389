"""The definition: Gotoh's three matrices, one cell after the other, in whole numbers of any size.

A gap of k residues costs ``gap_open + k * gap_extend``. With q the query, t the target, S the
matrix, o and x the gap penalties::

    E[i, j] = max(H[i, j-1] - o - x, E[i, j-1] - x)        the target's residue j stands in a gap
    F[i, j] = max(H[i-1, j] - o - x, F[i-1, j] - x)        the query's residue i stands in a gap
    H[i, j] = max(0, H[i-1, j-1] + S[q[i], t[j]], E[i, j], F[i, j])

The score is the largest H. O. Gotoh, J. Mol. Biol. 162 (1982) 705-708.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.backend import MAX_SCORE, TOO_LARGE, Progress, Scorer
from swdual.database.database import Database
from swdual.errors import EngineError
from swdual.sequences.alphabet import ALIGNMENT
from swdual.sequences.scoring import ScoringScheme


def bind(database: Database, scheme: ScoringScheme) -> Scorer:
    """Return a scorer that follows the definition, at about two million cells a second.

    See `Backend.bind`.
    """
    return ReferenceScorer(database, scheme)


class ReferenceScorer:
    """Scores one pair after the other."""

    width = 1

    def __init__(self, database: Database, scheme: ScoringScheme) -> None:
        self._database = database
        self._scheme = scheme
        self._scores: list[list[int]] = scheme.matrix.scores.tolist()

    def memory(self, longest_query: int, max_range_cost: int) -> tuple[int, int]:
        """Return bytes: see `Scorer.memory`. Each caller has two rows as long as a target."""
        return 0, 2 * 32 * self._database.manifest.longest + 2 * max_range_cost

    def __call__(
        self, query: bytes, block: int, first: int, last: int, progress: Progress
    ) -> NDArray[np.int32]:
        """Return the scores: see `Scorer`."""
        targets = self._database.targets(block, first, last)
        gap_penalties = self._scheme.gap_open, self._scheme.gap_extend
        out = np.empty(last - first, np.int32)
        for k in range(last - first):
            start = int(targets.starts[k]) * ALIGNMENT
            target = targets.residues[start : start + int(targets.lengths[k])].tobytes()
            score = gotoh(query, target, self._scores, *gap_penalties, progress)
            if score > MAX_SCORE:
                raise EngineError(TOO_LARGE)
            out[k] = score
        return out


def gotoh(
    query: bytes,
    target: bytes,
    scores: list[list[int]],
    gap_open: int,
    gap_extend: int,
    progress: Progress = lambda cells: None,
) -> int:
    """Return the score of the best local alignment of two sequences of codes.

    `progress` receives the cells row by row, and may raise to stop.

    Parameters
    ----------
    query, target
        Residue codes.
    scores
        Scores of pairs of codes: ``scores[query code][target code]``.
    gap_open, gap_extend
        A gap of k residues costs ``gap_open + k * gap_extend``.
    progress
        Called with the cells of each row; may raise to stop the work.

    >>> gotoh(bytes([0, 1, 1]), bytes([0, 1]), [[5, -4], [-4, 5]], 1, 1)
    10
    """
    first_gap = gap_open + gap_extend
    row = [0] * (len(target) + 1)
    in_query_gap = [-first_gap] * (len(target) + 1)
    best = 0
    for residue in query:
        pair = scores[residue]
        diagonal = left = 0
        e = -first_gap
        for j, other in enumerate(target, start=1):
            e = max(left - first_gap, e - gap_extend)
            f = max(row[j] - first_gap, in_query_gap[j] - gap_extend)
            left = max(0, diagonal + pair[other], e, f)
            diagonal, row[j], in_query_gap[j] = row[j], left, f
            best = max(best, left)
        progress(len(target))
    return best
