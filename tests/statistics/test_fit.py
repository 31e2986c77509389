"""Statistics fitted to the scores of a search: one answer, moved neither by order nor relatives."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.statistics import extreme_value_probability, least_squares
from support.properties import examples

from swdual.errors import StatisticsUnavailable
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.matrices import load, match_mismatch
from swdual.sequences.scoring import PREFERRED_GAPS, ScoringScheme
from swdual.statistics.fit import (
    EXACT_SCORES,
    LENGTH_BINS,
    SCORE_BINS,
    SHAPES,
    _middles,
    find_distribution,
    fit,
    histogram,
)
from swdual.statistics.log_gamma import LogGamma

quick = examples(60)


def chance(seed, number=3000, scale=3.75, mean=300):
    """Return scores that follow the model, with their lengths, as integers."""
    random = np.random.default_rng(seed)
    lengths = np.exp(random.normal(math.log(mean), 0.6, number)).astype(np.int64) + 10
    scores = scale * (np.log(lengths) + random.gumbel(size=number)) + 12
    return np.maximum(np.rint(scores), 0).astype(np.int64), lengths


def fitted(scores, lengths, alphabet=PROTEIN):
    return fit(histogram(scores, lengths), 300, int(lengths.sum()), len(lengths), alphabet)


@quick
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2**31 - 1), st.integers(1, 2**32 - 1)), min_size=1, max_size=40
    ),
    data=st.data(),
)
def test_histograms_of_parts_add_up(rows, data):
    """However the scores are cut, and in whatever order they come."""
    scores, lengths = np.array(rows).T
    whole = histogram(scores, lengths)
    assert whole.shape == (LENGTH_BINS, SCORE_BINS)
    assert whole.dtype == np.int64
    assert whole.sum() == len(rows)
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    parts = [histogram(scores[part], lengths[part]) for part in np.split(order, cuts)]
    assert np.array_equal(sum(parts), whole)


def test_histograms_take_the_columns_that_a_scorer_gives():
    """32-bit scores and unsigned lengths count like any other, and none makes an empty one."""
    scores, lengths = chance(1)
    narrow = histogram(scores.astype(np.int32), lengths.astype(np.uint32))
    assert np.array_equal(narrow, histogram(scores, lengths))
    assert not histogram(scores[:0], lengths[:0]).any()


@quick
@given(score=st.integers(0, 2**31 - 1))
def test_a_bin_s_middle_is_near_its_scores(score):
    """Exact for small scores, within a hundredth above."""
    (place,) = np.flatnonzero(histogram(np.array([score]), np.array([100]))[46])
    error = abs(_middles()[place] - score)
    assert error == 0 if score < EXACT_SCORES else error <= score / 100


def test_the_line_is_that_of_least_squares():
    """Without relatives, as computed from every score by itself; lengths are binned to 5 %."""
    scores, lengths = chance(2)
    found = fitted(scores, lengths)
    assert found.trimmed == 0
    expected = least_squares(np.log(lengths).tolist(), scores.tolist())
    assert found.line == pytest.approx(expected, rel=0.02)
    assert found.line.slope == pytest.approx(3.75, rel=0.1)
    assert found.line.deviation == pytest.approx(3.75 * math.pi / math.sqrt(6), rel=0.05)


def test_p_e_and_bits_follow_from_the_line_one_by_one():
    """E is P times the sequences, for nucleotides P times residues / length."""
    scores, lengths = chance(3)
    for alphabet in (PROTEIN, NUCLEOTIDE):
        found = fitted(scores, lengths, alphabet)
        bits, log_evalues = found.evaluate(scores, 300, lengths)
        line = found.line
        for i in range(200):
            n = int(lengths[i])
            z = (scores[i] - line.intercept - line.slope * math.log(n)) / line.deviation
            size = found.sequences if alphabet is PROTEIN else found.residues / n
            expected = math.log(extreme_value_probability(z) * size)
            assert log_evalues[i] == pytest.approx(expected, abs=1e-9)
            nats = math.pi / math.sqrt(6) * z + 0.5772156649 + math.log(300 * n)
            assert bits[i] == pytest.approx(nats / math.log(2))


@quick
@given(seed=st.integers(0, 5), cuts=st.lists(st.integers(0, 3000), max_size=5))
def test_the_fit_does_not_depend_on_how_the_scores_arrive(seed, cuts):
    """Permuted and cut, the very same line comes out, to the last bit."""
    scores, lengths = chance(seed)
    scores[:20] += 500
    order = np.random.default_rng(seed).permutation(len(scores))
    parts = [histogram(scores[p], lengths[p]) for p in np.split(order, sorted(cuts))]
    counts = sum(parts)
    assert fit(counts, 300, 10**6, 3000, PROTEIN) == fit(
        histogram(scores, lengths), 300, 10**6, 3000, PROTEIN
    )


@pytest.mark.parametrize("share", [0.01, 0.1, 0.4])
@pytest.mark.parametrize("lift", [100, 1000, 100_000])
def test_related_targets_do_not_move_the_line(share, lift):
    """A family among the targets is trimmed, be it small or not far from half of all."""
    scores, lengths = chance(4)
    clean = fitted(scores, lengths).line
    number = int(share * len(scores))
    lengths[:number] = 350
    scores[:number] += lift
    found = fitted(scores, lengths)
    assert found.trimmed == pytest.approx(number, abs=3)
    assert found.line == pytest.approx(clean, rel=0.1)
    assert found.fitted + found.trimmed == len(scores)


def test_far_scores_have_accurate_logarithms():
    """Where P is no number of a computer any more, ln P still falls with the score."""
    scores, lengths = chance(5)
    found = fitted(scores, lengths)
    far = np.array([10**3, 10**5, 10**9])
    log_evalues = found.evaluate(far, 300, np.full(3, 300)).log_evalues
    steps = np.diff(log_evalues) / np.diff(far)
    assert steps == pytest.approx(-math.pi / math.sqrt(6) / found.line.deviation, rel=1e-9)
    near = found.evaluate(np.arange(1000), 300, np.full(1000, 300)).log_evalues
    assert np.isfinite(near).all()
    assert (np.diff(near) <= 0).all()
    assert near[0] == pytest.approx(math.log(len(scores)))


def test_scores_of_zero_are_scores():
    """Where many targets share nothing with the query, E is still a number."""
    scores, lengths = chance(6)
    scores = np.maximum(scores - 35, 0)
    found = fitted(scores, lengths).evaluate(scores, 300, lengths)
    assert (scores == 0).sum() > 1000
    assert np.isfinite(found.log_evalues).all()
    assert np.isfinite(found.bits).all()


def test_large_units_of_score_fit_like_small_ones():
    """A matrix in thousandths gives thousandfold lines and the same E-values."""
    scores, lengths = chance(7)
    one, thousand = fitted(scores, lengths), fitted(1000 * scores, lengths)
    assert thousand.line == pytest.approx([1000 * value for value in one.line], rel=0.01)
    assert thousand.evaluate(1000 * scores, 300, lengths).log_evalues == pytest.approx(
        one.evaluate(scores, 300, lengths).log_evalues, abs=0.1
    )


def test_targets_of_one_length_have_a_level_line():
    """There is nothing to see a slope by."""
    scores, lengths = chance(8)
    found = fitted(scores, np.full_like(lengths, 250))
    assert found.line.slope == 0
    assert found.line.intercept == pytest.approx(scores.mean(), rel=0.01)


def test_a_line_never_falls():
    """Longer targets do not score less by chance: if they seem to, length counts for nought."""
    scores, lengths = chance(9, number=200)
    found = fitted(np.sort(scores)[::-1], np.sort(lengths))
    assert found.line.slope == 0


def test_targets_under_ten_residues_are_not_fitted():
    """They change nothing, but they have E-values."""
    scores, lengths = chance(10)
    short = np.full(500, 9)
    found = fitted(np.append(scores, short), np.append(lengths, short))
    assert found.line == fitted(scores, lengths).line
    assert found.fitted == 3000
    assert np.isfinite(found.evaluate(np.array([5]), 300, np.array([3])).log_evalues).all()


@pytest.mark.parametrize(
    ("scores", "lengths", "words"),
    [
        ([], [], "at least 10 targets"),
        ([30, 40, 50, 60, 45, 38, 42, 51, 39], range(100, 109), "at least 10 targets"),
        (range(20, 40), [9] * 20, "there are 0"),
        ([31] * 50, range(100, 150), "needs scores that differ"),
        ([0] * 500, range(100, 600), "needs scores that differ"),
        ([0] * 500 + [90], range(100, 601), "needs scores that differ"),
    ],
    ids=["none", "nine", "short", "equal", "zero", "zero but one"],
)
def test_scores_that_measure_nothing_are_refused(scores, lengths, words):
    """With what to do instead."""
    columns = np.array(list(scores), np.int64), np.array(list(lengths), np.int64)
    with pytest.raises(StatisticsUnavailable, match=words) as caught:
        fitted(*columns)
    assert "`stats='table'` or `stats='none'`" in str(caught.value)


def test_the_facts_are_plain_values():
    """What a header prints."""
    facts = fitted(*chance(11)).facts()
    assert facts["method"] == "fit"
    assert facts["lambda"] == pytest.approx(1 / 3.75, rel=0.05)
    assert facts["fitted"] + facts["trimmed"] == facts["sequences"] == 3000
    assert {type(value) for value in facts.values()} == {str, int, float}


def test_all_scores_are_counted_beside_what_chance_gives():
    """Every score is in a bin; where there is nothing but chance, both counts agree."""
    found = fitted(*chance(12))
    observed, expected = np.array(found.observed), found.expected()
    assert observed.sum() == found.fitted + found.trimmed == 3000
    assert expected.sum() == pytest.approx(3000)
    many = expected > 50
    assert many.sum() >= 5
    assert np.abs(observed - expected)[many].max() < 5 * np.sqrt(expected[many].max())


def test_a_lighter_tail_makes_evalues_that_hold():
    """Scores with a tail lighter than Gumbel's: as many above each E-value as it claims."""
    random = np.random.default_rng(8)
    lengths = np.exp(random.normal(math.log(300), 0.6, 2000)).astype(np.int64) + 10
    claims = np.array([0.1, 1, 10])
    light, gumbel = np.zeros(3), np.zeros(3)
    for _ in range(200):
        noise = 20 - 100 * np.log(random.gamma(1.8, size=2000) / lengths) / 9
        scores = np.maximum(np.rint(noise), 0).astype(np.int64)
        for found, distribution in ((light, LogGamma(1.8)), (gumbel, LogGamma(1.0))):
            counts = histogram(scores, lengths)
            own = fit(counts, 300, int(lengths.sum()), 2000, PROTEIN, distribution)
            evalues = np.exp(own.evaluate(scores, 300, lengths).log_evalues)
            found += (evalues[:, None] <= claims).sum(axis=0) / 200
    assert (np.abs(light / claims - 1) < [0.5, 0.2, 0.1]).all()
    assert gumbel[1] < 0.6


def test_a_distribution_belongs_to_the_scores_of_a_matrix():
    """Its name does not count; other gap penalties have Gumbel's."""
    matrix = load("PFASUM31")
    renamed = replace(matrix, name="mine")
    for each in (matrix, renamed):
        assert find_distribution(ScoringScheme(each, 12, 2)) == LogGamma(1.8)
        assert find_distribution(ScoringScheme(each, 13, 2)) == LogGamma(1.0)
    assert find_distribution(ScoringScheme(load("BLOSUM62"), 12, 2)) == LogGamma(1.0)
    assert find_distribution(ScoringScheme(match_mismatch(2, -3), 5, 2)) == LogGamma(1.0)
    for name, *gaps in SHAPES:
        assert PREFERRED_GAPS[name] == tuple(gaps)
