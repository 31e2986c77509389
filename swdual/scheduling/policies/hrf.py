"""Highest revenue first: moldable jobs get processors where these shorten run times most.

Source: S. Wu, Q. Tuo, H. Jin, C. Yan, Q. Weng, "HRF: a resource allocation scheme for moldable
jobs" (Computing Frontiers 2015), algorithm 1. Each waiting job gets a processor, and whatever is
left of the budget goes one by one to the job that gains most by it. As printed, the first
processors do not count (``budget=extra``), and what no job gains by is handed out too
(``surplus=yes``); by default the first ones count, as in the paper's own example (section 4.1), and
what nobody gains by stays free for others. The limit of a job is the whole part of threshold by
processors, so that it is never above the threshold.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.runtime.jit import kernel
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._moldable import (
    BACKFILLING,
    JobSize,
    JobSizes,
    Moldable,
    list_all_sizes,
    list_useful_sizes,
)
from swdual.scheduling.policy import Option, View

OPTIONS = {
    "alpha": Option(
        1.0, "The budget: how many processors all waiting jobs get together, of the platform's."
    ),
    "threshold": Option(
        1.0, "How many processors a job gets at most, of the platform's: above 0 to 1."
    ),
    "budget": Option(
        "total",
        "What alpha limits: the total of the processors of waiting jobs; or the extra ones, beyond "
        "the first of each job, as algorithm 1 is printed.",
        ("total", "extra"),
    ),
    "surplus": Option(
        "no",
        "Whether the whole budget is handed out, one by one, also where no job gains by it, as "
        "algorithm 1 is printed.",
        ("no", "yes"),
    ),
    "backfilling": BACKFILLING,
    "renewal": Option(
        "instant",
        "When a changed queue gets new sizes: once an instant, before the first start, or also "
        "after each start.",
        ("instant", "start"),
    ),
    "adaptive": Option(
        "no",
        "Ours: alpha follows the load, it is waiting / (waiting + running + 1) jobs; all have "
        "equal claims to the platform, and so has the next one to come.",
        ("no", "yes"),
    ),
}

EXACT = 1e-9
"""By so much a product of a part and the processors may miss a whole number."""

MAX_VALUE = 2.0**62
"""A budget that is above all others."""


class Policy(Moldable):
    """Gives the waiting jobs new sizes whenever the queue has changed.

    The paper says so of each job that joins or leaves. By default that is seen once an instant:
    else a start would at once give those behind it sizes for which there is no room, and the
    paper's example would take 12.67 s instead of 9.
    """

    def __init__(
        self,
        platform: Platform,
        allocator: Allocator,
        alpha: float,
        threshold: float,
        budget: str,
        surplus: str,
        backfilling: str,
        renewal: str,
        adaptive: str,
    ) -> None:
        if not alpha >= 0:
            raise InputError(f"alpha is {alpha}, but it must be 0 or more")
        if not 0 < threshold <= 1:
            raise InputError(f"the threshold is {threshold}, but it must be above 0, and at most 1")
        given = math.floor(min(alpha * platform.processors + EXACT, MAX_VALUE))
        limit = math.floor(threshold * platform.processors + EXACT)
        choice = _Budget(
            platform.processors,
            None if adaptive == "yes" else given,
            limit,
            extra=budget == "extra",
            surplus=surplus == "yes",
            at_starts=renewal == "start",
        )
        super().__init__(choice, backfilling)


class _Budget:
    """Algorithm 1 for the waiting jobs: the budget goes step by step to the highest revenue.

    Parameters
    ----------
    processors
        Of the platform.
    budget
        Processors of all waiting jobs together; None: what follows from how many jobs there are.
    limit
        Processors of a job.
    extra
        Whether the first processor of each job does not count.
    surplus
        Whether the whole budget is handed out, one by one, also where nobody gains by it.
    at_starts
        Whether a start gives the others new sizes at once.
    """

    def __init__(
        self,
        processors: int,
        budget: int | None,
        limit: int,
        *,
        extra: bool,
        surplus: bool,
        at_starts: bool,
    ) -> None:
        self._processors = processors
        self._given = budget
        self._limit = limit
        self._extra = extra
        self._surplus = surplus
        self._at_starts = at_starts
        self._known: dict[int, JobSizes] = {}
        self._chosen: dict[int, JobSize] = {}
        self._changed = False

    def settle(self, view: View) -> None:
        """Choose new sizes if jobs were submitted, started or ended."""
        if view.submitted or self._changed or (self._given is None and view.ended):
            self._renew(view)

    def size(self, view: View, job: Job) -> JobSize:
        """Return a job's part of the budget; its smallest size if nothing was left to share."""
        return self._chosen.get(job.index) or self._sizes(view, job).find_fastest(1)

    def start(self, view: View, job: Job) -> bool:
        """Forget a job; choose the sizes of the others now or at the next instant."""
        self._known.pop(job.index, None)
        self._chosen.pop(job.index, None)
        self._changed = True
        if self._at_starts:
            self._renew(view)
        return self._at_starts

    @property
    def fixed(self) -> bool:
        """Sizes change with the queue."""
        return False

    def _sizes(self, view: View, job: Job) -> JobSizes:
        sizes = self._known.get(job.index)
        if sizes is None:
            listed = list_all_sizes if self._surplus else list_useful_sizes
            sizes = self._known[job.index] = listed(view.workload, job, self._processors)
        return sizes

    def _renew(self, view: View) -> None:
        self._changed = False
        self._chosen.clear()
        waiting, running = len(view.queue), len(view.running)
        budget = self._given
        if budget is None:
            budget = self._processors * waiting // (waiting + running + 1)
        if self._extra:
            budget += waiting
        # Each job needs a processor at least: of a longer queue none gets more.
        if not 0 < waiting < budget or self._limit <= 1:
            return
        jobs = view.queue.values()
        sizes = [self._sizes(view, job) for job in jobs]
        for job, known, index in zip(
            jobs, sizes, allocate(sizes, budget, self._limit).tolist(), strict=True
        ):
            self._chosen[job.index] = JobSize(
                int(known.processors[index]), float(known.requested_times[index])
            )


