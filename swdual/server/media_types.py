"""The media type of each output format, and which format a client accepts."""

from __future__ import annotations

from swdual.errors import InputError

MEDIA_TYPES = {
    "tabular": "text/tab-separated-values",
    "csv": "text/csv",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "arrow": "application/vnd.apache.arrow.file",
    "parquet": "application/vnd.apache.parquet",
    "npz": "application/x-npz",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml",
    "pairwise": "text/plain",
    "commented": "text/plain",
    "sam": "text/x-sam",
    "paf": "text/x-paf",
    "html": "text/html",
    "lca": "text/tab-separated-values",
}
"""The media type of each format; of those that share one, the first stands for it."""


class NotAcceptable(InputError):
    """A client that accepts no media type of the format."""


def negotiate(accept: str, name: str | None) -> str:
    """Return the format to answer in.

    Parameters
    ----------
    accept
        The header Accept; "" accepts everything.
    name
        The format that the request names, if any.

    Raises
    ------
    NotAcceptable
        If the client accepts no format, or not the one that it names.

    >>> negotiate("text/html;q=0.5, text/csv", None), negotiate("*/*", None)
    ('csv', 'tabular')
    """
    weights = _read(accept)
    offered = [*MEDIA_TYPES] if name is None else [name]
    best = max(offered, key=lambda each: _weight(MEDIA_TYPES[each], weights))
    if _weight(MEDIA_TYPES[best], weights) > 0:
        return best
    there = ", ".join(dict.fromkeys(MEDIA_TYPES[each] for each in offered))
    raise NotAcceptable(f"the header Accept allows none of {there}")


def _read(accept: str) -> dict[str, float]:
    """Return the weight of each media range of a header."""
    weights = {}
    for part in accept.split(","):
        kind, *parameters = (word.strip().lower() for word in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 0.0
        if kind:
            weights[kind] = weight
    return weights or {"*/*": 1.0}


def _weight(media_type: str, weights: dict[str, float]) -> float:
    """Return the weight of the most specific range that holds a media type."""
    ranges = (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
    return next((weights[each] for each in ranges if each in weights), 0.0)
