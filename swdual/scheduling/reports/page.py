"""A report to look at: one HTML file that compares schedules and draws them.

Each schedule is written before the next one is asked for. A page holds a bounded number of jobs of
each schedule; metrics and curves are of all jobs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.io.file_kind import PAGE
from swdual.io.output import Output, replace_file
from swdual.report.elements import definitions, details, static_table
from swdual.report.page import PageWriter, read_files
from swdual.runtime.keywords import suggest_names
from swdual.scheduling import metrics
from swdual.scheduling.energy import processor_states
from swdual.scheduling.job import seconds
from swdual.scheduling.metrics import SLOWDOWN_BOUND
from swdual.scheduling.reports.charts import coarsen, means
from swdual.scheduling.reports.comparison import SHOWN, Comparison, Row, check_shown, shown
from swdual.scheduling.reports.explanation import Explainer
from swdual.scheduling.reports.jobs_table import owners
from swdual.scheduling.reports.summary import headline
from swdual.scheduling.schedule_data import ScheduleData
from swdual.text.messages import pluralize
from swdual.text.notebook import Head, Markup, join, text
from swdual.version import __version__

ENDINGS = (".html", ".htm")
"""What the name of a report may end in."""

MAX_JOBS, MAX_ALL_JOBS = 30_000, 300_000
"""Jobs of a schedule, and of all schedules, that a page holds by default."""

MAX_RANGES = 200_000
"""Ranges of processors of these jobs, at most: rectangles of the Gantt chart."""

MAX_STEPS = 20_000
"""Steps of a curve above which it shows the means of as many equal spans of time."""

EXPLANATIONS = 1000
"""Explanations that are read at once."""

STATIC_JOBS, MAX_STATIC_JOBS = 10, 100
"""Jobs that are shown without the script: those of a schedule that waited longest, and in all."""

OF_SEVERAL = "means with 95 % intervals; the charts and the jobs are those of the first workload"
"""What a page of several workloads says."""

SCRIPTS = ("times.js", "jobs.js", "gantt.js", "simulation.js")
STYLES = ("simulation.css",)


class ChosenJobs(NamedTuple):
    """The jobs of a schedule that a page holds.

    Parameters
    ----------
    indices
        (jobs,) ascending.
    first
        How many of them are the first ones of the workload, without a gap.
    """

    indices: NDArray[np.int64]
    first: int


def choose_jobs(schedule: ScheduleData, max_jobs: int, max_ranges: int) -> ChosenJobs:
    """Return all jobs, or if these are too many, half the first ones and half those that waited.

    The second half are those of all others that waited longest.

    Parameters
    ----------
    schedule
        The schedule.
    max_jobs, max_ranges
        How many jobs there may be, and ranges of processors of their executions.
    """
    count = len(schedule)
    ran = schedule.executions
    ranges = np.bincount(ran.job, weights=np.diff(ran.offsets), minlength=count)
    if count <= max_jobs and ranges.sum() <= max_ranges:
        return ChosenJobs(np.arange(count), count)

    def fitting(order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first jobs of an order that half of the page has room for."""
        order = order[: max_jobs // 2]
        return order[np.cumsum(ranges[order]) <= max_ranges / 2]

    first = len(fitting(np.arange(count)))
    longest = np.argsort(-schedule.waiting_time[first:], kind="stable") + first
    return ChosenJobs(np.concatenate([np.arange(first), np.sort(fitting(longest))]), first)


def default_max_jobs(schedules: int) -> int:
    """Return how many jobs of each schedule a page holds by default.

    Parameters
    ----------
    schedules
        How many there are.
    """
    return min(MAX_JOBS, max(2, MAX_ALL_JOBS // max(1, schedules)))


class ReportWriter:
    """Writes a report schedule by schedule.

    Parameters
    ----------
    stream
        Where to write.
    name
        What is simulated: the title of the page.
    max_jobs
        Jobs of a schedule that the page holds, at most.
    slowdown_bound
        Seconds that a job counts at least in the bounded slowdown.
    """

    def __init__(
        self,
        stream: Output,
        name: str,
        *,
        max_jobs: int = MAX_JOBS,
        slowdown_bound: float = SLOWDOWN_BOUND,
    ) -> None:
        folder = "swdual.scheduling.reports", "_html"
        self._page = PageWriter(
            stream,
            f"{name}: simulation of schedulers",
            read_files(*folder, SCRIPTS),
            read_files(*folder, STYLES),
        )
        self._name = name
        self._max_jobs = max_jobs
        self._bound = slowdown_bound
        self._longest: list[list[tuple[str, ...]]] = []
        self._facts: dict[str, object] = {}
        self._places: list[dict[str, Any]] = []

    def add(self, schedule: ScheduleData) -> None:
        """Write a schedule.

        Parameters
        ----------
        schedule
            The schedule.
        """
        number = len(self._places)
        chosen = choose_jobs(schedule, self._max_jobs, MAX_RANGES)
        self._page.add(f"run-{number}", _run(schedule, chosen))
        explainer = Explainer(schedule)
        for part, first in enumerate(range(0, len(chosen.indices), EXPLANATIONS)):
            indices = chosen.indices[first : first + EXPLANATIONS].tolist()
            told = ["\n".join(explainer.lines(index)) for index in indices]
            self._page.add(f"explanations-{number}-{part}", told)
        slowdown = metrics.bounded_slowdown(schedule, self._bound)
        longest = np.argsort(-schedule.waiting_time, kind="stable")[:STATIC_JOBS].tolist()
        self._longest.append([_cells(schedule, slowdown, index) for index in longest])
        self._places.append(
            {
                "processors": schedule.platform.processors,
                "unixStart": schedule.workload.unix_start_time,
            }
        )
        if number == 0:
            self._facts = _facts(schedule)

    def finish(
        self,
        comparison: Comparison,
        facts: Mapping[str, object] | None = None,
        remarks: Sequence[str] = (),
    ) -> None:
        """Write what tells of all schedules.

        Parameters
        ----------
        comparison
            Their metrics, in the order in which they were added.
        facts
            What else was simulated and how, by names; they come first.
        remarks
            Lines to show below the title.
        """
        labels = comparison.labels()
        texts = {name: _texts(comparison, name) for name in comparison.metrics}
        best = {name: comparison.find_best(name) for name in comparison.metrics}
        self._page.add(
            "simulation",
            {
                "labels": labels,
                "columns": comparison.label_columns(),
                "shown": comparison.shown,
                "metrics": {
                    name: {
                        "label": name.replace("_", " "),
                        "formula": metric.formula,
                        "largeIsGood": metric.best == "max",
                        "values": [row.values[name] for row in comparison.rows],
                        "texts": texts[name],
                        "best": best[name],
                    }
                    for name, metric in comparison.metrics.items()
                },
                "slowdownBound": self._bound,
                "explanationsAtOnce": EXPLANATIONS,
                "runs": self._places,
            },
        )
        count = len(labels)
        what = labels[0] if count == 1 else pluralize(count, "schedule", "schedules")
        title = f"{self._name}: {what}"
        about = details("About this report", definitions({**(facts or {}), **self._facts}))
        if any(row.samples for row in comparison.rows):
            remarks = [f"{comparison.rows[0].workload}: {OF_SEVERAL}", *remarks]
        lines = [Markup(f'<p class="note">{text(line)}</p>') for line in remarks]
        if any(row.samples for row in comparison.rows[1:]):
            caption = f"Differences from {labels[0]} with the same workload"
            lines.append(_table(caption, comparison.differences(), marked=False))
        head = Markup(f"<header><h1>{text(title)}</h1>{about}{join(lines)}</header>")
        static = self._static(comparison, labels)
        self._page.finish(join([head, Markup(f'<main id="report">{static}</main>')]))

    def _static(self, comparison: Comparison, labels: Sequence[str]) -> Markup:
        """Return what is shown without the script."""
        parts = [_table("Metrics of each schedule", comparison, marked=True)]
        count = max(1, MAX_STATIC_JOBS // STATIC_JOBS)
        jobs = [
            (label, *cells)
            for label, own in zip(labels[:count], self._longest, strict=False)
            for cells in own
        ]
        names = ["job", "processors", "submitted", "started", "ended", "waited", "slowdown"]
        heads = [Head("schedule"), *(Head(name, "right") for name in names)]
        parts.append(static_table("The jobs that waited longest", heads, jobs))
        return join(parts)


@suggest_names
def write_report(
    schedules: Iterable[ScheduleData],
    path: str | os.PathLike[str],
    *,
    shown: Sequence[str] = SHOWN,
    slowdown_bound: float = SLOWDOWN_BOUND,
    max_jobs: int | None = None,
    force: bool = False,
) -> Comparison:
    """Write a report of schedules as one HTML file, and return their comparison.

    The report has the metrics of the schedules, and for each one a Gantt chart, curves of the
    processors in use and of the queue, its jobs, and explanations of these.

    Parameters
    ----------
    schedules
        Any number above 0, such as a generator that makes them: they are not kept.
    path
        The file; its name ends in .html.
    shown
        Names of the metrics that the comparison shows.
    slowdown_bound
        Seconds that a job counts at least in the bounded slowdown.
    max_jobs
        Jobs of a schedule that the report holds. If there are more, it holds half the first ones
        and half those that waited longest; metrics and curves are of all jobs. None: 30,000, and
        300,000 of all schedules together if their number is known, as it is of a list.
    force
        Replace a file that exists.

    Raises
    ------
    InputError, OutputError
        If a metric does not exist, there is no schedule, or the file cannot be written.
    """
    check_path(path)
    chosen = metrics.metrics(slowdown_bound)
    check_shown(shown, chosen)
    if max_jobs is None:
        max_jobs = default_max_jobs(len(schedules) if isinstance(schedules, Sized) else 1)
    rows: list[Row] = []
    with replace_file(path, PAGE, force=force) as stream:
        writer: ReportWriter | None = None
        for schedule in schedules:
            if writer is None:
                writer = ReportWriter(
                    stream,
                    schedule.workload.name,
                    max_jobs=max_jobs,
                    slowdown_bound=slowdown_bound,
                )
            writer.add(schedule)
            rows.append(Row.of(schedule, chosen))
        if writer is None:
            raise InputError("there is no schedule to report; give at least one")
        comparison = Comparison(rows, chosen, shown)
        writer.finish(comparison)
    return comparison


def check_path(path: str | os.PathLike[str]) -> None:
    """Check that the name of a file says that it is a page.

    Raises
    ------
    InputError
        If it does not.
    """
    if not os.fspath(path).lower().endswith(ENDINGS):
        raise InputError("the name of a report must end in .html", file=os.fspath(path))


def _table(caption: str, comparison: Comparison, *, marked: bool) -> Markup:
    """Return the metrics that are shown as a table that needs no script; the best are marked."""
    columns, names = comparison.label_columns(), comparison.shown
    heads = [*map(Head, columns), *(Head(name.replace("_", " "), "right") for name in names)]
    cells = [*columns.values()]
    for name in names:
        best = comparison.find_best(name) if marked else [False] * len(comparison.rows)
        texts = zip(_texts(comparison, name), best, strict=True)
        cells.append([value + " (best)" * is_best for value, is_best in texts])
    return static_table(caption, heads, [*zip(*cells, strict=True)])


def _texts(comparison: Comparison, name: str) -> list[str]:
    """Return the values of a metric as they are printed."""
    return [row.text(name, comparison.metrics[name].unit) for row in comparison.rows]


def _facts(schedule: ScheduleData) -> dict[str, object]:
    """Return what was simulated, by names."""
    workload, platform = schedule.workload, schedule.platform
    sizes = [f"{size:,}" for size in platform.block_sizes]
    facts: dict[str, object] = {
        "Program": f"swdual {__version__}",
        "Jobs": headline(workload, platform),
        "Repaired": "" if workload.report is None else ", ".join(str(workload.report).splitlines()),
        "Blocks of processors": ", ".join(sizes) if len(sizes) > 1 else "",
        "Penalty": "" if schedule.penalty is None else str(schedule.penalty),
        "Power": "" if schedule.power is None else str(schedule.power),
    }
    return {name: value for name, value in facts.items() if value}


def _cells(schedule: ScheduleData, slowdown: NDArray[np.float64], index: int) -> tuple[str, ...]:
    """Return a job as it is shown without the script."""
    workload = schedule.workload
    return (
        str(workload.number[index]),
        f"{workload.processors[index]:,}",
        seconds(float(workload.submit_time[index])),
        seconds(float(schedule.start_time[index])),
        seconds(float(schedule.finish_time[index])),
        shown(float(schedule.waiting_time[index]), "s"),
        shown(float(slowdown[index]), ""),
    )


def _run(schedule: ScheduleData, chosen: ChosenJobs) -> dict[str, Any]:
    """Return what the script needs of a schedule; what follows from other columns is left out."""
    workload, rows = schedule.workload, chosen.indices
    columns = {
        "number": workload.number,
        "submit": workload.submit_time,
        "processors": workload.processors,
        "requested": workload.requested_time,
        "start": schedule.start_time,
        "finish": schedule.finish_time,
    }
    # The page has numbers of users, no names.
    columns |= {name: ids for name, ids in owners(workload).items() if ids.dtype.kind in "iuf"}
    if len(schedule.interrupted):
        columns["processing"] = schedule.processing_time
    flags = {"killed": schedule.killed[rows], "backfilled": schedule.backfilled[rows]}
    times, busy, waiting = metrics.usage(schedule)
    exact = len(times) <= MAX_STEPS + 1
    left_out = np.delete(schedule.start_time, rows)
    edges = coarsen(times, busy, MAX_STEPS)[1]
    power = {}
    if schedule.power is not None:
        moments, _, watts = processor_states(schedule)
        power["power"] = _shorten(means(moments, watts, edges).round(2))
    return {
        "count": len(schedule),
        "first": chosen.first,
        "complete_until": left_out.min() if len(left_out) else None,
        "jobs": {name: _shorten(column[rows]) for name, column in columns.items()}
        | {name: np.flatnonzero(flag) for name, flag in flags.items()},
        "ended_on": _ended_on(schedule, rows),
        "executions": _executions(schedule, rows),
        "usage": {
            "exact": exact,
            "edges": _shorten(edges if exact else edges[[0, -1]]),
            "busy": _shorten(coarsen(times, busy, MAX_STEPS)[0].round(2)),
            "waiting": _shorten(coarsen(times, waiting, MAX_STEPS)[0].round(2)),
            **power,
        },
    }


def _ended_on(schedule: ScheduleData, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return on which ranges of processors jobs ended."""
    counts = np.diff(schedule.offsets)[rows]
    places = _places(schedule.offsets[:-1][rows], counts)
    first, stop = schedule.ranges[places].T
    return {"ranges": counts, "first": first, "size": stop - first}


def _executions(schedule: ScheduleData, rows: NDArray[np.int64]) -> dict[str, Any] | None:
    """Return all executions of jobs, by row; None if each job ran once, from start to finish."""
    if not len(schedule.interrupted):
        return None
    ran = schedule.executions
    row_of = np.full(len(schedule), -1)
    row_of[rows] = np.arange(len(rows))
    kept = np.flatnonzero(row_of[ran.job] >= 0)
    counts = np.diff(ran.offsets)[kept]
    first, stop = ran.ranges[_places(ran.offsets[:-1][kept], counts)].T
    return {
        "row": row_of[ran.job[kept]],
        "start": _shorten(ran.start[kept]),
        "end": _shorten(ran.end[kept]),
        "ranges": counts,
        "first": first,
        "size": stop - first,
    }


def _places(begins: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers from each begin on, so many as are counted, one after the other."""
    before = np.cumsum(counts) - counts
    return np.repeat(begins - before, counts) + np.arange(counts.sum())


def _shorten(column: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as integers, which take fewer letters."""
    whole = column.dtype.kind == "f" and (column == np.rint(column)).all()
    return column.astype(np.int64) if whole else column
