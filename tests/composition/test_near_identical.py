"""Nearly identical targets are those of the oracle, and BLAST's thresholds are met exactly."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.composition import identity_share
from support.compositions import draw, relative
from support.properties import seeds

from swdual.composition.near_identical import count_identities, is_near_identical
from swdual.sequences.alphabet import PROTEIN

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
