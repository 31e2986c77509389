"""Databases of lengths only, for what plans a search."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np


class TargetLengths:
    """What the planning of a search asks of a database, without residues."""

    def __init__(self, *blocks):
        self._lengths = [np.sort(np.array(block, np.int64))[::-1] for block in blocks]
        infos = [SimpleNamespace(sequences=len(x), residues=int(x.sum())) for x in self._lengths]
        self.manifest = SimpleNamespace(blocks=infos)
        self.residues = sum(info.residues for info in infos)

    def lengths(self, number):
        return self._lengths[number]

    def release(self):
        """Nothing is held."""


def draw_lengths(count, seed=3):
    """Return lengths like Swiss-Prot's."""
    rng = np.random.default_rng(seed)
    return np.clip(rng.lognormal(np.log(295), 0.63, count), 30, 5000).astype(np.int64)
