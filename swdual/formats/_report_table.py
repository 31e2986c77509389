"""Rows of a table, grouped by query as a report shows them. Others may have written the table."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from swdual.format import Table
from swdual.formats._text import QUERY_IDS, TARGET_IDS
from swdual.text.messages import sanitize

TITLES = ("stitle", "salltitles")
"""Fields that tell the same: the first that is there is taken."""

COLUMNS = {
    **{"slen": "slen", "score": "score", "bitscore": "bits", "evalue": "evalue"},
    **{"length": "length", "nident": "nident", "mismatch": "mismatch", "positive": "positive"},
    **{"gapopen": "gapopen", "gaps": "gaps", "pident": "pident", "qcovhsp": "qcovhsp"},
    "qcovs": "qcovs",
}
"""Fields of tables, and what the script calls them."""

ORGANISMS = ("sscinames", "ssciname", "staxids", "staxid")
"""Fields that tell the organism of a target: the first that is there is taken."""

ROW_FIELDS = (("qseq", "sseq"), ("qseq_gapped", "sseq_gapped"))
"""Pairs of fields with the rows of an alignment."""

_OPERATIONS = re.compile(r"(\d+)([MID\\/])")


@dataclass(frozen=True)
class TableQuery:
    """The rows of a query.

    Parameters
    ----------
    id, title, length
        Those of the query; the length may be unknown.
    hits
        Number of targets.
    best
        E-value, or else score, of the first row, if it is known.
    data
        What the script needs.
    translates
        Whether queries, and targets, are nucleotides that were translated, as far as places and
        letters show it.
    """

    id: str
    title: str
    length: int | None
    hits: int
    best: float | None
    data: dict[str, Any]
    translates: tuple[bool, bool]


def group_rows(table: Table, limit: int) -> Iterator[TableQuery]:
    """Yield the rows of each query, in the order in which queries first appear.

    Queries without hits come last, as far as the table tells of them.

    Parameters
    ----------
    table
        The table.
    limit
        Number of hits of a query whose alignments are told.
    """
    columns = table.collect()
    size = len(next(iter(columns.values()), []))
    names = _choose(columns, QUERY_IDS, size)
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    for name, own in rows.items():
        yield _make_query(name, {key: [x[k] for k in own] for key, x in columns.items()}, limit)
    for name in table.without_hits:
        nothing: dict[str, Any] = {"rank": [], "id": [], "title": []}
        letters: dict[str, Any] = {"cigar": [], "query": [], "target": []}
        data = {"columns": nothing, "letters": letters}
        yield TableQuery(name, name, None, 0, None, data, (False, False))


def _choose(columns: dict[str, list[Any]], names: tuple[str, ...], size: int) -> list[str]:
    """Return the first of some columns that is there, or empty texts."""
    return next((columns[name] for name in names if name in columns), [""] * size)


def _make_query(name: str, columns: dict[str, list[Any]], limit: int) -> TableQuery:
    """Return the rows of one query.

    Parameters
    ----------
    name
        The query.
    columns
        Its rows, by fields.
    limit
        As for `group_rows`.
    """
    size = len(next(iter(columns.values())))
    ids = _choose(columns, TARGET_IDS, size)
    titles = _choose(columns, TITLES, size)
    found: dict[str, list[Any]] = {
        "rank": columns["rank"] if "rank" in columns else _number_targets(ids),
        "id": [sanitize(each) for each in ids],
        "title": [sanitize(_join(*pair)) for pair in zip(ids, titles, strict=True)],
    }
    found |= {ours: columns[field] for field, ours in COLUMNS.items() if field in columns}
    organisms = _choose(columns, ORGANISMS, 0)
    if organisms:
        found["organism"] = [sanitize(each) for each in organisms]
    for side in "qs":
        found |= _place(columns, side)
    length = columns["qlen"][0] if "qlen" in columns else None
    if length and "qcovhsp" not in found and "qstart" in found:
        pairs = zip(found["qstart"], found["qend"], strict=True)
        found["qcovhsp"] = [100 * (end - start) / length for start, end in pairs]
    letters = _read_letters(columns, int(np.searchsorted(found["rank"], limit, "right")))
    data = {"columns": found, "letters": letters}
    best = next((found[key][0] for key in ("evalue", "bits", "score") if key in found), None)
    known = None if best is None or math.isnan(best) else float(best)
    title = columns["qtitle"][0] if "qtitle" in columns else name
    translates = (
        _is_translated(found, letters, "query"),
        _is_translated(found, letters, "target"),
    )
    return TableQuery(name, title, length, len(set(found["rank"])), known, data, translates)


def _join(name: str, title: str) -> str:
    """Return the header line of a target; BLAST's `stitle` may lack the identifier.

    >>> _join("t1", "t1 one"), _join("t1", "one"), _join("t1", "")
    ('t1 one', 't1 one', 't1')
    """
    return title if title.split(maxsplit=1)[:1] == [name] else f"{name} {title}".rstrip()


def _number_targets(ids: list[str]) -> list[int]:
    """Return the rank of each row: rows of one target that follow each other share it.

    >>> _number_targets(["a", "a", "b"])
    [1, 1, 2]
    """
    return [rank for rank, (_, rows) in enumerate(itertools.groupby(ids), start=1) for _ in rows]


def _place(columns: dict[str, list[Any]], side: str) -> dict[str, list[int]]:
    """Return 0-based, half-open places of a side, and its frames if any place falls."""
    start, end = f"{side}start", f"{side}end"
    if start not in columns or end not in columns:
        return {}
    pairs = list(zip(columns[start], columns[end], strict=True))
    found = {
        start: [min(pair) - 1 for pair in pairs],
        end: [max(pair) for pair in pairs],
    }
    if f"{side}frame" in columns:
        found[f"{side}frame"] = columns[f"{side}frame"]
    elif any(first > last for first, last in pairs):
        found[f"{side}frame"] = [-1 if first > last else 1 for first, last in pairs]
    return found


def _read_letters(columns: dict[str, list[Any]], count: int) -> dict[str, list[str]]:
    """Return operations and letters of the first alignments, as far as the table tells them.

    Letters are told by rows with gaps, or by rows without them beside operations.
    """
    letters: dict[str, list[str]] = {"cigar": [], "query": [], "target": []}
    pair = next((names for names in ROW_FIELDS if {*names} <= {*columns}), None)
    if pair is None:
        return letters
    cigars = columns["cigar"] if "cigar" in columns else [""] * count
    # The first `count` rows of columns that are longer.
    for query, target, cigar in zip(columns[pair[0]][:count], columns[pair[1]], cigars):  # noqa: B905
        told = cigar or _find_operations(query, target)
        bare = re.sub(r"[-\\/]", "", query), target.replace("-", "")
        if told is None or not _fits(told, *bare):
            return {"cigar": [], "query": [], "target": []}
        for column, value in zip(letters.values(), (told, *map(sanitize, bare)), strict=True):
            column.append(value)
    return letters


def _find_operations(query: str, target: str) -> str | None:
    r"""Return the operations of two rows, or None if they are no rows of one alignment.

    >>> _find_operations("MK-V\\L", "MKAV-L")
    '2M1D1M1\\1M'
    """
    if len(query) != len(target):
        return None
    kinds = [
        a if a in "\\/" else "D" if a == "-" else "I" if b == "-" else "M"
        for a, b in zip(query, target, strict=True)
    ]
    return "".join(f"{len([*run])}{kind}" for kind, run in itertools.groupby(kinds))


def _fits(cigar: str, query: str, target: str) -> bool:
    """Return whether operations use up the letters of both sides."""
    counts = dict.fromkeys("MID\\/", 0)
    for count, kind in _OPERATIONS.findall(cigar):
        counts[kind] += int(count)
    matched = counts["M"]
    return matched + counts["I"] == len(query) and matched + counts["D"] == len(target)


def _is_translated(columns: dict[str, list[Any]], letters: dict[str, list[str]], side: str) -> bool:
    """Return whether an aligned part takes three places for each letter."""
    start, end = {"query": ("qstart", "qend"), "target": ("sstart", "send")}[side]
    if not letters[side] or start not in columns:
        return False
    span = columns[end][0] - columns[start][0]
    return bool(span > 2 * len(letters[side][0]) > 0)
