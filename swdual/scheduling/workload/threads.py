"""Jobs of several threads: each thread is a sequential job of a workload.

What belongs together says the field ``job``, the same number for all threads of a job, which are
submitted at once. The first thread of a job is the first of them in the workload. A thread may
need the result of another one: the field ``waits_for`` is the latter's number, -1 if it needs none.

Policies that know of threads, such as thread_matrix, start them one by one; the others are given
rigid jobs that hold a processor for each thread from their first second to their last, as `joined`
makes them. Both are the same jobs, so that their turnaround times may be compared: see
`swdual.scheduling.metrics.turnaround_of_threads`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.scheduling.workload.workload import Workload

NOTHING = -1
"""What a thread waits for that needs no result."""


@dataclass(frozen=True, eq=False)
class Threads:
    """What the threads of a workload have to do with each other.

    Parameters
    ----------
    number, submit_time
        (jobs,) of each job, in the order of their first threads.
    job
        (threads,) the place of each thread's job among these.
    waits_for
        (threads,) the index of the thread whose result each needs, or -1.
    """

    number: NDArray[np.int64]
    submit_time: NDArray[np.float64]
    job: NDArray[np.int64]
    waits_for: NDArray[np.int64]

    @classmethod
    def of(cls, workload: Workload) -> Threads:
        """Return the threads of a workload; without a field ``job``, each is a job of its own.

        Raises
        ------
        InputError
            If a thread needs several processors, threads of a job are not submitted at once, or
            one waits for a thread that is not there, or indirectly for itself.
        """
        wide = np.flatnonzero(workload.processors > 1)
        if len(wide):
            number, count = workload.number[wide[0]], workload.processors[wide[0]]
            raise InputError(
                f"job {number} needs {count} processors, but a thread runs on one; make threads of "
                "such jobs with swdual.scheduling.workload.threads.split",
                file=workload.source,
            )
        together = workload.extra.get("job", np.arange(len(workload)))
        _, first, job = np.unique(together, return_index=True, return_inverse=True)
        # The jobs are in the order of their numbers, and are to be in that of their first threads.
        order = np.argsort(first)
        job, first = np.argsort(order)[job], first[order]
        names = workload.extra.get("job", workload.number)
        late = np.flatnonzero(workload.submit_time != workload.submit_time[first][job])
        if len(late):
            raise InputError(
                f"thread {workload.number[late[0]]} is submitted later than the first one of its "
                f"job, {names[late[0]]}; submit all threads of a job at once",
                file=workload.source,
            )
        return cls(names[first], workload.submit_time[first], job, _find_awaited(workload))

    @property
    def count(self) -> NDArray[np.int64]:
        """(jobs,) how many threads each has."""
        return np.bincount(self.job, minlength=len(self.number))

    def last(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (jobs,) the largest of (threads,) values among each job's threads."""
        largest = np.full(len(self.number), -np.inf)
        np.maximum.at(largest, self.job, values)
        return largest

    def chains(self, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (threads,) when each ends if all have processors from 0 on and run so long."""
        ends = seconds.copy()
        for thread in _awaited_first(self.waits_for):
            if self.waits_for[thread] != NOTHING:
                ends[thread] += ends[self.waits_for[thread]]
        return ends


def split(
    workload: Workload, *, balance: float = 1.0, dependent: float = 0.0, seed: int = 0
) -> Workload:
    """Return the threads of a workload's jobs: one for each processor that a job needs.

    A thread of each job, at random, runs as long as the job does.

    Parameters
    ----------
    workload
        Rigid jobs, without repeated numbers.
    balance
        The other threads run for a part of that which is uniform between this and 1.
    dependent
        The part of the threads, but for the first ones of each job, that wait for an earlier
        thread of their job; which, is drawn at random. Jobs then take longer than they did.
    seed
        The same seed gives the same threads.

    Raises
    ------
    InputError
        If a part is not between 0 and 1, or two jobs have the same number.

    >>> jobs = Workload.from_arrays([0, 5], 60, [3, 1], number=[7, 9])
    >>> split(jobs).extra["job"]
    array([7, 7, 7, 9])
    """
    if not (0 <= balance <= 1 and 0 <= dependent <= 1):
        raise InputError(f"balance and dependent are parts of 1, not {balance} and {dependent}")
    workload.check_follows_none("a workload of threads")
    if len(np.unique(workload.number)) < len(workload):
        raise InputError(
            f"two jobs of {workload.name} have the same number, so that their threads cannot be "
            "told apart; number them anew",
            file=workload.source,
        )
    generator = np.random.default_rng(seed)
    counts = workload.processors
    row = np.repeat(np.arange(len(workload)), counts)
    first = np.concatenate(([0], np.cumsum(counts)))[:-1]
    within = np.arange(len(row)) - first[row]
    part = generator.uniform(balance, 1.0, len(row)) if balance < 1 else np.ones(len(row))
    part[first + generator.integers(0, counts)] = 1.0
    chosen = (generator.random(len(row)) < dependent) & (within > 0)
    number = np.arange(1, len(row) + 1)
    earlier = first[row] + generator.integers(0, np.maximum(within, 1))
    return Workload(
        number=number,
        submit_time=workload.submit_time[row],
        run_time=workload.run_time[row] * part,
        requested_time=workload.requested_time[row],
        processors=np.ones(len(row), np.int64),
        extra={
            "job": workload.number[row],
            "waits_for": np.where(chosen, number[earlier], NOTHING),
        },
        name=f"threads of {workload.name}",
        machine_processors=workload.machine_processors,
    )


def joined(threads: Workload) -> Workload:
    """Return rigid jobs that hold a processor for each of their threads until the last one ends.

    Where threads wait for each other, that is the end of the longest chain of them.

    Raises
    ------
    InputError
        If a thread waits for one of another job, or as in `Threads.of`.
    """
    of = Threads.of(threads)
    foreign = np.flatnonzero((of.waits_for != NOTHING) & (of.job != of.job[of.waits_for]))
    if len(foreign):
        raise InputError(
            f"thread {threads.number[foreign[0]]} waits for one of another job, which rigid jobs "
            "cannot; leave such threads out",
            file=threads.source,
        )
    return Workload(
        number=of.number,
        submit_time=of.submit_time,
        run_time=of.last(of.chains(threads.run_time)),
        requested_time=of.last(of.chains(threads.requested_time)),
        processors=of.count,
        name=f"jobs of {threads.name}",
        machine_processors=threads.machine_processors,
    )


def _find_awaited(workload: Workload) -> NDArray[np.int64]:
    """Return the index of the thread that each waits for."""
    waits_for = np.full(len(workload), NOTHING, np.int64)
    wanted = workload.extra.get("waits_for", waits_for)
    waiting = np.flatnonzero(wanted != NOTHING)
    if not len(waiting):
        return waits_for
    numbers, index, count = np.unique(workload.number, return_index=True, return_counts=True)
    found = np.minimum(np.searchsorted(numbers, wanted[waiting]), len(numbers) - 1)
    wrong = np.flatnonzero((numbers[found] != wanted[waiting]) | (count[found] > 1))
    if len(wrong):
        thread = waiting[wrong[0]]
        raise InputError(
            f"thread {workload.number[thread]} waits for thread {wanted[thread]}, but there is not "
            "exactly one of that number; let it wait for one that is there, or for -1, none",
            file=workload.source,
        )
    waits_for[waiting] = index[found]
    in_circles = sorted({*range(len(workload))} - {*_awaited_first(waits_for)})
    if in_circles:
        raise InputError(
            f"thread {workload.number[in_circles[0]]} waits for itself through others, so none of "
            "them can start; let one of them wait for nothing, -1",
            file=workload.source,
        )
    return waits_for


def _awaited_first(waits_for: NDArray[np.int64]) -> list[int]:
    """Return all threads that can ever run, each after the one that it waits for."""
    waiting: dict[int, list[int]] = {}
    order: list[int] = []
    for thread, awaited in enumerate(waits_for.tolist()):
        if awaited == NOTHING:
            order.append(thread)
        else:
            waiting.setdefault(awaited, []).append(thread)
    for thread in order:  # which grows
        order.extend(waiting.get(thread, ()))
    return order
