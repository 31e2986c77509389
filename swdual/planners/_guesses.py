"""The search of a dual approximation: binary, over guesses of the makespan."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from swdual.planners._exchange import exchange
from swdual.planners._lists import Allocations
from swdual.planning.instance import PRECISION, Relaxation, Split
from swdual.planning.planner import Assignment


def search(relaxation: Relaxation, answer: Callable[[float, Allocations], bool]) -> Assignment:
    """Return the best schedule over all guesses, and over small changes of that one.

    Parameters
    ----------
    relaxation
        Gives the smallest guess worth a try.
    answer
        Takes a guess, offers allocations for it, and returns True (yes) or False (no). No must mean
        that no schedule is as short as the guess.
    """
    allocations = Allocations(relaxation.instance)
    low = guess = relaxation.least()
    high = np.inf
    guesses = 0
    while True:
        guesses += 1
        if answer(guess, allocations):
            high = guess
        else:
            low = guess
        # A schedule in hand is a yes for its own makespan.
        high = min(high, allocations.makespan)
        if np.isinf(high):
            guess = 2 * guess
        elif high - low <= PRECISION * high:
            exchange(allocations, (1 + PRECISION) * low)
            return allocations.schedule()._replace(guesses=guesses)
        else:
            guess = (low + high) / 2


def offer_split(relaxation: Relaxation, split: Split, allocations: Allocations) -> None:
    """Offer two allocations of a split: the task that would be cut goes to the GPUs, or the CPUs.

    Parameters
    ----------
    relaxation
        Gave the split.
    split
        How many tasks the GPUs hold under a guess.
    allocations
        Keeps the better one if it is the best so far.
    """
    for chosen in (split.free[: split.whole + 1], split.free[: split.whole]):
        in_order = split.forced_gpu.copy()
        in_order[chosen] = True
        on_gpu = np.empty_like(in_order)
        on_gpu[relaxation.order] = in_order
        allocations.offer(on_gpu)
