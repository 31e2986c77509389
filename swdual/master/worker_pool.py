"""The worker pool: a thread for each worker does what the scheduler says, and reports on it."""

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
from swdual.master.cost import clock_of
from swdual.master.task import Stopped, Superseded, TaskAttempt
from swdual.master.work_stealing import WorkStealingScheduler
from swdual.master.worker import Worker

STOP_SECONDS = 1.0
"""How long workers that were told to stop are waited for."""


class Report(NamedTuple):
    """How a turn ended: "done" with a value, "failed" or "superseded".

    The worker itself was busy with it for `seconds`, by `swdual.master.cost.clock_of`.
    """

    attempt: TaskAttempt
    end: float
    outcome: str
    value: Any = None
    seconds: float = math.nan


class WorkerPool:
    """Worker threads; leaving the ``with`` block ends them all.

    A worker that is in the middle of a long computation is not waited for: it ends after it.

    What comes of each turn, or an error that ends the search, comes out of `reports` in the order
    in which they end.
    """

    def __init__(self, workers: Sequence[Worker], scheduler: WorkStealingScheduler) -> None:
        self.reports: SimpleQueue[Report | BaseException] = SimpleQueue()
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
        deadline = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self, worker: Worker) -> None:
        try:
            while (attempt := self._scheduler.take(worker.number)) is not None:
                self._do(worker, attempt)
        except Stopped:
            return
        except BaseException as error:
            self.reports.put(error)

    def _do(self, worker: Worker, attempt: TaskAttempt) -> None:
        """Do one turn; whatever ends the search gets out."""
        scheduler, clock = self._scheduler, clock_of(worker.device.kind)
        started = clock()
        try:
            if isinstance(worker.scorer, PrefetchingScorer):
                worker.scorer.prefetch(
                    [task for job in scheduler.upcoming(attempt) for task in job.tasks]
                )
            value = attempt.job.run(worker, partial(scheduler.progressed, attempt))
        except Stopped:
            raise
        except Superseded:
            scheduler.given_up(attempt)
            self.reports.put(Report(attempt, time.perf_counter(), "superseded"))
        except BaseException as error:
            self.reports.put(Report(attempt, time.perf_counter(), "failed"))
            lost = isinstance(error, DeviceMemoryError) or not isinstance(error, Exception)
            scheduler.failed(attempt, error, dead=lost)
        else:
            seconds = clock() - started
            outcome = "done" if scheduler.finished(attempt) else "superseded"
            self.reports.put(Report(attempt, time.perf_counter(), outcome, value, seconds))
