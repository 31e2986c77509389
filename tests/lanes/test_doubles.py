"""Vectors of double-precision numbers: each lane computes as NumPy does, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from support.properties import seeds

from swdual.lanes.score_widths import allocate_aligned
from swdual.runtime.native import native_family


def aligned(numbers):
    """Return numbers in memory that kernels may load vectors from."""
    memory = allocate_aligned(len(numbers), np.dtype(np.int64)).view(np.float64)
    memory[:] = numbers
    return memory


@native_family
def combine_kernel(lanes):
    """Return a kernel that applies each operation to two arrays of `lanes` numbers."""
    from swdual.lanes.doubles import splat
    from swdual.lanes.vector import load, maximum, store

    def combine(a, b, number, out):
        first, second = load(a, 0, lanes), load(b, 0, lanes)
        store(out, 0, first + second)
        store(out, lanes, first - second)
        store(out, 2 * lanes, first * second)
        store(out, 3 * lanes, first / second)
        store(out, 4 * lanes, maximum(first, second))
        store(out, 5 * lanes, first * second + splat(number, lanes))
        total = first
        total += second
        total -= splat(number, lanes)
        store(out, 6 * lanes, total)

    return combine


@pytest.mark.parametrize("lanes", [2, 8])
@pytest.mark.parametrize("seed", seeds(5))
def test_lanes_compute_as_numpy_does(lanes, seed):
    """Sums, differences, products and quotients; a product is rounded before it is added."""
    rng = np.random.default_rng(seed)
    a, b = (aligned(x) for x in rng.normal(size=(2, lanes)) * 10.0 ** rng.integers(-9, 9, lanes))
    number = float(rng.normal())
    out = aligned(np.empty(7 * lanes))
    combine_kernel(lanes)(a, b, number, out)
    expected = [a + b, a - b, a * b, a / b, np.maximum(a, b), a * b + number, a + b - number]
    np.testing.assert_array_equal(out.reshape(7, lanes), expected)


def test_what_is_no_number_stays_in_its_lane():
    """Zero and infinity divide as IEEE 754 says; other lanes do not change."""
    a = aligned([0.0, 1.0, -1.0, np.inf, 1.0, 2.0, np.nan, 3.0])
    b = aligned([0.0, 0.0, 0.0, np.inf, 4.0, np.nan, 5.0, 2.0])
    out = aligned(np.empty(56))
    combine_kernel(8)(a, b, 1.0, out)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out[24:32], a / b)
    # As `b if a < b else a`.
    np.testing.assert_array_equal(out[32:40], np.where(a < b, b, a))
