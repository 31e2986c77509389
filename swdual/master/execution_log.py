"""The execution log of a search: plans, times of attempts, and corrected rates."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from swdual.master.calibration_cache import CalibrationCache
from swdual.master.devices import device_mix
from swdual.master.worker import ScoringWorker
from swdual.master.worker_pool import AttemptReport
from swdual.planning.planner import Plan
from swdual.planning.timeline import Planned, Span, Timeline


class ExecutionLog:
    """Plans and times of one search; only the thread of the search calls it.

    Parameters
    ----------
    names
        The names of the workers, those that score first.
    book
        Where corrected rates are stored; None if nothing was calibrated.
    predicting
        Whether plans rest on calibrated rates; by default if there is a `book`.
    """

    def __init__(
        self,
        names: Sequence[str],
        book: CalibrationCache | None = None,
        predicting: bool | None = None,
    ) -> None:
        self.timeline = Timeline(names)
        self.plans: list[Planned] = []
        self._book = book
        self._predicting = book is not None if predicting is None else predicting
        self._began: float | None = None
        self._seen: list[list[tuple[float, float, float, float]]] = [[] for _ in names]

    def begin(self, plan: Plan, queries: Sequence[int]) -> None:
        """Note that workers now begin with a plan.

        Parameters
        ----------
        plan
            Without calibrated rates it predicts nothing and is not stored.
        queries
            (tasks,) the number of each task's query in the search.
        """
        now = time.perf_counter()
        if self._began is None:
            self._began = now
        if self._predicting:
            self.plans.append(Planned(now - self._began, plan, np.array(queries, np.int64)))

    @property
    def elapsed(self) -> float:
        """Seconds since the first plan; 0 before."""
        return 0.0 if self._began is None else time.perf_counter() - self._began

    def add(self, report: AttemptReport, query: int, length: int) -> None:
        """Note how an attempt went.

        Parameters
        ----------
        report
            The attempt, its outcome and its times.
        query, length
            The number of its query in the search, and that query's residues.
        """
        attempt, task = report.attempt, report.attempt.task
        began = self._began or 0.0
        predicted = math.nan
        if self._predicting and task.seconds is not None:
            predicted = float(task.seconds[attempt.worker])
        activity = report.outcome
        if activity == "done":
            activity = "align" if task.target_range is None else "score"
        if activity == "score" and task.overhead is not None:
            overhead = float(task.overhead[attempt.worker])
            self._seen[attempt.worker].append((length, predicted, overhead, report.seconds))
        block, first, last = (-1, -1, -1)
        if task.target_range is not None:
            block, first, last = (
                task.target_range.block,
                task.target_range.first,
                task.target_range.last - 1,
            )
        times = attempt.start - began, report.end - began
        span = Span(
            attempt.worker, activity, query, block, first, last, *times, task.cells, predicted
        )
        self.timeline.add(span)

    def forget(self) -> None:
        """Drop plans and times, but keep what corrects the rates."""
        self.timeline = Timeline(self.timeline.workers)
        self.plans.clear()

    def learn(self, workers: Sequence[ScoringWorker]) -> None:
        """Correct the rates of the workers by the run times since the last call."""
        if self._book is None:
            return
        for name in dict.fromkeys(worker.device.rates_name for worker in workers):
            mine = [worker for worker in workers if worker.device.rates_name == name]
            rows = [row for worker in mine for row in self._seen[worker.number]]
            # GPUs of one model have equal rates, each its own, and all learn the same.
            for rates in {id(worker.rates): worker.rates for worker in mine}.values():
                rates.learn(*np.array(rows).reshape(-1, 4).T)
            together = device_mix(worker.device for worker in workers)
            self._book.keep(name, together, mine[0].rates)
        self._seen = [[] for _ in workers]
        self._book.save()
