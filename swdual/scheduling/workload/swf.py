"""The Standard Workload Format, version 2.2: traces read and written.

A line has 18 numbers and stands for a job; what is not known is -1; lines that begin with ``;``
are comments, of which those at the top describe the machine (Chapin et al., Benchmarks and
standards for the evaluation of parallel job schedulers, JSSPP 1999; kept up by the Parallel
Workloads Archive).
"""

from __future__ import annotations

import io
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.io.file_kind import FileKind
from swdual.io.output import replace_file, split_compression
from swdual.io.stream import open_text, source_name
from swdual.runtime.keywords import suggest_names
from swdual.scheduling.job import seconds
from swdual.scheduling.workload.cleaning import clean
from swdual.scheduling.workload.repair import Repairs
from swdual.scheduling.workload.trace import (
    FIELDS,
    HEADER_NUMBERS,
    MAX_VALUE,
    MEASURED,
    MISSING,
    NAMED,
    Trace,
    parse_label,
)
from swdual.scheduling.workload.workload import Workload, check_numbers
from swdual.text.messages import pluralize, quote, sanitize

logger = logging.getLogger("swdual")

UNKNOWN = ("0", "-1")
"""What headers say where a number is not known."""

MAX_LINE_BYTES = 1 << 20
"""How long a line and the header may be: memory stays bounded."""

BLOCK_BYTES = 4 << 20

MAX_JOBS = 10_000_000
"""A few bytes of gzip may hold any number of lines; these take some 3 GB of memory. The longest log
of the Parallel Workloads Archive has some nine million."""

WRITTEN_JOBS = 10_000

TIMES = ("submit_time", "run_time", "requested_time")
"""The fields that simulations live by: none of them is negative but for -1, which is not known."""

PLAIN = b"0123456789eE+-. \t\r\n"
"""What numbers are written with: blocks of nothing else are read in bulk."""

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


SWF = FileKind(
    "a trace in the Standard Workload Format",
    (".swf",),
    re.compile(rb"(?:;[^\n]*\n)*(?:[\d.-]+[ \t]+){17}[\d.-]+\s|(?:;[^\n]*\n)+\Z").match,
)
"""What `write_swf` writes."""


@suggest_names
def read_swf(
    path: str | os.PathLike[str], repairs: Repairs | str = "standard", processors: int | None = None
) -> Workload:
    """Return the workload in a trace; its ``report`` says what was dropped and repaired.

    Parameters
    ----------
    path
        A file, compressed or not; "-" is standard input.
    repairs
        What to do about damage: see `repair.Repairs`, or the name of a rule set.
    processors
        The size of the machine, above which jobs are too wide; None lets all jobs pass.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is malformed, or a job too wide: with the line.
    """
    return clean(read_trace(path), repairs, processors)


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Return the lines of a trace as they stand in the file; see `read_swf`."""
    with open_text(path) as stream:
        return parse_trace(stream, source_name(path))


def parse_trace(stream: IO[bytes], name: str) -> Trace:
    """Return the lines of a trace as they stand in an open file of a name; see `read_swf`."""
    header: dict[int, str] = {}
    values: list[NDArray[np.float64]] = []
    lines: list[NDArray[np.int64]] = []
    jobs = 0
    for first, block in _read_blocks(stream, name):
        texts: list[bytes] = []
        numbers: list[int] = []
        for number, text in enumerate(block.split(b"\n"), first):
            start = text.lstrip()
            if not start:
                continue
            if not start.startswith(b";"):
                texts.append(text)
                numbers.append(number)
            elif not texts and not values:
                header[number] = text.decode(errors="surrogateescape")
        if sum(map(len, header.values())) > MAX_LINE_BYTES:
            raise InputError("the comments at the top do not end; is this a trace?", file=name)
        jobs += len(texts)
        if jobs > MAX_JOBS:
            raise InputError(f"has more than {MAX_JOBS:,} jobs; cut it in parts", file=name)
        if texts:
            values.append(_parse(texts, numbers, name))
            lines.append(np.array(numbers, np.int64))
    if not jobs:
        raise InputError("has no job lines; is this a trace of the right format?", file=name)
    _compare_header(header, name)
    called = Path(split_compression(name)[0]).name.removesuffix(".swf")
    comments = tuple(header.values())
    names = find_names(comments)
    return Trace(np.concatenate(values), comments, called, name, np.concatenate(lines), names=names)


@suggest_names
def write_swf(jobs: Trace | Workload, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a trace as it is, or a workload, to a file that appears when it is complete.

    The processors of a workload are written into both fields for them, so that all readers see
    the same; its header is made anew, that of a trace is kept.

    Parameters
    ----------
    jobs
        What to write.
    path
        The file, "-" for standard output. One that ends in .gz, .bz2, .xz or .zst is compressed.
    force
        Replace a file that exists, unless the jobs were read from it: they may be fewer.

    Raises
    ------
    InputError, OutputError
        If a submit time is negative, a value is none that `read_swf` would read, or the file cannot
        be written.
    """
    trace = jobs if isinstance(jobs, Trace) else to_trace(jobs)
    for row, why in find_wrong(trace.values):
        raise InputError(f"job {trace['number'][row]:.15g} cannot be written: {why}")
    inputs = [] if jobs.source is None else [jobs.source]
    with replace_file(path, SWF, force=force, inputs=inputs, compress=True) as stream:
        for piece in format_trace(trace):
            stream.write(piece)


