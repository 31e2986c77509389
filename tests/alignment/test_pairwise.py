"""Pairs of their own are aligned as the rule says, however many come together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples
from support.traced import oracle

from swdual.alignment import pairwise
from swdual.alignment.pairwise import PairTracer
from swdual.alignment.tracebacks import COLUMNS
from swdual.lanes.registers import register_bytes
from swdual.sequences import matrices
from swdual.sequences.alphabet import CODES, NUCLEOTIDE, PROTEIN
from swdual.sequences.scoring import MAX_GAP_COST, ScoringScheme

pytestmark = pytest.mark.sample("values")


def drawn_matrix(seed, factor=1):
    """Return small scores with ties; a with b scores other than b with a."""
    scores = np.random.default_rng(seed).integers(-4, 5, (CODES, CODES))
    scores = factor * (scores + 2 * np.eye(CODES, dtype=int))
    return matrices.SubstitutionMatrix("drawn", PROTEIN, scores)


SCHEMES = {
    "usual": ScoringScheme(matrices.load("BLOSUM62"), 11, 1),
    "free gaps": ScoringScheme(matrices.load("PAM30"), 0, 0),
    "cheap gaps": ScoringScheme(drawn_matrix(1), 1, 1),
    "dear extension": ScoringScheme(drawn_matrix(2), 3, 9),
    "no gaps": ScoringScheme(drawn_matrix(3), MAX_GAP_COST, MAX_GAP_COST),
    "some of 32 bits": ScoringScheme(drawn_matrix(4, 1500), 900, 200),
    "all of 32 bits": ScoringScheme(drawn_matrix(5, 5000), 9000, 2000),
    "bases": ScoringScheme(matrices.match_mismatch(2, -3), 5, 2),
}


def agree(queries, targets, scheme):
    """Align all pairs in one call; each must be as the definition says."""
    traced = PairTracer(scheme)(queries, targets)
    for k, (query, target) in enumerate(zip(queries, targets, strict=True)):
        score, numbers, operations = oracle(query, target, scheme)
        runs = traced.tracebacks.runs_of(k).tolist()
        found = [("MID"[run & 15], run >> 4) for run in runs]
        assert (traced.scores[k], found) == (score, operations), k
        assert traced.tracebacks.numbers[:, k].tolist() == numbers, k


def drawn_pairs(seed, count, longest, letters=4):
    """Return queries and targets over a few letters; targets have pieces of their queries."""
    rng = np.random.default_rng(seed)
    queries, targets = [], []
    for _ in range(count):
        query = rng.integers(0, letters, rng.integers(1, longest)).astype(np.uint8)
        target = rng.integers(0, letters, rng.integers(1, longest)).astype(np.uint8)
        first, last = np.sort(rng.integers(0, len(query) + 1, 2))
        place = int(rng.integers(0, len(target) + 1))
        queries.append(query.tobytes())
        targets.append(np.insert(target, place, query[first:last]).tobytes())
    return queries, targets


@pytest.mark.parametrize("letters", [2, 4, 15])
@pytest.mark.parametrize("name", SCHEMES)
def test_pairs_are_aligned_as_the_rule_says(name, letters):
    """Any matrix at any gap costs: scores, places, operations and counts."""
    agree(*drawn_pairs(len(name) + letters, 40, 40, letters), SCHEMES[name])


@pytest.mark.parametrize("name", ["usual", "cheap gaps", "no gaps"])
def test_long_pairs_cross_many_lines(name):
    """Several lines between rows and columns, and queries that fill their vectors or do not."""
    lanes = register_bytes() // 2
    queries, targets = drawn_pairs(7, 6, 3 * pairwise.TILE, 20)
    queries += [(5 * queries[0])[: 4 * lanes], (5 * queries[0])[: 4 * lanes + 1]]
    agree(queries, [*targets, targets[0], targets[1]], SCHEMES[name])


@examples(60)
@given(data=st.data())
def test_any_pairs_in_any_company(data):
    """What else is in the call changes nothing, nor does work space that was used before."""
    scheme = SCHEMES[data.draw(st.sampled_from(["usual", "cheap gaps", "dear extension"]))]
    text = st.binary(min_size=0, max_size=30).map(lambda x: bytes(each % 4 for each in x))
    pairs = data.draw(st.lists(st.tuples(text, text), min_size=1, max_size=8))
    queries, targets = map(list, zip(*pairs, strict=True))
    agree(queries, targets, scheme)
    tracer = PairTracer(scheme)
    together = tracer(queries, targets)
    for k in data.draw(st.permutations(range(len(pairs)))):
        alone = tracer([queries[k]], [targets[k]])
        assert alone.scores[0] == together.scores[k]
        assert alone.tracebacks.cigar(0) == together.tracebacks.cigar(k)


def test_pairs_that_are_too_large_are_aligned_one_by_one(monkeypatch):
    """Their lines would take more memory than a thread may have; others are not held up."""
    monkeypatch.setattr(pairwise, "MAX_LINE_BYTES", 2000)
    queries, targets = drawn_pairs(8, 12, 60)
    agree(queries, targets, SCHEMES["usual"])


def test_nothing_is_nothing():
    """No pairs, and pairs that have no pair of letters with a positive score."""
    traced = PairTracer(SCHEMES["usual"])([], [])
    assert (len(traced.scores), traced.tracebacks.numbers.shape) == (0, (len(COLUMNS), 0))
    agree([PROTEIN.encode("W")], [PROTEIN.encode("P")], SCHEMES["usual"])
    agree([NUCLEOTIDE.encode("A")], [NUCLEOTIDE.encode("C")], SCHEMES["bases"])
