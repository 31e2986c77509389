"""Gantt charts: what each worker does when, as a figure, a file or inline SVG."""

from __future__ import annotations

import functools
import html
import io
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.io.file_kind import DRAWING
from swdual.io.output import replace_file
from swdual.planning.time_axis import time_ticks
from swdual.runtime.extras import import_extra
from swdual.text.messages import sanitize

if TYPE_CHECKING:
    import matplotlib.figure

LEGEND_COLUMNS = 6
"""Entries of a figure's legend that stand side by side."""

SWATCH, LETTER = 10, 6
"""Pixels of a colour in the legend of an inline drawing, and about what a letter takes."""

ENDINGS = (".svg", ".png", ".pdf")
"""What the name of a drawing may end in."""

PALETTE = (
    *("#332288", "#ddcc77", "#117733", "#cc6677", "#88ccee", "#882255", "#999933", "#aa4499"),
    "#44aa99",
)
"""Paul Tol's "muted" colours, which colour-blind people can tell apart; neighbours contrast."""

VOID = "#777777"
"""The colour of what came to nothing."""

GROUND, LINE = "#e9e9ed", "#222222"
"""Colours behind the rows, on which idle time is white, and of the mark."""

THIN = 0.3
"""Pixels below which a bar cannot be told from its neighbour."""

MAX_BARS = 1200
"""The most bars of an inline drawing, each with a tooltip: about 150 kB."""

DRAWN_COLUMNS = 5000
"""Bars of a figure that are shorter than this part of its time cannot be told apart in print."""

PITCH, HEAD, FOOT, BAR = 18, 24, 34, 14
"""Pixels of an inline drawing: from row to row, above the rows, for the axis; height of a bar."""

ROW, TALLEST, NAME = 0.26, 11.0, 0.15
"""Inches of a figure: of a row, of all rows at most, and that the name of a row needs."""

MAX_ROWS = 60
"""Rows of an inline drawing that have their full height; more are thinner."""

NOTEBOOK_DPI = 80
"""Pixels of a notebook's page for an inch of a figure."""

METADATA: dict[str, dict[str, None]] = {
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
    ".png": {},
}
"""What keeps the time out of the files: the same drawing is the same bytes."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One chart: a row for each worker, a bar for each task.

    Parameters
    ----------
    title
        What this is.
    rows
        Names of the workers; the first is on top.
    row, start, end
        (bars,) the row of each bar, and its start and end in seconds, none before 0.
    colour
        (bars,) a number such as the query's; grey below 0, for what came to nothing.
    mark, mark_label
        Seconds at which a vertical line stands, and what it says.
    idle
        (rows,) part of the time, between 0 and 1, to print beside each row.
    label
        What a bar is called in its tooltip, given its number.
    meaning
        What the colours say, for the legend.
    colour_names
        What each number of `colour` stands for: the legend names these where few are shown.
    """

    title: str
    rows: Sequence[str]
    row: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    colour: NDArray[np.int64]
    mark: float | None = None
    mark_label: str = ""
    idle: NDArray[np.float64] | None = None
    label: Callable[[int], str] = "task {}".format
    meaning: str = ""
    colour_names: Sequence[str] = ()

    @property
    def horizon(self) -> float:
        """Seconds until the last bar ends."""
        return float(self.end.max(initial=0.0))


class _Bars(NamedTuple):
    """Bars by row and time; each stands for `tasks` of the panel's, `number` is the longest."""

    row: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    number: NDArray[np.int64]
    tasks: NDArray[np.int64]


def check_path(path: str | os.PathLike[str]) -> None:
    """Check that a drawing can be saved under this name.

    Raises
    ------
    InputError
        If the name has no ending of a format that can be drawn, or matplotlib is missing.
    """
    if _ending(path) not in ENDINGS:
        possible = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise InputError(f"the name of a drawing must end in {possible}", file=path)
    require_matplotlib()


