"""A report to look at: one HTML file, with tables to filter and alignments to read.

The data of each query are written before the next query is asked for. What tells of all queries
comes last.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracebacks import find_positives
from swdual.composition.adjuster import UNMASKED
from swdual.format import print_bits, print_evalue
from swdual.formats._header import peek
from swdual.formats.pairwise import METHODS
from swdual.hits.hit import Hit
from swdual.hits.query_result import QueryResult
from swdual.io.notebook import Head, Markup, join, text
from swdual.io.output import Output
from swdual.io.text import duration, pluralize, sanitize
from swdual.planning.gantt import svg
from swdual.planning.timing import Timing
from swdual.report.elements import definitions, details, static_table
from swdual.report.page import PageWriter, read_files
from swdual.sequences.sequence import description
from swdual.statistics.fit import Z_EDGES, Fit
from swdual.version import __version__

FIELDS: tuple[str, ...] = ()

MAX_ALIGNED_HITS = 500
"""Hits of a query whose alignments the report holds, unless another number is asked for."""

STATIC_HITS = 50
"""Hits that are shown without the script: the best of each query, then the second, and so on."""

SCRIPTS = (
    *("numbers.js", "alignment.js", "overview.js", "scores.js", "downloads.js", "links.js"),
    "search.js",
)
STYLES = ("search.css",)


class StaticRow(NamedTuple):
    """A hit as it is shown without the script."""

    rank: int
    query: int
    cells: tuple[str, ...]


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries: see `Format.write`. The layout is fixed.

    What is known of the run is shown, too: see `swdual.format.Run`.
    """
    source = results
    first, results = peek(results)
    if first is None:
        page = PageWriter(stream, "swdual report", *_assets())
        page.add("search", {"queries": {"id": []}})
        page.finish(join([_head("No queries", {})]))
        return
    name = first.targets.name
    page = PageWriter(stream, f"{first.query.id} and others against {name}", *_assets())
    queries: dict[str, list[Any]] = {key: [] for key in ("id", "title", "length", "hits", "best")}
    static: list[StaticRow] = []
    limit = MAX_ALIGNED_HITS
    residues = total = 0
    for number, result in enumerate(results):
        page.add(f"query-{number}", _query(result, limit))
        best = result.evalues[:1] if result.statistics is not None else result.scores[:1]
        queries["id"].append(sanitize(result.query.id))
        queries["title"].append(sanitize(result.query.title))
        queries["length"].append(len(result.query))
        queries["hits"].append(len(result))
        queries["best"].append(best[0] if len(best) else None)
        rows = (StaticRow(hit.rank, number, _cells(hit)) for hit in result.top(STATIC_HITS))
        static = heapq.nsmallest(STATIC_HITS, [*static, *rows])
        residues += len(result.query)
        total += len(result)
    page.add("search", _search(first, queries, limit))
    sizes = {
        "Queries": f"{pluralize(len(queries['id']), 'sequence', 'sequences')}, "
        f"{pluralize(residues, 'residue', 'residues')}",
        "Hits": f"{total:,}",
    }
    timing = getattr(source, "timing", None)
    title = (
        f"{pluralize(total, 'hit', 'hits')} of {pluralize(len(queries['id']), 'query', 'queries')}"
    )
    head = _head(title, _facts(first) | sizes | _time(timing))
    page.finish(join([head, _plan(timing), _static(first, static, queries, total)]))


def _assets() -> tuple[list[str], list[str]]:
    folder = "swdual.formats", "_html"
    return read_files(*folder, SCRIPTS), read_files(*folder, STYLES)


def _query(result: QueryResult, limit: int) -> dict[str, Any]:
    """Return what the script needs of one query.

    Parameters
    ----------
    result, limit
        The hits, and the number of them whose alignments are told.
    """
    columns: dict[str, list[Any]] = {}
    letters: dict[str, list[str]] = {"cigar": [], "target": []}
    if result.params.translates:
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
            if "query" in letters:
                letters["query"].append(query)
    found: dict[str, Any] = {"columns": columns, "letters": letters}
    if not result.params.translates:
        found["query"] = result.query.letters
    if isinstance(result.statistics, Fit):
        found["fit"] = {
            "edges": Z_EDGES[1:-1],
            "observed": result.statistics.observed,
            "expected": result.statistics.expected(),
        }
    return found


