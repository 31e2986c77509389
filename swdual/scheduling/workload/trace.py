"""Recorded workloads as they stand in their file: 18 fields a line, whatever is in them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

FIELDS = (
    *("number", "submit_time", "wait_time", "run_time", "allocated_processors", "cpu_time"),
    *("memory", "requested_processors", "requested_time", "requested_memory", "status", "user"),
    *("group", "executable", "queue", "partition", "preceding_job", "think_time"),
)
"""The fields of a line of the Standard Workload Format, version 2.2, in their order."""

MEASURED = frozenset(
    {
        *("submit_time", "wait_time", "run_time", "cpu_time", "memory", "requested_time"),
        *("requested_memory", "think_time"),
    }
)
"""The fields that may hold a fraction. All others count or name something."""

MISSING = -1
"""What stands in a field that is not known."""

EXTRA = {"nodes": -1, "gpus": -1, "exclusive": -1, "power": math.nan}
"""Columns that other formats have, and what stands for unknown: nodes requested, GPUs of the whole
job, 1 for a job that takes whole nodes, mean watts of the whole job."""

FACTS = ("job_memory", "running")
"""What only the rules for repairs use: KB of the whole job, and whether it was still running when
the trace was written."""

NAMED = {
    **{"user": "User", "group": "Group", "executable": "Executable"},
    **{"queue": "Queue", "partition": "Partition"},
}
"""The fields whose numbers stand for names, and the labels of headers that tell them."""

HEADER_NUMBERS = ("MaxProcs", "MaxNodes", "UnixStartTime")
"""The labels of the header whose numbers are used."""

MAX_VALUE = 1e15
"""The largest number of a field: times up to here add up without rounding."""


def is_known(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return (jobs,) whether the entries of a column of names are known: numbers from 0, texts."""
    return column >= 0 if column.dtype.kind in "iuf" else np.ones(len(column), np.bool_)


def parse_label(comment: str, label: str) -> int | None:
    """Return the whole number above 0 that begins the text after a label, if the comment has it.

    Words may follow it. What goes on as a number, such as 1e3 or 4 096, is none.

    Parameters
    ----------
    comment, label
        A line of the header, and the label to look for.

    >>> parse_label("; MaxProcs: 1,024 (all)", "MaxProcs")
    1024
    """
    found = re.match(
        rf"[;\s]*{re.escape(label)}\s*:\s*([0-9][0-9,]{{0,17}})(?:\.0*)?"
        r"(?:\s*$|\s+[^\s0-9]|\s*[(;])",
        comment,
        re.IGNORECASE,
    )
    return int(found[1].replace(",", "")) or None if found else None


@dataclass(frozen=True, eq=False)
class Trace:
    """The lines of a trace, in the order of the file, damage included.

    Parameters
    ----------
    values
        (jobs, 18) the fields of each job line.
    header
        The comments before the first job line, each with its ``;``.
    name
        What to call the trace.
    source
        The file it comes from.
    lines
        (jobs,) the line of each job in the file, from 1.
    extra
        (jobs,) further columns by name: those of `EXTRA`, and others that a file has.
    names
        What numbers of users, queues and the like stand for: ``names[field][k - 1]`` is the name of
        number k.
    facts
        (jobs,) some of `FACTS` by name.
    """

    values: NDArray[np.float64]
    header: tuple[str, ...] = ()
    name: str = "trace"
    source: str | None = None
    lines: NDArray[np.int64] | None = None
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    facts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        return self.values[:, FIELDS.index(name)]

    def __repr__(self) -> str:
        return f"<Trace {self.name}: {len(self):,} jobs>"

    @property
    def machine_processors(self) -> int | None:
        """The size of the machine by the header, None if it says nothing.

        ``MaxProcs`` is left out of headers where each node has one processor; then ``MaxNodes``
        says the same.
        """
        found = self.header_number("MaxProcs")
        return self.header_number("MaxNodes") if found is None else found

    def header_number(self, label: str) -> int | None:
        """Return the first number above 0 after a label of the header: see `parse_label`.

        >>> trace = Trace(np.empty((0, 18)), header=("; MaxNodes: 338 (batch; 512 total)",))
        >>> trace.header_number("MaxNodes")
        338
        """
        numbers = (parse_label(comment, label) for comment in self.header)
        return next((number for number in numbers if number), None)
