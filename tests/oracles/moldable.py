"""Moldable jobs under highest revenue first and its rivals, from their definitions.

A job is ``(submit_time, run_times, requested_times)``: what it runs and requests on 1, 2, ...,
m processors.  Jobs are in the order of submission.  Policies know requested times only.

Everything is lists and dictionaries that are walked from end to end, and nothing is remembered
that can be found anew.

References
----------
Wu, Tuo, Jin, Yan and Weng, Computing Frontiers 2015: algorithm 1, and section 3.1 for the rivals.
Downey, A model for speedup of parallel programs, UCB/CSD-97-933, 1997, for the speed-up.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple


class Job(NamedTuple):
    """One moldable job.

    Attributes
    ----------
    submit_time : float
        When it becomes known.
    run_times : list of float
        How long it would run on 1, 2, ... processors.
    requested_times : list of float
        After how long it is killed.
    """

    submit_time: float
    run_times: list[float]
    requested_times: list[float]


class Runs(NamedTuple):
    """A job that runs: its processors, and when it must end."""

    processors: int
    latest_end: float


Choose = Callable[[list[int], dict[int, Runs]], dict[int, int]]
"""What gives the waiting jobs sizes, knowing which ones run."""


def literal_hrf(
    times: list[list[float]], rounds: int, limit: float, *, stop_at_zero: bool = False
) -> list[int]:
    """Return the processors of each job by algorithm 1, to the letter.

    ::

        1: initialize considering jobs with all jobs J_1 to J_n
        2: for considering jobs do
        3:   x_i <- 1
        4: end for
        5: for k <- 1 to alpha * m do
        6:   find the job J_i of considering jobs with the highest
             RP_Ji(x_i) = T_Ji(x_i) - T_Ji(x_i + 1)
        7:   if x_i < threshold * m then
        8:     x_i <- x_i + 1
        9:   else
        10:    remove J_i from considering jobs and redo this loop
        11:  end if
        12: end for

    - The rounds of line 5 come after the first processor of each job, which line 3 gives: n +
      alpha m processors in all. In the example of section 4.1, alpha m is 5 with these first ones,
      so that lines 5 to 12 have 2 rounds there.
    - Lines 6 to 8 ask for the highest revenue alone, not for its sign. A processor that brings
      nothing is handed out, and so is one with which the job takes longer, if all other jobs that
      are considered lose more by theirs.
    - Line 6 looks at the next processor alone: one that is worth something only together with
      another has no revenue.
    - Of equal revenues, which the paper does not mention, the first in the queue is taken.
    - Line 7 compares with threshold m as it is: if that is no whole number, a job gets the next
      one above.
    - Line 10 uses up no round. The revenue of a job that has all it may have only says when it is
      removed, and changes nothing for the others. Section 5: the allocation also ends when there
      are "no considering jobs left".

    Parameters
    ----------
    times : list of list
        T: of each job, the seconds on 1, 2, ... processors.
    rounds : int
        alpha m.
    limit : float
        threshold m; no job may get more processors than it has times.
    stop_at_zero : bool
        Whether to end as soon as the highest revenue is 0 or less, which the letter does not say.
    """
    considering = list(range(len(times)))  # line 1
    x = [1] * len(times)  # lines 2 to 4
    k = 1
    while k <= rounds and considering:  # line 5
        best, highest = -1, -math.inf
        for i in considering:  # line 6
            last = x[i] == len(times[i])
            revenue = 0.0 if last else times[i][x[i] - 1] - times[i][x[i]]
            if best < 0 or revenue > highest:
                best, highest = i, revenue
        if stop_at_zero and highest <= 0:
            break
        if x[best] < limit:  # line 7
            x[best] += 1  # line 8
            k += 1
        else:
            considering.remove(best)  # line 10
    return x


def hrf(times: list[list[float]], budget: int, limit: int) -> list[int]:
    """Return the processors of each job where more of them need not make it faster.

    A step leads from a size to the next that is faster; its revenue is counted per processor. A
    job whose step is too large for what is left, or for the limit, has what it has. Below its
    smallest size a job cannot run. What brings nothing stays where it is.
    """
    x = [next(n for n, time in enumerate(own, 1) if time < math.inf) for own in times]
    considered = set(range(len(times)))
    left = budget - sum(x)
    while left > 0 and considered:
        steps = {}
        for i in considered:
            now = times[i][x[i] - 1]
            faster = [
                n for n in range(x[i] + 1, len(times[i]) + 1) if is_faster(times[i][n - 1], now)
            ]
            if faster:
                more = faster[0] - x[i]
                steps[i] = ((now - times[i][faster[0] - 1]) / more, more)
        if not steps:
            break
        best = min(steps, key=lambda i: (-steps[i][0], i))
        more = steps[best][1]
        if more > left or x[best] + more > limit:
            considered.discard(best)
        else:
            x[best] += more
            left -= more
        considered &= set(steps)
    return x


def is_faster(time: float, other: float) -> bool:
    """Return whether a time is shorter than another by more than one part in 10^12.

    Less than that is rounding: on the flat end of a speed-up all times are the same.
    """
    return time < other * (1 - 1e-12)


def useful_sizes(times: list[float]) -> list[int]:
    """Return the sizes that are faster than all smaller ones; the first is the smallest of all."""
    found: list[int] = []
    best = math.inf
    for n, time in enumerate(times, 1):
        if is_faster(time, best):
            found.append(n)
            best = time
    return found


def fastest(times: list[float], most: int) -> int:
    """Return the smallest of the fastest sizes up to a number; at least the smallest of all."""
    useful = useful_sizes(times)
    return max([n for n in useful if n <= most] or useful[:1])


def downey(n: int, parallelism: float, sigma: float) -> Fraction:
    """Return Downey's speed-up S(n) of a job, to the last digit.

    It is flat from 2 A - 1 processors on if sigma is at most 1, and from A + A sigma - sigma on
    otherwise; with sigma = 0 already from A on.

    Parameters
    ----------
    n : int
        How many processors, at least 1.
    parallelism, sigma : float
        A, at least 1, and sigma, at least 0.
    """
    a, s = Fraction(parallelism), Fraction(sigma)
    if s <= 1:
        if n <= a:
            return a * n / (a + s / 2 * (n - 1))
        if n <= 2 * a - 1:
            return a * n / (s * (a - Fraction(1, 2)) + n * (1 - s / 2))
        return a
    if n <= a + a * s - s:
        return n * a * (s + 1) / (s * (n + a - 1) + a)
    return a


def downey_times(time: float, parallelism: float, sigma: float, m: int) -> list[float]:
    """Return the times on 1, ..., m processors of a job that needs this time on one.

    Each is rounded once, so that times that are the same by the formula are the same here.
    """
    return [float(Fraction(time) / downey(n, parallelism, sigma)) for n in range(1, m + 1)]


def shares(weights: list[float], m: int) -> list[int]:
    """Return the part of the processors that each weight stands for, at least one."""
    total = sum(Fraction(weight) for weight in weights)
    return [max(1, round(Fraction(weight) * m / total)) for weight in weights]


def schedule_hrf(
    jobs: list[Job],
    m: int,
    budget: int | None,
    limit: int,
    *,
    backfilling: bool,
    each_start: bool = False,
    extra: bool = False,
    surplus: bool = False,
) -> list[tuple[float, int]]:
    """Return the start and processors of each job under highest revenue first.

    Without a budget it is adaptive: the waiting jobs' part of all jobs there are, and one more.
    With `extra` the first processor of each job is not taken from the budget. With `surplus`
    sizes are those of `literal_hrf`: jobs must run on any number of processors, and times that
    differ by rounding alone would count as different.
    """

    def choose(waiting: list[int], running: dict[int, Runs]) -> dict[int, int]:
        total = m * len(waiting) // (len(waiting) + len(running) + 1) if budget is None else budget
        total += len(waiting) * extra
        times = [jobs[j].requested_times for j in waiting]
        if surplus:
            sizes = literal_hrf(times, max(0, total - len(waiting)), limit)
        else:
            sizes = hrf(times, total, limit)
        return dict(zip(waiting, sizes, strict=True))

    # Nothing but the queue decides, unless running jobs count.
    return _replay(jobs, m, choose, backfilling, each_start, keep_without=budget is not None)


def schedule_greedy(jobs: list[Job], m: int, *, backfilling: bool) -> list[tuple[float, int]]:
    """Return the start and processors of each job if all run on their fastest sizes."""

    def choose(waiting: list[int], running: dict[int, Runs]) -> dict[int, int]:
        return {j: fastest(jobs[j].requested_times, m) for j in waiting}

    return _replay(jobs, m, choose, backfilling)


def schedule_fair(
    jobs: list[Job], m: int, *, backfilling: bool, at_submission: bool
) -> list[tuple[float, int]]:
    """Return the start and processors of each job by shares of sequential time."""
    kept: dict[int, int] = {}

    def choose(waiting: list[int], running: dict[int, Runs]) -> dict[int, int]:
        known = waiting + list(running)
        part = shares([jobs[j].requested_times[0] for j in known], m)
        now = {
            j: fastest(jobs[j].requested_times, most)
            for j, most in zip(known, part, strict=True)
            if j in waiting
        }
        if not at_submission:
            return now
        kept.update({j: size for j, size in now.items() if j not in kept})
        return {j: kept[j] for j in waiting}

    return _replay(jobs, m, choose, backfilling, keep_without=False)


def _replay(
    jobs: list[Job],
    m: int,
    choose: Choose,
    backfilling: bool,
    each_start: bool = False,
    keep_without: bool = True,
) -> list[tuple[float, int]]:
    """Return the start and processors of each job.

    Sizes are chosen at the beginning of each instant (with `keep_without`, only if the queue has
    changed since), and with `each_start` also after every start.
    """
    found: list[tuple[float, int]] = [(math.nan, 0)] * len(jobs)
    coming = list(range(len(jobs)))
    waiting: list[int] = []
    running: dict[int, Runs] = {}
    ends: dict[int, float] = {}
    sizes: dict[int, int] = {}
    changed = False
    while coming or waiting or running:
        now = min([*ends.values(), *(jobs[j].submit_time for j in coming[:1])])
        for j in [j for j in running if ends[j] == now]:
            del running[j], ends[j]
        while coming and jobs[coming[0]].submit_time == now:
            waiting.append(coming.pop(0))
            changed = True
        if changed or not keep_without:
            sizes = choose(list(waiting), dict(running))
            changed = False
        while True:
            j = _next(jobs, m, now, waiting, running, sizes, backfilling)
            if j is None:
                break
            size = sizes[j]
            found[j] = (now, size)
            running[j] = Runs(size, now + jobs[j].requested_times[size - 1])
            ends[j] = now + min(jobs[j].run_times[size - 1], jobs[j].requested_times[size - 1])
            waiting.remove(j)
            changed = True
            if each_start:
                sizes = choose(list(waiting), dict(running))
                changed = False
    return found


def _next(
    jobs: list[Job],
    m: int,
    now: float,
    waiting: list[int],
    running: dict[int, Runs],
    sizes: dict[int, int],
    backfilling: bool,
) -> int | None:
    """Return the first job that may start now: one that does not delay the head of the queue."""

    def earliest(need: int, others: list[Runs]) -> float:
        """Return when so many processors are free, if nothing else starts."""
        for time in sorted({now, *(run.latest_end for run in others)}):
            if m - sum(run.processors for run in others if run.latest_end > time) >= need:
                return time
        raise AssertionError

    free = m - sum(run.processors for run in running.values())
    for j in waiting:
        if sizes[j] > free:
            continue
        if j == waiting[0]:
            return j
        if not backfilling:
            return None
        start = Runs(sizes[j], now + jobs[j].requested_times[sizes[j] - 1])
        need = sizes[waiting[0]]
        present = list(running.values())
        if earliest(need, [*present, start]) <= earliest(need, present):
            return j
    return None
