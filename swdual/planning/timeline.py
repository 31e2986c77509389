"""Timelines: the measured activities of each worker, and the plans beside them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.planning.planner import Plan
from swdual.version import __version__

if TYPE_CHECKING:
    from swdual.planning.gantt import Panel

ACTIVITIES = ("score", "align", "failed", "superseded")
"""Activities of a worker; the results of the last two were not used."""

CODES = "ibqiqqddqd"
"""Type codes of the arrays that hold the fields of spans."""

QUERIES = "queries; those that follow each other differ in colour"
"""Meaning of the colours if there are too many queries to name them."""

LOST = ACTIVITIES.index("failed")

PLANNED, OBSERVED = 1, 2
"""Process numbers of a trace."""


class Span(NamedTuple):
    """An uninterrupted activity of a worker.

    Parameters
    ----------
    worker
        Number of the worker.
    activity
        One of `ACTIVITIES`.
    query
        Number of the query among all of the search, from 0.
    block, first, last
        The database's block, and the first and last of its targets; -1 for alignments.
    start, end
        Seconds since the search began to compute.
    cells
        Cells of the dynamic programming matrix.
    predicted
        Predicted seconds; not-a-number if there is no prediction.
    """

    worker: int
    activity: str
    query: int
    block: int
    first: int
    last: int
    start: float
    end: float
    cells: int
    predicted: float = math.nan


class Planned(NamedTuple):
    """The plan of a batch of queries: its offset in seconds, and the query of each task."""

    offset: float
    plan: Plan
    queries: NDArray[np.int64]


class Timeline:
    """The spans of a search in the order in which they were added: ``len`` and ``for``.

    Parameters
    ----------
    workers
        Names such as "cpu 0" and "gpu 0".
    """

    def __init__(self, workers: Sequence[str]) -> None:
        self.workers = tuple(workers)
        # A search may have a million tasks: arrays take a fraction of the memory of tuples.
        self._columns: dict[str, array[Any]] = {
            name: array(code) for name, code in zip(Span._fields, CODES, strict=True)
        }

    def join(self, worker: str) -> int:
        """Add a worker, and return its number."""
        self.workers = (*self.workers, worker)
        return len(self.workers) - 1

    def add(self, span: Span) -> None:
        """Add a span.

        Raises
        ------
        ValueError
            If there is no such worker or activity.
        """
        if not 0 <= span.worker < len(self.workers):
            raise ValueError(f"there is no worker {span.worker}")
        values: dict[str, Any] = span._asdict()
        values["activity"] = ACTIVITIES.index(span.activity)
        for name, value in values.items():
            self._columns[name].append(value)

    def __len__(self) -> int:
        return len(self._columns["start"])

    def __iter__(self) -> Iterator[Span]:
        for worker, activity, *rest in zip(*self._columns.values(), strict=True):
            yield Span(worker, ACTIVITIES[activity], *rest)

    def __repr__(self) -> str:
        return (
            f"<Timeline: {len(self):,} spans, {len(self.workers)} workers, "
            f"makespan {self.makespan:.4g} s>"
        )

    def _array(self, name: str) -> NDArray[Any]:
        """Return a copy of a column: an array with a view could not grow."""
        return np.array(self._columns[name])

    def _scored(self) -> NDArray[np.bool_]:
        scored: NDArray[np.bool_] = self._array("activity") == ACTIVITIES.index("score")
        return scored

    @property
    def makespan(self) -> float:
        """Seconds until the last scores were computed."""
        return float(self._array("end")[self._scored()].max(initial=0.0))

    def busy(self) -> NDArray[np.float64]:
        """Return (workers,) seconds in which each worker computed something useful."""
        return self._covered(math.inf)

    def idle(self) -> NDArray[np.float64]:
        """Return (workers,) the part of the makespan, 0 to 1, without useful work."""
        makespan = self.makespan
        if not makespan:
            return np.zeros(len(self.workers))
        return np.clip(1 - self._covered(makespan) / makespan, 0.0, 1.0)

    def _covered(self, until: float) -> NDArray[np.float64]:
        """Return (workers,) seconds before `until` that lie in at least one useful span."""
        useful = self._array("activity") < LOST
        worker, start, end = (self._array(name) for name in ("worker", "start", "end"))
        covered = np.zeros(len(self.workers))
        for number in range(len(covered)):
            own = np.flatnonzero((worker == number) & useful)
            own = own[np.argsort(start[own], kind="stable")]
            ends = np.minimum(end[own], until)
            # Spans may overlap: each counts from where all before it have ended.
            before = np.maximum.accumulate(np.concatenate(([0.0], ends)))[:-1]
            covered[number] = np.maximum(ends - np.maximum(start[own], before), 0.0).sum()
        return covered

    def prediction_error(self) -> float:
        """Return the mean absolute error of predicted seconds, relative to the measured ones.

        Spans of scores are weighted by their durations; not-a-number if nothing was predicted.
        """
        predicted, observed = self._array("predicted"), self._array("end") - self._array("start")
        known = self._scored() & np.isfinite(predicted)
        total = float(observed[known].sum())
        return float(np.abs(predicted - observed)[known].sum()) / total if total else math.nan

    def panel(self, query_ids: Sequence[str] | None = None) -> Panel:
        """Return the panel of a Gantt chart: bars in the colours of queries, failures in grey.

        Parameters
        ----------
        query_ids
            Names of all queries, for the tooltips.
        """
        from swdual.planning.gantt import Panel

        queries, activities = self._array("query"), self._array("activity")

        def label(number: int) -> str:
            return f"{ACTIVITIES[activities[number]]} {_query(queries[number], query_ids)}"

        lost = activities >= LOST
        makespan = self.makespan
        return Panel(
            "measured",
            self.workers,
            self._array("worker").astype(np.int64),
            self._array("start"),
            self._array("end"),
            np.where(lost, -1, queries),
            makespan or None,
            f"scores complete at {makespan:.4g} s",
            self.idle(),
            label,
            QUERIES,
            query_ids or (),
        )


def plan_panel(
    plans: Sequence[Planned], workers: Sequence[str], query_ids: Sequence[str] | None = None
) -> Panel:
    """Return the panel of the plans of all batches, in the colours of their queries.

    Parameters
    ----------
    plans
        The plans; their workers have the numbers of `workers`.
    workers, query_ids
        Names of the workers, and of all queries for the tooltips.
    """
    from swdual.planning.gantt import Panel

    queries = _joined([queries for _, _, queries in plans], np.int64)
    seconds = sum(plan.makespan for _, plan, _ in plans)
    busy = np.zeros(len(workers))
    for _, plan, _ in plans:  # those who joined later have no part in the first ones
        busy[: len(plan.busy)] += plan.busy
    length = f" in {len(plans)} batches" if len(plans) > 1 else f": {seconds:.4g} s"
    bounded: dict[str, Any] = {}
    if len(plans) == 1:
        offset, plan, _ = plans[0]
        bounded = {
            "mark": offset + plan.lower_bound,
            "mark_label": f"lower bound {plan.lower_bound:.4g} s",
        }
    return Panel(
        f"planned by {', '.join(dict.fromkeys(plan.planner for _, plan, _ in plans))}{length}",
        workers,
        _joined([plan.workers for _, plan, _ in plans], np.int64),
        _joined([offset + plan.starts for offset, plan, _ in plans], np.float64),
        _joined([offset + plan.ends for offset, plan, _ in plans], np.float64),
        queries,
        idle=1 - busy / seconds if seconds else np.zeros(len(workers)),
        label=lambda number: _query(queries[number], query_ids),
        meaning=QUERIES,
        colour_names=query_ids or (),
        **bounded,
    )


def panels(
    timeline: Timeline, plans: Sequence[Planned], query_ids: Sequence[str] | None = None
) -> list[Panel]:
    """Return the panel of the plans, if there are any, and below it the panel of the spans.

    Parameters
    ----------
    timeline
        The spans.
    plans
        The plans; may be empty.
    query_ids
        Names of all queries, for the tooltips.
    """
    above = [plan_panel(plans, timeline.workers, query_ids)] if plans else []
    return [*above, timeline.panel(query_ids)]


def chrome_trace(
    timeline: Timeline, plans: Sequence[Planned], query_ids: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return a trace for chrome://tracing and Perfetto: one process planned, one measured.

    Times are whole microseconds. Overlapping spans of a worker are written as they are.

    Parameters
    ----------
    timeline, plans
        The spans, and the plans.
    query_ids
        Names of all queries; by default their numbers.
    """
    events = _header(OBSERVED, "measured", timeline.workers)
    events += (_span_event(span, query_ids) for span in timeline)
    if plans:
        events += _header(PLANNED, "planned", timeline.workers)
    for offset, plan, queries in plans:
        columns = (plan.workers, offset + plan.starts, offset + plan.ends, queries)
        for worker, start, end, query in zip(*(x.tolist() for x in columns), strict=True):
            name = _query(query, query_ids)
            events.append(_event(PLANNED, worker, "plan", name, start, end, {"query": name}))
    facts: dict[str, Any] = {"program": f"swdual {__version__}", "makespan": timeline.makespan}
    error = timeline.prediction_error()
    if math.isfinite(error):  # JSON has no word for anything else
        facts["prediction error"] = error
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": facts}


