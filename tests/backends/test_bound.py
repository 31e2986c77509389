"""Upper bounds of scores: never below a score, equal to their definition, and without a trace."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
from backends.cuda.standin import StandIn
from oracles.bound import bound as defined_bound
from oracles.smith_waterman import local_score_gotoh
from support.scoring_cases import GAP_PENALTIES, LANES, LETTERS, random_residues, relative

from swdual.backend import BOUNDS_VARIABLE, MAX_SCORE, ScoreCutoffs
from swdual.backends import simd
from swdual.backends.cuda import CudaScorer
from swdual.database.database import Database
from swdual.lanes.pack import make_block, pack
from swdual.lanes.score_widths import (
    find_bound,
    number_rows,
    score_widths,
    score_widths_per_target,
)
from swdual.sequences import matrices
from swdual.sequences.alphabet import CODES, NUCLEOTIDE, PROTEIN
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of

pytestmark = pytest.mark.sample("values")

FAR = np.iinfo(np.int64).max
ALPHABETS = {"protein": PROTEIN, "nucleotide": NUCLEOTIDE}
DEFAULTS = {
    "protein": (matrices.load("BLOSUM62"), 11, 1),
    "nucleotide": (matrices.match_mismatch(2, -3), 5, 2),
}


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Bounds are computed whatever they leave, and of the smallest packs."""
    monkeypatch.setattr(simd, "MIN_BOUND_BYTES", 0)
    monkeypatch.setattr(simd, "MIN_BOUND_BATCHES", 1)
    monkeypatch.setattr(simd, "MAX_LEFT", 1.0)


def ignore(cells):
    """Take no notice of progress."""


def families(rng, query_length, count):
    """Return a query, and targets in descending length: kin, strangers and copies."""
    query = random_residues(rng, query_length)
    targets = [
        relative(rng, query) if k % 3 else random_residues(rng, int(rng.integers(1, 90)))
        for k in range(count)
    ]
    return query, sorted([*targets, query, 2 * query], key=len, reverse=True)


def bounds_of(query, targets, width, cutoffs=None):
    """Return what `bound_pack` says of targets in descending length; nothing is left by cutoffs."""
    rows = number_rows(query) if isinstance(query, bytes) else query
    packed = pack(make_block(targets), np.arange(len(targets)), width.lanes)
    sparse = np.zeros(len(packed.batch_starts) - 1, bool)
    cutoffs = np.full(len(targets), FAR) if cutoffs is None else cutoffs
    return simd.bound_pack(rows, packed, width, sparse, cutoffs, ignore)


def definitions(query, targets, tables, gap_penalties):
    """Return (targets,) the bounds by their definition, of a table for each target."""
    return [
        defined_bound(query, target, table, *gap_penalties)
        for target, table in zip(targets, tables, strict=True)
    ]


@cache
def compare_definitions(gap_penalties):
    """Return queries with targets, and of each pair the bound by its definition and the score."""
    rng = np.random.default_rng(sum(gap_penalties))
    matrix = matrices.load("BLOSUM62").scores
    cases = []
    for length in (1, 2, 7, 30, 45):
        query, targets = families(rng, length, 20)
        bounds = definitions(query, targets, [matrix] * len(targets), gap_penalties)
        scores = [local_score_gotoh(list(query), list(t), matrix, *gap_penalties) for t in targets]
        cases.append((query, targets, bounds, scores))
    return cases


@pytest.mark.parametrize("gap_penalties", GAP_PENALTIES)
def test_the_definition_is_not_below_the_score(gap_penalties):
    equal = 0
    for _, _, bounds, scores in compare_definitions(gap_penalties):
        assert all(bound >= score for bound, score in zip(bounds, scores, strict=True))
        equal += sum(bound == score for bound, score in zip(bounds, scores, strict=True))
    assert equal > 10


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("gap_penalties", GAP_PENALTIES)
def test_bounds_are_those_of_the_definition(lanes, gap_penalties):
    """Odd and even lengths, 8 and 16 bits; a bound that does not fit its numbers leaves the target.

    Where 8 bits cut a cost, the bound may be larger.
    """
    scheme = ScoringScheme(matrices.load("BLOSUM62"), *gap_penalties)
    fitting = 0
    for query, targets, bounds, scores in compare_definitions(gap_penalties):
        for width in score_widths(scheme, lanes)[:2]:
            found, first = bounds_of(query, targets, width).tolist(), width.first_gap
            is_cut = first < sum(gap_penalties) or find_bound(width).next_gap < gap_penalties[1]
            for got, bound, score in zip(found, bounds, scores, strict=True):
                if got < 0:
                    assert is_cut or width.zero + max(bound, first) > width.limit
                    continue
                fitting += 1
                assert got == max(bound, first) or (is_cut and got >= max(bound, score))
    assert fitting > 100


