"""The worker pool: one thread for each worker runs the tasks that the scheduler hands out."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple

from swdual.backend import PrefetchingScorer
from swdual.errors import DeviceMemoryError
from swdual.master.calibration import choose_clock
from swdual.master.task import Stopped, Superseded, TaskAttempt
from swdual.master.work_stealing import WorkStealingScheduler
from swdual.master.worker import ScoringWorker, Worker

STOP_SECONDS = 1.0
"""How long the pool waits for its threads when the search ends."""


class AttemptReport(NamedTuple):
    """The end of one attempt; a worker thread makes it, the thread of the search reads it.

    Parameters
    ----------
    attempt
        The attempt.
    end
        When it ended, by `time.perf_counter`.
    outcome
        "done" (with a value), "failed" or "superseded".
    value
        What the task returned.
    seconds
        How long the worker itself computed, by `swdual.master.calibration.choose_clock`.
    """

    attempt: TaskAttempt
    end: float
    outcome: str
    value: Any = None
    seconds: float = math.nan


class WorkerPool:
    """The worker threads of one batch; the thread of the search enters and leaves it.

    Leaving the ``with`` block stops the threads. A thread in a long computation ends after it.

    The threads and the search share two objects only. Threads take tasks from the scheduler, whose
    lock protects all of its state. They put reports, or the error that ends the search, into
    `reports`, a queue that needs no lock: many threads put, only the search gets.

    Parameters
    ----------
    workers
        One thread is started for each.
    scheduler
        Where the threads get their tasks.
    """

    def __init__(self, workers: Sequence[Worker], scheduler: WorkStealingScheduler) -> None:
        self.reports: SimpleQueue[AttemptReport | BaseException] = SimpleQueue()
        self._scheduler = scheduler
        self._threads = [
            threading.Thread(
                target=self._work, args=(worker,), name=f"swdual {worker.name}", daemon=True
            )
            for worker in workers
        ]

    def __enter__(self) -> WorkerPool:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._scheduler.stop()
        # The threads are daemons: one that does not end in time does not keep the process alive.
        # The command line then ends the process at once, by the names of the threads.
        deadline = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self, worker: Worker) -> None:
        """Run tasks until the scheduler has no more; the body of a worker thread."""
        try:
            while (attempt := self._scheduler.take(worker.number)) is not None:
                self._run_attempt(worker, attempt)
        except Stopped:
            return
        except BaseException as error:
            # An exception would end this thread unseen. The search raises it in its own thread.
            self.reports.put(error)

    def _run_attempt(self, worker: Worker, attempt: TaskAttempt) -> None:
        """Run one attempt and report on it.

        The scheduler hears of the end before or after the report, as follows. A failure is reported
        first: `fail` may raise the error that ends the search, which then comes last in the queue.
        A success is noted first: `finish` decides whose value counts if two workers ran the task.

        Raises
        ------
        Exception
            Whatever ends the search.
        """
        scheduler, clock = self._scheduler, choose_clock(worker.device.kind)
        started = clock()
        try:
            scorer = worker.scorer if isinstance(worker, ScoringWorker) else None
            if isinstance(scorer, PrefetchingScorer):
                upcoming = scheduler.list_upcoming(attempt)
                scorer.prefetch([hint for task in upcoming for hint in task.hints()])
            value = attempt.task.run(worker, partial(scheduler.report_progress, attempt))
        except Stopped:
            raise
        except Superseded:
            scheduler.give_up(attempt)
            self.reports.put(AttemptReport(attempt, time.perf_counter(), "superseded"))
        except BaseException as error:
            self.reports.put(AttemptReport(attempt, time.perf_counter(), "failed"))
            lost = isinstance(error, DeviceMemoryError) or not isinstance(error, Exception)
            scheduler.fail(attempt, error, dead=lost)
        else:
            seconds = clock() - started
            outcome = "done" if scheduler.finish(attempt) else "superseded"
            self.reports.put(AttemptReport(attempt, time.perf_counter(), outcome, value, seconds))
