"""Tables with a row a job: Parquet, CSV, TSV; which column holds what is told or found."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import compress
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.io.stream import Source, open_text, source_name
from swdual.registry import unknown
from swdual.runtime.extras import import_extra
from swdual.scheduling.workload.readers.columns import (
    DERIVED,
    INSTANTS,
    build_trace,
    encode,
    parse_duration,
    parse_identifier,
    parse_instant,
    settle_names,
    settle_states,
    to_numbers,
)
from swdual.scheduling.workload.readers.contract import Columns, TraceFormat
from swdual.scheduling.workload.readers.presets import PRESETS
from swdual.scheduling.workload.readers.texts import PIECE_ROWS, TextTable
from swdual.scheduling.workload.swf import MAX_JOBS, find_names, write_numbers
from swdual.scheduling.workload.trace import EXTRA, FIELDS, MISSING, NAMED, Trace
from swdual.text.messages import quote

PARQUET = b"PAR1"
OWN = "# swdual "
"""How the first line of a CSV file begins that `write_csv` wrote; JSON follows."""

KNOWN = (*FIELDS, *EXTRA, *DERIVED)
WORDS = (*NAMED, "status")
NEEDED = (
    ("submit_time",),
    ("run_time", "end_time"),
    ("processors", "allocated_processors", "requested_processors"),
)
"""One of each of these a table must have."""

WRITTEN = ("number", "submit_time", "run_time", "allocated_processors", "requested_time")
"""The fields that are written in any case."""

Mapped = dict[str, tuple[str, float]]
"""The column and the factor of each field."""


def choose_columns(header: list[str], columns: Columns, name: str) -> Mapped:
    """Return which column of a table holds which field.

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
    if columns is None:
        own = {field: field for field in KNOWN if field in header}
        presets = (each for each in PRESETS.values() if _columns_of(each) <= {*header})
        columns = max((own, *presets), key=len)
    elif isinstance(columns, str):
        if columns not in PRESETS:
            raise InputError(unknown("preset of columns", columns, PRESETS))
        columns = PRESETS[columns]
    seen = f"its columns are {quote(', '.join(header))}"
    for field in columns:
        if field not in KNOWN:
            raise InputError(unknown("field of a trace", field, KNOWN))
    for column in sorted(_columns_of(columns).difference(header)):
        raise InputError(f"has no column {column!r}; {seen}", file=name)
    for needed in NEEDED:
        if not any(field in columns for field in needed):
            raise InputError(
                f"tells no {' or '.join(needed)}; {seen}: say which one it is by "
                f"columns (--columns {needed[0]}=COLUMN,...), or give one of the presets "
                f"{', '.join(PRESETS)}",
                file=name,
            )
    return {field: _split(text) for field, text in columns.items()}


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
        return (column.strip(), float(factor)) if star else (text, 1.0)
    except ValueError:
        return text, 1.0


def _columns_of(columns: Mapping[str, str]) -> set[str]:
    return {_split(text)[0] for text in columns.values()}


def read(path: Source, columns: Columns = None) -> Trace:
    """Return the trace in a table: Parquet by its first bytes, else text.

    Raises
    ------
    InputError
        If the columns do not fit, or a value is wrong: with the line, or the row.
    """
    name = source_name(path)
    with open_text(path, unless=(PARQUET,)) as stream:
        is_parquet = cast(io.BufferedReader, stream).peek(len(PARQUET)).startswith(PARQUET)
        return (_read_parquet if is_parquet else _read_text)(stream, name, columns)


