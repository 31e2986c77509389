"""A report to look at: one HTML file with tables and alignments.

The data of each query are written before the next query is asked for; what tells of all queries
comes last. If the results know their run (`timing`, `command`, `report_alignments`, `found`), the
report tells of it.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from swdual.alignment.tracebacks import find_positives
from swdual.composition.adjusted import UNMASKED
from swdual.format import (
    REPORT_ALIGNMENTS,
    Table,
    print_bits,
    print_coverage,
    print_evalue,
)
from swdual.formats._header import peek
from swdual.formats._report_table import TableQuery, group_rows
from swdual.formats.pairwise import METHODS
from swdual.hits.fields import columns as hit_columns
from swdual.hits.hit import Hit
from swdual.hits.query_result import QueryResult
from swdual.io.output import Output
from swdual.planning.gantt import svg
from swdual.planning.timing import Timing
from swdual.report.elements import definitions, details, static_table
from swdual.report.page import PageWriter, read_files
from swdual.request.declarations import OPTIONS
from swdual.request.search_parameters import ALIGNMENT_FILTERS
from swdual.sequences.sequence import description
from swdual.statistics.fit import Z_EDGES, Fit
from swdual.text.messages import duration, pluralize, sanitize
from swdual.text.notebook import Head, Markup, join, text
from swdual.version import __version__

FIELDS: tuple[str, ...] = ()

STATIC_HITS = 50
"""Hits that are shown without the script: the best of each query, then the second, and so on."""

SCRIPTS = (
    *("numbers.js", "alignment.js", "overview.js", "scores.js", "downloads.js", "titles.js"),
    "search.js",
)
STYLES = ("search.css",)


class StaticRow(NamedTuple):
    """A hit as it is shown without the script; those shown first are the smallest."""

    rank: int
    query: int
    cells: tuple[str, ...]


class _Report:
    """Writes a report query by query."""

    def __init__(self, stream: Output, title: str) -> None:
        folder = "swdual.formats", "_html"
        self._page = PageWriter(
            stream, title, read_files(*folder, SCRIPTS), read_files(*folder, STYLES)
        )
        self._queries: dict[str, list[Any]] = {
            name: [] for name in ("id", "title", "length", "hits", "best", "round")
        }
        self._rows: list[StaticRow] = []

    @property
    def hits(self) -> int:
        """Number of hits so far."""
        return sum(self._queries["hits"])

    @property
    def static_hits(self) -> int:
        """Number of hits of the next query that may be shown without the script."""
        full = len(self._rows) == STATIC_HITS
        return self._rows[-1].rank - 1 if full else STATIC_HITS

    def add(
        self,
        query: tuple[str, str, int | None],
        hits: int,
        best: float | None,
        data: dict[str, Any],
        rows: Iterable[tuple[int, tuple[str, ...]]],
        round: int = 0,
    ) -> None:
        """Write the data of a query.

        Parameters
        ----------
        query
            Its identifier, its title, and its length if it is known.
        hits, best
            The number of its hits, and the E-value, or else the score, of the best.
        data
            What the script needs of it.
        rows
            Its best hits, each with its rank, as they are shown without the script.
        round
            The round of an iterated search; else 0.
        """
        number = len(self._queries["id"])
        self._page.add(f"query-{number}", data)
        name, title, length = query
        values = (sanitize(name), sanitize(title), length, hits, best, round)
        for column, value in zip(self._queries.values(), values, strict=True):
            column.append(value)
        own = (StaticRow(rank, number, cells) for rank, cells in rows)
        self._rows = heapq.nsmallest(STATIC_HITS, [*self._rows, *own])

    def finish(
        self,
        place: str,
        search: dict[str, Any],
        facts: dict[str, object],
        sections: Sequence[Markup] = (),
    ) -> None:
        """Write what tells of all queries.

        Parameters
        ----------
        place
            What was searched, or "".
        search
            What the script needs of the search.
        facts
            What was searched and how.
        sections
            What is shown below the facts.
        """
        self._page.add("search", {"queries": self._queries, **search})
        hits = self.hits
        count = len(self._queries["id"])
        title = f"{pluralize(hits, 'hit', 'hits')} of {pluralize(count, 'query', 'queries')}"
        title += f" in {place}" if place else ""
        about = details("About this report", join([definitions(facts), *sections]))
        head = Markup(f"<header><h1>{text(title)}</h1>{about if facts else ''}</header>")
        self._page.finish(join([head, Markup(f'<main id="report">{self._static(hits)}</main>')]))

    def _label(self, number: int) -> str:
        """Return what a query is called, with its round if it has one."""
        name, round = self._queries["id"][number], self._queries["round"][number]
        return f"{name}, round {round}" if round else str(name)

    def _static(self, hits: int) -> Markup:
        """Return the hits that are shown without the script."""
        names = ("score", "bits", "E-value", "identity %", "cover %")
        heads = [
            *(Head("query"), Head("#", "right"), Head("target"), Head("title")),
            *(Head(name, "right") for name in names),
        ]
        shown = sorted(self._rows, key=lambda row: (row.query, row.rank))
        cells = [(self._label(row.query), *row.cells) for row in shown]
        return static_table(f"The best hits, {len(shown):,} of {hits:,}", heads, cells)


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries: see `Format.write`. The layout is fixed."""
    limit = getattr(results, "report_alignments", REPORT_ALIGNMENTS)
    first, queries = peek(results)
    if first is None:
        _Report(stream, "swdual: no queries").finish("", {}, {})
        return
    report = _Report(stream, f"{first.query.id} against {first.targets.name}")
    count = residues = 0
    for result in queries:
        best = result.evalues if result.statistics is not None else result.scores
        rows = ((hit.rank, _cells(hit)) for hit in result.top(report.static_hits))
        report.add(
            (result.query.id, result.query.title, len(result.query)),
            len(result),
            float(best[0]) if len(best) else None,
            _query(result, limit),
            rows,
            result.round,
        )
        count += 1
        residues += len(result.query)
    timing: Timing | None = getattr(results, "timing", None)
    facts = _facts(first, getattr(results, "command", ""))
    facts["Queries"] = _sizes(count, residues)
    search = _search(first, limit)
    found = getattr(results, "found", report.hits)
    if report.hits < found:
        part = f"{report.hits:,} of the {found:,} hits of the search"
        facts["Selection"] = part
        search["filters"] += f"; this report has {part}"
    if timing is not None:
        facts["Time"] = f"{duration(timing.seconds)}, {timing.gcups:.1f} GCUPS"
        facts["Workers"] = ", ".join(timing.timeline.workers)
    report.finish(os.path.basename(first.targets.name), search, facts, _plan(timing))


