"""Lambda, K and H of local alignments without gaps, for any matrix.

Karlin, S. and Altschul, S. F. (1990). Methods for assessing the statistical significance of
molecular sequence features by using general scoring schemes. PNAS 87, 2264-2268.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swdual.errors import StatisticsUnavailable
from swdual.sequences.alphabet import PROTEIN, Alphabet
from swdual.sequences.matrices import SubstitutionMatrix

ROBINSON = {
    **{"A": 78.05, "C": 19.25, "D": 53.64, "E": 62.95, "F": 38.56, "G": 73.77, "H": 21.99},
    **{"I": 51.42, "K": 57.44, "L": 90.19, "M": 22.43, "N": 44.87, "P": 52.03, "Q": 42.64},
    **{"R": 51.29, "S": 71.20, "T": 58.41, "V": 64.41, "W": 13.30, "Y": 32.16},
}
"""Amino acids in a thousand residues (Robinson and Robinson 1991, PNAS 88, 8880-8884)."""

MAX_TRANSFORM = 2**21
"""Maximum number of points of the Fourier transform in `_log_ladder`; more take seconds."""

MIN_TERM = 1e-4
MAX_TERMS = 100


@dataclass(frozen=True)
class KarlinAltschul:
    """The distribution of the best score S of long random sequences of lengths m and n.

    P(S >= x) is about ``1 - exp(-K * m * n * exp(-lambda_ * x))``.

    Parameters
    ----------
    lambda_
        Nats of information in one unit of score.
    K
        The share of starting points that count as independent.
    H
        Relative entropy: nats of information in one pair of aligned residues.
    """

    lambda_: float
    K: float
    H: float


def background(alphabet: Alphabet) -> NDArray[np.float64]:
    """Return the frequencies of residues in random sequences.

    Amino acids have the frequencies of Robinson and Robinson, bases equal ones. Other letters do
    not occur.

    Returns
    -------
    (letters of the alphabet,) float64, indexed by code, with sum 1.

    >>> from swdual.sequences.alphabet import NUCLEOTIDE
    >>> background(NUCLEOTIDE)[:5].tolist()
    [0.25, 0.25, 0.25, 0.25, 0.0]
    """
    counts = ROBINSON if alphabet is PROTEIN else dict.fromkeys("ACGT", 250.0)
    frequencies = np.array([counts.get(letter, 0.0) for letter in alphabet.letters])
    normalised: NDArray[np.float64] = frequencies / frequencies.sum()
    return normalised


def ungapped(matrix: SubstitutionMatrix) -> KarlinAltschul:
    """Return lambda, K and H of a matrix under the background frequencies.

    Raises
    ------
    StatisticsUnavailable
        If the expected score is not negative, or no score is positive: then the best score does
        not follow the distribution that E-values come from.

    >>> from swdual.sequences.matrices import load
    >>> found = ungapped(load("BLOSUM62"))
    >>> f"{found.lambda_:.4f} {found.K:.4f} {found.H:.4f}"
    '0.3176 0.1337 0.4012'
    """
    values, probabilities = require_negative_mean(matrix)
    # All is computed for scores divided by their common divisor: only lambda has a unit.
    divisor = int(np.gcd.reduce(values))
    steps = values // divisor
    slope = _lambda(steps, probabilities)
    if 60 / slope > MAX_TRANSFORM:
        raise _undefined_error(matrix, "expected score is too close to zero")
    entropy = slope * float(steps @ (probabilities * np.exp(slope * steps)))
    sigma = _log_ladder(steps, probabilities, slope)
    factor = slope * math.exp(-2 * sigma) / (entropy * -math.expm1(-slope))
    return KarlinAltschul(slope / divisor, factor, entropy)


def require_negative_mean(
    matrix: SubstitutionMatrix,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the scores of random pairs of residues, and their probabilities.

    Raises
    ------
    StatisticsUnavailable
        If the expected score is not negative, or no score is positive.
    """
    values, probabilities = _distribution(matrix)
    if values.max() <= 0:
        raise _undefined_error(matrix, "no score is positive")
    if probabilities @ values >= 0:
        raise _undefined_error(matrix, "expected score is not negative")
    return values, probabilities


def _undefined_error(matrix: SubstitutionMatrix, why: str) -> StatisticsUnavailable:
    return StatisticsUnavailable(
        f"matrix {matrix.name}: {why}: E-values are undefined; use `stats='none'`, "
        "or a matrix whose scores are negative on average and positive for some pairs"
    )


def _distribution(matrix: SubstitutionMatrix) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the scores of random pairs of residues, and their probabilities."""
    frequencies = background(matrix.alphabet)
    codes = np.flatnonzero(frequencies)
    pairs = np.outer(frequencies[codes], frequencies[codes])
    scores = matrix.scores[np.ix_(codes, codes)].astype(np.int64)
    values, indices = np.unique(scores, return_inverse=True)
    probabilities = np.zeros(len(values))
    np.add.at(probabilities, indices.ravel(), pairs.ravel())
    return values, probabilities


def _lambda(values: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Return the positive root of sum p(s) exp(lambda s) = 1.

    The sum is convex in lambda, so Newton's method from any point right of the root comes down to
    it without crossing it. The largest score alone reaches 1 at the starting point.
    """
    root = -math.log(probabilities[-1]) / int(values[-1])
    while True:
        terms = probabilities * np.exp(root * values)
        following = root - (terms.sum() - 1) / float(terms @ values)
        if not 0 < following < root * (1 - 1e-15):
            return root
        root = float(following)


def _log_ladder(
    values: NDArray[np.int64], probabilities: NDArray[np.float64], slope: float
) -> float:
    """Return sigma = sum over j of (1/j) (P(S_j >= 0) + E[exp(lambda S_j); S_j < 0]).

    S_j is the sum of j independent pair scores. Weighting each score s by exp(lambda s / 2) makes
    the halves alike: the j-th term is the sum over s of w_j(s) exp(-lambda |s| / 2) / j, w_j the
    j-fold convolution of the weighted probabilities. Its Fourier transform is the j-th power of
    theirs, so that no convolution is carried out, however wide the scores are. On a circle of
    `size` points, w_j meets itself only where it has fallen below exp(-30).

    The series is cut off where its j-th bracket is below 1e-4, or after 100 terms, like the values
    that NCBI publishes; K is then some 0.1 % from its limit at most. Where the largest step is 1
    up or 1 down NCBI has the limit in closed form, so there the whole series is summed: it is
    -ln(1 - transform).
    """
    size = 1 << math.ceil(math.log2(max(60 / slope, 64)))
    weights = probabilities * np.exp(slope / 2 * values)
    transform = np.fft.rfft(np.bincount(values % size, weights, size))
    distances = np.minimum(np.arange(size), size - np.arange(size))
    # By Parseval's theorem; the points between the first and the last stand for two each.
    kernel = np.fft.rfft(np.exp(-slope / 2 * distances)).real / size
    kernel[1:-1] *= 2
    if values[0] == -1 or values[-1] == 1:
        return float(-np.log1p(-transform).real @ kernel)
    power = np.ones_like(transform)
    sigma, term, j = 0.0, 1.0, 0
    while term > MIN_TERM and j < MAX_TERMS:
        j += 1
        power *= transform
        term = float(power.real @ kernel)
        sigma += term / j
    return sigma
