"""A file mapped into memory, and what becomes of it while it is read."""

from __future__ import annotations

import mmap
import os
import weakref
from typing import NamedTuple

from swdual.sequences.stream import Source


class FileState(NamedTuple):
    """What tells whether a file was written to."""

    bytes: int
    written: int


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
        self._close()
        self._map.close()
