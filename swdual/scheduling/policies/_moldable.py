"""Moldable jobs: which job starts when, once a policy has chosen their sizes.

First come, first served, or with aggressive backfilling, as EASY does: the head of the queue has a
reservation by its present size, and others start if they do not delay it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.runtime.jit import kernel
from swdual.scheduling.job import Job
from swdual.scheduling.placing import reason_to_wait, start_now
from swdual.scheduling.policies._waiting import MIN_COLUMNS, WaitingColumns
from swdual.scheduling.policy import Option, Start, View
from swdual.scheduling.shadow import LatestEnds
from swdual.scheduling.workload.workload import Workload
from swdual.text.messages import pluralize

JOBS = "moldable"

BACKFILLING = Option(
    "aggressive",
    "Whether later jobs may start if they do not delay the head of the queue.",
    ("none", "aggressive"),
)


class JobSize(NamedTuple):
    """How many processors a job is to get, and the seconds that it then requests."""

    processors: int
    requested_time: float


FASTER = 1 - 1e-12
"""A size is faster than another one if it takes at most this part of its time: the flat end of a
speed-up has rounding errors of a few units in the last place."""


class JobSizes(NamedTuple):
    """Sizes of a job, from the smallest on.

    Parameters
    ----------
    processors
        (sizes,) ascending.
    requested_times
        (sizes,) of the useful sizes descending: each is faster than all before.
    """

    processors: NDArray[np.int64]
    requested_times: NDArray[np.float64]

    def find_fastest(self, max_processors: float = math.inf) -> JobSize:
        """Return the fastest size of at most so many processors, or else the smallest size."""
        index = max(0, int(np.searchsorted(self.processors, max_processors, "right")) - 1)
        return JobSize(int(self.processors[index]), float(self.requested_times[index]))

    @property
    def sequential_time(self) -> float:
        """Seconds on one processor; of a job that needs more, processors by seconds."""
        return float(self.processors[0] * self.requested_times[0])


def list_useful_sizes(workload: Workload, job: Job, max_processors: int) -> JobSizes:
    """Return the sizes of a job up to a number of processors that are faster than all smaller ones.

    Parameters
    ----------
    workload
        Its jobs, with their speed-up.
    job, max_processors
        One of them, and the largest size.

    Raises
    ------
    InputError
        If the jobs are rigid.
    """
    ratios = _ratios(workload, job, max_processors)
    faster = _find_faster(ratios)
    return JobSizes(faster + 1, job.requested_time * ratios[faster])


@kernel
def _find_faster(times: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return where times are below the last one that was found, and not by rounding alone."""
    found = np.empty(len(times), np.int64)
    count = 0
    fastest = np.inf
    for place in range(len(times)):
        if times[place] < FASTER * fastest:
            found[count] = place
            count += 1
            fastest = times[place]
    return found[:count].copy()


def list_all_sizes(workload: Workload, job: Job, max_processors: int) -> JobSizes:
    """Return all sizes on which a job can run; what rounding alone makes faster is as fast.

    For parameters and errors see `list_useful_sizes`.
    """
    ratios = _ratios(workload, job, max_processors)
    first = int(np.isfinite(ratios).argmax())
    ratios = ratios[first:]
    larger, smaller = np.maximum(ratios[1:], ratios[:-1]), np.minimum(ratios[1:], ratios[:-1])
    differs = np.append(True, smaller < FASTER * larger)
    # Each size takes the time of the last one that differs from the size before.
    ratios = ratios[np.maximum.accumulate(np.where(differs, np.arange(len(ratios)), 0))]
    return JobSizes(np.arange(first + 1, max_processors + 1), job.requested_time * ratios)


