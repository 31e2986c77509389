"""Virtual malleability: running jobs are shrunk to half their processors, and expanded again.

G. Utrera, S. Tabik, J. Corbalan and J. Labarta, "A job scheduling approach for multi-core clusters
based on virtual malleability", Euro-Par 2012, sections 3 and 4.

A job keeps all its processes on ceil(p / 2) processors, up to two processes on each. Where the
paper is silent, or its formulas contradict what they mean, we read it thus:

- An expanded job runs as long as its trace says. Shrunk it does 1 / max(1, 2 u + OV) seconds of
  its run time in a second: u is its CPU utilisation while expanded, OV what its processes lose on
  the network. Formulas 3 and 4 taken by the letter would let expanded jobs with u < 1 run faster
  than they did, and would charge OV to jobs that are never shrunk. ``contention=communication``
  charges OV to the part 1 - u of the run time in which a job communicates: 1 / (max(1, 2 u) +
  (1 - u) OV). That is not in the formulas, but of all readings it is the nearest to table 3.
- Fewer than p processors are as slow as half of them, since some have two processes and all wait
  for these. So a job has p or ceil(p / 2), and what is left of a shrunk one is free for the next.
- A job that finds no room gets all its processors if shrinking others frees as many, else half.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.scheduling import processors as sets
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.platform import Platform
from swdual.scheduling.policy import Decision, Option, Resize, Start, View
from swdual.scheduling.workload.workload import Workload
from swdual.text.messages import parse_number

MALLEABLE = True

OPTIONS = {
    "order": Option(
        "oldest",
        "Which jobs are shrunk and expanded first: by submission, by CPU utilisation, or by "
        "requested time.",
        ("oldest", "least_utilised", "longest", "shortest"),
    ),
    "expand": Option(
        "queue_empty",
        "When shrunk jobs are expanded on free processors: only if nobody waits, as in the paper; "
        "whenever these are left over, as they can be taken back for the head of the queue; never.",
        ("queue_empty", "left_over", "never"),
    ),
    "utilisation": Option(
        "trace",
        "CPU utilisation of expanded jobs, 0 to 1; from the trace: CPU time / run time of each, "
        "1 where it is missing.",
    ),
    "overhead": Option(
        "random",
        "OV, what shrunk jobs lose on the network, in run times: a number from 0, or random, "
        "uniform in [0, 1) for each job.",
    ),
    "contention": Option(
        "run",
        "What OV lengthens while a job is shrunk: its whole run time, or its communication, the "
        "part 1 - u of the run time where u is its CPU utilisation.",
        ("run", "communication"),
    ),
    "seed": Option(0, "Seed of random overheads."),
}

MAX_PROCESSES = 2
"""Processes on a processor, at most: the multiprogramming level of a shrunk job."""

Key = tuple[float, int]


class Malleable:
    """The running jobs, expanded or shrunk, and the decisions to shrink and expand them.

    Parameters
    ----------
    platform, allocator
        Where jobs run, and what chooses their processors; the policies' own arguments.
    order, expand, utilisation, overhead, contention, seed
        As in `OPTIONS`.

    Raises
    ------
    InputError
        If the allocator is forced, or an option is not a number in its bounds.
    """

    def __init__(
        self,
        platform: Platform,
        allocator: Allocator,
        order: str,
        expand: str,
        utilisation: str,
        overhead: str,
        contention: str,
        seed: int,
    ) -> None:
        refuse_forced(allocator)
        if seed < 0:
            raise InputError(f"seed cannot be {seed}: it is 0 or more")
        self._order = order
        self._expand = expand
        self._utilisation = _parse_number("utilisation", utilisation, "trace", 1.0)
        self._overhead = _parse_number("overhead", overhead, "random", np.inf)
        self._contention = contention
        self._seed = seed
        self._slowed: list[float] | None = None
        self._key: Callable[[Job], Key]
        self._expanded: list[Key] = []
        self._shrunk: list[Key] = []
        self._spare = 0

    def update(self, view: View) -> None:
        """Forget the jobs that ended.

        Raises
        ------
        InputError
            If the jobs are moldable: those have models of their own.
        """
        if self._slowed is None:
            if view.workload.speedup is not None:
                raise InputError(
                    "virtual malleability slows rigid jobs by a model of its own, but these jobs "
                    "are moldable; choose another policy, or leave their speedup out"
                )
            utilisation = _utilisation(view.workload, self._utilisation)
            self._slowed = self._compute_rates(utilisation).tolist()
            self._key = _make_sort_key(self._order, utilisation.tolist())
        for ended in view.ended:
            job = ended.job
            if job.processors > 1:
                self._forget(job, expanded=sets.count(ended.processors) == job.processors)

    def rate(self, job: Job) -> float:
        """Return how many seconds of its run time a shrunk job does in a second."""
        assert self._slowed is not None, "update comes first"
        return self._slowed[job.index]

    def room(self, view: View) -> int:
        """Return how many processors would be free if all jobs were shrunk."""
        return view.free_count + self._spare

    def explain_wait(self, view: View, job: Job) -> str:
        """Return why a job waits that does not fit, to be passed to `View.note`.

        Parameters
        ----------
        view, job
            The present instant, and a waiting job.
        """
        return (
            f"shrunk it needs {shrunk_size(job):,} processors, and {self.room(view):,} would be "
            "free if all were shrunk"
        )

    def fits(self, view: View, job: Job) -> bool:
        """Return whether a job fits if running jobs, or it too, are shrunk.

        Parameters
        ----------
        view, job
            The present instant, and a waiting job.
        """
        return shrunk_size(job) <= self.room(view)

    def start_as_head(self, view: View, job: Job) -> Iterator[Decision]:
        """Yield the decisions that start the head of the queue: jobs are shrunk until it fits.

        Parameters
        ----------
        view, job
            The present instant, and the first waiting job.
        """
        unshrunk = job.processors <= self.room(view)
        needed = job.processors if unshrunk else shrunk_size(job)
        made_room = 0
        while view.free_count < needed:
            other = view.running[self._expanded[0][1]]
            left = sets.lowest(other.processors, shrunk_size(other.job))
            self._forget(other.job, expanded=True)
            insort(self._shrunk, self._key(other.job))
            made_room += 1
            view.note(
                other.job, f"shrunk to {shrunk_size(other.job):,} processors for job {job.number}"
            )
            yield Resize(other.job, left, self.rate(other.job))
        view.note(job, f"started as the head of the queue{_describe_start(unshrunk, made_room)}")
        yield self.start(job, unshrunk=unshrunk, backfilled=False)

    def start(self, job: Job, *, unshrunk: bool, backfilled: bool) -> Start:
        """Return the start of a job on free processors.

        Parameters
        ----------
        job
            A waiting job.
        unshrunk
            It gets as many processors as it requests, else half.
        backfilled
            It overtakes a job that was submitted before it.
        """
        if job.processors > 1:
            insort(self._expanded if unshrunk else self._shrunk, self._key(job))
        if unshrunk:
            self._spare += job.processors - shrunk_size(job)
            return Start(job, None, backfilled)
        return Start(job, None, backfilled, width=shrunk_size(job), rate=self.rate(job))

    def expand(self, view: View) -> Iterator[Resize]:
        """Yield which shrunk jobs get back all their processors, as far as these are free."""
        if self._expand == "never" or (view.queue and self._expand == "queue_empty"):
            return
        for key in [*self._shrunk]:
            if not view.free_count:
                return
            running = view.running[key[1]]
            job = running.job
            missing = job.processors - shrunk_size(job)
            if missing > view.free_count:
                continue
            more = view.allocator.choose(view.free(), missing, view.platform)
            assert more is not None, "only a forced allocator refuses free processors"
            self._forget(job, expanded=False)
            insort(self._expanded, key)
            self._spare += missing
            view.note(job, f"expanded to {job.processors:,} processors: nobody takes them")
            yield Resize(job, sets.union(running.processors, more))

    def _forget(self, job: Job, *, expanded: bool) -> None:
        jobs = self._expanded if expanded else self._shrunk
        del jobs[bisect_left(jobs, self._key(job))]
        if expanded:
            self._spare -= job.processors - shrunk_size(job)

    def _compute_rates(self, utilisation: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (jobs,) seconds of its run time that each job does in a second while shrunk."""
        overhead: float | NDArray[np.float64]
        if self._overhead is None:
            overhead = np.random.default_rng(self._seed).random(len(utilisation))
        else:
            overhead = self._overhead
        if self._contention == "communication":
            communication = (1 - utilisation) * overhead
            return 1.0 / (np.maximum(1.0, MAX_PROCESSES * utilisation) + communication)
        return 1.0 / np.maximum(1.0, MAX_PROCESSES * utilisation + overhead)


