"""The pipeline of a search, on one page: read -> partition -> submit -> merge -> align -> yield.

1. Read: `read_inputs` reads queries and database. `build_context` adds the workers and all else
   that the queries share. `Search` calls both, and then `run_batch` for each batch of queries.
2. Partition: `ScoringStage` cuts the targets into ranges. Each query against each range is a task,
   and the planner assigns every task to a worker.
3. Submit: the threads of a `WorkerPool` take tasks from the `WorkStealingScheduler`.
   `SearchContext.score` is the work of such a task.
4. Merge: `HitMerger` collects the candidates of each query, and keeps its best hits.
5. Align: the hits of a query become background tasks. `align_hits` is the work of such a task.
6. Yield: results leave in the order of the queries.

On a cluster `swdual.cluster.query_batch` has the same stages, with nodes in place of threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from swdual.hits.query_result import QueryResult
from swdual.io.text import pluralize
from swdual.master.candidates import Scored
from swdual.master.checkpoint import Checkpoint
from swdual.master.context import SearchContext
from swdual.master.merge import HitMerger, Traced, split_hits
from swdual.master.scoring_stage import ScoringStage
from swdual.master.serialization import serialize
from swdual.master.task import Progress, Task
from swdual.master.worker import Worker
from swdual.sequences.sequence import Sequence

logger = logging.getLogger("swdual")


def run_batch(
    queries: list[Sequence],
    first_number: int,
    context: SearchContext,
    skip: Callable[[int], None],
    progress: Callable[[int], None],
) -> Iterator[QueryResult]:
    """Search some queries with the worker threads; yield their results in order.

    The thread of the search runs it. Closing the iterator stops the workers.

    Parameters
    ----------
    queries
        The queries of the batch.
    first_number
        The number of the first of them among all queries.
    context
        What all queries share.
    skip
        Called once, with the cells that a resumed search has done before.
    progress
        Called with the cells of the batch that are done, those included.

    Raises
    ------
    EngineError
        If tasks or workers fail too often.
    SwdualError, MemoryError
        The error of a task, if no other worker could do better.
    """
    numbers = range(first_number, first_number + len(queries))
    merger = HitMerger(queries, first_number, context)
    # Partition. A resumed search keeps its ranges, and leaves out the tasks that it has finished.
    stage = ScoringStage(queries, numbers, context, ranges=merger.ranges, done=merger.done.keys())
    known = merger.begin(stage.division.ranges)
    skip(known)

    def submit_alignments(query: int, result: QueryResult | None) -> None:
        if result is None:  # scores are missing, or alignments are not wanted
            return
        for hit_indices in split_hits(result, context.memory.share):
            run = partial(align_hits, result, hit_indices, context)
            stage.scheduler.add(Task(query, result.query.id, None, run))

    for query, result in merger.restore_known():
        submit_alignments(query, result)
    with stage:  # Submit: from here on, worker threads run tasks.
        for number in range(len(queries)):
            while not merger.is_complete(number):
                report = stage.next_report(lambda cells: progress(known + cells))
                if report is None:
                    continue
                task = report.attempt.task
                if not isinstance(report.value, Scored):
                    merger.add_alignments(task.query, report.value)
                    continue
                if context.checkpoint is not None and task.target_range is not None:
                    record = serialize(numbers[task.query], task.target_range, report.value)
                    context.checkpoint.keep(record)
                # Merge; then align, if all scores of the query are there.
                submit_alignments(task.query, merger.add_scores(task.query, report.value))
            result = merger.pop_result(number)
            logger.debug(
                "query %s: %s%s",
                result.query.id,
                pluralize(len(result), "hit", "hits"),
                "" if context.tracer is None else ", aligned",
            )
            yield result
    context.execution_log.learn(context.workers)


def align_hits(
    result: QueryResult,
    hit_indices: NDArray[np.int64],
    context: SearchContext,
    worker: Worker,
    progress: Progress,
) -> Traced:
    """Align some hits of a query; the work of an alignment task.

    It runs on a CPU, also in the thread of a GPU worker.

    Parameters
    ----------
    result, hit_indices
        The hits of the query, and (hits,) the indices of those to align.
    context
        What all queries share.
    worker
        The worker in whose thread it runs.
    progress
        Called now and then; raises an exception to stop the work.
    """
    targets = result.targets.codes(result.ordinals[hit_indices])
    scores, strands = result.scores[hit_indices], result.strands[hit_indices]
    tracer = context.tracer
    assert tracer is not None
    return Traced(hit_indices, tracer(result.query.codes, targets, scores, strands, progress))


def split_batches(
    count: int, max_queries: int, checkpoint: Checkpoint | None
) -> Iterator[tuple[int, int]]:
    """Yield the first query of each batch, and the one behind its last.

    Parameters
    ----------
    count
        The number of queries.
    max_queries
        The largest batch. Batches bound the memory of the search.
    checkpoint
        A resumed search ends its batches where they ended before.
    """
    start = 0
    while start < count:
        end = min(start + max_queries, count)
        begun = None if checkpoint is None else checkpoint.stretch(start)
        if begun is not None:
            end = min(end, begun[0])
        yield start, end
        start = end
