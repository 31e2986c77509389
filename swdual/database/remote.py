"""Remote databases: sections are fetched when they are first used, and kept in a cache folder.

A file of the cache has the size and the layout of the remote file, and is empty where nothing
was fetched yet. It is named after the digest of the manifest, which holds the checksum of every
section: it can be incomplete or damaged, but not out of date. Runs and processes share it.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import xxhash

from swdual.database.layout import (
    HEADER,
    HEADER_BYTES,
    MAGIC,
    Manifest,
    Section,
    checksum,
    read_digest,
)
from swdual.database.mapping import FileState, MappedFile, MemoryFile, Piece
from swdual.errors import DatabaseError, InputError
from swdual.io.remote import CHUNK_BYTES, RemoteError, RemoteFile
from swdual.runtime.cache import cache_folder, make_folders, make_private
from swdual.runtime.system import disk_bytes, open_own, write_at
from swdual.text.messages import size
from swdual.text.url import redact_name, split_chain

LIMIT = "SWDUAL_REMOTE_CACHE"
"""The environment variable with the size of the cache."""

DEFAULT_LIMIT = "20G"

SUFFIX = ".cached"

CHECKED_AT_ONCE = 4 << 20
"""Bytes of a section that are in memory while its checksum is computed."""


def open_remote(url: str, folder: Path | None) -> Piece:
    """Return the main file of a remote database, of which header and manifest are read.

    A file that is no database, or a part of one, is returned as far as it was read.

    Parameters
    ----------
    url
        What fsspec opens.
    folder
        Where its sections are kept; None stands for the user's cache folder.

    Raises
    ------
    DatabaseError
        If it cannot be opened or kept.
    """
    name = redact_name(url)
    try:
        file = RemoteFile(url)
        header = file.read(0, HEADER_BYTES)
    except RemoteError as error:
        raise DatabaseError(f"cannot be opened: {error.strerror}", file=name) from None
    assert file.size is not None
    if not file.size:
        raise DatabaseError("is empty; build it again with 'swdual makedb'", file=name)
    intact = len(header) == HEADER_BYTES and xxhash.xxh3_64_digest(header[:-8]) == header[-8:]
    if not intact or header[: len(MAGIC)] != MAGIC:
        file.close()
        return MemoryFile(header, name)
    digest = read_digest(memoryview(header))
    piece = CachedFile(file, f"{digest.hex()}-{file.size}", file.size, folder)
    _, _, _, _, offset, length, file_bytes, _ = HEADER.unpack_from(header)
    try:
        piece.write(0, header)
        if file_bytes == file.size == offset + length:
            manifest = bytes(piece.data[offset:file_bytes])
            if xxhash.xxh3_128_digest(manifest) != digest:
                piece.download(offset, file_bytes)
    except BaseException:
        piece.close()
        raise
    return piece


class CachedFile(MappedFile):
    """A remote file, mapped from its file in a cache folder.

    Parameters
    ----------
    remote
        The remote file.
    key
        What identifies its content.
    size
        Its bytes.
    folder
        Where it is kept; None stands for the user's cache folder, whose size is limited.

    Raises
    ------
    DatabaseError
        If it cannot be kept.
    """

    def __init__(self, remote: RemoteFile, key: str, size: int, folder: Path | None) -> None:
        self._remote, self._given = remote, folder
        self._present: set[int] = set()
        self._locks: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        self._closed, self._writing = False, threading.Lock()
        place = _find_folder() if folder is None else folder
        self._limit = find_limit() if folder is None else None
        try:
            if folder is not None:
                make_folders(folder)
            elif cache_folder() is None:
                self._limit = 0  # others can write to the folder for temporary files
            else:
                place = make_private(place)
            path = place / f"{key}{SUFFIX}"
            if self._limit == 0:  # it has no name: the system removes it with the process
                file = tempfile.TemporaryFile(dir=place, buffering=0)  # noqa: SIM115  (closed below)
            else:
                file = os.fdopen(open_own(path, 0o600), "r+b", 0)
                os.utime(path)
            self._writer = file.fileno()
            self._close_writer = weakref.finalize(self, file.close)
            if os.fstat(self._writer).st_size != size:
                os.ftruncate(self._writer, size)
            super().__init__(path, self._writer)
        except OSError as error:
            raise self._storing_error(error) from error
        self.name, self.url, self.folder = remote.name, remote.url, place
        self._path = path
        if self._limit:
            _trim(place, self._limit, keep=self._path, more=size)

    def state(self) -> FileState:
        """Return the size of the file; other processes may add what they fetch. See `Piece`."""
        return FileState(super().state().bytes, 0)

    def close(self) -> None:
        """Close the file. See `MappedFile.close`."""
        if not self._closed:
            with self._writing:
                self._closed = True
                self._close_writer()
            self._remote.close()
            if self._limit:
                _trim(self.folder, self._limit)
        super().close()

    def fetch(self, section: Section) -> None:
        """Have a section here, with its bytes as its checksum says.

        Raises
        ------
        DatabaseError
            If it cannot be read or kept, is damaged, or the remote file was changed.
        """
        if section.offset in self._present:
            return
        with self._locks[section.offset]:
            if section.offset in self._present or self._has(section):
                self._present.add(section.offset)
                return
            for _ in range(2):
                self.download(section.offset, section.offset + section.bytes)
                if self._has(section):
                    self._present.add(section.offset)
                    return
        self._explain_damage(section)

    def _has(self, section: Section) -> bool:
        data = self.data[section.offset : section.offset + section.bytes]
        parts = (data[k : k + CHECKED_AT_ONCE] for k in range(0, len(data), CHECKED_AT_ONCE))
        same = checksum(parts) == section.checksum
        self.release()
        return same

    def _explain_damage(self, section: Section) -> None:
        try:
            self._remote.check_unchanged()
        except RemoteError as error:
            raise DatabaseError(f"{error.strerror}", file=self.name) from None
        raise DatabaseError(
            f"damaged section {section.name!r} (checksum mismatch); copy it there again, with all "
            "of its shards, or build it again with 'swdual makedb'",
            file=self.name,
        )

    def download(self, start: int, stop: int) -> None:
        """Fetch the bytes from `start` to `stop`, chunk by chunk.

        Raises
        ------
        DatabaseError
            If they cannot be read or kept.
        """
        for first in range(start, stop, CHUNK_BYTES):
            try:
                data = self._remote.read(first, min(first + CHUNK_BYTES, stop))
            except RemoteError as error:
                raise DatabaseError(f"cannot be read: {error.strerror}", file=self.name) from None
            self.write(first, data)

    def write(self, offset: int, data: bytes) -> None:
        """Keep some bytes.

        Raises
        ------
        DatabaseError
            If they cannot be kept, or the file was closed.
        """
        left = memoryview(data)
        with self._writing:  # the number of a closed file may be that of another one
            if self._closed:
                raise DatabaseError(
                    "is closed; keep it open while its results are used", file=self._remote.name
                )
            try:
                while left:
                    count = write_at(self._writer, left, offset)
                    left, offset = left[count:], offset + count
            except OSError as error:
                raise self._storing_error(error) from error

    def _storing_error(self, error: OSError) -> DatabaseError:
        return DatabaseError(
            f"cannot be kept in {self._given or _find_folder()} ({error.strerror or error}); "
            "make room, or name another folder by SWDUAL_CACHE_DIR",
            file=self._remote.name,
        )

    def open_shard(self, number: int, manifest: Manifest) -> CachedFile:
        """Return a shard, of which the header is read.

        Raises
        ------
        DatabaseError
            If it is missing, has another size, or cannot be opened or kept.
        """
        url, promised = shard_url(self.url, number), manifest.shards[number].bytes
        try:
            remote = RemoteFile(url)
            header = remote.read(0, HEADER_BYTES)
        except RemoteError as error:
            raise DatabaseError(
                f"cannot be opened: it is shard {number} of {len(manifest.shards)}: "
                f"{error.strerror}",
                file=redact_name(url),
            ) from None
        if remote.size != promised:
            remote.close()
            raise DatabaseError(
                f"has {remote.size} bytes where {promised} are promised; copy it there again",
                file=remote.name,
            )
        key = f"{read_digest(self.data).hex()}-{promised}.{number:03}"
        shard = CachedFile(remote, key, promised, self._given)
        shard.write(0, header)
        return shard

    def has_shard(self, number: int, size: int) -> bool:
        """Return whether a shard of a size is where it should be."""
        try:
            file = RemoteFile(shard_url(self.url, number))
        except RemoteError:
            return False
        file.close()
        return file.size == size


def shard_url(database: str, number: int) -> str:
    """Return the URL of a shard: that of the database, and a number behind its path.

    >>> shard_url("https://host/all.db?key=1", 2)
    'https://host/all.db.002?key=1'
    """
    links = split_chain(database)
    k = next((k for k, link in enumerate(links) if "://" in link), 0)  # before it: simplecache::
    path, mark, query = links[k].partition("?")
    links[k] = f"{path}.{number:03}{mark}{query}"
    return "::".join(links)


def find_limit() -> int:
    """Return the size of the cache in bytes, as the environment says.

    Raises
    ------
    InputError
        If that is no size.
    """
    text = os.environ.get(LIMIT) or DEFAULT_LIMIT
    limit = 0 if text == "0" else size(text, 1024)
    if limit is None:
        raise InputError(f"{LIMIT} is {text!r}, but it must be a size such as 20G, or 0")
    return limit


def _find_folder() -> Path:
    """Return the folder of the user's cache; releases share it."""
    folder = cache_folder()
    return Path(tempfile.gettempdir()) if folder is None else folder.parent / "remote"


def _trim(folder: Path, limit: int, *, keep: Path | None = None, more: int = 0) -> None:
    """Remove files of the cache, those first that were opened longest ago, down to a limit.

    Processes that have one open go on with it.

    Parameters
    ----------
    folder, limit
        The cache, and its size in bytes.
    keep, more
        A file that stays, and the bytes that it may grow to.
    """
    files: list[tuple[float, int, Path]] = []
    for path in folder.glob(f"*{SUFFIX}"):
        with suppress(OSError):
            status = path.stat()
            if path != keep:
                files.append((status.st_mtime, disk_bytes(status), path))
    taken = more + sum(held for _, held, _ in files)
    for _, held, path in sorted(files):
        if taken <= limit:
            return
        with suppress(OSError):
            path.unlink()
            taken -= held
