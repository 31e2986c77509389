"""Proteins of odd compositions, and the oracle's tables of NCBI's matrices."""

from __future__ import annotations

from functools import cache

import numpy as np
from oracles.composition import LETTERS, RESIDUES, Tables, adjusted_matrix, read_tables

from swdual.composition.tables import find_tables
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import load
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.karlin_altschul import ROBINSON

NCBI_NAMES = (
    *("BLOSUM45", "BLOSUM50", "BLOSUM62", "BLOSUM80", "BLOSUM90"),
    *("PAM30", "PAM70", "PAM250"),
)
"""The matrices that can be adjusted."""

USUAL = ScoringScheme(load("BLOSUM62"), 11, 1)


def draw(rng, length, concentration=60.0, letters=20):
    """Return residues of a random composition near BLOSUM62's; the smaller the odder."""
    frequencies = rng.dirichlet(concentration * find_tables(USUAL).background)
    codes = rng.choice(20, length, p=frequencies).astype(np.uint8)
    if letters > 20:
        rare = rng.random(length) < 0.1
        codes[rare] = rng.integers(0, letters, int(rare.sum()))
    return bytes(codes)


def relative(rng, query, changes, flank=30):
    """Return the query with some letters replaced and a few gaps, between random flanks."""
    codes = bytearray(query)
    for _ in range(changes):
        codes[int(rng.integers(len(codes)))] = int(rng.integers(20))
    for _ in range(changes // 20):
        at = int(rng.integers(len(codes)))
        codes[at : at + int(rng.integers(8))] = draw(rng, int(rng.integers(8)))
    return draw(rng, flank) + bytes(codes) + draw(rng, flank)


@cache
def oracle_tables(name) -> Tables:
    """Return what the oracle needs to know of a matrix, by NCBI's name."""
    matrix, ours = load(name), find_tables(ScoringScheme(load(name)))
    scores = {
        a: {b: int(matrix.scores[i, j]) for j, b in enumerate(PROTEIN.letters)}
        for i, a in enumerate(PROTEIN.letters)
    }
    ratios = np.zeros((len(LETTERS), len(LETTERS)))
    places = [LETTERS.index(letter) for letter in PROTEIN.letters]
    ratios[np.ix_(places, places)] = np.exp(ours.scores * ours.lambda_ / 32)
    entry = {"joint": ours.joint, "background": ours.background, "ratios": ratios}
    return read_tables(entry, scores, np.array([ROBINSON[letter] for letter in RESIDUES]))


def oracle_matrix(name, query, target, mode, parts=None):
    """Return the oracle's matrix of two sequences of codes, in the order of our codes."""
    rows = PROTEIN.decode(query).replace("U", "C"), PROTEIN.decode(target)
    places = [LETTERS.index(letter) for letter in PROTEIN.letters]
    return adjusted_matrix(oracle_tables(name), *rows, mode, parts)[np.ix_(places, places)]
