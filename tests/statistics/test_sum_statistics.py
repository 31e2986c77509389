"""E-values of several alignments together, against the definitions and all possible sets."""

from __future__ import annotations

import math
from itertools import pairwise
from random import Random

import pytest
from oracles.sums import list_chains, set_evalue, sum_pvalue

from swdual.statistics.sum_statistics import (
    Piece,
    SumParameters,
    evaluate_set,
    find_min_score,
    link_alignments,
    log_sum_pvalue,
)

PARAMETERS = SumParameters(0.267, math.log(0.041), 20, 10**9)
QUERY, TARGET = 300, 400


@pytest.mark.parametrize("count", [2, 3, 4, 5, 7])
def test_pvalues_of_sums_are_those_of_the_integral(count):
    """BLAST's tables have values at each half, which it connects by straight lines."""
    for step in range(-4, 24):
        score = step / 2
        expected = sum_pvalue(count, score)
        if 1e-12 < expected < 0.99:
            # Above the table the first term of the series is taken: it is too small.
            in_table = count > 4 or score < count * count + count - 1
            assert math.exp(log_sum_pvalue(count, score)) == pytest.approx(
                expected, rel=2e-3 if in_table else 0.25
            )


@pytest.mark.parametrize("count", [2, 3, 4, 5, 7])
def test_pvalues_of_sums_fall_and_are_probabilities(count):
    logs = [log_sum_pvalue(count, step / 10) for step in range(-200, 800)]
    assert all(a >= b - 0.02 for a, b in pairwise(logs))
    assert max(logs) <= 0
    assert log_sum_pvalue(count, -100.0) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("scores", [(60, 50), (45, 40, 38), (200, 100, 45, 36), (40,) * 5])
def test_evalues_of_sets_are_those_of_the_definition(scores):
    nats = [PARAMETERS.lambda_ * score - PARAMETERS.log_k for score in scores]
    expected = set_evalue(nats, QUERY - 20, TARGET - 20, PARAMETERS.search_space)
    found = evaluate_set(len(scores), sum(nats), QUERY, TARGET, PARAMETERS)
    assert found == pytest.approx(math.log(expected), abs=0.2)


def make_pieces(rng, count):
    """Return alignments of which many follow each other."""
    pieces = []
    row, column = rng.randrange(40), rng.randrange(40)
    for _ in range(count):
        length = rng.randint(8, 40)
        end, other_end = row + length, column + length + rng.randint(-3, 3)
        score = rng.randint(32, 70)
        log_evalue = math.log(1e9 * 0.041 / 0.9) - PARAMETERS.lambda_ * score
        strands = (1, rng.choice((1, 1, 1, -1)))
        pieces.append(Piece(strands, score, row, end, column, other_end, QUERY, log_evalue))
        row, column = end + rng.randint(-12, 45), other_end + rng.randint(-12, 45)
        row, column = max(row, 0), max(column, 0)
    rng.shuffle(pieces)
    return pieces


@pytest.mark.parametrize("seed", range(60))
def test_linked_alignments_have_the_evalue_of_a_set_that_they_are_in(seed):
    rng = Random(seed)
    pieces = make_pieces(rng, rng.randint(2, 6))
    found = link_alignments(pieces, TARGET, {QUERY: PARAMETERS})
    chains = list_chains([(p.strands, *p[2:6]) for p in pieces])
    nats = [PARAMETERS.lambda_ * p.score - PARAMETERS.log_k for p in pieces]
    evalues = {
        chain: evaluate_set(len(chain), sum(nats[k] for k in chain), QUERY, TARGET, PARAMETERS)
        for chain in chains
    }
    for k, log_evalue in enumerate(found):
        own = [evalue for chain, evalue in evalues.items() if k in chain]
        assert log_evalue <= pieces[k].log_evalue
        assert log_evalue >= min([pieces[k].log_evalue, *own]) - 1e-9
        assert any(log_evalue == pytest.approx(x) for x in (pieces[k].log_evalue, *own))
    best = min([*evalues.values()], default=math.inf)
    pairs = [chain for chain in chains if len(chain) == 2]
    if len(pieces) == 2 and pairs:  # nothing to choose
        alone = [piece.log_evalue for piece in pieces]
        joined = best < min(alone)
        assert found == pytest.approx([best, best] if joined else alone)


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_alignments_does_not_matter(seed):
    rng = Random(seed)
    pieces = make_pieces(rng, 6)
    found = dict(zip(pieces, link_alignments(pieces, TARGET, {QUERY: PARAMETERS}), strict=True))
    other = pieces[::-1]
    assert found == dict(
        zip(other, link_alignments(other, TARGET, {QUERY: PARAMETERS}), strict=True)
    )


def test_two_pieces_side_by_side_are_linked_and_far_ones_are_not():
    log_evalue = math.log(1e9 * 0.041 / 0.9) - PARAMETERS.lambda_ * 60
    first = Piece((1, 1), 60, 0, 50, 0, 50, QUERY, log_evalue)
    near = first._replace(query_start=60, query_end=110, target_start=80, target_end=130)
    far = near._replace(query_start=91, query_end=141)
    backwards = near._replace(target_start=0, target_end=45)
    other_strand = near._replace(strands=(-1, 1))
    evalues = [
        link_alignments([first, other], TARGET, {QUERY: PARAMETERS})
        for other in (near, far, backwards, other_strand)
    ]
    assert evalues[0][0] == evalues[0][1] < log_evalue - 2
    assert evalues[1:] == [[log_evalue] * 2] * 3


def test_the_smallest_score_is_expected_once_in_a_pair():
    score = find_min_score(PARAMETERS, 300, 350)
    expected = 0.041 * 300 * 350 * math.exp(-0.267 * score)
    assert expected * math.exp(0.267) / 0.9 > 1 >= expected
