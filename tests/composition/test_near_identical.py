"""Nearly identical targets are those of the oracle, and BLAST's thresholds are met exactly."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.composition import gapped_extension, identity_share, segments
from support.compositions import USUAL, draw, relative
from support.properties import seeds

from swdual import search
from swdual.alignment.pairs import TargetMatrices
from swdual.composition import adjuster as module
from swdual.composition.adjuster import Adjuster
from swdual.composition.near_identical import (
    SEGMENT_WORD,
    Extension,
    count_identities,
    extend_gapped,
    find_dense,
    find_diagonals,
    find_max_drop,
    find_seed,
    find_segments,
    is_near_identical,
)
from swdual.composition.rescore import rescore
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import load
from swdual.sequences.scoring import PREFERRED_GAPS, ScoringScheme

LAMBDA = 0.267


def identities(query, target):
    """Return what the kernel counts in two sequences of codes."""
    return count_identities(np.frombuffer(query, np.uint8), np.frombuffer(target, np.uint8))


def changed(query, places):
    """Return the query with other letters at some places."""
    codes = bytearray(query)
    for place in places:
        codes[place] = (codes[place] + 1) % 20
    return bytes(codes)


def judge(query, target, score=10_000, start=0):
    """Return whether a target that aligns from end to end is nearly identical."""
    found = Extension(score, start, len(query), start, len(target))
    return is_near_identical(query, target, found, LAMBDA)


@pytest.mark.parametrize("seed", seeds(200))
def test_identities_are_the_oracles(seed):
    """For relatives with changes and gaps in clusters, repeats, and strangers."""
    rng = np.random.default_rng(seed)
    query = draw(rng, int(rng.integers(1, 150)), float(rng.choice([1.0, 60.0])))
    target = relative(rng, query, int(rng.integers(0, 60)), flank=int(rng.integers(0, 2)) * 5)
    expected = identity_share(PROTEIN.decode(query), PROTEIN.decode(target))
    assert identities(query, target) / min(len(query), len(target)) == expected


def test_more_than_95_of_100_must_be_identical():
    """With 200 letters: 190 are too few, 191 are enough."""
    query = draw(np.random.default_rng(1), 200)
    places = [5 + 20 * k for k in range(10)]
    assert identities(query, changed(query, places)) == 190
    assert not judge(query, changed(query, places))
    assert judge(query, changed(query, places[1:]))


def test_an_alignment_must_be_long_and_score_high():
    """At least 49 letters of a longer query, and 1.74 bits a letter."""
    query = draw(np.random.default_rng(2), 100)
    assert judge(query, query, 452)
    assert not judge(query, query, 451)
    assert judge(query, query, start=51)
    assert not judge(query, query, start=52)
    short = query[:10]
    assert judge(short, short)
    assert judge(short, short, start=1)
    assert not judge(short, short, start=2)


def test_u_of_the_query_is_c():
    """The target's is not."""
    query = draw(np.random.default_rng(3), 20) * 3
    c, u = PROTEIN.encode("CU")
    other = query.replace(bytes([query[0]]), bytes([c]))
    with_u = other.replace(bytes([c]), bytes([u]))
    assert other.count(c) > 2
    assert judge(with_u, other)
    assert not judge(other, with_u)
    assert not judge(with_u, with_u)


def test_an_empty_alignment_is_not_near():
    """Nor a division by zero."""
    assert not is_near_identical(b"\1", b"\2", Extension(0, 0, 0, 0, 0), LAMBDA)


def extended(query, target, table, gap, max_drop, row=0, column=0, step=1):
    """Return what the kernel finds from a corner, as the oracle tells it."""
    rows, columns = (len(query) - row, len(target) - column) if step == 1 else (row + 1, column + 1)
    work = np.full((2, columns + 1), 77, np.int64)
    return extend_gapped(
        query, row, rows, target, column, columns, step, table, *gap, max_drop, work
    )


