"""What a format of traces is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO

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
        Returns the trace in an open file, unpacked, of a name; only tables take columns.
    """

    name: str
    what: str
    begins: Callable[[bytes], object]
    read: Callable[[IO[bytes], str, Columns], Trace]
