"""Charts of schedules: who ran where, how full the platform was, and who waited how long."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from swdual import registry
from swdual.errors import InputError
from swdual.gantt import LINE, PALETTE, encoded, need_matplotlib
from swdual.output import replacing
from swdual.scheduling import metrics
from swdual.scheduling.comparison import Comparison, Row

if TYPE_CHECKING:
    import matplotlib.figure

    from swdual.scheduling.schedule import Schedule

FINE = 20_000
"""Rectangles of a chart above which they are drawn as an image, also in SVG and PDF."""

COLUMNS = 2_000
"""Steps of a curve above which it shows the means of as many equal spans of time."""

POINTS = 1_000
"""Points of a distribution."""

STYLES = ("-", "--", ":")
"""Lines of a comparison, when the colours are used up."""

TITLES = {
    "waiting_time": "waiting time (s)",
    "turnaround_time": "turnaround time (s)",
    "stretch": "stretch",
    "bounded_slowdown": "bounded slowdown",
}
"""What the axis of a distribution says."""


def gantt(
    schedule: Schedule, path: str | os.PathLike[str] | None = None, *, force: bool = False
) -> matplotlib.figure.Figure | None:
    """Draw which job has which processors, and when (needs matplotlib).

    A rectangle stands for a range of processors of a job. Jobs that were submitted one after the
    other differ in colour.

    Parameters
    ----------
    schedule
        What to draw.
    path
        A file whose name ends in .svg, .png or .pdf; without it the figure is returned.
    force
        Replace a file that exists.

    Raises
    ------
    InputError, OutputError
        If matplotlib is missing, or the file cannot be written.
    """
    return _drawn(lambda: _gantt(schedule), path, force=force)


def usage(
    schedule: Schedule, path: str | os.PathLike[str] | None = None, *, force: bool = False
) -> matplotlib.figure.Figure | None:
    """Draw how many processors are busy and how many jobs wait, over time: see `gantt`.

    Where there are too many steps for a page, the curves show their means over short spans.
    """
    return _drawn(lambda: _usage(schedule), path, force=force)


def distributions(
    schedules: Iterable[Schedule],
    quantities: Sequence[str] = ("waiting_time", "bounded_slowdown"),
    path: str | os.PathLike[str] | None = None,
    *,
    force: bool = False,
) -> matplotlib.figure.Figure | None:
    """Draw what part of the jobs exceeds how much of a quantity, a curve each schedule.

    Parameters
    ----------
    schedules
        What to compare.
    quantities
        What to draw side by side, of "waiting_time", "turnaround_time", "stretch" and
        "bounded_slowdown".
    path, force
        As for `gantt`.

    Raises
    ------
    InputError, OutputError
        If there is no such quantity, matplotlib is missing, or the file cannot be written.
    """
    for quantity in quantities:
        if quantity not in TITLES:
            raise InputError(registry.unknown("quantity", quantity, TITLES))
    return _drawn(lambda: _distributions(schedules, quantities), path, force=force)


def _drawn(
    make: Callable[[], matplotlib.figure.Figure],
    path: str | os.PathLike[str] | None,
    *,
    force: bool,
) -> matplotlib.figure.Figure | None:
    """Save a figure under a name, or return it without one."""
    if path is None:
        need_matplotlib()
        return make()
    content = encoded(make, path)
    with replacing(path, force=force) as stream:
        stream.write(content)
    return None


def _gantt(schedule: Schedule) -> matplotlib.figure.Figure:
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba_array
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    chart = figure.subplots()
    boxes, jobs = rectangles(schedule)
    polygons: Any = boxes  # annotated as lists, but an array is much faster
    fine = len(boxes) > FINE
    # A white edge sets large rectangles apart; it would hide small ones.
    sides = boxes[:, 2] - boxes[:, 0]
    whole = np.ptp(boxes, axis=(0, 1)) if len(boxes) else np.zeros(2)
    large = (sides > whole / 150).all(axis=1)
    chart.add_collection(
        PolyCollection(
            polygons,
            facecolors=to_rgba_array(PALETTE)[jobs % len(PALETTE)],
            edgecolors="white",
            linewidths=0.0 if fine else np.where(large, 0.4, 0.0),
            rasterized=fine,
        )
    )
    _time_axis(chart, boxes[:, :, 0])
    chart.set_ylim(0, schedule.platform.processors)
    chart.set_ylabel("processors")
    chart.set_title(label(schedule), loc="left", fontsize="medium", parse_math=False)
    return figure


def rectangles(schedule: Schedule) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return what a Gantt chart draws: (ranges, 4, 2) corners, and (ranges,) the job of each.

    A corner is (seconds, processor): processor k fills the height from k to k + 1.
    """
    executions = schedule.executions
    which = np.repeat(np.arange(len(executions)), np.diff(executions.offsets))
    start, finish = executions.start[which], executions.end[which]
    first, stop = executions.ranges.T
    corners = ((start, first), (finish, first), (finish, stop), (start, stop))
    boxes = np.stack([np.stack(corner, axis=-1) for corner in corners], axis=1)
    return boxes, executions.job[which]


