"""Processors with a queue in common, for sequential tasks: the shortest goes first.

Machado Mendonca's thesis, sections 3.4.1 and 3.4.2: GSPT, GSRPT and GSPT-RD. Within an instant
each new task joins the queue, and may make a running task leave its processor, before the idle
processors take tasks. Of equally long tasks the one goes first that joined the queue first.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf

from swdual.scheduling.job import Job
from swdual.scheduling.policies._sequential import single
from swdual.scheduling.policy import Running, Start, Stop, View


class CommonQueue:
    """The common queue, and the tasks that its processors run.

    Parameters
    ----------
    processors
        Those that take tasks from the queue.
    preempt
        Whether a new task takes the place of the running task with most left, if it is no longer
        than that; the other joins the queue with what is left of it (GSRPT).
    threshold
        At how many new tasks, each shorter than what is left, the running task with most left
        is heavy, and leaves (GSPT-RD).
    """

    def __init__(self, processors: range, *, preempt: bool = False, threshold: float = inf) -> None:
        self._preempt = preempt
        self._threshold = threshold
        self._idle = list(processors)
        heapify(self._idle)
        self._turns = count()
        self._queue: list[tuple[float, int, Job]] = []
        self._running: list[tuple[float, int]] = []
        self._tasks: dict[int, _Task] = {}
        self._preempted: dict[int, _Task] = {}

    def end(self, ended: Running) -> None:
        """Note that a task has ended."""
        index = ended.job.index
        del self._running[bisect_left(self._running, (ended.latest_end, index))]
        heappush(self._idle, self._tasks.pop(index).processor)

    def add(self, view: View, job: Job) -> Job | None:
        """Take a task into the queue; return a running one that is heavy now, if there is one.

        See `Queues.add`.
        """
        self._join(job.requested_time, job)
        if not self._running:
            return None
        latest_end, index = self._running[-1]
        left = latest_end - view.now
        if self._preempt:
            if job.requested_time <= left:
                task = self._leave()
                self._preempted[index] = task
                self._join(left, task.job)
        elif job.requested_time < left:
            task = self._tasks[index]
            task.shorter += 1
            if task.shorter >= self._threshold:
                heappush(self._idle, self._leave().processor)
                return task.job
        return None

    def decisions(self, view: View) -> Iterator[Start | Stop]:
        """Yield the starts and stops of this instant."""
        room = min(len(self._queue), len(self._idle) + len(self._preempted))
        if not room:
            return
        chosen = [heappop(self._queue)[2] for _ in range(room)]
        for job in chosen:
            # Nobody took its place after all: others were idle, or still shorter tasks came.
            if job.index in self._preempted:
                self._run(view, self._preempted.pop(job.index))
        for task in self._preempted.values():
            view.note(task.job, "interrupted by a shorter task")
            heappush(self._idle, task.processor)
            yield Stop(task.job, keep=True)
        self._preempted.clear()
        for job in chosen:
            if job.index not in self._tasks:
                view.note(job, "started as the shortest in the queue")
                task = _Task(job, heappop(self._idle))
                yield Start(job, single(task.processor))
                self._run(view, task)

    def _join(self, left: float, job: Job) -> None:
        heappush(self._queue, (left, next(self._turns), job))

    def _leave(self) -> _Task:
        """Take the running task with most left off its processor."""
        return self._tasks.pop(self._running.pop()[1])

    def _run(self, view: View, task: _Task) -> None:
        index = task.job.index
        self._tasks[index] = task
        insort(self._running, (view.running[index].latest_end, index))


class _Task:
    """A running task: where, and how many shorter ones came meanwhile."""

    __slots__ = ("job", "processor", "shorter")

    def __init__(self, job: Job, processor: int) -> None:
        self.job = job
        self.processor = processor
        self.shorter = 0
