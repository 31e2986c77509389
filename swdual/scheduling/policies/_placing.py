"""Whether a job can start on what is free now, and why not."""

from __future__ import annotations

from swdual.scheduling.job import Job
from swdual.scheduling.policy import Start, View


def placed(view: View, job: Job, *, backfilled: bool = False) -> Start | None:
    """Return the start of a job, or None if there is no room for it now."""
    if job.processors > view.free_count:
        return None
    if not view.allocator.FORCED:
        return Start(job, None, backfilled)
    processors = view.allocator.choose(view.free(), job.processors, view.platform)
    return None if processors is None else Start(job, processors, backfilled)


def lacking(view: View, job: Job) -> str:
    """Return what a job waits for that finds no room now."""
    if job.processors > view.free_count:
        return f"needs {job.processors:,} processors, {view.free_count:,} are free"
    return (
        f"{view.free_count:,} processors are free, but no {job.processors:,} of them that suit "
        "the allocator"
    )
