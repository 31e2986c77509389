"""NCBI's tables for composition-adjusted matrices, looked up by the values of a matrix.

Schaffer et al. 2001 (Nucleic Acids Research 29, 2994-3005) scale a matrix by its frequency ratios.
Yu and Altschul 2005 (Bioinformatics 21, 902-911) adjust the joint probabilities behind it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import StatisticsUnavailable
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.sequences.matrices import load
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.karlin_altschul import ungapped
from swdual.statistics.parameters import find_name

SCALE = 32
"""Units of an adjusted score in one unit of the matrix's own scores."""

AMINO_ACIDS = 20
"""The codes of the 20 amino acids are 0 to 19."""

FORBIDDEN = -32768
"""The score of a code that stands for no letter."""


@dataclass(frozen=True, eq=False)
class CompositionTables:
    """What the adjusted matrices of a scoring scheme are computed from.

    Parameters
    ----------
    name
        NCBI's name of the matrix.
    joint
        (20, 20) probabilities of pairs of amino acids among aligned residues, with sum 1.
    background
        (20,) their marginals.
    lambda_
        Nats in one unit of the matrix's own scores, without gaps.
    ratios
        (27, 27) frequency ratios: how much more often pairs of letters are aligned than by chance.
    scores
        (27, 27) ``SCALE / lambda_ * ln(frequency ratio)`` of pairs of letters, in units of
        ``1 / SCALE``, not rounded.
    start
        (32, 32) int32, these scores rounded; `FORBIDDEN` for codes without a letter.
    gap_open, gap_extend
        Gap penalties in units of ``1 / SCALE``.
    """

    name: str
    joint: NDArray[np.float64]
    background: NDArray[np.float64]
    lambda_: float
    ratios: NDArray[np.float64]
    scores: NDArray[np.float64]
    start: NDArray[np.int32]
    gap_open: int
    gap_extend: int


def find_tables(scheme: ScoringScheme) -> CompositionTables:
    """Return the tables of a scoring scheme.

    Raises
    ------
    StatisticsUnavailable
        If the matrix is none of NCBI's eight; the message lists them.

    >>> tables = find_tables(ScoringScheme(load("BLOSUM62"), 11, 1))
    >>> tables.name, round(tables.lambda_, 6), tables.start[:3, 0].tolist(), tables.gap_open
    ('BLOSUM62', 0.317606, [137, -49, -53], 352)
    """
    name = _find_name(scheme)
    if name is None:
        raise StatisticsUnavailable(
            f"matrix {scheme.matrix.name}: there are no tabled residue frequencies for its scores "
            f"(only for those of {', '.join(_ncbi())}), so it cannot be adjusted to compositions; "
            "use `comp_based_stats=0`"
        )
    joint, background, lambda_, ratios, scores, start = _matrix_tables(name)
    return CompositionTables(
        name,
        joint,
        background,
        lambda_,
        ratios,
        scores,
        start,
        SCALE * scheme.gap_open,
        SCALE * scheme.gap_extend,
    )


def is_adjustable(scheme: ScoringScheme) -> bool:
    """Return whether the matrix of a scoring scheme can be adjusted to compositions.

    >>> is_adjustable(ScoringScheme(load("BLOSUM62"), 5, 1))
    True
    """
    return _find_name(scheme) is not None


def _find_name(scheme: ScoringScheme) -> str | None:
    """Return NCBI's name of the matrix, if it is one of NCBI's eight."""
    if scheme.matrix.alphabet is not PROTEIN:
        return None
    return find_name(scheme.matrix, _ncbi())


@cache
def _matrix_tables(
    name: str,
) -> tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    float,
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.int32],
]:
    """Return all that does not depend on the gap penalties, as read-only arrays."""
    joint, ratios = (_unfold(_ncbi()[name][kind]) for kind in ("joint", "ratios"))
    background = joint.sum(axis=0)
    lambda_ = ungapped(load(name)).lambda_
    scores = SCALE / lambda_ * np.vectorize(math.log)(ratios)
    start = np.full((CODES, CODES), FORBIDDEN, np.int32)
    letters = len(scores)
    # Halves are rounded away from zero, as NCBI does.
    start[:letters, :letters] = np.trunc(scores + np.copysign(0.5, scores))
    for array in (joint, background, ratios, scores, start):
        array.setflags(write=False)
    return joint, background, lambda_, ratios, scores, start


def _unfold(rows: list[list[float]]) -> NDArray[np.float64]:
    """Return the symmetric matrix with these rows up to the diagonal."""
    matrix = np.zeros((len(rows), len(rows)))
    for k, row in enumerate(rows):
        matrix[k, : k + 1] = matrix[: k + 1, k] = row
    return matrix


@cache
def _ncbi() -> dict[str, Any]:
    text = Path(__file__).with_name("ncbi_composition.json").read_text()
    matrices: dict[str, Any] = json.loads(text)["matrices"]
    return matrices
