"""The work-stealing scheduler: which task each worker runs next, on this machine.

A CPU that asks for a task gets the first of these that there is:

1. a background task, such as an alignment: it completes a query whose scores are there;
2. the next task of its own queue, as planned;
3. the next shared task, if the planner has no queues;
4. the last task of another worker's queue, if this worker would finish it sooner (stealing);
5. a task that another worker is running, if this worker would finish it much sooner (speculation).

A GPU takes background tasks between 4 and 5: it scores faster than CPUs, and aligns as they do.
CPU threads beside GPUs take background tasks only.

A failed task goes to another worker. A worker that fails too often gets no more tasks.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from swdual.errors import DeviceMemoryError, EngineError, SwdualError
from swdual.master.task import Stopped, Superseded, Task, TaskAttempt
from swdual.master.worker import ScoringWorker, Worker

logger = logging.getLogger("swdual")

MAX_FAILURES = 3
"""Failures of one task that end the search. Also failures in a row that take a worker out."""

LOOK_SECONDS = 0.05
"""How often a worker without work looks for tasks to steal or to run again."""

MUCH_SOONER = 2.0
"""A running task is run again elsewhere if that would take this many times less."""

HANGS = 20.0
"""A worker hangs if it reports nothing for this many times the predicted time of its task."""

SILENT_SECONDS = 3600.0
"""A worker that reports nothing for so long is taken out: no step of a task takes as long."""

MAX_LOOK_SECONDS = 1.0
"""Longest time between two checks that counts as silence. A longer one was a suspended process."""

REMEDY = "search again on another `device` or `backend`"

LOOK_AHEAD = 16
"""Number of upcoming tasks that a scorer is told for prefetching."""


class _Queue:
    """The planned tasks of one worker, and the predicted seconds that they take there.

    Only the scheduler uses it, with its lock held.
    """

    def __init__(self, worker: int, tasks: Iterable[Task]) -> None:
        self._worker = worker
        self.tasks = deque(tasks)
        self.seconds = sum(task.cost(worker) for task in self.tasks)

    def take_first(self) -> Task | None:
        """Remove and return the first task that is not done yet, if any."""
        while self.tasks:
            task = self.tasks.popleft()
            self.seconds -= task.cost(self._worker)
            if not task.done:
                return task
        return None

    def take_last(self) -> Task:
        """Remove and return the last task."""
        task = self.tasks.pop()
        self.seconds -= task.cost(self._worker)
        return task

    def put_first(self, task: Task) -> None:
        """Add a task at the front."""
        self.tasks.appendleft(task)
        self.seconds += task.cost(self._worker)

    def take_all(self) -> list[Task]:
        """Remove and return all tasks."""
        tasks, self.tasks, self.seconds = [*self.tasks], deque(), 0.0
        return tasks


class WorkStealingScheduler:
    """Decides which worker runs which task; every worker thread and the search's thread call it.

    Locking: one lock protects all state. Two conditions share it: workers that score wait on
    `_changed` while they are idle, those that only align on `_added`, which fewer events notify.
    Every public method takes the lock, except `report_progress`. Private methods expect it to be
    held.

    `report_progress` runs thousands of times a second, so it takes no lock. Each attempt has one
    writer of `cells` and `last_progress`, its worker. Others only read them, and a value that is a
    moment old does no harm. `_stopped` and `superseded` only ever change from False to True.

    Parameters
    ----------
    workers
        The workers that will ask for tasks, those that score first.
    queues
        The planned tasks of each worker that scores, in order.
    common
        Tasks for any worker that scores, in order.
    failed_workers
        Numbers of the workers that get no tasks. Workers that fail too often are added to the set,
        so that the next batch does not use them either.
    """

    def __init__(
        self,
        workers: Sequence[Worker],
        queues: Sequence[Iterable[Task]],
        common: Iterable[Task] = (),
        failed_workers: set[int] | None = None,
    ) -> None:
        self._workers = workers
        self._scoring = sum(isinstance(worker, ScoringWorker) for worker in workers)
        self._queues = [
            _Queue(worker, queues[worker] if worker < len(queues) else ())
            for worker in range(len(workers))
        ]
        self._common = deque(common)
        self._background: deque[Task] = deque()
        self._running: list[TaskAttempt | None] = [None] * len(workers)
        self._failed_workers = set() if failed_workers is None else failed_workers
        self._alive = [number not in self._failed_workers for number in range(len(workers))]
        self._failures = [0] * len(workers)
        self._expected = np.zeros(len(workers))
        self._observed = np.zeros(len(workers))
        self._finished_cells = self._reported_cells = 0
        self._stopped = False
        self._looked = time.perf_counter()
        lock = threading.RLock()  # re-entrant: `check_silent_workers` calls `fail`
        self._changed, self._added = threading.Condition(lock), threading.Condition(lock)

    def add(self, *tasks: Task) -> None:
        """Add background tasks: see above for who runs them when."""
        with self._changed:
            self._background.extend(tasks)
            self._added.notify(len(tasks))
            self._changed.notify_all()

    def stop(self) -> None:
        """Hand out no more tasks; running ones end at their next `report_progress`."""
        with self._changed:
            self._stopped = True
            self._added.notify_all()
            self._changed.notify_all()

    @property
    def cells_done(self) -> int:
        """Cells of finished and running tasks. It never decreases."""
        with self._changed:
            running: dict[int, int] = {}
            for attempt in self._running:
                if attempt is not None and not attempt.task.done:
                    # Of two attempts of one task only the one that is further counts. It may fail,
                    # and its cells with it: the maximum below keeps the sum from decreasing.
                    cells = min(attempt.cells, attempt.task.cells)
                    running[id(attempt.task)] = max(cells, running.get(id(attempt.task), 0))
            self._reported_cells = max(
                self._reported_cells, self._finished_cells + sum(running.values())
            )
            return self._reported_cells

    def take(self, worker: int) -> TaskAttempt | None:
        """Return the next attempt of a worker, or None at the end; wait if there is none now."""
        with self._changed:
            while not self._stopped and self._alive[worker]:
                task = self._next_task(worker)
                if task is not None:
                    attempt = self._running[worker] = TaskAttempt(worker, task, time.perf_counter())
                    return attempt
                # While others work, wake up now and then: a task may become worth stealing although
                # nothing has changed. Otherwise only `add`, `fail` or `stop` can bring work.
                if worker < self._scoring:
                    self._changed.wait(LOOK_SECONDS if self._has_open_tasks() else None)
                else:
                    self._added.wait(LOOK_SECONDS if self._background else None)
            return None

    def list_upcoming(self, attempt: TaskAttempt) -> list[Task]:
        """Return the task of an attempt and those that its worker will probably run next."""
        with self._changed:
            tasks = itertools.chain(self._queues[attempt.worker].tasks, self._common)
            return [attempt.task, *itertools.islice((x for x in tasks if not x.done), LOOK_AHEAD)]

    def report_progress(self, attempt: TaskAttempt, cells: int) -> None:
        """Note the cells that an attempt has done since its last report; takes no lock.

        Parameters
        ----------
        attempt
            It is running; only the thread of its worker reports.
        cells
            How many more.

        Raises
        ------
        Stopped
            If the search ends.
        Superseded
            If another worker has finished the task, or this one was taken out.
        """
        attempt.cells += cells
        attempt.last_progress = time.perf_counter()
        if self._stopped:
            raise Stopped
        if attempt.superseded:
            raise Superseded

    def finish(self, attempt: TaskAttempt) -> bool:
        """Note the end of an attempt; return whether it was the first to finish its task."""
        with self._changed:
            self._running[attempt.worker] = None
            self._failures[attempt.worker] = 0
            task = attempt.task
            if task.done:
                return False
            task.done = True
            self._finished_cells += task.cells
            if task.seconds is not None:
                # Their ratio is the worker's slowdown, which corrects its further predictions.
                self._expected[attempt.worker] += task.seconds[attempt.worker]
                self._observed[attempt.worker] += time.perf_counter() - attempt.start
            # The other worker, if there is one, reads this at its next `report_progress`.
            for other in self._running:
                if other is not None and other.task is task:
                    other.superseded = True
            self._changed.notify_all()
            return True

    def give_up(self, attempt: TaskAttempt) -> None:
        """Note that an attempt ended because another worker has finished its task."""
        with self._changed:
            self._running[attempt.worker] = None

    def fail(self, attempt: TaskAttempt, error: BaseException, *, dead: bool = False) -> None:
        """Give the task of a failed attempt to another worker.

        Parameters
        ----------
        attempt
            The attempt that failed.
        error
            Why it failed.
        dead
            Whether its worker cannot run anything any more.

        Raises
        ------
        EngineError
            If the task has failed too often, or no worker is left.
        SwdualError, MemoryError
            The error itself, if every worker would fail in the same way.
        """
        if isinstance(error, SwdualError) and not isinstance(error, DeviceMemoryError):
            raise error
        with self._changed:
            worker, task = attempt.worker, attempt.task
            self._running[worker] = None
            self._failures[worker] += 1
            self._alive[worker] = not dead and self._failures[worker] < MAX_FAILURES
            left_over = [task]
            task.failed_on.append(worker)
            name, words = self._workers[worker].name, _describe_error(error)
            end = "" if self._alive[worker] else f"; {name} does nothing more in this search"
            logger.warning("%s failed at %s: %s%s", name, task, words, end)
            # The defect may be the task's or the worker's: so many failures of a task end the
            # search, as many in a row take a worker out. A task done elsewhere is no loss.
            if len(task.failed_on) >= MAX_FAILURES and not task.done:
                _raise_failure(
                    error, f"{task} failed {len(task.failed_on)} times; the last time {words}"
                )
            if not self._alive[worker]:
                self._failed_workers.add(worker)
                left_over += self._queues[worker].take_all()
            # Workers that only align come last; alone they cannot score.
            if not any(self._alive[: self._scoring]):
                _raise_failure(error, f"no worker is left; the last one failed at {task}: {words}")
            for unfinished in left_over:
                self._reassign(unfinished)
            self._added.notify_all()
            self._changed.notify_all()

    def check_silent_workers(self) -> None:
        """Take out workers that have reported nothing for too long; called every 0.1 s or so.

        Raises
        ------
        EngineError
            If no worker is left.
        """
        with self._changed:
            now = time.perf_counter()
            # Silence is counted check by check, not from clock times: a laptop that slept for a
            # night, or a process that was stopped, must not lose its workers.
            step, self._looked = min(now - self._looked, MAX_LOOK_SECONDS), now
            for attempt in [attempt for attempt in self._running if attempt is not None]:
                attempt.silent = (
                    attempt.silent + step if attempt.last_progress == attempt.last_checked else 0.0
                )
                attempt.last_checked = attempt.last_progress
                if attempt.silent > max(
                    SILENT_SECONDS, HANGS * self._seconds(attempt.worker, attempt.task)
                ):
                    attempt.superseded = True
                    words = f"nothing was heard of it for {attempt.silent:.0f} s"
                    self.fail(attempt, TimeoutError(words), dead=True)

    def _has_open_tasks(self) -> bool:
        """Return whether a task is running or waiting: an idle worker may get it later."""
        return (
            any(attempt is not None for attempt in self._running)
            or any(queue.tasks for queue in self._queues)
            or bool(self._common or self._background)
        )

    def _next_task(self, worker: int) -> Task | None:
        """Return the next task of a worker in the order that the module's docstring gives."""
        aligns_first = self._workers[worker].device.kind == "cpu"
        task = self._take_background(worker) if aligns_first else None
        if task is not None or worker >= self._scoring:
            return task
        return (
            self._queues[worker].take_first()
            or (self._common.popleft() if self._common else None)
            or self._steal(worker)
            or (None if aligns_first else self._take_background(worker))
            or self._speculate(worker)
        )

    def _steal(self, worker: int) -> Task | None:
        """Remove and return the last task of another queue, if this worker would finish it sooner.

        The queue that ends last is tried first.
        """
        now = time.perf_counter()
        # From the back: its owner comes to that last, and the next ones may be prefetched.
        #
        #     victim   [running][ task ][ task ][ task ]
        #                                       ^ stolen if the thief would end it sooner
        for victim in sorted(range(len(self._queues)), key=lambda v: -self._expected_end(v, now)):
            queue = self._queues[victim]
            # A task that came back after a failure may have been finished elsewhere meanwhile.
            while queue.tasks and queue.tasks[-1].done:
                queue.take_last()
            if not queue.tasks:
                continue
            task = queue.tasks[-1]
            if (
                self._can_take(worker, task)
                and self._seconds(worker, task) < self._expected_end(victim, now) - now
            ):
                return queue.take_last()
        return None

    def _take_background(self, worker: int) -> Task | None:
        """Remove and return the first background task that the worker may run."""
        for index, task in enumerate(self._background):
            if self._can_take(worker, task):
                del self._background[index]
                return task
        return None

    def _speculate(self, worker: int) -> Task | None:
        """Return a running task that this worker would finish much sooner; at most two run it."""
        now = time.perf_counter()
        begun = [attempt for attempt in self._running if attempt is not None]
        for attempt in begun:
            task = attempt.task
            if (
                task.seconds is None
                or task.done
                or not self._can_take(worker, task)
                or sum(other.task is task for other in begun) > 1
            ):
                continue
            if self._remaining(attempt, now) > max(
                LOOK_SECONDS, MUCH_SOONER * self._seconds(worker, task)
            ):
                return task
        return None

    def _remaining(self, attempt: TaskAttempt, now: float) -> float:
        """Return the seconds that an attempt will probably still take.

        It follows from the progress so far, or from the prediction before the first report. A late
        attempt counts at least as long again as it has been silent: no worker waits for one that
        hangs.
        """
        elapsed, predicted = now - attempt.start, self._seconds(attempt.worker, attempt.task)
        left = predicted - elapsed
        if attempt.cells:
            left = elapsed * (attempt.task.cells - attempt.cells) / attempt.cells
        if elapsed > predicted:
            left = max(left, now - max(attempt.last_progress, attempt.start))
        return max(left, 0.0)

    def _can_take(self, worker: int, task: Task) -> bool:
        """Return whether a worker may run a task.

        A worker that failed at the task gets it again only if no other worker can run it.
        """
        if task.done or not task.able(worker):
            return False
        return worker not in task.failed_on or not any(
            alive and other not in task.failed_on and task.able(other) and not self._hangs(other)
            for other, alive in enumerate(self._alive)
        )

    def _hangs(self, worker: int) -> bool:
        """Return whether a worker is silent for many times the predicted time of its task."""
        attempt = self._running[worker]
        if attempt is None:
            return False
        usual = max(LOOK_SECONDS, self._seconds(worker, attempt.task))
        return time.perf_counter() - max(attempt.last_progress, attempt.start) > HANGS * usual

    def _reassign(self, task: Task) -> None:
        """Put a task at the front of the queue of the worker that would finish it first."""
        if task.done:
            return
        if task.seconds is None:
            self._background.appendleft(task)
            return
        now = time.perf_counter()
        able = [
            worker
            for worker, alive in enumerate(self._alive)
            if alive and self._can_take(worker, task)
        ]
        if not able:
            raise EngineError(f"no worker is left that could do {task}; {REMEDY}")
        best = min(
            able, key=lambda worker: self._expected_end(worker, now) + self._seconds(worker, task)
        )
        self._queues[best].put_first(task)

    def _seconds(self, worker: int, task: Task) -> float:
        """Return the predicted seconds, corrected by how the worker has done so far."""
        return task.cost(worker) * self._slowdown(worker)

    def _slowdown(self, worker: int) -> float:
        """Return how many times slower than predicted a worker is; if unknown, how many all are."""
        expected, observed = self._expected[worker], self._observed[worker]
        if expected == 0:
            expected, observed = self._expected.sum(), self._observed.sum()
        return float(observed / expected) if expected > 0 else 1.0

    def _expected_end(self, worker: int, now: float) -> float:
        """Return when a worker will probably have finished its queue."""
        attempt = self._running[worker]
        free = now if attempt is None else now + self._remaining(attempt, now)
        return free + self._queues[worker].seconds * self._slowdown(worker)


def _describe_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _raise_failure(error: BaseException, message: str) -> None:
    """Raise the error that ends the search: a lack of memory as it is, others as EngineError."""
    if isinstance(error, (MemoryError, SwdualError)):
        raise error
    raise EngineError(f"{message}; {REMEDY}") from error
