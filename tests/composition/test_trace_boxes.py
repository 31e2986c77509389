"""Alignments from a part of the columns are those of the whole matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.compositions import USUAL, draw, relative
from support.properties import examples

from swdual.alignment.long import Walk
from swdual.composition import trace as module
from swdual.composition.adjust import adjust
from swdual.composition.rescore import find_widths, rescore
from swdual.composition.sequences import prepare_query
from swdual.composition.tables import SCALE, find_tables
from swdual.composition.trace import trace
from swdual.sequences.alphabet import CODES, PAD
from swdual.sequences.scoring import ScoringScheme

TABLES = find_tables(USUAL)


def walk_whole(query, target, matrix, score, scheme):
    """Return bounds and operations, walked through the whole matrices."""
    walk = Walk(
        prepare_query(query),
        np.frombuffer(target, np.uint8),
        matrix.astype(np.int64),
        SCALE * scheme.gap_open,
        SCALE * scheme.gap_extend,
        lambda cells: None,
    )
    query_end, target_end = walk.walk_best(score)
    runs = walk.runs[: walk.count][::-1].tolist()
    return [walk.row + 1, query_end, walk.column + 1, target_end], runs


def agree(query, targets, matrices, scheme):
    """Compare all alignments with those of whole matrices; return the scores."""
    prices = SCALE * scheme.gap_open, SCALE * scheme.gap_extend
    scores = rescore(query, targets, matrices, *prices)
    found = trace(query, targets, targets, matrices, scores, scheme)
    for k in np.flatnonzero(scores).tolist():
        expected = walk_whole(query, targets[k], matrices[k], int(scores[k]), scheme)
        assert (found.numbers[:4, k].tolist(), found.runs_of(k).tolist()) == expected, k
    return scores


@pytest.fixture
def no_walk(monkeypatch):
    """Let an alignment fail whose columns are too many to be kept."""
    monkeypatch.setattr(module, "Walk", None)


WORDS = st.lists(st.integers(0, 2), max_size=12).map(bytes)


@pytest.mark.usefixtures("no_walk")
@pytest.mark.parametrize("unit", [1, 3000], ids=["16 bits", "32 bits"])
@given(
    words=st.lists(WORDS, min_size=1, max_size=4),
    orders=st.lists(st.lists(st.integers(0, 3), max_size=8), min_size=2, max_size=4),
    entries=st.lists(st.integers(-3, 2), min_size=6, max_size=6),
    prices=st.sampled_from([(0, 1), (1, 0), (1, 1), (2, 1), (0, 0), (0, 3), (9, 1)]),
)
@examples(300)
def test_tied_alignments_are_those_of_whole_matrices(unit, words, orders, entries, prices):
    """Sequences of few letters, made of the same words, with small scores and gap prices.

    Prefixes of score 0 make the alignment longer than it must be.
    """
    query, *targets = (b"".join(words[k % len(words)] for k in order) for order in orders)
    matrix = np.full((CODES, CODES), -1, np.int32)
    rows, columns = np.triu_indices(3)
    matrix[rows, columns] = matrix[columns, rows] = entries
    matrix[0, 0] = max(entries[0], 1)
    matrix[PAD] = matrix[:, PAD] = -1
    matrices = np.stack([SCALE * unit * matrix] * len(targets))
    agree(query, targets, matrices, ScoringScheme(USUAL.matrix, *(unit * p for p in prices)))


@pytest.mark.usefixtures("no_walk")
def test_a_short_alignment_in_long_sequences_needs_few_columns(monkeypatch):
    """Two million cells, of which 150 columns are kept."""
    rng = np.random.default_rng(7)
    core = draw(rng, 90)
    query = draw(rng, 700) + core + draw(rng, 800)
    targets = [
        draw(rng, n) + relative(rng, core, 4, flank=0) + draw(rng, 1500 - n) for n in (0, 900, 1500)
    ]
    matrices = adjust(query, targets, TABLES, 2).matrices
    monkeypatch.setattr(module, "MAX_KEPT_BYTES", 2 * 150 * len(query))
    assert agree(query, targets, matrices, USUAL).min() > 300 * SCALE


def test_scores_around_the_limit_of_16_bits():
    """Long relatives; a cell above the limit is met by no alignment below it."""
    rng = np.random.default_rng(8)
    query = draw(rng, 480, 200.0)
    targets = [relative(rng, query, n) for n in (0, 30, 60, 90, 120, 200)]
    matrices = adjust(query, targets, TABLES, 2).matrices
    scores = agree(query, targets, matrices, USUAL)
    letters = prepare_query(query)
    narrow = next(find_widths(letters, letters, matrices, TABLES.gap_open, TABLES.gap_extend))
    assert scores.min() < narrow.limit < scores.max()


@pytest.mark.parametrize("costs", [(1100, 1), (1, 1100), (2**28, 2**28)], ids=str)
def test_gaps_that_16_bits_forbid(costs):
    """Below half of what 16 bits hold, no gap pays; above it, in 32 bits, it may."""
    rng = np.random.default_rng(9)
    halves = draw(rng, 220), draw(rng, 230)
    query = b"".join(halves)
    targets = [halves[0] + draw(rng, n) + halves[1] for n in (0, 1, 3)] + list(halves)
    matrices = np.stack([TABLES.start] * len(targets))
    agree(query, targets, matrices, ScoringScheme(USUAL.matrix, *costs))
