"""The lower tail of the normal distribution, as logarithms that neither cancel nor underflow."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FAR = -20.0
"""Below it the asymptotic series are exact to twelve digits."""


def log_tail(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ln P(Z < x) and ln E[max(0, x + Z)], Z standard normal.

    The second is ln(x P(Z < x) + density(x)), a difference of nearly equal numbers where x is
    negative; far below zero both follow from their asymptotic series (Abramowitz and Stegun 1964,
    26.2.12).

    >>> below, excess = log_tail(np.array([0.0, -100.0]))
    >>> below.round(4).tolist(), excess.round(4).tolist()
    ([-0.6931, -5005.5242], [-0.9189, -5010.1296])
    """
    near = np.maximum(x, FAR)
    flat = map(math.erfc, (near / -math.sqrt(2)).ravel().tolist())
    below = 0.5 * np.fromiter(flat, np.float64, x.size).reshape(x.shape)
    excess = near * below + np.exp(-0.5 * near * near) / math.sqrt(2 * math.pi)
    log_below, log_excess = np.log(below), np.log(excess)
    far = x < FAR
    if far.any():
        log_below[far], log_excess[far] = _far_tail(x[far])
    return log_below, log_excess


def _far_tail(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    u = x**-2.0
    log_density = -0.5 * x * x - 0.5 * math.log(2 * math.pi)
    below = np.polyval([-945.0, 105.0, -15.0, 3.0, -1.0, 1.0], u)
    excess = np.polyval([-10395.0, 945.0, -105.0, 15.0, -3.0, 1.0], u)
    return log_density + np.log(below / -x), log_density + np.log(u * excess)
