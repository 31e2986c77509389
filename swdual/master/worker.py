"""Workers: threads that take tasks one by one, score them and report the best targets."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

from swdual.backend import Scorer
from swdual.database.database import Database
from swdual.master.hits import Candidates
from swdual.master.task import Task

Report = tuple[Task, Candidates] | BaseException


class Stopped(Exception):
    """Raised inside a worker that is to give up its task."""


class Crew:
    """Worker threads for one list of tasks; leaving the ``with`` block ends them all.

    Parameters
    ----------
    tasks
        Taken in this order by whichever worker is free.
    queries
        Residue codes, by query number.
    """

    def __init__(
        self,
        tasks: list[Task],
        queries: list[bytes],
        database: Database,
        scorer: Scorer,
        threads: int,
        keep: Callable[[Candidates], Candidates],
    ) -> None:
        self.reports: SimpleQueue[Report] = SimpleQueue()
        self.cells_done = 0
        self._tasks = iter(tasks)
        self._queries = queries
        self._database = database
        self._scorer = scorer
        self._keep = keep
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name=f"swdual-{k}", daemon=True)
            for k in range(min(threads, len(tasks)))
        ]

    def __enter__(self) -> Crew:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        try:
            while True:
                with self._lock:
                    task = next(self._tasks, None)
                if task is None or self._stop.is_set():
                    return
                self.reports.put((task, self._score(task)))
        except Stopped:
            return
        except BaseException as error:
            self.reports.put(error)

    def _score(self, task: Task) -> Candidates:
        query = self._queries[task.query]
        scores = self._scorer(query, task.block, task.first, task.last, self._progress)
        block = self._database.block(task.block)
        here = slice(task.first, task.last)
        return self._keep(Candidates(scores, block.ordinals[here], block.lengths[here]))

    def _progress(self, cells: int) -> None:
        with self._lock:
            self.cells_done += cells
        if self._stop.is_set():
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
