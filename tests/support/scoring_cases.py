"""Gap costs, vector widths and related sequences, with which all backends are tried."""

from __future__ import annotations

import numpy as np

from swdual.backends import simd
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.scoring import MAX_GAP_COST

LETTERS = len(PROTEIN.letters)

LANES = (16, 32, 64, 128)


class Together(simd.SimdScorer):
    """Scores all targets side by side, however many lanes idle."""

    def _choose_layout(self, lengths, rows, width):
        return simd.LaneLayout(width.lanes, 0)

    def _sparse(self, packed, bits, rows):
        return np.zeros(len(packed.batch_residues), bool)


class Alone(simd.SimdScorer):
    """Scores all targets one by one."""

    def _sparse(self, packed, bits, rows):
        return np.ones(len(packed.batch_residues), bool)


GAP_PENALTIES = [
    (11, 1),
    (0, 0),
    (0, 1),
    (3, 0),
    (1, 9),
    (126, 1),
    (127, 127),
    (255, 1),
    (32767, 1),
    (65535, 65535),
    (0, MAX_GAP_COST),
    (MAX_GAP_COST, 0),
    (MAX_GAP_COST, MAX_GAP_COST),
]
"""Usual, free, linear, flat, extension dearer than opening, at the widths of numbers, forbidden."""


def random_residues(rng, length, letters=LETTERS):
    return rng.integers(0, letters, length, np.uint8).tobytes()


def relative(rng, sequence):
    """Return a mutated copy: some residues drawn anew, one stretch left out, one put in."""
    codes = np.frombuffer(sequence, np.uint8).copy()
    drawn = rng.random(len(codes)) < 0.2
    codes[drawn] = rng.integers(0, LETTERS, drawn.sum())
    cut, size = rng.integers(0, len(codes)), rng.integers(0, 5)
    place = rng.integers(0, len(codes))
    kept = np.delete(codes, slice(cut, cut + size)).tobytes()
    return kept[:place] + random_residues(rng, rng.integers(0, 6)) + kept[place:] or b"\0"
