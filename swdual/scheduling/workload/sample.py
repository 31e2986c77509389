"""Parts of a workload: windows of time, and random jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swdual.errors import InputError
from swdual.runtime.keywords import suggest_names
from swdual.scheduling.workload.source import WorkloadSource, as_workload
from swdual.scheduling.workload.workload import DAY, Workload

WEEK = 7 * DAY
"""Seconds."""

TRIES = 1000
"""Windows in a row that may be empty before we give up."""


class Window(NamedTuple):
    """A window of time of a workload.

    Parameters
    ----------
    start, end
        Seconds, as in the submit times of the workload.
    jobs
        The jobs that were submitted in [start, end).
    """

    start: float
    end: float
    jobs: Workload


def between(workload: Workload, start: float, end: float, *, shift: bool = False) -> Workload:
    """Return the jobs that were submitted in [start, end).

    Parameters
    ----------
    workload
        The workload, or the path of a trace.
    start, end
        Seconds, as in its submit times.
    shift
        Count submit times from the start of the window.

    Examples
    --------
    >>> whole = Workload.from_arrays([0, 10, 20], 5, 1)
    >>> between(whole, 10, 20, shift=True).submit_time
    array([0.])
    """
    first, stop = np.searchsorted(workload.submit_time, [start, end])
    part = workload[int(first) : int(stop)]
    return part.shifted(-start) if shift else part


@suggest_names
def windows(
    workload: WorkloadSource,
    periods: int,
    instances: int,
    *,
    seed: int | Sequence[int],
    period: float = WEEK,
    aligned: bool = True,
    shift: bool = True,
) -> list[Workload]:
    """Return random windows of time, as the thesis cuts its instances from the long traces.

    Chapter 5 divides a trace into weeks and takes some that follow on each other; chapter 3 takes
    all jobs of some days after a random instant (section 3.5.1; ``period=DAY, aligned=False``).
    A window lies between the first and the last submission of the workload and has at least one
    job. Windows are drawn independently of each other: they may overlap and even be the same,
    as the 21 weeks of LLNL-Thunder give no 30 different ones.

    Parameters
    ----------
    workload
        The workload, or the path of a trace.
    periods
        How many periods a window has.
    instances
        How many windows.
    seed
        The same seed gives the same windows.
    period
        Seconds.
    aligned
        Whether windows begin a whole number of periods after the first submission.
    shift
        Count submit times from the start of the window.

    Raises
    ------
    InputError
        If the workload is shorter than a window, or nearly all windows are empty.
    """
    drawn = draw_windows(
        workload, periods, instances, seed=seed, period=period, aligned=aligned, shift=shift
    )
    return [window.jobs for window in drawn]


@suggest_names
def draw_windows(
    workload: WorkloadSource,
    periods: int,
    instances: int,
    *,
    seed: int | Sequence[int],
    period: float = WEEK,
    aligned: bool = True,
    shift: bool = True,
) -> list[Window]:
    """Return random windows of time with their starts and ends: see `windows`.

    For the parameters see `windows`.

    Examples
    --------
    >>> jobs = Workload.from_arrays(np.arange(40) * DAY, 5, 1)
    >>> window = draw_windows(jobs, 1, 1, seed=1)[0]
    >>> window.start / WEEK, window.end / WEEK, len(window.jobs)
    (2.0, 3.0, 7)
    """
    workload = as_workload(workload)
    length = periods * period
    if periods < 1 or not 0 < period < np.inf:
        raise InputError("a window needs at least one period of more than 0 seconds")
    if len(workload) == 0 or not length <= workload.span:
        raise InputError(
            f"the workload {workload.name} spans {workload.span / DAY:,.1f} days, but a window of "
            f"{periods:,} x {period / DAY:,g} days was asked for; ask for less",
            file=workload.source,
        )
    generator = np.random.default_rng(seed)
    origin, room = float(workload.submit_time[0]), workload.span - length
    found: list[Window] = []
    tries = 0
    while len(found) < instances:
        if aligned:
            offset = period * int(generator.integers(int(room // period), endpoint=True))
        else:
            offset = float(generator.uniform(0, room))
        part = between(workload, origin + offset, origin + offset + length, shift=shift)
        tries = 0 if len(part) else tries + 1
        if tries > TRIES:
            raise InputError(
                f"{TRIES} windows of {length / DAY:,.1f} days without a job; ask for longer ones"
            )
        if len(part):
            found.append(Window(origin + offset, origin + offset + length, part))
    return found


@suggest_names
def sample(
    workload: WorkloadSource,
    jobs: int,
    *,
    seed: int | Sequence[int],
    max_processors: int | None = None,
) -> Workload:
    """Return random jobs, none of them twice, with the submit times that they had.

    Chapter 4 of the thesis leaves out jobs that are wider than the machine and draws 300 of the
    others (section 4.6); `Workload.offline` then makes all of them known at time 0.

    Parameters
    ----------
    workload
        The workload, or the path of a trace.
    jobs
        How many to draw.
    seed
        The same seed gives the same jobs.
    max_processors
        Draw from the jobs that need at most so many.

    Raises
    ------
    InputError
        If there are not that many jobs.
    """
    workload = as_workload(workload)
    limit = np.inf if max_processors is None else max_processors
    rows = np.flatnonzero(workload.processors <= limit)
    if not 0 <= jobs <= len(rows):
        fitting = "" if max_processors is None else f" of at most {max_processors:,} processors"
        raise InputError(
            f"cannot draw {jobs:,} of the {len(rows):,} jobs{fitting} in the workload "
            f"{workload.name}; ask for fewer",
            file=workload.source,
        )
    return workload.take(np.random.default_rng(seed).choice(rows, jobs, replace=False))
