"""How hits look in a notebook: a table of the best of each query, and one hit with its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from swdual.alignment.alignment import TITLE_WIDTH, Alignment
from swdual.composition.adjusted import describe_adjustment
from swdual.hits.columns import HitColumns
from swdual.sequences.sequence import description, first_word
from swdual.text.messages import pluralize
from swdual.text.notebook import (
    Group,
    Head,
    Markup,
    cut,
    extent,
    facts,
    faint,
    join,
    paragraph,
    strong,
    table,
    text,
)

ID_WIDTH, ABOUT_WIDTH = 36, 46
"""Letters of an identifier and of a title that a table shows."""


def hits_table(results: Iterable[HitColumns], count: int) -> Markup:
    """Return a table of the best hits of each query, under the query's name.

    Parameters
    ----------
    results
        The hits of each query.
    count
        Maximum number of hits of a query.
    """
    shown = list(results)
    if not any(map(len, shown)):
        return join(paragraph(query_line(result, 0)) for result in shown)
    evaluated = any(result.statistics is not None for result in shown)
    worth = ("E-value", "bits") if evaluated else ("score",)
    heads = [
        Head("", "right"),
        Head("target"),
        *(Head(name, "right") for name in (*worth, "identity")),
        Head("aligned part of the query"),
        Head("title"),
    ]
    groups = [
        Group(query_line(result, min(count, len(result))), _rows(result.top(count), evaluated))
        for result in shown
    ]
    return table(heads, groups)


def query_line(result: HitColumns, shown: int) -> Markup:
    """Return the query's name, its length, and its number of hits.

    Parameters
    ----------
    result
        The hits of the query.
    shown
        Number of hits that are shown below.
    """
    hits = pluralize(len(result), "hit", "hits")
    if not len(result):
        limit = f" with an E-value of at most {result.params.evalue:g}"
        hits = f"no hits{limit if result.statistics is not None else ''}"
    if shown < len(result):
        hits = f"best {shown} of {len(result):,} hits"
    size = f" · {pluralize(len(result.query), 'residue', 'residues')} · {hits}"
    about = description(result.query.title)
    parts = [strong(result.query.id), *([cut(about, TITLE_WIDTH)] if about else [])]
    return Markup(f"{join(parts, ' ')}{faint(size)}")


def _rows(result: HitColumns, evaluated: bool) -> list[list[Markup]]:
    """Return a row for each hit; it needs no sequences of targets."""
    column = result.tracebacks.column
    length = max(1, len(result.query))
    rows = []
    for k, title in enumerate(result.titles):
        if evaluated:
            worth = [format_evalue(result.log_evalues[k]), f"{result.bits[k]:.1f}"]
        else:
            worth = [str(result.scores[k])]
        columns = int(column("lengths")[k])
        identity = f"{100 * column('identities')[k] / columns:.0f} %" if columns else ""
        part = extent(column("query_starts")[k] / length, column("query_ends")[k] / length)
        rows.append(
            [
                faint(result.before + k + 1),
                cut(first_word(title), ID_WIDTH),
                *map(text, (*worth, identity)),
                part if columns else Markup(""),
                cut(description(title), ABOUT_WIDTH),
            ]
        )
    return rows


def hit_page(
    alignments: Sequence[Alignment], rank: int, log_evalue: float, adjustment: int | None
) -> Markup:
    """Return what a notebook shows of one hit: names, numbers and the alignments.

    Parameters
    ----------
    alignments
        Those of the hit, best first.
    rank
        Its rank among the hits of the query, from 1.
    log_evalue
        Natural logarithm of its E-value; not-a-number without statistics.
    adjustment
        How its score was adjusted for composition; None if scores are plain.
    """
    best, *others = alignments
    worth: dict[str, object] = {}
    if not math.isnan(log_evalue):
        worth = {"E-value": format_evalue(log_evalue), "bits": f"{best.bits:.1f}"}
    if adjustment is not None:
        worth["matrix"] = describe_adjustment(adjustment)
    pages = [best.page("query", f"hit {rank}", worth)]
    for number, each in enumerate(others, start=2):
        worth = {"alignment": number}
        if each.evalue is not None:
            worth |= {"E-value": f"{each.evalue:.2g}", "bits": f"{each.bits:.1f}"}
        pages.append(join((facts(worth | each.facts()), each.colour_rows())))
    return join(pages)


def format_evalue(log_evalue: float) -> str:
    """Return an E-value as text, given its natural logarithm; it may be too small for a float.

    >>> format_evalue(math.log(0.25)), format_evalue(math.log(3.21e-40)), format_evalue(-1000.0)
    ('0.25', '3.2e-40', '5.1e-435')
    """
    if math.isnan(log_evalue):
        return ""
    if log_evalue > -700:
        return f"{math.exp(log_evalue):.2g}"
    exponent = math.floor(log_evalue / math.log(10))
    digits, _, more = f"{math.exp(log_evalue - exponent * math.log(10)):.1e}".partition("e")
    return f"{digits}e{exponent + int(more)}"
