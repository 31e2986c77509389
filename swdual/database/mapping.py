"""A stretch of bytes that is read: a file mapped into memory, or what memory holds anyway."""

from __future__ import annotations

import mmap
import os
import weakref
from typing import NamedTuple, Protocol

from swdual.sequences.stream import Source


class FileState(NamedTuple):
    """What tells whether a file was written to."""

    bytes: int
    written: int


class Piece(Protocol):
    """Bytes of a database, one behind the other, and what they are called."""

    name: str
    data: memoryview

    def state(self) -> FileState | None:
        """Return what has become of the file, if it is one."""

    def release(self) -> None:
        """Let go of the memory that a file was read into."""

    def close(self) -> None:
        """Let go of the bytes."""


class MemoryFile:
    """Bytes in memory that stand for a file."""

    def __init__(self, data: bytes | memoryview, name: str) -> None:
        self.name = name
        self.data = memoryview(data)

    def state(self) -> None:
        """Return nothing: it does not change."""

    def release(self) -> None:
        """Keep it: it could not be read again."""

    def close(self) -> None:
        """Let go of it.

        Raises
        ------
        BufferError
            If some of its bytes are still in use; the last who does lets go of it.
        """
        self.data.release()


class MappedFile:
    """A file whose bytes are `data`, read from the disk when they are looked at.

    A file that another takes the place of goes on being read. One that was cut short must not be
    touched behind its end: the system ends processes that do. So it is kept open, and `state`
    says what it has become.

    Raises
    ------
    OSError, ValueError
        If it cannot be opened; if it is empty.
    """

    def __init__(self, path: Source) -> None:
        self.name = os.fspath(path)
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._number = os.dup(file.fileno())
        self._close = weakref.finalize(self, os.close, self._number)
        self.data = memoryview(self._map)

    def state(self) -> FileState:
        """Return the size of the file and when it was last written to.

        Raises
        ------
        ValueError
            If the file was closed.
        """
        if not self._close.alive:
            raise ValueError("closed")
        found = os.fstat(self._number)
        return FileState(found.st_size, found.st_mtime_ns)

    def release(self) -> None:
        """Let go of the memory that the file was read into; what is needed is read again."""
        if hasattr(mmap, "MADV_DONTNEED") and not self._map.closed:
            self._map.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Let go of the file.

        Raises
        ------
        BufferError
            If some of its bytes are still in use; the last who does lets go of it.
        """
        self.data.release()
        self._close()
        self._map.close()
