"""Find the waiting jobs that fit now, in columns of all of them (compiled)."""

from __future__ import annotations

import numpy as np

from swdual.runtime.jit import kernel
from swdual.scheduling.kernels.profile import Counts, Times


@kernel
def fit_around_head(
    processors: Counts,
    durations: Times,
    now: float,
    free: int,
    shadow: float,
    extra: int,
    in_turn: bool,
) -> Counts:
    """Return the places of the jobs that fit and do not delay the head of the queue.

    Parameters
    ----------
    processors, durations
        (jobs,) what the jobs need, and for how long.
    now, free
        Seconds, and how many processors are free.
    shadow, extra
        When the head starts, in seconds, and how many processors it leaves then.
    in_turn
        Each takes its processors before those behind it are looked at; else each fits alone.
    """
    fitting = np.empty(len(processors), np.int64)
    size = 0
    for place in range(len(processors)):
        need = processors[place]
        if need > free:
            continue
        beyond = now + durations[place] > shadow
        if beyond and need > extra:
            continue
        fitting[size] = place
        size += 1
        if in_turn:
            free -= need
            extra -= need * beyond
    return fitting[:size].copy()


@kernel
def next_under_steps(
    processors: Counts,
    durations: Times,
    begin: int,
    now: float,
    begins: Times,
    room: Counts,
) -> int:
    """Return the place of the next job that finds room from now until it ends, or their number.

    Parameters
    ----------
    processors, durations
        (jobs,) what the jobs need, and for how long.
    begin
        The place to begin with.
    now
        Seconds.
    begins, room
        (steps,) the room that there is all the time from now on: it falls at each of these times,
        of which the first is now.
    """
    for place in range(begin, len(processors)):
        need = processors[place]
        # Most jobs do not even fit now, or fit however long they take.
        if need > room[0]:
            continue
        if need <= room[-1]:
            return place
        if need <= room[np.searchsorted(begins[1:], now + durations[place])]:
            return place
    return len(processors)
