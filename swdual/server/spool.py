"""The result of a job in a temporary file, read while it is written."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from swdual.runtime.system import read_at, write_at

FLUSH_BYTES = 1 << 16
"""So many bytes are written to the file at a time, unless they come slowly."""

FLUSH_SECONDS = 0.1
"""Bytes that were held back for so long are written."""

READ_BYTES = 1 << 18


class Gone(Exception):
    """The file of a result was closed."""


class Spool:
    """A file without a name: the system frees it with its last user, however the process ends.

    One thread writes. Others read what was `flushed`, each in a `reading` block; the file is closed
    after the last of these and `drop`.

    Parameters
    ----------
    folder
        Where the file is.
    changed
        Called in the thread that writes, when more can be read.
    """

    def __init__(self, folder: Path, changed: Callable[[], None]) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  (see `drop`)
        self._changed = changed
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._flushed_at = time.monotonic()
        self._users = 1
        self._lock = threading.Lock()
        self.flushed = 0

    @property
    def size(self) -> int:
        """Bytes that were written."""
        return self.flushed + self._held_bytes

    def write(self, data: bytes | memoryview, /) -> int:
        """Write some bytes."""
        self._held.append(bytes(data))
        self._held_bytes += len(data)
        late = time.monotonic() - self._flushed_at > FLUSH_SECONDS
        if self._held_bytes >= FLUSH_BYTES or late:
            self.flush()
        return len(data)

    def flush(self) -> None:
        """Write all bytes to the file, so that they can be read."""
        data = b"".join(self._held)
        self._held, self._held_bytes = [], 0
        self._flushed_at = time.monotonic()
        view = memoryview(data)
        while view:
            count = write_at(self._file.fileno(), view, self.flushed)
            view = view[count:]
            self.flushed += count
        self._changed()

    @contextmanager
    def reading(self) -> Iterator[Callable[[int], bytes]]:
        """Keep the file open in this block; yields a function that reads from an offset.

        Raises
        ------
        Gone
            If it was closed before.
        """
        with self._lock:
            if not self._users:
                raise Gone
            self._users += 1
        try:
            yield self._read
        finally:
            self.drop()

    def _read(self, offset: int) -> bytes:
        return read_at(self._file.fileno(), min(READ_BYTES, self.flushed - offset), offset)

    def drop(self) -> None:
        """Give the file up; nobody can begin to read it after the last user has."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._file.close()
