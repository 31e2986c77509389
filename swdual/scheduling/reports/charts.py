"""Charts of schedules: Gantt charts, busy processors over time, and distributions of waiting."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from swdual import registry
from swdual.errors import InputError
from swdual.io.file_kind import DRAWING
from swdual.io.output import replace_file
from swdual.planning.gantt import (
    LINE,
    PALETTE,
    Entry,
    draw_legend,
    draw_or_save,
    encode_figure,
)
from swdual.planning.time_axis import DAY, HOUR, MINUTE, time_ticks
from swdual.scheduling import metrics
from swdual.scheduling.energy import processor_states
from swdual.scheduling.job import seconds
from swdual.scheduling.reports.comparison import Comparison, Row
from swdual.scheduling.schedule_data import ScheduleData
from swdual.text.messages import sanitize

if TYPE_CHECKING:
    import matplotlib.figure

FINE = 20_000
"""Rectangles of a chart above which they are drawn as an image, also in SVG and PDF."""

COLUMNS = 2_000
"""Steps of a curve above which it shows the means of as many equal spans of time."""

POINTS = 1_000
"""Points of a distribution."""

NUMBERED = 400
"""Rectangles that have the number of their job in them, at most."""

DOWN = "#cccccc"
"""The colour of nodes that are down."""

MAX_LINE_WIDTH, MIN_LINE_WIDTH, STRIPE = 4.5, 1.4, 4.0
"""Points: widths of the curves of a distribution, and the stripes of those that coincide."""

LONG_TIMES = {
    **{1.0: "1 s", 10.0: "10 s", 1.0 * MINUTE: "1 min", 10.0 * MINUTE: "10 min"},
    **{1.0 * HOUR: "1 h", 10.0 * HOUR: "10 h", 4.0 * DAY: "4 d", 40.0 * DAY: "40 d"},
    **{400.0 * DAY: "400 d"},
}
"""Ticks of a logarithmic axis of seconds."""

TITLES = {
    "waiting_time": "waiting time",
    "turnaround_time": "turnaround time",
    "stretch": "stretch",
    "bounded_slowdown": "bounded slowdown",
}
"""What the axis of a distribution says."""


def gantt(
    schedule: ScheduleData, path: str | os.PathLike[str] | None = None, *, force: bool = False
) -> matplotlib.figure.Figure | None:
    """Draw which job has which processors, and when (needs matplotlib).

    A rectangle stands for a range of processors of a job, and has the job's number in it where
    there is room. Jobs that were submitted one after the other differ in colour. Nodes that are
    down are grey. In SVG each rectangle has a tooltip with the job's number, size and times, unless
    there are too many.

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
    if path is None or Path(path).suffix.lower() != ".svg":
        return draw_or_save(lambda: _gantt(schedule, linked=False), path, force=force)
    content = encode_figure(lambda: _gantt(schedule, linked=True), path)
    with replace_file(path, DRAWING, force=force) as stream:
        stream.write(_with_tooltips(content, schedule))
    return None


def usage(
    schedule: ScheduleData, path: str | os.PathLike[str] | None = None, *, force: bool = False
) -> matplotlib.figure.Figure | None:
    """Draw how many processors are busy and how many jobs wait, over time: see `gantt`.

    With a power model, the kilowatts of all processors are below that, and the cap, if there is
    one, is a line. Where there are too many steps for a page, the curves show their means over
    short spans.

    For the parameters see `gantt`.
    """
    return draw_or_save(lambda: _usage(schedule), path, force=force)


def distributions(
    schedules: Iterable[ScheduleData],
    quantities: Sequence[str] = ("waiting_time", "bounded_slowdown"),
    path: str | os.PathLike[str] | None = None,
    *,
    force: bool = False,
) -> matplotlib.figure.Figure | None:
    """Draw the part of the jobs above each value of a quantity, one curve a schedule.

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
    return draw_or_save(lambda: _distributions(schedules, quantities), path, force=force)


def _with_tooltips(content: bytes, schedule: ScheduleData) -> bytes:
    """Return an SVG file whose rectangles, which are links to ``#N``, have tooltips instead."""
    ran = schedule.executions
    which = np.repeat(np.arange(len(ran)), np.diff(ran.offsets)).tolist()
    jobs, starts, ends = ran.job.tolist(), ran.start.tolist(), ran.end.tolist()

    def title(found: re.Match[bytes]) -> bytes:
        place = which[int(found[1])]
        job = schedule.workload[jobs[place]]
        count = "1 processor" if job.processors == 1 else f"{job.processors:,} processors"
        text = (
            f"job {job.number}: {count}, submitted at {seconds(job.submit_time)}, ran from "
            f"{seconds(starts[place])} to {seconds(ends[place])}"
        )
        return f"<g><title>{html.escape(sanitize(text))}</title>".encode()

    return re.sub(rb'<a xlink:href="#([0-9]+)"[^>]*>', title, content).replace(b"</a>", b"</g>")


