"""Traces in any format: found by how a file begins, read, and written by the ending of its name."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, cast

from swdual.errors import InputError
from swdual.io.endings import find_ending
from swdual.io.file_kind import JSON, PARQUET, FileKind, is_table
from swdual.io.output import replace_file
from swdual.io.stream import open_text, source_name
from swdual.registry import unknown
from swdual.runtime.keywords import suggest_names
from swdual.scheduling.workload.cleaning import clean
from swdual.scheduling.workload.readers import parquet, sacct, table
from swdual.scheduling.workload.readers.simulators import (
    read_batsim,
    read_elastisim,
    write_batsim,
)
from swdual.scheduling.workload.readers.table import Columns
from swdual.scheduling.workload.repair import Repairs
from swdual.scheduling.workload.swf import SWF, find_wrong, format_trace, parse_trace, to_trace
from swdual.scheduling.workload.trace import Trace
from swdual.scheduling.workload.workload import Workload
from swdual.text.messages import quote

HEAD_BYTES = 1 << 16
"""How much of a file tells its format."""

TABLE = re.compile(rb"PAR1|(#[^\n]*\n|\s)*(?![#{\[\s])[^\n|]*[,\t;]")
SACCT = re.compile(rb"\s*[^\n,;\t]*\bJobID(Raw)?\b[^\n,;\t]*(\n|\Z)", re.IGNORECASE)
STANDARD = re.compile(rb"\s*(;|\Z|[-+.\d][^\s|]*([ \t]+[^,|]*)?(\n|\Z))")


@dataclass(frozen=True)
class TraceFormat:
    """A format of traces.

    Parameters
    ----------
    what
        What a file of it is, for messages.
    begins
        Returns whether a file that begins with these bytes, unpacked, is of this format.
    read
        Returns the trace in an open file of a name; of tables, with these columns.
    """

    what: str
    begins: Callable[[bytes], object]
    read: Callable[..., Trace]


def _has_key(*keys: bytes) -> Callable[[bytes], bool]:
    """Return a function that tells whether a JSON object has one of some keys."""
    return lambda head: head.lstrip().startswith(b"{") and any(key in head for key in keys)


FORMATS = {
    "swf": TraceFormat("the Standard Workload Format", STANDARD.match, parse_trace),
    "sacct": TraceFormat("output of Slurm's sacct", SACCT.match, sacct.read),
    "batsim": TraceFormat(
        "JSON of Batsim", _has_key(b'"subtime"', b'"nb_res"', b'"profiles"'), read_batsim
    ),
    "elastisim": TraceFormat(
        "JSON of ElastiSim", _has_key(b'"application_model"', b'"num_nodes'), read_elastisim
    ),
    "table": TraceFormat("a table (CSV, TSV, Parquet)", TABLE.match, table.read),
}
"""All formats by name; the first one that a file fits is taken."""


CSV = FileKind("a table", (".csv",), lambda head: head.startswith(b"# swdual ") or is_table(head))

WRITERS: Mapping[str, tuple[FileKind, Callable[[Trace], Iterator[bytes | memoryview]]]] = {
    ".swf": (SWF, format_trace),
    ".json": (JSON, write_batsim),
    ".csv": (CSV, table.write_csv),
    ".parquet": (PARQUET, table.write_parquet),
}
"""By the endings of names: what files are replaced, and what yields the pieces of a file."""


def load_trace(
    path: str | os.PathLike[str], columns: Columns = None, format: str | None = None
) -> Trace:
    """Return the jobs of a file as they stand there; see `read_workload`."""
    name = source_name(path)
    if format is not None and format not in FORMATS:
        raise InputError(unknown("format of traces", format, FORMATS))
    with open_text(path, unless=(parquet.MAGIC,)) as stream:
        chosen = FORMATS[format] if format else _recognize(stream, name)
        if columns is None:
            return chosen.read(stream, name)
        if chosen.read is not table.read:
            what = f"is {chosen.what}, whose columns are known; leave columns out"
            raise InputError(what, file=path)
        return chosen.read(stream, name, columns)


def _recognize(stream: IO[bytes], name: str) -> TraceFormat:
    """Return the format of an open file, by its first bytes."""
    head = cast(io.BufferedReader, stream).peek(HEAD_BYTES)[:HEAD_BYTES]
    for each in FORMATS.values():
        if each.begins(head):
            return each
    first = head.lstrip().split(b"\n")[0].decode(errors="surrogateescape")
    readable = ", ".join(each.what for each in FORMATS.values())
    why = f"begins with {quote(first)}, which is no trace that swdual reads; it reads {readable}"
    if "|" in first:
        why += "; export sacct's JobID and Submit with the header (without -n)"
    raise InputError(why, file=name)


@suggest_names
def read_workload(
    path: str | os.PathLike[str],
    repairs: Repairs | str = "standard",
    processors: int | None = None,
    *,
    columns: Columns = None,
    format: str | None = None,
) -> Workload:
    """Return the workload in a trace of any format; its ``report`` says what was repaired.

    Parameters
    ----------
    path
        A file, compressed or not; "-" is standard input.
    repairs, processors
        As for `read_swf`.
    columns
        Which column of a table holds which field, such as ``{"submit_time": "qtime"}``; behind a
        column may be ``*`` and a factor, such as ``"limit*60"`` for minutes. Or the name of a
        preset: "fdata", "pm100", "helios". By default as the header says.
    format
        "swf", "sacct", "batsim", "elastisim" or "table"; by default as the file begins.

    Raises
    ------
    InputError
        If the file cannot be read, or is in no known format, or a row is malformed: with the line
        or row; or a job is too wide.

    Examples
    --------
    >>> read_workload("data/jobs.swf").machine_processors
    128
    """
    return clean(load_trace(path, columns, format), repairs, processors)


def find_kind(path: str | os.PathLike[str]) -> FileKind:
    """Return what files a workload of this name replaces.

    Raises
    ------
    InputError
        If its ending stands for no format.
    """
    if find_ending(path) not in WRITERS:
        raise InputError(
            f"has no ending of a format of workloads; choose one of {', '.join(WRITERS)}", file=path
        )
    return WRITERS[find_ending(path)][0]


@suggest_names
def write_workload(jobs: Workload, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a workload in the format that the ending of the file's name stands for.

    Parameters
    ----------
    jobs
        The workload.
    path
        The file: .swf, .csv, .parquet, or .json for Batsim's JSON, which holds no users, queues
        and the like. All but .parquet may be followed by .gz, .bz2, .xz or .zst.
    force
        Replace a file that exists, unless the jobs were read from it.

    Raises
    ------
    InputError, OutputError
        If the ending is another one, a submit time is negative, or the file cannot be written.
    """
    kind, trace, ending = find_kind(path), to_trace(jobs), find_ending(path)
    for row, why in find_wrong(trace.values):
        raise InputError(f"job {trace['number'][row]:.15g} cannot be written: {why}")
    inputs = [] if jobs.source is None else [jobs.source]
    compress = ending != ".parquet"  # which is compressed by itself
    with replace_file(path, kind, force=force, inputs=inputs, compress=compress) as stream:
        for piece in WRITERS[ending][1](trace):
            stream.write(piece)
