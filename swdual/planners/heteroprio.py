"""HeteroPrio: one list by acceleration ratio, GPUs take from its high end, CPUs from its low end.

Beaumont, Cojean, Eyraud-Dubois, Guermouche and Kumar (IPDPS 2017). With equal speeds within each
kind the makespan is at most 1.618 (phi) times the best for one CPU and one GPU, 1 + phi for one
GPU and several CPUs, and 2 + sqrt 2 in general.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.planning.instance import Instance
from swdual.planning.planner import Assignment
from swdual.runtime.jit import kernel


def assign(instance: Instance) -> Assignment:
    """Return the schedule; idle workers with nothing left spoliate.

    That is: of the tasks that run on the other kind, the one that ends last first, they take over
    one that they would finish earlier. It starts anew there, and its first worker is idle. The
    schedule holds the last run of each task only.
    """
    p, q = instance.cpu_times, instance.gpu_times
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where((p == 0) & (q == 0), 1.0, p / q)
    # Tasks that fit one kind only lie at the very ends.
    order = np.lexsort((ratios, np.isinf(p).astype(np.int64) - np.isinf(q)))
    workers = np.empty(len(instance), np.int64)
    starts, ends = np.empty(len(instance)), np.empty(len(instance))
    _simulate(
        order,
        np.ascontiguousarray(p),
        np.ascontiguousarray(q),
        instance.speeds,
        len(instance.cpu_speeds),
        workers,
        starts,
        ends,
    )
    return Assignment(workers, starts, ends)


@kernel
def _simulate(
    order: NDArray[np.int64],
    cpu_times: NDArray[np.float64],
    gpu_times: NDArray[np.float64],
    speeds: NDArray[np.float64],
    cpus: int,
    workers: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    """Let the worker that is free first act, the lowest number of several, until all rest."""
    count = len(speeds)
    free = np.zeros(count)
    running = np.full(count, -1)
    resting = np.zeros(count, np.bool_)
    low, high = 0, len(order)
    while True:
        worker = -1
        for other in range(count):
            if not resting[other] and (worker < 0 or free[other] < free[worker]):
                worker = other
        if worker < 0:
            return
        now = free[worker]
        times = cpu_times if worker < cpus else gpu_times
        task = victim = -1
        if low < high:
            task = order[low] if worker < cpus else order[high - 1]
            if times[task] == np.inf:
                task = -1
            elif worker < cpus:
                low += 1
            else:
                high -= 1
        if task < 0:
            victim = _victim(worker, now, times, speeds[worker], cpus, running, free)
            if victim >= 0:
                task = running[victim]
                running[victim] = -1
                free[victim] = now
                # What moved may suit someone who found nothing before.
                for other in range(count):
                    if resting[other]:
                        resting[other] = False
                        free[other] = now
        if task < 0:
            resting[worker] = True
            continue
        running[worker] = task
        workers[task], starts[task] = worker, now
        free[worker] = ends[task] = now + times[task] / speeds[worker]


@kernel
def _victim(
    thief: int,
    now: float,
    times: NDArray[np.float64],
    speed: float,
    cpus: int,
    running: NDArray[np.int64],
    free: NDArray[np.float64],
) -> int:
    """Return the worker of the other kind to take a task from, or -1."""
    found = -1
    for other in range(len(free)):
        if (
            (other < cpus) != (thief < cpus)
            and running[other] >= 0
            and now + times[running[other]] / speed < free[other]
            and (found < 0 or free[other] > free[found])
        ):
            found = other
    return found
