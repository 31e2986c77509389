"""What a format of traces is asked for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from swdual.errors import InputError
from swdual.io.stream import Source, read_text, source_name
from swdual.scheduling.workload.trace import Trace

Columns = Mapping[str, str] | str | None
"""Which column of a table holds which field, or the name of a preset; None: as the header says."""


@dataclass(frozen=True)
class TraceFormat:
    """A format of traces.

    Parameters
    ----------
    name
        What users call it.
    what
        What a file of it is, for messages.
    begins
        Returns whether a file that begins with these bytes, unpacked, is of this format.
    read
        Returns the trace in a file; only tables take columns.
    """

    name: str
    what: str
    begins: Callable[[bytes], object]
    read: Callable[[Source, Columns], Trace]


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises
    ------
    InputError
        If it cannot be read, or is no JSON object with a list of jobs.
    """
    with read_text(path) as parts:
        try:
            content = json.loads(b"".join(parts))
        except (ValueError, RecursionError) as error:
            raise InputError(f"is not JSON: {error}", file=source_name(path)) from error
    if not isinstance(content, dict) or not isinstance(content.get("jobs"), list):
        raise InputError("has no list of jobs; is this a workload?", file=source_name(path))
    return content
