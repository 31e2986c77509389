"""Bounds on what waiting jobs need, by which groups of them are passed over (compiled).

Groups of 64 jobs stand in groups of 64 groups, and so on. Of each group the narrowest job is known,
and the shortest of each range of widths. These are bounds: a job that starts leaves them as they
are, and they are made exact where the jobs are looked at all the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swdual.runtime.jit import kernel
from swdual.scheduling.kernels.profile import Counts, Times

SHIFT = 6
"""The size of a group is 2 to the power of it."""

LEVELS = 3

STEPS = 16
"""Ranges of widths from one power of two to the next."""

NONE = np.iinfo(np.int64).max


class Bounds(NamedTuple):
    """The groups of all levels, smallest first.

    Parameters
    ----------
    base
        (levels,) the first group of each level.
    widths
        (ranges,) the largest number of processors of each range of widths, ascending.
    narrowest
        (groups,) no job of the group needs fewer processors.
    shortest
        (ranges, groups) no job of at most that width requests fewer seconds; descending.
    """

    base: Counts
    widths: Counts
    narrowest: Counts
    shortest: Times


def make_bounds(processors: Counts) -> Bounds:
    """Return the bounds of jobs that need so many processors, of which none waits."""
    present = np.flatnonzero(np.bincount(processors))
    steps = np.floor(STEPS * np.log2(present))
    widths = present[np.diff(steps, append=np.inf) > 0]
    jobs = len(processors)
    sizes = [(jobs >> SHIFT * (level + 1) + SHIFT) + 1 << SHIFT for level in range(LEVELS)]
    groups = sum(sizes)
    return Bounds(
        base=np.cumsum([0, *sizes[:-1]]),
        widths=widths,
        narrowest=np.full(groups, NONE),
        shortest=np.full((len(widths), groups), np.inf),
    )


@kernel
def add_waiting(bounds: Bounds, job: int, processors: int, duration: float) -> None:
    """Let the bounds hold for a job, too.

    Parameters
    ----------
    bounds
        They are changed.
    job, processors, duration
        Its index, and what it requests.
    """
    for level in range(LEVELS):
        group = bounds.base[level] + (job >> SHIFT * (level + 1))
        bounds.narrowest[group] = min(bounds.narrowest[group], processors)
        width = np.searchsorted(bounds.widths, processors)
        while width < len(bounds.widths) and bounds.shortest[width, group] > duration:
            bounds.shortest[width, group] = duration
            width += 1


@kernel
def tighten(bounds: Bounds, group: int, narrowest: int, width: int, shortest: float) -> None:
    """Set the bounds of a group, of all widths and of one range of widths.

    Parameters
    ----------
    bounds
        They are changed: those of narrower jobs, too, as no job requests less time than wider ones.
    group, narrowest
        The group, and how many processors each of its jobs needs at least.
    width, shortest
        The range of widths, and how many seconds jobs of at most that width request at least.
    """
    bounds.narrowest[group] = narrowest
    bounds.shortest[width, group] = shortest
    while width and bounds.shortest[width - 1, group] < shortest:
        width -= 1
        bounds.shortest[width, group] = shortest


@kernel
def skip_unfit(
    bounds: Bounds, job: int, entered: bool, width: int, narrow: int, now: float, shadow: float
) -> int:
    """Return the job behind the largest group at a job in which none fits, or this job.

    Parameters
    ----------
    bounds
        Those of larger groups are made exact by those of their parts.
    job, entered
        The job, and whether it is the first that is looked at: if not, it begins a group.
    width
        The range of widths of the free processors.
    narrow
        A job that needs no more processors than these fits.
    now, shadow
        One that fits ends by `shadow`, if it starts now: seconds.
    """
    for level in range(LEVELS - 1, -1, -1):
        shift = SHIFT * (level + 1)
        number = job >> shift
        group = bounds.base[level] + number
        if not entered and number << shift != job:
            continue
        for exact in range(2):
            if bounds.narrowest[group] > narrow and now + bounds.shortest[width, group] > shadow:
                return number + 1 << shift
            if level and not exact:
                part = bounds.base[level - 1] + (number << SHIFT)
                parts = slice(part, part + (1 << SHIFT))
                shortest = bounds.shortest[width, parts].min()
                tighten(bounds, group, bounds.narrowest[parts].min(), width, shortest)
    return job
