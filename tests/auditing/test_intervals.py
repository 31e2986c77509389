"""Confidence intervals cover what the whole population has."""

from __future__ import annotations

import numpy as np
import pytest

import swdual
from swdual.auditing.intervals import cluster_interval, exact_interval

SEEDS = 100


def population(seed, size, spread, share, alike):
    """Return hits found and all hits of some queries.

    Sizes are log-normal; the share of each query is drawn from a beta distribution, and the smaller
    `alike` is, the more the queries differ.
    """
    random = np.random.default_rng(seed)
    hits = np.round(random.lognormal(2, spread, size)).astype(np.int64)
    shares = random.beta(share * alike, (1 - share) * alike, size)
    return random.binomial(hits, shares), hits


@pytest.mark.parametrize("alike", [1, 10])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("spread", [0.5, 1.5])
@pytest.mark.parametrize(("size", "drawn"), [(20, 10), (100, 20), (100, 50), (1000, 100)])
def test_intervals_of_samples_of_queries_cover_the_full_count(size, drawn, spread, share, alike):
    covered = 0
    for seed in range(SEEDS):
        found, hits = population(seed, size, spread, share, alike)
        whole = found.sum() / hits.sum()
        chosen = np.random.default_rng(seed).choice(size, drawn, replace=False)
        low, high = cluster_interval(found[chosen], hits[chosen], size)
        assert 0 <= low <= high <= 1
        covered += low <= whole <= high
    assert covered >= 95


@pytest.mark.parametrize("share", [0.1, 0.5, 0.98])
@pytest.mark.parametrize("drawn", [5, 50, 500])
def test_intervals_of_samples_of_pairs_cover_the_full_count(drawn, share):
    """What is found among the hits drawn is hypergeometric."""
    hits = 1000
    found = int(share * hits)
    draws = np.random.default_rng(4).hypergeometric(found, hits - found, drawn, SEEDS)
    intervals = [exact_interval(draw, drawn) for draw in draws.tolist()]
    assert sum(low <= share <= high for low, high in intervals) >= 95


def test_intervals_become_narrow_with_the_sample():
    found, hits = population(5, 400, 1, 0.8, 5)
    widths = []
    for drawn in (10, 40, 160, 360, 400):
        draws = [np.random.default_rng(k).choice(400, drawn, replace=False) for k in range(20)]
        limits = np.array([cluster_interval(found[draw], hits[draw], 400) for draw in draws])
        widths.append(float((limits[:, 1] - limits[:, 0]).mean()))
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 0
    assert widths[-2] < 0.04


def test_nothing_is_known_from_one_query():
    assert cluster_interval(np.array([3]), np.array([4]), 20) == (0, 1)
    assert cluster_interval(np.array([3, 0]), np.array([4, 0]), 20) == (0, 1)


@pytest.mark.exhaustive
@pytest.mark.nightly("swdual")
@pytest.mark.parametrize("size", [{"sample": 4}, {"sample_pairs": 1_000}], ids=str)
def test_intervals_of_a_sampled_audit_cover_the_full_count(adjusted, size):
    """A real table: all bins together, and each of them."""
    inputs = (adjusted.table, adjusted.queries, adjusted.database)
    adjust = "all" if "sample_pairs" in size else "candidates"  # pairs that are drawn are adjusted
    rows = swdual.audit(*inputs, evalue=10, adjust=adjust).summary()
    full = {row["evalues"]: row["share"] for row in rows}
    assert 0.7 < full["all"] < 0.95
    covered = dict.fromkeys(full, 0)
    for seed in range(SEEDS):
        rows = swdual.audit(*inputs, evalue=10, seed=seed, **size).summary()
        for row in rows:
            known = row["share"] is not None
            whole = full[row["evalues"]]
            covered[row["evalues"]] += not known or row["low"] <= whole <= row["high"]
    assert min(covered.values()) >= 95, covered