def _read_blocks(stream: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """Cut a text into blocks of whole lines; each comes with the number of its first line."""
    first, rest = 1, b""
    while data := stream.read(BLOCK_BYTES):
        cut = data.rfind(b"\n") + 1
        if cut:
            block = rest + data[:cut]
            yield first, block
            first += block.count(b"\n")
            rest = b""
        rest += data[cut:]
        if len(rest) > MAX_LINE_BYTES:
            raise InputError("the line does not end; is this a trace?", file=name, line=first)
    if rest:
        yield first, rest


def _compare_header(header: Mapping[int, str], name: str) -> None:
    """Warn of lines of the header, by their number, that cannot be read or contradict another."""
    for label in HEADER_NUMBERS:
        taken: tuple[int, int] | None = None
        for line, comment in header.items():
            number = parse_label(comment, label)
            told = re.match(rf"[;\s]*{label}\s*:\s*(\S.*)", comment, re.IGNORECASE)
            if told and number is None and told[1].strip() not in UNKNOWN:
                text = "%s:%d: %s is %s, which is no whole number above 0: left out"
                logger.warning(text, name, line, label, quote(told[1].strip()))
            if number and taken is None:
                taken = number, line
            elif number and taken and number != taken[0]:
                text = "%s:%d: %s is %d, but %d in line %d, which is taken; correct the header"
                logger.warning(text, name, line, label, number, *taken)


def find_names(header: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the names that comments such as ``; Queue: 1 day`` tell, by field.

    Parameters
    ----------
    header
        The comments.
    """
    found: dict[str, dict[int, str]] = {}
    fields = {label.lower(): name for name, label in NAMED.items()}
    for comment in header:
        told = re.match(r"[;\s]*(\w+)\s*:\s*(\d{1,6})[:\s]\s*(\S.*)", comment)
        if told and told[1].lower() in fields and int(told[2]):
            found.setdefault(fields[told[1].lower()], {})[int(told[2])] = told[3].strip()
    return {
        field: tuple(names.get(number, "") for number in range(1, max(names) + 1))
        for field, names in found.items()
    }


def _format_names(names: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the comments that tell names; too many of them would be no header."""
    lines = []
    for field, told in names.items():
        comments = [
            f"; {NAMED[field]}: {number} {sanitize(name)}"
            for number, name in enumerate(told, 1)
            if name.strip() and field in NAMED
        ]
        if sum(map(len, comments)) < MAX_LINE_BYTES // (2 * len(NAMED)):
            lines += comments
        else:
            logger.warning(
                "the names of %d %ss are too many for a header: left out", len(told), field
            )
    return lines


def _parse(texts: list[bytes], numbers: list[int], name: str) -> NDArray[np.float64]:
    """Return the (jobs, 18) fields of job lines, checked."""
    body = b"\n".join(texts)
    if not body.translate(None, PLAIN):
        with suppress(ValueError):
            values = np.loadtxt(io.BytesIO(body), comments=None, ndmin=2)
            if values.shape == (len(texts), len(FIELDS)):
                return _check_fields(values, numbers, name)
    # Without haste, to name the first line that is wrong.
    rows = [
        _check_fields(np.array([_parse_fields(text, number, name)]), [number], name)
        for text, number in zip(texts, numbers, strict=True)
    ]
    return np.concatenate(rows)


def _parse_fields(text: bytes, line: int, name: str) -> list[float]:
    """Return the numbers of a line."""
    words = text.split()
    if len(words) != len(FIELDS):
        raise InputError(
            f"a job line has {len(FIELDS)} numbers, found {len(words)}; {_guess_format(text)}",
            file=name,
            line=line,
        )
    for field_index, word in enumerate(words):
        if not NUMBER.fullmatch(word):
            found = word[:30].decode("ascii", "backslashreplace")
            raise InputError(
                f"field {field_index + 1} ({FIELDS[field_index]}) is {found!r}; write a number, "
                "-1 if it is not known",
                file=name,
                line=line,
            )
    return [float(word) for word in words]


def _guess_format(text: bytes) -> str:
    """Return what a line that is no job line says about its file, and what to do."""
    if text.lstrip().startswith((b"{", b"[")):
        what = "JSON, such as a workload of Batsim"
    elif b"|" in text or b"JobID" in text:
        what = "a table of Slurm's sacct"
    else:
        return "is this the Standard Workload Format?"
    return f"this looks like {what}: read_workload of swdual.scheduling reads it"


def _check_fields(
    values: NDArray[np.float64], numbers: list[int], name: str
) -> NDArray[np.float64]:
    """Return the fields of job lines, after checks of each value."""
    for row, why in find_wrong(values):
        raise InputError(why, file=name, line=numbers[row])
    return values


def find_wrong(values: NDArray[np.float64]) -> Iterator[tuple[int, str]]:
    """Yield the row of the first value that no field may have, and what is wrong with it.

    Parameters
    ----------
    values
        (jobs, 18) as in `Trace`.
    """
    first: list[tuple[int, int]] = []
    for place, field in enumerate(FIELDS):
        column = values[:, place]
        wrong = ~(np.abs(column) <= MAX_VALUE)  # also not-a-number
        if field not in MEASURED:
            wrong |= column != np.floor(column)
        if field in TIMES:
            wrong |= (column < 0) & (column != MISSING)
        if wrong.any():
            first.append((int(wrong.argmax()), place))
    if first:
        row, place = min(first)
        yield row, _explain_value(place, float(values[row, place]))


def _explain_value(field_index: int, value: float) -> str:
    """Return what is wrong with the value of a field, and the remedy."""
    field = FIELDS[field_index]
    if not abs(value) <= MAX_VALUE:
        remedy = f"write a number up to {MAX_VALUE:.0e}, -1 if it is not known"
    elif field == "submit_time":
        remedy = "write seconds since the beginning of the trace, -1 if it is not known"
    elif field in TIMES:
        remedy = "a time is not negative; write seconds, -1 if it is not known"
    else:
        remedy = "write a whole number, -1 if it is not known"
    text = repr(value).removesuffix(".0")
    return f"field {field_index + 1} ({field}) is {text}; {remedy}"


def to_trace(workload: Workload) -> Trace:
    """Return the trace that a workload would have left, with a header of its own."""
    early = np.flatnonzero(workload.submit_time < 0)
    if len(early):
        raise InputError(
            f"job {workload.number[early[0]]} was submitted at "
            f"{seconds(float(workload.submit_time[early[0]]))}, and a trace begins at 0; use "
            "shifted()"
        )
    columns = {name: column for name, column in workload.extra.items() if name in FIELDS}
    columns |= {
        "number": workload.number,
        "submit_time": workload.submit_time,
        "run_time": workload.run_time,
        "allocated_processors": workload.processors,
        "requested_processors": workload.processors,
        "requested_time": workload.requested_time,
    }
    values = np.full((len(workload), len(FIELDS)), float(MISSING))
    for name, column in columns.items():
        check_numbers(name, column)
        values[:, FIELDS.index(name)] = column
    header = [
        "; Version: 2.2",
        "; Conversion: swdual",
        f"; MaxJobs: {len(workload)}",
        f"; MaxRecords: {len(workload)}",
        f"; Note: workload {workload.name}",
    ]
    if workload.machine_processors is not None:
        header.insert(-1, f"; MaxProcs: {workload.machine_processors}")
    start = workload.unix_start_time
    if start is not None and start >= 1 and start == int(start):
        header.insert(-1, f"; UnixStartTime: {int(start)}")
    header += _format_names(workload.names)
    extra = {name: column for name, column in workload.extra.items() if name not in FIELDS}
    return Trace(values, tuple(header), workload.name, extra=extra, names=workload.names)


def format_trace(trace: Trace) -> Iterator[bytes]:
    """Yield the text of a trace in SWF, in pieces."""
    warn_of_lost(trace, ".swf")
    yield "".join(f"{comment}\n" for comment in trace.header).encode(errors="surrogateescape")
    for first in range(0, len(trace), WRITTEN_JOBS):
        columns = trace.values[first : first + WRITTEN_JOBS].T
        rows = zip(*map(write_numbers, columns), strict=True)
        yield "".join(f"{' '.join(row)}\n" for row in rows).encode()


def warn_of_lost(trace: Trace, ending: str) -> None:
    """Warn of the jobs with a further column, for a file with an ending cannot hold it."""
    told = {
        name: column > 0 if column.dtype.kind in "biuf" else np.ones(len(column), np.bool_)
        for name, column in trace.extra.items()
    }
    lost = {name: which for name, which in told.items() if which.any()}
    if lost:
        jobs = pluralize(int(np.any([*lost.values()], axis=0).sum()), "job's", "jobs'")
        text = "%s %s: not kept by %s; .csv and .parquet keep all columns"
        logger.warning(text, jobs, ", ".join(lost), ending)


def write_numbers(column: NDArray[Any]) -> list[str]:
    """Return the shortest texts that are read as the same numbers; texts stay as they are.

    Parameters
    ----------
    column
        (jobs,) the numbers.
    """
    if column.dtype.kind not in "iuf":
        return list(map(str, column.tolist()))
    if (column == np.floor(column)).all():
        return list(map(str, column.astype(np.int64).tolist()))
    return list(map(repr, column.tolist()))
