"""Multiple alignments of random families."""

from __future__ import annotations

import numpy as np

LETTERS = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)


def family(seed, rows, length):
    """Return a query and relatives of all degrees; no two of these have as many residues."""
    rng = np.random.default_rng(seed)
    query = rng.choice(LETTERS, length)
    found = [query]
    sizes = rng.permutation(np.arange(length // 4, length))[: rows - 1]
    for size in sizes.tolist():
        parent = found[rng.integers(len(found))].copy()
        parent[parent == ord("-")] = query[parent == ord("-")]
        changed = rng.random(length) < rng.choice([0.02, 0.1, 0.3, 0.6])
        parent[changed] = rng.choice(LETTERS, changed.sum())
        start = rng.integers(length - size + 1)
        row = np.full(length, ord("-"), np.uint8)
        row[start : start + size] = parent[start : start + size]
        found.append(row)
    return np.stack(found)


def texts_of(columns):
    """Return rows as text."""
    return [row.tobytes().decode() for row in columns]
