"""E-values of matches without gaps of a whole query, exactly, from the composition of a database.

Let every letter of every target be drawn by the frequencies of the letters in the database. Then
the score of a query with a part of a target that is as long is a sum of independent numbers, one a
letter, whose distribution is the convolution of theirs. The E-value of a score is the expected
number of places where at least this score is reached: the number of all places, times the tail of
the distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from swdual.database.database import Database
from swdual.sequences.alphabet import CODES, PAD
from swdual.statistics.model import Evaluation

COUNTED_AT_ONCE = 1 << 20
"""Letters that are counted together: each takes eight bytes meanwhile."""


@dataclass(frozen=True, eq=False)
class CompositionStatistics:
    """The E-values of one query's scores.

    Parameters
    ----------
    places
        How many parts of targets are as long as the query.
    least, tails
        The least score of the query, and the probabilities of at least this score and of each one
        above.
    residues, sequences
        Residues and number of all targets.
    """

    places: float
    least: int
    tails: NDArray[np.float64]
    residues: int
    sequences: int

    def evaluate(
        self,
        scores: NDArray[np.int64] | NDArray[np.float64],
        query_length: int | NDArray[np.int64],
        target_lengths: NDArray[np.int64],
    ) -> Evaluation:
        """Return -log2 of each score's probability at one place, and its E-value.

        Lengths do not matter. See `Statistics.evaluate`.
        """
        tails = self.tails[np.asarray(scores, np.int64) - self.least]
        return Evaluation(-np.log2(tails), np.log(self.places) + np.log(tails))

    def facts(self) -> dict[str, str | int | float]:
        """Return the basis of the E-values. See `Statistics.facts`."""
        return {
            "method": "composition",
            "lambda": float(np.log(2)),
            "residues": self.residues,
            "sequences": self.sequences,
        }


class Composition:
    """The letters of a database, and the lengths of its targets.

    Parameters
    ----------
    database
        The targets.
    scores
        (32, 32) scores of letter pairs.
    residues, sequences
        What E-values refer to, in place of the database's own.
    """

    def __init__(
        self,
        database: Database,
        scores: NDArray[np.int64],
        residues: int | None = None,
        sequences: int | None = None,
    ) -> None:
        counts = np.zeros(CODES, np.int64)
        self._lengths = []
        for number in range(len(database.manifest.blocks)):
            block = database.targets(number, 0, len(database.lengths(number)))
            for first in range(0, len(block.residues), COUNTED_AT_ONCE):
                part = block.residues[first : first + COUNTED_AT_ONCE]
                counts += np.bincount(part, minlength=CODES)
            self._lengths.append(block.lengths.astype(np.int64))
        counts[PAD] = 0  # it lies between targets
        self._scale = (residues or database.residues) / database.residues
        self._facts = residues or database.residues, sequences or len(database)
        frequencies = counts / counts.sum()
        self._least = scores[:, counts > 0].min(axis=1)
        # Of each letter of a query, the probabilities of its scores from the least one on.
        self._parts = [
            np.bincount((row - least)[counts > 0], frequencies[counts > 0])
            for row, least in zip(scores, self._least, strict=True)
        ]
        self._count_places = cache(self._count_places_of)

    def _count_places_of(self, length: int) -> float:
        """Return how many parts of targets have a length."""
        own = sum(int(np.maximum(lengths - length + 1, 0).sum()) for lengths in self._lengths)
        return own * self._scale

    def evaluate(self, query: bytes) -> CompositionStatistics:
        """Return the statistics of a query, given by its residue codes."""
        chances = np.ones(1)
        for code in query:
            chances = np.convolve(chances, self._parts[code])
        # The smallest terms are added first. What is too small for a number counts as the smallest.
        tails = np.maximum(np.cumsum(chances[::-1])[::-1], np.finfo(float).tiny)
        least = int(self._least[list(query)].sum())
        return CompositionStatistics(self._count_places(len(query)), least, tails, *self._facts)
