"""Some queries on their way: scored range by range, evaluated, aligned, handed on in order."""

from __future__ import annotations

import logging
import math
import queue
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracebacks import Tracebacks
from swdual.alignment.tracer import Tracer
from swdual.backend import LARGEST, ForesightedScorer, Scorer
from swdual.database.database import Database
from swdual.errors import StatisticsUnavailable
from swdual.hits.query_result import QueryResult, SearchParameters
from swdual.master.board import Board
from swdual.master.candidates import Candidates, best_of, merge
from swdual.master.crew import Crew, Report
from swdual.master.division import Replanning, divide
from swdual.master.job import Job, Progress
from swdual.master.record import Record
from swdual.master.task import Range, cut
from swdual.master.worker import Worker
from swdual.sequences.sequence import Sequence
from swdual.statistics.fit import fit, histogram
from swdual.statistics.model import Statistics

logger = logging.getLogger("swdual")

POLL_SECONDS = 0.1

MOST_PARTS = 16
"""Ranges whose candidates are kept apart before they are merged."""

BAR_MARGIN = 1.0
"""Natural logarithm of the factor by which an E-value may be too large to be looked at closely."""

TRACE_CELLS = 500_000_000
"""Cells of the alignments that one job finds."""


class Scored(NamedTuple):
    """What came out of a task; the histogram of all scores only where statistics are fitted."""

    candidates: Candidates
    histogram: NDArray[np.int64] | None


class Traced(NamedTuple):
    """Alignments of some hits of a query."""

    places: NDArray[np.int64]
    tracebacks: Tracebacks


@dataclass(frozen=True)
class Means:
    """What all queries of a search share.

    `statistics` evaluates every query alike; where it is None and the parameters ask for a fit,
    each query is fitted to its own scores, and to those of `shuffled` if the database is small.
    `absent` are the numbers of the workers that failed too often.
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
    record: Record
    absent: set[int] = field(default_factory=set)
    bars: dict[int, int] = field(default_factory=dict)

    def strands(self, codes: bytes) -> list[tuple[int, bytes]]:
        """Return the strands to compare, each with its number and its codes."""
        strand = self.params.strand
        found = [] if strand == "minus" else [(1, codes)]
        if strand != "plus":
            found.append((-1, self.database.alphabet.reverse_complement(codes)))
        return found

    def score(self, codes: bytes, place: Range, worker: Worker, progress: Progress) -> Scored:
        """Score one query against one range of targets."""
        scorer, bar = worker.scorer, self._bar(len(codes))
        block = self.database.block(place.block)
        counts = None
        if isinstance(scorer, ForesightedScorer) and self.params.stats != "fit":
            scores, strands, places = self._best(scorer, codes, place, bar, progress)
        else:
            scores, strands = self._scores(scorer, codes, place, progress)
            if self.params.stats == "fit":
                counts = histogram(scores, block.lengths[place.first : place.last])
            places = np.flatnonzero(scores >= bar)
            scores, strands, places = scores[places], strands[places], places + place.first
        found = Candidates(scores, block.ordinals[places], block.lengths[places], strands)
        if self.statistics is not None and math.isfinite(self.params.evalue):
            found = self._significant(found, len(codes), self.statistics)
        return Scored(best_of(found, self.params.max_target_seqs, bar), counts)

    def _significant(
        self, found: Candidates, query_length: int, statistics: Statistics
    ) -> Candidates:
        """Return the targets that pass the E-value, so that others do not take their places."""
        scores, lengths = found.scores.astype(np.int64), found.lengths.astype(np.int64)
        _, log_evalues = statistics.evaluate(scores, query_length, lengths)
        passing = log_evalues <= _log(self.params.evalue)
        return Candidates(*(column[passing] for column in found))

    def _bar(self, query_length: int) -> int:
        """Return a score below which no target of a query is wanted."""
        least = self.params.min_raw_score
        if self.statistics is None or not math.isfinite(self.params.evalue):
            return least
        if query_length not in self.bars:
            self.bars[query_length] = self._significant_score(query_length, self.statistics)
        return max(least, self.bars[query_length])

    def _significant_score(self, query_length: int, statistics: Statistics) -> int:
        """Return a score below which no target has a small enough E-value, whatever its length.

        For one score the E-value grows with the target's length, so a few lengths bound them all.
        """
        blocks = self.database.manifest.blocks
        shortest, longest = min(x.shortest for x in blocks), self.database.manifest.longest
        lengths = np.unique(np.geomspace(shortest, longest, 64).astype(np.int64))
        low, high = 0, LARGEST
        while low < high:
            middle = (low + high) // 2
            scores = np.full(len(lengths), middle)
            _, log_evalues = statistics.evaluate(scores, query_length, lengths)
            if log_evalues.min() <= _log(self.params.evalue) + BAR_MARGIN:
                high = middle
            else:
                low = middle + 1
        return low

    def _scores(
        self, scorer: Scorer, codes: bytes, place: Range, progress: Progress
    ) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Return the better strand's score of each target, and which strand that is."""
        (first, query), *other = self.strands(codes)
        where = place.block, place.first, place.last
        scores = scorer(query, *where, progress)
        strands = np.full(len(scores), first, np.int8)
        for strand, query in other:
            others = scorer(query, *where, progress)
            better = others > scores
            scores[better], strands[better] = others[better], strand
        return scores, strands

    def _best(
        self,
        scorer: ForesightedScorer,
        codes: bytes,
        place: Range,
        bar: int,
        progress: Progress,
    ) -> tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.int64]]:
        """Return scores from the bar on, the better strand of each, and places in the block."""
        found = [
            (strand, *scorer.best(query, place.block, place.first, place.last, bar, progress))
            for strand, query in self.strands(codes)
        ]
        strands = np.concatenate([np.full(len(scores), k, np.int8) for k, scores, _ in found])
        scores = np.concatenate([scores for _, scores, _ in found])
        places = np.concatenate([places for _, _, places in found])
        # The best of each place comes first; of equals the earlier strand, as the sort is stable.
        order = np.lexsort((-scores.astype(np.int64), places))
        best = order[np.unique(places[order], return_index=True)[1]]
        return scores[best], strands[best], places[best]

    def statistics_of(self, codes: bytes, counts: NDArray[np.int64] | None) -> Statistics | None:
        """Return what evaluates the hits of a query."""
        if counts is None:
            return self.statistics
        if self.shuffled is not None:
            database, scorer = self.shuffled
            for place in cut(database, 1):
                scores, _ = self._scores(scorer, codes, place, lambda cells: None)
                counts = counts + histogram(scores, database.lengths(place.block))
        database = self.database
        residues = self.params.dbsize or database.residues
        sequences = max(1, round(len(database) * residues / database.residues))
        return fit(counts, len(codes), residues, sequences, database.alphabet)


