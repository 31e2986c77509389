"""List scheduling: tasks in some order, each to the worker that would finish it first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.planning.instance import Instance
from swdual.planning.planner import Assignment
from swdual.runtime.native import native


def list_schedule(
    instance: Instance,
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    stop: NDArray[np.int64],
    *,
    free_first: bool = False,
) -> Assignment:
    """Give each task to the worker that would finish it first; ties go to the lowest number.

    Parameters
    ----------
    instance
        Tasks and workers.
    order
        All tasks, in the order in which they are placed.
    first, stop
        (tasks,) task j may go to the workers from ``first[j]`` to ``stop[j] - 1``.
    free_first
        Give each task to the worker that is free first instead.
    """
    workers = np.empty(len(instance), np.int64)
    starts, ends = np.empty(len(instance)), np.empty(len(instance))
    _assign_tasks(
        order,
        first,
        stop,
        np.ascontiguousarray(instance.cpu_times),
        np.ascontiguousarray(instance.gpu_times),
        instance.speeds,
        len(instance.cpu_speeds),
        free_first,
        np.zeros(len(instance.speeds)),
        workers,
        starts,
        ends,
    )
    return Assignment(workers, starts, ends)


def schedule_on_all_workers(
    instance: Instance, order: NDArray[np.int64], *, free_first: bool = False
) -> Assignment:
    """List-schedule tasks over all workers that can run them.

    Parameters
    ----------
    instance
        Tasks and workers.
    order
        All tasks, in the order in which they are placed.
    free_first
        As for `list_schedule`.
    """
    first = np.zeros(len(instance), np.int64)
    stop = np.full(len(instance), len(instance.kinds))
    return list_schedule(instance, order, first, stop, free_first=free_first)


def schedule_on_one_kind(instance: Instance, kind: str) -> Assignment:
    """List-schedule all tasks on the workers of one kind, longest task first.

    Parameters
    ----------
    instance
        Tasks and workers.
    kind
        "cpu" or "gpu".

    Raises
    ------
    InputError
        If there is no worker of this kind, or a task cannot run on it.
    """
    times = instance.cpu_times if kind == "cpu" else instance.gpu_times
    if kind not in instance.kinds:
        raise InputError(f"the planner {kind}_only needs a {kind.upper()}; choose another planner")
    impossible = np.flatnonzero(np.isinf(times))
    if len(impossible):
        raise InputError(
            f"task {impossible[0]} cannot run on a {kind.upper()}, so {kind}_only cannot plan; "
            "choose another planner"
        )
    allocations = Allocations(instance)
    allocations.offer(np.full(len(instance), kind == "gpu"))
    return allocations.schedule()


class Allocations:
    """The best of several allocations of the tasks to the two kinds, under list scheduling."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.makespan = np.inf
        self.on_gpu = np.zeros(len(instance), np.bool_)
        self._longest_on_cpu = np.argsort(-instance.cpu_times, kind="stable")
        self._longest_on_gpu = np.argsort(-instance.gpu_times, kind="stable")

    def offer(self, on_gpu: NDArray[np.bool_]) -> None:
        """Keep an allocation if it is the best so far.

        Parameters
        ----------
        on_gpu
            (tasks,) whether the task goes to the GPUs; each must go where it can run.
        """
        instance = self.instance
        cpu_tasks, gpu_tasks = self._split_tasks(on_gpu)
        sides = (
            (instance.cpu_times[cpu_tasks], instance.cpu_speeds),
            (instance.gpu_times[gpu_tasks], instance.gpu_speeds),
        )
        # Most allocations are ruled out without a schedule.
        if max(_trivial_bound(*side) for side in sides) >= self.makespan:
            return
        makespan = max(_makespan(times, speeds, np.zeros(len(speeds))) for times, speeds in sides)
        if makespan < self.makespan:
            self.makespan = makespan
            self.on_gpu = on_gpu

    def schedule(self) -> Assignment:
        """Return the schedule of the best: each side longest task first (LPT)."""
        on_gpu = self.on_gpu
        cpus, workers = len(self.instance.cpu_speeds), len(self.instance.kinds)
        return list_schedule(
            self.instance,
            np.concatenate(self._split_tasks(on_gpu)),
            np.where(on_gpu, cpus, 0),
            np.where(on_gpu, workers, cpus),
        )

    def _split_tasks(
        self, on_gpu: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the tasks of the CPUs and those of the GPUs, each longest first."""
        return (
            self._longest_on_cpu[~on_gpu[self._longest_on_cpu]],
            self._longest_on_gpu[on_gpu[self._longest_on_gpu]],
        )


def _trivial_bound(descending: NDArray[np.float64], speeds: NDArray[np.float64]) -> float:
    """Return what one kind needs at least: the mean load, or its longest task on its fastest."""
    if len(descending) == 0:
        return 0.0
    return max(float(descending.sum() / speeds.sum()), float(descending[0] / speeds.max()))


@native
def _makespan(
    times: NDArray[np.float64], speeds: NDArray[np.float64], free: NDArray[np.float64]
) -> float:
    """Return the makespan that `_assign_tasks` gives the tasks of one kind.

    `free` holds when each worker is free, at first 0; it is changed.
    """
    for time in times:
        earliest = np.inf
        chosen = 0
        for worker in range(len(speeds)):
            end = free[worker] + time / speeds[worker]
            if end < earliest:
                earliest, chosen = end, worker
        free[chosen] = earliest
    longest = 0.0
    for end in free:
        longest = max(longest, end)
    return longest


@native
def _assign_tasks(
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    stop: NDArray[np.int64],
    cpu_times: NDArray[np.float64],
    gpu_times: NDArray[np.float64],
    speeds: NDArray[np.float64],
    cpus: int,
    free_first: bool,
    free: NDArray[np.float64],
    workers: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    """Give each task in order to the worker that would end it first: see `list_schedule`.

    `free` holds when each worker is free, at first 0; `workers`, `starts` and `ends` receive the
    schedule.
    """
    # Invariant: free[w] is the end of the last task of worker w. A task goes behind it, never into
    # a gap, so a worker's tasks are in the order of the list. Ties go to the lowest worker (<).
    #
    #     worker 0  |== a ==|=== d ===|
    #     worker 1  |=== b ===|            next task e: ends at free[w] + time / speed[w],
    #     worker 2  |====== c ======|      here soonest on worker 1
    for task in order:
        earliest = np.inf
        for worker in range(first[task], stop[task]):
            time = cpu_times[task] if worker < cpus else gpu_times[task]
            end = free[worker] + time / speeds[worker]
            wait = free[worker] if free_first and end < np.inf else end
            if wait < earliest:
                earliest = wait
                workers[task] = worker
                starts[task] = free[worker]
                ends[task] = end
        free[workers[task]] = ends[task]