def _ratios(workload: Workload, job: Job, max_processors: int) -> NDArray[np.float64]:
    """Return (max_processors,) the run times of a job over that on the size that it asks for."""
    if workload.speedup is None:
        count = pluralize(job.processors, "processor", "processors")
        raise InputError(
            f"job {job.number} runs on {count} only, but this policy is for moldable jobs; make "
            "some of the jobs by swdual.scheduling.workload.moldable"
        )
    run_times = workload.speedup.run_times(job.index, max_processors)
    return run_times / workload.speedup.run_time(job.index, job.processors)


class Choice(Protocol):
    """Chooses the sizes of waiting jobs."""

    def settle(self, view: View) -> None:
        """Update to an instant: jobs that were submitted, and that ended."""
        ...

    def size(self, view: View, job: Job) -> JobSize:
        """Return the size of a waiting job, if it started now.

        Parameters
        ----------
        view, job
            The present instant, and a waiting job.
        """
        ...

    def start(self, view: View, job: Job) -> bool:
        """Note a start; return whether other jobs have another size from now on.

        Parameters
        ----------
        view, job
            The present instant, and the job that has just started.
        """
        ...

    @property
    def fixed(self) -> bool:
        """Whether a waiting job always keeps its size."""
        ...


class Moldable:
    """Starts jobs in the sizes that a `Choice` gives them.

    Parameters
    ----------
    choice
        What chooses the sizes.
    backfilling
        "none" or "aggressive".
    """

    def __init__(self, choice: Choice, backfilling: str) -> None:
        self._choice = choice
        self._backfilling = backfilling == "aggressive"
        self._latest_ends = LatestEnds()
        self._waiting = WaitingColumns()  # where sizes stay

    def decide(self, view: View) -> Iterator[Start]:
        """Yield the jobs that start now."""
        for ended in view.ended:
            self._latest_ends.remove(ended.latest_end, ended.job.index)
        self._choice.settle(view)
        if self._backfilling and self._choice.fixed:
            for job in view.submitted:
                self._waiting.add(job.index, *self._choice.size(view, job))
        again = True
        while again:
            again = False
            for start in self._pass(view):
                yield start
                self._note_start(view, start.job)
                again = self._choice.start(view, start.job)
                if again:
                    break
        if view.watching:
            self._explain(view)

    def _pass(self, view: View) -> Iterator[Start]:
        """Yield starts by the present sizes."""
        queue = view.queue
        head_size = JobSize(0, 0.0)
        while queue:
            head = next(iter(queue.values()))
            head_size = self._choice.size(view, head)
            start = start_now(view, head, width=head_size.processors)
            if start is None:
                break
            view.note(head, f"started on {head_size.processors:,} processors as the head")
            yield start
        if not queue or not self._backfilling:
            return
        if not view.free_count and not self._choice.fixed:
            return
        shadow, extra = self._latest_ends.find_shadow_time(head_size.processors, view.free_count)
        if self._choice.fixed and not view.allocator.FORCED:
            view.promise(head, shadow)
        for job in self._list_candidates(view, shadow, extra):
            if not view.free_count:
                break
            if job is head or job.index not in queue:
                continue
            count, requested_time = self._choice.size(view, job)
            beyond = view.now + requested_time > shadow
            if count > view.free_count or (beyond and count > extra):
                continue
            start = start_now(view, job, backfilled=True, width=count)
            if start is not None:
                extra -= count * beyond
                view.note(job, f"backfilled on {count:,} processors: does not delay the head")
                yield start

    def _list_candidates(self, view: View, shadow: float, extra: int) -> Sequence[Job]:
        """Return the waiting jobs, without some that would have no room."""
        if not self._choice.fixed:
            return list(view.queue.values())
        # Where sizes stay and nothing ended, what waited before finds no more room than then.
        if not view.ended:
            return list(view.submitted)
        if len(view.queue) < MIN_COLUMNS:
            return list(view.queue.values())
        fitting = self._waiting.fit_around_head(
            view.now, view.free_count, shadow, extra, in_turn=not view.allocator.FORCED
        )
        return [view.queue[index] for index in fitting]

    def _note_start(self, view: View, job: Job) -> None:
        if self._backfilling and self._choice.fixed:
            self._waiting.remove(job.index)
        running = view.running[job.index]
        count = int((running.processors[:, 1] - running.processors[:, 0]).sum())
        self._latest_ends.add(running.latest_end, job.index, count)

    def _explain(self, view: View) -> None:
        for ahead, job in enumerate(view.queue.values()):
            count = self._choice.size(view, job).processors
            if ahead and not self._backfilling:
                view.note(job, f"{pluralize(ahead, 'job is', 'jobs are')} before it in the queue")
            elif ahead and count <= view.free_count:
                view.note(job, f"not backfilled on {count:,} processors: would delay the head")
            else:
                where = "not backfilled" if ahead else "head of the queue"
                view.note(job, f"{where}: {reason_to_wait(view, job, count)}")


