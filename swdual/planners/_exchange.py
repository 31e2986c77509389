"""Local search: a task moved to the other kind, or exchanged with one of it, while that helps.

A guess fills the GPUs in one order. Where few tasks are left of about the makespan's length, the
two sides then differ by a part of one task; an exchange of two that are nearly alike evens them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from swdual.planners._lists import Allocations

MAX_PAIRS = 250_000
"""Exchanges to look at in a round; with more tasks each task is small beside the makespan."""

MAX_TRIED, MAX_ROUNDS = 32, 200
"""Exchanges of a round that are scheduled, most even first, and rounds: they bound the time."""


def exchange(allocations: Allocations, good_enough: float) -> None:
    """Improve the best allocation by moves and exchanges of single tasks.

    Parameters
    ----------
    allocations
        Holds an allocation; it can only become better.
    good_enough
        A makespan that is not worth improving.
    """
    for _ in range(MAX_ROUNDS):
        before = allocations.makespan
        if before <= good_enough:
            return
        for on_gpu in _neighbours(allocations):
            allocations.offer(on_gpu)
            if allocations.makespan < before:
                break
        else:
            return


def _neighbours(allocations: Allocations) -> Iterator[NDArray[np.bool_]]:
    """Yield allocations that differ in one task or two and may be better, most even first."""
    instance, on_gpu = allocations.instance, allocations.on_gpu
    cpu_tasks, gpu_tasks = np.flatnonzero(~on_gpu), np.flatnonzero(on_gpu)
    if (len(cpu_tasks) + 1) * (len(gpu_tasks) + 1) > MAX_PAIRS:
        return
    if not (len(instance.cpu_speeds) and len(instance.gpu_speeds)):
        return
    p, q = instance.cpu_times, instance.gpu_times
    # An exchange with nothing, the last row or column, is a move.
    cpu_load = (
        p[cpu_tasks].sum() - np.append(p[cpu_tasks], 0)[:, None] + np.append(p[gpu_tasks], 0)
    ) / instance.cpu_speeds.sum()
    gpu_load = (
        q[gpu_tasks].sum() + np.append(q[cpu_tasks], 0)[:, None] - np.append(q[gpu_tasks], 0)
    ) / instance.gpu_speeds.sum()
    bounds = np.maximum(cpu_load, gpu_load).ravel()
    promising = np.flatnonzero(bounds < allocations.makespan)
    for pair in promising[np.argsort(bounds[promising], kind="stable")[:MAX_TRIED]]:
        from_cpu, from_gpu = divmod(int(pair), len(gpu_tasks) + 1)
        neighbour = on_gpu.copy()
        neighbour[cpu_tasks[from_cpu : from_cpu + 1]] = True
        neighbour[gpu_tasks[from_gpu : from_gpu + 1]] = False
        yield neighbour
