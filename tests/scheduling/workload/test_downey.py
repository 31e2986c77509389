"""Downey's speed-up: published values, and what the formulas promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.errors import InputError
from swdual.scheduling.workload.downey import Downey, largest_useful, speedup, speedups

VALUES = [
    (32, 64, 1, 25.761006289),
    (64, 64, 1, 42.890052356),
    (100, 64, 0.5, 59.953161593),
    (127, 64, 0.5, 64),
    (4, 8, 2, 3.2),
    (22, 8, 2, 8),
    (50, 37.5, 0.25, 35.377358491),
    (20, 10, 1.5, 9.345794393),
]

parallelisms = st.floats(1, 300)
sigmas = st.one_of(st.sampled_from([0.0, 1.0, 2.0]), st.floats(0, 5))


@pytest.mark.parametrize(("n", "parallelism", "sigma", "expected"), VALUES)
def test_values_are_those_of_the_formulas(n, parallelism, sigma, expected):
    """To a billionth."""
    assert speedup(n, parallelism, sigma) == pytest.approx(expected, abs=1e-9)
    assert speedups([n], parallelism, sigma)[0] == speedup(n, parallelism, sigma)


@examples(300)
@given(parallelisms, sigmas)
def test_a_job_is_never_slower_on_more_processors_and_gains_less_by_each(parallelism, sigma):
    """From 1 on a single one to the parallelism, and not beyond the processors."""
    useful = largest_useful(parallelism, sigma)
    gains = np.array([speedup(n, parallelism, sigma) for n in range(1, useful + 3)])
    numbers = np.arange(1, useful + 3)
    assert gains[0] == pytest.approx(1, rel=1e-12)
    assert (np.diff(gains) >= -1e-12 * parallelism).all()
    assert (gains <= numbers * (1 + 1e-12)).all()
    assert gains[useful - 1 :] == pytest.approx(parallelism, rel=1e-12)
    if useful > 1 and sigma > 1e-6:
        assert gains[useful - 2] < parallelism * (1 + 1e-12)
    saved = -np.diff(1 / gains)
    assert (np.diff(saved) <= 1e-12).all()


@given(parallelisms, sigmas)
def test_the_formulas_meet_where_they_change(parallelism, sigma):
    """At A, at 2A - 1 or A + A sigma - sigma, and at sigma = 1."""
    ends = (
        [parallelism, 2 * parallelism - 1]
        if sigma <= 1
        else [parallelism + parallelism * sigma - sigma]
    )
    for end in ends:
        below, above = (speedup(end * (1 + side), parallelism, sigma) for side in (-1e-9, 1e-9))
        assert below == pytest.approx(above, rel=1e-7)
    for n in (1, 2.5, parallelism, 3 * parallelism):
        low, high = speedup(n, parallelism, 1), speedup(n, parallelism, 1 + 1e-12)
        assert low == pytest.approx(high, rel=1e-9)


@given(parallelisms, st.floats(1, 1e6))
def test_sigma_zero_is_linear_up_to_the_parallelism(parallelism, length):
    """Then the job runs its length divided by the processors."""
    model = Downey([length], [parallelism], [0])
    for n in (1, int(parallelism)):
        assert model.run_time(0, n) == pytest.approx(length / n, rel=1e-12)
    assert model.run_time(0, 1000) == pytest.approx(length / parallelism, rel=1e-12)


def test_whole_rows_are_what_single_sizes_are():
    """To the last bit, so that what policies expect is what happens."""
    rng = np.random.default_rng(1)
    model = Downey(rng.uniform(1, 1e5, 50), rng.uniform(1, 200, 50), rng.uniform(0, 3, 50))
    for index in range(50):
        row = model.run_times(index, 130)
        assert row.tolist() == [model.run_time(index, n) for n in range(1, 131)]
    part = model.take(np.array([3, 40]))
    assert part.run_time(1, 7) == model.run_time(40, 7)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (([1], [0.5], [0]), "parallelism 0.5"),
        (([1], [2], [-1]), "sigma -1"),
        (([-1], [2], [1]), "sequential_time -1"),
        (([1], [np.nan], [1]), "parallelism nan"),
        (([1, 2], [2], [1]), "parallelism differs in length"),
    ],
)
def test_impossible_speed_ups_are_refused(columns, words):
    """With the job and the reason."""
    with pytest.raises(InputError, match=words):
        Downey(*columns)