def _usage(schedule: Schedule) -> matplotlib.figure.Figure:
    from matplotlib.figure import Figure

    times, busy, waiting = metrics.usage(schedule)
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    above, below = figure.subplots(2, sharex=True, height_ratios=(3, 2))
    if len(times) > 1:
        above.stairs(*coarse(times, busy), fill=True, color=PALETTE[0])
        below.stairs(*coarse(times, waiting), fill=True, color=PALETTE[3])
    above.axhline(schedule.platform.processors, color=LINE, linewidth=0.8)
    above.set_ylim(0, 1.05 * schedule.platform.processors)
    above.set_ylabel("busy processors")
    below.set_ylabel("waiting jobs")
    below.set_ylim(bottom=0)
    above.set_title(label(schedule), loc="left", fontsize="medium", parse_math=False)
    _time_axis(below, times)
    return figure


def coarse(
    times: NDArray[np.float64], values: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a step function's values and edges: itself, or its means over equal spans of time.

    >>> coarse(np.array([0.0, 2.0, 3.0]), np.array([5, 1, 0]))
    (array([5., 1.]), array([0., 2., 3.]))
    """
    if len(times) <= COLUMNS + 1:
        return values[:-1].astype(np.float64), times
    edges = np.linspace(times[0], times[-1], COLUMNS + 1)
    integral = np.concatenate(([0.0], np.cumsum(values[:-1] * np.diff(times))))
    return np.diff(np.interp(edges, times, integral)) / np.diff(edges), edges


def _distributions(
    schedules: Iterable[Schedule], quantities: Sequence[str]
) -> matplotlib.figure.Figure:
    from matplotlib.figure import Figure

    measures = metrics.quantities()
    share = np.linspace(0, 1, POINTS)
    rows: list[Row] = []
    curves: list[list[NDArray[np.float64]]] = []
    for schedule in schedules:
        rows.append(Row.of(schedule, {}))
        columns = [measures[quantity](schedule) for quantity in quantities]
        curves.append([np.quantile(x, share) if len(x) else x for x in columns])
    labels = Comparison(rows, {}, ()).labels()
    figure = Figure(figsize=(5 * len(quantities), 4.5), layout="constrained")
    charts = figure.subplots(1, len(quantities), squeeze=False, sharey=True)[0]
    for number, reached in enumerate(curves):
        look = {
            "color": PALETTE[number % len(PALETTE)],
            "linestyle": STYLES[number // len(PALETTE) % len(STYLES)],
        }
        for chart, values in zip(charts, reached, strict=True):
            chart.plot(values, 100 * (1 - share[: len(values)]), **look)
    for chart, quantity in zip(charts, quantities, strict=True):
        # Waiting times may be 0, stretches are 1 or more.
        chart.set_xscale("symlog", linthresh=1)
        chart.set_xlim(left=0 if quantity.endswith("_time") else 1)
        chart.set_xlabel(TITLES[quantity])
    charts[0].set_ylim(0, 100)
    charts[0].set_ylabel("jobs with more (%)")
    if len({row.workload for row in rows}) == 1:
        charts[0].set_title(rows[0].workload, loc="left", fontsize="medium", parse_math=False)
    # A label that begins with "_" would be left out, and "$" read as a formula.
    lines = charts[-1].lines
    legend = charts[-1].legend(lines, [" "] * len(lines), frameon=False, fontsize="small")
    for text, said in zip(legend.get_texts(), labels, strict=True):
        text.set_parse_math(False)
        text.set_text(said)
    return figure


def label(schedule: Schedule) -> str:
    """Return a line that says which schedule this is: workload, policy and allocator."""
    name = f"{schedule.workload.name}: " if schedule.workload.name else ""
    return f"{name}{schedule.policy}, {schedule.allocator}"


def _time_axis(chart: Any, times: NDArray[np.float64]) -> None:
    """Set the limits of an axis of seconds, and name it."""
    if times.size and times.max() > times.min():
        chart.set_xlim(times.min(), times.max())
    chart.xaxis.set_major_formatter("{x:,.15g}")
    chart.set_xlabel("seconds")
