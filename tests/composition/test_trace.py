"""Alignments under adjusted matrices are the ones that the rule of `swdual.alignment` names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.alignment import best_alignment, gapped, statistics_of
from support.compositions import USUAL, draw, relative
from support.properties import examples, seeds
from support.traced import score_in

from swdual.alignment import fill
from swdual.alignment.long import Walk
from swdual.alignment.pairs import TargetMatrices
from swdual.alignment.tracer import Tracer
from swdual.composition.adjust import adjust
from swdual.composition.rescore import rescore
from swdual.composition.sequences import prepare_query
from swdual.composition.tables import SCALE, find_tables
from swdual.errors import EngineError
from swdual.lanes.score_widths import score_widths_per_target
from swdual.sequences.alphabet import CODES, PAD, PROTEIN
from swdual.sequences.scoring import ScoringScheme

TABLES = find_tables(USUAL)


def oracle(query, target, unmasked, matrix, scheme):
    """Return the numbers and the operations of the alignment, from full matrices."""
    codes = {letter: code for code, letter in enumerate(PROTEIN.letters)}
    table = matrix.tolist()
    rows = PROTEIN.decode(query), PROTEIN.decode(target)
    gap_penalties = SCALE * scheme.gap_open, SCALE * scheme.gap_extend
    found = best_alignment(*rows, lambda a, b: table[codes[a]][codes[b]], *gap_penalties)
    if found is None:
        return [0] * 9, []
    whole = rows[0], PROTEIN.decode(unmasked)
    upper, lower = gapped(*whole, found.operations, found.query_start, found.target_start)
    counts = statistics_of(upper, lower, score_in(scheme))
    numbers = [
        *(found.query_start, found.query_end, found.target_start, found.target_end),
        *(counts.length, counts.identities, counts.positives),
        *(counts.gap_openings, counts.gap_residues),
    ]
    return numbers, found.operations


def align(query, targets, unmasked, matrices, scores, scheme, progress=lambda cells: None):
    gap_penalties = SCALE * scheme.gap_open, SCALE * scheme.gap_extend
    letters = prepare_query(query)
    return Tracer(scheme).trace_adjusted(
        letters, targets, TargetMatrices(matrices, gap_penalties), scores, query, unmasked, progress
    )


def rescored(query, targets, matrices, scheme):
    gap_penalties = SCALE * scheme.gap_open, SCALE * scheme.gap_extend
    return rescore(prepare_query(query), targets, TargetMatrices(matrices, gap_penalties))


def agree(query, targets, unmasked, matrices, scheme):
    """Compare all alignments with the oracle's; return how many are not empty."""
    scores = rescored(query, targets, matrices, scheme)
    found = align(query, targets, unmasked, matrices, scores, scheme)
    for k, target in enumerate(targets):
        numbers, operations = oracle(query, target, unmasked[k], matrices[k], scheme)
        runs = [("MID"[run & 15], int(run >> 4)) for run in found.runs_of(k)]
        assert (found.numbers[:, k].tolist(), runs) == (numbers, operations), k
    return int((scores > 0).sum())


@pytest.fixture(params=["lanes", "one by one", "long"], autouse=True)
def way(request, monkeypatch):
    """Every test runs with targets side by side, one by one, and as long pairs."""
    if request.param == "one by one":
        monkeypatch.setattr(fill, "count_alone", lambda lengths, *given: len(lengths))
    if request.param == "long":
        monkeypatch.setattr(fill, "MAX_TILE", 0)


@pytest.mark.parametrize(
    "gap_penalties", [(11, 1), (1, 0), (0, 1), (0, 0), (2, 1), (1, 3)], ids=str
)
@pytest.mark.parametrize("seed", seeds(5))
def test_alignments_with_ties_are_the_oracles(seed, gap_penalties):
    """Few letters and scores that are multiples of a gap's penalty: many have the best score."""
    rng = np.random.default_rng(seed)
    query = bytes(rng.integers(0, 3, 40).tolist())
    targets = [bytes(rng.integers(0, 3, int(n)).tolist()) for n in rng.integers(0, 60, 8)]
    targets += [query[5:30] + query[10:], query]
    matrices = SCALE * rng.integers(-2, 2, (len(targets), CODES, CODES)).astype(np.int32)
    matrices += (2 * SCALE * np.eye(CODES)).astype(np.int32)
    matrices[:, PAD] = matrices[:, :, PAD] = -SCALE
    scheme = ScoringScheme(USUAL.matrix, *gap_penalties)
    assert agree(query, targets, targets, matrices, scheme) >= 2


@pytest.mark.parametrize("mode", [1, 2])
def test_alignments_of_relatives_are_the_oracles(mode):
    """Identities and positives are those of the letters before they were masked."""
    rng = np.random.default_rng(mode)
    query = draw(rng, 120, 40.0)
    unmasked = [relative(rng, query, n) for n in (0, 20, 40, 60, 100)] + [draw(rng, 80)]
    x = PROTEIN.encode("X")
    targets = [target[:60] + 20 * x + target[80:] for target in unmasked]
    matrices = adjust(query, targets, TABLES, mode).matrices
    assert agree(query, targets, unmasked, matrices, USUAL) == len(targets)