def _gantt(schedule: ScheduleData, *, linked: bool) -> matplotlib.figure.Figure:
    """Return the Gantt chart; linked: rectangle N is a link to ``#N``, to be replaced."""
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
    extent = np.ptp(boxes, axis=(0, 1)) if len(boxes) else np.zeros(2)
    large = (sides > extent / 150).all(axis=1)
    chart.add_collection(
        PolyCollection(
            polygons,
            facecolors=to_rgba_array(PALETTE)[jobs % len(PALETTE)],
            edgecolors="white",
            linewidths=0.0 if fine else np.where(large, 0.4, 0.0),
            rasterized=fine,
            urls=[f"#{number}" for number in range(len(boxes))] if linked and not fine else None,
        )
    )
    entries = [
        Entry(PALETTE, "jobs: a colour each, to tell neighbours apart"),
        Entry(["white"], "idle"),
    ]
    if schedule.outages is not None:
        down = _down_rectangles(schedule)
        chart.add_collection(
            PolyCollection(down, facecolors=DOWN, zorder=0.5, rasterized=len(down) > FINE)
        )
        entries.append(Entry([DOWN], "down"))
    for x, y, job in _choose_numbered(boxes, jobs, schedule):
        dark = _is_dark(PALETTE[job % len(PALETTE)])
        chart.text(
            x,
            y,
            str(schedule.workload.number[job]),
            color="white" if dark else LINE,
            fontsize=6,
            ha="center",
            va="center",
            clip_on=True,
        )
    _time_axis(chart, boxes[:, :, 0], schedule)
    chart.set_ylim(0, schedule.platform.processors)
    chart.locator_params("y", integer=True)
    chart.yaxis.set_major_formatter("{x:,.15g}")
    chart.set_ylabel("processors")
    chart.set_title(label(schedule), loc="left", fontsize="medium", parse_math=False)
    draw_legend(figure, entries)
    return figure


def _down_rectangles(schedule: ScheduleData) -> list[list[tuple[float, float]]]:
    """Return the corners of a rectangle for each node of each outage."""
    nodes, outages = schedule.platform.node_table, schedule.outages
    if nodes is None or outages is None:
        return []
    corners = []
    for _, start, end, which in outages.outages:
        for node in which.tolist():
            low, high = nodes.first[node], nodes.first[node + 1]
            corners.append([(start, low), (end, low), (end, high), (start, high)])
    return corners


def _choose_numbered(
    boxes: NDArray[np.float64], jobs: NDArray[np.int64], schedule: ScheduleData
) -> Iterator[tuple[float, float, int]]:
    """Yield middle and job of the rectangles with room for a number, the largest ones first."""
    if not len(boxes) or np.ptp(boxes[:, :, 0]) == 0:
        return
    extent = np.ptp(boxes[:, :, 0]), schedule.platform.processors
    sides = (boxes[:, 2] - boxes[:, 0]) * np.array((8 * 72, 4 * 72)) / extent  # points
    digits = np.strings.str_len(schedule.workload.number[jobs].astype(np.str_))
    room = (sides[:, 0] > 4 * digits + 4) & (sides[:, 1] > 7)
    largest = np.argsort(-sides.prod(axis=1), kind="stable")
    for place in largest[room[largest]][:NUMBERED].tolist():
        x, y = boxes[place].mean(axis=0).tolist()
        yield x, y, int(jobs[place])


def _is_dark(colour: str) -> bool:
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 140


