"""Comma-separated values (RFC 4180 quoting, Unix line ends); BLAST's format 10."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence

from swdual.format import columns
from swdual.master.results import QueryResult
from swdual.output import Text


def write(
    results: Iterable[QueryResult], stream: Text, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries."""
    writer = csv.writer(stream, lineterminator="\n")
    if header:
        writer.writerow(fields)
    for found in results:
        writer.writerows(zip(*columns(found, fields), strict=True))
