"""The pipeline of a search, on one page: read -> partition -> submit -> merge -> align -> yield.

1. Read: `Search` reads queries and database, and the executor gets its workers ready.
2. Partition: the executor cuts the targets into ranges. Each query against each range is a task,
   and the planner assigns every task to a worker.
3. Submit: the executor runs the tasks. `SearchContext.score` is the work of such a task.
4. Merge: `HitMerger` collects the candidates of each query, and keeps its best hits. The journal
   gets the result of each task.
5. Align: the hits of a query become tasks, too, as soon as all its scores are there. With
   composition-based statistics these tasks adjust the scores of candidates first. With several
   alignments a hit, more tasks find those besides the best.
6. Yield: results leave in the order of the queries.

The executor runs tasks on threads of this machine or on the nodes of a cluster: see `executor`.
"""

from __future__ import annotations

import itertools
import logging
from collections import deque
from collections.abc import Iterator
from typing import Protocol

from swdual.database.target_range import Range
from swdual.hits.query_result import QueryResult
from swdual.master.alignment import Traced, TracedFurther
from swdual.master.candidates import Scored
from swdual.master.checkpoint import Checkpoint
from swdual.master.context import SearchContext
from swdual.master.executor import Executor
from swdual.master.merge import HitMerger
from swdual.master.remaining import Work
from swdual.master.serialization import serialize
from swdual.sequences.sequence import Sequence
from swdual.text.messages import pluralize

logger = logging.getLogger("swdual")


class Counter(Protocol):
    """Counts what a search has done, for its progress."""

    def skip(self, cells: int) -> None:
        """Add cells that a resumed search has done before."""

    def add(self, cells: int) -> None:
        """Add cells that were computed now; 0 only says that the search goes on."""

    def add_scored_query(self, number: int, work: Work) -> None:
        """Add a query that has all its scores, and what is aligned of it."""

    def add_aligned(self, work: Work) -> None:
        """Add what was aligned of a query."""

    def add_aligning(self, seconds: float) -> None:
        """Add seconds in which a worker has aligned."""


def run_pipeline(
    queries: list[Sequence], context: SearchContext, executor: Executor, counter: Counter
) -> Iterator[QueryResult]:
    """Search all queries, batch by batch; yield their results in order.

    Closing the iterator stops the tasks.

    Parameters
    ----------
    queries
        All queries of the search.
    context
        What they share.
    executor
        Runs the tasks.
    counter
        Counts what is done.

    Raises
    ------
    EngineError, ClusterError
        If tasks, workers or nodes fail too often.
    SwdualError, MemoryError
        The error of a task, if no other worker could do better.
    """
    size = context.run.memory.batch_queries
    if len(queries) > size:  # several batches are held at once: each gets its part
        size = max(1, size // (1 + executor.batches_ahead))
    batches: deque[QueryBatch] = deque()
    sizes = (min(size, executor.first_batch << 2 * number) for number in itertools.count())
    for start, end in split_batches(len(queries), sizes, context.run.checkpoint):
        logger.debug(
            "batch: %s, of %s in all",
            pluralize(end - start, "query", "queries"),
            f"{len(queries):,}",
        )
        batches.append(QueryBatch(queries[start:end], start, context, executor, counter))
        if len(batches) > executor.batches_ahead:
            yield from batches.popleft().results()
    while batches:
        yield from batches.popleft().results()


class QueryBatch:
    """Some queries on their way through the pipeline; the thread of the search calls everything.

    Parameters
    ----------
    queries
        The queries of the batch.
    first_number
        The number of the first of them among all queries.
    context, executor, counter
        As for `run_pipeline`.
    """

    def __init__(
        self,
        queries: list[Sequence],
        first_number: int,
        context: SearchContext,
        executor: Executor,
        counter: Counter,
    ) -> None:
        self._numbers = range(first_number, first_number + len(queries))
        self._checkpoint = context.run.checkpoint
        self._aligned = context.rules.tracer is not None
        self._counter = counter
        self._works: dict[int, Work] = {}
        self._merger = merger = HitMerger(queries, first_number, context)
        # Partition. A resumed search keeps its ranges, and leaves out the tasks that are done.
        self._execution = executor.begin(
            queries, self._numbers, context, self, ranges=merger.ranges, done=merger.done.keys()
        )
        counter.skip(merger.begin(self._execution.ranges))
        for query, result in merger.restore_known():
            self._count_scored(query)
            self._execution.align(query, result)
        # Submit. The hits that were restored are aligned before.
        self._execution.submit()

    def add_cells(self, cells: int) -> None:
        """Add cells to the progress. See `BatchListener.add_cells`."""
        self._counter.add(cells)

    def add_scores(self, query: int, target_range: Range, scored: Scored) -> None:
        """Merge the result of a scoring task, and align if the query has all its scores now.

        See `BatchListener.add_scores`.
        """
        if self._checkpoint is not None:
            self._checkpoint.keep(serialize(self._numbers[query], target_range, scored))
        result = self._merger.add_scores(query, scored)
        self._count_scored(query)
        if result is not None:
            self._execution.align(query, result)

    def _count_scored(self, query: int) -> None:
        """Tell the counter that a query has all its scores, if it has."""
        work = self._merger.count_work(query)
        if work is not None:
            self._works[query] = work
            self._counter.add_scored_query(self._numbers[query], work)

    def add_aligning(self, seconds: float) -> None:
        """Add seconds to the progress. See `BatchListener.add_aligning`."""
        self._counter.add_aligning(seconds)

    def add_alignments(self, query: int, traced: Traced) -> None:
        """Merge alignments, and find further ones if the query has all of these now.

        See `BatchListener.add_alignments`.
        """
        targets, cells = self._works[query]
        part = traced.examined / max(1, targets)
        self._counter.add_aligned(Work(traced.examined, round(cells * part)))
        result = self._merger.add_alignments(query, traced)
        if result is not None:
            self._execution.align_further(query, result)

    def add_further(self, query: int, traced: TracedFurther) -> None:
        """Merge further alignments. See `BatchListener.add_further`."""
        self._merger.add_further(query, traced)

    def results(self) -> Iterator[QueryResult]:
        """Yield the results in the order of the queries."""
        with self._execution as execution:
            for query in range(len(self._numbers)):
                while not self._merger.is_complete(query):
                    execution.wait()
                result = execution.supply_targets(query, self._merger.pop_result(query))
                logger.debug(
                    "query %s: %s%s",
                    result.query.id,
                    pluralize(len(result), "hit", "hits"),
                    ", aligned" if self._aligned else "",
                )
                yield result
                del result  # so that two are never held


def split_batches(
    count: int, sizes: Iterator[int], checkpoint: Checkpoint | None
) -> Iterator[tuple[int, int]]:
    """Yield the first query of each batch, and the one behind its last.

    Parameters
    ----------
    count
        The number of queries.
    sizes
        Max queries of each batch. Batches bound the memory of the search.
    checkpoint
        A resumed search ends its batches where they ended before.
    """
    start = 0
    while start < count:
        end = min(start + next(sizes), count)
        begun = None if checkpoint is None else checkpoint.find_batch(start)
        if begun is not None:
            end = min(end, begun[0])
        yield start, end
        start = end
