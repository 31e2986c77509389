"""Arrow's file format (IPC, also called Feather): typed columns, numbers in full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO

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
KIND = "an Arrow"


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
    with import_arrow().ipc.new_file(Sink(stream), kinds) as writer:
        for each in make_batches(table, kinds):
            writer.write_batch(each)


def read_table(stream: IO[bytes], name: str) -> Table:
    """Return the table in a file: see `TableFormat.read_table`."""
    with name_read_errors(name, KIND):
        file = import_arrow().ipc.open_file(make_seekable(stream))
        found = (file.get_batch(k) for k in range(file.num_record_batches))
        return read_batches(found, file.schema, name, KIND)
