"""Purge, blocks and weights of random alignments are those of their definitions."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from swdual.profiles.letters import NCBI_EMPTY, NCBI_GAP, NCBI_X
from swdual.profiles.weights import weigh


def similar_stretches(first, second, is_query, limit):
    """Yield the columns of the second row that are too similar to the first one."""
    inside = [
        b != NCBI_EMPTY or (not is_query and a != NCBI_EMPTY)
        for a, b in zip(first, second, strict=True)
    ]
    edges = [
        k for k in range(len(inside) + 1) if k in (0, len(inside)) or inside[k] != inside[k - 1]
    ]
    for start, end in itertools.pairwise(edges):
        if not inside[start]:
            continue
        pairs = [(a, b) for a, b in zip(first[start:end], second[start:end], strict=True)]
        known = [NCBI_X not in (a, b) for a, b in pairs]
        equal = sum(ok and a == b for ok, (a, b) in zip(known, pairs, strict=True))
        if any(known) and equal / sum(known) >= limit:
            yield range(start + (known.index(True) if start else 0), end)


def purge(query, rows):
    """Return the rows without copies."""
    rows = [row.copy() for row in rows]
    pairs = [(-1, k) for k in range(len(rows))]
    pairs += [(k, k + d) for d in range(1, len(rows)) for k in range(len(rows) - d)]
    for one, other in pairs:
        first = query if one < 0 else rows[one]
        if (first == NCBI_EMPTY).all() or (rows[other] == NCBI_EMPTY).all():
            continue
        limit = 1.0 if one < 0 else 0.94
        for columns in [*similar_stretches(first, rows[other], one < 0, limit)]:
            rows[other][columns.start : columns.stop] = NCBI_EMPTY
    return [row for row in rows if (row != NCBI_EMPTY).any()]


def expected_column(rows, column):
    """Return the weight of each letter of a column, and the block."""
    members = [row for row in rows if row[column] != NCBI_EMPTY]
    left = right = column
    for step in (-1, 1):
        at = column
        while 0 <= at + step < len(rows[0]) and all(
            row[at + step] != NCBI_EMPTY for row in members
        ):
            at += step
        left, right = (at, right) if step < 0 else (left, at)
    weights = [0.0] * len(members)
    varies = False
    for k in range(left, right + 1):
        counts = Counter(row[k] for row in members)
        varies |= len(counts) > 1
        for m, row in enumerate(members):
            weights[m] += 1 / (counts[row[k]] * len(counts))
    weights = weights if varies else [1.0] * len(members)
    letters = Counter()
    for row, weight in zip(members, weights, strict=True):
        letters[int(row[column])] += weight / sum(weights)
    return letters, left, right


def random_rows(seed):
    """Return a query and rows that are similar in places."""
    random = np.random.default_rng(seed)
    length, count = int(random.integers(1, 40)), int(random.integers(0, 12))
    query = random.integers(1, 23, length).astype(np.uint8)
    rows = []
    for _ in range(count):
        row = (rows[-1] if rows and random.random() < 0.5 else query).copy()
        changed = random.random(length) < random.choice([0.0, 0.03, 0.1, 0.6])
        row[changed] = random.integers(1, 23, changed.sum())
        row[random.random(length) < 0.03] = NCBI_GAP
        row[random.random(length) < random.choice([0.0, 0.05])] = NCBI_X
        for _ in range(int(random.integers(0, 3))):
            start = int(random.integers(0, length))
            row[start : start + int(random.integers(1, 10))] = NCBI_EMPTY
        rows.append(row)
    return query, np.array(rows, np.uint8).reshape(count, length)


@pytest.mark.parametrize("seed", range(150))
def test_columns_are_weighted_by_definition(seed):
    """Frequencies, rows and blocks of every column."""
    query, rows = random_rows(seed)
    found = weigh(query, rows)
    kept = [query, *purge(query, rows)]
    for column in range(len(query)):
        members = sum(int(row[column] != NCBI_EMPTY) for row in kept)
        assert found.rows[column] == members
        if members < 2:
            assert not found.frequencies[column].any()
            continue
        letters, left, right = expected_column(kept, column)
        assert (found.left[column], found.right[column]) == (left, right)
        assert found.distinct[column].sum() == right - left + 1
        weights = [letters[k] for k in range(28)]
        np.testing.assert_allclose(found.frequencies[column], weights, 0, 1e-12)
        gapless = sum(weights) - weights[NCBI_GAP]
        assert found.gapless[column] == pytest.approx(gapless, abs=1e-12)


def test_rows_are_not_changed():
    """The caller's array stays as it is."""
    query, rows = random_rows(7)
    before = rows.copy()
    weigh(query, rows)
    assert np.array_equal(rows, before)
