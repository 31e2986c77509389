"""The means of a search: what all its queries share, and how one is scored against targets."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracer import Tracer
from swdual.backend import MAX_SCORE, PrefetchingScorer, Scorer
from swdual.database.database import Database
from swdual.hits.query_result import SearchParameters, score_cutoff
from swdual.master.candidates import Candidates, Scored, select_best
from swdual.master.checkpoint import Checkpoint
from swdual.master.execution_log import ExecutionLog
from swdual.master.memory import Memory
from swdual.master.ranges import Range, cut
from swdual.master.task import Progress
from swdual.master.verification import Verification
from swdual.master.worker import Worker
from swdual.sequences.sequence import Sequence
from swdual.statistics.model import Statistics

CUTOFF_MARGIN = 1.0
"""Natural logarithm of the factor by which an E-value may be too large to be looked at closely."""

FIRST_CUTOFF = 32
"""The first score that is tried as the smallest that reaches the E-value."""

EVALUATED_AT_ONCE = 1 << 15
"""Targets whose E-values are computed together, with twenty numbers for each on the way."""


@dataclass(frozen=True)
class SearchContext:
    """What all queries of a search share.

    `statistics` evaluates every query alike; where it is None and the parameters ask for a fit,
    each query is fitted to its own scores, and to those of `shuffled` if the database is small.
    `verification` compares a sample of the scores with the definition's, `checkpoint` keeps what
    is done. `memory` says how much of everything there may be at a time. `failed_workers` are the
    numbers of the workers that failed too often.
    """

    database: Database
    workers: list[Worker]
    params: SearchParameters
    statistics: Statistics | None
    shuffled: tuple[Database, Scorer] | None
    tracer: Tracer | None
    planner: str
    replan: bool
    device: str
    execution_log: ExecutionLog
    memory: Memory
    verification: Verification | None
    checkpoint: Checkpoint | None = None
    failed_workers: set[int] = field(default_factory=set)
    cutoffs: dict[int, int] = field(default_factory=dict)

    def list_strands(self, codes: bytes) -> list[tuple[int, bytes]]:
        """Return the strands to compare, each with its number and its codes."""
        strand = self.params.strand
        found = [] if strand == "minus" else [(1, codes)]
        if strand != "plus":
            found.append((-1, self.database.alphabet.reverse_complement(codes)))
        return found

    def score(
        self, query: Sequence, number: int, target_range: Range, worker: Worker, progress: Progress
    ) -> Scored:
        """Score one query, `number` among all queries, against one range of targets."""
        codes, scorer = query.codes, worker.scorer
        cutoff = self._cutoff(len(codes))
        counts = None
        if isinstance(scorer, PrefetchingScorer) and self.params.stats != "fit":
            scores, strands, positions = self._best(scorer, codes, target_range, cutoff, progress)
        else:
            scores, strands = self._scores(scorer, codes, target_range, progress)
            positions = np.arange(target_range.first, target_range.last)
        # Looked up only now, so that scores of a file that was changed meanwhile are not accepted.
        block = self.database.block(target_range.block)
        if self.verification is not None:
            strand_codes = [codes for _, codes in self.list_strands(codes)]
            told = scores, positions
            self.verification.check(
                worker, query, number, strand_codes, target_range, told, cutoff, progress
            )
        if self.params.stats == "fit":
            from swdual.statistics.fit import histogram

            counts = histogram(scores, block.lengths[target_range.first : target_range.last])
        passing = np.flatnonzero(scores >= cutoff)
        scores, strands, positions = scores[passing], strands[passing], positions[passing]
        found = Candidates(scores, block.ordinals[positions], block.lengths[positions], strands)
        if self.statistics is not None and math.isfinite(self.params.evalue):
            found = self._significant(found, len(codes), self.statistics)
        least = max(cutoff, self._top_cutoff(found))
        return Scored(select_best(found, self.params.max_candidates, least), counts)

    def _significant(
        self, found: Candidates, query_length: int, statistics: Statistics
    ) -> Candidates:
        """Return the targets that pass the E-value, so that others do not take their places."""
        scores, lengths = found.scores.astype(np.int64), found.lengths.astype(np.int64)
        _, log_evalues = evaluate_scores(statistics, scores, query_length, lengths)
        passing = log_evalues <= take_log(self.params.evalue)
        return Candidates(*(column[passing] for column in found))

    def _top_cutoff(self, found: Candidates) -> int:
        """Return a score below which `top` leaves no hit, whatever others find; 0 if unknown.

        The best score of the query is no less than the best here, provided that what is best here
        is a hit: that fitted statistics and alignments show only later.
        """
        params = self.params
        early = params.stats != "fit" and not params.filters_alignments
        if params.top is None or not early or not len(found.scores):
            return 0
        return score_cutoff(int(found.scores.max()), params.top)

    def _cutoff(self, query_length: int) -> int:
        """Return a score below which no target of a query is wanted."""
        least = self.params.min_raw_score
        if self.statistics is None or not math.isfinite(self.params.evalue):
            return least
        if query_length not in self.cutoffs:
            self.cutoffs[query_length] = self._significant_score(query_length, self.statistics)
        return max(least, self.cutoffs[query_length])

    def _significant_score(self, query_length: int, statistics: Statistics) -> int:
        """Return a score below which no target has a small enough E-value, whatever its length.

        For one score the E-value grows with the target's length, so a few lengths bound them all.
        """
        blocks = self.database.manifest.blocks
        shortest, longest = min(x.shortest for x in blocks), self.database.manifest.longest
        lengths = np.geomspace(shortest, longest, 64).astype(np.int64)
        lengths = lengths[np.diff(lengths, prepend=0) > 0]

        def passes(score: int) -> bool:
            scores = np.full(len(lengths), score)
            _, log_evalues = statistics.evaluate(scores, query_length, lengths)
            return bool(log_evalues.min() <= take_log(self.params.evalue) + CUTOFF_MARGIN)

        # Most cutoffs are small, and an evaluation takes 0.1 ms: double first, then bisect.
        low, high = 0, FIRST_CUTOFF
        while high < MAX_SCORE and not passes(high):
            low, high = high + 1, min(2 * high, MAX_SCORE)
        while low < high:
            middle = (low + high) // 2
            if passes(middle):
                high = middle
            else:
                low = middle + 1
        return low

    def _scores(
        self, scorer: Scorer, codes: bytes, target_range: Range, progress: Progress
    ) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Return the better strand's score of each target, and which strand that is."""
        (first, query), *other = self.list_strands(codes)
        where = target_range.block, target_range.first, target_range.last
        scores = scorer(query, *where, progress)
        strands = np.full(len(scores), first, np.int8)
        for strand, query in other:
            others = scorer(query, *where, progress)
            better = others > scores
            scores[better], strands[better] = others[better], strand
        return scores, strands

    def _best(
        self,
        scorer: PrefetchingScorer,
        codes: bytes,
        target_range: Range,
        cutoff: int,
        progress: Progress,
    ) -> tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.int64]]:
        """Return scores from the cutoff on, the better strand of each, and places in the block."""
        found = [
            (
                strand,
                *scorer.best(
                    query,
                    target_range.block,
                    target_range.first,
                    target_range.last,
                    cutoff,
                    progress,
                ),
            )
            for strand, query in self.list_strands(codes)
        ]
        strands = np.concatenate([np.full(len(scores), k, np.int8) for k, scores, _ in found])
        scores = np.concatenate([scores for _, scores, _ in found])
        positions = np.concatenate([positions for _, _, positions in found])
        # The best of each place comes first; of equals the earlier strand, as the sort is stable.
        order = np.lexsort((-scores.astype(np.int64), positions))
        best = order[np.unique(positions[order], return_index=True)[1]]
        return scores[best], strands[best], positions[best]

    def statistics_of(self, codes: bytes, counts: NDArray[np.int64] | None) -> Statistics | None:
        """Return what evaluates the hits of a query."""
        if counts is None:
            return self.statistics
        from swdual.statistics.fit import fit, histogram

        if self.shuffled is not None:
            database, scorer = self.shuffled
            for target_range in cut(database, 1):
                scores, _ = self._scores(scorer, codes, target_range, lambda cells: None)
                counts = counts + histogram(scores, database.lengths(target_range.block))
        database = self.database
        residues = self.params.dbsize or database.residues
        sequences = max(1, round(len(database) * residues / database.residues))
        return fit(counts, len(codes), residues, sequences, database.alphabet)


def evaluate_scores(
    statistics: Statistics,
    scores: NDArray[np.int64],
    query_length: int,
    lengths: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bit scores and logarithms of E-values, computed for some targets at a time."""
    bits, log_evalues = np.empty(len(scores)), np.empty(len(scores))
    for first in range(0, len(scores), EVALUATED_AT_ONCE):
        here = slice(first, first + EVALUATED_AT_ONCE)
        told = statistics.evaluate(scores[here], query_length, lengths[here])
        bits[here], log_evalues[here] = told
    return bits, log_evalues


def take_log(evalue: float) -> float:
    """Return the natural logarithm of an E-value, which may be 0."""
    return math.log(evalue) if evalue > 0 else -math.inf
