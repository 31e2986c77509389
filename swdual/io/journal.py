"""A file of records that only grows: what was written survives if the process is killed.

::

    swdual journal 1\\n
    uint32 size, uint64 XXH3 of size and record, record     as often as there are records

A record that was not written completely is ignored, and so is everything behind it.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

import xxhash

from swdual.errors import OutputError
from swdual.io.output import name_errors, open_locked
from swdual.runtime.system import read_at, remove_open, write_at

TITLE = b"swdual journal "
MAGIC = TITLE + b"1\n"

HEAD = struct.Struct("<IQ")

SYNC_SECONDS = 1.0
"""Seconds between two syncs: a power failure loses the records of at most this time."""


class Journal:
    """A journal that only this process writes; ``len`` and ``[]`` work as with a list.

    Parameters
    ----------
    path
        The file; created if it does not exist, otherwise its records are kept.

    Raises
    ------
    OutputError
        If the file is no journal, is locked by another process, or cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        with name_errors(self.path):
            self._stream = open_locked(Path(path), self.path)
            self._file = self._stream.fileno()
            try:
                self._records = self._scan()
                os.ftruncate(self._file, self._end)
            except BaseException:
                self._stream.close()
                raise
        self._synced = time.monotonic()

    def _scan(self) -> list[tuple[int, int]]:
        """Return where each complete record begins, and its size."""
        size = os.fstat(self._file).st_size
        magic = read_at(self._file, len(MAGIC), 0)
        self._end = 0
        records: list[tuple[int, int]] = []
        if magic != MAGIC:
            if not MAGIC.startswith(magic):
                if magic.startswith(TITLE):
                    raise OutputError(
                        "was written by another release of swdual; remove it", file=self.path
                    )
                raise OutputError("is not a journal of swdual; rename it", file=self.path)
            return records
        self._end = len(MAGIC)
        while self._end + HEAD.size <= size:
            head = read_at(self._file, HEAD.size, self._end)
            length, checksum = HEAD.unpack(head)
            begin = self._end + HEAD.size
            if begin + length > size:
                break
            if _checksum(read_at(self._file, length, begin)) != checksum:
                break
            records.append((begin, length))
            self._end = begin + length
        return records

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, number: int) -> bytes:
        begin, length = self._records[number]
        with name_errors(self.path):
            return read_at(self._file, length, begin)

    def append(self, record: bytes) -> None:
        """Write a record; about once a second all records are synced to the disk.

        Raises
        ------
        OutputError
            If it cannot be written. A part of it may be in the file then, and is ignored later.
        """
        data = b"" if self._end else MAGIC
        begin = self._end + len(data) + HEAD.size
        data += HEAD.pack(len(record), _checksum(record)) + record
        with name_errors(self.path):
            end = self._end
            while data:
                written = write_at(self._file, data, end)
                data = data[written:]
                end += written
        self._records.append((begin, len(record)))
        self._end = end
        if time.monotonic() - self._synced > SYNC_SECONDS:
            self.sync()

    def clear(self) -> None:
        """Delete all records."""
        with name_errors(self.path):
            os.ftruncate(self._file, 0)
        self._records, self._end = [], 0

    def sync(self) -> None:
        """Have the system store all records on the disk."""
        with name_errors(self.path):
            os.fsync(self._file)
        self._synced = time.monotonic()

    def remove(self) -> None:
        """Delete the file."""
        with name_errors(self.path):
            remove_open(self._stream, self.path)

    def close(self) -> None:
        """Close the file, and unlock it."""
        self._stream.close()


def _checksum(record: bytes) -> int:
    digest = xxhash.xxh3_64(struct.pack("<I", len(record)))
    digest.update(record)
    return digest.intdigest()
