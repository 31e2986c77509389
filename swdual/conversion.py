"""Tables of hits from one format to another."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from swdual import registry
from swdual.errors import InputError
from swdual.format import NUMBERS, SUFFIXES, Column, Table, TableFormat
from swdual.hits.fields import STANDARD
from swdual.output import replacing


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    before: str | None = None,
    after: str | None = None,
    header: bool | None = None,
    force: bool = False,
) -> int:
    """Turn a table of hits into another format; return the number of hits.

    Parameters
    ----------
    source, target
        Files; "-" is standard input or output.
    before, after
        Formats by name or by BLAST's number; by default what the files' names say.
    header
        Write the names of the fields in the first line; by default where they are not BLAST's
        twelve, without which a table of text could not be read again.
    force
        Replace `target`.

    Raises
    ------
    InputError, OutputError
        If a format is unknown or cannot be converted, the table is damaged, or `target` cannot be
        written.
    """
    reader, writer = _format(source, before, "read"), _format(target, after, "write")
    rows = 0

    def counted(table: Table) -> Iterator[list[Column]]:
        nonlocal rows
        for chunk in table.chunks:
            rows += len(chunk[0]) if chunk else 0
            yield chunk

    with _opened(source) as stream:
        table = reader.read_table(stream, os.fspath(source))
        if header is None:
            header = table.fields != STANDARD
        with replacing(target, force=force) as output:
            writer.write_table(Table(table.fields, counted(table)), output, header=header)
    return rows


def _format(path: str | os.PathLike[str], name: str | None, verb: str) -> TableFormat:
    """Return the format of a file."""
    if name is None:
        name = SUFFIXES.get(Path(path).suffix.lower())
    if name is None:
        raise InputError(
            f"the name does not say the format; give --{'from' if verb == 'read' else 'to'} "
            f"({', '.join(_convertible(verb))})",
            file=path,
        )
    name = NUMBERS.get(name, name)
    module = registry.load("swdual.formats", name)
    if not hasattr(module, f"{verb}_table"):
        raise InputError(
            f"format {name} cannot be converted; these can: {', '.join(_convertible(verb))}"
        )
    return cast(TableFormat, module)


def _convertible(verb: str) -> list[str]:
    """Return the formats of which tables can be read (written)."""
    package = "swdual.formats"
    names = registry.available(package)
    return [name for name in names if hasattr(registry.load(package, name), f"{verb}_table")]


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    if os.fspath(path) == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = open(path, "rb")  # noqa: SIM115  (closed below; what fails later is not its fault)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    with stream:
        yield stream