@pytest.mark.exhaustive
@pytest.mark.parametrize("lanes", LANES)
def test_no_bound_is_below_a_score(lanes):
    """A million pairs, of all lengths up to 120, under random matrices and gap penalties."""
    rng = np.random.default_rng(lanes)
    left = 0
    for number in range(500):
        query, targets = families(rng, int(rng.integers(1, 121)), 1998)
        low, high = ((-4, 12), (-128, 64), (-1, 3), (-12, 1))[number % 4]
        gap_penalties = (int(rng.integers(0, 14)), int(rng.integers(0, 4)))
        drawn = rng.integers(low, high, (CODES, CODES)).astype(np.int16)
        matrix = matrices.SubstitutionMatrix("drawn", PROTEIN, drawn)
        widths = score_widths(ScoringScheme(matrix, *gap_penalties), lanes)
        bounds = bounds_of(query, targets, widths[0])
        scores = simd.score_targets(number_rows(query), targets, widths)
        assert ((bounds < 0) | (bounds >= scores)).all()
        left += np.count_nonzero(bounds < 0)
    assert 1_000 < left < 999_000


@pytest.mark.parametrize("lanes", [16, 64])
def test_bounds_of_profiles_are_those_of_the_definition(lanes):
    rng = np.random.default_rng(3)
    scheme = ScoringScheme(matrices.load("BLOSUM62"))
    for length in (1, 8, 33):
        query, targets = families(rng, length, 40)
        profile = scheme.matrix.scores[list(query)] + rng.integers(-2, 2, (length, CODES))
        width = score_widths(scheme, lanes, profile.astype(np.int32))[0]
        found = bounds_of(np.arange(length), targets, width)
        expected = definitions(range(length), targets, [width.table] * len(targets), (11, 1))
        for got, wanted in zip(found.tolist(), expected, strict=True):
            assert got == max(wanted, 12) or (got < 0 and width.zero + wanted > width.limit)
        assert (found >= 0).any()


@pytest.mark.parametrize("bits", [16, 32])
def test_bounds_with_a_matrix_for_each_target_are_those_of_the_definition(bits):
    rng = np.random.default_rng(4)
    gap_penalties = 11 * 32, 32
    query, targets = families(rng, 37, 60)
    plain = 32 * matrices.load("BLOSUM62").scores.astype(np.int32)
    tables = plain + rng.integers(-30, 30, (len(targets), CODES, CODES)).astype(np.int32)
    tables[:, CODES - 1], tables[:, :, CODES - 1] = -2000, -2000
    rows = number_rows(query)
    residues = np.concatenate([np.frombuffer(target, np.uint8) for target in targets])
    widths = score_widths_per_target(rows, residues, tables, *gap_penalties, 64)
    width = next(width for width in widths if width.bits == bits)
    found = bounds_of(rows, targets, width)
    expected = definitions(query, targets, tables, gap_penalties)
    assert found.tolist() == [max(wanted, 12 * 32) for wanted in expected]


def test_each_bound_around_the_limit_is_seen():
    """Runs of 1 to 260 matches of 1 cross the limit one by one; those above it are left."""
    code = PROTEIN.encode("A")
    scores = np.full((CODES, CODES), -4, np.int16)
    scores[code[0], code[0]] = 1
    scheme = ScoringScheme(matrices.SubstitutionMatrix("ones", PROTEIN, scores))
    width = score_widths(scheme, 64)[0]
    targets = [code * n for n in range(260, 0, -1)]
    limit = width.limit - width.zero
    expected = [max(n, 12) if n <= limit else -1 for n in range(260, 0, -1)]
    assert bounds_of(code * 300, targets, width).tolist() == expected


