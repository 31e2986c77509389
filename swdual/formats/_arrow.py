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
from swdual.formats._text import SourceColumn, keep_known
from swdual.hits.fields import FIELDS
from swdual.hits.query_result import QueryResult
from swdual.runtime.extras import import_extra
from swdual.statistics.model import SHARED_FACTS
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
        If pyarrow is not installed; the message says how to install it.
    """
    return import_extra("pyarrow", "arrow", "this needs pyarrow")


def add_metadata(
    results: Iterable[QueryResult], fields: Sequence[str]
) -> tuple[Table, dict[str, str]]:
    """Return the hits of all queries as a table, and metadata about its origin.

    Parameters
    ----------
    results, fields
        The hits of each query, and names of the fields.
    """
    first, results = peek(results)
    return make_table(results, fields), metadata(first)


def metadata(result: QueryResult | None) -> dict[str, str]:
    """Return metadata of a table: release, scoring scheme, database and statistics."""
    if result is None:
        return {"swdual.version": __version__}
    scheme, targets = result.params.scheme, result.targets
    facts = {"method": "none"} if result.statistics is None else result.statistics.facts()
    if (
        result.params.stats == "fit" or result.params.comparison.by_position
    ):  # the rest is of this query only
        facts = {key: facts[key] for key in SHARED_FACTS if key in facts}
    search = {
        "matrix": scheme.matrix.name,
        "gap_open": scheme.gap_open,
        "gap_extend": scheme.gap_extend,
        "query_gencode": result.params.comparison.query_gencode,
        "db_gencode": result.params.comparison.db_gencode,
        "comp_based_stats": result.params.comp_based_stats,
        "adjust": result.params.adjust,
        "database": targets.name,
        "sequences": len(targets),
        "residues": targets.residues,
        "taxids": result.params.taxids or None,
        "not_taxids": result.params.not_taxids or None,
        "target_ids": result.params.target_ids or None,
        "not_target_ids": result.params.not_target_ids or None,
    }
    return {
        "swdual.version": __version__,
        "swdual.search": json.dumps(search),
        "swdual.statistics": json.dumps(facts),
    }


def make_schema(fields: Sequence[str], facts: dict[str, str]) -> pyarrow.Schema:
    """Return the Arrow schema of a table: each field once, as pandas and polars read no others.

    Parameters
    ----------
    fields
        Names of the fields.
    facts
        Metadata, as `metadata` returns them.
    """
    pa = import_arrow()
    kinds = {"text": pa.string(), "whole": pa.int64(), "real": pa.float64()}
    return pa.schema(
        [pa.field(name, kinds[FIELDS[name].kind]) for name in dict.fromkeys(fields)], metadata=facts
    )


def make_batches(table: Table, kinds: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of a table, `BATCH_ROWS` or more at a time; not-a-number becomes null.

    Parameters
    ----------
    table, kinds
        The rows in chunks of columns, and the schema.
    """
    pa = import_arrow()
    waiting: list[Any] = []
    rows = 0
    for chunk in table.chunks:
        columns = dict(zip(table.fields, chunk, strict=True))
        arrays = [pa.array(columns[each.name], type=each.type, from_pandas=True) for each in kinds]
        waiting.append(pa.record_batch(arrays, schema=kinds))
        rows += len(waiting[-1])
        if rows >= BATCH_ROWS:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting, rows = [], 0
    if rows:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


@contextmanager
def name_read_errors(name: str, kind: str) -> Iterator[None]:
    """Raise pyarrow's errors as an `InputError` that names the file.

    Parameters
    ----------
    name
        The file.
    kind
        What it should be, such as "a Parquet".
    """
    try:
        yield
    except (import_arrow().ArrowException, OSError, UnicodeDecodeError, SystemError) as error:
        message = str(error).partition("\n")[0]
        raise InputError(f"not {kind} file, or damaged: {message}", file=name) from error


def read_batches(
    record_batches: Iterable[Any], kinds: pyarrow.Schema, name: str, kind: str
) -> Table:
    """Return the table in a file of Arrow data.

    Parameters
    ----------
    record_batches, kinds
        The batches of the file, and its schema.
    name, kind
        Name of the file, and what it should be, for messages.

    Raises
    ------
    InputError
        If no field is known, one has another type than it should, or the file is damaged.
    """
    columns = [SourceColumn(each, each if each in FIELDS else None) for each in kinds.names]
    fields = keep_known(columns, name)
    places = [place for place, column in enumerate(columns) if column.field is not None]
    types = [kinds.types[place] for place in places]
    schema = make_schema(fields, {})
    for field, have in zip(fields, types, strict=True):
        want = schema.field(field).type
        if not _can_become(have, want):
            raise InputError(f"{field} holds {have}, but should hold {want}", file=name)

    def chunks() -> Iterator[list[Any]]:
        with name_read_errors(name, kind):
            for batch in record_batches:
                batch.validate(full=True)
                yield [
                    _column(field, batch.column(place), name)
                    for field, place in zip(fields, places, strict=True)
                ]

    return Table(fields, chunks())


def _column(field: str, column: Any, name: str) -> list[Any]:
    if column.null_count and FIELDS[field].kind != "real":
        raise InputError(f"{field} is null in {column.null_count} rows", file=name)
    return [math.nan if value is None else value for value in column.to_pylist()]


def _can_become(have: Any, want: Any) -> bool:
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
