"""Arrow tables: the fields with their types, and what was asked for as metadata."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from swdual.errors import InputError
from swdual.format import Table, make_table
from swdual.formats._header import peek
from swdual.hits.fields import FIELDS, check_fields
from swdual.hits.query_result import QueryResult
from swdual.io.output import Output
from swdual.runtime.extras import install_command
from swdual.version import __version__

if TYPE_CHECKING:
    import pyarrow


BATCH_ROWS = 1 << 16
"""Rows that are written at once."""


def import_arrow() -> Any:
    """Return the pyarrow module.

    Raises
    ------
    InputError
        If it is not installed; says how to.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise InputError(f"this needs pyarrow: {install_command('arrow')}") from error
    return pyarrow


def add_metadata(
    results: Iterable[QueryResult], fields: Sequence[str]
) -> tuple[Table, dict[str, str]]:
    """Return the hits of all queries as a table, and what it should say about its origin."""
    first, whole = peek(results)
    return make_table(whole, tuple(dict.fromkeys(fields))), metadata(first)


def metadata(result: QueryResult | None) -> dict[str, str]:
    """Return what a table says about its origin: release, scheme, database, statistics."""
    if result is None:
        return {"swdual.version": __version__}
    scheme, targets = result.params.scheme, result.targets
    facts = {"method": "none"} if result.statistics is None else result.statistics.facts()
    if result.params.stats == "fit":  # the rest is of this query only
        facts = {key: facts[key] for key in ("method", "residues", "sequences") if key in facts}
    search = {
        "matrix": scheme.matrix.name,
        "gap_open": scheme.gap_open,
        "gap_extend": scheme.gap_extend,
        "database": targets.name,
        "sequences": len(targets),
        "residues": targets.residues,
    }
    return {
        "swdual.version": __version__,
        "swdual.search": json.dumps(search),
        "swdual.statistics": json.dumps(facts),
    }


def make_schema(fields: Sequence[str], facts: dict[str, str]) -> pyarrow.Schema:
    """Return the schema of a table of some fields."""
    pa = import_arrow()
    kinds = {"text": pa.string(), "whole": pa.int64(), "real": pa.float64()}
    return pa.schema([pa.field(name, kinds[FIELDS[name].kind]) for name in fields], metadata=facts)


def make_batches(table: Table, kinds: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
    """Return the rows of a table, many at a time; not-a-number becomes null."""
    pa = import_arrow()
    waiting: list[Any] = []
    rows = 0
    for chunk in table.chunks:
        arrays = [
            pa.array(column, type=kind.type, from_pandas=True)
            for column, kind in zip(chunk, kinds, strict=True)
        ]
        waiting.append(pa.record_batch(arrays, schema=kinds))
        rows += len(waiting[-1])
        if rows >= BATCH_ROWS:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting, rows = [], 0
    if rows:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


class Sink(io.RawIOBase):
    """An output as the kind of file that pyarrow writes to."""

    def __init__(self, stream: Output) -> None:
        self._stream = stream
        self._place = 0

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def write(self, data: Any, /) -> int:
        """Write some bytes."""
        size = len(data)
        self._stream.write(bytes(data))
        self._place += size
        return size

    def tell(self) -> int:
        """Return how much was written."""
        return self._place


@contextmanager
def name_read_errors(name: str, kind: str) -> Iterator[None]:
    """Say which file it is that pyarrow cannot read; `kind` is what it should be."""
    try:
        yield
    except (import_arrow().ArrowException, OSError, UnicodeDecodeError, SystemError) as error:
        message = str(error).partition("\n")[0]
        raise InputError(f"not {kind} file, or damaged: {message}", file=name) from error


def read_batches(found: Iterable[Any], kinds: pyarrow.Schema, name: str, kind: str) -> Table:
    """Return a table of what a file of Arrow data holds.

    Raises
    ------
    InputError
        If a field is unknown, or holds something else than it should, or the file is damaged.
    """
    fields = check_fields(kinds.names)
    for field, have, want in zip(fields, kinds.types, make_schema(fields, {}).types, strict=True):
        if not _may_become(have, want):
            raise InputError(f"{field} holds {have}, but should hold {want}", file=name)

    def chunks() -> Iterator[list[Any]]:
        with name_read_errors(name, kind):
            for each in found:
                each.validate(full=True)
                yield [
                    _column(field, column, name)
                    for field, column in zip(fields, each.columns, strict=True)
                ]

    return Table(fields, chunks())


def _column(field: str, column: Any, name: str) -> list[Any]:
    if column.null_count and FIELDS[field].kind != "real":
        raise InputError(f"{field} is null in {column.null_count} rows", file=name)
    return [math.nan if value is None else value for value in column.to_pylist()]


def _may_become(have: Any, want: Any) -> bool:
    types = import_arrow().types
    if types.is_dictionary(have):
        have = have.value_type
    if types.is_string(want):
        return bool(types.is_string(have) or types.is_large_string(have))
    if types.is_int64(want):
        return bool(types.is_integer(have))
    return bool(types.is_integer(have) or types.is_floating(have))


def make_seekable(stream: IO[bytes]) -> IO[bytes]:
    """Return a stream with the same content that can be read in any order."""
    return stream if stream.seekable() else io.BytesIO(stream.read())