class AtSubmission:
    """Chooses a size when a job is submitted.

    Parameters
    ----------
    choose
        Returns a job's size.
    """

    def __init__(self, choose: Callable[[View, Job], JobSize]) -> None:
        self._choose = choose
        self._chosen: dict[int, JobSize] = {}

    def settle(self, view: View) -> None:
        """Choose the sizes of the jobs submitted now."""
        for job in view.submitted:
            self._chosen[job.index] = self._choose(view, job)

    def size(self, view: View, job: Job) -> JobSize:
        """Return the size that was chosen: see `Choice.size`."""
        return self._chosen[job.index]

    def start(self, view: View, job: Job) -> bool:
        """Forget a job that starts; no other size changes: see `Choice.start`."""
        del self._chosen[job.index]
        return False

    @property
    def fixed(self) -> bool:
        """Sizes stay."""
        return True


WEIGHTS: dict[str, Callable[[float], float]] = {
    "sequential_time": float,
    "root": math.sqrt,
    "equal": lambda sequential_time: 1.0,
}
"""What a job's share of the processors is proportional to, by its sequential time."""

WEIGHT = Option(
    "sequential_time",
    "What a job's share of the processors is proportional to: its sequential time, the square "
    "root of it, or nothing.",
    tuple(WEIGHTS),
)


class Shares:
    """The shares of the waiting and running jobs in the platform, by their weights.

    The share of a job is its part of the sum of all weights, rounded to whole processors, and no
    less than one. The papers only say that weights are sequential run times: this is ours.

    Parameters
    ----------
    processors
        Of the platform.
    weight
        One of `WEIGHTS`, or a function of the sequential time.
    """

    def __init__(self, processors: int, weight: str | Callable[[float], float]) -> None:
        self._processors = processors
        self._weight = WEIGHTS[weight] if isinstance(weight, str) else weight
        self._weights: dict[int, float] = {}
        self._sizes: dict[int, JobSizes] = {}
        self._total = 0.0

    def settle(self, view: View) -> None:
        """Add the weights of submitted jobs, and remove those of ended ones."""
        for ended in view.ended:
            del self._weights[ended.job.index]
        for job in view.submitted:
            sizes = list_useful_sizes(view.workload, job, self._processors)
            weight = self._weight(sizes.sequential_time)
            if not 0 <= weight < math.inf:
                raise InputError(f"the weight of job {job.number} is {weight}; choose another one")
            self._sizes[job.index], self._weights[job.index] = sizes, weight
        if view.ended or view.submitted:
            # Anew and exactly: a running total drifts, so that exact halves would be rounded down.
            self._total = math.fsum(self._weights.values())

    def size(self, job: Job) -> JobSize:
        """Return a job's fastest size within its present share."""
        share = 1.0
        if self._total > 0:
            share = self._processors * self._weights[job.index] / self._total
        return self._sizes[job.index].find_fastest(max(1, round(share)))

    def start(self, job: Job) -> None:
        """Forget the sizes of a job that starts; its weight counts until it ends."""
        del self._sizes[job.index]
