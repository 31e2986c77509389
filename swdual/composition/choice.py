"""Whether mode 2 scales the matrix of a pair or optimises it.

Altschul et al. 2005 (FEBS Journal 272, 5101-5109): lengths and compositions decide.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from swdual.composition.logarithm import take_logarithms
from swdual.composition.tables import AMINO_ACIDS
from swdual.runtime.native import native

MAX_DISTANCE, MAX_LENGTH_RATIO = 0.16, 3
COS_MAX_ANGLE = math.cos(70.0 * 3.1415926543 / 180.0)
"""Mode 2 scales a matrix beyond all three. (NCBI's pi has this digit.)"""

MIN_BIASED_LENGTH, MAX_TWO_LETTERS = 50, 0.4
"""Mode 2 optimises the matrix if two letters make up more of a longer sequence."""


@native
def is_scaled_in_mode_2(
    query: NDArray[np.float64],
    query_length: int,
    target: NDArray[np.float64],
    target_length: int,
    background: NDArray[np.float64],
    spare: NDArray[np.float64],
    bits: NDArray[np.int64],
    logs: NDArray[np.float64],
) -> bool:
    """Return whether mode 2 scales the matrix rather than optimising it.

    Parameters
    ----------
    query, target
        (20,) fractions of the amino acids.
    query_length, target_length
        Letters of the sequences, with those that do not count.
    background
        (20,) frequencies of the matrix.
    spare, bits, logs
        Work space: see `measure_divergence`.
    """
    if is_biased(query, query_length) or is_biased(target, target_length):
        return False
    longer, shorter = max(query_length, target_length), min(query_length, target_length)
    if longer <= MAX_LENGTH_RATIO * shorter:
        return False
    # Distances are roots of divergences; the angle at the background follows from the law of
    # cosines. It is large if cos = fraction / (2 root) is small; squares are compared instead.
    between = measure_divergence(query, target, spare, bits, logs)
    if between <= MAX_DISTANCE * MAX_DISTANCE:
        return False
    from_query = measure_divergence(query, background, spare, bits, logs)
    from_target = measure_divergence(target, background, spare, bits, logs)
    product = from_query * from_target
    if product == 0.0:
        return False
    fraction = from_query + from_target - between
    return fraction < 0.0 or fraction * fraction < (2.0 * COS_MAX_ANGLE) ** 2 * product


@native
def measure_divergence(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    spare: NDArray[np.float64],
    bits: NDArray[np.int64],
    logs: NDArray[np.float64],
) -> float:
    """Return the Jensen-Shannon divergence of two distributions of 20 letters, in nats.

    Parameters
    ----------
    a, b
        The distributions.
    spare, bits, logs
        Work space of 20 numbers each, the first two the same memory.
    """
    # sum a ln(a / m) / 2 + sum b ln(b / m) / 2, with m the mean; an absent letter adds nothing.
    total = 0.0
    for part in range(3):
        for k in range(AMINO_ACIDS):
            value = a[k] if part == 0 else b[k] if part == 1 else 0.5 * (a[k] + b[k])
            logs[k] = max(value, 1e-300)
        take_logarithms(logs, spare, bits, logs)
        for k in range(AMINO_ACIDS):
            weight = 0.5 * a[k] if part == 0 else 0.5 * b[k] if part == 1 else -0.5 * (a[k] + b[k])
            total += weight * logs[k]
    return max(total, 0.0)


@native
def is_biased(fractions: NDArray[np.float64], length: int) -> bool:
    """Return whether two letters make up much of a sequence that is not short."""
    first = second = 0.0
    for k in range(AMINO_ACIDS):
        if fractions[k] > first:
            first, second = fractions[k], first
        elif fractions[k] > second:
            second = fractions[k]
    return length > MIN_BIASED_LENGTH and first + second > MAX_TWO_LETTERS
