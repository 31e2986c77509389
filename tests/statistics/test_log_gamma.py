"""The distribution of chance scores, against sums over its density and against random numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from swdual.statistics.log_gamma import LogGamma

SHAPES = (0.5, 1.0, 1.3, 1.8, 4.0)


def density(shape, y):
    """Of -ln G: G^shape exp(-G) / Gamma(shape)."""
    return math.exp(-shape * y - math.exp(-y) - math.lgamma(shape))


def integral(shape, function, start=-6.0, step=1 / 256, end=80.0):
    """By Simpson's rule."""
    count = round((end - start) / step / 2) * 2
    values = [
        (1 if k in (0, count) else 2 + 2 * (k % 2))
        * density(shape, start + k * step)
        * function(start + k * step)
        for k in range(count + 1)
    ]
    return math.fsum(values) * step / 3


@pytest.mark.parametrize("shape", SHAPES)
def test_moments_are_those_of_the_density(shape):
    found = LogGamma(shape)
    mean = integral(shape, lambda y: y)
    variance = integral(shape, lambda y: (y - mean) ** 2)
    assert found.mean == pytest.approx(mean, abs=1e-12)
    assert found.deviation == pytest.approx(math.sqrt(variance), rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("y", [-3.5, -1.0, 0.0, 0.5, 3.0, 10.0, 25.0])
def test_probabilities_are_those_of_the_density(shape, y):
    expected = integral(shape, lambda _: 1.0, start=y)
    found = LogGamma(shape).log_probability(np.array([y]))
    assert np.exp(found) == pytest.approx([expected], rel=1e-9)


def test_gumbel_s_distribution_has_shape_1():
    y = np.linspace(-3, 36, 400)
    expected = [math.log(-math.expm1(-math.exp(-each))) for each in y]
    assert LogGamma(1.0).log_probability(y) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert LogGamma(1.0).mean == pytest.approx(np.euler_gamma, rel=1e-15)
    assert LogGamma(1.0).deviation == pytest.approx(math.pi / math.sqrt(6), rel=1e-15)


@pytest.mark.parametrize("shape", [2, 3, 7])
def test_whole_shapes_are_sums_of_waiting_times(shape):
    """G is below g if at least so many events of a Poisson process come before g."""
    y = np.array([-2.0, 0.0, 1.0, 4.0])
    expected = [
        1 - sum(math.exp(-g) * g**k / math.factorial(k) for k in range(shape)) for g in np.exp(-y)
    ]
    assert np.exp(LogGamma(shape).log_probability(y)) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_ends_are_numbers(shape):
    """Far up, ln P is a line; far down, P is 1."""
    found = LogGamma(shape)
    y = np.array([50.0, 1e3, 1e9, math.inf])
    assert found.log_probability(y) == pytest.approx(-found.nats(y), rel=1e-15)
    assert found.log_probability(np.array([-1e9, -math.inf])) == pytest.approx(0, abs=1e-12)
    assert found.log_probability(np.empty(0)).shape == (0,)


@pytest.mark.parametrize("shape", [1.0, 1.8])
def test_random_numbers_are_distributed_so(shape):
    drawn = -np.log(np.random.default_rng(1).gamma(shape, size=100_000))
    found = LogGamma(shape)
    assert np.mean(drawn) == pytest.approx(found.mean, abs=0.02)
    for y in (0.0, 1.0, 3.0):
        expected = math.exp(found.log_probability(np.array([y]))[0])
        assert np.mean(drawn >= y) == pytest.approx(expected, rel=0.05)
