"""Helpers for policies: start a job if it fits now, or say why it waits."""

from __future__ import annotations

from swdual.scheduling.job import Job
from swdual.scheduling.policy import Start, View


def start_now(
    view: View, job: Job, *, backfilled: bool = False, width: int | None = None
) -> Start | None:
    """Return the decision to start a job at this instant, or None if there is no room for it.

    The answer holds until the next decision is yielded: ask again after each. With a forced
    allocator there may be no room although enough processors are free.

    Parameters
    ----------
    view
        The present instant.
    job
        A waiting job.
    backfilled
        Whether it overtakes a job that is before it in the queue.
    width
        How many processors a moldable job is to get; None: as many as it requests.
    """
    count = width or job.processors
    if count > view.free_count:
        return None
    if not view.allocator.FORCED:
        return Start(job, None, backfilled, width)
    processors = view.allocator.choose(view.free(), count, view.platform)
    return None if processors is None else Start(job, processors, backfilled)


def reason_to_wait(view: View, job: Job, width: int | None = None) -> str:
    """Return why there is no room for a job now, to be passed to `View.note`.

    Parameters
    ----------
    view, job, width
        As for `start_now`, which returned None.
    """
    count = width or job.processors
    if count > view.free_count:
        return f"needs {count:,} processors, {view.free_count:,} are free"
    return (
        f"{view.free_count:,} processors are free, but no {count:,} of them that suit the allocator"
    )