def _read_text(stream: IO[bytes], name: str, columns: Columns) -> Trace:
    table = TextTable(stream, name, ",\t;")
    own = [line.removeprefix(OWN) for line in table.comments if line.startswith(OWN)]
    loader = _Loader(table.header, columns, name, own[0] if own else None)
    found: dict[str, list[NDArray[Any]]] = {column: [] for column in loader.wanted}
    seen: dict[str, dict[str, int]] = {column: {} for column in loader.wanted}
    lines: list[int] = []
    for piece in table.pieces():
        lines += piece.lines
        for column, parts in found.items():
            texts = piece.columns[column]
            if loader.holds_names(column):
                parts.append(encode(texts, seen[column]))
            elif column in loader.raw:
                parts.append(_to_raw(texts, loader.raw[column], name))
            else:
                parts.append(to_numbers(texts, loader.parser(column), name, column, piece.lines))
    for column, parts in found.items():
        told = [*seen[column]] if loader.holds_names(column) else None
        loader.add(column, np.concatenate(parts), told)
    return loader.finish(np.array(lines, np.int64))


def _to_raw(texts: Sequence[str], kind: np.dtype[Any], name: str) -> NDArray[Any]:
    try:
        return np.array(texts).astype(kind)
    except ValueError as error:
        raise InputError(f"has a column of another type than noted: {error}", file=name) from None


def _read_parquet(stream: IO[bytes], name: str, columns: Columns) -> Trace:
    parquet = import_extra("pyarrow.parquet", "arrow", "Parquet files need pyarrow")
    pa = import_extra("pyarrow", "arrow", "Parquet files need pyarrow")
    try:
        file = parquet.ParquetFile(pa.BufferReader(stream.read()))
        own = (file.schema_arrow.metadata or {}).get(b"swdual")
        loader = _Loader(file.schema_arrow.names, columns, name, own)
        if not 0 < file.metadata.num_rows <= MAX_JOBS:
            raise InputError(f"has no jobs, or more than {MAX_JOBS:,}; cut it in parts", file=name)
        for column in loader.wanted:
            array = file.read(columns=[column]).column(column)
            if loader.holds_names(column) and not _is_number(pa.types, array.type):
                coded = array.cast(pa.string()).combine_chunks().dictionary_encode("encode")
                texts = [text or "" for text in coded.dictionary.to_pylist()]
                loader.add(column, coded.indices.to_numpy().astype(np.float64), texts)
            elif column in loader.raw:
                loader.add(column, array.to_numpy())
            else:
                loader.add(column, _to_floats(array, loader.parser(column), name, column))
    except (pa.ArrowException, OSError) as error:
        message = str(error).partition("\n")[0]
        raise InputError(f"not a Parquet file, or damaged: {message}", file=name) from error
    return loader.finish(None)


def _is_number(types: Any, kind: Any) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind))


def _to_floats(
    array: Any, parse: Callable[[str], float], name: str, column: str
) -> NDArray[np.float64]:
    """Return the values of an Arrow column, in seconds if they are times; NaN for null.

    Of lists, the mean: they are samples.
    """
    pa = import_extra("pyarrow", "arrow", "Parquet files need pyarrow")
    types, kind = pa.types, array.type
    if types.is_dictionary(kind):
        return _to_floats(array.cast(kind.value_type), parse, name, column)
    if types.is_string(kind) or types.is_large_string(kind):
        dates = (pa.timestamp("us"), pa.timestamp("us", "UTC")) if parse is parse_instant else ()
        for type_ in (pa.float64(), *dates):
            with suppress(pa.ArrowInvalid):
                return _to_floats(array.cast(type_), parse, name, column)
        if parse is parse_identifier:
            return np.full(len(array), np.nan)
        texts = [text or "" for text in array.to_pylist()]
        return to_numbers(texts, parse, name, column, None)
    if types.is_list(kind) or types.is_large_list(kind):
        compute = import_extra("pyarrow.compute", "arrow", "Parquet files need pyarrow")
        lists = array.combine_chunks()
        owners = compute.list_parent_indices(lists).to_numpy()
        values = _to_floats(compute.list_flatten(lists), parse, name, column)
        with np.errstate(invalid="ignore"):
            sums = np.bincount(owners, values, len(lists))
            return sums / np.bincount(owners, minlength=len(lists))
    unit = 1.0
    if types.is_temporal(kind):
        micro = (
            pa.duration("us")
            if types.is_duration(kind)
            else pa.timestamp("us", getattr(kind, "tz", None))
        )
        array, unit = array.cast(micro, safe=False).cast(pa.int64()), 1e6
    try:
        array = array.cast(pa.float64(), safe=False)
    except pa.ArrowException:
        raise InputError(f"column {column} holds {kind}, which is no number", file=name) from None
    return np.asarray(array.to_numpy(zero_copy_only=False) / unit, np.float64)


