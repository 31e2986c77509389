"""Scores from frequencies, scaled so that their lambda is the substitution matrix's.

As PSI-BLAST does it (Altschul et al. 1997, Nucleic Acids Research 25, 3389-3402). Letters have
NCBI's codes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from swdual.composition.tables import CompositionTables
from swdual.profiles.frequencies import EPSILON, logarithms, standard_background
from swdual.profiles.karlin import bin_scores, find_lambda, find_parameters
from swdual.profiles.letters import AMINO_ACIDS, NCBI_LETTERS, NCBI_X, PLACES, order_as_ncbi
from swdual.profiles.position_scores import UNSCORED
from swdual.sequences.matrices import load
from swdual.statistics.karlin_altschul import KarlinAltschul

FINE = 200
"""Units of a score that is not rounded to the matrix's own units yet."""

BITS = {"BLOSUM45": 3.0}
"""Units in a bit of matrices that do not have two."""

FIRST_STEP = 0.05
HALVINGS = 10
"""The factor of scores is sought from 1 on by steps of 5 % that grow, then by halving."""

_NCBI_STOP = NCBI_LETTERS.index("*")


@dataclass(frozen=True, eq=False)
class ScaledScores:
    """The scores of a profile.

    Parameters
    ----------
    scores
        (L, 28) int32 by NCBI's codes.
    parameters
        Lambda, K and H of these scores, without gaps.
    """

    scores: NDArray[np.int32]
    parameters: KarlinAltschul


def compute_fine_scores(
    query: NDArray[np.uint8],
    frequencies: NDArray[np.float64],
    tables: CompositionTables,
) -> NDArray[np.int32]:
    """Return scores in units of 1 / `FINE`, before they are scaled.

    Parameters
    ----------
    query
        (L,) letters of the query.
    frequencies
        (L, 28) frequencies with pseudocounts; columns without any have the scores of the matrix.
    tables
        The substitution matrix.

    Returns
    -------
    (L, 28), `UNSCORED` where a letter has no frequency.
    """
    lambda_ = ideal_parameters(tables.name).lambda_
    background = standard_background()
    fine = np.full(frequencies.shape, UNSCORED, np.int32)
    used = background > EPSILON
    ratios = np.zeros(frequencies.shape)
    ratios[:, used] = frequencies[:, used] / background[used]
    scored = ratios != 0.0
    fine[scored] = round_half_away(FINE * (logarithms(ratios[scored]) / lambda_))
    plain = order_as_ncbi(load(tables.name).scores.astype(np.int32), UNSCORED)
    letters = _swdual_codes(query)
    for letter in (NCBI_X, _NCBI_STOP):
        fine[:, letter] = plain[letters, letter] * FINE
    unknown = ~scored.any(axis=1)
    fine[unknown] = _matrix_scores(tables)[query[unknown]]
    return fine


def scale_scores(
    query: NDArray[np.uint8], fine: NDArray[np.int32], tables: CompositionTables
) -> ScaledScores:
    """Return scores whose lambda is that of the substitution matrix.

    Parameters
    ----------
    query, fine
        (L,) letters of the query, and (L, 28) scores in units of 1 / `FINE`.
    tables
        The substitution matrix.

    Raises
    ------
    StatisticsUnavailable
        If the expected score is not negative, or no score is positive.
    """
    goal = ideal_parameters(tables.name).lambda_
    occurring = fine[np.ix_(query != NCBI_X, AMINO_ACIDS)]
    scored = occurring != UNSCORED
    weights = _weights(len(occurring))[scored.ravel()]
    occurring = occurring[scored]

    def is_above(factor: float) -> bool:
        """Return whether lambda is too large, so that scores must grow."""
        return find_lambda(round_half_away(factor * occurring / FINE), weights) > goal

    # Larger scores have a smaller lambda. The distance from 1 doubles until the goal is passed.
    grow = is_above(1.0)
    factor = 1.0 + FIRST_STEP if grow else 1.0 - FIRST_STEP
    while is_above(factor) == grow:
        factor += factor - 1.0
    low, high = (1.0, factor) if grow else (factor, 1.0)
    for _ in range(HALVINGS):
        factor = (high + low) / 2
        if is_above(factor):
            low = factor
        else:
            high = factor
    return _finish(query, fine, factor)


def round_scores(query: NDArray[np.uint8], fine: NDArray[np.int32]) -> ScaledScores:
    """Return scores that are rounded, but not scaled. See `scale_scores`."""
    return _finish(query, fine, 1.0)


def _finish(query: NDArray[np.uint8], fine: NDArray[np.int32], factor: float) -> ScaledScores:
    scores = np.where(fine == UNSCORED, UNSCORED, round_half_away(factor * fine / FINE)).astype(
        np.int32
    )
    return ScaledScores(scores, find_ungapped(query, scores))


def find_ungapped(query: NDArray[np.uint8], scores: NDArray[np.int32]) -> KarlinAltschul:
    """Return lambda, K and H of scores, without gaps.

    Parameters
    ----------
    query, scores
        (L,) letters of the query; its X do not count. (L, 28) scores.
    """
    occurring = scores[np.ix_(query != NCBI_X, AMINO_ACIDS)]
    weights = _weights(len(occurring))
    scored = occurring != UNSCORED
    return find_parameters(occurring[scored].astype(np.int64), weights[scored.ravel()])


@cache
def ideal_parameters(name: str) -> KarlinAltschul:
    """Return lambda, K and H of a substitution matrix without gaps, as PSI-BLAST computes them."""
    background = standard_background()[AMINO_ACIDS]
    codes = _swdual_codes(AMINO_ACIDS)
    scores = load(name).scores[np.ix_(codes, codes)].astype(np.int64).ravel()
    low, high = int(scores.min()), int(scores.max())
    probabilities = bin_scores(scores, np.outer(background, background).ravel(), low, high)
    probabilities /= np.add.accumulate(probabilities)[-1]
    return find_parameters(np.arange(low, high + 1), probabilities)


def find_gapped(ungapped: KarlinAltschul, gapped: KarlinAltschul, name: str) -> KarlinAltschul:
    """Return lambda, K and H of scores with gaps.

    Parameters
    ----------
    ungapped
        Those of the profile without gaps.
    gapped
        Those of the substitution matrix with gaps.
    name
        The substitution matrix.
    """
    factor = ungapped.K * gapped.K / ideal_parameters(name).K
    return KarlinAltschul(gapped.lambda_, factor, gapped.H)


def _weights(length: int) -> NDArray[np.float64]:
    """Return the probability of each amino acid at each of some positions, in one dimension."""
    return np.tile(standard_background()[AMINO_ACIDS] / max(length, 1), length)


def round_half_away(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the nearest integers; halves go away from zero."""
    return np.trunc(values + np.copysign(0.5, values)).astype(np.int64)


def _swdual_codes(letters: NDArray[np.uint8] | NDArray[np.int64]) -> NDArray[np.int64]:
    codes = np.zeros(256, np.int64)
    codes[PLACES] = np.arange(len(PLACES))
    return codes[letters]


def _matrix_scores(tables: CompositionTables) -> NDArray[np.int32]:
    """Return the matrix's own scores in units of 1 / `FINE`: (28, 28) by NCBI's codes."""
    units = BITS.get(tables.name, 2.0)
    scores = np.full((len(NCBI_LETTERS), len(NCBI_LETTERS)), UNSCORED, np.int32)
    values = FINE * units * logarithms(tables.ratios) / math.log(2)
    scores[np.ix_(PLACES, PLACES)] = round_half_away(values)
    return scores
