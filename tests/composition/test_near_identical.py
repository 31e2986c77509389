"""Nearly identical targets are those of the oracle, and BLAST's thresholds are met exactly."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.composition import best_part_score, identity_share
from support.compositions import USUAL, draw, relative
from support.properties import seeds

from swdual.alignment.tracebacks import PAIR, QUERY_ONLY, TARGET_ONLY
from swdual.composition import adjuster as module
from swdual.composition.adjuster import Adjuster
from swdual.composition.near_identical import (
    count_identities,
    find_best_part,
    find_dense,
    find_max_drop,
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
    numbers = np.array([start, len(query), start, len(target)])
    return is_near_identical(query, target, numbers, score, LAMBDA)


@pytest.mark.parametrize("seed", seeds(200))
def test_identities_are_the_oracles(seed):
    """For relatives with changes and gaps in clusters, repeats, and strangers."""
    rng = np.random.default_rng(seed)
    query = draw(rng, int(rng.integers(1, 150)), float(rng.choice([1.0, 60.0])))
    target = relative(rng, query, int(rng.integers(0, 60)), flank=int(rng.integers(0, 2)) * 5)
    expected = identity_share(PROTEIN.decode(query), PROTEIN.decode(target))
    assert identities(query, target) / min(len(query), len(target)) == expected


def test_more_than_96_of_100_must_be_identical():
    """With 200 letters: 192 are too few, 193 are enough."""
    query = draw(np.random.default_rng(1), 200)
    places = [5 + 20 * k for k in range(8)]
    assert identities(query, changed(query, places)) == 192
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
    assert not is_near_identical(b"\1", b"\2", np.zeros(9, np.int64), 0, LAMBDA)


def random_operations(rng, rows, columns):
    """Return operations that use up some letters of both sequences, and where they end."""
    runs, row, column = [], 0, 0
    while row < rows and column < columns:
        kind = (PAIR, QUERY_ONLY, TARGET_ONLY)[int(rng.choice(3, p=(0.6, 0.2, 0.2)))]
        count = int(rng.integers(1, 6))
        row += count * (kind != TARGET_ONLY)
        column += count * (kind != QUERY_ONLY)
        if row <= rows and column <= columns:
            runs.append(count << 4 | kind)
    return np.array(runs, np.uint32)


def column_scores(query, target, operations, table, row, column):
    """Return the score of each pair and of each gap, and where each begins and ends."""
    scores, places = [], [(row, column)]
    for run in operations.tolist():
        kind, count = run & 15, run >> 4
        for _ in range(count if kind == PAIR else 1):
            if kind == PAIR:
                scores.append(int(table[query[row], target[column]]))
                row, column = row + 1, column + 1
            else:
                scores.append(-3 - count)
                row += count * (kind == QUERY_ONLY)
                column += count * (kind == TARGET_ONLY)
            places.append((row, column))
    return scores, places


@pytest.mark.parametrize("seed", seeds(60))
def test_the_best_part_is_the_oracles(seed):
    """Its score, and that its bounds have this score without a fall."""
    rng = np.random.default_rng(seed)
    query, target = (rng.integers(0, 6, 45).astype(np.uint8) for _ in range(2))
    table = np.where(np.eye(32, dtype=bool), 6, rng.integers(-4, 3, (32, 32))).astype(np.int64)
    row, column = rng.integers(0, 5, 2).tolist()
    operations = random_operations(rng, 45 - row, 45 - column)
    max_drop = int(rng.integers(0, 15))
    numbers, out = np.array([row, 0, column, 0]), np.zeros(4, np.int64)
    found = find_best_part(query, target, numbers, operations, table, 3, 1, max_drop, out)
    scores, places = column_scores(query, target, operations, table, row, column)
    assert found == best_part_score(scores, max_drop)
    first, last = places.index((out[0], out[2])), places.index((out[1], out[3]))
    assert sum(scores[first:last]) == found == best_part_score(scores[first:last], max_drop)


def test_the_score_may_fall_by_15_bits():
    """38 points for BLOSUM62 with 11 and 1: an x-drop of blastp."""
    query = np.array([0] * 10 + [22] * 39 + [0] * 11, np.uint8)
    table = np.full((32, 32), -1, np.int64)
    table[0, 0] = 4
    out, zeros = np.zeros(4, np.int64), np.zeros(len(query), np.uint8)
    whole = np.array([len(query) << 4 | PAIR], np.uint32)
    limit = find_max_drop(LAMBDA)
    assert limit == 38
    args = (query, zeros, np.zeros(4, np.int64), whole, table, 11, 1)
    assert find_best_part(*args, limit, out) == 44
    assert out.tolist() == [49, 60, 49, 60]
    assert find_best_part(*args, limit + 1, out) == 45
    assert out.tolist() == [0, 60, 0, 60]


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
    scores = rescore(letters, targets, matrices, scheme.gap_open, scheme.gap_extend)
    changed = np.ones(len(targets), bool)
    return adjuster._find_near_identical(query, targets, scores, changed, abs).tolist()
