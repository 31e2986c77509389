"""The kernel's logarithms are exact to about one unit in the last place."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np

from swdual.composition.logarithm import take_logarithms


def logarithms(values):
    values = np.array(values, float)
    spare = np.empty(len(values))
    take_logarithms(values, spare, spare.view(np.int64), values)
    return values.tolist()


def test_logarithms_of_all_magnitudes_are_exact():
    """Large, tiny, near 1 and at powers of two: the error is below two units."""
    rng = np.random.default_rng(1)
    values = [
        *np.exp(rng.uniform(-700, 700, 2000)).tolist(),
        *rng.uniform(0.5, 2, 2000).tolist(),
        *(1 + rng.uniform(-1e-6, 1e-6, 2000)).tolist(),
        *(2.0 ** np.arange(-1000, 1000, 37)).tolist(),
        *(1.0, math.sqrt(0.5), math.nextafter(math.sqrt(0.5), 0), math.sqrt(2), 1e-300),
    ]
    with localcontext() as context:
        context.prec = 40
        for value, found in zip(values, logarithms(values), strict=True):
            exact = Decimal(value).ln()
            assert abs(Decimal(found) - exact) < 2 * Decimal(math.ulp(float(exact))), value


def test_the_logarithm_of_one_is_zero():
    """Exactly: start of the optimisation, where x is q."""
    assert logarithms([1.0]) == [0.0]
