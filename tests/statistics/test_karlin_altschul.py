"""Lambda, K and H without gaps: the published values, and any other matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from oracles.statistics import entropy, k_by_convolution, lambda_by_bisection
from support.properties import examples

from swdual.errors import InputError, StatisticsUnavailable
from swdual.sequences.alphabet import CODES, NUCLEOTIDE, PROTEIN
from swdual.sequences.matrices import (
    MAX_MATRIX_SCORE,
    SubstitutionMatrix,
    load,
    match_mismatch,
    names,
)
from swdual.statistics.karlin_altschul import background, ungapped

PUBLISHED = {
    "BLOSUM45": (0.2291, 0.0924, 0.2514),
    "BLOSUM50": (0.2318, 0.1115, 0.3362),
    "BLOSUM62": (0.3176, 0.1337, 0.4012),
    "BLOSUM80": (0.3430, 0.1769, 0.6568),
    "BLOSUM90": (0.3346, 0.1900, 0.7547),
    "PAM30": (0.3400, 0.2828, 1.7536),
    "PAM70": (0.3345, 0.2287, 1.0291),
    "PAM250": (0.2252, 0.0868, 0.2223),
}
"""Figures of NCBI blast_stat.c, to the digits that two computations agree on."""


def matrix_of(block, alphabet=NUCLEOTIDE, name="custom"):
    scores = np.full((CODES, CODES), int(np.min(block)))
    scores[: len(block), : len(block)] = block
    return SubstitutionMatrix(name, alphabet, scores)


def distribution_of(matrix):
    """Return the scores of random pairs and their probabilities, as a plain dictionary."""
    frequencies = background(matrix.alphabet).tolist()
    found = {}
    for a, p in enumerate(frequencies):
        for b, q in enumerate(frequencies):
            if p * q:
                score = int(matrix.scores[a, b])
                found[score] = found.get(score, 0.0) + p * q
    return found


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_built_in_matrices_have_the_published_values(name):
    """To the four digits in print; a BLOSUM80 in third-bit units would give 0.226."""
    found = ungapped(load(name))
    assert (found.lambda_, found.K, found.H) == pytest.approx(PUBLISHED[name], abs=5.1e-5)


@pytest.mark.parametrize(
    ("scores", "published"),
    [
        ((1, -3), (1.37406, 0.71061, 1.30725)),
        ((2, -3), (0.6337, 0.4080, 0.9124)),
    ],
)
def test_nucleotide_scores_have_the_published_values(scores, published):
    """To the digits in print."""
    found = ungapped(match_mismatch(*scores))
    assert (found.lambda_, found.K, found.H) == pytest.approx(published, abs=5.1e-5)


@pytest.mark.parametrize("name", names())
def test_transforms_sum_the_same_series_as_convolutions(name):
    """K of a protein matrix equals the one from the distributions of 1, 2, 3, ... scores."""
    distribution = distribution_of(load(name))
    slope = lambda_by_bisection(distribution)
    found = ungapped(load(name))
    assert found.lambda_ == pytest.approx(slope, rel=1e-12)
    assert pytest.approx(entropy(distribution, slope), rel=1e-11) == found.H
    assert pytest.approx(k_by_convolution(distribution, slope, 1e-4), rel=1e-9) == found.K


@examples(60)
@example(block=[[0] * 4, [0] * 4, [0] * 4, [0, 0, 1, -6]], scale=1)  # hundreds of terms matter
@given(
    block=st.lists(st.lists(st.integers(-12, 9), min_size=4, max_size=4), min_size=4, max_size=4),
    scale=st.sampled_from([1, 2, 3]),
)
def test_random_matrices_agree_with_the_slow_way(block, scale):
    """Asymmetric ones too, and ones whose scores have a common divisor."""
    matrix = matrix_of(scale * np.array(block))
    distribution = distribution_of(matrix)
    mean = sum(s * p for s, p in distribution.items())
    assume(max(distribution) > 0 and mean < -0.3 * scale)
    slope = lambda_by_bisection(distribution)
    found = ungapped(matrix)
    assert found.lambda_ == pytest.approx(slope, rel=1e-10)
    assert pytest.approx(entropy(distribution, slope), rel=1e-9) == found.H
    # Where the largest step is one unit the whole series is summed, else up to a bracket of 1e-4.
    low, high = min(distribution), max(distribution)
    step = np.gcd.reduce(list(distribution))
    smallest = 0.0 if -step == low or step == high else 1e-4
    assert pytest.approx(k_by_convolution(distribution, slope, smallest), rel=1e-6) == found.K


def test_scaling_a_matrix_scales_lambda_alone():
    """Threefold scores are a third as informative a unit; K and H have no unit."""
    one, three = ungapped(match_mismatch(2, -3)), ungapped(match_mismatch(6, -9))
    assert three.lambda_ == pytest.approx(one.lambda_ / 3, rel=1e-14)
    assert pytest.approx((one.K, one.H), rel=1e-14) == (three.K, three.H)


def test_turning_a_matrix_over_changes_nothing():
    """Query and target have the same frequencies, so rows and columns may change places."""
    block = np.array([[5, -4, 1, -7], [-2, 3, -9, 0], [-5, -5, 4, -1], [-8, 2, -3, 6]])
    assert ungapped(matrix_of(block)) == ungapped(matrix_of(block.T))


@pytest.mark.parametrize(
    "scores", [(MAX_MATRIX_SCORE, 1 - MAX_MATRIX_SCORE), (1, -MAX_MATRIX_SCORE)]
)
def test_the_widest_scores_take_no_convolution(scores):
    """Their hundredfold sums span millions of values; the answer is there all the same."""
    found = ungapped(match_mismatch(*scores))
    distribution = {scores[0]: 0.25, scores[1]: 0.75}
    assert found.lambda_ == pytest.approx(lambda_by_bisection(distribution), rel=1e-9)
    assert 0 < found.K < 1


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (np.full((4, 4), 1), "expected score is not negative"),
        (np.eye(4, dtype=int) * 4 - 1, "expected score is not negative"),
        (np.full((4, 4), -1), "no score is positive"),
        (np.eye(4, dtype=int) - 1, "no score is positive"),
        (np.eye(4, dtype=int) * 40001 - 10001, "expected score is too close to zero"),
    ],
    ids=["all positive", "zero on average", "all negative", "none positive", "nearly zero"],
)
def test_scores_without_a_limit_are_refused(block, words):
    """Where random sequences align end to end, or not at all, there is no lambda."""
    with pytest.raises(StatisticsUnavailable, match=words) as caught:
        ungapped(matrix_of(block, name="odd"))
    assert "matrix odd:" in str(caught.value)
    assert "stats='none'" in str(caught.value)
    assert isinstance(caught.value, InputError)
    assert caught.value.exit_code == 1


def test_backgrounds_add_up_to_one():
    """Only the twenty amino acids and the four bases occur."""
    for alphabet, letters in ((PROTEIN, 20), (NUCLEOTIDE, 4)):
        found = background(alphabet)
        assert found.sum() == pytest.approx(1, abs=1e-15)
        assert np.count_nonzero(found) == letters
        assert not found[letters:].any()
