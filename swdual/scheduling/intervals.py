"""Confidence intervals of means, by Student's t distribution."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
"""The share of intervals that cover the mean."""


class Estimate(NamedTuple):
    """A mean and half the width of its interval.

    Parameters
    ----------
    mean
        NaN if there are no numbers.
    half_width
        NaN if there are fewer than two.
    """

    mean: float
    half_width: float


def estimate_mean(values: NDArray[np.float64]) -> Estimate:
    """Return the mean of independent numbers with its interval; NaN is left out.

    Parameters
    ----------
    values
        The numbers.

    >>> mean, half_width = estimate_mean(np.array([1.0, 2.0, 3.0]))
    >>> mean, round(half_width, 6)
    (2.0, 2.484138)
    """
    known = values[~np.isnan(values)]
    count = len(known)
    mean = float(known.mean()) if count else math.nan
    if count < 2:
        return Estimate(mean, math.nan)
    return Estimate(mean, t_quantile(count - 1) * float(known.std(ddof=1)) / math.sqrt(count))


@lru_cache
def t_quantile(freedom: int) -> float:
    """Return the t that ``LEVEL`` of Student's distribution lies within, on both sides of 0.

    Parameters
    ----------
    freedom
        Degrees of freedom, 1 or more.

    >>> round(t_quantile(1), 3), round(t_quantile(10), 3)
    (12.706, 2.228)
    """
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _within(middle, freedom) < LEVEL else (low, middle)
    return math.sqrt(freedom) * math.tan(high)


def _within(angle: float, freedom: int) -> float:
    """Return the part of the distribution within t, with angle = atan(t / sqrt(freedom)).

    Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4.
    """
    odd = freedom % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for place in range(1 + odd, freedom, 2):
        total += term
        term *= place / (place + 1) * math.cos(angle) ** 2
    total *= math.sin(angle)
    return (angle + total) * 2 / math.pi if odd else total
