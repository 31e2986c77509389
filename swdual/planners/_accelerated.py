"""The allocation of the 3/2-approximation where no task is slower on a GPU: no table is needed.

The problem is that of `swdual.planners._knapsack`, under a guess L. A task large on a GPU (longer
than L/2) is then large on a CPU too, so there are four classes: *forced*, longer than L on a CPU;
*double*, large on both; *single*, large on a CPU only; *small* on both. Let the number d of double
tasks on CPUs be fixed. A price mu for each second that the GPUs lack sends to the CPUs the d double
tasks with least p - mu q, of the single tasks those with the least below 0, as long as CPUs without
a large task are left, and all small tasks below 0. As mu grows, the GPUs' work falls, by moves and
swaps of one task each, by at most L/2 a time. All sets between the two neighbours at a price cost
the same, so the last set whose GPU work is too large leaves the CPUs no more work than the optimum
(weak duality), and the GPUs at most L/2 too much: 3/2 L after list scheduling. If its CPU work is
too large, for each d, no schedule of length L exists.

The thesis (section 2.3) states this case, and O(m n log n) a guess for it, without the algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from swdual.planning.instance import ROUNDING
from swdual.runtime.jit import kernel

MAX_PRICE = 2.0**60
"""If the GPUs' work is too large even at this price, it always is."""


def allocate(
    p: NDArray[np.float64],
    q: NDArray[np.float64],
    order: NDArray[np.int64],
    cpus: int,
    gpus: int,
    guess: float,
) -> Iterator[NDArray[np.bool_]]:
    """Yield tasks for the GPUs: two sets for each d with which 3/2 of the guess can be reached.

    The bound is proven for the first of two sets. The second is its neighbour, whose work on the
    GPUs is at most what the guess allows.

    Parameters
    ----------
    p, q
        (tasks,) times on a CPU and on a GPU.
    order
        The tasks in ascending acceleration ratio.
    cpus, gpus
        Number of workers of each kind.
    guess
        No task may take longer.
    """
    limit = guess * (1 + ROUNDING)
    forced, cpu_large, gpu_large = p > limit, p > limit / 2, q > limit / 2
    if (q > limit).any():
        return
    double = np.flatnonzero(cpu_large & gpu_large & ~forced)
    single = np.flatnonzero(cpu_large & ~gpu_large & ~forced)
    small = order[(~cpu_large & (q > 0))[order]]
    gpu_places = gpus - int((forced & gpu_large).sum())
    need = q.sum() - gpus * limit
    ratios = p[small] / q[small]
    works, reliefs = (np.concatenate(([0.0], np.cumsum(x[small]))) for x in (p, q))
    for doubles in range(max(0, len(double) - gpu_places), min(cpus, len(double)) + 1):
        over_double, over_single = np.zeros(len(double), np.bool_), np.zeros(len(single), np.bool_)
        fit_double, fit_single = over_double.copy(), over_single.copy()
        work, over, fit = _cross(
            doubles,
            cpus - doubles,
            need,
            cpus * limit,
            p[double],
            q[double],
            p[single],
            q[single],
            ratios,
            works,
            reliefs,
            over_double,
            over_single,
            fit_double,
            fit_single,
        )
        if work > cpus * limit:
            continue
        for doubles_chosen, singles_chosen, smalls in (
            (over_double, over_single, over),
            (fit_double, fit_single, fit),
        ):
            on_gpu = np.ones(len(p), np.bool_)
            on_gpu[double[doubles_chosen]] = False
            on_gpu[single[singles_chosen]] = False
            on_gpu[small[:smalls]] = False
            yield on_gpu


