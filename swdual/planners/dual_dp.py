"""Dual approximation with at most one large task a worker: slower to plan, at most 3/2 x best.

The 3/2-approximation that Machado Mendonca's thesis (section 2.3) cites from Kedad-Sidhoum, Monna,
Mounie and Trystram, reconstructed: the thesis gives its complexity and a threshold, not its steps.
Its threshold, two thirds of the guess, is not enough for plain lists: m tasks of 1 - 2/(3m) and one
of 2/3 of a guess end at 5/3 - 2/(3m). Half the guess is, and is taken here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.planners import _accelerated, _knapsack
from swdual.planners._guesses import offer_split, search
from swdual.planners._lists import Allocations
from swdual.planning.instance import Instance, Relaxation
from swdual.planning.planner import Assignment


def assign(instance: Instance) -> Assignment:
    """Return the best schedule over a binary search of guesses.

    A task larger than half the guess shares its worker with no other such task, under the guess.
    So the allocation that leaves the CPUs least work is sought among those with at most one large
    task a worker, the GPUs' work exceeding what the guess allows by at most half a guess. If that
    is too much for the CPUs, the answer is NO. Otherwise each side is list-scheduled, longest
    first: the large tasks start at once, one on each worker, and a small one starts while the
    least loaded worker is below the mean, so all end within 3/2 of the guess.

    Where no task is slower on a GPU a guess takes O(m n log n) time, else O(n^2 m k^2) time and
    memory for m CPUs and k GPUs. The allocations of the planner dual are tried as well.

    Raises
    ------
    InputError
        If the speeds within a kind differ, or the memory would not do.
    """
    p = instance.cpu_times / _speed(instance.cpu_speeds)
    q = instance.gpu_times / _speed(instance.gpu_speeds)
    cpus, gpus = len(instance.cpu_speeds), len(instance.gpu_speeds)
    relaxation = Relaxation(instance)
    ascending = relaxation.order[::-1]
    accelerated = bool((q <= p).all())

    def answer(guess: float, allocations: Allocations) -> bool:
        split = relaxation.split(guess)
        if split is None:
            return False
        offer_split(relaxation, split, allocations)
        if accelerated:
            found = list(_accelerated.allocate(p, q, ascending, cpus, gpus, guess))
        else:
            on_gpu = _knapsack.allocate(p, q, cpus, gpus, guess)
            found = [] if on_gpu is None else [on_gpu]
        for on_gpu in found:
            allocations.offer(on_gpu)
        return bool(found)

    return search(relaxation, answer)


def _speed(speeds: NDArray[np.float64]) -> float:
    if len(np.unique(speeds)) > 1:
        raise InputError(
            "the planner dual_dp needs equal speeds within a kind; use `planner='dual'`"
        )
    return float(speeds[0]) if len(speeds) else 1.0
