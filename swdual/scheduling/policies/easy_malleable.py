"""EASY backfilling, where running jobs are shrunk to make room for the head of the queue.

G. Utrera, S. Tabik, J. Corbalan and J. Labarta, "A job scheduling approach for multi-core clusters
based on virtual malleability", Euro-Par 2012, whose section 6 leaves the combination as future
work: how the two are combined here is ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from swdual.scheduling.job import Job
from swdual.scheduling.policies._malleable import Malleable, shrunk_size
from swdual.scheduling.policy import Decision, View
from swdual.scheduling.shadow import find_shadow_time


class Policy(Malleable):
    """Starts the head of the queue as FCFS-malleable does, and backfills behind it.

    The head of the queue will start once there are ceil(p / 2) processors for it if all others are
    shrunk; by requested times that is at the *shadow time*, and what could then be free beyond are
    the *extra* processors. A later job starts now if it fits in the free processors, whole or else
    shrunk, and either ends by the shadow time or needs no more than the extra ones when it is
    shrunk. Nobody is shrunk for a job that is backfilled: that would put off the end of those who
    run, and so the head.
    """

    def decide(self, view: View) -> Iterator[Decision]:
        """Yield the resizes and start of the head of the queue, and the backfilled jobs."""
        self.update(view)
        while view.queue:
            head = next(iter(view.queue.values()))
            if not self.fits(view, head):
                yield from self._backfill(view, head)
                break
            yield from self.start_as_head(view, head)
        yield from self.expand(view)

    def _backfill(self, view: View, head: Job) -> Iterator[Decision]:
        shadow, extra = self._find_shadow_time(view, head)
        view.promise(head, shadow)
        view.note(
            head, f"head of the queue: {self.explain_wait(view, head)}; reserved at {shadow:g} s"
        )
        # Where nothing ended, what waited before finds no more room now than it did then.
        for job in [*(view.queue.values() if view.ended else view.submitted)]:
            if shrunk_size(job) > view.free_count or job.index not in view.queue:
                continue
            unshrunk = job.processors <= view.free_count
            seconds = job.requested_time if unshrunk else job.requested_time / self.rate(job)
            beyond = view.now + seconds > shadow
            if beyond and shrunk_size(job) > extra:
                continue
            if beyond:
                extra -= shrunk_size(job)
            how = "" if unshrunk else f" on {shrunk_size(job):,} processors"
            view.note(job, f"backfilled{how}: job {head.number}, the head, keeps its reservation")
            yield self.start(job, unshrunk=unshrunk, backfilled=True)
        if view.watching:
            for job in view.queue.values():
                if job is not head:
                    view.note(job, _refusal(view, job, shadow, extra))

    def _find_shadow_time(self, view: View, head: Job) -> tuple[float, int]:
        """Return the shadow time, and the extra processors, if all jobs are shrunk."""
        ends = sorted(
            (running.latest_end, running.job.index, shrunk_size(running.job))
            for running in view.running.values()
        )
        return find_shadow_time(ends, shrunk_size(head), self.room(view), view.now)


def _refusal(view: View, job: Job, shadow: float, extra: int) -> str:
    if shrunk_size(job) > view.free_count:
        return (
            f"not backfilled: needs {shrunk_size(job):,} processors, {view.free_count:,} are free"
        )
    return (
        f"not backfilled: would run beyond {shadow:g} s, when the head of the queue starts, which "
        f"then leaves {extra:,} processors, and this needs {shrunk_size(job):,}"
    )
