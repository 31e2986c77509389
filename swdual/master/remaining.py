"""What is left of a search, in predicted seconds: scores, and the alignments that follow them.

Scores are counted in cells, which are known from the beginning. How many targets are aligned is
known when a query has all its scores; of the other queries it is expected. Alignments are counted
in cells, too, with `ADJUST_CELLS` for each matrix that is adjusted. The seconds of both come from
what has been done so far.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from swdual.io.progress import Remaining
from swdual.request.search_parameters import SearchParameters

ADJUST_CELLS = 600_000
"""Cells that take as long to align as the adjustment of one matrix."""

CANDIDATE_RATIO = 4.0
"""Candidates of a query relative to the limit of their E-values, until the first are known:
relatives and biased compositions besides chance.
"""

ALIGNED_CELL = 5.0
"""Seconds of a cell that is aligned relative to one that is scored, until the first are known."""

MIN_SECONDS = 1.0
"""The first seconds tell too little: the time left is unknown meanwhile."""

ALMOST_ALL = 0.99
"""The largest part that is shown before the end."""


class Work(NamedTuple):
    """How many targets of a query are aligned, and in how many cells."""

    targets: int
    cells: int


class RemainingTime:
    """Predicts how long a search goes on; one thread adds what is done, another may ask.

    Parameters
    ----------
    query_cells
        Cells of each query with all targets.
    targets
        The number of targets.
    params
        The options that decide about candidates.
    aligns
        Whether candidates or hits are aligned.
    aligners
        Threads, or nodes, that align.
    beside
        Whether others score meanwhile; else they align between their scores.
    clock
        Returns seconds.
    """

    def __init__(
        self,
        query_cells: list[int],
        targets: int,
        params: SearchParameters,
        *,
        aligns: bool,
        aligners: int,
        beside: bool,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._query_cells, self._targets = query_cells, max(1, targets)
        self._total = sum(query_cells)
        self._overhead = ADJUST_CELLS if params.adjusts else 0
        self._aligners, self._beside, self._clock = max(1, aligners), beside, clock
        limits = (params.max_candidates, targets)
        guess = CANDIDATE_RATIO * (
            params.candidate_evalue if math.isfinite(params.candidate_evalue) else targets
        )
        self._guess = min(guess, *(limit for limit in limits if limit)) if aligns else 0.0
        self._began = clock()
        self._scored = self._skipped = 0
        self._unscored_cells, self._unscored = self._total, len(query_cells)
        # Of queries with all scores: targets, work, and the work by the mean length of targets.
        self._found, self._expected_of_found, self._work = 0, 0.0, 0
        self._aligned, self._aligning_seconds = 0.0, 0.0
        self._shown = 0.0

    def skip(self, cells: int) -> None:
        """Add cells that a resumed search has scored before."""
        self._skipped += cells

    def add_cells(self, cells: int) -> None:
        """Add cells that were scored now."""
        self._scored += cells

    def add_scored_query(self, number: int, work: Work) -> None:
        """Add a query that has all its scores.

        Parameters
        ----------
        number
            Its number among all queries.
        work
            What is aligned of it.
        """
        cells = self._query_cells[number]
        self._unscored_cells -= cells
        self._unscored -= 1
        self._found += work.targets
        self._expected_of_found += work.targets * self._expect(cells, 1)
        self._work += self._size(work)

    def add_aligned(self, work: Work) -> None:
        """Add what was aligned of a query."""
        self._aligned += self._size(work)

    def add_aligning(self, seconds: float) -> None:
        """Add seconds in which a thread, or a node, has aligned."""
        self._aligning_seconds += seconds

    def _size(self, work: Work) -> int:
        return work.cells + self._overhead * work.targets

    def _expect(self, cells: int, queries: int) -> float:
        """Return the work of one target for each of some queries, in the mean of all targets."""
        return cells / self._targets + self._overhead * queries

    def _predict_work(self) -> float:
        """Return the work of queries that have not all scores yet."""
        known = len(self._query_cells) - self._unscored
        mean, ratio = self._guess, 1.0
        if known and self._guess:
            mean = self._found / known
            if self._expected_of_found:
                ratio = self._work / self._expected_of_found
        return mean * ratio * self._expect(self._unscored_cells, self._unscored)

    def estimate(self) -> Remaining:
        """Return what is done, and how long the rest takes; the part that is done never falls."""
        elapsed, scored = self._clock() - self._began, self._scored
        left_cells = max(0, self._total - self._skipped - scored)
        if elapsed <= 0 or (scored == 0 and left_cells):
            return Remaining(self._shown, math.nan, self._shown)
        aligning = self._aligning_seconds / self._aligners
        scoring = elapsed if self._beside else max(elapsed - aligning, 0.0)
        seconds = left_cells * scoring / scored if scored else 0.0
        cell = ALIGNED_CELL * scoring * self._aligners / scored if scored else 0.0
        if self._aligned:
            cell = self._aligning_seconds / self._aligned
        work = max(0.0, self._work - self._aligned) + self._predict_work()
        alignments = work * cell / self._aligners
        left = max(seconds, alignments) if self._beside else seconds + alignments
        before = self._skipped / self._total if self._total else 0.0
        part = before + (1 - before) * elapsed / (elapsed + left)
        self._shown = max(self._shown, min(part, ALMOST_ALL))
        return Remaining(self._shown, left if elapsed >= MIN_SECONDS else math.nan, before)
