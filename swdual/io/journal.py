"""A file of records that only grows, so that what was written survives whatever ends its writer.

::

    swdual journal 1\\n
    uint32 size, uint64 XXH3 of size and record, record     as often as there are records

A record that was not written whole, and all behind it, is as if it had never been written.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

import xxhash

from swdual.errors import OutputError
from swdual.io.output import name_errors, open_locked

TITLE = b"swdual journal "
MAGIC = TITLE + b"1\n"

HEAD = struct.Struct("<IQ")

SYNC_SECONDS = 1.0
"""How often what was written is stored for good: a power failure costs that much work at most."""


class Journal:
    """A journal that this process writes, and no other; ``len`` and ``[]`` as with a list.

    Parameters
    ----------
    path
        The file; made if it is not there, else its records are kept.

    Raises
    ------
    OutputError
        If it is no journal, is held by another process, or cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        with name_errors(self.path):
            self._stream = open_locked(Path(path), self.path)
            self._file = self._stream.fileno()
            try:
                self._places = self._scan()
                os.ftruncate(self._file, self._end)
            except BaseException:
                self._stream.close()
                raise
        self._synced = time.monotonic()

    def _scan(self) -> list[tuple[int, int]]:
        """Return where each whole record is, and its size."""
        size = os.fstat(self._file).st_size
        magic = os.pread(self._file, len(MAGIC), 0)
        self._end = 0
        places: list[tuple[int, int]] = []
        if magic != MAGIC:
            if not MAGIC.startswith(magic):
                if magic.startswith(TITLE):
                    raise OutputError("was written by another release; remove it", file=self.path)
                raise OutputError("is in the way: it is no journal; rename it", file=self.path)
            return places
        self._end = len(MAGIC)
        while self._end + HEAD.size <= size:
            head = os.pread(self._file, HEAD.size, self._end)
            length, checksum = HEAD.unpack(head)
            begin = self._end + HEAD.size
            if begin + length > size:
                break
            if _checksum(os.pread(self._file, length, begin)) != checksum:
                break
            places.append((begin, length))
            self._end = begin + length
        return places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: int) -> bytes:
        begin, length = self._places[number]
        with name_errors(self.path):
            return os.pread(self._file, length, begin)

    def append(self, record: bytes) -> None:
        """Write a record; now and then all are stored for good.

        Raises
        ------
        OutputError
            If it cannot be written; then a part of it may be in the file, which does no harm.
        """
        data = b"" if self._end else MAGIC
        begin = self._end + len(data) + HEAD.size
        data += HEAD.pack(len(record), _checksum(record)) + record
        with name_errors(self.path):
            place = self._end
            while data:
                written = os.pwrite(self._file, data, place)
                data = data[written:]
                place += written
        self._places.append((begin, len(record)))
        self._end = place
        if time.monotonic() - self._synced > SYNC_SECONDS:
            self.sync()

    def clear(self) -> None:
        """Forget all records."""
        with name_errors(self.path):
            os.ftruncate(self._file, 0)
        self._places, self._end = [], 0

    def sync(self) -> None:
        """Have the system store what was written for good."""
        with name_errors(self.path):
            os.fsync(self._file)
        self._synced = time.monotonic()

    def remove(self) -> None:
        """Delete the file."""
        with name_errors(self.path):
            os.unlink(self.path)
        self.close()

    def close(self) -> None:
        """Let others have the file."""
        self._stream.close()


def _checksum(record: bytes) -> int:
    digest = xxhash.xxh3_64(struct.pack("<I", len(record)))
    digest.update(record)
    return digest.intdigest()
