"""Bytes to read: a file mapped into memory, or bytes in memory."""

from __future__ import annotations

import mmap
import os
import weakref
from typing import NamedTuple, Protocol

from swdual.io.stream import Source
from swdual.runtime.system import free_pages


class FileState(NamedTuple):
    """Size and time of the last change of a file: they tell whether it was written to."""

    bytes: int
    written: int


class Piece(Protocol):
    """Contiguous bytes of a database, and their name in messages."""

    name: str
    data: memoryview

    def state(self) -> FileState | None:
        """Return the state of the file, or None for bytes in memory."""

    def release(self) -> None:
        """Free the memory that a file was read into."""

    def close(self) -> None:
        """Close the file, or release the bytes."""


class MemoryFile:
    """Bytes in memory, used like a file."""

    def __init__(self, data: bytes | memoryview, name: str) -> None:
        self.name = name
        self.data = memoryview(data)

    def state(self) -> None:
        """Return None: the bytes do not change."""

    def release(self) -> None:
        """Do nothing: the bytes could not be read again."""

    def close(self) -> None:
        """Release the bytes.

        Raises
        ------
        BufferError
            If some of the bytes are still in use; they are freed after the last use.
        """
        self.data.release()


class MappedFile:
    """A file whose bytes are `data`; the system reads them from the disk when they are used.

    If another file takes the name of the file, the old one is still read. If the file is truncated,
    bytes behind its end must not be touched: the system kills processes that do. So the file is
    kept open, and `state` tells its size.

    Parameters
    ----------
    path
        The file.
    descriptor
        The file if it is open already; it is left open.

    Raises
    ------
    OSError, ValueError
        If it cannot be opened; if it is empty.
    """

    def __init__(self, path: Source, descriptor: int | None = None) -> None:
        self.name = os.fspath(path)
        opened = path if descriptor is None else descriptor
        with open(opened, "rb", closefd=descriptor is None) as file:
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
        status = os.fstat(self._number)
        return FileState(status.st_size, status.st_mtime_ns)

    def release(self) -> None:
        """Free the memory that the file was read into; what is needed later is read again."""
        if not self._map.closed:
            free_pages(self._map)

    def close(self) -> None:
        """Close the file.

        Raises
        ------
        BufferError
            If some of its bytes are still in use; the file is closed after the last use.
        """
        self.data.release()
        self._close()
        self._map.close()
