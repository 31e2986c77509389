"""Intervals of means are Student's, and hold the mean as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t

from swdual.scheduling.intervals import LEVEL, estimate_mean, t_quantile


@pytest.mark.parametrize("freedom", [*range(1, 40), 100, 1001, 20000])
def test_quantiles_are_those_of_scipy(freedom):
    assert t_quantile(freedom) == pytest.approx(t.ppf((1 + LEVEL) / 2, freedom), rel=1e-10)


def test_intervals_hold_the_mean_as_often_as_they_say():
    """Also those of few numbers: of 2,000 intervals 1,900, give or take 10."""
    random = np.random.default_rng(1)
    held = 0
    for _ in range(2000):
        mean, half_width = estimate_mean(random.normal(3, 2, 5))
        held += abs(mean - 3) <= half_width
    assert abs(held - 1900) < 40


def test_what_is_not_known_is_left_out():
    """As metrics of schedules without jobs."""
    values = np.array([1.0, np.nan, 3.0])
    assert estimate_mean(values) == estimate_mean(np.array([1.0, 3.0]))
    mean, half_width = estimate_mean(values[:2])
    assert mean == 1
    assert math.isnan(half_width)
    assert all(map(math.isnan, estimate_mean(values[1:2])))
    assert estimate_mean(np.ones(9)) == (1, 0)
