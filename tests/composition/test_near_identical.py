"""Nearly identical targets are those of the oracle, and BLAST's thresholds are met exactly."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.composition import identity_share
from support.compositions import draw, relative
from support.properties import seeds

from swdual.alignment.tracer import Tracer
from swdual.composition.near_identical import (
    count_identities,
    find_dense,
    find_min_score,
    is_near_identical,
)
from swdual.composition.rescore import rescore
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import load
from swdual.sequences.scoring import PREFERRED_GAPS, ScoringScheme
from swdual.statistics.parameters import gapped

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


@pytest.mark.parametrize("name", ["BLOSUM62", "BLOSUM80", "PAM30", "PAM250"])
@pytest.mark.parametrize("seed", seeds(4))
def test_every_nearly_identical_target_is_dense(seed, name):
    """Also in sequences of few letters, and with gaps; most other targets are not dense."""
    rng = np.random.default_rng(seed)
    scheme = ScoringScheme(load(name), *PREFERRED_GAPS.get(name, (11, 1)))
    lambda_ = gapped(scheme).lambda_
    counts = np.zeros(3, int)
    for concentration in (60.0, 1.0, 0.1):
        query = draw(rng, int(rng.integers(60, 300)), concentration)
        targets = [relative(rng, query, n) for n in (0, 2, 5, 5, 5, 10, 20, 60, 90)]
        targets += [query[n:] + query[:n] for n in (1, 10, 40)]
        targets += [draw(rng, 200, concentration) for _ in range(4)] + [query[20:25]]
        letters = np.frombuffer(query, np.uint8).astype(np.int64)
        scores = rescore_plain(letters, targets, scheme)
        dense = find_dense(query, targets, scores, scheme, lambda_)
        strands = np.ones(len(targets), np.int8)
        numbers = Tracer(scheme)(query, targets, scores, strands).numbers
        floor = find_min_score(query, scheme, lambda_)
        for k, target in enumerate(targets):
            near = is_near_identical(query, target, numbers[:, k], int(scores[k]), lambda_)
            if near and scores[k] >= floor:
                assert dense[k]
            counts += [near, not near and not dense[k], 1]
    assert counts[0] >= 5
    assert counts[1] >= 5


def rescore_plain(letters, targets, scheme):
    """Return the scores of targets under the plain matrix."""
    matrices = np.stack([scheme.matrix.scores.astype(np.int32)] * len(targets))
    return rescore(letters.astype(np.uint8), targets, matrices, scheme.gap_open, scheme.gap_extend)
