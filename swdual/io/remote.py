"""Remote files, read by fsspec: in ranges, or from beginning to end.

What fails for a moment is tried again. Errors say the cause without secrets.
"""

from __future__ import annotations

import errno
import io
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from typing import IO, Any, NoReturn, TypeVar

from swdual.runtime.extras import install_command
from swdual.text.url import redact_name, redact_text

Found = TypeVar("Found")

CHUNK_BYTES = 8 << 20
"""Bytes of one request."""

DELAYS = (0.5, 1.0, 2.0, 4.0)
"""Seconds to wait before what failed is tried again."""

CONNECT_SECONDS, SILENT_SECONDS = 30, 60
"""How long an HTTP server may take to accept a connection, and then to send something."""

_RANGE = re.compile(r"bytes=(\d+)-(\d+)")

IDENTITY = (
    ("ETag", "etag", "md5Hash", "Content-MD5", "checksum"),
    ("Last-Modified", "LastModified", "last_modified", "updated", "mtime", "modified", "created"),
)
"""What file systems call the checksum of a file, and the time of its last change."""

PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "http": "aiohttp",
    "https": "aiohttp",
}
"""What fsspec needs for some protocols."""

FINAL = (
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    NotImplementedError,
    ValueError,
    TypeError,
    KeyError,
    ImportError,
)
"""Errors that another attempt would meet again."""


class RemoteError(OSError):
    """A remote file that cannot be opened or read; `strerror` says why, and the remedy."""

    def __init__(self, message: str) -> None:
        super().__init__(errno.EIO, message)

    def __reduce__(self) -> tuple[type[RemoteError], tuple[str]]:
        return RemoteError, (str(self.strerror),)


class RemoteFile:
    """A remote file. Threads may share it.

    Parameters
    ----------
    url
        What fsspec opens: a URL, or a chain of them.

    Raises
    ------
    RemoteError
        If there is no such file, it cannot be reached, or a package is missing.
    """

    def __init__(self, url: str) -> None:
        self.url, self.name = url, redact_name(url)
        self._lock = threading.RLock()
        self._file: IO[bytes] | None = None
        self._files, self._path = _connect(url)
        facts = self._attempt(self._read_facts)
        self.size: int | None = facts["size"]
        self._identity = self._identify(facts)

    def _read_facts(self) -> dict[str, Any]:
        with suppress(Exception):  # listings that some file systems keep
            self._files.invalidate_cache(self._path)
        facts: dict[str, Any] = self._files.info(self._path)
        if facts.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, "is a directory")
        return facts

    @staticmethod
    def _identify(facts: dict[str, Any]) -> tuple[object, ...]:
        """Return what tells that a file was changed, as far as its file system knows it."""
        known = [next((facts[k] for k in names if facts.get(k)), None) for names in IDENTITY]
        return facts["size"], *known

    def check_unchanged(self) -> None:
        """Check that the file is the one that was opened.

        Raises
        ------
        RemoteError
            If it was changed since, or cannot be reached.
        """
        if self._identify(self._attempt(self._read_facts)) != self._identity:
            raise RemoteError("was changed while it was read; begin again")

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes from `start` to `stop`, fewer only if the file ends before.

        Raises
        ------
        RemoteError
            If they cannot be read, or the server cannot send parts of files.
        """
        size = self.size
        if size is None or not self.is_seekable:
            raise RemoteError(
                "its server cannot send parts of files; download it, and use the copy"
            )
        parts = [
            self._attempt(lambda a=a, b=b: self._read_range(a, b))  # type: ignore[misc]
            for a, b in _chunk(start, min(stop, size))
        ]
        return b"".join(parts)

    def _read_range(self, start: int, stop: int) -> bytes:
        with self._lock:
            try:
                file = self._opened()
                file.seek(start)
                data = file.read(stop - start)
            except Exception:
                self._forget()
                raise
        if len(data) != stop - start:
            raise EOFError(f"{len(data)} bytes arrived where {stop - start} were asked for")
        return data

    @cached_property
    def is_seekable(self) -> bool:
        """Whether its server can send parts of files."""
        with self._lock:
            return self.size is not None and self._attempt(lambda: self._probe(self.size or 0))

    def _probe(self, size: int) -> bool:
        """Return whether a part can be read: servers do not always say that they send none."""
        try:
            file = self._opened()
            if size > 1 and file.seekable():
                file.seek(1)
                file.read(1)
            return file.seekable()
        except ValueError:
            self._forget()
            return False
        except Exception:
            self._forget()
            raise

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            # A request for exactly what is read: fsspec would keep whole chunks in memory.
            options = {"block_size": CHUNK_BYTES, "cache_type": "none"}
            self._file = self._files.open(self._path, "rb", **options)
        return self._file

    def _forget(self) -> None:
        """Close the connection; the next attempt opens another."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(Exception):
                file.close()

    def open_stream(self) -> io.BufferedReader:
        """Return the content from beginning to end.

        If the server cannot send parts of files, an interrupted stream is not continued.
        """
        raw: io.RawIOBase
        if self.size is not None and self.is_seekable:
            raw = _Ranges(self, self.size)
        else:
            raw = _Stream(
                self, self._attempt(lambda: self._files.open(self._path, "rb", block_size=0))
            )
        return io.BufferedReader(raw, 1 << 16)  # type: ignore[arg-type]

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._forget()

    def _attempt(self, action: Callable[[], Found]) -> Found:
        """Return what a function returns, which is called again if it fails for the moment."""
        for delay in DELAYS:
            try:
                return action()
            except Exception as error:
                if _is_final(_root(error)):
                    self._fail(error)
            time.sleep(delay)
        try:
            return action()
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> NoReturn:
        if isinstance(error, RemoteError):
            raise error
        raise RemoteError(_explain(_root(error), self.url)) from None