@kernel
def _cross(
    doubles: int,
    singles: int,
    need: float,
    max_work: float,
    double_p: NDArray[np.float64],
    double_q: NDArray[np.float64],
    single_p: NDArray[np.float64],
    single_q: NDArray[np.float64],
    ratios: NDArray[np.float64],
    works: NDArray[np.float64],
    reliefs: NDArray[np.float64],
    over_double: NDArray[np.bool_],
    over_single: NDArray[np.bool_],
    fit_double: NDArray[np.bool_],
    fit_single: NDArray[np.bool_],
) -> tuple[float, int, int]:
    """Find the last set for the CPUs that relieves the GPUs by less than `need`, and the next.

    Parameters
    ----------
    doubles, singles
        Double tasks on CPUs (exactly), and single tasks there (at most).
    need
        Seconds of work that the GPUs must be relieved of.
    max_work
        Seconds of work that the CPUs can take.
    double_p, double_q, single_p, single_q
        Times on a CPU and on a GPU of the double and of the single tasks.
    ratios, works, reliefs
        Small tasks by ascending acceleration ratio: the ratios, and sums of their times on a CPU
        and on a GPU from the first on, beginning with 0.
    over_double, over_single, fit_double, fit_single
        Receive whether a task is on the CPUs, in the first set (GPUs over their limit) and in the
        second.

    Returns
    -------
    Work of the first set on the CPUs, infinite if there is no set of at most `max_work`, and the
    numbers of small tasks in both sets.
    """
    # `price` is the Lagrange multiplier mu of the GPUs' limit. The relief that the cheapest set
    # gives is a step function of it:
    #
    #     relief
    #       ^                  ,------- high (fit)
    #     need - - - - - - - - | - - -
    #       |          ,-------'  <- one step may hold several moves of single tasks:
    #       |   ,------'             `_walk` takes them one by one
    #       |---'     low (over)
    #       +--------------------------> price
    #
    # Invariant of the search: relief(low) < need, and relief(high) >= need once `bracketed`.
    # work + price * (need - relief) is the dual value at this price. It bounds the work of every
    # set with enough relief from below: above `max_work`, no such set exists (weak duality).
    low, high = 0.0, 1.0
    work, relief = _choose(double_p, double_q, low, doubles, True, over_double)
    if relief >= need or work > max_work:
        fit_double[:] = over_double
        return (work if work <= max_work else np.inf), 0, 0
    # Double the price until the relief is enough, then halve the interval, down to neighbouring
    # floats: only then is no other step between low and high.
    bracketed = False
    while True:
        price = (low + high) / 2 if bracketed else high
        if bracketed and not low < price < high:
            break
        work, relief = _choose(double_p, double_q, price, doubles, True, fit_double)
        added = _choose(single_p, single_q, price, singles, False, fit_single)
        smalls = np.searchsorted(ratios, price)
        work += added[0] + works[smalls]
        relief += added[1] + reliefs[smalls]
        if work + price * (need - relief) > max_work or high > MAX_PRICE:
            return np.inf, 0, 0
        if relief >= need:
            high = price
            bracketed = True
        else:
            low = price
            if not bracketed:
                high *= 2
    # Walk from the set at `low` to the set at `high`: double, then single, then small tasks.
    work, relief = _choose(double_p, double_q, low, doubles, True, over_double)
    added = _choose(single_p, single_q, low, singles, False, over_single)
    over, fit = int(np.searchsorted(ratios, low)), int(np.searchsorted(ratios, high))
    work += added[0] + works[over]
    relief += added[1] + reliefs[over]
    _choose(double_p, double_q, high, doubles, True, fit_double)
    _choose(single_p, single_q, high, singles, False, fit_single)
    work, relief, crossed = _walk(double_p, double_q, over_double, fit_double, work, relief, need)
    if crossed:
        fit_single[:] = over_single
        return work, over, over
    work, relief, crossed = _walk(single_p, single_q, over_single, fit_single, work, relief, need)
    if crossed:
        return work, over, over
    base = relief - reliefs[over]
    start = over
    while over < fit - 1 and base + reliefs[over + 1] < need:
        over += 1
    return work + works[over] - works[start], over, min(over + 1, fit)


@kernel
def _choose(
    p: NDArray[np.float64],
    q: NDArray[np.float64],
    price: float,
    count: int,
    exactly: bool,
    chosen: NDArray[np.bool_],
) -> tuple[float, float]:
    """Choose the tasks with the smallest p - price * q; ties go to the first task.

    Parameters
    ----------
    p, q
        (tasks,) times on a CPU and on a GPU.
    price
        Price of a second on the GPUs.
    count, exactly
        How many tasks; not `exactly`: at most so many, those whose value is below 0.
    chosen
        (tasks,) receives whether a task is chosen.

    Returns
    -------
    Work of the chosen tasks on CPUs, and on GPUs.
    """
    # Insertion into a sorted list of at most `count` values, as there are few large tasks a worker:
    #
    #     values  -3.1  -2.0  -0.5 | held = 3     value -1.2 moves -0.5 one to the right; the last
    #                       ^ at                  one drops out if the list is full
    best = np.empty(count + 1, np.int64)
    values = np.empty(count + 1)
    held = 0
    for task in range(len(p)):
        value = p[task] - price * q[task]
        if not exactly and value >= 0:
            continue
        at = held
        while at > 0 and values[at - 1] > value:
            best[at], values[at] = best[at - 1], values[at - 1]
            at -= 1
        best[at], values[at] = task, value
        held = min(held + 1, count)
    chosen[:] = False
    work = relief = 0.0
    for task in best[:held]:
        chosen[task] = True
        work += p[task]
        relief += q[task]
    return work, relief


@kernel
def _walk(
    p: NDArray[np.float64],
    q: NDArray[np.float64],
    over: NDArray[np.bool_],
    goal: NDArray[np.bool_],
    work: float,
    relief: float,
    need: float,
) -> tuple[float, float, bool]:
    """Turn `over` into `goal` by swaps and moves of one task, while the relief is below `need`.

    Parameters
    ----------
    p, q
        (tasks,) times on a CPU and on a GPU.
    over, goal
        (tasks,) whether a task is on the CPUs, at the two ends of the walk.
    work, relief
        Work of `over` on the CPUs, and the GPUs' relief by it, other classes of tasks included.
    need
        Seconds of work that the GPUs must be relieved of.

    Returns
    -------
    Work and relief of `over` after the walk, and whether the next step would meet the need; if so,
    `goal` is the set after that step.
    """
    # Both sets are optimal at one price, so every set on the way is, too. A step takes the first
    # task that leaves (`gone`) and the first that comes (`come`); it changes the relief by at most
    # one task's time on a GPU, so the last set below `need` misses it by at most guess / 2.
    gone = come = 0
    while True:
        while gone < len(p) and not (over[gone] and not goal[gone]):
            gone += 1
        while come < len(p) and not (goal[come] and not over[come]):
            come += 1
        if gone == len(p) and come == len(p):
            return work, relief, False
        more_work = more_relief = 0.0
        if gone < len(p):
            more_work, more_relief = -p[gone], -q[gone]
        if come < len(p):
            more_work, more_relief = more_work + p[come], more_relief + q[come]
        crossed = relief + more_relief >= need
        if crossed:
            goal[:] = over
        changed = goal if crossed else over
        if gone < len(p):
            changed[gone] = False
        if come < len(p):
            changed[come] = True
        if crossed:
            return work, relief, True
        work += more_work
        relief += more_relief
