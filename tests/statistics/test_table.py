"""E-values from the tables: published numbers, a slow oracle, and no number that is not finite."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.statistics import adjusted_length, finite_size_evalue
from support.properties import examples

from swdual.errors import StatisticsUnavailable
from swdual.sequences.matrices import load, match_mismatch
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.parameters import gapped
from swdual.statistics.table import TableStatistics, length_adjustment

BLOSUM62 = ScoringScheme(load("BLOSUM62"), 11, 1)
ROW, UNGAPPED = (0.267, 0.041, 1.9, 42.6028, 43.6362), (0.7916, 4.96466)
PAM30 = ScoringScheme(load("PAM30"), 9, 1)
PAM30_ROW, PAM30_UNGAPPED = (0.294, 0.11, 0.48, 2.46392, 3.18615), (0.1938, 0.161818)
quick = examples(150)


def evalue(table, score, query_length, target_length):
    found = table.evaluate(np.array([score]), query_length, np.array([target_length]))
    return math.exp(found.log_evalues[0])


@pytest.mark.parametrize(
    ("score", "query_length", "target_length", "residues", "expected"),
    [
        (100, 300, 400, 10**8, 9.301137e-4),
        (250, 35000, 350, 2 * 10**8, 6.908810e-20),
        (40, 20, 30, 10**6, 1.231431),
    ],
)
def test_proteins_have_the_finite_size_corrected_e_value(
    score, query_length, target_length, residues, expected
):
    """BLOSUM62 with 11/1, against figures of an implementation that agrees with blastp."""
    table = TableStatistics(BLOSUM62, residues, 1000)
    assert evalue(table, score, query_length, target_length) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("score", "query_length", "target_length"),
    [(1201, 294, 422), (1204, 294, 416), (1179, 294, 418), (2332, 1801, 1671)],
)
def test_pairs_that_once_had_negative_e_values_have_positive_ones(
    score, query_length, target_length
):
    """The alignments are longer than the sequences allow on average; BLAST had to mend these."""
    table = TableStatistics(BLOSUM62, target_length, 1)
    found = table.evaluate(np.array([score]), query_length, np.array([target_length]))
    log_evalue = found.log_evalues[0]
    assert math.isfinite(log_evalue)
    assert log_evalue < -300
    assert math.exp(log_evalue) > 0
    bound = math.log(0.041 * query_length * target_length) - 0.267 * score
    assert log_evalue < bound


def pairs(longest, best):
    lengths = st.integers(1, longest)
    return st.lists(st.tuples(st.integers(0, best), lengths), min_size=1, max_size=20)


@quick
@given(rows=pairs(5000, 300), query_length=st.integers(1, 5000), residues=st.integers(1, 10**10))
@pytest.mark.parametrize(
    ("scheme", "row", "ungapped"),
    [(BLOSUM62, ROW, UNGAPPED), (PAM30, PAM30_ROW, PAM30_UNGAPPED)],
    ids=["BLOSUM62", "PAM30"],
)
def test_whole_columns_agree_with_the_formula_one_by_one(
    scheme, row, ungapped, rows, query_length, residues
):
    """Wherever the plain formula does not lose its digits to cancellation."""
    scores, lengths = np.array(rows).T
    found = TableStatistics(scheme, residues, 10).evaluate(scores, query_length, lengths)
    gap = scheme.gap_open + scheme.gap_extend
    for (score, length), bits, log_evalue in zip(rows, *found, strict=True):
        assert bits == pytest.approx((row[0] * score - math.log(row[1])) / math.log(2))
        reach = row[2] * score + 2 * gap * (ungapped[0] - row[2])
        if reach - min(length, query_length) < 10 * math.sqrt(row[3] * max(score, 2 / row[0])):
            expected = finite_size_evalue(score, query_length, length, residues, gap, row, ungapped)
            assert log_evalue == pytest.approx(math.log(expected), abs=1e-7)
        assert math.isfinite(log_evalue)


@quick
@given(
    rows=pairs(2**31 - 1, 2**31 - 1),
    query_length=st.integers(1, 2**31 - 1),
    residues=st.integers(1, 2**62),
)
def test_e_values_are_finite_whatever_the_sizes(rows, query_length, residues):
    """One residue or two thousand million: the logarithm of E is a number."""
    scores, lengths = np.array(rows).T
    for scheme in (BLOSUM62, PAM30, ScoringScheme(match_mismatch(2, -3), 5, 2)):
        found = TableStatistics(scheme, residues, len(rows)).evaluate(scores, query_length, lengths)
        assert np.isfinite(found.bits).all()
        assert np.isfinite(found.log_evalues).all()


def test_a_higher_score_is_never_likelier():
    """ln E falls with the score, through the switch from one formula of the tail to the other."""
    scores = np.arange(5000)
    for query_length, target_length in ((20, 30), (300, 400), (294, 10), (3000, 3000)):
        found = TableStatistics(BLOSUM62, 10**6, 1000).evaluate(
            scores, query_length, np.full(5000, target_length)
        )
        assert (np.diff(found.log_evalues) < 0).all()


def test_no_targets_have_no_e_values():
    """Empty columns give empty columns."""
    nothing = np.array([], np.int64)
    for scheme in (BLOSUM62, ScoringScheme(match_mismatch(1, -3), 5, 2)):
        found = TableStatistics(scheme, 10**6, 1000).evaluate(nothing, 300, nothing)
        assert [len(column) for column in found] == [0, 0]


@pytest.mark.parametrize(
    ("residues", "sequences", "cut", "space"),
    [(194_727, 410, 71, 37_926_293), (10**8, 250_000, 113, 13_417_250_000)],
)
def test_the_search_space_is_the_one_blastp_prints(residues, sequences, cut, space):
    """A query of 300 residues, BLOSUM62 with 11/1."""
    table = TableStatistics(BLOSUM62, residues, sequences)
    assert (table.adjustment(300), table.search_space(300)) == (cut, space)


@quick
@given(
    query_length=st.integers(1, 3000),
    residues=st.integers(1, 10**9),
    share=st.floats(0, 1),
    scheme=st.sampled_from(
        [BLOSUM62, PAM30, *(ScoringScheme(match_mismatch(*s), 5, 5) for s in ((3, -2), (1, -3)))]
    ),
)
def test_the_length_adjustment_is_the_largest_that_its_equation_allows(
    query_length, residues, share, scheme
):
    """As trying all lengths finds it, for one long target up to many of a residue each."""
    sequences = max(1, int(residues**share))
    p = gapped(scheme)
    found = length_adjustment(p, query_length, residues, sequences)
    ratio = p.alpha / p.lambda_
    assert found == adjusted_length(query_length, residues, sequences, ratio, p.beta, p.K)
    assert TableStatistics(scheme, residues, sequences).search_space(query_length) >= 1


def test_nucleotides_take_the_search_space_as_it_is():
    """E = K * space * exp(-lambda * score), for targets of any length."""
    table = TableStatistics(ScoringScheme(match_mismatch(1, -2), 2, 2), 2_981_783, 3206)
    found = table.evaluate(np.array([20, 20, 40]), 800, np.array([50, 5000, 700]))
    expected = math.log(0.62 * table.search_space(800)) - 1.33 * np.array([20, 20, 40])
    assert found.log_evalues == pytest.approx(expected, rel=1e-14)


def test_odd_scores_count_as_even_ones_for_e_but_not_for_bits():
    """2/-3 with 5/2, as in blastn; its neighbours 1/-2 know no such rule."""
    lengths = np.full(3, 500)
    for scheme, rounds in (((2, -3), True), ((1, -2), False)):
        table = TableStatistics(ScoringScheme(match_mismatch(*scheme), 4, 2), 10**6, 1000)
        bits, log_evalues = table.evaluate(np.array([40, 41, 42]), 500, lengths)
        assert bits[0] < bits[1] < bits[2]
        assert (log_evalues[0] == log_evalues[1]) == rounds
        assert log_evalues[2] < log_evalues[1]


def test_the_facts_are_plain_values():
    """What a header prints: parameters with and without gaps, and the size of the database."""
    facts = TableStatistics(BLOSUM62, 10**6, 1000).facts()
    assert facts["method"] == "table"
    assert (facts["lambda"], facts["K"], facts["H"]) == (0.267, 0.041, 0.14)
    assert (facts["ungapped lambda"], facts["ungapped K"]) == (0.3176, 0.134)
    assert (facts["residues"], facts["sequences"]) == (10**6, 1000)
    assert {type(value) for value in facts.values()} == {str, int, float}


def test_a_scheme_without_parameters_is_refused_at_once():
    """Before anything is searched."""
    with pytest.raises(StatisticsUnavailable):
        TableStatistics(ScoringScheme(load("BLOSUM62"), 3, 1), 10**6, 1000)