def write_table(table: Table, stream: Output, *, header: bool) -> None:
    """Write a table: see `TableFormat.write_table`. What the table does not tell is left out.

    The whole table is in memory.
    """
    report = _Report(stream, "swdual: hits of a table")
    translates = [False, False]
    for query in group_rows(table, REPORT_ALIGNMENTS):
        translates = [a or b for a, b in zip(translates, query.translates, strict=True)]
        report.add(
            (query.id, query.title, query.length),
            query.hits,
            query.best,
            query.data,
            _table_rows(query, report.static_hits),
        )
    facts: dict[str, object] = {
        "Program": f"swdual {__version__}, from a table of hits",
        "Fields": " ".join(table.fields),
    }
    search = {"source": "table", "bases": False, "translates": translates}
    search["evaluated"] = "evalue" in table.fields
    report.finish("", {**search, "limit": REPORT_ALIGNMENTS, "alphabet": ""}, facts)


def _table_rows(query: TableQuery, count: int) -> Iterable[tuple[int, tuple[str, ...]]]:
    """Yield the first rows of a query as they are shown without the script.

    Parameters
    ----------
    query, count
        The rows, and how many of them.
    """
    columns = query.data["columns"]

    def show(name: str, row: int, print_value: Any) -> str:
        value = columns[name][row] if name in columns else None
        # Only not-a-number differs from itself; texts have no isnan.
        return "" if value is None or value != value else str(print_value(value))  # noqa: PLR0124

    for row in range(min(count, len(columns["rank"]))):
        name, title = columns["id"][row], columns["title"][row]
        yield (
            columns["rank"][row],
            (
                *(str(columns["rank"][row]), name, description(title)),
                show("score", row, str),
                show("bits", row, print_bits),
                show("evalue", row, print_evalue),
                show("pident", row, "{:.1f}".format),
                show("qcovhsp" if "qcovhsp" in columns else "qcovs", row, print_coverage),
            ),
        )


