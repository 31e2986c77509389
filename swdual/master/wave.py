"""Some queries on their way: scored range by range, evaluated, aligned, handed on in order."""

from __future__ import annotations

import logging
import math
import queue
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracebacks import Tracebacks
from swdual.alignment.tracer import Tracer
from swdual.backend import TARGET_WEIGHT
from swdual.errors import StatisticsUnavailable
from swdual.hits.query_result import QueryResult
from swdual.master.board import Board
from swdual.master.candidates import Candidates, Scored, merge
from swdual.master.crew import Crew, Report
from swdual.master.division import Replanning, divide
from swdual.master.job import Job, Progress
from swdual.master.means import Means, evaluated, log_of
from swdual.master.task import Task
from swdual.master.worker import Worker
from swdual.sequences.sequence import Sequence

logger = logging.getLogger("swdual")

POLL_SECONDS = 0.1

MOST_PARTS = 16
"""Ranges whose candidates are kept apart before they are merged."""

TRACE_CELLS = 500_000_000
"""Cells of the alignments that one job finds."""


class Traced(NamedTuple):
    """Alignments of some hits of a query."""

    places: NDArray[np.int64]
    tracebacks: Tracebacks


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
        checkpoint, end = means.checkpoint, first_number + len(queries)
        begun = None if checkpoint is None else checkpoint.stretch(first_number)
        ranges = None if begun is None else begun[1]
        self._done: dict[Task, int] = {}
        if checkpoint is not None and ranges is not None:
            self._done = checkpoint.done(first_number, end, ranges)
        self._division = divide(
            [len(query.codes) for query in queries],
            means.database,
            [worker.device.kind for worker in workers],
            [worker.rates for worker in workers],
            means.planner,
            len(means.strands(b"")),
            means.absent,
            ranges,
            self._done.keys(),
            means.memory.heaviest,
            means.memory.most_tasks,
        )
        if checkpoint is not None:
            checkpoint.begin(first_number, end, self._division.ranges)
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
            partial(
                self._means.score,
                self._queries[query],
                self._first_number + query,
                division.ranges[place],
            ),
            int(division.cells[number]),
            division.seconds[:, number],
            tuple(
                (codes, *division.ranges[place][:3])
                for _, codes in self._means.strands(self._queries[query].codes)
            ),
        )

    @cached_property
    def cells_known(self) -> int:
        """The cells of what an earlier search has done."""
        residues = [self._division.ranges[task.place].residues for task in self._done]
        lengths = [len(self._queries[task.query].codes) for task in self._done]
        sides = len(self._means.strands(b""))
        return sides * sum(m * n for m, n in zip(residues, lengths, strict=True))

    def results(self, progress: Callable[[int], None]) -> Iterator[QueryResult]:
        """Return the results in the order of the queries; `progress` is told the cells done."""
        means, board = self._means, self._board
        if means.checkpoint is not None:
            for task, number in self._done.items():
                self._take_scored(task.query, means.checkpoint.read(number))
        queries = [self._first_number + task.query for task in self._division.tasks]
        means.record.begin(self._division.plan, queries)
        with Crew(means.workers, board) as crew:
            for number in range(len(self._queries)):
                while self._hits_left.get(number) != 0:
                    try:
                        report = crew.reports.get(timeout=POLL_SECONDS)
                    except queue.Empty:
                        board.look()
                        continue
                    finally:
                        progress(self.cells_known + board.cells_done)
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
            if self._means.checkpoint is not None and job.place is not None:
                number = self._first_number + job.query
                self._means.checkpoint.keep(number, job.place, report.value)
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
        tracer = self._tracer_of(result)
        if tracer is not None:
            self._hits_left[number] = len(result)
            for places in _shares(result, self._means.memory.share):
                run = partial(_trace, tracer, result, places)
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
            bits, log_evalues = evaluated(statistics, scores, len(query.codes), lengths)
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
        kept = log_evalues <= log_of(means.params.evalue)
        if means.params.min_score > 0:
            kept &= bits >= means.params.min_score
        return result if kept.all() else result.subset(np.flatnonzero(kept))

    def _tracer_of(self, result: QueryResult) -> Tracer | None:
        """Return what finds the alignments now; those of too many hits are found when looked at."""
        return self._means.tracer if self._are_few(result) else None

    def _are_few(self, result: QueryResult) -> bool:
        return len(result) <= self._means.memory.most_completed

    def _finished(self, number: int) -> QueryResult:
        """Return the result of a query, its alignments put in."""
        result, parts = self._settled.pop(number), self._traced.pop(number)
        if self._tracer_of(result) is not None:
            places = np.concatenate([*(part.places for part in parts), np.empty(0, np.int64)])
            joined = Tracebacks.joined([part.tracebacks for part in parts])
            result = result.with_tracebacks(joined.take(np.argsort(places)))
        if self._are_few(result):
            _ = result.titles  # read now, so that tables outlive the database
        return result


def _shares(result: QueryResult, heaviest: int) -> list[NDArray[np.int64]]:
    """Cut the hits of a query into jobs: those of like length together, as lanes like them.

    The targets of a job weigh about `heaviest` at most, each twice what it would in a range.
    """
    order = np.argsort(-result.target_lengths, kind="stable")
    residues = np.cumsum(result.target_lengths[order])
    cells = residues * len(result.query.codes)
    weights = residues + 2 * TARGET_WEIGHT * np.arange(1, len(order) + 1)
    jobs = np.maximum(cells // TRACE_CELLS, weights // heaviest)
    cuts = np.flatnonzero(np.diff(jobs)) + 1
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