def draw_or_save(
    make: Callable[[], matplotlib.figure.Figure],
    path: str | os.PathLike[str] | None,
    *,
    force: bool = False,
) -> matplotlib.figure.Figure | None:
    """Save a figure to a file; without a path return it.

    Parameters
    ----------
    make
        Makes the figure.
    path
        The file, or None.
    force
        Replace a file that exists.

    Raises
    ------
    InputError, OutputError
        If the name has another ending than .svg, .png or .pdf, matplotlib is missing, or the file
        cannot be written.
    """
    if path is None:
        require_matplotlib()
        figure = make()
        # Notebooks draw figures of pyplot; ours are not among them, as they belong to no window.
        figure._repr_png_ = functools.partial(_notebook_png, figure)  # type: ignore[attr-defined]
        return figure
    check_path(path)
    with replace_file(path, DRAWING, force=force) as stream:
        stream.write(encode_figure(make, path))
    return None


def _notebook_png(figure: matplotlib.figure.Figure) -> tuple[bytes, dict[str, int]]:
    """Return a picture with twice as many pixels as its size, for sharp screens; and its size."""
    drawing = io.BytesIO()
    figure.savefig(drawing, format="png", dpi=2 * NOTEBOOK_DPI, metadata=METADATA[".png"])
    width, height = (round(NOTEBOOK_DPI * inches) for inches in figure.get_size_inches())
    return drawing.getvalue(), {"width": width, "height": height}


