"""Adjusted scores of targets, and what they were computed with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.composition.tables import SCALE

UNMASKED = 4
"""Added to a kind of adjustment: the target was not masked, because it is nearly identical."""


_KINDS = ("none", "scaled", "optimised")


def describe_adjustment(adjustment: int) -> str:
    """Return an adjustment in words.

    Parameters
    ----------
    adjustment
        One of `AdjustedScores.adjustments`.

    >>> describe_adjustment(1), describe_adjustment(2 | UNMASKED)
    ('scaled', 'optimised, not masked')
    """
    kind = _KINDS[adjustment & ~UNMASKED]
    return f"{kind}, not masked" if adjustment & UNMASKED else kind


class AdjustedScores(NamedTuple):
    """Adjusted scores of some targets of one query.

    Parameters
    ----------
    scaled
        (targets,) scores in units of 1 / `SCALE`.
    adjustments
        (targets,) how the matrix was adjusted: 0 not, 1 scaled, 2 optimised; plus `UNMASKED`.
    lambda_ratios
        (targets,) the ratio by which the matrix was scaled; 1 otherwise.
    """

    scaled: NDArray[np.int64]
    adjustments: NDArray[np.int8]
    lambda_ratios: NDArray[np.float64]

    @classmethod
    def of_plain(cls, scores: NDArray[np.int64]) -> Self:
        """Return scores that were computed with the plain matrix, in its units."""
        count = len(scores)
        return cls(SCALE * scores, np.zeros(count, np.int8), np.ones(count))

    @property
    def raw(self) -> NDArray[np.int64]:
        """The scores as whole numbers, rounded to the nearest."""
        return (self.scaled + SCALE // 2) // SCALE

    @property
    def unrounded(self) -> NDArray[np.float64]:
        """The scores in the units of the plain matrix, not rounded."""
        return self.scaled / SCALE

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return the scores of some of the targets."""
        return type(self)(
            self.scaled[indices], self.adjustments[indices], self.lambda_ratios[indices]
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Return the scores of several parts after each other."""
        return cls(
            np.concatenate([np.empty(0, np.int64), *(part.scaled for part in parts)]),
            np.concatenate([np.empty(0, np.int8), *(part.adjustments for part in parts)]),
            np.concatenate([np.empty(0), *(part.lambda_ratios for part in parts)]),
        )


class Adjusted(NamedTuple):
    """Adjusted scores, and what they were computed with.

    Parameters
    ----------
    scores
        The scores.
    matrices
        (targets, 32, 32) scores of query codes with target codes, in units of 1 / `SCALE`. None
        for profiles, whose tables are large: they are computed again for alignments.
    masked
        Residue codes of the targets, or of their windows: masked, unless they are nearly identical
        to the query.
    firsts
        (targets,) where the windows begin: see `swdual.composition.regions`. 0 for whole targets.
    """

    scores: AdjustedScores
    matrices: NDArray[np.signedinteger] | None
    masked: Sequence[bytes]
    firsts: NDArray[np.int64]

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return the same of some of the targets."""
        masked = [self.masked[k] for k in indices.tolist()]
        matrices = None if self.matrices is None else self.matrices[indices]
        return type(self)(self.scores.take(indices), matrices, masked, self.firsts[indices])

    @classmethod
    def join(cls, parts: Sequence[Self], indices: Sequence[NDArray[np.int64]]) -> Self:
        """Return the same of the targets of several parts, which have these indices."""
        if len(parts) == 1:
            return parts[0]
        matrices = [part.matrices for part in parts if part.matrices is not None]
        together = cls(
            AdjustedScores.concatenate([part.scores for part in parts]),
            np.concatenate(matrices),
            [codes for part in parts for codes in part.masked],
            np.concatenate([part.firsts for part in parts]),
        )
        return together.take(np.argsort(np.concatenate(indices)))
