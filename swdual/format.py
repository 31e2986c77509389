"""How results are shown: the fields of a hit, and what every format offers.

A module in ``swdual.formats`` has ``write(results, stream, fields, header)``, and is chosen by its
name or by BLAST's number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, cast

from swdual import registry
from swdual.errors import InputError
from swdual.master.results import QueryResult
from swdual.output import Text
from swdual.sequences.sequence import first_word

Value = str | int


FIELDS: dict[str, Callable[[QueryResult], Sequence[Value]]] = {
    "qseqid": lambda found: [found.query.id] * len(found),
    "sseqid": lambda found: [first_word(title) for title in found.titles],
    "score": lambda found: found.scores.tolist(),
    "qlen": lambda found: [len(found.query.codes)] * len(found),
    "slen": lambda found: found.target_lengths.tolist(),
    "qtitle": lambda found: [found.query.title] * len(found),
    "stitle": lambda found: found.titles,
    "qnum": lambda found: [found.number + 1] * len(found),
    "snum": lambda found: (found.ordinals + 1).tolist(),
    "rank": lambda found: range(1, len(found) + 1),
}
"""The column of each field: identifiers, raw score, lengths, header lines, the places of query
and target in their files (from 1), and the hit's place among the query's hits (from 1)."""

DEFAULT_FIELDS = ("qseqid", "sseqid", "score", "qlen", "slen")
NUMBERS = {"6": "tabular", "10": "csv"}
"""BLAST's numbers of the formats."""


class Format(Protocol):
    """A module in ``swdual.formats``."""

    def write(
        self,
        results: Iterable[QueryResult],
        stream: Text,
        fields: Sequence[str],
        *,
        header: bool,
    ) -> None:
        """Write the hits of all queries, the names of the fields first if `header`."""
        ...


def parse_format(text: str) -> tuple[Format, tuple[str, ...]]:
    """Return the format and the fields that ``-f`` names, such as "6 qseqid sseqid score".

    Raises
    ------
    InputError
        If there is no such format or field; the message names the nearest.

    >>> parse_format("6 qseqid score")[1]
    ('qseqid', 'score')
    """
    name, *fields = text.split() or [""]
    known = registry.available("swdual.formats")
    if NUMBERS.get(name, name) not in known:
        raise InputError(registry.unknown("format", name, [*NUMBERS, *known]))
    module = registry.load("swdual.formats", NUMBERS.get(name, name))
    for field in fields:
        if field not in FIELDS:
            raise InputError(registry.unknown("field", field, FIELDS))
    return cast(Format, module), tuple(fields) or DEFAULT_FIELDS


def columns(found: QueryResult, fields: Sequence[str]) -> list[Sequence[Value]]:
    """Return the columns of some fields for the hits of one query."""
    return [FIELDS[field](found) for field in fields]
