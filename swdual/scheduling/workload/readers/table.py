"""Tables with a row a job: Parquet, CSV, TSV; which column holds what is told or found.

The columns of the presets were taken from the descriptions that the authors of the data publish,
not from copies of the data: docs/traces.md names the pages.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import compress
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.registry import unknown
from swdual.scheduling.workload.readers import parquet, sacct
from swdual.scheduling.workload.readers.columns import (
    DERIVED,
    DURATIONS,
    IDENTIFIERS,
    INSTANTS,
    STATUS,
    Converter,
    ToNames,
    ToType,
    build_trace,
    settle,
)
from swdual.scheduling.workload.readers.parquet import ParquetTable
from swdual.scheduling.workload.readers.texts import OWN, PIECE_ROWS, TextTable
from swdual.scheduling.workload.swf import find_names, write_numbers
from swdual.scheduling.workload.trace import EXTRA, FACTS, FIELDS, MISSING, NAMED, Trace
from swdual.text.messages import parse_number, quote

Columns = Mapping[str, str] | str | None
"""Which column of a table holds which field, or the name of a preset; None: as the header says.
A column may be followed by ``*`` and a factor that makes seconds, KB or watts of its values."""

PRESETS: Mapping[str, Mapping[str, str]] = {
    "fdata": {
        **{"number": "jid", "submit_time": "adt", "start_time": "sdt", "end_time": "edt"},
        **{"run_time": "duration", "requested_time": "elpl", "status": "exit state"},
        **{"allocated_processors": "cnumat", "requested_processors": "cnumr", "nodes": "nnumr"},
        **{"user": "usr", "executable": "jnam", "power": "avgpcon"},
    },
    "pm100": {
        **{"number": "job_id", "submit_time": "submit_time", "start_time": "start_time"},
        **{"run_time": "run_time", "requested_time": "time_limit*60", "status": "job_state"},
        **{"allocated_processors": "num_cores_alloc", "requested_processors": "num_cores_req"},
        **{"nodes": "num_nodes_req", "gpus": "num_gpus_req", "job_memory": "mem_req*1048576"},
        **{"user": "user_id", "group": "group_id", "partition": "partition", "queue": "qos"},
        "power": "node_power_consumption",
    },
    "helios": {
        **{"number": "job_id", "submit_time": "submit_time", "start_time": "start_time"},
        **{"run_time": "duration", "processors": "cpu_num", "nodes": "node_num"},
        **{"gpus": "gpu_num", "status": "state", "user": "user", "partition": "vc"},
    },
}

CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(("submit_time", "start_time", "end_time"), INSTANTS),
    **{"number": IDENTIFIERS, "status": STATUS},
}
"""What the fields hold that hold neither names nor durations, or other numbers."""

KNOWN = (*FIELDS, *EXTRA, *DERIVED, FACTS[0])
NEEDED = (
    (("submit_time",),),
    (("run_time",), ("start_time", "end_time")),
    (("processors",), ("allocated_processors",), ("requested_processors",)),
)
"""All fields of one of each of these a table must have."""

WRITTEN = ("number", "submit_time", "run_time", "allocated_processors", "requested_time")
"""The fields that are written in any case."""

Mapped = dict[str, tuple[str, float]]
"""The column and the factor of each field."""


def choose_columns(header: list[str], columns: Columns, name: str) -> Mapped:
    """Return which column of a table holds which field; capital letters may differ.

    Parameters
    ----------
    header
        The columns that there are.
    columns
        A map, the name of a preset, or None: what fits most columns, our own names or a preset.
    name
        The file, for messages.

    Raises
    ------
    InputError
        If there is no such preset, field or column, or a needed one is missing.
    """
    counts = Counter(map(str.lower, header))
    known = {x.lower(): x for x in header if counts[x.lower()] == 1} | {x: x for x in header}
    if columns is None:
        own = {field: field for field in KNOWN if field in known}
        presets = (x for x in PRESETS.values() if all(_split(y)[0] in known for y in x.values()))
        columns = max((own, *presets), key=len)
    elif isinstance(columns, str):
        if columns not in PRESETS:
            raise InputError(unknown("preset of columns", columns, PRESETS))
        columns = PRESETS[columns]
    seen = f"its columns are {quote(', '.join(header))}"
    mapped = {}
    for field, (column, factor) in ((field, _split(text)) for field, text in columns.items()):
        if field not in KNOWN:
            raise InputError(unknown("field of a trace", field, KNOWN))
        found = known.get(column, known.get(column.lower()))
        if found is None:
            raise InputError(f"has no column {column!r}; {seen}", file=name)
        mapped[field] = found, factor
    for needed in NEEDED:
        if not any(mapped.keys() >= {*fields} for fields in needed):
            raise InputError(
                f"tells no {', or '.join(map(' and '.join, needed))}; {seen}: say which one it is "
                f"by columns (--columns {needed[0][0]}=COLUMN,...), or give one of the presets "
                f"{', '.join(PRESETS)}",
                file=name,
            )
    return mapped


def parse_columns(text: str | None) -> Columns:
    """Return the columns that ``FIELD=COLUMN,...`` or the name of a preset stand for.

    >>> parse_columns("submit_time=qtime,requested_time=limit*60"), parse_columns("pm100")
    ({'submit_time': 'qtime', 'requested_time': 'limit*60'}, 'pm100')
    """
    if text is None or "=" not in text:
        return text
    pairs = (part.partition("=") for part in text.split(","))
    return {field.strip(): column.strip() for field, _, column in pairs}


def _split(text: str) -> tuple[str, float]:
    """Return a column and its factor."""
    column, star, factor = text.rpartition("*")
    try:
        return (column.strip(), parse_number(factor)) if star else (text, 1.0)
    except ValueError:
        return text, 1.0


def read(stream: IO[bytes], name: str, columns: Columns = None) -> Trace:
    """Return the trace in a table: Parquet by its first bytes, else text, also that of sacct.

    Raises
    ------
    InputError
        If the columns do not fit, or a value is wrong: with the line, or the row.
    """
    is_parquet = cast(io.BufferedReader, stream).peek(len(parquet.MAGIC)).startswith(parquet.MAGIC)
    table = ParquetTable(stream, name) if is_parquet else TextTable(stream, name, ",\t;")
    if columns is None and isinstance(table, TextTable) and sacct.is_accounts(table.header):
        return sacct.convert(table, name)
    header, names, further = None, {}, {}
    if table.notes is not None and columns is None:
        columns = {field: field for field in FIELDS if field in table.header}
        try:
            notes = json.loads(table.notes)
            header = tuple(map(str, notes["header"]))
            names = {field: tuple(told) for field, told in notes["names"].items()}
            further = {x: ToType(np.dtype(kind).str) for x, kind in notes["extra"].items()}
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InputError("the notes of swdual on it are damaged", file=name) from None
    mapped = choose_columns(table.header, columns, name)
    wanted: dict[str, tuple[str, Converter]] = {
        field: (column, ToNames() if field in NAMED else CONVERTERS.get(field, DURATIONS))
        for field, (column, _) in mapped.items()
    }
    wanted |= {x: (x, typed) for x, typed in further.items() if x in table.header}
    found, lines = table.read(wanted)
    extra = {column: found.pop(column) for column in further if column in found}
    names |= settle(found, wanted)
    for field, (_, factor) in mapped.items():
        found[field] = found[field] * factor
    trace = build_trace(found, name, lines=lines, names=names, header=header)
    return replace(trace, extra={**trace.extra, **extra})


def _describe(trace: Trace) -> str:
    """Return what a table cannot hold as JSON: the header, names, and types of further columns."""
    kinds = {name: column.dtype.str for name, column in trace.extra.items()}
    header = [comment for comment in trace.header if not find_names([comment])]
    return json.dumps({"header": header, "names": trace.names, "extra": kinds})


def _columns(trace: Trace) -> dict[str, NDArray[Any]]:
    """Return the fields that are known of some job, and the further columns."""
    shown = (field in WRITTEN or (trace[field] != MISSING).any() for field in FIELDS)
    return {**{field: trace[field] for field in compress(FIELDS, shown)}, **trace.extra}


def write_csv(trace: Trace) -> Iterator[bytes]:
    """Yield the text of a trace as CSV; numbers stand for names, which the first line tells."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    text.write(f"{OWN}{_describe(trace)}\n")
    columns = _columns(trace)
    writer.writerow(columns)
    for first in range(0, len(trace), PIECE_ROWS):
        writer.writerows(
            zip(
                *(write_numbers(x[first : first + PIECE_ROWS]) for x in columns.values()),
                strict=True,
            )
        )
        yield text.getvalue().encode(errors="surrogateescape")
        text.seek(0)
        text.truncate()


def write_parquet(trace: Trace) -> Iterator[memoryview]:
    """Yield a trace as Parquet; numbers stand for names, which the metadata tell."""
    yield parquet.write(_columns(trace), _describe(trace))