def test_bounds_that_reach_the_cutoff_of_their_target_leave_it():
    rng = np.random.default_rng(5)
    query, targets = families(rng, 30, 60)
    width = score_widths(ScoringScheme(matrices.load("BLOSUM62")), 64)[0]
    every = bounds_of(query, targets, width)
    cutoffs = rng.integers(10, 60, len(targets))
    found = bounds_of(query, targets, width, cutoffs)
    assert found.tolist() == np.where(every >= cutoffs, -1, every).tolist()


BACKENDS = {
    "simd": simd.bind,
    **{f"simd-{lanes}": partial(simd.bind, lanes=lanes) for lanes in LANES},
    "cuda": lambda database, scheme: CudaScorer(database, scheme, StandIn()),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ALPHABETS)
def test_the_best_targets_are_those_that_reach_the_cutoffs_of_their_lengths(backend, name):
    rng = np.random.default_rng(6)
    alphabet = ALPHABETS[name]
    scheme = ScoringScheme(*DEFAULTS[name])
    letters = LETTERS if name == "protein" else 4
    query = bytes(rng.integers(0, letters, 90).tolist())
    targets = [
        bytes(rng.integers(0, letters, rng.integers(1, 200)).tolist())
        + query[: int(rng.integers(0, 40))]
        for _ in range(700)
    ]
    batch = batch_of(Sequence(f"t{k}", codes) for k, codes in enumerate(targets))
    database = Database.from_batches([batch], alphabet, "test")
    scorer = BACKENDS[backend](database, scheme)
    block = database.block(0)
    scores = scorer(query, 0, 0, len(targets), ignore)
    for cutoffs in (
        ScoreCutoffs(np.array([1, 60, 120]), np.array([25, 40, 50])),
        ScoreCutoffs.of(35),
        ScoreCutoffs.of(0),
        ScoreCutoffs.of(MAX_SCORE),
    ):
        for first, last in ((0, len(targets)), (13, 300)):
            found, places = scorer.best(query, 0, first, last, cutoffs, ignore)
            reached = np.flatnonzero(scores >= cutoffs.select(block.lengths))
            reached = reached[(first <= reached) & (reached < last)]
            order = np.lexsort((block.ordinals[reached], -scores[reached]))
            assert places.tolist() == reached[order].tolist()
            assert found.tolist() == scores[reached][order].tolist()


def test_bounds_are_given_up_where_a_sample_says_that_they_leave_too_much(monkeypatch):
    """The batches of the sample are few, and nothing that was computed of them is used."""
    monkeypatch.undo()
    monkeypatch.setattr(simd, "MIN_BOUND_BYTES", 0)
    rng = np.random.default_rng(7)
    query = random_residues(rng, 120)
    kin = [relative(rng, query) + query[:100] for _ in range(400)]
    strangers = [random_residues(rng, 120) for _ in range(400)]
    scheme = ScoringScheme(matrices.load("BLOSUM62"))
    width = score_widths(scheme, 32)[0]
    calls = []
    original = simd._score_batches

    def counted(query, packed, score_width, tables, first, last, out):
        calls.append(last - first)
        return original(query, packed, score_width, tables, first, last, out)

    monkeypatch.setattr(simd, "_score_batches", counted)
    for targets, bounded in ((kin, False), (strangers, True)):
        targets.sort(key=len, reverse=True)
        calls.clear()
        found = bounds_of(query, targets, width, np.full(len(targets), 60))
        assert (found is not None) == bounded
        assert sum(calls) <= 2 if not bounded else sum(calls) == 13


def test_a_variable_of_the_environment_turns_bounds_off(monkeypatch):
    rng = np.random.default_rng(8)
    query, targets = families(rng, 40, 300)
    batch = batch_of(Sequence(f"t{k}", codes) for k, codes in enumerate(targets))
    database = Database.from_batches([batch], PROTEIN, "test")
    found = []
    for value in ("1", "0"):
        monkeypatch.setenv(BOUNDS_VARIABLE, value)
        scorer = simd.bind(database, ScoringScheme(matrices.load("BLOSUM62")), 32)
        scores, places = scorer.best(query, 0, 0, 302, ScoreCutoffs.of(90), ignore)
        found.append((scores.tolist(), places.tolist()))
        assert (scorer.exact_part < 1.0) == (value == "1")
    assert found[0] == found[1]
    assert found[0][0]
