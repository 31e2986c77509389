"""Sequential tasks on processors of which some may be kept for heavy tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import ClassVar, Protocol

import numpy as np

from swdual.errors import InputError
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.platform import Platform
from swdual.scheduling.policy import Decision, Option, Running, Start, Stop, View
from swdual.scheduling.processors import Ranges

DEDICATED = Option(1, "How many of the processors run redirected tasks, and nothing else.")

PLACES = True
JOBS = "sequential"


def single(processor: int) -> Ranges:
    """Return the set of a single processor."""
    return np.array([[processor, processor + 1]], np.int64)


class Queues(Protocol):
    """Processors, and the queues of tasks that wait for them."""

    def end(self, ended: Running) -> None:
        """Note that a task has ended."""
        ...

    def add(self, view: View, job: Job) -> Job | None:
        """Take a waiting task; return a running one that is heavy now, if there is one.

        Parameters
        ----------
        view, job
            The present instant, and a waiting task.
        """
        ...

    def decisions(self, view: View) -> Iterator[Start | Stop]:
        """Yield the starts and stops of this instant."""
        ...


class Sequential:
    """Decisions about sequential tasks.

    Parameters
    ----------
    queues
        The processors of all tasks, or of those that are not redirected.
    """

    def __init__(self, queues: Queues) -> None:
        self._queues = queues

    def decide(self, view: View) -> Iterator[Decision]:
        """Yield the decisions of an instant."""
        for ended in view.ended:
            self._queues.end(ended)
        for job in view.submitted:
            check_sequential(job)
            self._queues.add(view, job)
        yield from self._queues.decisions(view)


class Redirecting:
    """Decisions about sequential tasks, of which the heavy ones have processors of their own.

    Parameters
    ----------
    platform
        Its first processors are for all tasks that are not redirected.
    dedicated
        How many others there are; their tasks are not redirected again.
    threshold
        At how many shorter tasks a running task is heavy.

    Raises
    ------
    InputError
        If there are no dedicated processors, or no others.
    """

    QUEUES: Callable[..., Queues]
    """The class of the queues."""

    def __init__(self, platform: Platform, dedicated: int, threshold: float = inf) -> None:
        if not 1 <= dedicated < platform.processors:
            raise InputError(
                f"dedicated cannot be {dedicated} on {platform.processors} processors: it is at "
                "least 1 and leaves some for the other tasks"
            )
        self._first_dedicated = platform.processors - dedicated
        self._common = self.QUEUES(range(self._first_dedicated), threshold=threshold)
        self._dedicated = self.QUEUES(range(self._first_dedicated, platform.processors))

    def decide(self, view: View) -> Iterator[Decision]:
        """Yield the decisions of an instant."""
        for ended in view.ended:
            apart = int(ended.processors[0, 0]) >= self._first_dedicated
            (self._dedicated if apart else self._common).end(ended)
        for job in view.submitted:
            check_sequential(job)
            if self._is_heavy(job):
                view.note(job, "redirected at its submission")
                self._dedicated.add(view, job)
                continue
            heavy = self._common.add(view, job)
            if heavy is not None:
                view.note(heavy, "stopped and redirected: too many shorter tasks came meanwhile")
                yield Stop(heavy, keep=False)
                self._dedicated.add(view, heavy)
        yield from self._common.decisions(view)
        yield from self._dedicated.decisions(view)

    def _is_heavy(self, job: Job) -> bool:
        """Return whether a task is redirected before it starts."""
        return False


class RedirectingByCount(Redirecting):
    """Redirects a running task after so many shorter ones."""

    OPTIONS: ClassVar = {
        "dedicated": DEDICATED,
        "threshold": Option(
            5.0, "How many shorter tasks come while a task runs until it is redirected; inf: never."
        ),
    }

    def __init__(
        self, platform: Platform, allocator: Allocator, dedicated: int, threshold: float
    ) -> None:
        if not threshold >= 1:
            raise InputError(f"threshold cannot be {threshold:g}: it is 1 or more, or inf")
        super().__init__(platform, dedicated, threshold)


class RedirectingAtRandom(Redirecting):
    """Redirects long tasks before they start, with a probability: c in the thesis.

    A task is long from a `share` of the longest so far on: b in the thesis.
    """

    OPTIONS: ClassVar = {
        "dedicated": DEDICATED,
        "probability": Option(0.8, "How likely a potentially heavy task is redirected, 0 to 1."),
        "share": Option(
            0.02, "A task is potentially heavy from this part of the longest so far on."
        ),
        "seed": Option(1, "The same seed redirects the same tasks."),
    }

    def __init__(
        self,
        platform: Platform,
        allocator: Allocator,
        dedicated: int,
        probability: float,
        share: float,
        seed: int,
    ) -> None:
        super().__init__(platform, dedicated)
        for name, value in (("probability", probability), ("share", share)):
            if not 0 <= value <= 1:
                raise InputError(f"{name} cannot be {value:g}: it is from 0 to 1")
        if seed < 0:
            raise InputError(f"seed cannot be {seed}: it is 0 or more")
        self._probability = probability
        self._share = share
        self._random = np.random.default_rng(seed)
        self._longest = -inf

    def _is_heavy(self, job: Job) -> bool:
        self._longest = max(self._longest, job.requested_time)
        if job.requested_time < self._share * self._longest:
            return False
        return float(self._random.random()) <= self._probability


def check_sequential(job: Job) -> None:
    """Raise an `InputError` if a job needs more than one processor."""
    if job.processors != 1:
        raise InputError(
            f"job {job.number} needs {job.processors} processors, but this policy is for "
            "sequential tasks; make some of the jobs by swdual.scheduling.workload.sequential"
        )
