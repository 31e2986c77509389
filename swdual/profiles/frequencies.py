"""Frequencies of amino acids at each position: observations and pseudocounts.

Sums are accumulated letter by letter, not pairwise as `numpy.sum` does.

Pseudocounts depend on the column (Altschul, Gertz, Agarwala, Schaffer and Yu 2009, Nucleic Acids
Research 37, 815-824). Letters have NCBI's codes, and sums run in their order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from swdual.composition.tables import CompositionTables
from swdual.profiles.letters import (
    NCBI_GAP,
    NCBI_LETTERS,
    NCBI_X,
    PLACES,
    order_as_ncbi,
)
from swdual.profiles.weights import MAX_DISTINCT, ColumnWeights
from swdual.statistics.karlin_altschul import ROBINSON

MAX_OBSERVATIONS = 400

EPSILON = 1e-4
"""Smaller frequencies and relative entropies count as nothing."""

PSEUDOCOUNT_FACTOR = 500.0
PSEUDOCOUNT_NUMERATOR = 0.0457
PSEUDOCOUNT_EXPONENT = 0.8
PRIOR = 5.5
"""Background observations that are added before a column's relative entropy is computed."""

UNOBSERVED_PSEUDOCOUNTS = 30.0
"""Pseudocounts of columns whose relative entropy is too small for the formula."""

AMINO_ACIDS = 20

logarithms = np.vectorize(math.log, otypes=[np.float64])
"""Natural logarithms of an array: those of the C library, which has the same digits on machines
with other vector instructions."""


@dataclass(frozen=True, eq=False)
class ColumnFrequencies:
    """Frequencies of the letters of L columns, and what they come from.

    Parameters
    ----------
    weights
        (L, 28) frequencies of the aligned letters alone; gaps count as background letters.
    observations
        (L,) independent observations.
    pseudocounts
        (L,) pseudocounts.
    frequencies
        (L, 28) frequencies with pseudocounts; 0 in columns without information.
    """

    weights: NDArray[np.float64]
    observations: NDArray[np.float64]
    pseudocounts: NDArray[np.float64]
    frequencies: NDArray[np.float64]


def estimate(
    query: NDArray[np.uint8],
    columns: ColumnWeights,
    tables: CompositionTables,
    pseudocount: int = 0,
) -> ColumnFrequencies:
    """Return the frequencies of the letters of each column.

    Parameters
    ----------
    query
        (L,) letters of the query.
    columns
        The weights of the columns.
    tables
        Frequencies behind the substitution matrix.
    pseudocount
        Pseudocounts of every column; 0 has them depend on the column.
    """
    known = query != NCBI_X
    weights = _spread_gaps(columns.frequencies, known & columns.informative)
    observations = np.where(known, count_observations(columns, tables), 0.0)
    if pseudocount:
        pseudocounts = np.where(known, float(pseudocount), 0.0)
        counted = observations
    else:
        pseudocounts, counted = _pseudocounts(weights, observations, tables)
        pseudocounts = np.where(known, pseudocounts, 0.0)
    background = standard_background()
    used = background > EPSILON
    ratios = order_as_ncbi(order_as_ncbi(tables.ratios, 0.0).T, 0.0)
    expected = np.zeros(weights.shape)
    for letter in range(len(NCBI_LETTERS)):
        expected += weights[:, letter, None] * ratios[:, letter]
    expected *= pseudocounts[:, None]
    frequencies = np.zeros(weights.shape)
    rows = np.flatnonzero(known)
    block = np.ix_(rows, np.flatnonzero(used))
    total = (counted + pseudocounts)[rows, None]
    observed = counted[rows, None] * weights[block] / background[used]
    frequencies[block] = (observed + expected[block]) / total * background[used]
    return ColumnFrequencies(weights, observations, pseudocounts, frequencies)


@cache
def standard_background() -> NDArray[np.float64]:
    """Return Robinson's and Robinson's frequencies by NCBI's codes, with sum 1."""
    values = np.array([ROBINSON.get(letter, 0.0) for letter in NCBI_LETTERS])
    background: NDArray[np.float64] = values / np.add.accumulate(values)[-1]
    background.setflags(write=False)
    return background


def _spread_gaps(weights: NDArray[np.float64], where: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return frequencies with the weight of gaps given to the amino acids."""
    spread = weights.copy()
    spread[where] += weights[where, NCBI_GAP, None] * standard_background()
    spread[where, NCBI_GAP] = 0.0
    return spread


def count_observations(columns: ColumnWeights, tables: CompositionTables) -> NDArray[np.float64]:
    """Return the independent observations of each column, the query not included.

    They are as many as random letters would have, on average, as many distinct ones as the half of
    the block's columns that has the most of them.
    """
    half = np.maximum(1, (columns.right - columns.left + 2) // 2)
    counts = np.arange(MAX_DISTINCT, -1, -1)
    reached = np.minimum(np.cumsum(columns.distinct[:, ::-1], axis=1), half[:, None])
    taken = np.diff(reached, axis=1, prepend=0)
    distinct = (taken @ counts) / np.maximum(reached[:, -1], 1)
    expected = _expected_distinct(tuple(tables.background.tolist()))
    above = np.searchsorted(expected[1:MAX_OBSERVATIONS], distinct, side="right") + 1
    below = expected[np.minimum(above, MAX_OBSERVATIONS - 1) - 1]
    at = expected[np.minimum(above, MAX_OBSERVATIONS - 1)]
    found = np.where(above == MAX_OBSERVATIONS, above, above - (at - distinct) / (at - below))
    found = np.maximum(0.0, np.minimum(found, columns.rows) - 1.0)
    observations: NDArray[np.float64] = np.where(columns.informative, found, 0.0)
    return observations


@cache
def _expected_distinct(background: tuple[float, ...]) -> NDArray[np.float64]:
    """Return how many distinct letters 0 to 399 random ones have on average."""
    logs = [math.log(1.0 - share) for share in background]
    absent = [[math.exp(k * log) for log in logs] for k in range(MAX_OBSERVATIONS)]
    expected: NDArray[np.float64] = AMINO_ACIDS - np.add.accumulate(absent, axis=1)[:, -1]
    expected[0] = 0.0
    return expected


def _pseudocounts(
    weights: NDArray[np.float64], observations: NDArray[np.float64], tables: CompositionTables
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return pseudocounts that depend on the column, and the observations that they go with."""
    background = tables.background
    sums = weights[:, PLACES[:AMINO_ACIDS]] * observations[:, None] + background * PRIOR
    adjusted = sums / np.add.accumulate(sums, axis=1)[:, -1:]
    terms = np.where(adjusted > EPSILON, adjusted * logarithms(adjusted / background), 0.0)
    entropy = np.maximum(np.add.accumulate(terms, axis=1)[:, -1], EPSILON)
    powers = np.array([math.pow(value, PSEUDOCOUNT_EXPONENT) for value in entropy.tolist()])
    alpha = PSEUDOCOUNT_NUMERATOR / powers
    informative = alpha < 1.0 - EPSILON
    with np.errstate(divide="ignore"):
        found = PSEUDOCOUNT_FACTOR * alpha / (1.0 - alpha)
    return (
        np.where(informative, found, UNOBSERVED_PSEUDOCOUNTS),
        np.where(informative, observations, 0.0),
    )
