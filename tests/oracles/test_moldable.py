"""The oracle of highest revenue first agrees with what is found by hand."""

import math
from itertools import pairwise

import pytest

from .moldable import downey, downey_times, fastest, hrf, literal_hrf, useful_sizes

EXAMPLE = [[10.0, 5.0], [10.0, 7.0], [10.0, 9.0]]
"""Table 1 of section 4.1: the times of three jobs on one or two processors."""

DENTED = [[8.0, 4.0, 6.0, 5.0], [8.0, 8.0, 2.0, 2.0]]
"""The first takes longer on three processors than on two; the second gains 6 s by two at once."""


def test_the_example_gets_strategy_a():
    """Five processors, three of which are the first ones."""
    assert literal_hrf(EXAMPLE, 5 - 3, 2) == hrf(EXAMPLE, 5, 2) == [2, 2, 1]
    assert literal_hrf(EXAMPLE, 5, 2) == hrf(EXAMPLE, 5 + 3, 2) == [2, 2, 2]


@pytest.mark.parametrize(
    ("times", "rounds", "limit", "expected", "stopped"),
    [
        # Nothing to gain: the first of the queue up to the limit, then the next.
        ([[4.0] * 4, [4.0] * 4], 2, 4, [3, 1], [1, 1]),
        ([[4.0] * 4, [4.0] * 4], 4, 3, [3, 3], [1, 1]),
        ([[4.0] * 4, [4.0] * 4], 9, 3, [3, 3], [1, 1]),  # no job is left to be considered
        # Gains first, whoever is first.
        ([[4.0] * 4, [4.0, 3.0, 2.5, 2.5]], 3, 4, [2, 3], [1, 3]),
        # A loss is taken if nobody loses less, even beside a gain that is not at the next step.
        (DENTED[:1], 2, 4, [3], [2]),
        (DENTED[:1], 3, 4, [4], [2]),
        (DENTED, 1, 4, [2, 1], [2, 1]),
        (DENTED, 2, 4, [2, 2], [2, 1]),
        (DENTED, 3, 4, [2, 3], [2, 1]),
        (DENTED, 4, 4, [2, 4], [2, 1]),
        (DENTED, 5, 4, [3, 4], [2, 1]),
        # The limit is compared as it is: 2.5 lets a job reach 3.
        ([[8.0, 4.0, 2.0, 1.0]], 9, 2.5, [3], [3]),
        ([[8.0, 4.0, 2.0, 1.0]], 9, 2.0, [2], [2]),
        ([[8.0, 4.0, 2.0, 1.0]], 0, 4, [1], [1]),
        ([], 3, 4, [], []),
    ],
)
def test_the_letter_of_algorithm_1_by_hand(times, rounds, limit, expected, stopped):
    """With and without the rounds in which the highest revenue is 0 or less."""
    assert literal_hrf(times, rounds, limit) == expected
    assert literal_hrf(times, rounds, limit, stop_at_zero=True) == stopped


def test_steps_of_several_processors_have_a_revenue_for_each():
    """The second job gains 3 s by each of two; then the first one has its only step."""
    assert hrf(DENTED, 2 + 2, 4) == [2, 1]
    assert hrf(DENTED, 2 + 3, 4) == [2, 3]
    assert hrf(DENTED, 2 + 9, 4) == [2, 3]


@pytest.mark.parametrize(
    ("n", "parallelism", "sigma", "expected"),
    [
        (1, 7.5, 0, 1),
        (4, 7.5, 0, 4),
        (8, 7.5, 0, 7.5),
        (1, 64, 1, 1),
        (32, 64, 1, 64 * 32 / (64 + 31 / 2)),
        (127, 64, 0.5, 64),
        (126, 64, 0.5, 64 * 126 / (0.5 * 63.5 + 126 * 0.75)),
        (1, 8, 2, 1),
        (4, 8, 2, 3.2),
        (22, 8, 2, 8),
        (21, 8, 2, 21 * 8 * 3 / (2 * 28 + 8)),
    ],
)
def test_values_of_downeys_speed_up(n, parallelism, sigma, expected):
    """By the formulas; below and above sigma = 1, on both sides of their limits."""
    assert float(downey(n, parallelism, sigma)) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("parallelism", [1.0, 1.25, 5.538612174202525, 20.0])
@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0, 1.7])
def test_the_end_of_downeys_speed_up_is_flat(parallelism, sigma):
    """All times from there on are one number, and each before it is a useful size."""
    end = 1 + (parallelism - 1) * max(2, 1 + sigma)
    first = math.ceil(end if sigma else parallelism)
    times = downey_times(349.0, parallelism, sigma, first + 20)
    assert set(times[first - 1 :]) == {349 / parallelism}
    assert useful_sizes(times) == list(range(1, first + 1))
    assert fastest(times, first + 20) == first
    gains = [now - then for now, then in pairwise(times)]
    assert all(gain >= later - 1e-9 for gain, later in pairwise(gains))


def test_times_that_differ_by_rounding_are_the_same():
    """A size is faster by more than one part in 10^12."""
    assert useful_sizes([5640.0, 2820.084164006792, 2820.0841640067915]) == [1, 2]
    assert useful_sizes([math.inf, 6.0, 6 * (1 - 1e-13), 3.0]) == [2, 4]
    assert hrf([[5640.0, 2820.084164006792, 2820.0841640067915]], 3, 3) == [2]
