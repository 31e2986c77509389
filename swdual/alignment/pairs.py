"""A query with the targets that it is aligned with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.database.blocks import Block
from swdual.lanes.score_widths import ScoreWidth
from swdual.sequences.alphabet import ALIGNMENT


class TargetMatrices(NamedTuple):
    """Score matrices of a query with targets, one each, and what gaps cost in their units.

    Parameters
    ----------
    matrices
        See `ScoreWidth`; scores of at most 2**29 in size.
    gap_penalties
        A gap of k residues costs the first number plus k times the second.
    extremes
        Bounds of the scores, if they are known: see `score_widths_per_target`.
    """

    matrices: NDArray[np.signedinteger]
    gap_penalties: tuple[int, int]
    extremes: tuple[int, int] | None = None


class Pairs(NamedTuple):
    """A query with some targets, in descending length.

    Parameters
    ----------
    query, targets
        Rows of the score tables, and residue codes, that are aligned.
    widths
        The score widths, narrowest first.
    gap_penalties
        A gap of k residues costs the first number plus k times the second.
    unmasked_query, unmasked_targets
        Residue codes in which equal letters and positive scores are counted.
    """

    query: NDArray[np.int64]
    targets: Block
    widths: list[ScoreWidth]
    gap_penalties: tuple[int, int]
    unmasked_query: NDArray[np.uint8]
    unmasked_targets: Block


class Around(NamedTuple):
    """Rectangles around which alignments are looked for, because earlier alignments are in them.

    Parameters
    ----------
    forbidden
        (rectangles, 4) the rows and columns without pairs, target by target: see `find_segment`.
    starts
        (targets + 1,) where the rectangles of each target begin.
    min_scores
        (targets,) the smallest score that is looked for, at least 1.
    """

    forbidden: NDArray[np.int64]
    starts: NDArray[np.int64]
    min_scores: NDArray[np.int64]

    @classmethod
    def of(cls, rectangles: Sequence[Sequence[list[int]]], min_scores: NDArray[np.int64]) -> Self:
        """Return the rectangles of targets, a list for each.

        Parameters
        ----------
        rectangles, min_scores
            For each target.
        """
        starts = np.zeros(len(rectangles) + 1, np.int64)
        np.cumsum([len(some) for some in rectangles], out=starts[1:])
        every = [each for some in rectangles for each in some]
        return cls(np.array(every, np.int64).reshape(-1, 4), starts, min_scores)

    def rectangles_of(self, k: int) -> NDArray[np.int64]:
        """Return the rectangles of one target."""
        return self.forbidden[self.starts[k] : self.starts[k + 1]]


def find_residues(targets: Block, k: int) -> NDArray[np.uint8]:
    """Return the residue codes of one target."""
    start = int(targets.starts[k]) * ALIGNMENT
    return targets.residues[start : start + int(targets.lengths[k])]
