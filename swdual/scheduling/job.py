"""A rigid parallel job: what a user asked for, and how long it truly runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a workload.

    Parameters
    ----------
    index
        Its place in the workload, from 0. Workloads are sorted by submit time and, among equal
        ones, as they stood in the trace, so that a lower index came first.
    number
        What the trace calls it.
    submit_time
        Seconds at which it is submitted.
    run_time
        Run time in seconds, unless it is killed. Only the engine may look at this.
    requested_time
        Seconds after which it is killed, which is what policies decide by.
    processors
        How many processors it needs.
    """

    index: int
    number: int
    submit_time: float
    run_time: float
    requested_time: float
    processors: int


def seconds(value: float) -> str:
    """Return a time exactly, whole seconds without a point.

    >>> seconds(3268720.0), seconds(0.1)
    ('3268720 s', '0.1 s')
    """
    return f"{int(value)} s" if float(value).is_integer() else f"{float(value)!r} s"