def save(panels: Sequence[Panel], path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Draw panels into a file: SVG, PNG or PDF, by the ending of its name.

    Parameters
    ----------
    panels
        As for `draw`.
    path, force
        As for `draw_or_save`.
    """
    draw_or_save(lambda: draw(panels), path, force=force)


def render(panels: Sequence[Panel], path: str | os.PathLike[str]) -> bytes:
    """Return the content of the file that `save` would write.

    Parameters
    ----------
    panels
        One above the other.
    path
        The file; its ending is the format.
    """
    return encode_figure(lambda: draw(panels), path)


def encode_figure(
    make: Callable[[], matplotlib.figure.Figure], path: str | os.PathLike[str]
) -> bytes:
    """Return the content of a file with a figure; equal figures give equal bytes.

    Parameters
    ----------
    make
        Makes the figure.
    path
        The file; its ending is the format.

    Raises
    ------
    InputError
        As for `check_path`.
    """
    check_path(path)
    import matplotlib as mpl

    ending = _ending(path)
    drawing = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "swdual"}):
        make().savefig(drawing, format=ending[1:], dpi=200, metadata=METADATA[ending])
    return drawing.getvalue()


def draw(panels: Sequence[Panel]) -> matplotlib.figure.Figure:
    """Return a figure with one panel above the other, on one time axis (needs matplotlib).

    If there are many rows, only some have names. The figure belongs to no window and no backend;
    ``figure.savefig`` writes it.

    Raises
    ------
    InputError
        If matplotlib is missing.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    heights = [max(1, len(panel.rows)) for panel in panels]
    row = min(ROW, TALLEST / max(1, sum(heights)))
    size = (9, 0.5 + 0.5 * len(panels) + row * sum(heights))
    figure = Figure(figsize=size, layout="constrained")
    if not panels:
        return figure
    horizon = _horizon(panels)
    charts = figure.subplots(len(panels), squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    for chart, panel in zip(charts, panels, strict=True):
        _draw_panel(chart, panel, horizon, every=math.ceil(NAME / row))
        chart.tick_params(axis="x", bottom=chart is charts[-1])
    charts[-1].set_xlim(0, horizon)
    ticks = time_ticks(0, horizon)
    charts[-1].set_xticks(ticks.places, ticks.labels)
    charts[-1].set_xlabel(ticks.name)
    draw_legend(figure, _legend(panels))
    return figure


class Entry(NamedTuple):
    """An entry of the legend."""

    colours: Sequence[str]
    meaning: str


def _legend(panels: Sequence[Panel]) -> list[Entry]:
    """Return the entries of the legend, if the panels name the meaning of colours."""
    numbers = sorted({number for panel in panels for number in np.unique(panel.colour).tolist()})
    shown = [number for number in numbers if number >= 0]
    colours = [PALETTE[number % len(PALETTE)] for number in shown]
    names = next((panel.colour_names for panel in panels if panel.colour_names), ())
    meaning = next((panel.meaning for panel in panels if panel.meaning), "")
    if not shown or not (names or meaning):
        return []
    if names and len(set(colours)) == len(colours):
        entries = [
            Entry([colour], _short(sanitize(names[number])))
            for number, colour in zip(shown, colours, strict=True)
        ]
    else:
        entries = [Entry(PALETTE[: len(set(colours))], meaning)] if meaning else []
    lost = [Entry([VOID], "came to nothing")] if len(shown) < len(numbers) else []
    return [*entries, *lost, Entry(["white"], "idle")]


def draw_legend(figure: Any, entries: Sequence[Entry]) -> None:
    """Draw a legend below the charts of a figure, if it has entries."""
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.patches import Patch

    if not entries:
        return
    handles = [
        tuple(
            Patch(facecolor=colour, edgecolor=LINE if colour == "white" else colour, linewidth=0.5)
            for colour in entry.colours
        )
        for entry in entries
    ]
    legend = figure.legend(
        handles,
        [entry.meaning for entry in entries],
        loc="outside lower left",
        ncols=min(LEGEND_COLUMNS, len(entries)),
        frameon=False,
        fontsize="small",
        handlelength=1.5 if all(len(entry.colours) == 1 for entry in entries) else 4,
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def svg(panels: Sequence[Panel], width: int = 720) -> str:
    """Return an SVG element for a page: one panel above the other, with tooltips on the bars.

    Bars too thin to be seen are merged with their neighbours, and, if there are still too many for
    a page, the next thinner ones.

    Parameters
    ----------
    panels
        What to draw.
    width
        Width of the drawing in pixels.
    """
    horizon = _horizon(panels)
    left = 14 + 6.6 * max((len(_short(name)) for panel in panels for name in panel.rows), default=0)
    right = 62 if any(panel.idle is not None for panel in panels) else 12
    scale = max(1.0, width - left - right) / horizon
    rows = sum(len(panel.rows) for panel in panels)
    thinner = max(1.0, rows / MAX_ROWS)
    parts: list[str] = []
    y = 0.0
    for panel, bars in zip(panels, _merge_for_page(panels, scale), strict=True):
        y += HEAD
        parts += _svg_panel(panel, bars, left, y, scale, horizon, thinner)
        y += PITCH / thinner * len(panel.rows)
    parts += _svg_axis(left, y, scale, horizon)
    y += FOOT
    legend, height = _svg_legend(_legend(panels), left, y, width)
    parts += legend
    y += height
    return (
        f'<svg width="{width}" height="{y:g}" viewBox="0 0 {width} {y:g}" role="img" '
        'aria-label="Gantt chart" font-family="sans-serif" font-size="11" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )


def _ending(path: str | os.PathLike[str]) -> str:
    return Path(path).suffix.lower()


def require_matplotlib() -> None:
    """Raise an `InputError` that says how to install matplotlib, if it is missing."""
    import_extra("matplotlib", "plot", "drawing needs matplotlib")


def _horizon(panels: Sequence[Panel]) -> float:
    """Return the end of the time axis."""
    return max((max(panel.horizon, panel.mark or 0.0) for panel in panels), default=0.0) or 1.0


def _colours(panel: Panel, bars: _Bars) -> list[str]:
    numbers = panel.colour[bars.number].tolist()
    return [VOID if number < 0 else PALETTE[number % len(PALETTE)] for number in numbers]


def _merge_bars(panel: Panel, thin: float, gap: float) -> _Bars:
    """Merge bars shorter than `thin` seconds that begin in the same `thin` seconds of a row.

    Pauses longer than `gap` stay visible, and so do bars of failed tasks.
    """
    order = np.lexsort((panel.start, panel.row))
    row, start, end = panel.row[order], panel.start[order], panel.end[order]
    alike = np.stack((row, np.floor(start / thin), panel.colour[order] < 0))
    short = end - start < thin
    joins = np.zeros(len(order), np.bool_)
    joins[1:] = (alike[:, 1:] == alike[:, :-1]).all(axis=0) & short[1:] & short[:-1]
    joins[1:] &= start[1:] - end[:-1] <= gap
    first = np.flatnonzero(~joins)
    longest = np.lexsort((start - end, np.cumsum(~joins)))[first]
    return _Bars(
        row[first],
        start[first],
        np.maximum.reduceat(end, first) if len(first) else end,
        order[longest],
        np.diff(first, append=len(order)),
    )


def _merge_for_page(panels: Sequence[Panel], scale: float) -> list[_Bars]:
    """Merge bars that are too thin, then thicker ones, until there are at most `MAX_BARS`."""
    thin = THIN
    while True:
        # Pauses are what the drawing is about: they go last.
        merged = [_merge_bars(panel, thin / scale, max(THIN, thin / 8) / scale) for panel in panels]
        if sum(len(bars.row) for bars in merged) <= MAX_BARS or thin > 1e5:
            return merged
        thin *= 1.5


def _draw_panel(chart: Any, panel: Panel, horizon: float, every: int) -> None:
    """Draw one panel; every `every`-th row has a name."""
    from matplotlib.collections import PolyCollection

    rows = np.arange(len(panel.rows))
    bars = _merge_bars(panel, horizon / DRAWN_COLUMNS, horizon / DRAWN_COLUMNS)
    colours = _colours(panel, bars)
    # Wide bars are set apart by a white line, which would hide narrow ones.
    wide = bars.end - bars.start > horizon / 200
    edges = ["white" if apart else colour for colour, apart in zip(colours, wide, strict=True)]
    boxes = _boxes(rows, np.zeros(len(rows)), np.full(len(rows), panel.horizon))
    chart.set_facecolor(GROUND)
    chart.add_collection(PolyCollection(boxes, facecolors="white"))
    chart.add_collection(
        PolyCollection(
            _boxes(bars.row, bars.start, bars.end),
            facecolors=colours,
            edgecolors=edges,
            linewidths=np.where(wide, 0.6 / every, 0.1),
        )
    )
    chart.spines[:].set_visible(False)
    chart.set_ylim(max(1, len(rows)) - 0.5, -0.5)
    chart.set_yticks(rows[::every], list(panel.rows)[::every], parse_math=False)
    chart.tick_params(axis="y", length=0)
    chart.set_title(panel.title, loc="left", fontsize="medium", parse_math=False)
    around = {"textcoords": "offset points", "parse_math": False, "fontsize": "small"}
    for number, text in _notes(panel, every):
        place = {"xycoords": ("axes fraction", "data"), "xytext": (6, 0), "va": "center"}
        chart.annotate(text, (1, number), **place, **around)
    if panel.mark is not None:
        # White behind the dashes: they are to be seen on dark bars too.
        chart.axvline(panel.mark, color="white", linewidth=2.5, clip_on=False)
        chart.axvline(panel.mark, color=LINE, linestyle=(0, (4, 2)), linewidth=1, clip_on=False)
        # At the right end if the title would be in the way.
        x = panel.mark if panel.mark > horizon / 2 else horizon
        place = {"xycoords": ("data", "axes fraction"), "xytext": (0, 6)}
        chart.annotate(panel.mark_label, (x, 1), ha="right", **place, **around)


def _boxes(row: NDArray[np.int64], start: NDArray[np.float64], end: NDArray[np.float64]) -> Any:
    """Return (bars, 4, 2) corners."""
    corners = ((start, -0.4), (end, -0.4), (end, 0.4), (start, 0.4))
    return np.stack([np.stack((x, row + y), axis=-1) for x, y in corners], axis=1)


def _notes(panel: Panel, every: int) -> Iterator[tuple[int, str]]:
    """Yield every `every`-th row, and the text at its end."""
    if panel.idle is not None:
        for number, part in [*enumerate(panel.idle)][::every]:
            yield number, f"{100 * max(0.0, part):.0f} % idle"


def _svg_panel(
    panel: Panel, bars: _Bars, left: float, top: float, scale: float, horizon: float, thinner: float
) -> Iterator[str]:
    """Yield the elements of a panel; rows are `thinner` times lower than usual."""
    end, height = left + scale * horizon, PITCH / thinner * len(panel.rows)
    every = math.ceil(thinner)
    yield f'<text x="{left:.1f}" y="{top - 8:g}" font-size="12">{_escape(panel.title)}</text>'
    yield (
        f'<rect x="{left:.1f}" y="{top:g}" width="{scale * horizon:.1f}" height="{height:g}" '
        f'fill="{GROUND}"/>'
    )
    for number, name in enumerate(panel.rows):
        y = top + PITCH / thinner * number
        if number % every == 0:
            yield (
                f'<text x="{left - 6:.1f}" y="{y + 13 / thinner:.6g}" text-anchor="end">'
                f"{_escape(_short(name))}</text>"
            )
        yield (
            f'<rect x="{left:.1f}" y="{y + (PITCH - BAR) / 2 / thinner:.6g}" '
            f'width="{scale * panel.horizon:.1f}" height="{BAR / thinner:.4g}" fill="white"/>'
        )
    yield from _svg_bars(panel, bars, left, top, scale, thinner)
    for number, text in _notes(panel, every):
        y = top + (PITCH * number + 13) / thinner
        yield f'<text x="{end + 6:.1f}" y="{y:.6g}" font-size="10">{text}</text>'
    if panel.mark is not None:
        x = left + scale * panel.mark
        said = x if panel.mark > horizon / 2 else end
        line = f'<path d="M{x:.1f} {top:g}v{height:g}" stroke='
        yield (
            f'{line}"white" stroke-width="2.5"/>{line}"{LINE}" stroke-dasharray="4 2"/>'
            f'<text x="{said:.1f}" y="{top - 8:g}" text-anchor="end" font-size="10">'
            f"{_escape(panel.mark_label)}</text>"
        )


def _svg_bars(
    panel: Panel, bars: _Bars, left: float, top: float, scale: float, thinner: float
) -> Iterator[str]:
    for row, start, end, number, tasks, colour in zip(
        *(column.tolist() for column in bars), _colours(panel, bars), strict=True
    ):
        wide = scale * (end - start)
        what = panel.label(number) if tasks == 1 else f"{tasks:,} tasks"
        title = f"{panel.rows[row]}: {what}, {start:.6g} to {end:.6g} s"
        yield (
            f'<rect x="{left + scale * start:.1f}" '
            f'y="{top + (PITCH * row + (PITCH - BAR) / 2) / thinner:.6g}" '
            f'width="{wide - 0.6 if wide > 3 else max(wide, 0.1):.1f}" '
            f'height="{BAR / thinner:.4g}" '
            f'fill="{colour}"><title>{_escape(title)}</title></rect>'
        )


def _svg_axis(left: float, y: float, scale: float, horizon: float) -> Iterator[str]:
    ticks = time_ticks(0, horizon)
    for place, label in zip(ticks.places, ticks.labels, strict=True):
        x = left + scale * place
        yield (
            f'<path d="M{x:.1f} {y:g}v4" stroke="currentColor"/><text x="{x:.1f}" y="{y + 15:g}" '
            f'text-anchor="middle">{label}</text>'
        )
    middle = left + scale * horizon / 2
    yield f'<text x="{middle:.1f}" y="{y + 29:g}" text-anchor="middle">{ticks.name}</text>'


def _svg_legend(
    entries: Sequence[Entry], left: float, top: float, width: float
) -> tuple[list[str], float]:
    """Return the elements of the legend, line by line, and their height."""
    parts: list[str] = []
    x, y = left, top
    for entry in entries:
        wide = LETTER * len(entry.meaning) + SWATCH * len(entry.colours) + 18
        if x > left and x + wide > width:
            x, y = left, y + PITCH
        for number, colour in enumerate(entry.colours):
            edge = ' stroke="currentColor" stroke-width="0.5"' if colour == "white" else ""
            parts.append(
                f'<rect x="{x + SWATCH * number:.1f}" y="{y:g}" width="{SWATCH}" '
                f'height="{SWATCH}" fill="{colour}"{edge}/>'
            )
        x_text = x + SWATCH * len(entry.colours) + 5
        parts.append(
            f'<text x="{x_text:.1f}" y="{y + SWATCH - 1:g}">{_escape(entry.meaning)}</text>'
        )
        x += wide
    return parts, y - top + PITCH if entries else 0


def _escape(text: str) -> str:
    """Return a text for a page, without markup and characters that XML forbids."""
    return html.escape(sanitize(text))


def _short(name: str) -> str:
    """Shorten a name to what fits beside its row."""
    return name if len(name) <= 20 else f"{name[:19]}…"
