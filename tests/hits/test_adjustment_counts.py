"""Counts of adjusted pairs, and what a sample says about the others."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from swdual.hits.adjustment_counts import AdjustmentCounts, bound_share


def exactly(count, trials, share):
    """Return the probability of so many successes, with exact numbers."""
    p = Fraction(share)
    return math.comb(trials, count) * p**count * (1 - p) ** (trials - count)


@pytest.mark.parametrize(("found", "sampled"), [(1, 1), (1, 30), (7, 60), (59, 60), (3, 200)])
def test_bounds_leave_out_2_5_percent_at_each_end(found, sampled):
    """By the definition of Clopper and Pearson, in exact numbers."""
    low, high = bound_share(found, sampled)
    above = sum(exactly(k, sampled, low) for k in range(found, sampled + 1))
    assert float(above) == pytest.approx(0.025, rel=1e-6)
    if found < sampled:
        below = sum(exactly(k, sampled, high) for k in range(found + 1))
        assert float(below) == pytest.approx(0.025, rel=1e-6)
    assert low < found / sampled <= high


def test_nothing_found_has_an_upper_bound_only():
    """The rule of three, with 3.7 for both ends."""
    low, estimate, high = AdjustmentCounts(1, 0, 1_000_000, 1000, 0).missed
    assert (low, estimate) == (0, 0)
    assert high == pytest.approx(3682, rel=1e-3)


def test_without_a_sample_nothing_is_known():
    """Not a number."""
    assert all(map(math.isnan, AdjustmentCounts(1, 5, 10).missed))


def test_totals_are_sums():
    """Of no query, all are 0."""
    assert AdjustmentCounts.total([]) == AdjustmentCounts()
    parts = [AdjustmentCounts(1, 2, 3, 4, 5), AdjustmentCounts(1, 20, 30, 40, 50)]
    assert AdjustmentCounts.total(parts) == (2, 22, 33, 44, 55)


def test_a_single_pair_is_said_so():
    """With words in the singular."""
    counts = AdjustmentCounts(1, 1, 9, 1, 1)
    assert counts.describe() == "1 candidate of 1 query adjusted"
    assert counts.describe_sample().startswith(
        "of 1 sampled pair that is no candidate, 1 would be a hit; of all 9 about 9 "
    )
