"""Lambda, K and H of position-specific scores, to PSI-BLAST's digits.

`swdual.statistics` has lambda to the last digit, and K by a transform. PSI-BLAST stops earlier, and
writes 15 digits of what it has then; so the same iterations are made here.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from swdual.errors import StatisticsUnavailable
from swdual.runtime.native import native
from swdual.statistics.karlin_altschul import KarlinAltschul

MAX_LAMBDA_STEPS = 20
LAMBDA_TOLERANCE = 1e-5
FIRST_LAMBDA = 0.5

MIN_TERM = 1e-4
MAX_TERMS = 100
"""K comes from a series that ends with the first term below `MIN_TERM`, or after this many."""


def find_parameters(scores: NDArray[np.int64], weights: NDArray[np.float64]) -> KarlinAltschul:
    """Return lambda, K and H of scores with given probabilities.

    Parameters
    ----------
    scores, weights
        Scores, each as often as it occurs, and the probability of each occurrence.

    Raises
    ------
    StatisticsUnavailable
        If the expected score is not negative, or no score is positive.
    """
    lambda_, low, probabilities = _solve(scores, weights)
    entropy = _entropy(low, probabilities, lambda_)
    return KarlinAltschul(lambda_, _factor(low, probabilities, lambda_, entropy), entropy)


def find_lambda(scores: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """Return lambda alone. See `find_parameters`."""
    return _solve(scores, weights)[0]


def _solve(
    scores: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[float, int, NDArray[np.float64]]:
    """Return lambda, the smallest score, and the probabilities of the scores from that on."""
    low, high = int(scores.min(initial=0)), int(scores.max(initial=0))
    probabilities = bin_scores(scores, weights, low, high)
    mean = float(np.add.accumulate(np.arange(low, high + 1) * probabilities)[-1])
    if high <= 0 or mean >= 0.0:
        raise StatisticsUnavailable(
            "the profile's scores are not negative on average, or none is positive: E-values are "
            "undefined; use more, or more similar, sequences"
        )
    step = _step(low, probabilities)
    values = probabilities[::step].tolist()
    return _find_root(values, -low // step) / step, low, probabilities


def bin_scores(
    scores: NDArray[np.int64], weights: NDArray[np.float64], low: int, high: int
) -> NDArray[np.float64]:
    """Return the probabilities of the scores from `low` to `high`."""
    return np.bincount(scores - low, weights, high - low + 1).astype(np.float64)


def _step(low: int, probabilities: NDArray[np.float64]) -> int:
    """Return the greatest common divisor of the scores."""
    return math.gcd(low, *np.flatnonzero(probabilities).tolist())


def _find_root(probabilities: list[float], zero: int) -> float:
    """Return lambda > 0 with ``sum p(s) exp(lambda s) = 1``.

    With x = exp(-lambda), x**high times that sum is a polynomial in x. Its root between 0 and 1 is
    found by Newton's method, or by halving an interval where that does not converge.

    Parameters
    ----------
    probabilities
        Those of consecutive scores.
    zero
        The place of score 0.
    """
    x = math.exp(-FIRST_LAMBDA)
    below, above = 0.0, 1.0
    value, newton = 4.0, False
    for _ in range(MAX_LAMBDA_STEPS):
        before, was_newton, newton = value, newton, False
        slope, value = 0.0, probabilities[0]
        for place in range(1, len(probabilities)):
            slope = x * slope + value
            value = value * x + probabilities[place]
            if place == zero:
                value -= 1.0
        if value == 0.0:
            break
        if value > 0.0:
            below = x
        else:
            above = x
        if above - below < 2 * below * (1 - above) * LAMBDA_TOLERANCE:
            x = (below + above) / 2
            break
        middle = (below + above) / 2
        if (was_newton and abs(value) > 0.9 * abs(before)) or slope >= 0.0:
            x = middle
            continue
        change = -value / slope
        if not below < x + change < above:
            x = middle
            continue
        x += change
        newton = True
        if abs(change) < LAMBDA_TOLERANCE * x * (1 - x):
            break
    return -math.log(x)


def _entropy(low: int, probabilities: NDArray[np.float64], lambda_: float) -> float:
    """Return H."""
    ratio = math.exp(-lambda_)
    total = 0.0
    for place, probability in enumerate(probabilities.tolist()):
        total = (low + place) * probability + ratio * total
    return lambda_ * total / _power(ratio, low + len(probabilities) - 1)


def _power(value: float, exponent: int) -> float:
    """Return a positive power, multiplied up from squares."""
    found = 1.0
    while exponent:
        if exponent & 1:
            found *= value
        value *= value
        exponent >>= 1
    return found


def _factor(low: int, probabilities: NDArray[np.float64], lambda_: float, entropy: float) -> float:
    """Return K."""
    step = _step(low, probabilities)
    values = np.ascontiguousarray(probabilities[::step])
    low, lambda_ = low // step, lambda_ * step
    high = low + len(values) - 1
    first, ratio = entropy / lambda_, math.exp(-lambda_)
    if low == -1 and high == 1:
        return float((values[0] - values[2]) ** 2 / values[0])
    if low == -1 or high == 1:
        if high != 1:
            mean = float(np.add.accumulate(np.arange(low, high + 1) * values)[-1])
            first = mean * mean / first
        return first * (1.0 - ratio)
    work = np.zeros(MAX_TERMS * (len(values) - 1) + 1)
    total = sum_series(values, low, ratio, work)
    return -math.exp(-2.0 * total) / (first * math.expm1(-lambda_))


@native
def sum_series(
    probabilities: NDArray[np.float64], low: int, ratio: float, work: NDArray[np.float64]
) -> float:
    """Return the sum over j of (1/j) (P(S_j >= 0) + E[exp(lambda S_j); S_j < 0]).

    Parameters
    ----------
    probabilities, low
        Probabilities of a score, from `low` on; S_j is the sum of j scores.
    ratio
        ``exp(-lambda)``.
    work
        Work space: `MAX_TERMS` times the range of the scores, and one.
    """
    # Karlin and Altschul 1990, equation 3; PSI-BLAST adds up in this order.
    span = len(probabilities) - 1
    work[0] = 1.0
    top = 0
    total, term = 0.0, 1.0
    j = 0
    while j < MAX_TERMS and term > MIN_TERM:
        for target in range(top + span, -1, -1):
            value = 0.0
            for k in range(max(0, target - top), min(span, target) + 1):
                value += work[target - k] * probabilities[k]
            work[target] = value
        top += span
        j += 1
        zero = -low * j
        term = work[0]
        for place in range(1, zero):
            term = work[place] + term * ratio
        term *= ratio
        for place in range(zero, top + 1):
            term += work[place]
        term /= j
        total += term
    return total