def _query(result: QueryResult, limit: int) -> dict[str, Any]:
    """Return what the script needs of one query.

    Parameters
    ----------
    result, limit
        The hits, and the number of them whose alignments are told.
    """
    columns: dict[str, list[Any]] = {}
    letters: dict[str, list[str]] = {"cigar": [], "target": []}
    translated = result.params.comparison.query_gencode is not None
    if translated:
        letters["query"] = []
    for piece in result.pieces():
        rows = piece.per_alignment()
        for name, column in _columns(rows).items():
            columns.setdefault(name, []).extend(column)
        for hit in rows[: int(np.searchsorted(rows.ranks, limit, "right"))]:
            alignment = hit.alignment
            (_, query), (_, target) = alignment.read_parts()
            letters["cigar"].append(alignment.cigar)
            letters["target"].append(target)
            if translated:
                letters["query"].append(query)
    found: dict[str, Any] = {"columns": columns, "letters": letters}
    found["before"], found["whole"] = result.query.before, result.query.whole_length
    if not translated:
        found["query"] = result.query.letters
    if isinstance(result.statistics, Fit):
        found["fit"] = {
            "edges": Z_EDGES[1:-1],
            "observed": result.statistics.observed,
            "expected": result.statistics.expected(),
        }
    return found


def _columns(rows: QueryResult) -> dict[str, list[Any]]:
    """Return the columns of a table of alignments. Places are 0-based and half-open."""
    traced = rows.tracebacks.column
    columns: dict[str, Any] = {
        "rank": rows.ranks,
        "id": [sanitize(name) for name in rows.target_ids],
        "title": [sanitize(title) for title in rows.titles],
        "slen": rows.target_lengths,
        "score": rows.scores,
        "qstart": traced("query_starts") + rows.query.before,
        "qend": traced("query_ends") + rows.query.before,
        **{"sstart": traced("target_starts"), "send": traced("target_ends")},
        **{"length": traced("lengths"), "nident": traced("identities")},
        **{"positive": traced("positives"), "gapopen": traced("gap_openings")},
        "gaps": traced("gaps"),
    }
    if rows.statistics is not None:
        columns |= {"bits": rows.bits, "evalue": rows.evalues}
    if rows.params.comparison.translates or rows.params.scheme.matrix.alphabet.complements:
        columns["qframe"], columns["sframe"] = rows.shown_frames
    if rows.targets.has_taxids:
        (columns["organism"],) = hit_columns(
            rows, ["staxids" if rows.targets.taxonomy is None else "sscinames"]
        )
        columns["organism"] = [sanitize(name) for name in columns["organism"]]
    if rows.params.adjusts:
        kinds = (rows.adjustments & ~UNMASKED).tolist()
        columns["method"] = [METHODS.get(kind, "") for kind in kinds]
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in columns.items()}


def _search(first: QueryResult, limit: int) -> dict[str, Any]:
    """Return what the script needs of the search."""
    params, matrix = first.params, first.params.scheme.matrix
    alphabet = matrix.alphabet
    size = len(alphabet.letters)
    return {
        "source": "search",
        "evaluated": first.statistics is not None,
        "bases": bool(alphabet.complements),
        "translates": [
            params.comparison.query_gencode is not None,
            params.comparison.db_gencode is not None,
        ],
        "limit": limit,
        "filters": _filters(first),
        "alphabet": alphabet.letters,
        "complements": alphabet.complements,
        "matrix": matrix.name,
        "scores": matrix.scores[:size, :size],
        "positives": find_positives(matrix)[:size, :size],
    }


