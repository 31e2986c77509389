"""Moldable jobs under highest revenue first and its rivals, from their definitions.

A job is ``(submit_time, run_times, requested_times)``: what it runs and requests on 1, 2, ...,
m processors.  Jobs are in the order of submission.  Policies know requested times only.

Everything is lists and dictionaries that are walked from end to end, and nothing is remembered
that can be found anew.

References
----------
Wu, Tuo, Jin, Yan and Weng, Computing Frontiers 2015: algorithm 1, and section 3.1 for the rivals.
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


def literal_hrf(times: list[list[float]], budget: int, limit: int) -> list[int]:
    """Return the processors of each job by algorithm 1 as it stands, but for its first loop.

    The first processor of each job is taken from the budget, as in the example of section 4.1.

    Parameters
    ----------
    times : list of list
        Of each job, the seconds on 1, 2, ... processors.
    budget : int
        Of all jobs.
    limit : int
        Of each.
    """
    x = [1] * len(times)
    considered = set(range(len(times)))
    left = budget - len(times)
    while left > 0 and considered:
        revenue = {
            i: times[i][x[i] - 1] - times[i][x[i]] if x[i] < len(times[i]) else 0.0
            for i in considered
        }
        best = min(considered, key=lambda i: (-revenue[i], i))
        if x[best] < limit and revenue[best] > 0:
            x[best] += 1
            left -= 1
        else:
            considered.discard(best)
    return x


def hrf(times: list[list[float]], budget: int, limit: int) -> list[int]:
    """Return the processors of each job where more of them need not make it faster.

    A step leads from a size to the next that is faster; its revenue is counted per processor. A
    job whose step is too large for what is left, or for the limit, has what it has. Below its
    smallest size a job cannot run.
    """
    x = [next(n for n, time in enumerate(own, 1) if time < math.inf) for own in times]
    considered = set(range(len(times)))
    left = budget - sum(x)
    while left > 0 and considered:
        steps = {}
        for i in considered:
            now = times[i][x[i] - 1]
            faster = [n for n in range(x[i] + 1, len(times[i]) + 1) if times[i][n - 1] < now]
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


def fastest(times: list[float], most: int) -> int:
    """Return the smallest of the fastest sizes up to a number; at least the smallest of all."""
    possible = [n for n, time in enumerate(times, 1) if time < math.inf]
    within = [n for n in possible if n <= most] or possible[:1]
    return min(within, key=lambda n: (times[n - 1], n))


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
) -> list[tuple[float, int]]:
    """Return the start and processors of each job under highest revenue first.

    Without a budget it is adaptive: the waiting jobs' part of all jobs there are, and one more.
    With `extra` the first processor of each job is not taken from the budget.
    """

    def choose(waiting: list[int], running: dict[int, Runs]) -> dict[int, int]:
        total = m * len(waiting) // (len(waiting) + len(running) + 1) if budget is None else budget
        total += len(waiting) * extra
        times = [jobs[j].requested_times for j in waiting]
        return dict(zip(waiting, hrf(times, total, limit), strict=True))

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