def test_another_score_is_an_error():
    """Below the best as well as above it, and whichever target it is."""
    rng = np.random.default_rng(5)
    query = draw(rng, 60)
    targets = [relative(rng, query, n) for n in (5, 10)]
    matrices = adjust(query, targets, TABLES, 2).matrices
    scores = rescored(query, targets, matrices, USUAL)
    for more in (1, 1 << 40):
        with pytest.raises(EngineError, match="does not have the score"):
            align(query, targets, targets, matrices, scores + more * np.arange(2), USUAL)


def test_progress_may_stop_the_work():
    """It is called at least once."""

    def stop(cells):
        raise KeyboardInterrupt

    query = PROTEIN.encode("MKVLAWGGH")
    matrices = adjust(query, [query], TABLES, 2).matrices
    with pytest.raises(KeyboardInterrupt):
        align(query, [query], [query], matrices, np.array([100]), USUAL, stop)


def test_alignments_of_score_0_are_empty():
    """Also where nothing has another score."""
    query, other = PROTEIN.encode("WWW"), PROTEIN.encode("PPP")
    matrices = np.stack([TABLES.start] * 2)
    found = align(query, [other, query], [other, query], matrices, np.zeros(2, np.int64), USUAL)
    assert found.numbers.tolist() == [[0, 0]] * 9
    assert len(found.runs) == 0


def agree_with_walk(query, targets, matrices, scheme):
    """Compare all alignments with those that `Walk` finds in wide numbers; return the scores."""
    scores = rescored(query, targets, matrices, scheme)
    found = align(query, targets, targets, matrices, scores, scheme)
    for k in np.flatnonzero(scores).tolist():
        walk = Walk(
            prepare_query(query),
            np.frombuffer(targets[k], np.uint8),
            matrices[k].astype(np.int64),
            SCALE * scheme.gap_open,
            SCALE * scheme.gap_extend,
            lambda cells: None,
        )
        query_end, target_end = walk.walk_best(int(scores[k]))
        bounds = [walk.row + 1, query_end, walk.column + 1, target_end]
        runs = walk.runs[: walk.count][::-1].tolist()
        assert (found.numbers[:4, k].tolist(), found.runs_of(k).tolist()) == (bounds, runs), k
    return scores


WORDS = st.lists(st.integers(0, 2), max_size=12).map(bytes)


@pytest.mark.parametrize("unit", [1, 3000], ids=["16 bits", "32 bits"])
@given(
    words=st.lists(WORDS, min_size=1, max_size=4),
    orders=st.lists(st.lists(st.integers(0, 3), max_size=8), min_size=2, max_size=4),
    entries=st.lists(st.integers(-3, 2), min_size=6, max_size=6),
    gap_penalties=st.sampled_from([(0, 1), (1, 0), (1, 1), (2, 1), (0, 0), (0, 3), (9, 1)]),
)
@examples(300)
def test_tied_alignments_are_those_of_wide_numbers(unit, words, orders, entries, gap_penalties):
    """Sequences of few letters, made of the same words, with small scores and gap penalties.

    Prefixes of score 0 make the alignment longer than it must be.
    """
    query, *targets = (b"".join(words[k % len(words)] for k in order) for order in orders)
    matrix = np.full((CODES, CODES), -1, np.int32)
    rows, columns = np.triu_indices(3)
    matrix[rows, columns] = matrix[columns, rows] = entries
    matrix[0, 0] = max(entries[0], 1)
    matrix[PAD] = matrix[:, PAD] = -1
    matrices = np.stack([SCALE * unit * matrix] * len(targets))
    scheme = ScoringScheme(USUAL.matrix, *(unit * p for p in gap_penalties))
    agree_with_walk(query, targets, matrices, scheme)


def test_scores_around_the_limit_of_16_bits():
    """Long relatives; a cell above the limit is met by no alignment below it."""
    rng = np.random.default_rng(8)
    query = draw(rng, 480, 200.0)
    targets = [relative(rng, query, n) for n in (0, 30, 60, 90, 120, 200)]
    matrices = adjust(query, targets, TABLES, 2).matrices
    scores = agree_with_walk(query, targets, matrices, USUAL)
    letters = prepare_query(query)
    narrow = score_widths_per_target(
        letters, letters, matrices, TABLES.gap_open, TABLES.gap_extend, 64
    )[0]
    assert scores.min() < narrow.limit - narrow.zero < scores.max()


@pytest.mark.parametrize("costs", [(1100, 1), (1, 1100), (2**28, 2**28)], ids=str)
def test_gaps_that_16_bits_forbid(costs):
    """Below half of what 16 bits hold, no gap pays; above it, in 32 bits, it may."""
    rng = np.random.default_rng(9)
    halves = draw(rng, 220), draw(rng, 230)
    query = b"".join(halves)
    targets = [halves[0] + draw(rng, n) + halves[1] for n in (0, 1, 3)] + list(halves)
    matrices = np.stack([TABLES.start] * len(targets))
    agree_with_walk(query, targets, matrices, ScoringScheme(USUAL.matrix, *costs))
