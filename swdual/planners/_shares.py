"""Contiguous shares of the list of tasks, as large as the power of each worker."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.planners._lists import list_schedule
from swdual.planning.instance import Instance
from swdual.planning.planner import Assignment


def acceleration(instance: Instance) -> float:
    """Return how many times faster than a CPU a GPU does the tasks that both can do."""
    both = np.isfinite(instance.cpu_times) & np.isfinite(instance.gpu_times)
    on_cpu, on_gpu = instance.cpu_times[both].sum(), instance.gpu_times[both].sum()
    return float(on_cpu / on_gpu) if on_cpu > 0 and on_gpu > 0 else 1.0


def share_out(instance: Instance, powers: NDArray[np.float64]) -> Assignment:
    """Cut the list into shares in proportion to the powers, one for each worker, in order.

    Work is counted as seconds on a CPU, where a task cannot run there as seconds on a GPU times
    its acceleration. A task that its worker cannot do goes to the worker of the other kind with
    the least load, after that worker's share.

    Parameters
    ----------
    instance
        Tasks and workers.
    powers
        (workers,) numbers above 0.
    """
    p, q, cpus = instance.cpu_times, instance.gpu_times, len(instance.cpu_speeds)
    work = np.where(np.isinf(p), q * acceleration(instance), p)
    if not work.any():
        work = np.ones(len(work))
    until = np.cumsum(work)
    shares = np.cumsum(powers / powers.sum())[:-1]
    # A task on the border belongs to the share that holds its middle.
    workers = np.searchsorted(shares * work.sum(), until - work / 2, "right")
    able = np.isfinite(np.where(workers < cpus, p, q))
    first = np.where(able, workers, np.where(workers < cpus, cpus, 0))
    stop = np.where(able, workers + 1, np.where(workers < cpus, len(instance.kinds), cpus))
    order = np.argsort(~able, kind="stable")
    return list_schedule(instance, order, first, stop, free_first=True)
