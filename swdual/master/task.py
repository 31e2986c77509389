"""Tasks: one query to score against a range of targets, or some of its hits to align."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.backend import ScoringTask
from swdual.database.target_range import Range
from swdual.master.worker import Worker

Progress = Callable[[int], None]
"""A task calls it with the cells done since the last call. It raises an exception to end the task.
"""


class Stopped(Exception):
    """Raised inside a task because the whole search ends."""


class Superseded(Exception):
    """Raised inside a task because another worker has finished it."""


@dataclass(eq=False)
class Task:
    """One unit of work for one worker; the scheduler hands it out, a worker thread runs it.

    Parameters
    ----------
    query, name
        The query's number in its batch, and its identifier.
    target_range
        The targets to score the query against; None for a task that aligns hits.
    run
        Does the work on a worker, and returns its result.
    cells
        Size in cells, as the progress bar counts them; 0 for alignments.
    seconds
        (workers,) predicted run time on each worker, infinite where it cannot run; None if
        unknown.
    hints
        Returns the calls of the scorer that the task will make, for a scorer that prefetches.
    overhead
        (workers,) the part of `seconds` that does not depend on the speed of cells.
    done
        Whether one attempt has finished the task.
    failed_on
        The numbers of the workers on which an attempt failed, one entry for each failure.
    """

    query: int
    name: str
    target_range: Range | None
    run: Callable[[Worker, Progress], Any]
    cells: int = 0
    seconds: NDArray[np.float64] | None = None
    hints: Callable[[], Sequence[ScoringTask]] = tuple
    overhead: NDArray[np.float64] | None = None
    done: bool = False
    failed_on: list[int] = field(default_factory=list)

    def able(self, worker: int) -> bool:
        """Return whether a worker can run the task."""
        return self.seconds is None or bool(np.isfinite(self.seconds[worker]))

    def cost(self, worker: int) -> float:
        """Return the predicted seconds on a worker; 0 if unknown."""
        return 0.0 if self.seconds is None else float(self.seconds[worker])

    def __str__(self) -> str:
        if self.target_range is None:
            return f"aligning the hits of query {self.name}"
        block, first, last, *_ = self.target_range
        return f"scoring query {self.name} against targets {first} to {last - 1} of block {block}"


@dataclass(eq=False)
class TaskAttempt:
    """One attempt of one worker at a task. Two workers may attempt the same task at once.

    All times are those of `time.perf_counter`.

    Parameters
    ----------
    worker, task
        The number of the worker, and the task.
    start
        When the attempt began.
    cells
        Cells that the worker has reported so far.
    last_progress
        When it last reported cells; 0 before the first report.
    superseded
        Whether the attempt is to end, because its result is no longer needed.
    last_checked
        The value of `last_progress` at the scheduler's last check.
    silent
        Seconds since then without progress, not counting time in which this process was suspended.
    """

    worker: int
    task: Task
    start: float
    cells: int = 0
    last_progress: float = 0.0
    superseded: bool = False
    last_checked: float = 0.0
    silent: float = 0.0
