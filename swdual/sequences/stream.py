"""Files and streams, compressed or not, as pieces that each hold whole FASTA records."""

from __future__ import annotations

import io
import lzma
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Protocol, cast

from swdual.errors import InputError
from swdual.io.url import find_path, redact_name

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Source = str | os.PathLike[str]
"""A path, a URL that fsspec opens, or "-" for standard input."""

CHUNK_BYTES = 4 << 20
READ_BYTES = 1 << 16

MAX_RECORD_LENGTH = 1 << 30
"""Bytes of a record, and of a line of FASTQ: a few bytes of zstd may unpack to any number."""

WINDOW_BYTES = 256 << 20
"""Memory for the window of an xz stream; ``xz -9`` takes 65 MiB."""

WINDOW = {int(zstd.DecompressionParameter.window_log_max): 27}
"""The same for zstd: 128 MiB, the default limit of the program zstd."""

DRAINED_BYTES = 1 << 30
"""After an error in a record, so many bytes are read on to find out if the stream is damaged."""

_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
_COMPRESSION = {"gz": "gzip", "bz2": "bzip2", "xz": "xz", "zst": "zstd"}


class InputStream(Protocol):
    """An open file, compressed or not."""

    def read1(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""


class ReadFailure(Exception):
    """Reading failed; the cause depends on the compression."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.cause = cause


def source_name(source: Source) -> str:
    """Return the name of a source in messages.

    >>> source_name("-")
    'standard input'
    """
    return "standard input" if source == "-" else redact_name(os.fspath(source))


def find_compression(head: bytes) -> str | None:
    r"""Return the ending of files that are compressed like this one, by its first bytes, or None.

    >>> find_compression(b">q1"), find_compression(b"\x1f\x8b\x08")
    (None, 'gz')
    """
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


@contextmanager
def open_source(source: Source) -> Iterator[tuple[InputStream, str | None]]:
    """Open a source; yields its content, and its compression or None.

    Raises
    ------
    InputError
        If it cannot be opened.
    """
    name = source_name(source)
    with ExitStack() as files:
        if source == "-":
            if sys.stdin is None:
                raise InputError("is closed", file=name)
            raw = cast(io.BufferedReader, sys.stdin.buffer)
        else:
            try:
                raw = files.enter_context(_open_file(source))
            except OSError as error:
                raise InputError(f"cannot be opened: {error.strerror}", file=name) from error
        try:
            head = raw.peek(6)[:6]
        except OSError as error:
            raise read_error(source, None, 0, error) from error
        kind = find_compression(head)
        if kind is None:
            yield raw, None
        elif kind == "xz":
            yield _Xz(raw), kind
        elif kind == "zst":
            yield files.enter_context(zstd.ZstdFile(raw, options=WINDOW)), kind
        else:
            from xopen import xopen  # 10 ms, and most files are plain

            plain = files.enter_context(xopen(raw, "rb", format=kind, threads=0))
            yield cast(InputStream, plain), kind


def _open_file(source: Source) -> io.BufferedReader:
    """Open a file, which may be remote.

    Raises
    ------
    OSError
        If it cannot be opened.
    """
    path = find_path(source)
    if path is not None:
        return open(path, "rb")
    from swdual.io.remote import RemoteFile

    return RemoteFile(os.fspath(source)).open_stream()


def read_error(
    source: Source, compression: str | None, records: int, cause: Exception
) -> InputError:
    """Return the error for a stream that failed.

    Parameters
    ----------
    source, compression
        The file, and its compression or None.
    records
        Number of records that were read before.
    cause
        The exception.
    """
    name = source_name(source)
    if isinstance(cause, OSError) and (compression is None or cause.errno is not None):
        return InputError(f"cannot be read: {cause.strerror or cause}", file=name)
    state = "truncated" if isinstance(cause, EOFError) else "corrupt"
    remedy = "copy or download the file again"
    if "memory" in str(cause).lower():
        state, remedy = "unusual", "pack it again with a window of at most 128 MiB"
    return InputError(
        f"{state} {_COMPRESSION[compression or 'gz']} stream after {records} records ({cause}); "
        f"{remedy}",
        file=name,
    )


def drain(stream: InputStream) -> Exception | None:
    """Read a stream on, up to `DRAINED_BYTES`; return the exception that stops it, or None."""
    left = DRAINED_BYTES
    try:
        while left > 0 and (data := stream.read1(READ_BYTES)):
            left -= len(data)
    except Exception as error:
        return error
    return None


def chunks(parts: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Cut a stream into chunks of whole FASTA records, with ``\\n`` line ends.

    Parameters
    ----------
    parts, name
        The bytes of the stream, in order, and the name of the file, for messages.

    Raises
    ------
    InputError
        If a record is longer than `MAX_RECORD_LENGTH`.
    """
    pending: list[bytes] = []
    held = b""
    size = 0
    for data in parts:
        data = held + data
        held = b""
        if data.endswith(b"\r"):
            data, held = data[:-1], b"\r"
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        cut = data.rfind(b"\n>") + 1
        if cut == 0 and not (pending and pending[-1].endswith(b"\n") and data.startswith(b">")):
            pending.append(data)
            size += len(data)
            _refuse_endless(size, name)
            continue
        piece = b"".join([*pending, memoryview(data)[:cut]])
        pending = [data[cut:]]
        size = len(pending[0])
        if piece:
            yield piece
    last = b"".join(pending)
    if last:
        yield last


def bound_lines(parts: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield the parts of a stream unchanged, as long as no line is too long.

    Parameters
    ----------
    parts, name
        The bytes of the stream, in order, and the name of the file, for messages.

    Raises
    ------
    InputError
        If a line is longer than `MAX_RECORD_LENGTH`.
    """
    size = 0
    for data in parts:
        end = data.rfind(b"\n") + 1
        size = len(data) - end if end else size + len(data)
        _refuse_endless(size, name)
        yield data


def _refuse_endless(size: int, name: str) -> None:
    if size > MAX_RECORD_LENGTH:
        raise InputError(
            f"a record is longer than {MAX_RECORD_LENGTH >> 20} MiB; "
            "cut it into overlapping pieces",
            file=name,
        )


def pieces(stream: InputStream) -> Iterator[bytes]:
    """Yield the bytes of a stream; if reading fails, first those that were read before.

    Raises
    ------
    ReadFailure
        If reading fails.
    """
    parts: list[bytes] = []
    size = 0
    try:
        while data := stream.read1(READ_BYTES):
            parts.append(data)
            size += len(data)
            if size >= CHUNK_BYTES:
                yield b"".join(parts)
                parts, size = [], 0
    except MemoryError:
        raise
    except Exception as error:
        yield b"".join(parts)
        raise ReadFailure(error) from error
    yield b"".join(parts)


class _Xz:
    """The content of an xz file, decompressed in bounded memory; `lzma.open` sets no bound."""

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw = raw
        self._unpacker = self._begin()

    @staticmethod
    def _begin() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=WINDOW_BYTES)

    def read1(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        data = b""
        while not data:
            packed = b""
            if self._unpacker.eof:  # another stream may follow, behind zeros
                packed = self._unpacker.unused_data.lstrip(b"\0")
                while not packed and (more := self._raw.read1(READ_BYTES)):
                    packed = more.lstrip(b"\0")
                if not packed:
                    break
                self._unpacker = self._begin()
            elif self._unpacker.needs_input:
                packed = self._raw.read1(READ_BYTES)
                if not packed:
                    raise EOFError("the file ends before the stream does")
            data = self._unpacker.decompress(packed, size)
        return data


class ChunkReader(io.RawIOBase):
    """A file object with the chunks of a stream as content."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._left = memoryview(b"")
        self._chunks = iter(chunks)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Fill a buffer with the next bytes; return their number, 0 at the end."""
        if not self._left:
            self._left = memoryview(next(self._chunks, b""))
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count