class _Ranges(io.RawIOBase):
    """A remote file, range by range; the next one is fetched while one is read."""

    def __init__(self, file: RemoteFile, size: int) -> None:
        self._file, self._size = file, size
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="swdual reading ahead")
        self._next: Future[bytes] | None = None
        self._fetched = 0
        self._left = memoryview(b"")
        self._ended = False
        self._fetch()

    def _fetch(self) -> None:
        start, stop = self._fetched, min(self._fetched + CHUNK_BYTES, self._size)
        self._fetched = stop
        self._next = self._pool.submit(self._file.read, start, stop) if start < stop else None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        if not self._left and self._next is not None:
            self._left = memoryview(self._next.result())
            self._fetch()
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        if not count and not self._ended:
            self._ended = True
            self._file.check_unchanged()
        return count

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._file.close()
        super().close()


class _Stream(io.RawIOBase):
    """A remote file that can only be read from beginning to end."""

    def __init__(self, file: RemoteFile, stream: IO[bytes]) -> None:
        self._file, self._stream, self._count = file, stream, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except Exception as error:
            raise RemoteError(_explain(_root(error), self._file.url)) from None
        self._count += len(data)
        if not data and self._count != (self._file.size or self._count):
            raise RemoteError(f"ended after {self._count} of {self._file.size} bytes; try again")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        with suppress(Exception):
            self._stream.close()
        self._file.close()
        super().close()


def _connect(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        import fsspec
        from fsspec.core import url_to_fs
    except ImportError:
        raise RemoteError(f"URLs need fsspec: {install_command('remote')}") from None
    options: dict[str, Any] = {}
    try:
        for protocol in ("http", "https"):
            if f"{protocol}://" in url:
                options[protocol] = _http_options(fsspec.config.conf.get(protocol, {}))
        files, path = url_to_fs(url, **options)
    except Exception as error:
        raise RemoteError(_explain(error, url)) from None
    return files, path


def _http_options(configured: dict[str, Any]) -> dict[str, Any]:
    """Return options of HTTP: limits of time, and no compression on the way."""
    import aiohttp

    timeout = aiohttp.ClientTimeout(
        total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENT_SECONDS
    )

    class Response(aiohttp.ClientResponse):  # type: ignore[misc]
        """A response of which no more is read than was asked for, whatever the server sends."""

        _body: bytes | None

        async def read(self) -> bytes:
            asked = _RANGE.fullmatch(self.request_info.headers.get("Range", ""))
            if asked is None or self._body is not None:
                whole: bytes = await super().read()
                return whole
            left, parts = int(asked[2]) - int(asked[1]) + 1, []
            while left and (part := await self.content.read(left)):
                parts.append(part)
                left -= len(part)
            if not self.content.at_eof():
                self.close()
            self._body = body = b"".join(parts)
            return body

    client = {
        "timeout": timeout,
        "response_class": Response,
        **configured.get("client_kwargs", {}),
    }
    headers = {**configured.get("headers", {}), "Accept-Encoding": "identity"}
    return {**configured, "client_kwargs": client, "headers": headers}


def _chunk(start: int, stop: int) -> list[tuple[int, int]]:
    return [(a, min(a + CHUNK_BYTES, stop)) for a in range(start, stop, CHUNK_BYTES)]


def _root(error: BaseException) -> BaseException:
    """Return the error behind one that says no more than that there is no such file."""
    while isinstance(error, FileNotFoundError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _is_final(error: BaseException) -> bool:
    """Return whether another attempt would fail, too."""
    status = getattr(error, "status", None)
    if isinstance(status, int) and status >= 400:
        return status < 500 and status not in (408, 425, 429)
    return isinstance(error, (*FINAL, RemoteError))


def _explain(error: BaseException, url: str) -> str:
    """Return cause and remedy, without secrets."""
    status = getattr(error, "status", None)
    if isinstance(error, ImportError):
        for protocol, package in PACKAGES.items():
            if f"{protocol}://" in url and package in str(error):
                return f"{protocol}:// needs {package}: pip install {package}"
        return f"its protocol needs another package: {redact_text(str(error))}"
    if isinstance(error, FileNotFoundError) or status in (404, 410):
        return "there is no such file; look at its name"
    if isinstance(error, PermissionError) or status in (401, 403):
        code = f" (HTTP {status})" if status else ""
        return f"access is denied{code}; look at its name, and give credentials"
    if isinstance(error, IsADirectoryError):
        return "is a directory, not a file"
    if isinstance(status, int) and status >= 400:
        return f"the server answers HTTP {status}; try again later"
    if isinstance(error, TimeoutError):
        return "the server does not answer in time; try again later"
    cause = redact_text(str(error).replace(url, redact_name(url))) or "no reason given"
    kind = type(error).__name__
    if isinstance(error, ValueError | TypeError | KeyError | NotImplementedError):
        return f"{kind}: {cause}; look at its name"
    return f"{kind}: {cause}; look at the network, and try again"