@pytest.mark.parametrize("seed", seeds(100))
def test_extensions_are_the_oracles(seed):
    """In both directions, for small and large drops, relatives and strangers."""
    rng = np.random.default_rng(seed)
    query = rng.integers(0, 6, int(rng.integers(1, 40))).astype(np.uint8)
    target = rng.integers(0, 6, int(rng.integers(1, 40))).astype(np.uint8)
    shared = min(len(query), len(target)) * int(rng.integers(2))
    target[:shared] = query[:shared]
    target = np.delete(target, rng.integers(0, len(target), int(rng.integers(0, 4))))
    table = np.where(np.eye(6, dtype=bool), 6, rng.integers(-4, 3, (6, 6))).astype(np.int64)
    gap, max_drop = (int(rng.integers(0, 6)), int(rng.integers(1, 4))), int(rng.integers(0, 30))
    expected = gapped_extension(query.tolist(), target.tolist(), table.tolist(), gap, max_drop)
    assert extended(query, target, table, gap, max_drop) == expected
    back = query[::-1].copy(), target[::-1].copy()
    ends = len(query) - 1, len(target) - 1
    assert extended(*back, table, gap, max_drop, *ends, step=-1) == expected


def test_the_score_may_fall_by_15_bits():
    """38 points for BLOSUM62 with 11 and 1: an x-drop of blastp."""
    query = np.array([0] * 10 + [22] * 38 + [0] * 11, np.uint8)
    table = np.full((32, 32), -1, np.int64)
    table[0, 0] = 4
    limit = find_max_drop(LAMBDA)
    assert limit == 38
    zeros = np.zeros(len(query), np.uint8)
    assert extended(query, zeros, table, (99, 1), limit) == (46, 59, 59)
    assert extended(query, zeros, table, (99, 1), limit - 1) == (40, 10, 10)


@pytest.mark.parametrize("seed", seeds(60))
def test_segments_are_the_oracles(seed):
    """On each diagonal: score, first and last pair."""
    rng = np.random.default_rng(seed)
    query, target = (rng.integers(0, 4, int(rng.integers(1, 40))).astype(np.uint8) for _ in "qt")
    table = np.where(np.eye(4, dtype=bool), 5, rng.integers(-6, 1, (4, 4))).astype(np.int64)
    diagonals = np.arange(1 - len(query), len(target))
    max_drop, least = int(rng.integers(0, 15)), int(rng.integers(1, 12))
    out = np.zeros((500, 4), np.int64)
    count = find_segments(query, target, diagonals, table, max_drop, least, out)
    expected = []
    for diagonal in diagonals.tolist():
        rows = range(max(0, -diagonal), min(len(query), len(target) - diagonal))
        scores = [int(table[query[row], target[row + diagonal]]) for row in rows]
        for score, first, last in segments(scores, max_drop):
            if score >= least:
                expected.append([score, rows[0] + first, rows[0] + last, diagonal])
    assert out[:count].tolist() == expected


def test_no_more_segments_are_kept_than_there_is_room_for():
    codes, out = np.zeros(9, np.uint8), np.full((3, 4), 77)
    table = np.ones((1, 1), np.int64)
    assert find_segments(codes, codes, np.arange(-3, 4), table, 9, 1, out[:2]) == 2
    assert out.tolist() == [[6, 3, 9, -3], [7, 2, 9, -2], [77] * 4]


@pytest.mark.parametrize("seed", seeds(30))
def test_diagonals_have_a_word_in_common(seed):
    rng = np.random.default_rng(seed)
    query, target = (rng.integers(0, 3, int(rng.integers(0, 30))).astype(np.uint8) for _ in "qt")
    expected = {
        j - i
        for i in range(len(query) - SEGMENT_WORD + 1)
        for j in range(len(target) - SEGMENT_WORD + 1)
        if (query[i : i + SEGMENT_WORD] == target[j : j + SEGMENT_WORD]).all()
    }
    assert find_diagonals(query, target).tolist() == sorted(expected)