def _joined(parts: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, kind)


def _query(number: int, query_ids: Sequence[str] | None) -> str:
    return f"query {number}" if query_ids is None else query_ids[number]


def _thread(process: int, worker: int) -> int:
    """Return a number for a worker: in Perfetto 0 is the idle thread, and the process's the main.

    >>> _thread(OBSERVED, 0)
    2000
    """
    return 1000 * process + worker


def _header(process: int, name: str, workers: Sequence[str]) -> list[dict[str, Any]]:
    """Return the events that name a process and its threads and keep them in order."""
    first = _thread(process, 0)
    facts: list[tuple[str, int, dict[str, Any]]] = [
        ("process_name", first, {"name": name}),
        ("process_sort_index", first, {"sort_index": process}),
    ]
    for number, worker in enumerate(workers):
        thread = _thread(process, number)
        facts.append(("thread_name", thread, {"name": worker}))
        facts.append(("thread_sort_index", thread, {"sort_index": number}))
    return [
        {"name": fact, "ph": "M", "pid": process, "tid": thread, "args": args}
        for fact, thread, args in facts
    ]


def _event(
    process: int,
    worker: int,
    category: str,
    name: str,
    start: float,
    end: float,
    args: dict[str, Any],
) -> dict[str, Any]:
    """Return a complete event; whole microseconds keep rounded neighbours from overlapping."""
    begin, finish = round(1e6 * start), round(1e6 * end)
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "ts": begin,
        "dur": max(0, finish - begin),
        "pid": process,
        "tid": _thread(process, worker),
        "args": args,
    }


def _span_event(span: Span, query_ids: Sequence[str] | None) -> dict[str, Any]:
    query, seconds = _query(span.query, query_ids), span.end - span.start
    args: dict[str, Any] = {"query": query, "cells": span.cells}
    if span.block >= 0:
        args |= {"block": span.block, "targets": f"{span.first}-{span.last}"}
    if seconds > 0:
        args["gcups"] = span.cells / seconds / 1e9
    if math.isfinite(span.predicted):
        args["predicted seconds"] = span.predicted
    # Viewers colour by name: the scores of a query look alike, and what failed stands out.
    name = query if span.activity == "score" else f"{span.activity} {query}"
    return _event(OBSERVED, span.worker, span.activity, name, span.start, span.end, args)
