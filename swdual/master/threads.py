"""The executor on this machine: a thread for each CPU core and each GPU.

Where only GPUs score, the threads of CPUs align beside them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from swdual.backend import ReleasingScorer, SelectingScorer
from swdual.database.target_range import Range
from swdual.hits.query_result import QueryResult
from swdual.io.progress import progress_bar
from swdual.master.alignment import (
    Traced,
    TracedFurther,
    align_candidates,
    align_further_hits,
)
from swdual.master.candidates import Scored
from swdual.master.compilation import compile_kernels
from swdual.master.context import Compared, SearchContext
from swdual.master.executor import BatchExecution, BatchListener, Executor
from swdual.master.kept_scorers import KeptScorers
from swdual.master.merge import split_hits
from swdual.master.ranges import TaskId
from swdual.master.scoring_stage import ScoringStage
from swdual.master.setup import build_context, resolve_devices
from swdual.master.task import Progress, Task
from swdual.master.worker import Worker, bind
from swdual.request.inputs import SearchInputs
from swdual.request.options import SearchOptions
from swdual.sequences.frames import frame_length
from swdual.sequences.sequence import Sequence as Query

logger = logging.getLogger("swdual")


class ThreadExecutor(Executor):
    """Runs the tasks of a search on the CPUs and GPUs of this machine.

    Parameters
    ----------
    compiles_first
        Whether the usual kernels are compiled before the search, in processes of their own. A
        server has compiled them when it began.
    kept_scorers
        Scorers of earlier searches, whose memory on GPUs stays for later ones, and the rates.
    """

    def __init__(
        self, *, compiles_first: bool = True, kept_scorers: KeptScorers | None = None
    ) -> None:
        self._compiles_first = compiles_first
        self._kept_scorers = kept_scorers
        self._context: SearchContext | None = None

    def check_options(self, options: SearchOptions) -> None:
        """Check that the devices are there. See `Executor.check_options`."""
        resolve_devices(options, 0)

    def build_context(
        self, inputs: SearchInputs, options: SearchOptions, held_bytes: int
    ) -> SearchContext:
        """Calibrate the workers and divide the memory. See `Executor.build_context`."""
        database, shown = inputs.database, options.progress is True
        for block in range(len(database.manifest.blocks)):
            if not database.has_block(block):
                database.block(block)  # raises: a missing file must not end the search hours later
        if self._compiles_first and options.backend == "simd":
            compile_kernels(adjusts=inputs.params.adjusts, shown=shown)
        lengths = [frame_length(query) for query in inputs.queries]
        kept = self._kept_scorers
        with progress_bar("measuring the workers", "", 1, shown=shown):
            context = build_context(
                Compared.of_inputs(inputs),
                lengths,
                inputs.params,
                options,
                held_bytes,
                book=None if kept is None else kept.find_rates(inputs.params),
                bind_scorer=bind if kept is None else kept.bind,
            )
        self._context = context
        return context

    def begin(
        self,
        queries: list[Query],
        numbers: Sequence[int],
        context: SearchContext,
        listener: BatchListener,
        *,
        ranges: list[Range] | None,
        done: Collection[TaskId],
    ) -> ThreadBatch:
        """Partition a batch among the worker threads. See `Executor.begin`."""
        stage = ScoringStage(queries, numbers, context, ranges=ranges, done=done)
        return ThreadBatch(stage, context, listener)

    def close(self) -> None:
        """Free the memory of GPUs; the threads end with their batch.

        Results keep the context, and with it the scorers: a search that follows, such as the next
        round, would find the memory taken.
        """
        context, self._context = self._context, None
        if context is None:
            return
        workers, shuffled = context.run.workers, context.rules.shuffled
        for name, scorer in {each.device.name: each.scorer for each in workers}.items():
            if isinstance(scorer, SelectingScorer):
                logger.debug(
                    "%s: %.3g %% of the cells were scored exactly; upper bounds of the others are "
                    "too low for a hit",
                    name,
                    100 * scorer.exact_part,
                )
        if self._kept_scorers is None:
            scorers = [worker.scorer for worker in workers]
        else:
            scorers = []
            if any(number < len(workers) for number in context.run.failed_workers):
                self._kept_scorers.drop()
        if shuffled is not None:
            scorers.append(shuffled[1])
        for scorer in scorers:
            if isinstance(scorer, ReleasingScorer):
                scorer.release()


class ThreadBatch(BatchExecution):
    """One batch of queries on the worker threads.

    Threads run from the beginning to the end of the ``with`` block. They take tasks from the
    `WorkStealingScheduler` of the stage, scoring tasks before alignment tasks; workers that only
    align take no others.

    Parameters
    ----------
    stage
        The scoring tasks, planned.
    context
        What all queries share.
    listener
        Receives the results.
    """

    def __init__(
        self, stage: ScoringStage, context: SearchContext, listener: BatchListener
    ) -> None:
        self._stage = stage
        self._context = context
        self._listener = listener
        self._cells_reported = 0
        self._unaligned = self._unaligned_further = stage.query_count
        self.ranges = stage.partition.ranges

    def submit(self) -> None:
        """Do nothing: the stage has queued the tasks, and the ``with`` block starts the threads."""

    def align(self, query: int, result: QueryResult) -> None:
        """Add background tasks that align the hits of a query. See `BatchExecution.align`."""
        self._add_tasks(align_hits, query, result, self._unaligned)
        self._unaligned -= 1

    def align_further(self, query: int, result: QueryResult) -> None:
        """Add background tasks of further alignments. See `BatchExecution.align_further`."""
        self._add_tasks(_align_further, query, result, self._unaligned_further)
        self._unaligned_further -= 1

    def _add_tasks(
        self, function: Callable[..., Any], query: int, result: QueryResult, queries: int
    ) -> None:
        """Add background tasks for the hits of a query: idle workers share those of the last ones.

        Parameters
        ----------
        function
            What does the work.
        query, result
            The query, and its hits.
        queries
            How many queries of the batch are left, this one included.
        """
        run = self._context.run
        # While many queries are left to align, each is work enough for one thread. The hits of the
        # last ones are cut finer, so that no thread idles at the end.
        threads = len(run.workers) + len(run.alignment_workers)
        idle = threads // max(1, queries)
        parts = split_hits(result, run.memory.max_alignment_cost, idle)
        works = [partial(function, result, hit_indices, self._context) for hit_indices in parts]
        self._stage.scheduler.add(
            *(Task(query, result.query.id, target_range=None, run=work) for work in works)
        )

    def wait(self) -> None:
        """Pass on the next report of a worker thread. See `BatchExecution.wait`."""
        report = self._stage.next_report(self._report_cells)
        if report is None:
            return
        task = report.attempt.task
        if isinstance(report.value, Scored):
            assert task.target_range is not None
            self._listener.add_scores(task.query, task.target_range, report.value)
            return
        self._listener.add_aligning(report.end - report.attempt.start)
        if isinstance(report.value, TracedFurther):
            self._listener.add_further(task.query, report.value)
        else:
            self._listener.add_alignments(task.query, report.value)

    def _report_cells(self, cells: int) -> None:
        """Tell the listener how many cells are new, of so many that are done."""
        self._listener.add_cells(cells - self._cells_reported)
        self._cells_reported = cells

    def __enter__(self) -> Self:
        self._stage.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stage.__exit__(kind, error, traceback)
        if error is None:
            run = self._context.run
            run.execution_log.learn(run.workers)


def align_hits(
    result: QueryResult,
    hit_indices: NDArray[np.int64],
    context: SearchContext,
    worker: Worker,
    progress: Progress,
) -> Traced:
    """Adjust and align some hits of a query; the work of an alignment task.

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
    targets = context.candidate_targets.codes(context.number_records(result, hit_indices))
    return align_candidates(
        result.query,
        targets,
        hit_indices,
        result.scores[hit_indices],
        result.frames[hit_indices],
        context.aligns_now(len(result)),
        context,
        progress,
    )


def _align_further(
    result: QueryResult,
    hit_indices: NDArray[np.int64],
    context: SearchContext,
    worker: Worker,
    progress: Progress,
) -> TracedFurther:
    """Find the further alignments of some hits; the work of a task, as that of `align_hits`."""
    return align_further_hits(result.subset(hit_indices), hit_indices, context, progress)
