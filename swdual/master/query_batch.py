"""A batch of queries: scored range by range, merged, aligned, and yielded in order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from swdual.hits.query_result import QueryResult
from swdual.io.text import pluralize
from swdual.master.candidates import Scored
from swdual.master.context import SearchContext
from swdual.master.merge import HitMerger, Traced, split_hits
from swdual.master.scoring_stage import ScoringStage
from swdual.master.serialization import serialize
from swdual.master.task import Progress, Task
from swdual.master.worker import Worker
from swdual.master.worker_pool import AttemptReport
from swdual.sequences.sequence import Sequence

logger = logging.getLogger("swdual")


class QueryBatch:
    """Runs the pipeline for some queries: score -> merge -> align -> yield, on worker threads.

    The thread of the search makes it and reads its results. `cells_known` is the number of cells
    that a resumed search has done before.

    Parameters
    ----------
    queries
        The queries.
    first_number
        The number of the first of them among all queries.
    context
        What all queries share.
    """

    def __init__(self, queries: list[Sequence], first_number: int, context: SearchContext) -> None:
        self._queries = queries
        self._first_number = first_number
        self._context = context
        self._merger = merger = HitMerger(queries, first_number, context)
        self._scoring = ScoringStage(
            queries,
            range(first_number, first_number + len(queries)),
            context,
            ranges=merger.ranges,
            done=merger.done.keys(),
        )
        self.cells_known = merger.begin(self._scoring.division.ranges)

    def results(self, progress: Callable[[int], None]) -> Iterator[QueryResult]:
        """Yield the results in the order of the queries; `progress` gets the cells done."""
        merger = self._merger
        for number, result in merger.restore_known():
            self._submit_alignments(number, result)
        with self._scoring as scoring:
            for number in range(len(self._queries)):
                while not merger.is_complete(number):
                    report = scoring.next_report(lambda cells: progress(self.cells_known + cells))
                    if report is not None:
                        self._take(report)
                result = merger.pop_result(number)
                logger.debug(
                    "query %s: %s%s",
                    result.query.id,
                    pluralize(len(result), "hit", "hits"),
                    "" if self._context.tracer is None else ", aligned",
                )
                yield result
        self._context.execution_log.learn(self._context.workers)

    def _take(self, report: AttemptReport) -> None:
        """Hand a report on to the merger, and to the journal."""
        task = report.attempt.task
        if not isinstance(report.value, Scored):
            self._merger.add_alignments(task.query, report.value)
            return
        if self._context.checkpoint is not None and task.target_range is not None:
            number = self._first_number + task.query
            self._context.checkpoint.keep(serialize(number, task.target_range, report.value))
        result = self._merger.add_scores(task.query, report.value)
        if result is not None:
            self._submit_alignments(task.query, result)

    def _submit_alignments(self, number: int, result: QueryResult) -> None:
        """Submit the hits of a query as background tasks, which workers run when they are idle."""
        for hit_indices in split_hits(result, self._context.memory.share):
            run = partial(_align_hits, result, hit_indices, self._context)
            self._scoring.scheduler.add(Task(number, result.query.id, None, run))


def _align_hits(
    result: QueryResult,
    hit_indices: NDArray[np.int64],
    context: SearchContext,
    worker: Worker,
    progress: Progress,
) -> Traced:
    """Align some hits of a query; the work of an alignment task.

    It runs on a CPU, also in the thread of a GPU worker.
    """
    targets = result.targets.codes(result.ordinals[hit_indices])
    scores, strands = result.scores[hit_indices], result.strands[hit_indices]
    tracer = context.tracer
    assert tracer is not None
    return Traced(hit_indices, tracer(result.query.codes, targets, scores, strands, progress))