def _columns(rows: QueryResult) -> dict[str, Sequence[Any] | NDArray[Any]]:
    """Return the columns of a table of alignments. Places are 0-based and half-open."""
    traced = rows.tracebacks.column
    columns: dict[str, Any] = {
        "rank": rows.ranks,
        "id": [sanitize(name) for name in rows.target_ids],
        "title": [sanitize(title) for title in rows.titles],
        "slen": rows.target_lengths,
        "score": rows.scores,
        **{"qstart": traced("query_starts"), "qend": traced("query_ends")},
        **{"sstart": traced("target_starts"), "send": traced("target_ends")},
        **{"length": traced("lengths"), "nident": traced("identities")},
        **{"positive": traced("positives"), "gapopen": traced("gap_openings")},
        "gaps": traced("gaps"),
    }
    if rows.statistics is not None:
        columns |= {"bits": rows.bits, "evalue": rows.evalues}
    if rows.params.translates or rows.params.scheme.matrix.alphabet.complements:
        columns["qframe"], columns["sframe"] = rows.shown_frames
    if rows.params.adjusts:
        columns["method"] = [METHODS.get(int(kind) & ~UNMASKED, "") for kind in rows.adjustments]
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in columns.items()}


def _search(first: QueryResult, queries: dict[str, list[Any]], limit: int) -> dict[str, Any]:
    """Return what the script needs of the search."""
    params, alphabet = first.params, first.params.scheme.matrix.alphabet
    matrix = params.scheme.matrix
    size = len(alphabet.letters)
    return {
        "queries": queries,
        "bases": bool(alphabet.complements),
        "translates": [params.query_gencode is not None, params.db_gencode is not None],
        "evaluated": first.statistics is not None,
        "limit": limit,
        "alphabet": alphabet.letters,
        "complements": alphabet.complements,
        "matrix": matrix.name,
        "scores": matrix.scores[:size, :size],
        "positives": find_positives(matrix)[:size, :size],
    }


def _facts(result: QueryResult) -> dict[str, object]:
    """Return what was searched, and how, by names."""
    params, targets, scheme = result.params, result.targets, result.params.scheme
    facts: dict[str, object] = {
        "Program": f"swdual {__version__}, {params.program}",
        "Database": f"{targets.name}, {pluralize(len(targets), 'sequence', 'sequences')}, "
        f"{pluralize(targets.residues, 'residue', 'residues')}",
        "Scoring": f"{scheme.matrix.name}, gap costs {scheme.gap_open} and {scheme.gap_extend}",
        "Statistics": _statistics(result),
    }
    if params.composition:
        facts["Composition"] = params.composition
    if params.translation:
        facts["Translation"] = params.translation
    return facts


def _statistics(result: QueryResult) -> str:
    """Return what the E-values rest on."""
    if result.statistics is None:
        return "none"
    facts = result.statistics.facts()
    if isinstance(result.statistics, Fit):
        return "fit to the scores of all targets, for each query"
    names = ", ".join(f"{name} {facts[name]:.4g}" for name in ("lambda", "K", "H"))
    return f"table of the scoring scheme: {names}"


def _time(timing: Timing | None) -> dict[str, object]:
    if timing is None:
        return {}
    workers = ", ".join(timing.timeline.workers)
    return {"Time": f"{duration(timing.seconds)}, {timing.gcups:.1f} GCUPS; {workers}"}


def _head(title: str, facts: dict[str, object]) -> Markup:
    about = details("About this search", definitions(facts)) if facts else Markup("")
    return Markup(f"<header><h1>{text(title)}</h1>{about}</header>")


def _plan(timing: Timing | None) -> Markup:
    if timing is None or not len(timing.timeline):
        return Markup("")
    return details("Plan and time of the workers", Markup(svg(timing.panels())))


def _cells(hit: Hit) -> tuple[str, ...]:
    """Return a hit as the static table shows it."""
    worth = (
        ("", "")
        if hit.bits is None or hit.evalue is None
        else (print_bits(hit.bits), print_evalue(hit.evalue))
    )
    return (
        str(hit.rank),
        hit.id,
        description(hit.title),
        str(hit.score),
        *worth,
        f"{100 * hit.identity:.1f}",
        f"{100 * hit.query_coverage:.0f}",
    )


def _static(
    first: QueryResult, rows: list[StaticRow], queries: dict[str, list[Any]], total: int
) -> Markup:
    """Return the hits that are shown without the script."""
    heads = [
        *(Head("query"), Head("#", "right"), Head("target"), Head("title")),
        *(Head(name, "right") for name in ("score", "bits", "E-value", "identity %", "cover %")),
    ]
    shown = sorted(rows, key=lambda row: (row.query, row.rank))
    cells = [(queries["id"][row.query], *row.cells) for row in shown]
    caption = f"The best hits of each query: {len(rows)} of {total:,}"
    return Markup(f'<main id="report">{static_table(caption, heads, cells)}</main>')
