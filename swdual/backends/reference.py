"""The definition: Gotoh's three matrices, one cell after the other, in whole numbers of any size.

A gap of k residues costs ``gap_open + k * gap_extend``. With q the query, t the target, S the
matrix, o and x the gap penalties::

    E[i, j] = max(H[i, j-1] - o - x, E[i, j-1] - x)        the target's residue j stands in a gap
    F[i, j] = max(H[i-1, j] - o - x, F[i-1, j] - x)        the query's residue i stands in a gap
    H[i, j] = max(0, H[i-1, j-1] + S[q[i], t[j]], E[i, j], F[i, j])

With a profile, S has a row for each position of the query: S[i, t[j]].

With frameshifts, row i of the query is the codon that begins with base i, and x the cost of a
frameshift. The row before it is i - 3, and::

    H[i, j] = max(0, max(0, H[i-3, j-1], H[i-2, j-1] - x, H[i-4, j-1] - x) + S[q[i], t[j]], ...)

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
from swdual.sequences.translation import CODON


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
        self,
        query: bytes,
        block: int,
        first: int,
        last: int,
        progress: Progress,
        profile: NDArray[np.int32] | None = None,
    ) -> NDArray[np.int32]:
        """Return the scores: see `Scorer`."""
        rows = [self._scores[code] for code in query] if profile is None else profile.tolist()
        targets = self._database.targets(block, first, last)
        gap_penalties = self._scheme.gap_open, self._scheme.gap_extend
        out = np.empty(last - first, np.int32)
        for k in range(last - first):
            start = int(targets.starts[k]) * ALIGNMENT
            target = targets.residues[start : start + int(targets.lengths[k])].tobytes()
            score = gotoh(rows, target, *gap_penalties, progress, self._scheme.frameshift)
            if score > MAX_SCORE:
                raise EngineError(TOO_LARGE)
            out[k] = score
        return out


def gotoh(
    rows: list[list[int]],
    target: bytes,
    gap_open: int,
    gap_extend: int,
    progress: Progress = lambda cells: None,
    frameshift: int = 0,
) -> int:
    """Return the score of the best local alignment of a query and a target.

    `progress` receives the cells row by row, and may raise to stop.

    Parameters
    ----------
    rows
        The scores of each residue of the query with each code.
    target
        Residue codes.
    gap_open, gap_extend
        A gap of k residues costs ``gap_open + k * gap_extend``.
    progress
        Called with the cells of each row; may raise to stop the work.
    frameshift
        Cost of a frameshift, if the rows are those of all frames of a strand; else 0.

    >>> gotoh([[5, -4], [-4, 5], [-4, 5]], bytes([0, 1]), 1, 1)
    10
    """
    first_gap = gap_open + gap_extend
    step = CODON if frameshift else 1
    # The last rows of H, the latest last, and as many of F.
    recent = [[0] * (len(target) + 1) for _ in range(step + (frameshift > 0))]
    in_query_gap = [[-first_gap] * (len(target) + 1) for _ in range(step)]
    best = 0
    for pair in rows:
        before, above = recent[-step], in_query_gap.pop(0)
        diagonals = before
        if frameshift:
            near, far = recent[-step + 1], recent[-step - 1]
            diagonals = [
                max(same, one - frameshift, other - frameshift)
                for same, one, other in zip(before, near, far, strict=True)
            ]
        row, left, e = [0], 0, -first_gap
        for j, other in enumerate(target, start=1):
            e = max(left - first_gap, e - gap_extend)
            above[j] = max(before[j] - first_gap, above[j] - gap_extend)
            left = max(0, diagonals[j - 1] + pair[other], e, above[j])
            row.append(left)
            best = max(best, left)
        recent = [*recent[1:], row]
        in_query_gap.append(above)
        progress(len(target))
    return best
