"""What a profile holds: the scores of a query's positions, and the statistics of these scores."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.sequences.alphabet import CODES
from swdual.sequences.matrices import MAX_MATRIX_SCORE
from swdual.statistics.karlin_altschul import KarlinAltschul

UNSCORED = -32768
"""The score of a letter that a position does not score, as in PSI-BLAST's files: most often B, J,
Z, U and O."""

INCLUSION = 0.002
"""Hits with a smaller E-value take part in a profile: psiblast's -inclusion_ethresh."""


@dataclass(frozen=True, eq=False)
class PositionScores:
    """The scores of each of L positions of a query. The arrays are read-only.

    Parameters
    ----------
    title
        Header line of the query.
    codes
        (L,) residue codes of the query.
    scores
        (L, 32) int32 score of each position with each residue code. `UNSCORED` where the file has
        no score. Codes without a letter hold the smallest other score, as in `SubstitutionMatrix`.
    frequencies
        (L, 32) float64 frequencies of the amino acids among residues that are aligned with each
        position, pseudocounts included; 0 in positions without information. PSI-BLAST calls them
        frequency ratios. None if unknown.
    observations
        (L,) float64 independent observations of each position, pseudocounts and the query not
        included; None if unknown.
    gapped, ungapped
        Lambda, K and H of alignments with gaps and without.
    matrix
        Name of the substitution matrix that it was made from.
    gap_open, gap_extend
        Gap penalties that the statistics with gaps belong to.
    weights
        (L, 32) float64 weighted frequencies of the aligned residues alone; None if unknown.
    gapless
        (L,) float64 weight of real matches without gaps, relative to pseudocounts; None if unknown.

    Raises
    ------
    InputError
        If shapes do not fit together, or a score is beyond `UNSCORED` or `MAX_MATRIX_SCORE`.
    """

    title: str
    codes: bytes = field(repr=False)
    scores: NDArray[np.int32] = field(repr=False)
    frequencies: NDArray[np.float64] | None = field(repr=False)
    observations: NDArray[np.float64] | None = field(repr=False)
    gapped: KarlinAltschul
    ungapped: KarlinAltschul
    matrix: str = "BLOSUM62"
    gap_open: int = 11
    gap_extend: int = 1
    weights: NDArray[np.float64] | None = field(default=None, repr=False)
    gapless: NDArray[np.float64] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        length = len(self.codes)
        if not length:
            raise InputError("a profile needs at least one position")
        for name, kind, shape in (
            ("scores", np.int32, (length, CODES)),
            ("frequencies", np.float64, (length, CODES)),
            ("observations", np.float64, (length,)),
            ("weights", np.float64, (length, CODES)),
            ("gapless", np.float64, (length,)),
        ):
            given = getattr(self, name)
            if given is None and name != "scores":
                continue
            array = np.array(given, kind)
            if array.shape != shape:
                raise InputError(f"{name} of a profile: expected shape {shape}, not {array.shape}")
            if name == "scores":
                _check_scores(np.asarray(given))  # before a conversion wraps them
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __eq__(self, other: object) -> bool:
        """Return whether all scores, frequencies and statistics are equal."""
        if not isinstance(other, PositionScores):
            return NotImplemented
        pairs = [(getattr(self, each.name), getattr(other, each.name)) for each in fields(self)]
        return all(
            np.array_equal(*pair)
            if any(isinstance(each, np.ndarray) for each in pair)
            else pair[0] == pair[1]
            for pair in pairs
        )

    def __hash__(self) -> int:
        return hash((self.title, self.codes))

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def id(self) -> str:
        """First word of the title."""
        return next(iter(self.title.split()), "")


def _check_scores(scores: NDArray[Any]) -> None:
    """Check that the kernels, which read scores in 16 bits, can hold them.

    Raises
    ------
    InputError
        If one is too large or too small.
    """
    for score in (scores.min(), scores.max()):
        if not UNSCORED <= score <= MAX_MATRIX_SCORE:
            raise InputError(
                f"scores of a profile: {score} is not within {UNSCORED} to {MAX_MATRIX_SCORE}"
            )


def lowest_score(scores: NDArray[np.integer]) -> int:
    """Return the smallest score of a letter, at most 0: that of codes without a letter."""
    return int(scores[scores != UNSCORED].min(initial=0))
