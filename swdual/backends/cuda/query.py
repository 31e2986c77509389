"""A query as the kernels score it: by its letters, or by the scores of its positions."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from swdual.backend import MAX_SCORE, ScoreCutoffs
from swdual.sequences.alphabet import PAD

PAD_SCORE = -(2**30)
"""What a residue scores beside a sequence; the kernels make it as low as their numbers go."""


class KernelQuery:
    """A query. Two are equal if their letters are, and their profile is the same array.

    Its `cutoffs` are the lowest scores that are wanted, if not all are. Its `most` and `left` are
    for `Launcher`, which keeps there what it has found out: how much it can score under the scheme,
    and the part of some targets that its upper bounds have left.

    Parameters
    ----------
    codes
        Residue codes.
    profile
        (residues, 32) scores of each position with each code, instead of the matrix.
    """

    def __init__(self, codes: bytes, profile: NDArray[np.int32] | None = None) -> None:
        self.codes = codes
        self.profile = profile
        self.cutoffs: ScoreCutoffs | None = None
        self.most: int | None = None
        self.left = 0.0
        self._hash = hash((codes, id(profile)))

    def __len__(self) -> int:
        return len(self.codes)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, KernelQuery)
            and self.codes == other.codes
            and self.profile is other.profile
        )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def best(self) -> NDArray[np.int64]:
        """(residues,) the best score of each position of a profile, at least 0."""
        assert self.profile is not None
        best: NDArray[np.int64] = self.profile[:, :PAD].max(axis=1).clip(0).astype(np.int64)
        return best

    @cached_property
    def largest(self) -> int:
        """The best score of all positions of a profile, at least 0."""
        return int(self.best.max())

    def lay_out_cutoffs(self) -> NDArray[np.uint32]:
        """Return (n, 2) lengths of targets and cutoffs, as `cutoffs` of `SEARCH` are read.

        A window is shorter than its target, so that no cutoff is above a later one.
        """
        assert self.cutoffs is not None
        lengths, scores = self.cutoffs
        rising = np.minimum.accumulate(scores[::-1])[::-1].clip(0, MAX_SCORE)
        return np.stack([lengths, rising], axis=1).astype(np.uint32)

    def lay_out(self) -> NDArray[np.uint8]:
        """Return the bytes that a launch needs: the codes, or (32, residues) int32 scores."""
        if self.profile is None:
            return np.frombuffer(self.codes, np.uint8)
        return transpose_scores(self.profile).reshape(-1).view(np.uint8)


def transpose_scores(scores: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return scores as the kernels read them: a row for each code of a target.

    Parameters
    ----------
    scores
        (rows, 32) scores of letters or positions of a query; those with `PAD` do not count.
    """
    table = scores.T.astype(np.int32, order="C")
    table[PAD] = PAD_SCORE
    return table


KernelTask = tuple[KernelQuery, int, int, int]
"""Query, block, first and last: see `ScoringTask`."""


def make_kernel_task(
    query: bytes, block: int, first: int, last: int, profile: NDArray[np.int32] | None = None
) -> KernelTask:
    """Return what a scorer is called with, as the kernels score it: see `ScoringTask`."""
    return KernelQuery(query, profile), block, first, last
