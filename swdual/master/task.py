"""Jobs: what a worker is asked to do, and its turns at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.backend import ScoringTask
from swdual.master.ranges import Range
from swdual.master.worker import Worker

Progress = Callable[[int], None]
"""Called by a job with what it did since the last call; raises where the job is to be given up."""


class Stopped(Exception):
    """Raised inside a job that is to be given up because the search ends."""


class Superseded(Exception):
    """Raised inside a job that another worker has done meanwhile."""


@dataclass(eq=False)
class Job:
    """Something to do.

    Parameters
    ----------
    query, name
        The query's number among those searched together, and its identifier.
    place
        The range that it is scored against; None if it is aligned.
    run
        Does it, on a worker.
    cells
        Its size, as the progress of the search counts it.
    seconds
        (workers,) what each would need, infinite where it cannot; None if nobody knows.
    tasks
        What a scorer will be called with, for those that work ahead.
    besides
        (workers,) the part of `seconds` that does not depend on how fast cells are.
    """

    query: int
    name: str
    place: Range | None
    run: Callable[[Worker, Progress], Any]
    cells: int = 0
    seconds: NDArray[np.float64] | None = None
    tasks: tuple[ScoringTask, ...] = ()
    besides: NDArray[np.float64] | None = None
    done: bool = False
    failed_on: list[int] = field(default_factory=list)

    def able(self, worker: int) -> bool:
        """Return whether a worker can do it."""
        return self.seconds is None or bool(np.isfinite(self.seconds[worker]))

    def cost(self, worker: int) -> float:
        """Return the predicted seconds on a worker; 0 if nobody knows."""
        return 0.0 if self.seconds is None else float(self.seconds[worker])

    def __str__(self) -> str:
        if self.place is None:
            return f"aligning the hits of query {self.name}"
        block, first, last, *_ = self.place
        return f"scoring query {self.name} against targets {first} to {last - 1} of block {block}"


@dataclass(eq=False)
class TaskAttempt:
    """One go of a worker at a job, the cells it has told, and when; by `time.perf_counter`.

    For `silent` seconds nothing was told after `heard`.
    """

    worker: int
    job: Job
    start: float
    cells: int = 0
    told: float = 0.0
    superseded: bool = False
    heard: float = 0.0
    silent: float = 0.0
