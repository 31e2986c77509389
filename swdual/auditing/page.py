"""The page of an audit: one HTML file, and the tables of it that notebooks show.

The page lists single hits, too: those that tables miss, or that differ from the truth.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swdual.auditing.comparison import FOUND
from swdual.auditing.findings import Findings
from swdual.auditing.layout import describe_truth, list_remarks, list_sections
from swdual.format import print_bits, print_evalue
from swdual.io.output import Output
from swdual.report.elements import definitions, details, static_table
from swdual.report.page import PageWriter, read_files
from swdual.text import notebook
from swdual.text.messages import sanitize
from swdual.text.notebook import Group, Head, Markup, join, text
from swdual.version import __version__

MAX_HITS, STATIC_HITS = 50_000, 50
"""Single hits that a page holds, and those that it shows without the script."""

WIDTH, HEIGHT = 760, 300
"""Of the chart, in pixels."""

LEFT, RIGHT, TOP, BOTTOM = 46, 12, 10, 44
"""Margins of the chart around its axes, in pixels."""

SERIES = 7
"""Colours of tables; more tables have dashed lines."""


def write_page(audit: Findings, stream: Output) -> None:
    """Write the page.

    Parameters
    ----------
    audit, stream
        What to show, and where to write.
    """
    page = PageWriter(
        stream,
        "swdual audit: " + ", ".join(audit.labels),
        [
            *read_files("swdual.formats", "_html", ("numbers.js",)),
            *read_files("swdual.auditing", "_html", ("audit.js",)),
        ],
        read_files("swdual.auditing", "_html", ("audit.css",)),
    )
    columns, count = _list_losses(audit)
    page.add("hits", {"columns": columns, "tables": len(audit.tables)})
    shown = len(columns["table"])
    first, *others = describe_truth(audit)
    facts = {"Program": f"swdual {__version__}", **audit.facts}
    head = join(
        [
            Markup("<header><h1>Hits that tables miss</h1>"),
            notebook.paragraph(text(first)),
            *(notebook.paragraph(text(line)) for line in others),
            details("About this audit", definitions(facts)),
            Markup("</header>"),
        ]
    )
    parts = [static_table(title, heads, rows) for title, heads, rows in list_sections(audit)]
    parts.insert(0, draw_shares(audit))
    if remarks := list_remarks(audit):
        notes = (Markup(f'<p class="note">{text(remark)}</p>') for remark in remarks)
        parts.append(Markup(f"<section><h2>Remarks</h2>{join(notes)}</section>"))
    title = f"Hits that are not found, or differ: {shown:,} of {count:,}"
    body = join(
        [
            Markup('<main id="report">'),
            *parts,
            Markup(f"<section><h2>{text(title)}</h2>"),
            Markup(f'<div id="hits">{_static_hits(columns)}</div></section></main>'),
        ]
    )
    page.finish(join([head, body]))


def render_tables(audit: Findings) -> str:
    """Return what a notebook shows."""
    parts = [notebook.paragraph(text(line)) for line in describe_truth(audit)]
    for title, heads, rows in list_sections(audit):
        cells = [[text(cell) for cell in row] for row in rows]
        parts.append(notebook.table(heads, [Group(notebook.strong(title), cells)]))
    parts += [notebook.paragraph(notebook.faint(remark)) for remark in list_remarks(audit)]
    return join(parts)


def _list_losses(audit: Findings) -> tuple[dict[str, list[Any]], int]:
    """Return the hits to list as columns, and how many there are.

    They are those that are missed or extra, and then those that are found with another bit score,
    each by exact E-value.
    """
    columns = audit.columns()
    differs = np.concatenate(
        [
            np.append(
                (found.verdicts != FOUND) | (np.abs(found.bits - audit.truth.bits) >= found.unit),
                np.full(len(found.extra), True),
            )
            for found in (each.comparison for each in audit.tables)
        ]
    )
    verdicts = np.array(columns["verdict"], dtype=str)
    rows = np.flatnonzero(differs & (verdicts != "unlisted"))
    evalues = np.array([np.inf if x is None else x for x in columns["evalue"]])
    chosen = rows[np.lexsort((evalues[rows], verdicts[rows] == "found"))][:MAX_HITS].tolist()
    kept = {name: [column[k] for k in chosen] for name, column in columns.items()}
    for name in ("table", "query", "target"):
        kept[name] = [sanitize(each) for each in kept[name]]
    return kept, len(rows)


def _static_hits(columns: dict[str, list[Any]]) -> Markup:
    """Return the first of the single hits, as a table that needs no script."""
    heads = [
        *(Head(name) for name in ("table", "query", "target", "verdict")),
        *(Head(name, "right") for name in ("E-value", "bits", "listed E-value", "listed bits")),
    ]

    def show(value: float | None, print_value: Any) -> str:
        return "" if value is None else str(print_value(value))

    rows = zip(*(column[:STATIC_HITS] for column in columns.values()), strict=True)
    cells = [
        (
            *names,
            show(evalue, print_evalue),
            show(bits, print_bits),
            show(listed, print_evalue),
            show(listed_bits, print_bits),
        )
        for *names, evalue, bits, listed, listed_bits in rows
    ]
    return static_table(f"The first {len(cells):,}", heads, cells)


def draw_shares(audit: Findings) -> Markup:
    """Return a chart of the share of hits that each table has, by exact E-value."""
    bins = audit.bins[:-1]
    size = len(audit.bins)
    step = (WIDTH - LEFT - RIGHT) / max(1, len(bins))
    depth = HEIGHT - TOP - BOTTOM

    def height(share: float) -> float:
        return TOP + depth * (1 - share)

    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = height(share)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>'
        )
    for place, name in enumerate(bins):
        x = LEFT + (place + 0.5) * step
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 24}" text-anchor="middle">{name}</text>')
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">exact '
        "E-value</text>"
    )
    rows = audit.summary()
    for number, label in enumerate(audit.labels):
        own = rows[number * size : number * size + len(bins)]
        points = [
            (LEFT + (place + 0.5) * step, height(row["share"]), row)
            for place, row in enumerate(own)
            if row["share"] is not None
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        parts.append(f'<g class="{_series(number)}"><polyline points="{line}"/>')
        for x, y, row in points:
            told = f"{label}, {row['evalues']}: {100 * row['share']:.1f} %"
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{text(told)}</title></circle>'
            )
        parts.append("</g>")
    legend = (
        f'<li class="{_series(number)}"><svg viewBox="0 0 24 10" width="24" height="10">'
        f'<polyline points="0,5 24,5"/></svg> {text(label)}</li>'
        for number, label in enumerate(audit.labels)
    )
    return Markup(
        f'<figure class="shares"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="Share of hits found by exact E-value">{join(parts)}</svg>'
        f'<ul class="legend">{join(legend)}</ul></figure>'
    )


def _series(number: int) -> str:
    """Return the classes of a table's line."""
    return f"series series-{number % SERIES} dash-{number // SERIES % 3}"
