"""Tables in Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.runtime.extras import import_extra
from swdual.scheduling.workload.readers.columns import (
    IDENTIFIERS,
    INSTANTS,
    Converter,
    ToType,
    Wanted,
    check_once,
    convert,
    row_error,
)
from swdual.scheduling.workload.swf import MAX_JOBS

MAGIC = b"PAR1"
"""How files begin."""

NOTES = b"swdual"
"""The key of the metadata with the notes of `swdual`."""


class ParquetTable:
    """An open table in Parquet.

    Parameters
    ----------
    stream, name
        The file, and its name for messages.

    Attributes
    ----------
    header, notes
        As of a `TextTable`.
    """

    def __init__(self, stream: IO[bytes], name: str) -> None:
        pa = _import_pyarrow()
        self._name = name
        with _explained(name):
            self._file = pa.parquet.ParquetFile(pa.BufferReader(stream.read()))
            self.header: list[str] = self._file.schema_arrow.names
            self.notes: bytes | None = (self._file.schema_arrow.metadata or {}).get(NOTES)
            if self._file.metadata.num_rows > MAX_JOBS:
                raise InputError(f"has more than {MAX_JOBS:,} rows; cut it in parts", file=name)

    def read(self, wanted: Wanted) -> tuple[dict[str, NDArray[Any]], None]:
        """Return (rows,) the columns that are wanted; there are no lines.

        Raises
        ------
        InputError
            If a value is none: with the row.
        """
        check_once(self.header, wanted, self._name)
        with _explained(self._name):
            return {key: self._read(*each) for key, each in wanted.items()}, None

    def _read(self, column: str, converter: Converter) -> NDArray[Any]:
        pa = _import_pyarrow()
        array = self._file.read(columns=[column]).column(column)
        kind = array.type
        if pa.types.is_dictionary(kind):
            array, kind = array.cast(kind.value_type), kind.value_type
        if kind not in (pa.string(), pa.large_string()):
            if isinstance(converter, ToType):
                return converter(array.to_numpy())
            return self._to_floats(array, column)
        if converter is INSTANTS:  # all at once where they are alike
            for date in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
                with suppress(pa.ArrowInvalid):
                    return self._to_floats(array.cast(date), column)
        if converter is IDENTIFIERS:  # likewise: numbers, or texts that are none
            with suppress(pa.ArrowInvalid):
                return self._to_floats(array.cast(pa.float64()), column)
            return np.full(len(array), np.nan)
        coded = array.combine_chunks().dictionary_encode("encode")
        places = coded.indices.to_numpy()

        def error(place: int, why: str) -> InputError:
            return row_error(self._name, None, int(np.argmax(places == place)), why)

        texts = [text or "" for text in coded.dictionary.to_pylist()]
        return np.asarray(convert(texts, column, converter, error)[places])

    def _to_floats(self, array: Any, column: str) -> NDArray[np.float64]:
        """Return the values of an Arrow column, in seconds if they are times; NaN for null.

        Of lists, the mean: they are samples.
        """
        pa, kind, unit = _import_pyarrow(), array.type, 1.0
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            lists = array.combine_chunks()
            owners = pa.compute.list_parent_indices(lists).to_numpy()
            values = self._to_floats(pa.compute.list_flatten(lists), column)
            with np.errstate(invalid="ignore"):
                sums = np.bincount(owners, values, len(lists))
                return np.asarray(sums / np.bincount(owners, minlength=len(lists)))
        if pa.types.is_temporal(kind):
            zone = getattr(kind, "tz", None)
            is_lasting = pa.types.is_duration(kind)
            micro = pa.duration("us") if is_lasting else pa.timestamp("us", zone)
            array, unit = array.cast(micro, safe=False).cast(pa.int64()), 1e6
        try:
            array = array.cast(pa.float64(), safe=False)
        except pa.ArrowException:
            why = f"column {column} holds {kind}, which is no number"
            raise InputError(why, file=self._name) from None
        return np.asarray(array.to_numpy(zero_copy_only=False) / unit, np.float64)


def write(columns: Mapping[str, NDArray[Any]], notes: str) -> memoryview:
    """Return a file with columns and notes."""
    pa = _import_pyarrow()
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(table.replace_schema_metadata({NOTES: notes}), sink)
    return memoryview(sink.getvalue())


def _import_pyarrow() -> Any:
    for module in ("pyarrow.parquet", "pyarrow.compute"):
        import_extra(module, "arrow", "Parquet files need pyarrow")
    return import_extra("pyarrow", "arrow", "Parquet files need pyarrow")


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn errors of Arrow into those of this package."""
    try:
        yield
    except (_import_pyarrow().ArrowException, OSError) as error:
        message = str(error).partition("\n")[0]
        raise InputError(f"not a Parquet file, or damaged: {message}", file=name) from error
