"""Sequences in the objects of other libraries: open files, data frames and Series."""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from swdual.errors import InputError
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.fasta import read_sequences
from swdual.sequences.validation import OnInvalid

SEQUENCE_COLUMNS = ("sequence", "seq")
NAME_COLUMNS = ("id", "name", "identifier", "accession", "title", "header")
"""The columns of a data frame that are read, in any case; of several names the first one counts."""

FRAMES = ("DataFrame", "Table", "LazyFrame")
"""The types of data frames."""

COPIED = 1 << 20
"""Bytes or characters that are read from an open file at a time."""

MISSING = ("NoneType", "float", "NAType", "NullScalar")
"""The types of what stands in a data frame where nothing is known."""


def plain_source(
    source: Any,
    *,
    none: str = "there are no sequences (None); give a path, or sequences",
    on_invalid: OnInvalid = "error",
) -> Any:
    """Return sequences in an object of another library as `as_sequences` takes them.

    A file that was opened by its name, and from which nothing was read, becomes its path. Another
    open file, or what can be read like one, becomes the records that are left in it. Data frames of
    pandas, polars and Arrow and Series of pandas become pairs of names and sequences; the names are
    those of a column, else of the index. Everything else is returned as it is.

    Parameters
    ----------
    source
        The object.
    none
        The message if it is None.
    on_invalid
        What to do with invalid letters in open files: see `read_batches`.

    Raises
    ------
    InputError
        If the object is None, or has no sequences where they are looked for.
    """
    if source is None:
        raise InputError(none)
    if isinstance(source, (str, bytes, os.PathLike)):
        return source
    kind = type(source).__name__
    if kind in FRAMES:
        return _read_frame(source, kind)
    if kind == "Series" and hasattr(source, "items"):
        return _make_pairs(source.index, source, kind)
    if hasattr(source, "read"):
        return _read_stream(source, on_invalid)
    return source


def is_table(source: Any) -> bool:
    """Return whether an object is a data frame or an open file, which have many sequences."""
    return type(source).__name__ in FRAMES or hasattr(source, "read")


def _read_frame(frame: Any, kind: str) -> list[tuple[str, Any]]:
    """Return the names and sequences of a data frame."""
    if kind == "LazyFrame":
        raise InputError("a LazyFrame has no rows yet; give what its `collect()` returns")
    names = [*map(str, frame.column_names if kind == "Table" else frame.columns)]
    lower = {name.lower(): name for name in names}
    columns = [lower[name] for name in SEQUENCE_COLUMNS if name in lower]
    if len(columns) != 1:
        raise InputError(
            f"a {kind} needs one column named sequence or seq, and may have one named id or name, "
            f"but this one has {', '.join(names) or 'none'}; rename its columns, or give "
            "dict(zip(names, sequences))"
        )
    titles = next((lower[name] for name in NAME_COLUMNS if name in lower), None)
    for chosen in filter(None, (columns[0], titles)):
        named = [name for name in names if name.lower() == chosen.lower()]
        if len(named) > 1:
            raise InputError(
                f"the {kind} has {len(named)} columns for one: {', '.join(named)}; rename or leave "
                "out the others"
            )
    if titles is not None:
        called: Iterable[Any] = _cells(frame[titles])
    else:
        called = frame.index if hasattr(frame, "index") else [""] * len(frame)
    return _make_pairs(called, _cells(frame[columns[0]]), kind)


def _cells(column: Any) -> Iterable[Any]:
    cells: Iterable[Any] = column.to_pylist() if hasattr(column, "to_pylist") else column
    return cells


def _make_pairs(names: Iterable[Any], sequences: Iterable[Any], kind: str) -> list[tuple[str, Any]]:
    pairs = [*zip(names, sequences, strict=True)]
    for number, (name, sequence) in enumerate(pairs, start=1):
        if type(name).__name__ in MISSING and not (isinstance(name, float) and math.isfinite(name)):
            raise InputError(f"row {number} of the {kind} has no name, but {name}; give it one")
        if type(sequence).__name__ in MISSING:
            raise InputError(
                f"row {number} of the {kind} ({name}) has no sequence, but {sequence}; leave it out"
            )
    return [(str(name), sequence) for name, sequence in pairs]


def _is_at_start(stream: Any) -> bool:
    try:
        return bool(stream.tell() == 0)
    except (AttributeError, OSError):  # a pipe, or a text file that is being iterated over
        return False


def _read_stream(stream: Any, on_invalid: OnInvalid) -> Any:
    """Return the path of an open file, or the records that are left in it."""
    if sys.stdin is not None and stream in (sys.stdin, sys.stdin.buffer):
        return "-"
    name = getattr(stream, "name", None)
    called = name if isinstance(name, str) else type(stream).__name__
    try:
        if isinstance(name, str) and os.path.isfile(name) and _is_at_start(stream):
            return Path(name)
        with tempfile.TemporaryDirectory(prefix="swdual-") as folder:
            copied = Path(folder, "records")
            with copied.open("wb") as copy:
                while piece := stream.read(COPIED):
                    copy.write(
                        piece.encode(errors="surrogateescape") if isinstance(piece, str) else piece
                    )
            records = read_sequences(copied, PROTEIN.cased, on_invalid=on_invalid)
            return [(each.title, PROTEIN.cased.decode(each.codes)) for each in records]
    except InputError as error:
        raise InputError(error.message, file=called, line=error.line) from error
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"cannot be read: {error}", file=called) from error
