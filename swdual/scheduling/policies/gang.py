"""Gang scheduling: jobs share processors by turns, all processes of a job at the same time.

The matrix of J. Ousterhout, "Scheduling techniques for concurrent systems", ICDCS 1982: rows are
time slices, columns are processors. It is what the paper behind thread_matrix sets itself against.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from swdual.errors import InputError
from swdual.scheduling import processors as sets
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.platform import Platform
from swdual.scheduling.policy import Decision, Option, Start, Stop, View
from swdual.scheduling.processors import Ranges

OPTIONS = {
    "quantum": Option(600.0, "Seconds of a time slice."),
    "slots": Option(4, "How many rows the matrix has at most: 1 is first come, first served."),
    "alternates": Option(
        "yes",
        "Whether jobs of other rows run on processors that the row whose turn it is leaves idle.",
        ("yes", "no"),
    ),
}


class Policy:
    """Places jobs in the rows of a matrix, in the order of submission, and runs row after row.

    A job goes into the first row that has room for it (first fit), on processors that the allocator
    chooses, and stays there. If no row has, a new one is opened behind the others; if there are as
    many as there may be, the job waits, and so do all jobs behind it.

    A row runs for a quantum, then it is the next one's turn. Jobs are stopped and go on where they
    were, at no cost. A row without jobs is closed at once, and a slice that only alternates are
    left of is over. While there is one row only, nothing is stopped; when a second one is opened
    after that one has run for a quantum or more, it has its turn at once.
    """

    def __init__(
        self, platform: Platform, allocator: Allocator, quantum: float, slots: int, alternates: str
    ) -> None:
        if not quantum > 0:
            raise InputError(f"quantum cannot be {quantum:g}: it must be more than 0 seconds")
        if slots < 1:
            raise InputError(f"slots cannot be {slots}: there must be at least 1")
        self._quantum = quantum
        self._slots = slots
        self._alternates = alternates == "yes"
        self._waiting: deque[Job] = deque()
        self._rows: list[_Row] = []
        self._row_of: dict[int, _Row] = {}
        self._turn = 0
        self._begun = 0.0

    def decide(self, view: View) -> Iterator[Decision]:
        """Yield the jobs that stop and start at this instant."""
        for ended in view.ended:
            row = self._row_of.pop(ended.job.index)
            del row.jobs[ended.job.index]
            row.free = sets.union(row.free, ended.processors)
        self._waiting.extend(view.submitted)
        moved = self._close_rows(view.now)
        while self._waiting and self._place(view, self._waiting[0]):
            self._waiting.popleft()
        if len(self._rows) > 1 and view.now >= self._begun + self._quantum:
            self._turn = (self._turn + 1) % len(self._rows)
            self._begun = view.now
            moved = True
        if moved or view.ended or view.submitted:
            yield from self._run(view)
        if len(self._rows) > 1:
            view.wake(self._begun + self._quantum)
        if view.watching:
            for ahead, job in enumerate(self._waiting):
                view.note(job, f"all rows are full, and {ahead} jobs wait before it for room")

    def _close_rows(self, now: float) -> bool:
        """Drop rows without jobs; return whether it is another row's turn now."""
        active = self._rows[self._turn] if self._rows else None
        # Behind the active row, it is the turn of the next one that is left.
        kept = [row for row in self._rows if row.jobs]
        before = sum(1 for row in self._rows[: self._turn] if row.jobs)
        self._rows = kept
        if active is not None and active.jobs:
            self._turn = before
            return False
        self._turn = before % len(kept) if kept else 0
        self._begun = now
        return True

    def _place(self, view: View, job: Job) -> bool:
        """Give a job its place in a row; return whether there is one."""
        for row in self._rows:
            processors = row.choose(view, job)
            if processors is not None:
                break
        else:
            if len(self._rows) == self._slots:
                return False
            row = _Row(sets.whole(view.platform.processors))
            processors = row.choose(view, job)
            assert processors is not None, f"no processors for job {job.number} in an empty row"
            self._rows.append(row)
        left = sets.minus(row.free, processors)
        assert left is not None
        row.free = left
        row.jobs[job.index] = (job, processors)
        self._row_of[job.index] = row
        view.note(job, f"placed in row {self._rows.index(row) + 1} on {sets.text(processors)}")
        return True

    def _run(self, view: View) -> Iterator[Decision]:
        """Yield the stops and starts that let the active row run, and its alternates."""
        if not self._rows:
            return
        active, *others = self._rows[self._turn :] + self._rows[: self._turn]
        chosen = dict(active.jobs)
        if self._alternates:
            idle = active.free
            for job, processors in (pair for row in others for pair in row.jobs.values()):
                left = sets.minus(idle, processors)
                if left is not None:
                    idle = left
                    chosen[job.index] = (job, processors)
        for running in list(view.running.values()):
            if running.job.index not in chosen:
                yield Stop(running.job, keep=True)
        for job, processors in chosen.values():
            if job.index not in view.running:
                yield Start(job, processors)


class _Row:
    """A time slice: jobs that run at the same time.

    Parameters
    ----------
    free
        Processors that none of them has.
    """

    def __init__(self, free: Ranges) -> None:
        self.free = free
        self.jobs: dict[int, tuple[Job, Ranges]] = {}

    def choose(self, view: View, job: Job) -> Ranges | None:
        """Return processors for a job, or None if there is no room for it."""
        if job.processors > sets.count(self.free):
            return None
        return view.allocator.choose(self.free, job.processors, view.platform)