def allocate(sizes: Sequence[JobSizes], budget: int, limit: int) -> NDArray[np.int64]:
    """Return which of its sizes each job gets, by algorithm 1.

    Parameters
    ----------
    sizes
        Those of each job; it has the first one in any case.
    budget
        Processors of all jobs together.
    limit
        Processors of a job.
    """
    offsets = np.cumsum([0, *(len(known.processors) for known in sizes)])
    return _allocate(
        offsets,
        np.concatenate([known.processors for known in sizes]),
        np.concatenate([known.requested_times for known in sizes]),
        budget,
        limit,
    )


@kernel
def _allocate(
    offsets: NDArray[np.int64],
    processors: NDArray[np.int64],
    times: NDArray[np.float64],
    budget: int,
    limit: int,
) -> NDArray[np.int64]:
    """Take steps from a size to the next, those first that save most seconds per processor.

    Equal steps are taken in the order of the jobs.
    """
    sizes = offsets[:-1].copy()
    left = budget
    for size in sizes:
        left -= processors[size]
    # A heap of the next step of each job: (seconds per processor, which is below 0, and the job).
    steps = [(0.0, 0) for _ in range(0)]
    for job in range(len(sizes)):
        size = sizes[job]
        if size + 1 < offsets[job + 1]:
            extra = processors[size + 1] - processors[size]
            steps.append(((times[size + 1] - times[size]) / extra, job))
    heapq.heapify(steps)
    while len(steps) > 0 and left > 0:
        job = steps[0][1]
        size = sizes[job]
        extra = processors[size + 1] - processors[size]
        if extra > left or processors[size + 1] > limit:
            heapq.heappop(steps)
            continue
        left -= extra
        size += 1
        sizes[job] = size
        if size + 1 < offsets[job + 1]:
            extra = processors[size + 1] - processors[size]
            heapq.heapreplace(steps, ((times[size + 1] - times[size]) / extra, job))
        else:
            heapq.heappop(steps)
    return sizes - offsets[:-1]
