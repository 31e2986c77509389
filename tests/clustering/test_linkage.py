"""Linkages against definitions by brute force, on random graphs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from swdual.clustering.linkage import link
from swdual.clustering.rules import LINKAGES

SEEDS = range(40)


def random_graph(seed):
    """Return the number of nodes, and the identity of each pair that passes; many are equal."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 14))
    density = rng.random()
    edges = {
        pair: float(rng.choice([50, 60, 100 / 3, 70]))
        for pair in combinations(range(count), 2)
        if rng.random() < density
    }
    return count, edges


def linked(count, edges, linkage, turned=False):
    pairs = np.array(list(edges), np.int64).reshape(-1, 2)
    identities = np.array(list(edges.values()))
    if turned:
        pairs, identities = pairs[::-1, ::-1], identities[::-1]
    return link(count, pairs, identities, linkage).tolist()


def clusters_of(representatives):
    found = {}
    for number, representative in enumerate(representatives):
        found.setdefault(representative, set()).add(number)
    return found


def passes(edges, a, b):
    return (min(a, b), max(a, b)) in edges


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_the_pairs_does_not_matter(seed, linkage):
    """Nor which of a pair is named first."""
    count, edges = random_graph(seed)
    found = linked(count, edges, linkage)
    assert found == linked(count, edges, linkage, turned=True)
    for representative, members in clusters_of(found).items():
        assert representative in members
        if linkage != "set-cover":
            assert representative == min(members)


@pytest.mark.parametrize("seed", SEEDS)
def test_single_linkage_is_union_find(seed):
    count, edges = random_graph(seed)
    parents = list(range(count))

    def root(node):
        while parents[node] != node:
            node = parents[node]
        return node

    for a, b in edges:
        parents[max(root(a), root(b))] = min(root(a), root(b))
    assert linked(count, edges, "single") == [root(node) for node in range(count)]


@pytest.mark.parametrize("seed", SEEDS)
def test_greedy_takes_the_first_representative_that_passes(seed):
    """Sequence by sequence, as CD-HIT tells it."""
    count, edges = random_graph(seed)
    representatives, expected = [], []
    for node in range(count):
        near = [each for each in representatives if passes(edges, each, node)]
        if not near:
            representatives.append(node)
        expected.append(near[0] if near else node)
    assert linked(count, edges, "greedy") == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_set_cover_takes_the_largest_set_first(seed):
    """All sets are formed again for each cluster."""
    count, edges = random_graph(seed)
    left, expected = set(range(count)), [-1] * count
    while left:
        sets = {node: {x for x in left if x == node or passes(edges, x, node)} for node in left}
        best = min(left, key=lambda node: (-len(sets[node]), node))
        for member in sets[best]:
            expected[member] = best
        left -= sets[best]
    assert linked(count, edges, "set-cover") == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_complete_linkage_joins_the_most_similar_clusters(seed):
    """By all pairs of all clusters, until none can be joined."""
    count, edges = random_graph(seed)
    clusters = [{node} for node in range(count)]
    while True:
        possible = []
        for one, other in combinations(sorted(clusters, key=min), 2):
            pairs = [(min(a, b), max(a, b)) for a in one for b in other]
            if all(pair in edges for pair in pairs):
                possible.append((-min(edges[pair] for pair in pairs), min(one), min(other)))
        if not possible:
            break
        _, first, second = min(possible)
        one, other = (next(c for c in clusters if min(c) == x) for x in (first, second))
        clusters = [c for c in clusters if c not in (one, other)] + [one | other]
    expected = {min(cluster): cluster for cluster in clusters}
    assert clusters_of(linked(count, edges, "complete")) == expected
    for cluster in clusters:
        assert all(passes(edges, a, b) for a, b in combinations(cluster, 2))


@pytest.mark.parametrize("linkage", LINKAGES)
def test_no_pairs(linkage):
    assert linked(3, {}, linkage) == [0, 1, 2]
