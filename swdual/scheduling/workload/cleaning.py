"""Turn a trace into a workload: apply the rules one after the other, and count what they did."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.scheduling.job import seconds
from swdual.scheduling.workload.preceding import NO_ROW, PRECEDING, find_preceding
from swdual.scheduling.workload.repair import RULE_SETS, Repairs, rules
from swdual.scheduling.workload.report import CleaningReport, RuleCount
from swdual.scheduling.workload.trace import FIELDS, MEASURED, MISSING, Trace
from swdual.scheduling.workload.workload import Workload

COMPLETED = 1
"""Status of a job that ended well."""

PARTS = (2, 3, 4)
"""Status of lines about a part of a job, between two checkpoints."""

USED = ("number", "submit_time", "run_time", "requested_time")
WIDTHS = ("allocated_processors", "requested_processors")


class JobFilter:
    """The jobs that no rule has dropped yet, and what each rule did.

    Parameters
    ----------
    jobs
        How many jobs the trace has.

    Attributes
    ----------
    left
        (jobs,) which are left.
    counts
        Of the rules so far.
    """

    def __init__(self, jobs: int) -> None:
        self.left = np.ones(jobs, bool)
        self.counts: list[RuleCount] = []

    def change(self, which: NDArray[np.bool_], rule: str, action: str) -> None:
        """Count the jobs that a rule changes.

        Parameters
        ----------
        which
            (jobs,) which jobs of the trace; those that were dropped do not count.
        rule
            Its name.
        action
            What it does to them, as for users.
        """
        jobs = int(np.count_nonzero(which & self.left))
        if jobs:
            self.counts.append(RuleCount(rule, jobs, action))

    def drop(self, which: NDArray[np.bool_], rule: str, why: str) -> None:
        """Drop jobs, and count those that were left until now.

        Parameters
        ----------
        which, rule
            As for `change`.
        why
            What is wrong with the jobs, as for users.
        """
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
        If ``repairs`` are no rules or there is no such rule set, or a job is too wide and this is
        to be an error: with the line of the first one.
    """
    if isinstance(repairs, str):
        repairs = rules(repairs)
    elif not isinstance(repairs, Repairs):
        raise InputError(
            f"{repairs!r:.40} is no set of rules; give a Repairs, such as "
            f"Repairs(overrun='drop'), or one of {', '.join(RULE_SETS)}"
        )
    job_filter = JobFilter(len(trace))
    status = trace["status"]
    job_filter.drop(
        np.isin(status, PARTS), "parts", "steps or parts of jobs, which other lines sum up"
    )
    if repairs.status == "completed":
        job_filter.drop(status != COMPLETED, "status", "not completed")
    run = _repair_run_time(trace, repairs, job_filter)
    widths = _repair_processors(trace, repairs, job_filter)
    requested = _repair_requested_time(trace, repairs, job_filter, run)
    submit = trace["submit_time"]
    job_filter.drop(submit == MISSING, "submit_time", "submit time missing")
    if processors is not None:
        widths = _limit_widths(trace, repairs, job_filter, widths, processors)
    latest = np.maximum.accumulate(np.where(job_filter.left, submit, -np.inf))
    job_filter.change(submit < latest, "order", "moved: submitted before a job of an earlier line")

    kept = np.flatnonzero(job_filter.left)
    kept = kept[np.argsort(submit[kept], kind="stable")]
    repeated = _count_repeated(trace, job_filter, kept)
    _count_preceding(trace, repairs, job_filter, kept, repeated)
    memory = trace["requested_memory"][kept]
    if "job_memory" in trace.facts:
        whole = trace.facts["job_memory"][kept]
        memory = np.where((memory == MISSING) & (whole > 0), whole / widths[kept], memory)
    return Workload(
        number=trace["number"][kept].astype(np.int64),
        submit_time=submit[kept],
        run_time=run[kept],
        requested_time=requested[kept],
        processors=widths[kept].astype(np.int64),
        extra={
            name: trace[name][kept].astype(np.float64 if name in MEASURED else np.int64)
            for name in FIELDS
            if name not in USED + WIDTHS
        }
        | {"requested_memory": memory}
        | {name: column[kept] for name, column in trace.extra.items()},
        name=trace.name,
        source=trace.source,
        lines=None if trace.lines is None else trace.lines[kept],
        machine_processors=trace.machine_processors,
        report=CleaningReport(len(trace), len(kept), tuple(job_filter.counts)),
        unix_start_time=trace.header_number("UnixStartTime"),
        follow=repairs.preceding == "follow",
        names=trace.names,
    )


