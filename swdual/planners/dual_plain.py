"""Dual approximation as the thesis has it, without moves or exchanges of tasks; at most 2 x best.

Machado Mendonca's thesis, section 2.3: greedy knapsack, list scheduling, binary search. The thesis
leaves three things open. Here the binary search begins between the longest of the tasks at its best
and the first double of it that is answered yes; the lists have the order of the knapsack; and the
result is the schedule of the smallest guess that was answered yes. Its proof takes for granted that
no task is longer than the guess where it runs: such a task goes to the other kind.
"""

from __future__ import annotations

import numpy as np

from swdual.planners._lists import list_schedule
from swdual.planning.instance import Instance, Relaxation
from swdual.planning.planner import Assignment


def assign(instance: Instance) -> Assignment:
    """Return the schedule of the smallest guess that is answered yes.

    Under a guess, tasks go to the GPUs in descending acceleration ratio until their area exceeds
    what the guess allows, and the rest to the CPUs. If that is too much for the CPUs, the answer is
    NO. Otherwise each side is list-scheduled.

    With equal speeds within each kind the makespan is at most twice the guess, by the proof of
    proposition 1. A guess answered NO is below the optimum, so the makespan is at most twice the
    best, up to the precision of the search. Unlike speeds are planned too, without that bound.
    """
    relaxation = Relaxation(instance)
    _, guess, guesses = relaxation.search(cut=False)
    split = relaxation.split(guess, cut=False)
    assert split is not None
    in_order = split.forced_gpu.copy()
    in_order[split.free[: split.whole + 1]] = True
    on_gpu = np.empty_like(in_order)
    on_gpu[relaxation.order] = in_order
    cpus, workers = len(instance.cpu_speeds), len(instance.kinds)
    # The proof needs the task that exceeds what the guess allows as the last one of the GPUs' list.
    order = np.concatenate(
        (relaxation.order[split.forced_gpu], relaxation.order[~split.forced_gpu])
    )
    first, stop = np.where(on_gpu, cpus, 0), np.where(on_gpu, workers, cpus)
    return list_schedule(instance, order, first, stop)._replace(guesses=guesses)