def test_the_seed_is_the_middle_of_the_best_window():
    """The first of equal windows; a short segment is its own window."""
    table = np.where(np.eye(32, dtype=bool), 4, -5).astype(np.int64)
    table[1, 1] = 9
    query, target = np.zeros(90, np.uint8), np.zeros(90, np.uint8)
    query[40:44] = target[36:40] = 1
    assert find_seed(query, target, 20, 80, -4, table) == 38  # the window 33 to 43
    assert find_seed(query, target, 42, 80, -4, table) == 47
    assert find_seed(query, target, 20, 29, -4, table) == 24


def gapped_pair(seed, step):
    """Return a query and a target with 38 letters more, the second half of them like the query's.

    Before the gap, at each step a letter differs, behind it none does. The target has a segment of
    low complexity.
    """
    rng = np.random.default_rng(seed)
    first, rest = draw(rng, 171), draw(rng, 330)
    segment = PROTEIN.encode("SSSGSSSSNSSSSSSGSSSSSS")
    query = first + rest[:200] + segment + rest[200:]
    other, bridge = bytearray(first), bytearray(rest[:19])
    for place in range(4, 167, step):
        other[place] = (other[place] + 7) % 20
    for place in range(1, 19, 3):
        bridge[place] = (bridge[place] + 7) % 20
    return query, bytes(other) + draw(rng, 19) + bytes(bridge) + query[171:]


@pytest.mark.parametrize(
    ("seed", "step", "score"),
    [(0, 8, 2496), (1, 8, 2564), (2, 8, 2571), (0, 6, 2337), (1, 6, 2320), (2, 6, 2411)],
)
def test_a_target_with_a_long_gap_is_masked_as_blastp_masks_it(seed, step, score):
    """The optimal alignment has one gap, behind which all letters are equal. What blastp computes
    first has two short gaps there. In both, more than 95 % of the letters are equal where every
    eighth one differs before the gap, and fewer where every sixth one does.

    The scores are those of `blastp -query q.fa -subject t.fa -use_sw_tback -max_hsps 1 -outfmt "6
    score"`, version 2.17.0.
    """
    query, target = (PROTEIN.decode(codes) for codes in gapped_pair(seed, step))
    results = search({"q": query}, {"t": target}, dbtype="prot", progress=False)
    assert results[0][0].score == score


@pytest.mark.parametrize("name", ["BLOSUM45", "BLOSUM62", "BLOSUM80", "PAM30"])
@pytest.mark.parametrize("seed", seeds(4))
def test_targets_that_are_not_dense_are_not_nearly_identical(seed, name, monkeypatch):
    """Also in sequences of few letters, and with gaps; the alignments of all targets tell."""
    rng = np.random.default_rng(seed)
    adjuster = Adjuster(ScoringScheme(load(name), *PREFERRED_GAPS[name]), 2)
    near = sparse = 0
    for concentration in (60.0, 1.0, 0.1):
        query = draw(rng, int(rng.integers(60, 300)), concentration)
        targets = [relative(rng, query, n) for n in (0, 2, 5, 5, 5, 10, 20, 60, 90)]
        targets += [query[n:] + query[:n] for n in (1, 10, 40)]
        targets += [draw(rng, 200, concentration) for _ in range(4)] + [query[20:25]]
        found = find_near(adjuster, query, targets)
        with monkeypatch.context() as patch:
            patch.setattr(
                module, "find_dense", lambda query, targets, *_: np.ones(len(targets), bool)
            )
            assert find_near(adjuster, query, targets) == found
        near += len(found)
        sparse += not find_dense(query, targets[-2:-1], 200, USUAL, LAMBDA)[0]
    assert near >= 3 or name == "BLOSUM45"
    assert sparse >= 1


def find_near(adjuster, query, targets):
    """Return indices of the targets that are nearly identical, as if all had masked letters."""
    letters = np.frombuffer(query, np.uint8)
    scheme = adjuster._scheme
    matrices = np.stack([scheme.matrix.scores.astype(np.int32)] * len(targets))
    gap_penalties = scheme.gap_open, scheme.gap_extend
    scores = rescore(letters, targets, TargetMatrices(matrices, gap_penalties))
    changed = np.ones(len(targets), bool)
    return adjuster._find_near_identical(query, targets, scores, changed, abs).tolist()
