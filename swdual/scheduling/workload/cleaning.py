"""From a trace to a workload: rules are applied to the jobs one after the other, and counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.scheduling.job import seconds
from swdual.scheduling.workload.repair import Repairs, rules
from swdual.scheduling.workload.trace import FIELDS, MEASURED, MISSING, Trace
from swdual.scheduling.workload.workload import Workload

COMPLETED = 1
"""The status of a job that ended well."""

PARTS = (2, 3, 4)
"""The status of a line about a part of a job, between two checkpoints."""

USED = ("number", "submit_time", "run_time", "requested_time")
WIDTHS = ("allocated_processors", "requested_processors")


class Hit(NamedTuple):
    """How many jobs a rule met, and what it did to them."""

    rule: str
    jobs: int
    deed: str

    def __str__(self) -> str:
        return f"{self.jobs:,} {'job' if self.jobs == 1 else 'jobs'} {self.deed}"


@dataclass(frozen=True)
class Report:
    """What the rules did to a trace; its text has a line for each rule that met a job.

    A job that was dropped is not met by later rules.

    Parameters
    ----------
    read, kept
        How many jobs the trace has, and how many are left.
    hits
        What each rule did, in the order in which they were applied.
    """

    read: int
    kept: int
    hits: tuple[Hit, ...]

    def __getitem__(self, rule: str) -> int:
        return sum(hit.jobs for hit in self.hits if hit.rule == rule)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values, with their names."""
        return {
            "read": self.read,
            "kept": self.kept,
            "hits": [hit._asdict() for hit in self.hits],
        }

    def __str__(self) -> str:
        return "\n".join([f"{self.kept:,} of {self.read:,} jobs kept", *map(str, self.hits)])


class _Sieve:
    """The jobs that are left, and what was counted."""

    def __init__(self, jobs: int) -> None:
        self.left = np.ones(jobs, bool)
        self.hits: list[Hit] = []

    def change(self, which: NDArray[np.bool_], rule: str, deed: str) -> None:
        """Count jobs to which something is done."""
        jobs = int(np.count_nonzero(which & self.left))
        if jobs:
            self.hits.append(Hit(rule, jobs, deed))

    def drop(self, which: NDArray[np.bool_], rule: str, why: str) -> None:
        """Count jobs and leave them out."""
        self.change(which, rule, f"dropped: {why}")
        self.left &= ~which


def clean(
    trace: Trace, repairs: Repairs | str = "standard", processors: int | None = None
) -> Workload:
    """Return the workload that rules make of a trace; its ``report`` says what they did.

    Parameters
    ----------
    trace
        The trace; it stays as it is.
    repairs
        The rules, or the name of a rule set.
    processors
        The size of the machine, above which jobs are too wide; None lets all jobs pass.

    Raises
    ------
    InputError
        If there is no such rule set, or a job is too wide and this is to be an error: with the
        line of the first one.
    """
    if isinstance(repairs, str):
        repairs = rules(repairs)
    sieve = _Sieve(len(trace))
    status = trace["status"]
    sieve.drop(np.isin(status, PARTS), "parts", "a part of a job that another line sums up")
    if repairs.status == "completed":
        sieve.drop(status != COMPLETED, "status", "not completed")
    run = _run_time(trace, repairs, sieve)
    wide = _processors(trace, repairs, sieve)
    requested = _requested_time(trace, repairs, sieve, run)
    submit = trace["submit_time"]
    sieve.drop(submit == MISSING, "submit_time", "submit time missing")
    if processors is not None:
        wide = _fitted(trace, repairs, sieve, wide, processors)
    latest = np.maximum.accumulate(np.where(sieve.left, submit, -np.inf))
    sieve.change(submit < latest, "order", "moved: submitted before a job of an earlier line")

    kept = np.flatnonzero(sieve.left)
    kept = kept[np.argsort(submit[kept], kind="stable")]
    return Workload(
        number=trace["number"][kept].astype(np.int64),
        submit_time=submit[kept],
        run_time=run[kept],
        requested_time=requested[kept],
        processors=wide[kept].astype(np.int64),
        extra={
            name: trace[name][kept].astype(np.float64 if name in MEASURED else np.int64)
            for name in FIELDS
            if name not in USED + WIDTHS
        },
        name=trace.name,
        source=trace.source,
        lines=None if trace.lines is None else trace.lines[kept],
        machine_processors=trace.machine_processors,
        report=Report(len(trace), len(kept), tuple(sieve.hits)),
        unix_start_time=trace.header_number("UnixStartTime"),
    )


def _run_time(trace: Trace, repairs: Repairs, sieve: _Sieve) -> NDArray[np.float64]:
    run = trace["run_time"]
    none = run <= 0
    if repairs.run_time == "drop":
        sieve.drop(none, "run_time", "run time 0 or less")
        return run
    sieve.change(none, "run_time", "given a run time of 1 second: it was 0 or less")
    return np.where(none, 1.0, run)


def _processors(trace: Trace, repairs: Repairs, sieve: _Sieve) -> NDArray[np.float64]:
    first, second = WIDTHS if repairs.processors == "allocated" else WIDTHS[::-1]
    wide = np.where(trace[first] > 0, trace[first], trace[second])
    sieve.drop(wide <= 0, "processors", "neither allocated nor requested processors known")
    other = second.replace("_", " ")
    sieve.change(trace[first] <= 0, "other_processors", f"given the {other}: no others known")
    return wide


def _requested_time(
    trace: Trace, repairs: Repairs, sieve: _Sieve, run: NDArray[np.float64]
) -> NDArray[np.float64]:
    requested = trace["requested_time"]
    none = requested <= 0
    if repairs.requested_time == "drop":
        sieve.drop(none, "requested_time", "requested time missing")
    elif repairs.requested_time == "run_time":
        sieve.change(none, "requested_time", "given the run time as requested time: it was missing")
        requested = np.where(none, run, requested)
    else:
        given = float(repairs.requested_time)
        deed = f"given {seconds(given)} as requested time: it was missing"
        sieve.change(none, "requested_time", deed)
        requested = np.where(none, given, requested)

    over = run > requested
    if repairs.overrun == "drop":
        sieve.drop(over, "overrun", "run time above requested time")
    elif repairs.overrun == "extend":
        sieve.change(over, "overrun", "given the run time as requested time: it was shorter")
        requested = np.maximum(requested, run)
    else:
        sieve.change(over, "overrun", "kept to be killed: run time above requested time")
    return requested


def _fitted(
    trace: Trace, repairs: Repairs, sieve: _Sieve, wide: NDArray[np.float64], processors: int
) -> NDArray[np.float64]:
    over = wide > processors
    if repairs.too_wide == "drop":
        sieve.drop(over, "too_wide", f"wider than {processors:,} processors")
    elif repairs.too_wide == "cap":
        sieve.change(over, "too_wide", f"narrowed to {processors:,} processors")
        return np.minimum(wide, processors)
    elif (over & sieve.left).any():
        found = np.flatnonzero(over & sieve.left)
        raise InputError(
            f"job {trace['number'][found[0]]:.0f} needs {wide[found[0]]:,.0f} processors, but the "
            f"platform has {processors:,} ({len(found):,} such "
            f"{'job' if len(found) == 1 else 'jobs'}); choose a larger platform, or the rule "
            "too_wide=drop or too_wide=cap",
            file=trace.source,
            line=None if trace.lines is None else int(trace.lines[found[0]]),
        )
    return wide