def _count_repeated(
    trace: Trace, job_filter: JobFilter, kept: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Count the jobs with the number of one before them; return these numbers, each once.

    `kept` are the rows of all jobs, sorted.
    """
    again = np.zeros(len(trace), np.bool_)
    again[kept] = trace["number"][kept] != MISSING
    again[kept[np.unique(trace["number"][kept], return_index=True)[1]]] = False
    job_filter.change(again, "number", "kept, though they have the number (field 1) of another job")
    return np.unique(trace["number"][again])


def _count_preceding(
    trace: Trace,
    repairs: Repairs,
    job_filter: JobFilter,
    kept: NDArray[np.intp],
    repeated: NDArray[np.float64],
) -> None:
    """Count the jobs with a preceding job.

    `kept` are the rows of all jobs, sorted, and `repeated` the numbers that several of them have.
    """
    named = trace[PRECEDING] > 0
    if repairs.preceding == "ignore":
        action = (
            "submitted without waiting for the preceding job (field 17); the rule preceding=follow "
            "waits for it"
        )
        job_filter.change(named, "preceding", action)
        return
    found = np.zeros(len(trace), np.bool_)
    found[kept] = find_preceding(trace["number"][kept], trace[PRECEDING][kept]) != NO_ROW
    # Which part of the trace is simulated is chosen later.
    action = (
        "submitted when the preceding job (field 17) has ended and the think time has passed; in a "
        "part of the trace without it, at their own time"
    )
    job_filter.change(found, "preceding", action)
    action = (
        "submitted after the last job before them that has the number of the preceding job: "
        "several jobs have it"
    )
    several = np.isin(trace[PRECEDING], repeated)
    job_filter.change(found & several, "preceding_number", action)
    action = "submitted at their own time: the preceding job is not before them, or was dropped"
    job_filter.change(named & ~found, "preceding", action)


def _repair_run_time(trace: Trace, repairs: Repairs, job_filter: JobFilter) -> NDArray[np.float64]:
    run = trace["run_time"]
    missing = run == MISSING
    for which, what in ((missing, "missing"), ((run <= 0) & ~missing, "0 or less")):
        if repairs.run_time == "drop":
            job_filter.drop(which, "run_time", f"run time {what}")
        else:
            job_filter.change(which, "run_time", f"given a run time of 1 second: it was {what}")
    if "running" in trace.facts:
        action = "taken with the run time until the export: they were running"
        job_filter.change(trace.facts["running"] > 0, "running", action)
    return run if repairs.run_time == "drop" else np.where(run <= 0, 1.0, run)


def _repair_processors(
    trace: Trace, repairs: Repairs, job_filter: JobFilter
) -> NDArray[np.float64]:
    first, second = WIDTHS if repairs.processors == "allocated" else WIDTHS[::-1]
    widths = np.where(trace[first] > 0, trace[first], trace[second])
    job_filter.drop(widths <= 0, "processors", "neither allocated nor requested processors known")
    other = second.replace("_", " ")
    job_filter.change(trace[first] <= 0, "other_processors", f"given the {other}: no others known")
    return widths


def _repair_requested_time(
    trace: Trace, repairs: Repairs, job_filter: JobFilter, run: NDArray[np.float64]
) -> NDArray[np.float64]:
    requested = trace["requested_time"]
    none = requested <= 0
    if repairs.requested_time == "drop":
        job_filter.drop(none, "requested_time", "requested time missing")
    elif repairs.requested_time == "run_time":
        job_filter.change(
            none, "requested_time", "given the run time as requested time: it was missing"
        )
        requested = np.where(none, run, requested)
    else:
        given = float(repairs.requested_time)
        action = f"given {seconds(given)} as requested time: it was missing"
        job_filter.change(none, "requested_time", action)
        requested = np.where(none, given, requested)

    over = run > requested
    if repairs.overrun == "drop":
        job_filter.drop(over, "overrun", "run time above requested time")
    elif repairs.overrun == "extend":
        job_filter.change(over, "overrun", "given the run time as requested time: it was shorter")
        requested = np.maximum(requested, run)
    else:
        job_filter.change(over, "overrun", "kept to be killed: run time above requested time")
    return requested


def _limit_widths(
    trace: Trace,
    repairs: Repairs,
    job_filter: JobFilter,
    widths: NDArray[np.float64],
    processors: int,
) -> NDArray[np.float64]:
    over = widths > processors
    if repairs.too_wide == "drop":
        job_filter.drop(over, "too_wide", f"wider than {processors:,} processors")
    elif repairs.too_wide == "cap":
        job_filter.change(over, "too_wide", f"narrowed to {processors:,} processors")
        return np.minimum(widths, processors)
    elif (over & job_filter.left).any():
        rows = np.flatnonzero(over & job_filter.left)
        raise InputError(
            f"job {trace['number'][rows[0]]:.0f} needs {widths[rows[0]]:,.0f} processors, but the "
            f"platform has {processors:,} ({len(rows):,} such "
            f"{'job' if len(rows) == 1 else 'jobs'}); choose a larger platform, or the rule "
            "too_wide=drop or too_wide=cap",
            file=trace.source,
            line=None if trace.lines is None else int(trace.lines[rows[0]]),
        )
    return widths
