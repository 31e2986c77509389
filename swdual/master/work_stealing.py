"""The scheduler: what each worker does next, what is given back, what is taken over.

A worker does the tasks that the plan gave it, in their order. When they are done it takes over
what another would finish later; then it does the jobs that belong to nobody; then it begins anew
what another is so slow at that it would still be sooner. What fails is given to somebody else.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.errors import DeviceMemoryError, EngineError, SwdualError
from swdual.master.task import Job, Stopped, Superseded, TaskAttempt
from swdual.master.worker import Worker

logger = logging.getLogger("swdual")

MAX_FAILURES = 3
"""Failures of one job that end the search, and of one worker in a row that end its service."""

LOOK_SECONDS = 0.05
"""How often a worker without work looks whether others are too slow."""

MUCH_SOONER = 2.0
"""A task that another has begun is begun anew where that takes so many times less."""

HANGS = 20.0
"""A worker that is silent for so many times what its turn should take is not counted on."""

SILENT_SECONDS = 3600.0
"""A worker of which nothing is heard for so long is given up: no step of a task takes as long."""

MAX_LOOK_SECONDS = 1.0
"""Seconds between two looks that count as silence: beyond, the whole process was suspended."""

REMEDY = "search again on another `device` or `backend`"

LOOK_AHEAD = 16
"""Jobs that a worker is told of in advance."""


class _Queue:
    """The planned jobs of one worker, and the seconds they are predicted to take there."""

    def __init__(self, worker: int, jobs: Iterable[Job]) -> None:
        self._worker = worker
        self.jobs = deque(jobs)
        self.seconds = sum(job.cost(worker) for job in self.jobs)

    def first(self) -> Job | None:
        """Take the first job that is not done yet."""
        while self.jobs:
            job = self.jobs.popleft()
            self.seconds -= job.cost(self._worker)
            if not job.done:
                return job
        return None

    def last(self) -> Job:
        """Take the last job."""
        job = self.jobs.pop()
        self.seconds -= job.cost(self._worker)
        return job

    def put_first(self, job: Job) -> None:
        """Put a job before the others."""
        self.jobs.appendleft(job)
        self.seconds += job.cost(self._worker)

    def emptied(self) -> list[Job]:
        """Take all."""
        jobs, self.jobs, self.seconds = [*self.jobs], deque(), 0.0
        return jobs


class WorkStealingScheduler:
    """Who does what next; may be asked from all threads.

    Parameters
    ----------
    workers
        Those who will ask.
    queues
        The planned jobs of each worker, in order.
    common
        Jobs for whoever is free, in order.
    failed
        Numbers of the workers that are out of service; those who go out of it are added.
    """

    def __init__(
        self,
        workers: Sequence[Worker],
        queues: Sequence[Iterable[Job]],
        common: Iterable[Job] = (),
        failed_workers: set[int] | None = None,
    ) -> None:
        self._workers = workers
        self._queues = [_Queue(worker, jobs) for worker, jobs in enumerate(queues)]
        self._common = deque(common)
        self._unplanned: deque[Job] = deque()
        self._running: list[TaskAttempt | None] = [None] * len(workers)
        self._failed_workers = set() if failed_workers is None else failed_workers
        self._in_service = [number not in self._failed_workers for number in range(len(workers))]
        self._failures = [0] * len(workers)
        self._expected = np.zeros(len(workers))
        self._observed = np.zeros(len(workers))
        self._finished_cells = self._told_cells = 0
        self._stopped = False
        self._looked = time.perf_counter()
        self._changed = threading.Condition()

    def add(self, job: Job) -> None:
        """Have a job done by whoever has nothing planned left."""
        with self._changed:
            self._unplanned.append(job)
            self._changed.notify_all()

    def stop(self) -> None:
        """Give out nothing more, and have what is running given up."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    @property
    def cells_done(self) -> int:
        """Cells of finished jobs, and of those that run; never falls."""
        with self._changed:
            running: dict[int, int] = {}
            for attempt in self._running:
                if attempt is not None and not attempt.job.done:
                    cells = min(attempt.cells, attempt.job.cells)
                    running[id(attempt.job)] = max(cells, running.get(id(attempt.job), 0))
            self._told_cells = max(self._told_cells, self._finished_cells + sum(running.values()))
            return self._told_cells

    @property
    def slowdowns(self) -> NDArray[np.float64]:
        """(workers,) observed seconds of finished tasks, relative to what was predicted."""
        with self._changed:
            return np.array([self._drift(worker) for worker in range(len(self._workers))])

    def take(self, worker: int) -> TaskAttempt | None:
        """Return what a worker does next, waiting for it if need be; None when all is over."""
        with self._changed:
            while not self._stopped and self._in_service[worker]:
                job = self._next(worker)
                if job is not None:
                    attempt = self._running[worker] = TaskAttempt(worker, job, time.perf_counter())
                    return attempt
                self._changed.wait(LOOK_SECONDS if self._anything_open() else None)
            return None

    def upcoming(self, attempt: TaskAttempt) -> list[Job]:
        """Return the job of a turn, and what its worker will probably do next, in order."""
        with self._changed:
            jobs = itertools.chain(self._queues[attempt.worker].jobs, self._common)
            return [attempt.job, *itertools.islice((x for x in jobs if not x.done), LOOK_AHEAD)]

    def progressed(self, attempt: TaskAttempt, cells: int) -> None:
        """Note what a turn has done since it last told.

        Raises
        ------
        Stopped, Superseded
            If it is to be given up.
        """
        attempt.cells += cells
        attempt.told = time.perf_counter()
        if self._stopped:
            raise Stopped
        if attempt.superseded:
            raise Superseded

    def finished(self, attempt: TaskAttempt) -> bool:
        """Note the end of a turn; return whether it was the first to do its job."""
        with self._changed:
            self._running[attempt.worker] = None
            self._failures[attempt.worker] = 0
            job = attempt.job
            if job.done:
                return False
            job.done = True
            self._finished_cells += job.cells
            if job.seconds is not None:
                self._expected[attempt.worker] += job.seconds[attempt.worker]
                self._observed[attempt.worker] += time.perf_counter() - attempt.start
            for other in self._running:
                if other is not None and other.job is job:
                    other.superseded = True
            self._changed.notify_all()
            return True

    def given_up(self, attempt: TaskAttempt) -> None:
        """Note that a turn ended because its job was done elsewhere."""
        with self._changed:
            self._running[attempt.worker] = None

    def failed(self, attempt: TaskAttempt, error: BaseException, *, dead: bool = False) -> None:
        """Give the job of a failed turn to somebody else.

        Parameters
        ----------
        attempt
            What failed.
        error
            With what.
        dead
            Whether the worker is gone with it.

        Raises
        ------
        EngineError
            If the job has failed too often, or no worker is left.
        SwdualError, MemoryError
            The error itself, if it would be the same everywhere.
        """
        if isinstance(error, SwdualError) and not isinstance(error, DeviceMemoryError):
            raise error
        with self._changed:
            worker, job = attempt.worker, attempt.job
            self._running[worker] = None
            self._failures[worker] += 1
            self._in_service[worker] = not dead and self._failures[worker] < MAX_FAILURES
            left_over = [job]
            job.failed_on.append(worker)
            name, words = self._workers[worker].name, _words(error)
            end = "" if self._in_service[worker] else f"; {name} does nothing more in this search"
            logger.warning("%s failed at %s: %s%s", name, job, words, end)
            if len(job.failed_on) >= MAX_FAILURES and not job.done:
                _end(error, f"{job} failed {len(job.failed_on)} times; the last time {words}")
            if not self._in_service[worker]:
                self._failed_workers.add(worker)
                left_over += self._queues[worker].emptied()
            if not any(self._in_service):
                _end(error, f"no worker is left; the last one failed at {job}: {words}")
            for each in left_over:
                self._reassign(each)
            self._changed.notify_all()

    def look(self) -> None:
        """Give up workers of which nothing was heard for too long; to be called now and then.

        Raises
        ------
        EngineError
            If no worker is left.
        """
        with self._changed:
            now = time.perf_counter()
            step, self._looked = min(now - self._looked, MAX_LOOK_SECONDS), now
            for attempt in [attempt for attempt in self._running if attempt is not None]:
                attempt.silent = attempt.silent + step if attempt.told == attempt.heard else 0.0
                attempt.heard = attempt.told
                if attempt.silent > max(
                    SILENT_SECONDS, HANGS * self._seconds(attempt.worker, attempt.job)
                ):
                    attempt.superseded = True
                    words = f"nothing was heard of it for {attempt.silent:.0f} s"
                    self.failed(attempt, TimeoutError(words), dead=True)

    def waiting(self) -> list[Job]:
        """Return the planned jobs that nobody has begun, in no particular order."""
        with self._changed:
            return [job for queue in self._queues for job in queue.jobs if not job.done]

    def plan_again(self, queues: Sequence[Sequence[Job]]) -> None:
        """Replace the queues; jobs that have been begun meanwhile are left out.

        One that was given back meanwhile, or that a worker may not have, is given to another.
        """
        with self._changed:
            waiting = {id(job): job for queue in self._queues for job in queue.emptied()}
            for worker, jobs in enumerate(queues):
                if self._in_service[worker]:
                    chosen = [x for x in jobs if id(x) in waiting and self._may(worker, x)]
                    self._queues[worker] = _Queue(worker, chosen)
                    for job in chosen:
                        del waiting[id(job)]
            for job in waiting.values():
                self._reassign(job)
            self._changed.notify_all()

    def _anything_open(self) -> bool:
        """Return whether somebody works or will: then others may have to take over from him."""
        return (
            any(attempt is not None for attempt in self._running)
            or any(queue.jobs for queue in self._queues)
            or bool(self._common or self._unplanned)
        )

    def _next(self, worker: int) -> Job | None:
        return (
            self._queues[worker].first()
            or (self._common.popleft() if self._common else None)
            or self._steal(worker)
            or self._take_unplanned(worker)
            or self._speculate(worker)
        )

    def _steal(self, worker: int) -> Job | None:
        """Return the last task of another's queue that this worker would finish sooner."""
        now = time.perf_counter()
        for victim in sorted(range(len(self._queues)), key=lambda v: -self._end(v, now)):
            queue = self._queues[victim]
            while queue.jobs and queue.jobs[-1].done:
                queue.last()
            if not queue.jobs:
                continue
            job = queue.jobs[-1]
            if self._may(worker, job) and self._seconds(worker, job) < self._end(victim, now) - now:
                return queue.last()
        return None

    def _take_unplanned(self, worker: int) -> Job | None:
        for place, job in enumerate(self._unplanned):
            if self._may(worker, job):
                del self._unplanned[place]
                return job
        return None

    def _speculate(self, worker: int) -> Job | None:
        """Return a task that another is so slow at that this worker would be much sooner."""
        now = time.perf_counter()
        begun = [attempt for attempt in self._running if attempt is not None]
        for attempt in begun:
            job = attempt.job
            if (
                job.seconds is None
                or job.done
                or not self._may(worker, job)
                or sum(other.job is job for other in begun) > 1
            ):
                continue
            if self._left(attempt, now) > max(
                LOOK_SECONDS, MUCH_SOONER * self._seconds(worker, job)
            ):
                return job
        return None

    def _left(self, attempt: TaskAttempt, now: float) -> float:
        """Return how long a turn will probably still take.

        As its progress says, else as was predicted; once it is late, at least as long again as
        nothing has been heard of it, so that nobody waits for a worker that hangs.
        """
        elapsed, predicted = now - attempt.start, self._seconds(attempt.worker, attempt.job)
        left = predicted - elapsed
        if attempt.cells:
            left = elapsed * (attempt.job.cells - attempt.cells) / attempt.cells
        if elapsed > predicted:
            left = max(left, now - max(attempt.told, attempt.start))
        return max(left, 0.0)

    def _may(self, worker: int, job: Job) -> bool:
        """Return whether a worker can do a job, and did not fail at it while others could do it."""
        if job.done or not job.able(worker):
            return False
        return worker not in job.failed_on or not any(
            there and other not in job.failed_on and job.able(other) and not self._hangs(other)
            for other, there in enumerate(self._in_service)
        )

    def _hangs(self, worker: int) -> bool:
        """Return whether nothing has been heard of a worker for many times what its turn takes."""
        attempt = self._running[worker]
        if attempt is None:
            return False
        usual = max(LOOK_SECONDS, self._seconds(worker, attempt.job))
        return time.perf_counter() - max(attempt.told, attempt.start) > HANGS * usual

    def _reassign(self, job: Job) -> None:
        """Put a job before all others of the worker that would finish it first."""
        if job.done:
            return
        if job.seconds is None:
            self._unplanned.appendleft(job)
            return
        now = time.perf_counter()
        able = [
            worker
            for worker, there in enumerate(self._in_service)
            if there and self._may(worker, job)
        ]
        if not able:
            raise EngineError(f"no worker is left that could do {job}; {REMEDY}")
        best = min(able, key=lambda worker: self._end(worker, now) + self._seconds(worker, job))
        self._queues[best].put_first(job)

    def _seconds(self, worker: int, job: Job) -> float:
        return job.cost(worker) * self._drift(worker)

    def _drift(self, worker: int) -> float:
        """Return how much slower than predicted a worker is; as long as that is unknown, as all."""
        expected, observed = self._expected[worker], self._observed[worker]
        if expected == 0:
            expected, observed = self._expected.sum(), self._observed.sum()
        return float(observed / expected) if expected > 0 else 1.0

    def _end(self, worker: int, now: float) -> float:
        """Return when a worker will probably have done its queue."""
        attempt = self._running[worker]
        free = now if attempt is None else now + self._left(attempt, now)
        return free + self._queues[worker].seconds * self._drift(worker)


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _end(error: BaseException, message: str) -> None:
    """End the search: lack of memory as what it is, anything else as a failure of the engine."""
    if isinstance(error, (MemoryError, SwdualError)):
        raise error
    raise EngineError(f"{message}; {REMEDY}") from error
