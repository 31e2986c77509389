"""Natural logarithms of many numbers, in kernels: vector instructions, the same on all machines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native

HALF_ROOT_BITS = 0x3FE6A09E667F3BCD
"""The bits of the square root of 0.5 as float64."""

LN2_HIGH = 0.693147180369123816490
LN2_LOW = 1.90821492927058770002e-10
"""The natural logarithm of 2 in two parts. The first has 32 bits, so its small multiples are exact
(Tang 1990, ACM Transactions on Mathematical Software 16, 378-400)."""


@native
def take_logarithms(
    values: NDArray[np.float64],
    mantissas: NDArray[np.float64],
    bits: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Write the natural logarithms of some numbers; the error is below 2 units in the last place.

    Parameters
    ----------
    values
        Numbers that are positive and not subnormal, as many as `out` has room for at least.
    mantissas, bits
        Work space of as many numbers: the same memory as float64 and as int64.
    out
        Receives the logarithms; may be `values`.
    """
    # value = m * 2**e with m between the square roots of 1/2 and 2. With s = (m - 1) / (m + 1),
    # |s| < 0.172, ln m is 2 artanh s, whose series is cut off after s**23 / 23: the next term is
    # below 2e-17 of the sum.
    count = len(out)
    for k in range(count):
        mantissas[k] = values[k]
    for k in range(count):
        exponent = (bits[k] - HALF_ROOT_BITS) >> 52
        bits[k] -= exponent << 52
        out[k] = exponent
    for k in range(count):
        f = mantissas[k] - 1.0
        s = f / (2.0 + f)
        z = s * s
        tail = 1.0 / 23.0
        tail = tail * z + 1.0 / 21.0
        tail = tail * z + 1.0 / 19.0
        tail = tail * z + 1.0 / 17.0
        tail = tail * z + 1.0 / 15.0
        tail = tail * z + 1.0 / 13.0
        tail = tail * z + 1.0 / 11.0
        tail = tail * z + 1.0 / 9.0
        tail = tail * z + 1.0 / 7.0
        tail = tail * z + 1.0 / 5.0
        tail = tail * z + 1.0 / 3.0
        # ln m = f - s * (f - 2 z * tail): the large term f is exact.
        out[k] = out[k] * LN2_HIGH + (f - (s * (f - 2.0 * z * tail) - out[k] * LN2_LOW))
