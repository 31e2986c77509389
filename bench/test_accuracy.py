"""The measures of `bench/sensitivity.py` against their definitions."""

from __future__ import annotations

import itertools
import math
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from oracles import accuracy as oracle

sys.path.append(str(Path(__file__).resolve().parent))
import _accuracy as accuracy
from _accuracy import FAMILY, SUPERFAMILY

MAX_ORDERS = 3000
"""Orders of equal E-values that the oracle tries."""

ERRORS = [0, 0.01, 0.25, 0.4, 0.5, 1, 1.5, 3]

CLASSES = {
    "a": "a.1.1.1",
    "b": "a.1.1.1",
    "c": "a.1.1.2",
    "d": "a.1.2.1",
    "e": "a.2.1.1",
    "f": "b.1.1.1",
    "g": "a.1.1.2",
    "h": "a.2.1.2",
}


def pairs_of(text: str) -> list[oracle.Pair]:
    """Return pairs from words such as ``ab:0.1``."""
    words = [word.split(":") for word in text.split()]
    return [oracle.Pair(pair[0], pair[1], float(evalue)) for pair, evalue in words]


def judged(
    pairs: list[oracle.Pair], classes: dict[str, str], domains: list[str], queries: list[str]
) -> accuracy.Found:
    """Return the pairs as the script judges them."""
    number = {name: k for k, name in enumerate(domains)}
    return accuracy.judge(
        accuracy.read_truth([classes.get(name) for name in domains]),
        np.array(sorted(number[q] for q in queries)),
        (np.array([number[p.query] for p in pairs]), np.array([number[p.target] for p in pairs])),
        np.array([p.evalue for p in pairs]),
    )


def once(queries: int) -> accuracy.Integers:
    """Return the sample that has all queries once."""
    return np.ones((1, queries), np.int64)


def test_shares_before_the_first_error_of_an_example() -> None:
    """a: b before, one of c and g tied with the false e and the other after it, d never."""
    pairs = pairs_of("aa:0 ab:0.1 ac:0.5 ae:0.5 ag:2 af:3")
    found = judged(pairs, CLASSES, list(CLASSES), ["a"])
    np.testing.assert_allclose(accuracy.areas(found), [[1, 0.25, 0]])
    assert oracle.share_before_the_first_error(pairs, CLASSES, "a") == [1, 0.25, 0]


def test_sensitivity_of_an_example() -> None:
    """Of a and e, four pairs of a superfamily; d is in the fold of a only, and does not count."""
    pairs = pairs_of("ab:0.1 ad:0.2 ac:0.5 ae:0.5 eh:0.6 ea:0.6 ag:2")
    found = judged(pairs, CLASSES, list(CLASSES), ["a", "e"])
    shares = accuracy.sensitivities(found, once(2), SUPERFAMILY, np.array([0, 0.5, 1]))
    np.testing.assert_allclose(shares, [[1.5 / 4, 2.5 / 4, 1]])
    shares = accuracy.sensitivities(found, once(2), FAMILY, np.array([0, 0.5, 1]))
    np.testing.assert_allclose(shares, [[1, 1, 1]])


def test_errors_of_an_example() -> None:
    """An E-value that equals the claim counts."""
    pairs = pairs_of("ab:0.1 ae:0.5 ea:0.6 ef:0.6 af:7")
    found = judged(pairs, CLASSES, list(CLASSES), ["a", "e"])
    claims = np.array([0.1, 0.5, 0.6, 10])
    np.testing.assert_allclose(accuracy.observed_errors(found, once(2), claims), [[0, 0.5, 1.5, 2]])


def random_search(
    seed: int,
) -> tuple[list[oracle.Pair], dict[str, str], list[str], list[str]] | None:
    """Return pairs, classes, domains and queries, or None if the oracle would try too long."""
    random = np.random.default_rng(seed)
    domains = [f"d{k}" for k in range(14)]
    classes = {
        name: f"a.{random.integers(2)}.{random.integers(2)}.{random.integers(2)}"
        for name in domains
        if random.random() < 0.9
    }
    queries = sorted(random.choice(domains, 4, replace=False), key=domains.index)
    pairs = [
        oracle.Pair(str(q), str(t), float(random.choice([0, 1e-180, 0.01, *range(1, 25)])))
        for q in queries
        for t in random.choice(domains, 6, replace=False)
    ]
    known = [q for q in queries if q in classes]
    equal = Counter(p.evalue for p in oracle.valid(pairs, classes))
    tries = math.prod(math.factorial(2 * n) if n > 1 else 2 for n in equal.values())
    return (pairs, classes, domains, queries) if known and tries < MAX_ORDERS else None


SEARCHES = list(
    itertools.islice((k for k in itertools.count() if random_search(k) is not None), 40)
)


@pytest.mark.parametrize("seed", SEARCHES)
def test_measures_equal_their_definitions(seed: int) -> None:
    """All measures of random searches, with equal E-values and domains without a class."""
    search = random_search(seed)
    assert search is not None
    pairs, classes, domains, queries = search
    found = judged(pairs, classes, domains, queries)
    known = [q for q in queries if q in classes]
    expected = [
        oracle.share_before_the_first_error(pairs, classes, q) or [math.nan] * 3 for q in known
    ]
    np.testing.assert_allclose(accuracy.areas(found), expected)
    # The sample draws one query twice, and another not at all.
    drawn = np.ones(len(known), np.int64)
    drawn[0] += len(known) > 1
    drawn[1:2] -= 1
    weights = np.stack([np.ones(len(known), np.int64), drawn])
    for row, weight in enumerate(weights):
        sample = [q for q, count in zip(known, weight, strict=True) for _ in range(count)]
        for level, name in (FAMILY, "family"), (SUPERFAMILY, "superfamily"):
            if found.members[:, : level + 1].sum(axis=1) @ weight:
                np.testing.assert_allclose(
                    accuracy.sensitivities(found, weights, level, np.array(ERRORS))[row],
                    [oracle.share_at(pairs, classes, sample, name, x) for x in ERRORS],
                )
        claims = [0.001, 0.01, 5, 24, 100]
        np.testing.assert_allclose(
            accuracy.observed_errors(found, weights, np.array(claims))[row],
            [oracle.errors_per_query(pairs, classes, sample, x) for x in claims],
        )
