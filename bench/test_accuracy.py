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


def test_members_are_counted_among_the_targets() -> None:
    """A query that is no target is not counted, nor left out; other queries are no members."""
    truth = accuracy.read_truth(["a.1.1.1", "a.1.1.1", "a.1.1.2", "a.1.2.1", "b.1.1.1", None])
    queries = np.array([0, 1])
    everything = truth.members(queries, np.arange(6))
    np.testing.assert_array_equal(everything, [[1, 1, 1], [1, 1, 1]])
    apart = truth.members(queries, np.array([2, 3, 4, 5]))
    np.testing.assert_array_equal(apart, [[0, 1, 1], [0, 1, 1]])
    one_of_them = truth.members(queries, np.array([1, 2, 3]))
    np.testing.assert_array_equal(one_of_them, [[1, 1, 1], [0, 1, 1]])


def test_a_query_that_is_drawn_often_needs_more_pairs() -> None:
    """The first query's pairs come after those of the others, and are needed where it is alone."""
    random = np.random.default_rng(3)
    domains = [f"d{k}" for k in range(800)]
    classes = {name: f"a.{random.integers(8)}.1.{random.integers(3)}" for name in domains}
    queries = domains[:4]
    evalues = random.permutation(4 * len(domains)).reshape(4, -1) / 1000
    evalues[0] += 10
    pairs = [
        oracle.Pair(q, t, float(e))
        for q, row in zip(queries, evalues, strict=True)
        for t, e in zip(domains, row, strict=True)
    ]
    found = judged(pairs, classes, domains, queries)
    weights = np.array([[1, 1, 1, 1], [4, 0, 0, 0], [0, 1, 1, 1]])
    errors = [0, 30, 60, 690, 10_000]
    mine = judged([p for p in pairs if p.query == "d0"], classes, domains, ["d0"])
    alone = accuracy.sensitivities(mine, once(1), SUPERFAMILY, np.array(errors))[0]
    expected = [
        [oracle.share_at(pairs, classes, queries, "superfamily", x) for x in errors],
        alone,
        [oracle.share_at(pairs, classes, queries[1:], "superfamily", x) for x in errors],
    ]
    for size in (2, len(errors)):  # the more errors, the more pairs are looked at from the start
        shares = accuracy.sensitivities(found, weights, SUPERFAMILY, np.array(errors[:size]))
        np.testing.assert_allclose(shares, [row[:size] for row in expected])


def test_29_errors_of_100_queries_are_no_fraction_less() -> None:
    """0.29 times 100 is 28.999999999999996 in floating point."""
    domains = [f"d{k}" for k in range(101)]
    classes = {name: f"a.{max(k, 1)}.1.1" for k, name in enumerate(domains)}
    pairs = [oracle.Pair(f"d{k}", f"d{k + 1}", k) for k in range(1, 100)]
    pairs.append(oracle.Pair("d0", "d1", 29.5))
    found = judged(pairs, classes, domains, domains[:100])
    shares = accuracy.sensitivities(found, once(100), FAMILY, np.array([0.28, 0.29]))
    np.testing.assert_allclose(shares, [[0, 0.5]])


def test_means_of_samples_count_queries_as_often_as_drawn() -> None:
    """A query without a share is not in the mean."""
    shares = np.array([[0.5, 0, 1], [np.nan] * 3, [0.2, 0.6, 0]])
    weights = np.array([[1, 1, 1], [3, 2, 1]])
    np.testing.assert_allclose(
        accuracy.mean_areas(shares, weights), [[0.35, 0.3, 0.5], [0.425, 0.15, 0.75]]
    )


def test_resamples_are_draws_with_replacement() -> None:
    """The first row is the queries themselves; the others have as many draws, evenly spread."""
    weights = accuracy.resamples(50, 2000, seed=1)
    assert weights.shape == (2001, 50)
    assert (weights[0] == 1).all()
    assert (weights.sum(axis=1) == 50).all()
    assert weights[1:].mean(axis=0) == pytest.approx(np.ones(50), abs=0.12)
    assert weights[1:].var() == pytest.approx(1 - 1 / 50, abs=0.02)
    np.testing.assert_array_equal(weights, accuracy.resamples(50, 2000, seed=1))


def test_an_interval_covers_the_mean_as_often_as_it_says() -> None:
    """The bootstrap of a mean of 100 normal values has about its textbook interval."""
    values = np.random.default_rng(2).normal(size=100)
    weights = accuracy.resamples(100, 4000, seed=2)
    value, least, most = accuracy.interval((weights @ values / 100)[:, None])[0]
    half = 1.96 * values.std() / 10
    assert value == pytest.approx(values.mean())
    assert [least, most] == pytest.approx([value - half, value + half], abs=0.02)
