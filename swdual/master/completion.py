"""Completion: which search has written an output, so that `--resume` need not, and must not, guess.

A job script says ``--resume`` whether the output is there or not. Where it is, the search is done
only if the same queries, database and options gave it, in the same format, and nobody changed it
since. So an output carries a record of all that, with the digest of its own content. The record
is an extended attribute of the file: it adds no second file, appears together with the file, moves
with it, and is gone when another program writes a file of that name. File systems without extended
attributes (some NFS) have no room for it; there the journal keeps the record in the place of what
it held, but only if ``--resume`` was given, so that nobody else gets a second file. Without a
record, as for a copy or the output of an older release, nothing is known, and the output is not
called complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import xxhash

from swdual.errors import OutputError
from swdual.io.journal import Journal
from swdual.io.output import split_compression
from swdual.master.checkpoint import Identity, list_differences, read_completion
from swdual.results.file_types import OutputFormat
from swdual.runtime.system import read_at, read_attribute, write_attribute

ATTRIBUTE = "user.swdual.search"
"""The extended attribute that has the record."""

READ_BYTES = 1 << 20

_CONTENT = "content"


class Completion:
    """The record of an output.

    Parameters
    ----------
    out
        The output, a plain file.
    journal
        The journal of its search.
    chosen
        How the output is written.
    """

    def __init__(self, out: str | os.PathLike[str], journal: Path, chosen: OutputFormat) -> None:
        self._out = os.fspath(out)
        self._journal = journal
        self._chosen = chosen
        self._shown: dict[str, str | None] = {
            "format": chosen.name,
            "fields": " ".join(chosen.fields) or None,
            "header": "yes" if chosen.header else "no",
            "compression": split_compression(out)[1],
        }
        self._left: bytes | None = None
        self._kept = 0

    def of_file(self, path: str) -> Completion:
        """Return the record of one of the files, if the output has several."""
        return Completion(path, self._journal, self._chosen)

    def has_output(self) -> bool:
        """Return whether the output is there, and no search that was to write it was ended.

        Raises
        ------
        OutputError
            If another process is at it.
        """
        return os.path.isfile(self._out) and not self.is_interrupted()

    def is_interrupted(self) -> bool:
        """Return whether a journal is there that a search can go on with."""
        return self._journal.exists() and self._in_journal() is None

    def _in_journal(self) -> bytes | None:
        """Return the record that the journal keeps, if it keeps one and nothing else."""
        journal = Journal(self._journal)
        try:
            return read_completion(journal)
        finally:
            journal.close()

    def keep(self, descriptor: int, identity: Identity) -> None:
        """Record that a file is the output of this search, in the file if it has room: see `left`.

        Parameters
        ----------
        descriptor
            The output, open and whole.
        identity
            The search.
        """
        record = json.dumps({**identity, **self._shown, _CONTENT: _digest(descriptor)}).encode()
        self._left = None
        self._kept += 1
        try:
            write_attribute(descriptor, ATTRIBUTE, record)
        except OSError:  # there are none, or none so large; the output itself is as it should be
            self._left = record

    def left(self) -> bytes | None:
        """Return the record if the file could not have it; None of several files."""
        return self._left if self._kept == 1 else None

    def require(self, identity: Identity) -> None:
        """Check that the output is what this search would write.

        Raises
        ------
        OutputError
            If it is another search's, was changed since, or tells nothing; says which.
        """
        record = self._record()
        remedy = "--force searches again, or write to another file"
        if record is None:
            raise OutputError(
                "exists, but nothing tells which search wrote it: it may be a copy, or of another "
                f"program or release; {remedy}",
                file=self._out,
            )
        differing = list_differences(
            {name: value for name, value in record.items() if name != _CONTENT},
            {**identity, **self._shown},
        )
        if differing:
            raise OutputError(
                f"is the output of a search with {'; '.join(differing)}; {remedy}", file=self._out
            )
        with open(self._out, "rb") as stream:
            if record[_CONTENT] != _digest(stream.fileno()):
                raise OutputError(
                    f"was changed since the search wrote it; {remedy}", file=self._out
                )

    def _record(self) -> Identity | None:
        """Return what is recorded of the output, if anything."""
        data = None
        with suppress(OSError):
            data = read_attribute(self._out, ATTRIBUTE)
        if data is None and self._journal.exists():
            data = self._in_journal()
        if data is None:
            return None
        try:
            record = json.loads(data)
        except ValueError:
            return None
        return record if isinstance(record, Mapping) and _CONTENT in record else None


def _digest(descriptor: int) -> str:
    """Return size and digest of a file's content."""
    state, size = xxhash.xxh3_128(), 0
    while data := read_at(descriptor, READ_BYTES, size):
        state.update(data)
        size += len(data)
    return f"{size} bytes with digest {state.hexdigest()}"
