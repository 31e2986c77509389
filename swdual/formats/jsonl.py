"""JSON Lines: one object a hit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from swdual.format import columns
from swdual.master.results import QueryResult
from swdual.output import Text


def write(
    results: Iterable[QueryResult], stream: Text, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries; every object names its fields, so `header` adds nothing."""
    for found in results:
        for row in zip(*columns(found, fields), strict=True):
            stream.write(json.dumps(dict(zip(fields, row, strict=True))) + "\n")
