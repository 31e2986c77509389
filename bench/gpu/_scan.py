"""Searches in this process with the backend's own scorer: what a search does between files."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _card import TimedCard
from _data import scheme_of
from _pipes import CAPABILITIES, seconds

from swdual import Database
from swdual.backend import ScoreCutoffs, ScoringTask
from swdual.backends.cuda import CudaScorer
from swdual.backends.cuda.kernels import BOUNDS, choose

STATISTICS = {11: (0.267, 0.041), 10: (0.243, 0.024)}
"""Lambda and K of BLOSUM62 with such costs to open a gap, and 1 to extend it (Altschul and Gish
1996), for the score cutoff of an E-value of 10."""

EVALUE = 10

UPCOMING = 64
"""Tasks that are announced."""


class Scanned(NamedTuple):
    """Seconds of a scan and of its kernels, bytes sent to the card, best scores of each query."""

    seconds: float
    kernel_seconds: float
    uploaded: int
    scores: list[list[int]]


class Limits(NamedTuple):
    """Seconds that no scan can fall below: by operations, if the model holds, and by memory.

    Operations are those of upper bounds alone, as if these left nothing to score.
    """

    operations: float | None
    memory: float


def limits(
    card: TimedCard, database: Database, lengths: Sequence[int], hertz: float, *, pairs: bool
) -> Limits:
    """Return the limits of a scan.

    Parameters
    ----------
    card, database
        What is searched where.
    lengths
        Of the queries.
    hertz
        The clock of the multiprocessors.
    pairs
        Whether two queries are computed together, but for the last of an odd number.
    """
    capability = card.capability_number
    kernel, longest_first = BOUNDS["bound_s16"], sorted(lengths, reverse=True)
    step = 2 if pairs else 1
    starts = range(0, len(longest_first), step)
    launches = [kernel.longest(longest_first[k : k + step]) for k in starts]
    memory = len(launches) * (database.residues + 4 * len(database)) / card.memory_rate
    if capability not in CAPABILITIES:
        return Limits(None, memory)
    operations = 0.0
    for block in database.blocks():
        mean = float(block.lengths.mean())
        for length in launches:
            tile = choose(kernel, capability, length, mean, card.shared_bytes)
            operations += seconds(kernel, tile, length, block.lengths, card.processors, hertz)
    return Limits(operations, memory)


class Scan:
    """Searches one database on one card again and again.

    Parameters
    ----------
    database
        What is searched.
    card
        The card.
    top
        Scores to find for each query.
    memory_limit
        Bytes of the card's memory to use at most.
    gap_open
        What it costs to open a gap.
    """

    def __init__(
        self,
        database: Database,
        card: TimedCard,
        top: int,
        memory_limit: int | None = None,
        gap_open: int = 11,
    ) -> None:
        self.card = card
        self._database, self._top = database, top
        self._scorer = CudaScorer(database, scheme_of(gap_open), card, memory_limit)
        self._lambda, self._k = STATISTICS[gap_open]

    def cutoff(self, query: bytes) -> int:
        """Return about the lowest score that a search reports."""
        expected = self._k * len(query) * self._database.residues / EVALUE
        return max(1, math.ceil(math.log(max(expected, 1)) / self._lambda))

    def everything(self, queries: Sequence[bytes]) -> list[list[int]]:
        """Return the best scores of each query, taken from the scores of all targets."""
        best: list[list[int]] = [[] for _ in queries]
        tasks = self._tasks(queries)
        for place, (number, task) in enumerate(tasks):
            self._scorer.prefetch([each for _, each in tasks[place : place + UPCOMING]])
            scores = self._scorer(*task[:4], lambda cells: None)
            highest = np.sort(scores)[-self._top :].tolist()
            best[number] = sorted(best[number] + highest, reverse=True)[: self._top]
        return best

    def _tasks(self, queries: Sequence[bytes]) -> list[tuple[int, ScoringTask]]:
        """Return number of query, and task, block by block."""
        return [
            (number, ScoringTask(query, block, 0, info.sequences))
            for block, info in enumerate(self._database.manifest.blocks)
            for number, query in enumerate(queries)
        ]

    def scan(self, queries: Sequence[bytes]) -> Scanned:
        """Return what a search with all these queries at once takes and finds."""
        self.card.launched()
        self.card.uploaded = 0
        cutoffs = [self.cutoff(query) for query in queries]
        best: list[list[int]] = [[] for _ in queries]
        started, tasks = time.perf_counter(), self._tasks(queries)
        for place, (number, task) in enumerate(tasks):
            self._scorer.prefetch(
                [
                    each._replace(cutoffs=ScoreCutoffs.of(cutoffs[other]))
                    for other, each in tasks[place : place + UPCOMING]
                ]
            )
            cutoff = ScoreCutoffs.of(cutoffs[number])
            scores, _ = self._scorer.best(*task[:4], cutoff, lambda cells: None)
            found = best[number] + scores[: self._top].tolist()
            best[number] = sorted(found, reverse=True)[: self._top]
            if len(best[number]) == self._top:
                cutoffs[number] = max(cutoffs[number], best[number][-1])
        taken = time.perf_counter() - started
        kernels = sum(each.seconds for each in self.card.launched())
        return Scanned(taken, kernels, self.card.uploaded, best)

    def expected(self, queries: Sequence[bytes], best: list[list[int]]) -> list[list[int]]:
        """Return the scores that a scan finds, of all that there are."""
        cutoffs = map(self.cutoff, queries)
        return [
            [x for x in scores if x >= cutoff] for cutoff, scores in zip(cutoffs, best, strict=True)
        ]
