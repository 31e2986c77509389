"""Parquet: typed columns, compressed, numbers in full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO, Any

from swdual.format import Table
from swdual.formats._arrow import (
    add_metadata,
    import_arrow,
    make_batches,
    make_schema,
    make_seekable,
    metadata,
    name_read_errors,
    read_batches,
)
from swdual.hits.fields import DATA
from swdual.hits.query_result import QueryResult
from swdual.io.output import Output, Sink

FIELDS = DATA
KIND = "a Parquet"


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries: see `Format.write`. The schema always names the fields."""
    import_arrow()
    table, facts = add_metadata(results, fields)
    _write(table, stream, facts)


def write_table(table: Table, stream: Output, *, header: bool) -> None:
    """Write a table: see `TableFormat.write_table`."""
    _write(table, stream, metadata(None))


def _write(table: Table, stream: Output, facts: dict[str, str]) -> None:
    kinds = make_schema(table.fields, facts)
    with _parquet().ParquetWriter(Sink(stream), kinds, compression="zstd") as writer:
        for each in make_batches(table, kinds):
            writer.write_batch(each)


def read_table(stream: IO[bytes], name: str) -> Table:
    """Return the table in a file: see `TableFormat.read_table`."""
    with name_read_errors(name, KIND):
        file = _parquet().ParquetFile(make_seekable(stream))
        batches = file.iter_batches() if file.num_row_groups else ()  # pyarrow 18 wants one
        return read_batches(batches, file.schema_arrow, name, KIND)


def _parquet() -> Any:
    import_arrow()
    import pyarrow.parquet

    return pyarrow.parquet