def rectangles(schedule: ScheduleData) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the rectangles of a Gantt chart: (ranges, 4, 2) corners, (ranges,) jobs.

    A corner is (seconds, processor): processor k fills the height from k to k + 1.
    """
    executions = schedule.executions
    which = np.repeat(np.arange(len(executions)), np.diff(executions.offsets))
    start, finish = executions.start[which], executions.end[which]
    first, stop = executions.ranges.T
    corners = ((start, first), (finish, first), (finish, stop), (start, stop))
    boxes = np.stack([np.stack(corner, axis=-1) for corner in corners], axis=1)
    return boxes, executions.job[which]


def _usage(schedule: ScheduleData) -> matplotlib.figure.Figure:
    from matplotlib.figure import Figure

    times, busy, waiting = metrics.usage(schedule)
    curves = 2 if schedule.power is None else 3
    figure = Figure(figsize=(9, 1.5 * (curves + 1)), layout="constrained")
    above, below, *others = figure.subplots(curves, sharex=True, height_ratios=(3, 2, 2)[:curves])
    for chart in others:
        moments, _, watts = processor_states(schedule)
        if len(moments) > 1:
            chart.stairs(*coarsen(moments, watts / 1000), fill=True, color=PALETTE[2])
        if len(moments) > 1 and schedule.signals.cap is not None:
            cap, (begin, end) = schedule.signals.cap, moments[[0, -1]].tolist()
            edges = np.r_[begin, cap.changes(begin, end), end]
            chart.stairs(*coarsen(edges, cap.at(edges) / 1000), baseline=None, color=LINE)
        chart.set_ylabel("power (kW)" if schedule.signals.cap is None else "power, cap (kW)")
        chart.set_ylim(bottom=0)
    if len(times) > 1:
        above.stairs(*coarsen(times, busy), fill=True, color=PALETTE[0])
        below.stairs(*coarsen(times, waiting), fill=True, color=PALETTE[3])
    size = schedule.platform.processors
    above.axhline(size, color=LINE, linewidth=0.8)
    above.annotate(
        f"all {size:,} processors",
        (1, size),
        xycoords=("axes fraction", "data"),
        xytext=(-4, -9),
        textcoords="offset points",
        ha="right",
        fontsize="small",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1},
    )
    for chart in (above, below, *others):
        chart.yaxis.set_major_formatter("{x:,.15g}")
    above.set_ylim(0, 1.05 * schedule.platform.processors)
    above.set_ylabel("busy processors")
    below.set_ylabel("waiting jobs")
    below.set_ylim(bottom=0)
    above.set_title(label(schedule), loc="left", fontsize="medium", parse_math=False)
    _time_axis([below, *others][-1], times, schedule)
    return figure


def coarsen(
    times: NDArray[np.float64],
    values: NDArray[np.int64] | NDArray[np.float64],
    most: int = COLUMNS,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a step function's values and edges: itself, or its means over equal spans of time.

    Parameters
    ----------
    times
        (steps,) seconds.
    values
        (steps,) values from each time on; the last one does not count.
    most
        Steps that it may have; if it has more, it becomes so many spans.

    Examples
    --------
    >>> coarsen(np.array([0.0, 2.0, 3.0]), np.array([5, 1, 0]))
    (array([5., 1.]), array([0., 2., 3.]))
    """
    if len(times) <= most + 1:
        return values[:-1].astype(np.float64), times
    edges = np.linspace(times[0], times[-1], most + 1)
    return means(times, values, edges), edges


