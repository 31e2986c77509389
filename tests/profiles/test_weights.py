"""Rows of an alignment are compared only as far as needed, with the same answer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from swdual.profiles.letters import NCBI_EMPTY, NCBI_X
from swdual.profiles.weights import NEAR_IDENTITY, are_different


def share_too_few(one, other):
    """Return whether the share of equal letters is below the limit, by exact fractions."""
    pairs = [pair for pair in zip(one, other, strict=True) if NCBI_X not in pair]
    equal = sum(a == b != NCBI_EMPTY for a, b in pairs)
    return not pairs or Fraction(equal, len(pairs)) < Fraction(str(NEAR_IDENTITY))


@pytest.mark.parametrize("length", [1, 31, 32, 33, 50, 64, 100, 300])
def test_rows_are_different_if_all_their_columns_say_so(length):
    """Around the limit, with differences at the beginning, at the end and everywhere."""
    rng = np.random.default_rng(length)
    outcomes = set()
    for differences in range(min(length, 8 + length // 8) + 1):
        for place in (np.arange(length), np.arange(length)[::-1], rng.permutation(length)):
            one = rng.integers(1, 20, length).astype(np.uint8)
            other = one.copy()
            other[place[:differences]] = 20
            other[rng.random(length) < 0.1] = NCBI_X
            one[rng.random(length) < 0.05] = NCBI_EMPTY
            found = are_different(one, other, 0, length, NEAR_IDENTITY)
            assert found == share_too_few(one.tolist(), other.tolist())
            outcomes.add(found)
    assert length < 31 or outcomes == {False, True}