class _Loader:
    """Gathers the columns of a table that the fields of a trace are made of.

    Parameters
    ----------
    header, columns, name
        As for `choose_columns`.
    own
        What `describe` wrote, if the table is one of ours: JSON.
    """

    def __init__(
        self, header: list[str], columns: Columns, name: str, own: str | bytes | None
    ) -> None:
        self._name, self._header = name, None
        self._names: dict[str, tuple[str, ...]] = {}
        self.raw: dict[str, np.dtype[Any]] = {}
        if own is not None and columns is None:
            columns = {field: field for field in FIELDS if field in header}
            try:
                facts = json.loads(own)
                self._header = tuple(map(str, facts["header"]))
                self._names = {field: tuple(x) for field, x in facts["names"].items()}
                self.raw = {x: np.dtype(kind) for x, kind in facts["extra"].items() if x in header}
            except (ValueError, TypeError, KeyError, AttributeError):
                raise InputError("the notes of swdual on it are damaged", file=name) from None
        self._mapped = choose_columns(header, columns, name)
        self._given: dict[str, NDArray[Any]] = {}
        self._extra: dict[str, NDArray[Any]] = {}

    @property
    def wanted(self) -> list[str]:
        """The columns that are read, each once."""
        return [*dict.fromkeys([column for column, _ in self._mapped.values()] + [*self.raw])]

    def _fields(self, column: str) -> list[str]:
        return [field for field, (have, _) in self._mapped.items() if have == column]

    def holds_names(self, column: str) -> bool:
        """Return whether a column holds names or words."""
        return any(field in WORDS for field in self._fields(column))

    def parser(self, column: str) -> Callable[[str], float]:
        """Return what reads the texts of a column."""
        if "number" in self._fields(column):
            return parse_identifier
        is_date = any(field in INSTANTS for field in self._fields(column))
        return parse_instant if is_date else parse_duration

    def add(self, column: str, values: NDArray[Any], texts: Sequence[str] | None = None) -> None:
        """Add a column.

        Parameters
        ----------
        column, values
            Its name, and (jobs,) its numbers, or the places of its texts.
        texts
            The texts, if it has names.
        """
        if column in self.raw:
            self._extra[column] = values.astype(self.raw[column])
        for field in self._fields(column):
            if texts is None:
                self._given[field] = values * self._mapped[field][1]
            elif field == "status":
                self._given[field] = settle_states(texts, values)
            else:
                self._given[field], names = settle_names(texts, values)
                if names:
                    self._names[field] = names

    def finish(self, lines: NDArray[np.int64] | None) -> Trace:
        """Return the trace."""
        trace = build_trace(
            self._given, self._name, lines=lines, names=self._names, header=self._header
        )
        return replace(trace, extra={**trace.extra, **self._extra})


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
    pa = import_extra("pyarrow", "arrow", "Parquet files need pyarrow")
    parquet = import_extra("pyarrow.parquet", "arrow", "Parquet files need pyarrow")
    table = pa.table({name: pa.array(column) for name, column in _columns(trace).items()})
    sink = pa.BufferOutputStream()
    parquet.write_table(table.replace_schema_metadata({"swdual": _describe(trace)}), sink)
    yield memoryview(sink.getvalue())


def _begins(head: bytes) -> bool:
    """Return whether a file is Parquet, or its first line, behind comments, has several columns."""
    if head.startswith(PARQUET):
        return True
    lines = (line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#"))
    first = next(lines, b"")
    return not first.lstrip().startswith((b"{", b"[")) and any(
        x in first for x in (b",", b"\t", b";")
    )


FORMAT = TraceFormat("table", "a table (CSV, TSV, Parquet)", _begins, read)
