"""A profile as a sequence logo.

Schneider and Stephens 1990, Nucleic Acids Research 18, 6097-6100.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from swdual.profiles.ascii_pssm import COLUMNS, find_information
from swdual.profiles.frequencies import standard_background
from swdual.profiles.letters import PLACES
from swdual.profiles.position_scores import UNSCORED, PositionScores
from swdual.sequences.alphabet import CODES, PROTEIN

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure
    import matplotlib.path

CHEMISTRY = {
    "hydrophobic": ("AFILMPVW", "#333333"),
    "polar": ("CGSTY", "#009e73"),
    "amide": ("NQ", "#cc79a7"),
    "basic": ("HKR", "#0072b2"),
    "acidic": ("DE", "#d55e00"),
}
"""Amino acids and colour of each group; the colours are those of Okabe and Ito, which colour-blind
people can tell apart."""

COLOURS = {letter: colour for letters, colour in CHEMISTRY.values() for letter in letters}

LOW = "#d9d9d9"
"""The colour of the bar that stands for letters too low to read."""

PALE = 0.35
"""Opacity of letters that follow from scores alone, where others follow from frequencies."""

LINE, FONT = "#222222", "DejaVu Sans Mono"

WIDTH, ROW, TALLEST = 9.0, 1.15, 100.0
"""Inches of the figure, of a row, and of all rows at most."""

SHORT, LONG = 60, 300
"""Positions of a logo of one row, and of one with rows of at most 50; longer ones have rows of at
most 100."""

ENTRY = 1.25
"""Inches of an entry of the legend."""

MIN_BITS = 1.0
"""The axis reaches at least to this."""

MIN_POINTS = 1.8
"""Lower letters cannot be read."""

AXIS = 0.75
"""Part of a row that the letters have, about; the rest is for labels."""

GAP = 0.06
"""Part of a position's width that is left free on its right."""

FINE = 2_000
"""Positions above which letters are drawn as an image, also in SVG and PDF."""


def letter_heights(profile: PositionScores) -> NDArray[np.float64]:
    """Return (L, 20) the heights in bits of the amino acids of a logo.

    Their sum is the information of the position, relative to the frequencies of residues in
    proteins; each has the part that its frequency has. Where there are no frequencies, they are
    those that the scores imply: in proportion to b exp(lambda s), with b the background.

    Parameters
    ----------
    profile
        The profile.
    """
    frequencies = np.zeros((len(profile), CODES))
    if profile.frequencies is not None:
        frequencies[:] = profile.frequencies
    unknown = _are_unknown(profile)
    scores = profile.scores[unknown, : len(COLUMNS)]
    exponents = np.where(scores == UNSCORED, -np.inf, profile.ungapped.lambda_ * scores)
    implied = standard_background()[PLACES[: len(COLUMNS)]] * np.exp(exponents)
    frequencies[unknown, : len(COLUMNS)] = implied / implied.sum(axis=1, keepdims=True)
    information = np.maximum(0.0, find_information(replace(profile, frequencies=frequencies)))
    shares = frequencies[:, : len(COLUMNS)]
    heights: NDArray[np.float64] = information[:, None] * shares / shares.sum(axis=1)[:, None]
    return heights


