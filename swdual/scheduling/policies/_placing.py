"""Whether a job can start on what is free now, and why not."""

from __future__ import annotations

from swdual.scheduling.job import Job
from swdual.scheduling.policy import Start, View


def placed(
    view: View, job: Job, *, backfilled: bool = False, width: int | None = None
) -> Start | None:
    """Return the start of a job, or None if there is no room for it now.

    A width is how many processors a moldable job is to get.
    """
    count = width or job.processors
    if count > view.free_count:
        return None
    if not view.allocator.FORCED:
        return Start(job, None, backfilled, width)
    processors = view.allocator.choose(view.free(), count, view.platform)
    return None if processors is None else Start(job, processors, backfilled)


def lacking(view: View, job: Job, width: int | None = None) -> str:
    """Return what a job waits for that finds no room now; a width is as for `placed`."""
    count = width or job.processors
    if count > view.free_count:
        return f"needs {count:,} processors, {view.free_count:,} are free"
    return (
        f"{view.free_count:,} processors are free, but no {count:,} of them that suit the allocator"
    )
