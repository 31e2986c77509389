"""The allocation of the 3/2-approximation, by dynamic programming."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.planning.instance import ROUNDING
from swdual.runtime.jit import kernel

MAX_TABLE_BYTES = 1 << 30
"""Memory for the decisions, one byte for each task and state."""


def allocate(
    p: NDArray[np.float64], q: NDArray[np.float64], cpus: int, gpus: int, guess: float
) -> NDArray[np.bool_] | None:
    """Return the tasks for the GPUs that leave the CPUs least work, or None: no such schedule.

    At most one task longer than half the guess may go to each worker. The work of the GPUs is
    counted in units of guess / (2 n), rounded down, so it exceeds gpus * guess by at most half a
    guess.

    Parameters
    ----------
    p, q
        (tasks,) times on a CPU and on a GPU.
    cpus, gpus
        Number of workers of each kind.
    guess
        No task may take longer.

    Raises
    ------
    InputError
        If the table would be too large.
    """
    limit = guess * (1 + ROUNDING)
    only_gpu, only_cpu = p > limit, q > limit
    large_on_cpu, large_on_gpu = p > limit / 2, q > limit / 2
    cpu_places = cpus - int((large_on_cpu & only_cpu).sum())
    gpu_places = gpus - int((large_on_gpu & only_gpu).sum())
    cpu_room = cpus * limit - p[only_cpu].sum()
    gpu_room = gpus * limit - q[only_gpu].sum()
    if (only_gpu & only_cpu).any() or min(cpu_places, gpu_places, cpu_room, gpu_room) < 0:
        return None
    free = np.flatnonzero(~(only_gpu | only_cpu))
    unit = guess / (2 * len(free)) if len(free) and guess else 1.0
    units = np.floor(q[free] / unit).astype(np.int64)
    a, b = large_on_cpu[free], large_on_gpu[free]
    states = (
        min(cpu_places, int(a.sum())) + 1,
        min(gpu_places, int(b.sum())) + 1,
        min(int(gpu_room / unit), int(units.sum())) + 1,
    )
    on_gpu = only_gpu.copy()
    work, on_gpu[free] = _cheapest(p[free], units, a, b, states)
    return on_gpu if work <= cpu_room else None


def _cheapest(
    p: NDArray[np.float64],
    units: NDArray[np.int64],
    large_on_cpu: NDArray[np.bool_],
    large_on_gpu: NDArray[np.bool_],
    states: tuple[int, int, int],
) -> tuple[float, NDArray[np.bool_]]:
    """Return the least work for the CPUs, and which tasks then go to the GPUs."""
    size = len(p) * states[0] * states[1] * states[2]
    if size > MAX_TABLE_BYTES:
        raise InputError(
            f"the planner dual_dp would need {size / (1 << 30):.1f} GiB for {len(p):,} tasks; "
            "use `planner='dual'`"
        )
    cost = np.zeros(states)
    decisions = np.empty((len(p), *states), np.bool_)
    _fill(p, units, large_on_cpu, large_on_gpu, cost, decisions)
    on_gpu = np.zeros(len(p), np.bool_)
    a, b, work = (length - 1 for length in states)
    least = float(cost[a, b, work])
    if np.isinf(least):
        return least, on_gpu
    # Follow the decisions back from the last task: each leads to the state before its task.
    for task in range(len(p) - 1, -1, -1):
        on_gpu[task] = decisions[task, a, b, work]
        if on_gpu[task]:
            b -= int(large_on_gpu[task])
            work -= int(units[task])
        else:
            a -= int(large_on_cpu[task])
    return least, on_gpu


@kernel
def _fill(
    p: NDArray[np.float64],
    units: NDArray[np.int64],
    large_on_cpu: NDArray[np.bool_],
    large_on_gpu: NDArray[np.bool_],
    cost: NDArray[np.float64],
    decisions: NDArray[np.bool_],
) -> None:
    """Add task after task: ``cost[a, b, w]`` is the least CPU work of those so far.

    It is under at most a large tasks on the CPUs, b on the GPUs, and w units of work there.
    """
    # With da, db = 1 if the task is large on a CPU, on a GPU, and dw its units of work there:
    #
    #     cost'[a, b, w] = min( cost[a - da, b, w] + p     the task goes to a CPU
    #                           cost[a, b - db, w - dw] )  or to a GPU
    #
    # Old and new costs share one array. A state looks only at itself and at states before it, so
    # the loops run down: what they look at is still the old cost.
    for task in range(len(p)):
        da, db, dw = int(large_on_cpu[task]), int(large_on_gpu[task]), units[task]
        for a in range(cost.shape[0] - 1, -1, -1):
            for b in range(cost.shape[1] - 1, -1, -1):
                for work in range(cost.shape[2] - 1, -1, -1):
                    on_cpu = on_gpu = np.inf
                    if a >= da:
                        on_cpu = cost[a - da, b, work] + p[task]
                    if b >= db and work >= dw:
                        on_gpu = cost[a, b - db, work - dw]
                    decisions[task, a, b, work] = on_gpu < on_cpu
                    cost[a, b, work] = min(on_gpu, on_cpu)
