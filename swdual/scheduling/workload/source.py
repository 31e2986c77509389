"""Workloads from what users give: a workload, or the path of a trace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from swdual.errors import InputError
from swdual.scheduling.workload.formats import read_workload
from swdual.scheduling.workload.workload import Workload

WorkloadSource = Workload | str | os.PathLike[str]
"""A workload, or the path of a trace, which is repaired by the standard rules."""


def as_workload(source: WorkloadSource) -> Workload:
    """Return a workload, or read the one of a trace.

    Raises
    ------
    InputError
        If it is neither, or `read_workload` says so.
    """
    if isinstance(source, Workload):
        return source
    if isinstance(source, (str, os.PathLike)):
        return read_workload(source)
    raise InputError(
        f"{type(source).__name__} is no workload; give a Workload, such as Workload.from_arrays "
        "makes it, or the path of a trace"
    )


def as_workloads(source: WorkloadSource | Iterable[WorkloadSource]) -> Iterator[Workload]:
    """Yield a workload, or each of several: see `as_workload`."""
    if isinstance(source, (Workload, str, os.PathLike)) or not isinstance(source, Iterable):
        yield as_workload(source)
    else:
        yield from map(as_workload, source)