def refuse_forced(allocator: Allocator) -> None:
    """Raise an error if the allocator is forced."""
    if allocator.FORCED:
        raise InputError(
            "malleable jobs make room for others by number, and a forced allocator may refuse it; "
            "choose a best effort one, such as basic"
        )


def shrunk_size(job: Job) -> int:
    """Return how many processors a shrunk job has: half, rounded up."""
    return -(-job.processors // MAX_PROCESSES)


def _describe_start(unshrunk: bool, shrunk: int) -> str:
    others = "" if not shrunk else f", {shrunk} other{'s' * (shrunk > 1)} shrunk"
    return others if unshrunk else f"{others}, itself shrunk"


def _utilisation(workload: Workload, value: float | None) -> NDArray[np.float64]:
    """Return (jobs,) CPU utilisation while expanded, between 0 and 1."""
    if value is not None:
        return np.full(len(workload), value)
    cpu_time = workload.extra.get("cpu_time")
    if cpu_time is None:
        return np.ones(len(workload))
    known = (cpu_time >= 0) & (workload.run_time > 0)
    return np.where(known, np.minimum(1.0, cpu_time / np.where(known, workload.run_time, 1.0)), 1.0)


def _make_sort_key(order: str, utilisation: list[float]) -> Callable[[Job], Key]:
    """Return the sort key of an order; equal jobs are in the order of submission."""
    by: dict[str, Callable[[Job], float]] = {
        "oldest": lambda job: job.index,
        "least_utilised": lambda job: utilisation[job.index],
        "longest": lambda job: -job.requested_time,
        "shortest": lambda job: job.requested_time,
    }
    first = by[order]
    return lambda job: (first(job), job.index)


def _parse_number(name: str, text: str, otherwise: str, max_value: float) -> float | None:
    """Return an option as a number; None if it is the word that it may be instead."""
    if text == otherwise:
        return None
    try:
        number = parse_number(text)
    except ValueError:
        number = np.nan
    if not 0 <= number <= max_value or number == np.inf:
        bounds = "0 or more" if max_value == np.inf else f"between 0 and {max_value:g}"
        raise InputError(f"{name} cannot be {text!r}: it is {otherwise}, or a number {bounds}")
    return number
