"""Dual approximation: guess the makespan, fill the GPUs by acceleration ratio; at most 2 x best.

The 2-approximation of Machado Mendonca's thesis, section 2.3.
"""

from __future__ import annotations

from swdual.planners._guesses import offer_split, search
from swdual.planners._lists import Allocations
from swdual.planning.instance import Instance, Relaxation
from swdual.planning.planner import Assignment


def assign(instance: Instance) -> Assignment:
    """Return the best schedule over a binary search of guesses.

    Under a guess, tasks longer than it on one kind go to the other (without this rule the bound
    fails), the others in descending acceleration ratio to the GPUs until their area exceeds what
    the guess allows, and the rest to the CPUs; each side is list-scheduled. If the CPUs' area is
    too large even with the last task cut to fit, the answer is NO: no schedule is that short.

    With equal speeds within each kind the makespan is at most twice any guess answered yes: each
    task takes at most the guess, and so does the area of each side over its workers, apart from
    the last task on the GPUs (proposition 1). So it is at most twice the best, up to the
    precision of the search. Unlike speeds are planned too, without that bound.
    """
    relaxation = Relaxation(instance)

    def answer(guess: float, allocations: Allocations) -> bool:
        split = relaxation.split(guess)
        if split is None:
            return False
        offer_split(relaxation, split, allocations)
        return True

    return search(relaxation, answer)
