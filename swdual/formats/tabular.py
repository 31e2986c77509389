"""BLAST's format 6: one line a hit, fields separated by tabs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swdual.format import Value, columns
from swdual.master.results import QueryResult
from swdual.output import Text


def write(
    results: Iterable[QueryResult], stream: Text, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries; a tab inside a header line becomes a space."""
    if header:
        stream.write("\t".join(fields) + "\n")
    for found in results:
        rows = zip(*map(_as_text, columns(found, fields)), strict=True)
        stream.write("".join("\t".join(row) + "\n" for row in rows))


def _as_text(column: Sequence[Value]) -> list[str]:
    return [value.replace("\t", " ") if isinstance(value, str) else str(value) for value in column]