class Wave:
    """Some queries that are searched together.

    Parameters
    ----------
    queries
        The queries.
    first_number
        The place of the first of them among all queries.
    means
        What they share.
    """

    def __init__(self, queries: list[Sequence], first_number: int, means: Means) -> None:
        self._queries = queries
        self._first_number = first_number
        self._means = means
        self._parts: list[list[Candidates]] = [[] for _ in queries]
        self._counts: dict[int, NDArray[np.int64]] = {}
        self._settled: dict[int, QueryResult] = {}
        self._hits_left: dict[int, int] = {}
        self._traced: dict[int, list[Traced]] = {}
        workers = means.workers
        self._division = divide(
            [len(query.codes) for query in queries],
            means.database,
            [worker.device.kind for worker in workers],
            [worker.rates for worker in workers],
            means.planner,
            len(means.strands(b"")),
            means.absent,
        )
        self._tasks_left = np.full(len(queries), len(self._division.ranges))
        jobs = [self._scoring(number) for number in range(len(self._division.tasks))]
        plan = self._division.plan
        queues = [[jobs[k] for k in queue] for queue in plan.queues]
        common: list[Job] = []
        if plan.on_demand:
            common = [jobs[k] for k in np.argsort(plan.starts, kind="stable")]
            queues = [[] for _ in workers]
        self._board = Board(workers, queues, common, means.absent)
        self._replanning = Replanning(self._division, jobs) if means.replan else None

    def _scoring(self, number: int) -> Job:
        """Return the job of a task."""
        division = self._division
        query, place = division.tasks[number]
        return Job(
            query,
            self._queries[query].id,
            division.ranges[place],
            partial(self._means.score, self._queries[query].codes, division.ranges[place]),
            int(division.cells[number]),
            division.seconds[:, number],
            tuple(
                (codes, *division.ranges[place][:3])
                for _, codes in self._means.strands(self._queries[query].codes)
            ),
        )

    def results(self, progress: Callable[[int], None]) -> Iterator[QueryResult]:
        """Return the results in the order of the queries; `progress` is told the cells done."""
        means, board = self._means, self._board
        queries = [self._first_number + task.query for task in self._division.tasks]
        means.record.begin(self._division.plan, queries)
        with Crew(means.workers, board) as crew:
            for number in range(len(self._queries)):
                while self._hits_left.get(number) != 0:
                    try:
                        report = crew.reports.get(timeout=POLL_SECONDS)
                    except queue.Empty:
                        continue
                    finally:
                        progress(board.cells_done)
                    if isinstance(report, BaseException):
                        raise report
                    self._take(report)
                yield self._finished(number)
        means.record.learn(means.workers)

    def _take(self, report: Report) -> None:
        """Keep what came out of a turn."""
        job = report.turn.job
        length = len(self._queries[job.query].codes)
        self._means.record.add(report, self._first_number + job.query, length)
        if report.outcome != "done":
            return
        if isinstance(report.value, Scored):
            self._take_scored(job.query, report.value)
            if self._replanning is not None:
                self._replanning.look(self._board)
        else:
            self._hits_left[job.query] -= len(report.value.places)
            self._traced[job.query].append(report.value)

    def _take_scored(self, number: int, scored: Scored) -> None:
        """Keep what a task found; if it was the query's last, evaluate and have it aligned."""
        if scored.histogram is not None:
            self._counts[number] = self._counts.get(number, 0) + scored.histogram
        parts = self._parts[number]
        parts.append(scored.candidates)
        self._tasks_left[number] -= 1
        limit = self._means.params.max_target_seqs
        if self._tasks_left[number] == 0 or (limit and len(parts) == MOST_PARTS):
            parts[:] = [merge(parts, limit)]
        if self._tasks_left[number] > 0:
            return
        result = self._settled[number] = self._evaluated(number, parts.pop())
        self._traced[number] = []
        self._hits_left[number] = 0
        if self._means.tracer is not None:
            self._hits_left[number] = len(result)
            for places in _shares(result):
                run = partial(_trace, self._means.tracer, result, places)
                self._board.add(Job(number, result.query.id, None, run))

    def _evaluated(self, number: int, found: Candidates) -> QueryResult:
        """Return the hits of a query that pass every bar."""
        means, query = self._means, self._queries[number]
        scores, ordinals, lengths, strands = found
        try:
            statistics = means.statistics_of(query.codes, self._counts.pop(number, None))
        except StatisticsUnavailable as error:
            logger.warning("query %s has no E-values: %s", query.id, error)
            statistics = None
        bits = log_evalues = np.full(len(scores), math.nan)
        if statistics is not None:
            bits, log_evalues = statistics.evaluate(scores, len(query.codes), lengths)
        result = QueryResult(
            query,
            self._first_number + number,
            scores,
            ordinals,
            lengths,
            strands.astype(np.int8),
            bits,
            log_evalues,
            statistics,
            means.params,
            means.database,
            device=means.device,
        )
        if statistics is None:
            return result
        kept = log_evalues <= _log(means.params.evalue)
        if means.params.min_score > 0:
            kept &= bits >= means.params.min_score
        return result if kept.all() else result.subset(np.flatnonzero(kept))

    def _finished(self, number: int) -> QueryResult:
        """Return the result of a query, its alignments put in."""
        result, parts = self._settled.pop(number), self._traced.pop(number)
        if self._means.tracer is not None:
            places = np.concatenate([*(part.places for part in parts), np.empty(0, np.int64)])
            joined = Tracebacks.joined([part.tracebacks for part in parts])
            result = result.with_tracebacks(joined.take(np.argsort(places)))
        _ = result.titles  # read now, so that tables outlive the database
        return result


def _log(evalue: float) -> float:
    return math.log(evalue) if evalue > 0 else -math.inf


def _shares(result: QueryResult) -> list[NDArray[np.int64]]:
    """Cut the hits of a query into jobs: those of like length together, as lanes like them."""
    order = np.argsort(-result.target_lengths, kind="stable")
    cells = np.cumsum(result.target_lengths[order]) * len(result.query.codes)
    cuts = np.flatnonzero(np.diff(cells // TRACE_CELLS)) + 1
    return [share for share in np.split(order, cuts) if len(share)]


def _trace(
    tracer: Tracer,
    result: QueryResult,
    places: NDArray[np.int64],
    worker: Worker,
    progress: Progress,
) -> Traced:
    """Align some hits of a query; that is CPU work, whichever worker's thread does it."""
    targets = result.targets.codes(result.ordinals[places])
    scores, strands = result.scores[places], result.strands[places]
    return Traced(places, tracer(result.query.codes, targets, scores, strands, progress))
