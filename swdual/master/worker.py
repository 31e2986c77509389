"""Workers: threads that do jobs one by one and report what came out."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Generic, TypeVar

Result = TypeVar("Result")
Progress = Callable[[int], None]
"""Called by a job with what it did since the last call; raises where the job is to be given up."""

Job = Callable[[Progress], Result]


STOP_SECONDS = 1.0
"""How long workers that were told to stop are waited for."""


class Stopped(Exception):
    """Raised inside a worker that is to give up its job."""


class Crew(Generic[Result]):
    """Worker threads; leaving the ``with`` block ends them all.

    A worker that is in the middle of a long computation is not waited for: it ends after it.

    Jobs are taken in order by whichever worker is free. What each returns, or the error it ended
    with, comes out of `reports`, in the order in which they end.
    """

    def __init__(self, jobs: Iterable[Job[Result]], threads: int) -> None:
        self.reports: SimpleQueue[Result | BaseException] = SimpleQueue()
        self.cells_done = 0
        self._jobs: Iterator[Job[Result]] | None = iter(jobs)
        self._urgent: deque[Job[Result]] = deque()
        self._changed = threading.Condition()
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._work, name=f"swdual-{k}", daemon=True)
            for k in range(threads)
        ]

    def __enter__(self) -> Crew[Result]:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        deadline = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def next_please(self, job: Job[Result]) -> None:
        """Have a job done before those that were given at the beginning."""
        with self._changed:
            self._urgent.append(job)
            self._changed.notify()

    def _take(self) -> Job[Result] | None:
        """Return the next job, waiting for one if need be; None when there will be no more."""
        with self._changed:
            while not self._stopped:
                if self._urgent:
                    return self._urgent.popleft()
                if self._jobs is not None:
                    job = next(self._jobs, None)
                    if job is not None:
                        return job
                    self._jobs = None
                self._changed.wait()
            return None

    def _work(self) -> None:
        while True:
            try:
                job = self._take()
                if job is None:
                    return
                self.reports.put(job(self._progress))
            except Stopped:
                return
            except BaseException as error:
                self.reports.put(error)
                return

    def _progress(self, cells: int) -> None:
        with self._changed:
            self.cells_done += cells
            if self._stopped:
                raise Stopped


def available_threads() -> int:
    """Return the number of CPUs this process may use: affinity, and the quota of its cgroup."""
    allowed = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        allowed = min(allowed, max(1, -(-int(quota) // int(period))))
    except (OSError, ValueError):
        pass
    return allowed
