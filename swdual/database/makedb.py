"""From sequence files to a database file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from swdual.database.build import build, most_room
from swdual.database.database import Database
from swdual.database.layout import BLOCK_BYTES
from swdual.database.room import room_within
from swdual.database.source import typed_batches
from swdual.errors import InputError, OutputError
from swdual.memory import allowance
from swdual.output import replacing
from swdual.sequences.stream import Source
from swdual.sequences.validation import OnInvalid
from swdual.version import __version__


def makedb(
    sources: Source | Iterable[Source],
    path: Source,
    *,
    dbtype: str = "auto",
    title: str | None = None,
    on_invalid: OnInvalid = "error",
    force: bool = False,
    memory_limit: int | None = None,
    progress: Callable[[int], None] = lambda residues: None,
) -> Database:
    """Write the records of FASTA or FASTQ files to a database file, and return it opened.

    The file appears under its name only when complete. By default memory stays below 1 GiB for
    any input, as long as no single sequence is longer than about 200 million residues.

    Parameters
    ----------
    sources
        One path or several; "-" is standard input; plain, gz, bz2, xz or zst.
    path
        The database file.
    dbtype
        "prot", "nucl", or "auto": proteins, unless nearly all letters are nucleotides', which
        must then be said.
    title
        What the database is called; by default the name of the first source.
    on_invalid
        What becomes of letters that are none: see `read_batches`.
    force
        Replace an existing file; accept nucleotide-like sequences as proteins.
    memory_limit
        Bytes of memory to use at most, if no single sequence needs more; by default what machine
        and job have, less a tenth. The file does not depend on it.
    progress
        Called with the number of residues read, batch by batch.

    Raises
    ------
    InputError
        If a source cannot be read or is not as it should be.
    MemoryLimitError
        If that is too little memory; says what would be enough.
    OutputError
        If the database cannot be written, or exists and `force` is not given.
    """
    paths = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    if not paths:
        raise InputError("no input: name at least one FASTA file")
    target = Path(path)
    if os.fspath(path) == "-":
        raise InputError("a database is a file: it cannot be written to standard output")
    if os.path.exists(target) and not os.path.isfile(target):
        kind = "Is a directory" if os.path.isdir(target) else "Not a regular file"
        raise OutputError(f"{kind}, but a database is a regular file", file=path)
    room = room_within(most_room(), BLOCK_BYTES, allowance(memory_limit))
    batches, alphabet = typed_batches(paths, dbtype, on_invalid, force=force)
    with replacing(target, force=force, inputs=paths) as stream:
        build(
            batches,
            stream,
            alphabet,
            title=title if title is not None else os.fspath(paths[0]),
            writer=f"swdual {__version__}",
            scratch=target.parent,
            room=room,
            progress=progress,
        )
    return Database.open(target)