def draw_logo(profile: PositionScores) -> matplotlib.figure.Figure:
    """Return a sequence logo (needs matplotlib).

    Parameters
    ----------
    profile
        What to draw.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    length = len(profile)
    rows = 1 if length <= SHORT else math.ceil(length / (50 if length <= LONG else 100))
    per_row = length if rows == 1 else 10 * math.ceil(length / rows / 10)
    height = min(ROW if rows > 1 else 2 * ROW, TALLEST / rows)
    width = WIDTH if length > SHORT / 2 else max(WIDTH / 2, 1.5 + 0.25 * length)
    figure = Figure(figsize=(width, 1.1 + rows * height), layout="constrained")
    heights = letter_heights(profile)
    highest = max(MIN_BITS, 1.04 * float(heights.sum(axis=1).max()))
    unknown = _are_unknown(profile)
    pale = np.zeros_like(unknown) if unknown.all() else unknown
    lowest = highest * MIN_POINTS / (72 * AXIS * height)
    letters = PROTEIN.decode(profile.codes)
    charts = figure.subplots(rows, squeeze=False, sharey=True)[:, 0]
    for row, chart in enumerate(charts):
        first = row * per_row
        part = slice(first, min(length, first + per_row))
        chart.set_xlim(first + 0.5, first + per_row + 0.5)
        chart.set_ylim(0, highest)
        chart.set_yticks(range(int(highest) + 1))
        _draw_letters(chart, heights[part], pale[part], first, lowest, rasterized=length > FINE)
        _label_positions(chart, letters[part], first, 72 * width / per_row)
    count = "1 position" if length == 1 else f"{length:,} positions"
    title = f"{profile.id}: {count}" if profile.id else count
    charts[0].set_title(title, loc="left", fontsize="medium", parse_math=False)
    charts[-1].set_xlabel("residue of the query, and position")
    figure.supylabel("information (bits)", fontsize="medium")
    entries = [(Patch(facecolor=colour), name) for name, (_, colour) in CHEMISTRY.items()]
    entries.append((Patch(facecolor=LOW), "too low to read"))
    if pale.any():
        entries.append((Patch(facecolor=COLOURS["A"], alpha=PALE), "pale: from scores only"))
    figure.legend(
        *zip(*entries, strict=True),
        loc="outside lower left",
        ncols=min(len(entries), int(width / ENTRY)),
        frameon=False,
        fontsize="small",
        handlelength=1.0,
        columnspacing=1.2,
    )
    return figure


def _are_unknown(profile: PositionScores) -> NDArray[np.bool_]:
    """Return (L,) whether a position has no frequencies."""
    if profile.frequencies is None:
        return np.ones(len(profile), np.bool_)
    unknown: NDArray[np.bool_] = (profile.frequencies[:, : len(COLUMNS)] == 0.0).all(axis=1)
    return unknown


def _draw_letters(
    chart: matplotlib.axes.Axes,
    heights: NDArray[np.float64],
    pale: NDArray[np.bool_],
    first: int,
    lowest: float,
    *,
    rasterized: bool,
) -> None:
    """Draw the letters of some positions.

    Parameters
    ----------
    chart
        Where to draw.
    heights
        (n, 20) bits.
    pale
        (n,) which positions are pale.
    first
        Position of the first one, from 0.
    lowest
        Bits below which letters are part of a bar at the bottom.
    rasterized
        Whether they are drawn as an image.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    low = heights < lowest
    bottoms = _stack(heights)
    bar = Path([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)], closed=True)
    rest = np.where(low, heights, 0.0).sum(axis=1)
    shapes = [(bar, LOW, np.zeros(len(rest)), rest)]
    for letter, name in enumerate(COLUMNS):
        shown = np.where(low[:, letter], 0.0, heights[:, letter])
        shapes.append((_glyph(name), COLOURS[name], bottoms[:, letter], shown))
    for glyph, colour, starts, sizes in shapes:
        for alpha, chosen in ((None, ~pale), (PALE, pale)):
            places = np.flatnonzero(chosen & (sizes > 0))
            if len(places):
                path = _repeat(glyph, first + 0.5 + places, starts[places], sizes[places])
                chart.add_patch(
                    PathPatch(
                        path, facecolor=colour, linewidth=0, alpha=alpha, rasterized=rasterized
                    )
                )


def _stack(heights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (L, 20) where letters begin when those of a position stand on lower ones."""
    order = np.argsort(heights, axis=1, kind="stable")
    ordered = np.take_along_axis(heights, order, axis=1)
    bottoms = np.empty(heights.shape)
    np.put_along_axis(bottoms, order, np.cumsum(ordered, axis=1) - ordered, axis=1)
    return bottoms


def _glyph(letter: str) -> matplotlib.path.Path:
    """Return the outline of a letter that fills a square of width and height 1."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.path import Path
    from matplotlib.textpath import TextPath

    font = FontProperties(family=FONT, weight="bold")
    outline = TextPath((0, 0), letter, size=1, prop=font)
    extents = outline.get_extents()
    vertices = (outline.vertices - extents.min) / extents.size
    return Path(vertices, outline.codes)


def _repeat(
    glyph: matplotlib.path.Path,
    lefts: NDArray[Any],
    bottoms: NDArray[Any],
    heights: NDArray[Any],
) -> matplotlib.path.Path:
    """Return an outline at several places.

    Parameters
    ----------
    glyph
        The outline in a square of width and height 1.
    lefts, bottoms, heights
        (n,) where it comes, in positions and bits. It is one position wide.
    """
    from matplotlib.path import Path

    vertices = np.asarray(glyph.vertices)
    x = lefts[:, None] + GAP / 2 + (1.0 - GAP) * vertices[:, 0]
    y = bottoms[:, None] + heights[:, None] * vertices[:, 1]
    assert glyph.codes is not None
    return Path(np.stack([x.ravel(), y.ravel()], axis=1), np.tile(glyph.codes, len(lefts)))


def _label_positions(chart: matplotlib.axes.Axes, letters: str, first: int, room: float) -> None:
    """Write the query's residues below the positions, and every tenth number below them.

    Parameters
    ----------
    chart, letters
        Where to write, and the residues.
    first
        Position of the first one, from 0.
    room
        Points that a position is wide.
    """
    from matplotlib.transforms import ScaledTranslation

    size = min(9.0, max(4.0, 0.75 * room))
    inches = chart.figure.dpi_scale_trans
    below = chart.get_xaxis_transform() + ScaledTranslation(0, -(size + 1) / 72, inches)
    for number, letter in enumerate(letters, start=first + 1):
        chart.text(
            number,
            0,
            letter,
            transform=below,
            ha="center",
            family=FONT,
            fontsize=size,
            color=LINE,
            in_layout=False,
        )
    last = first + len(letters)
    chart.set_xticks([x for x in range(first + 1, last + 1) if x % 10 == 0 or x == 1])
    chart.tick_params(axis="x", length=0, pad=size + 4, labelsize=max(5.5, size - 1))
    chart.tick_params(axis="y", labelsize="small")
    chart.spines[["top", "right"]].set_visible(False)
    chart.spines["bottom"].set_bounds(first + 0.5, last + 0.5)
    chart.spines[["left", "bottom"]].set_color(LINE)