def _facts(first: QueryResult, command: str) -> dict[str, object]:
    """Return what was searched, and how, by names.

    Parameters
    ----------
    first
        The result of the first query.
    command
        The command line, or "".
    """
    params, targets, scheme = first.params, first.targets, first.params.scheme
    facts: dict[str, object] = {"Command": command} if command else {}
    facts |= {
        "Program": f"swdual {__version__}, {params.program}",
        "Database": f"{targets.name}: {_sizes(len(targets), targets.residues)}",
        "Database digest": targets.content_digest,
        "Scoring": f"{scheme.matrix.name}, gap open {scheme.gap_open}, extend {scheme.gap_extend}",
        "Statistics": _statistics(first),
        "Composition": params.composition,
        "Translation": params.translation,
        "Targets": params.chosen_targets,
        "Part of queries": params.query_loc,
        "Masks": _masks(first),
        "Filters": _filters(first),
    }
    return {name: value for name, value in facts.items() if value}


def _sizes(sequences: int, residues: int) -> str:
    return (
        f"{pluralize(sequences, 'sequence', 'sequences')}, "
        f"{pluralize(residues, 'residue', 'residues')}"
    )


def _statistics(first: QueryResult) -> str:
    """Return what the E-values rest on."""
    if first.statistics is None:
        return "none"
    if isinstance(first.statistics, Fit):
        return "fitted to the scores of all targets, for each query"
    facts = first.statistics.facts()
    numbers = ", ".join(f"{name} {facts[name]:.4g}" for name in ("lambda", "K", "H"))
    return f"{numbers} of the scoring scheme"


def _masks(first: QueryResult) -> str:
    """Return what was masked, or ""."""
    params = first.params
    masks = {
        "queries by": params.mask,
        "targets by": params.db_hard_mask,
        "targets softly by": params.db_soft_mask,
    }
    parts = [f"{side} {mask}" for side, mask in masks.items() if mask != "none"]
    return ", ".join([*parts, *(["queries where in lower case"] * params.lcase_masking)])


def _filters(first: QueryResult) -> str:
    """Return which hits are reported."""
    params = first.params
    parts = []
    if first.statistics is not None:
        parts.append(f"E-value at most {params.evalue:g}")
    if params.max_target_seqs:
        parts.append(f"at most {pluralize(params.max_target_seqs, 'hit', 'hits')} of a query")
    if params.max_hsps != 1:
        most = f"at most {params.max_hsps}" if params.max_hsps else "all"
        parts.append(f"{most} alignments of a hit")
    if params.top is not None:
        parts.append(f"raw score at most {params.top:g} % below the best")
    if params.min_raw_score > 1:
        parts.append(f"raw score at least {params.min_raw_score}")
    if params.min_score:
        parts.append(f"bit score at least {params.min_score:g}")
    for name in ALIGNMENT_FILTERS:
        limit, percent = getattr(params, name), " in %" * (OPTIONS[name].maximum == 100)
        if limit:
            words = name.removeprefix("min_").replace("_", " ")
            parts.append(f"{words}{percent} at least {limit:g}")
    return ", ".join(parts)


def _plan(timing: Timing | None) -> list[Markup]:
    """Return the plan and the activities of the workers as bars."""
    if timing is None or not len(timing.timeline):
        return []
    return [Markup(f'<div class="plan">{svg(timing.panels())}</div>')]


def _cells(hit: Hit) -> tuple[str, ...]:
    """Return a hit as it is shown without the script."""
    return (
        *(str(hit.rank), hit.id, description(hit.title), str(hit.score)),
        "" if hit.bits is None else print_bits(hit.bits),
        "" if hit.evalue is None else print_evalue(hit.evalue),
        f"{100 * hit.identity:.1f}" if hit.length else "",
        print_coverage(100 * hit.query_coverage),
    )
