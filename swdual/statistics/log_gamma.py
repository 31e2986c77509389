"""The distribution of chance scores around their line, between Gumbel's and the normal one.

Where gaps cost much, the best local score of unrelated sequences has Gumbel's distribution. Where
they cost so little that alignments span whole sequences, scores add up over all of the length, and
their distribution is normal (Arratia and Waterman 1994, Ann. Appl. Probab. 4, 200-225). Schemes
that find distant relatives best lie between. So does the distribution of ``-ln G`` for a G with the
gamma distribution: with shape 1 it is Gumbel's, and with a growing shape it becomes normal. Its
upper tail falls like ``exp(-shape * y)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

MAX_GAMMA = 40.0
"""A larger G has nothing beyond it that a float tells from 0."""

TINY_TERM = 1e-17
"""Smaller terms of a sum that begins with 1 do not change it."""


@dataclass(frozen=True)
class LogGamma:
    """The distribution of Y = -ln G, where G has the gamma distribution with a shape and scale 1.

    Parameters
    ----------
    shape
        From 0.5 to 4.
    """

    shape: float

    @cached_property
    def mean(self) -> float:
        """The mean of Y: minus the digamma function of the shape."""
        # Recurrence up to where the asymptotic series has all digits (DLMF 5.5.2 and 5.11.2).
        x, total = self.shape, 0.0
        while x < 20:
            total += 1 / x
            x += 1
        inverse = 1 / x**2
        series = inverse * (1 / 12 - inverse * (1 / 120 - inverse / 252))
        return total - (math.log(x) - 1 / (2 * x) - series)

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of Y: the square root of the trigamma function of the shape."""
        x, total = self.shape, 0.0
        while x < 20:
            total += 1 / x**2
            x += 1
        inverse = 1 / x**2
        series = inverse * (1 / 6 - inverse * (1 / 30 - inverse / 42))
        return math.sqrt(total + (1 + 1 / (2 * x) + series) / x)

    def nats(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return x with ``P(Y >= y) = exp(-x)`` far up the tail.

        Parameters
        ----------
        y
            (...) values of Y.
        """
        return self.shape * y + math.lgamma(self.shape + 1)

    def log_probability(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln P(Y >= y), accurate however small the probability is.

        It is the logarithm of the lower incomplete gamma function at g = exp(-y), by the series
        ``g^k exp(-g) / Gamma(k + 1) * (1 + g / (k + 1) + g^2 / ((k + 1) (k + 2)) + ...)`` (DLMF
        8.7.1).

        Parameters
        ----------
        y
            (...) values of Y.
        """
        y = np.maximum(y, -math.log(MAX_GAMMA))
        gamma = np.exp(-y)
        term, total = np.ones_like(gamma), np.ones_like(gamma)
        number = self.shape
        while term.size and (term > TINY_TERM * total).any():
            number += 1
            term = term * (gamma / number)
            total += term
        return np.minimum(np.log(total) - gamma - self.nats(y), 0.0)
