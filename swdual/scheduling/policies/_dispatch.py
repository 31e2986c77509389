"""Processors with a queue each, for sequential tasks: a new task goes where it harms least.

Machado Mendonca's thesis, sections 3.4.1, 3.4.2 and 3.4.4: SPT, SRPT and SPT-RD. Harm is the
marginal increase of the sum of flow times, as far as it is known. Within an instant the new tasks
are dispatched one after the other, and may make a running task leave its processor, before the
idle processors take tasks. Of equally long tasks in a queue the one goes first that joined first,
and of equal processors the first is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.jit import kernel
from swdual.scheduling.job import Job
from swdual.scheduling.policies._sequential import single
from swdual.scheduling.policy import Running, Start, Stop, View

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]

NOBODY = -1


class Dispatch:
    """The processors, their running tasks, and their queues.

    Parameters
    ----------
    processors
        Those to which tasks are dispatched.
    preempt
        Whether a new task takes the place of the running one, if it is no longer than what is
        left of that, which then joins the queue (SRPT).
    threshold
        At how many new tasks, each shorter than what is left, a running task is heavy, and
        leaves (SPT-RD).
    """

    def __init__(self, processors: range, *, preempt: bool = False, threshold: float = inf) -> None:
        self._first = processors.start
        self._preempt = preempt
        self._threshold = threshold
        number = len(processors)
        self._running: list[Job | None] = [None] * number
        self._latest_end = np.full(number, -np.inf)
        self._shorter = np.zeros(number, np.int64)
        self._idle: set[int] = set()
        # A row holds a queue, the longest task first; before[k] is the sum of the first k sizes.
        self._length = np.zeros(number, np.int64)
        self._sizes = np.empty((number, 8))
        self._before = np.zeros((number, 9))
        self._indices = np.empty((number, 8), np.int64)
        self._preempted: list[Job] = []

    def end(self, ended: Running) -> None:
        """Note that a task has ended."""
        self._leave(int(ended.processors[0, 0]) - self._first)

    def add(self, view: View, job: Job) -> Job | None:
        """Dispatch a task; return a running one that is heavy now, if there is one.

        See `Queues.add`.
        """
        size = job.requested_time
        processor = int(
            _find_least_increase(
                view.now,
                size,
                self._preempt,
                self._threshold,
                self._latest_end,
                self._shorter,
                self._length,
                self._sizes,
                self._before,
            )
        )
        view.note(job, f"dispatched to processor {self._first + processor}")
        self._join(processor, size, job)
        running = self._running[processor]
        if running is None:
            self._idle.add(processor)
            return None
        left = float(self._latest_end[processor]) - view.now
        if self._preempt:
            if size <= left:
                self._leave(processor)
                self._join(processor, left, running)
                self._preempted.append(running)
        elif size < left:
            self._shorter[processor] += 1
            if self._shorter[processor] >= self._threshold:
                self._leave(processor)
                return running
        return None

    def decisions(self, view: View) -> Iterator[Start | Stop]:
        """Yield the starts and stops of this instant."""
        for job in self._preempted:
            view.note(job, "interrupted by a shorter task")
            yield Stop(job, keep=True)
        self._preempted.clear()
        for processor in sorted(self._idle):
            if self._length[processor]:
                self._length[processor] -= 1
                job = view.queue[int(self._indices[processor, self._length[processor]])]
                view.note(job, "started as the shortest in its queue")
                yield Start(job, single(self._first + processor))
                self._running[processor] = job
                self._latest_end[processor] = view.running[job.index].latest_end
                self._shorter[processor] = 0
        self._idle.clear()

    def _leave(self, processor: int) -> None:
        self._running[processor] = None
        self._latest_end[processor] = -np.inf
        self._idle.add(processor)

    def _join(self, processor: int, size: float, job: Job) -> None:
        room = self._sizes.shape[1]
        if self._length[processor] == room:
            wider = ((0, 0), (0, room))
            self._sizes = np.pad(self._sizes, wider)
            self._before = np.pad(self._before, wider)
            self._indices = np.pad(self._indices, wider)
        _insert(
            size,
            job.index,
            int(self._length[processor]),
            self._sizes[processor],
            self._before[processor],
            self._indices[processor],
        )
        self._length[processor] += 1


@kernel
def _count_longer(size: float, length: int, sizes: Reals) -> int:
    """Return how many tasks of a queue are longer than a size."""
    first, stop = 0, length
    while first < stop:
        middle = (first + stop) // 2
        if sizes[middle] > size:
            first = middle + 1
        else:
            stop = middle
    return first


@kernel
def _find_least_increase(
    now: float,
    size: float,
    preempt: bool,
    threshold: float,
    latest_end: Reals,
    shorter: Counts,
    length: Counts,
    sizes: Reals,
    before: Reals,
) -> int:
    """Return the processor where a task increases the sum of flow times least."""
    chosen, min_increase = NOBODY, np.inf
    # If the task joins a queue, it waits for the running task and for those that are not longer,
    # and delays the longer ones by its size:
    #
    #    queue   | longer ... longer | not longer ... not longer | running
    #             + size each         ahead = their sum            left
    #
    #    increase of the sum of flow times = left + ahead + size + longer x size
    for processor in range(len(length)):
        waiting = length[processor]
        longer = _count_longer(size, waiting, sizes[processor])
        ahead = before[processor, waiting] - before[processor, longer]
        increase = ahead + size + longer * size
        left = max(latest_end[processor] - now, 0.0)
        if preempt and size < left:
            increase += size  # the running task is delayed, too
        elif size < left and shorter[processor] + 1 >= threshold:
            increase -= waiting * left  # the running task leaves
        else:
            increase += left
        if increase < min_increase:
            chosen, min_increase = processor, increase
    return chosen


@kernel
def _insert(
    size: float, index: int, length: int, sizes: Reals, before: Reals, indices: Counts
) -> None:
    """Put a task into a queue that has room for it, in front of those that are not longer."""
    processor = _count_longer(size, length, sizes)
    for k in range(length, processor, -1):
        sizes[k] = sizes[k - 1]
        indices[k] = indices[k - 1]
    sizes[processor] = size
    indices[processor] = index
    for k in range(processor, length + 1):
        before[k + 1] = before[k] + sizes[k]
