"""Thread matrix: the first threads of several jobs go first, then the second ones, and so on.

Horizontal scanning, the new method of a simulation study of about 2011 (section III; the copy at
hand has neither title nor authors), here called the thread-matrix paper. It is for workloads of
threads, whose fields ``job`` and ``waits_for`` `swdual.scheduling.workload.threads` explains. Jobs
are the columns of a matrix, their threads its rows. A window of the first n jobs is read row by row
into a queue of threads, each of which starts as soon as a processor is free.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from itertools import islice, zip_longest

from swdual.errors import InputError
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.platform import Platform
from swdual.scheduling.policy import Option, Start, View
from swdual.scheduling.workload.threads import Threads
from swdual.text.messages import pluralize

GROWING = "growing"

JOBS = "threads"

OPTIONS = {
    "window": Option(
        GROWING,
        "How many jobs are read row by row: 1 (first come, first served), 2, 3, ...; growing takes "
        "as many as the largest of them has threads.",
    ),
}

Column = OrderedDict[int, Job]


class Policy:
    """Reads windows of the matrix into a queue, and starts threads in the queue's order.

    A growing window begins with as many jobs as the first one has threads. While one of them has
    more threads than the window has jobs, it is widened to that number. A fixed window may have
    fewer jobs than one of them has threads: all rows are read. The next window begins behind it.
    It is formed when the queue is empty and a processor is free, which the paper does not say, so
    that it has all jobs that came until then.

    A thread that needs a result which is not there when its turn comes dangles. If the thread that
    it waits for is waiting too, that one is started in its place, wherever it stood. If not, the
    next thread gets the processor: the paper leaves open whether the processor waits, but wants
    none to be idle. As soon as the result is there, which is when the other thread has ended or was
    killed, the dangling thread goes before all others.
    """

    def __init__(self, platform: Platform, allocator: Allocator, window: str) -> None:
        if window != GROWING and not (window.isdecimal() and int(window) > 0):
            raise InputError(f"window cannot be {window!r}: it is {GROWING}, or 1, 2, 3, ...")
        self._window = None if window == GROWING else int(window)
        self._matrix: OrderedDict[int, Column] = OrderedDict()
        self._queue: Column = OrderedDict()
        self._ready: deque[Job] = deque()
        self._dangling: dict[int, list[Job]] = {}
        self._ended: set[int] = set()
        self._job: list[int] | None = None
        self._waits_for: list[int] = []

    def decide(self, view: View) -> Iterator[Start]:
        """Yield threads while there are processors."""
        if self._job is None:
            threads = Threads.of(view.workload)
            self._job, self._waits_for = threads.job.tolist(), threads.waits_for.tolist()
        for ended in view.ended:
            self._ended.add(ended.job.index)
            self._ready.extend(self._dangling.pop(ended.job.index, ()))
        for thread in view.submitted:
            self._matrix.setdefault(self._job[thread.index], OrderedDict())[thread.index] = thread
        while view.free_count:
            if self._ready:
                thread = self._ready.popleft()
                view.note(thread, "started: the result that it waited for is there")
                yield Start(thread)
                continue
            if not self._queue:
                if not self._matrix:
                    break
                self._read_window()
            runnable = self._find_runnable(view, self._queue.popitem(last=False)[1])
            if runnable is not None:
                yield Start(runnable)
        if view.watching:
            for ahead, thread in enumerate(self._queue.values()):
                view.note(
                    thread, f"{pluralize(ahead, 'thread is', 'threads are')} before it in the queue"
                )

    def _read_window(self) -> None:
        """Move the first jobs' threads from the matrix to the queue, row by row."""
        jobs = window(map(len, self._matrix.values()), self._window)
        columns = [self._matrix.popitem(last=False)[1] for _ in range(jobs)]
        for row in zip_longest(*(column.values() for column in columns)):
            self._queue.update((thread.index, thread) for thread in row if thread is not None)

    def _find_runnable(self, view: View, thread: Job) -> Job | None:
        """Return the thread to start in a thread's turn: itself, or the one that it waits for."""
        why = "started in its turn"
        while True:
            awaited = self._waits_for[thread.index]
            if awaited < 0 or awaited in self._ended:
                view.note(thread, why)
                return thread
            self._dangling.setdefault(awaited, []).append(thread)
            view.note(thread, f"dangles: waits for thread {view.workload.number[awaited]}")
            why = f"started because thread {thread.number} waits for it"
            other = self._remove_waiting(awaited)
            if other is None:
                return None
            thread = other

    def _remove_waiting(self, index: int) -> Job | None:
        """Return a thread that was waiting in the queue or the matrix, and is no longer there."""
        thread = self._queue.pop(index, None)
        if thread is None:
            assert self._job is not None
            column = self._matrix.get(self._job[index])
            if column is not None:
                thread = column.pop(index, None)
                if not column:
                    del self._matrix[self._job[index]]
        return thread


def window(threads: Iterator[int], fixed: int | None = None) -> int:
    """Return how many jobs the next window has.

    Parameters
    ----------
    threads
        How many threads each of the waiting jobs has, in their order.
    fixed
        How many it has at most; None: it grows.

    >>> window(iter([5, 3, 6, 2, 1, 4, 2, 3]))
    6
    """
    if fixed is not None:
        return sum(1 for _ in islice(threads, fixed))
    jobs, largest = 0, 1
    for count in threads:
        jobs += 1
        largest = max(largest, count)
        if jobs == largest:
            break
    return jobs
