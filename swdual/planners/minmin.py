"""Min-min: again and again the task that can end first, on the worker where it does.

Ibarra and Kim, "Heuristic algorithms for scheduling independent tasks on nonidentical
processors", Journal of the ACM 24(2), 1977.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.planning.instance import Instance
from swdual.planning.planner import Assignment
from swdual.runtime.jit import kernel


def assign(instance: Instance) -> Assignment:
    """Return the schedule; ties go to the lowest worker, then to the first task."""
    workers = np.empty(len(instance), np.int64)
    starts, ends = np.empty(len(instance)), np.empty(len(instance))
    _assign_tasks(
        np.argsort(instance.cpu_times, kind="stable"),
        np.argsort(instance.gpu_times, kind="stable"),
        np.ascontiguousarray(instance.cpu_times),
        np.ascontiguousarray(instance.gpu_times),
        instance.speeds,
        len(instance.cpu_speeds),
        workers,
        starts,
        ends,
    )
    return Assignment(workers, starts, ends)


@kernel
def _assign_tasks(
    shortest_on_cpu: NDArray[np.int64],
    shortest_on_gpu: NDArray[np.int64],
    cpu_times: NDArray[np.float64],
    gpu_times: NDArray[np.float64],
    speeds: NDArray[np.float64],
    cpus: int,
    workers: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    """Fill `workers`, `starts` and `ends`."""
    # On one kind of worker the shortest task that is left ends first, so only two tasks are looked
    # at in a step: the next of `shortest_on_cpu` and the next of `shortest_on_gpu`. That takes
    # O(tasks x workers) instead of O(tasks^2 x workers).
    free = np.zeros(len(speeds))
    placed = np.zeros(len(cpu_times), np.bool_)
    cpu_next = gpu_next = 0
    for _ in range(len(cpu_times)):
        while placed[shortest_on_cpu[cpu_next]]:
            cpu_next += 1
        while placed[shortest_on_gpu[gpu_next]]:
            gpu_next += 1
        cpu_task, gpu_task = shortest_on_cpu[cpu_next], shortest_on_gpu[gpu_next]
        earliest = np.inf
        chosen = 0
        for worker in range(len(speeds)):
            time = cpu_times[cpu_task] if worker < cpus else gpu_times[gpu_task]
            end = free[worker] + time / speeds[worker]
            if end < earliest:
                earliest, chosen = end, worker
        task = cpu_task if chosen < cpus else gpu_task
        placed[task] = True
        workers[task], starts[task], ends[task] = chosen, free[chosen], earliest
        free[chosen] = earliest