def means(
    times: NDArray[np.float64],
    values: NDArray[np.int64] | NDArray[np.float64],
    edges: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the means of a step function over spans of time.

    Parameters
    ----------
    times, values
        As for `coarsen`.
    edges
        (spans + 1,) ascending seconds.

    Examples
    --------
    >>> means(np.array([0.0, 2.0, 3.0]), np.array([5, 1, 0]), np.array([0.0, 1.0, 3.0]))
    array([5., 3.])
    """
    integral = np.concatenate(([0.0], np.cumsum(values[:-1] * np.diff(times))))
    return np.diff(np.interp(edges, times, integral)) / np.diff(edges)


def _distributions(
    schedules: Iterable[ScheduleData], quantities: Sequence[str]
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
    groups = _group_equal_curves(curves)
    widths = np.linspace(
        min(MAX_LINE_WIDTH, MIN_LINE_WIDTH + 0.8 * (len(groups) - 1)), MIN_LINE_WIDTH, len(groups)
    )
    looks: dict[int, dict[str, Any]] = {}
    for group, width in zip(groups, widths.tolist(), strict=True):
        for place, number in enumerate(group):
            rest = STRIPE * (len(group) - 1)
            looks[number] = {
                "color": PALETTE[number % len(PALETTE)],
                "linewidth": width,
                "dash_capstyle": "butt",
                "linestyle": (-STRIPE * place / width, (STRIPE / width, rest / width))
                if rest
                else "-",
            }
    for number, reached in enumerate(curves):
        for chart, values in zip(charts, reached, strict=True):
            chart.plot(values, 100 * (1 - share[: len(values)]), **looks[number])
    for place, (chart, quantity) in enumerate(zip(charts, quantities, strict=True)):
        _quantity_axis(chart, quantity, [reached[place] for reached in curves])
    charts[0].set_ylim(0, 100)
    charts[0].set_ylabel("jobs with more (%)")
    if len({row.workload for row in rows}) == 1:
        charts[0].set_title(rows[0].workload, loc="left", fontsize="medium", parse_math=False)
    first = {number: group[0] for group in groups for number in group}
    labels = [
        said if first[number] == number else f"{said} (as {labels[first[number]]})"
        for number, said in enumerate(labels)
    ]
    # A label that begins with "_" would be left out, and "$" read as a formula.
    lines = charts[-1].lines
    legend = figure.legend(
        lines,
        [" "] * len(lines),
        loc="outside lower left",
        ncols=min(3, max(1, len(lines))),
        frameon=False,
        fontsize="small",
        handlelength=3.5,
    )
    for text, said in zip(legend.get_texts(), labels, strict=True):
        text.set_parse_math(False)
        text.set_text(said)
    return figure


def _group_equal_curves(curves: Sequence[Sequence[NDArray[np.float64]]]) -> list[list[int]]:
    """Return the numbers of the curves, those together that are equal everywhere."""
    groups: dict[bytes, list[int]] = {}
    for number, reached in enumerate(curves):
        content = b"|".join(values.tobytes() for values in reached)
        groups.setdefault(content, []).append(number)
    return [*groups.values()]


def _quantity_axis(chart: Any, quantity: str, curves: Sequence[NDArray[np.float64]]) -> None:
    """Name and scale the axis of a quantity; values that nearly all jobs exceed get little room."""
    reached = np.concatenate([*curves, np.zeros(0)])
    if not quantity.endswith("_time"):
        chart.set_xscale("log")
        chart.set_xlim(left=1, right=max(2.0, reached.max(initial=0.0)))
        chart.set_xlabel(TITLES[quantity])
        chart.xaxis.set_major_formatter("{x:,.15g}")
        return
    positive = reached[reached > 0]
    short = 10.0 ** np.floor(np.log10(np.quantile(positive, 0.05))) if len(positive) else 1.0
    chart.set_xscale("symlog", linthresh=max(1.0, short), linscale=0.5)
    chart.set_xlim(0, max(2.0, reached.max(initial=0.0)))
    ticks = {0.0: "0"} | {
        place: text
        for place, text in LONG_TIMES.items()
        if max(1.0, short) <= place <= reached.max(initial=0.0)
    }
    chart.set_xticks([*ticks], [*ticks.values()])
    chart.set_xticks([], minor=True)
    chart.set_xlabel(TITLES[quantity])


def label(schedule: ScheduleData) -> str:
    """Return a line that says which schedule this is: workload, policy and allocator."""
    name = f"{schedule.workload.name}: " if schedule.workload.name else ""
    return f"{name}{schedule.policy}, {schedule.allocator}"


def _time_axis(chart: Any, times: NDArray[np.float64], schedule: ScheduleData) -> None:
    """Set the limits of an axis of seconds; its ticks are dates, or hours or days."""
    if not times.size or times.max() <= times.min():
        chart.set_xlabel("seconds")
        return
    low, high = float(times.min()), float(times.max())
    chart.set_xlim(low, high)
    ticks = time_ticks(low, high, schedule.workload.unix_start_time)
    chart.set_xticks(ticks.places, ticks.labels)
    chart.set_xlabel(ticks.name)
