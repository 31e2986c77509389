"""FCFS-malleable and its combination with EASY backfilling, computed from the definitions.

A job is when it is submitted, how long it runs, how long it asks for, how many processes it has,
and how many times as long it takes per second of its run time while it is shrunk; a machine is a
number of processors that are all alike.  What holds:

- Expanded, a job has a processor for each process; shrunk it has half as many, rounded up.  A job
  with one process is always expanded.
- A job ends when it has done its run time, or is killed when it has done what it asked for.
- In an instant all ends come first, then all submissions, then one pass of the policy.
- The first of the queue starts expanded if it fits, or would fit if jobs were shrunk: these are
  shrunk in the order of a criterion, until it fits.  If it would not fit even so, but would with
  half of its processors, as many are shrunk as that takes, and it starts shrunk.  Else nobody is.
- When the queue is empty after all that, shrunk jobs are expanded in the order of the criterion:
  each whose missing processors are free.  Otherwise they are so always, or never.
- Backfilling: the first of the queue that cannot start has the promise of the earliest instant at
  which, if all jobs last as long as they may and all are shrunk then, half its processors are
  free.  What is free beyond them at that instant are the extra ones.  In the order of the queue,
  another job starts on free processors, expanded or else shrunk, if it ends by that instant at the
  latest, or if half its processors are not more than the extra ones, which it then takes.

All is done with fractions, and in each instant everything is worked out anew.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple


class Job(NamedTuple):
    """A job: when, how long, how wide, and how many times as long per second while shrunk."""

    submit_time: float
    run_time: float
    requested_time: float
    processes: int
    slowed: float


class Piece(NamedTuple):
    """A time in which a job held some number of processors."""

    job: int
    start: Fraction
    end: Fraction
    processors: int


class _Run:
    """A job that runs: seconds of its run time that are left, and until it is killed."""

    def __init__(self, job: Job, now: Fraction, *, shrunk: bool) -> None:
        self.work = Fraction(min(job.run_time, job.requested_time))
        self.limit = Fraction(job.requested_time)
        self.slowed = Fraction(job.slowed)
        self.shrunk = shrunk
        self.since = now

    def seconds(self, work: Fraction) -> Fraction:
        return work * self.slowed if self.shrunk else work

    def advance(self, now: Fraction) -> None:
        done = now - self.since
        done = done / self.slowed if self.shrunk else done
        self.work -= done
        self.limit -= done
        self.since = now


def half(job: Job) -> int:
    """Return how many processors a job has while it is shrunk."""
    return math.ceil(job.processes / 2)


def pieces(
    jobs: Sequence[Job],
    m: int,
    *,
    backfilling: bool = False,
    criterion: Callable[[int], float] = lambda job: job,
    expand: str = "queue_empty",
) -> list[Piece]:
    """Return when each job held how many processors.

    Parameters
    ----------
    jobs
        In the order of their submission.
    m
        Processors of the machine.
    backfilling
        Whether later jobs may start before the first of the queue.
    criterion
        Of a job's number: the lowest is shrunk and expanded first, of equals the first submitted.
    expand
        When shrunk jobs are expanded: "queue_empty", "left_over" (always) or "never".
    """
    running: dict[int, _Run] = {}
    made: list[Piece] = []
    queue: list[int] = []
    coming = list(range(len(jobs)))
    now = Fraction(0)

    def held(j: int) -> int:
        return half(jobs[j]) if running[j].shrunk else jobs[j].processes

    def free() -> int:
        return m - sum(held(j) for j in running)

    def write(j: int) -> None:
        if now > running[j].since:
            made.append(Piece(j, running[j].since, now, held(j)))
        running[j].advance(now)

    def turn(j: int, *, shrunk: bool) -> None:
        write(j)
        running[j].shrunk = shrunk

    def start(j: int, *, shrunk: bool) -> None:
        queue.remove(j)
        running[j] = _Run(jobs[j], now, shrunk=shrunk)

    def ordered(*, shrunk: bool) -> list[int]:
        those = [j for j in running if running[j].shrunk == shrunk and jobs[j].processes > 1]
        return sorted(those, key=lambda j: (criterion(j), j))

    def start_first() -> bool:
        first = queue[0]
        at_best = m - sum(half(jobs[j]) for j in running)
        if half(jobs[first]) > at_best:
            return False
        whole = jobs[first].processes <= at_best
        for other in ordered(shrunk=False):
            if free() < (jobs[first].processes if whole else half(jobs[first])):
                turn(other, shrunk=True)
        start(first, shrunk=not whole)
        return True

    def backfill() -> None:
        ends = {j: run.since + run.seconds(run.limit) for j, run in running.items()}
        for instant in sorted({now, *ends.values()}):
            room = m - sum(half(jobs[j]) for j in running if ends[j] > instant)
            if room >= half(jobs[queue[0]]):
                break
        extra = room - half(jobs[queue[0]])
        for j in queue[1:]:
            shrunk = jobs[j].processes > free()
            if half(jobs[j]) > free():
                continue
            if (
                now + _Run(jobs[j], now, shrunk=shrunk).seconds(Fraction(jobs[j].requested_time))
                > instant
            ):
                if half(jobs[j]) > extra:
                    continue
                extra -= half(jobs[j])
            start(j, shrunk=shrunk)

    while coming or queue or running:
        instants = [run.since + run.seconds(run.work) for run in running.values()]
        instants += [Fraction(jobs[j].submit_time) for j in coming[:1]]
        now = min(instants)
        for j in [j for j, run in running.items() if run.since + run.seconds(run.work) == now]:
            write(j)
            del running[j]
        while coming and jobs[coming[0]].submit_time == now:
            queue.append(coming.pop(0))
        while queue and start_first():
            pass
        if queue and backfilling:
            backfill()
        if expand == "left_over" or (expand == "queue_empty" and not queue):
            for j in ordered(shrunk=True):
                if jobs[j].processes - half(jobs[j]) <= free():
                    turn(j, shrunk=False)
    return made


def times(jobs: Sequence[Job], made: Sequence[Piece]) -> list[tuple[Fraction, Fraction]]:
    """Return the start and end of each job; one that never ran has both at its submission."""
    found = [(Fraction(job.submit_time), Fraction(job.submit_time)) for job in jobs]
    for j in range(len(jobs)):
        own = [piece for piece in made if piece.job == j]
        if own:
            found[j] = min(piece.start for piece in own), max(piece.end for piece in own)
    return found


def slowdown(jobs: Sequence[Job], made: Sequence[Piece]) -> Fraction:
    """Return the mean of (wait + execution) / expanded execution, formula 1."""
    total = Fraction(0)
    for job, (_, end) in zip(jobs, times(jobs, made), strict=True):
        total += (end - Fraction(job.submit_time)) / Fraction(min(job.run_time, job.requested_time))
    return total / len(jobs)


def fragmentation(jobs: Sequence[Job], made: Sequence[Piece], m: int) -> Fraction:
    """Return free processors while the queue is not empty / (total time processors), formula 2."""
    ran = times(jobs, made)
    lost = Fraction(0)
    times_of = [*ran, *((piece.start, piece.end) for piece in made)]
    times_of += [(Fraction(job.submit_time),) for job in jobs]
    instants = sorted({time for times in times_of for time in times})
    for begin, end in pairwise(instants):
        waiting = any(
            job.submit_time <= begin < start for job, (start, _) in zip(jobs, ran, strict=True)
        )
        busy = sum(piece.processors for piece in made if piece.start <= begin < piece.end)
        lost += (m - busy) * (end - begin) * waiting
    return lost / ((instants[-1] - instants[0]) * m)


def multiprogramming_level(jobs: Sequence[Job], made: Sequence[Piece], m: int) -> Fraction:
    """Return the mean number of processes in the machine, per processor."""
    processes = sum(jobs[piece.job].processes * (piece.end - piece.start) for piece in made)
    ends = max(piece.end for piece in made)
    return processes / ((ends - Fraction(jobs[0].submit_time)) * m)
