"""Karlin-Altschul statistics one number at a time, straight from the formulas.

Nothing here is fast, and nothing is safe from underflow beyond what a `float` holds: callers keep
to scores and lengths where the naive formula can be trusted.

References
----------
Karlin, S. and Altschul, S. F. (1990). Methods for assessing the statistical significance of
molecular sequence features by using general scoring schemes. PNAS 87, 2264-2268.

Park, Y., Sheetlin, S., Ma, N., Madden, T. L. and Spouge, J. L. (2012). New finite-size correction
for local alignment score distributions. BMC Research Notes 5, 286.

Pearson, W. R. (1998). Empirical statistical estimates for sequence similarity searches. J. Mol.
Biol. 276, 71-84.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np


def expected_exponential(distribution: Mapping[int, float], slope: float) -> float:
    """Return the sum of ``p(s) exp(slope * s)``."""
    return math.fsum(p * math.exp(slope * s) for s, p in distribution.items())


def lambda_by_bisection(distribution: Mapping[int, float]) -> float:
    """Return the positive root of ``sum p(s) exp(lambda s) = 1``."""
    high = 1 / max(distribution)
    while expected_exponential(distribution, high) <= 1:
        high *= 2
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        if expected_exponential(distribution, middle) > 1:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def entropy(distribution: Mapping[int, float], slope: float) -> float:
    """Return ``H = lambda * sum s p(s) exp(lambda s)``."""
    return slope * math.fsum(s * p * math.exp(slope * s) for s, p in distribution.items())


def k_by_convolution(distribution: Mapping[int, float], slope: float, smallest: float) -> float:
    """Return K from the distributions of the sums of 1, 2, 3, ... pair scores.

    Parameters
    ----------
    distribution
        Probability of each score.
    slope
        Lambda.
    smallest
        The series ends at a bracket below this or after 100 terms, like NCBI's figures (1e-4);
        0 sums all brackets that matter, for the limit.
    """
    step = math.gcd(*distribution)
    low, high = min(distribution) // step, max(distribution) // step
    one = np.array([distribution.get(step * s, 0.0) for s in range(low, high + 1)])
    # `sums` holds the probability of each sum of `terms` scores, in units of `step`, within bounds
    # that a walk crosses back over with a probability below exp(-60).
    bound = math.ceil(60 / (slope * step))
    sums, first = np.ones(1), 0
    sigma, bracket, terms = 0.0, 1.0, 0
    while bracket > max(smallest, 1e-12) and (smallest == 0.0 or terms < 100):
        terms += 1
        sums, first = np.convolve(sums, one), first + low
        inside = slice(max(0, -bound - first), bound - first + 1)
        sums, first = sums[inside], first + inside.start
        scores = np.arange(first, first + len(sums))
        bracket = math.fsum(sums * np.exp(np.minimum(0.0, slope * step * scores)))
        sigma += bracket / terms
    spread = entropy(distribution, slope) * (1 - math.exp(-slope * step))
    return step * slope * math.exp(-2 * sigma) / spread


def finite_size_evalue(
    score: int,
    query_length: int,
    target_length: int,
    residues: int,
    gap: int,
    row: Sequence[float],
    ungapped: tuple[float, float],
) -> float:
    """Return the E-value of a score between proteins under the finite-size correction.

    Parameters
    ----------
    score, query_length, target_length, residues
        Raw score, and lengths in residues.
    gap
        Price of a gap of one residue.
    row
        lambda, K, alpha, alpha_v and sigma with gaps.
    ungapped
        alpha and alpha_v without gaps.
    """
    lam, k, alpha, alpha_v, sigma = row
    alpha_u, alpha_v_u = ungapped
    b = 2 * gap * (alpha_u - alpha)
    beta_v = 2 * gap * (alpha_v_u - alpha_v)
    tau = 2 * gap * (alpha_v_u - sigma)
    variance = max(2 * alpha_v / lam, alpha_v * score + beta_v)
    rooms, chances = [], []
    for length in (query_length, target_length):
        room = length - (alpha * score + b)
        f = room / math.sqrt(variance)
        chance = math.erfc(-f / math.sqrt(2)) / 2
        density = math.exp(-f * f / 2) / math.sqrt(2 * math.pi)
        rooms.append(room * chance + math.sqrt(variance) * density)
        chances.append(chance)
    covariance = max(2 * sigma / lam, sigma * score + tau)
    area = rooms[0] * rooms[1] + covariance * chances[0] * chances[1]
    return area * k * math.exp(-lam * score) * residues / target_length


def adjusted_length(
    query_length: int,
    residues: int,
    sequences: int,
    alpha_over_lambda: float,
    beta: float,
    k: float,
) -> int:
    """Return the length adjustment: the largest integer that its own equation allows."""
    best = 0
    for length in range(1, query_length):
        space = k * (query_length - length) * (residues - sequences * length)
        if (
            residues > sequences * length
            and space >= max(query_length, residues)
            and length <= alpha_over_lambda * math.log(space) + beta
        ):
            best = length
    return best


def extreme_value_probability(z: float) -> float:
    """Return the chance that a score lies z deviations above its mean, or more."""
    return -math.expm1(-math.exp(-math.pi / math.sqrt(6) * z - 0.5772156649015329))


def least_squares(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    """Return slope, intercept and residual standard deviation of a line through some points."""
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    slope = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / math.fsum(
        (a - mean_x) ** 2 for a in x
    )
    intercept = mean_y - slope * mean_x
    squares = math.fsum((b - intercept - slope * a) ** 2 for a, b in zip(x, y, strict=True))
    return slope, intercept, math.sqrt(squares / (len(x) - 2))
