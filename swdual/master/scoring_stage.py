"""Scoring: queries against targets, partitioned into tasks and run by the worker threads."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Self

import numpy as np

from swdual.backend import ResidentScorer
from swdual.database.target_range import Range
from swdual.master.candidates import Candidates, Scored, merge_candidates
from swdual.master.context import SearchContext
from swdual.master.partition import Partition, PartitionInput, partition_tasks
from swdual.master.ranges import TaskId
from swdual.master.task import Task
from swdual.master.work_stealing import WorkStealingScheduler
from swdual.master.worker_pool import AttemptReport, WorkerPool
from swdual.request.search_parameters import SearchParameters
from swdual.sequences.frames import frame_length
from swdual.sequences.sequence import Sequence as Query
from swdual.text.messages import pluralize

logger = logging.getLogger("swdual")

POLL_SECONDS = 0.1
"""How long the search waits for a report before it checks the workers and the progress."""


class ScoringStage:
    """Partitions a batch and runs it: partition -> submit -> reports, on worker threads.

    The thread of the search makes it, enters its ``with`` block, which starts the workers, and
    reads their reports.

    Parameters
    ----------
    queries
        The queries.
    numbers
        The number of each among all queries.
    context
        What all queries share.
    ranges
        The ranges, if a resumed search has cut them.
    done
        Tasks of these ranges that the resumed search has finished.
    within
        The targets to score against, if not all.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        numbers: Sequence[int],
        context: SearchContext,
        *,
        ranges: list[Range] | None = None,
        done: Collection[TaskId] = (),
        within: Range | None = None,
    ) -> None:
        self._queries = queries
        self._numbers = numbers
        self._context = context
        run = context.run
        workers, aligning = run.workers, run.alignment_workers
        given = PartitionInput(
            [frame_length(query) for query in queries],
            context.compared.database,
            [worker.device.kind for worker in workers],
            [worker.rates for worker in workers],
            run.planner,
            context.params.frame_count,
            context.compared.pairs.select(numbers),
            all(isinstance(x.scorer, ResidentScorer) and x.scorer.is_resident for x in workers),
        )
        self.partition: Partition = partition_tasks(
            given,
            failed_workers=run.failed_workers,
            ranges=ranges,
            done=done,
            max_range_cost=run.memory.max_range_cost,
            max_tasks=run.memory.max_tasks,
            within=within,
        )
        logger.debug(
            "plan (%s): %s in %s of targets, predicted %.3g s, lower bound %.3g s",
            self.partition.plan.planner,
            pluralize(len(self.partition.task_ids), "task", "tasks"),
            pluralize(len(self.partition.ranges), "range", "ranges"),
            self.partition.plan.makespan,
            self.partition.plan.lower_bound,
        )
        # Workers that only align are no part of the plan; their time to score is infinite.
        shape = len(aligning), len(self.partition.task_ids)
        self._seconds = np.vstack([self.partition.seconds, np.full(shape, np.inf)])
        self._overhead = np.vstack([self.partition.overhead, np.zeros(shape)])
        tasks = [self._make_task(number) for number in range(len(self.partition.task_ids))]
        plan = self.partition.plan
        queues = [[tasks[k] for k in each] for each in plan.queues]
        # Without queues the planner gives an order only: workers take tasks as they come free.
        common: list[Task] = []
        if plan.on_demand:
            common = [tasks[k] for k in np.argsort(plan.starts, kind="stable")]
            queues = [[] for _ in workers]
        everyone = [*workers, *aligning]
        self.scheduler = WorkStealingScheduler(everyone, queues, common, run.failed_workers)
        self._pool = WorkerPool(everyone, self.scheduler)

    @property
    def query_count(self) -> int:
        """The number of queries."""
        return len(self._queries)

    def _make_task(self, number: int) -> Task:
        """Return the task for entry `number` of the partition."""
        partition, context = self.partition, self._context
        query, range_number = partition.task_ids[number]
        sequence, target_range = self._queries[query], partition.ranges[range_number]
        about = sequence, self._numbers[query], target_range
        return Task(
            query,
            sequence.id,
            target_range,
            partial(context.score, *about),
            int(partition.cells[number]),
            self._seconds[:, number],
            partial(context.list_scoring_tasks, *about),
            self._overhead[:, number],
        )

    def __enter__(self) -> Self:
        queries = [self._numbers[task_id.query] for task_id in self.partition.task_ids]
        self._context.run.execution_log.begin(self.partition.plan, queries)
        self._pool.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.__exit__(*error)

    def next_report(self, progress: Callable[[int], None]) -> AttemptReport | None:
        """Return the next report of a finished task, or None if there is none for `POLL_SECONDS`.

        Parameters
        ----------
        progress
            Gets the cells done so far.

        Raises
        ------
        EngineError
            If tasks or workers fail too often.
        SwdualError, MemoryError
            The error of a task, if no other worker could do better.
        """
        try:
            report = self._pool.reports.get(timeout=POLL_SECONDS)
        except queue.Empty:
            self.scheduler.check_silent_workers()
            return None
        finally:
            progress(self.scheduler.cells_done)
        if isinstance(report, BaseException):
            raise report
        task = report.attempt.task
        length = len(self._queries[task.query].codes)
        self._context.run.execution_log.add(report, self._numbers[task.query], length)
        return report if report.outcome == "done" else None


def score_range(
    queries: Sequence[Query],
    numbers: Sequence[int],
    target_range: Range,
    context: SearchContext,
    progress: Callable[[int], None],
) -> list[Scored]:
    """Score some queries against one range with all workers, and return a result for each query.

    A node of a cluster runs it for each share that it gets.

    Parameters
    ----------
    queries, numbers
        The queries, and the number of each among all queries.
    target_range
        The targets.
    context
        What all queries share.
    progress
        Gets the cells done so far; may raise an exception to stop the work.

    Raises
    ------
    EngineError
        If tasks or workers fail too often.
    """
    parts: list[list[Scored]] = [[] for _ in queries]
    with ScoringStage(queries, numbers, context, within=target_range) as scoring:
        left = len(scoring.partition.task_ids)
        while left:
            report = scoring.next_report(progress)
            if report is not None:
                parts[report.attempt.task.query].append(report.value)
                left -= 1
    execution_log = context.run.execution_log
    execution_log.learn(context.run.workers)
    execution_log.forget()
    return [_merge_parts(part, context.params) for part in parts]


def _merge_parts(parts: Sequence[Scored], params: SearchParameters) -> Scored:
    """Return the result of several ranges as if they were one."""
    candidates: Candidates = merge_candidates(
        [part.candidates for part in parts], params.max_candidates, params.target_frame_count
    )
    counts = [part.histogram for part in parts if part.histogram is not None]
    return Scored(candidates, np.sum(counts, axis=0) if counts else None)
