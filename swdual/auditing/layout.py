"""An audit as tables of text: what its text, its page and notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from swdual.auditing.comparison import RATIO_EDGES, label_bins
from swdual.auditing.findings import Findings
from swdual.text.messages import pluralize, sanitize
from swdual.text.notebook import Head

NOTHING = "-"
"""What is shown where there is nothing to tell."""


class Section(NamedTuple):
    """A table with a title."""

    title: str
    heads: list[Head]
    rows: list[list[str]]


def describe_truth(audit: Findings) -> list[str]:
    """Return what the tables are compared with, in lines."""
    facts, sample = audit.facts, audit.sample
    queries = pluralize(len(audit.queries), "query", "queries")
    if "query part" in facts:
        queries += f" (letters {facts['query part']})"
    lines = [
        f"Truth: {len(audit.truth):,} hits of {queries} against {facts['sequences']} of "
        f"{facts['database']}, E-values up to {audit.cutoff:g}",
        f"{facts['scoring']}; composition: {facts['composition']}"
        + (f"; {facts['translation']}" if "translation" in facts else ""),
    ]
    if sample is not None:
        lines.append(
            f"Sample: {sample.drawn:,} random {sample.unit} of {sample.population:,}, seed "
            f"{sample.seed}; 95 % confidence intervals in brackets"
        )
    return lines


def list_sections(audit: Findings) -> list[Section]:
    """Return the tables of an audit."""
    return [_found(audit), _differences(audit), _ratios(audit), _runs(audit)]


def list_remarks(audit: Findings) -> list[str]:
    """Return the remarks on all tables, each with the name of its table."""
    return [f"{each.label}: {sanitize(text)}" for each in audit.tables for text in each.remarks]


def _section(
    audit: Findings, title: str, names: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]
) -> Section:
    """Return a table with one column for each table of an audit, behind others.

    Parameters
    ----------
    audit, title
        The audit, and what the table shows.
    names
        Heads of the first columns.
    rows
        The first cell of each row, and the others.
    """
    heads = [Head(names[0]), *(Head(name, "right") for name in [*names[1:], *audit.labels])]
    return Section(title, heads, [[first, *others] for first, others in rows])


def _runs(audit: Findings) -> Section:
    runs = [each.table.run for each in audit.tables]
    limits = [f"{each.max_targets:,}" if each.max_targets else NOTHING for each in audit.tables]
    rows = [
        ("program", [sanitize(run.program) or NOTHING for run in runs]),
        ("options", [sanitize(run.options) or NOTHING for run in runs]),
        ("E-values up to", [NOTHING if run.evalue is None else f"{run.evalue:g}" for run in runs]),
        (
            "targets up to",
            [NOTHING if run.cuts_all else limit for run, limit in zip(runs, limits, strict=True)],
        ),
    ]
    return _section(audit, "Tables, as far as their headers tell", ["run"], rows)


def _found(audit: Findings) -> Section:
    rows = audit.summary()
    size = len(audit.bins)
    cells = []
    for place, name in enumerate(audit.bins):
        own = rows[place::size]
        cells.append((name, [f"{own[0]['hits']:,}", *map(format_share, own)]))
    return _section(audit, "Hits found, by exact E-value", ["E-value", "hits"], cells)


def format_share(row: dict[str, Any]) -> str:
    """Return the share of hits that is found, of those that could be listed.

    Parameters
    ----------
    row
        A row of `Findings.summary`.

    >>> format_share({"found": 3, "missed": 1, "share": 0.75, "low": 0.25, "high": 1.0})
    '3 of 4, 75.0 % (25.0 to 100.0)'
    """
    if row["share"] is None:
        return NOTHING
    text = f"{row['found']:,} of {row['found'] + row['missed']:,}, {100 * row['share']:.1f} %"
    if "low" in row:
        text += f" ({100 * row['low']:.1f} to {100 * row['high']:.1f})"
    return text


def _differences(audit: Findings) -> Section:
    totals = audit.summary()[len(audit.bins) - 1 :: len(audit.bins)]
    measures = audit.measures()
    tops = [row["tops"] for row in measures]
    rows = [
        ("missed", [f"{row['missed']:,}" for row in totals]),
        ("unlisted: the table could not list them", [f"{row['unlisted']:,}" for row in totals]),
        ("extra: exact E-value above the cutoff", [f"{row['extra']:,}" for row in measures]),
        ("lower bit scores", [_part(row["lower"], row["scored"]) for row in measures]),
        (
            "  by so many bits: median, most",
            [
                f"{row['median_lower']:.1f}, {row['most_lower']:.1f}" if row["lower"] else NOTHING
                for row in measures
            ],
        ),
        ("higher bit scores", [_part(row["higher"], row["scored"]) for row in measures]),
        ("pairs of hits out of order", [_part(x["disorder"], x["comparable"]) for x in measures]),
    ]
    if all(top is not None for top in tops):
        sums = [sum(top.values()) for top in tops]
        for label, name in (("first hit is no best hit", "other"), ("no hit at all", "none")):
            cells = [_part(top[name], count) for top, count in zip(tops, sums, strict=True)]
            rows.append((f"queries: {label}", cells))
    return _section(audit, "Differences", ["hits"], rows)


def _part(count: int, whole: int) -> str:
    """Return a number with that of which it is a part."""
    return f"{count:,} of {whole:,}" if whole else NOTHING


def _ratios(audit: Findings) -> Section:
    measures = audit.measures()
    rows = [
        (name, [f"{row['ratios'][name]:,}" for row in measures]) for name in label_bins(RATIO_EDGES)
    ]
    return _section(audit, "E-values of common hits, listed over exact", ["ratio"], rows)


def write_text(audit: Findings) -> str:
    """Return the audit as text."""
    parts = ["\n".join(describe_truth(audit))]
    for title, heads, rows in list_sections(audit):
        lines = [[head.name for head in heads], *rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = (
            "  ".join(
                cell.rjust(width) if head.align == "right" else cell.ljust(width)
                for cell, width, head in zip(line, widths, heads, strict=True)
            ).rstrip()
            for line in lines
        )
        parts.append("\n".join([title, *aligned]))
    if remarks := list_remarks(audit):
        parts.append("\n".join(["Remarks", *remarks]))
    return "\n\n".join(parts) + "\n"
