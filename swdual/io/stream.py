"""Opens an input: a file, remote or not, or standard input; compressed or not; bytes or text.

What users write is read by `read_text` or `open_text`: so all readers take the same spellings, and
refuse the same files by name.
"""

from __future__ import annotations

import bz2
import codecs
import io
import itertools
import logging
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Protocol, cast

from swdual.errors import InputError
from swdual.io.foreign import HEAD_BYTES, find_foreign
from swdual.text.messages import pluralize, quote, sanitize
from swdual.text.url import find_path, redact_name

Source = str | os.PathLike[str]
"""A path, a URL that fsspec opens, or "-" for standard input."""

CHUNK_BYTES = 4 << 20
READ_BYTES = 1 << 16
BUFFER_BYTES = 1 << 20

WINDOW_BYTES = 256 << 20
"""Memory for the window of an xz stream; ``xz -9`` takes 65 MiB."""

WINDOW_LOG = 27
"""The same for zstd: 128 MiB, the default limit of the program zstd."""

DRAINED_BYTES = 1 << 30
"""After an error in a record, so many bytes are read on to find out if the stream is damaged."""

MAX_NUL_BYTES = 1 << 24
"""NUL that is left out in one place at most: a device or a bomb may have it without end."""

_SKIPPED_FRAMES = [bytes([0x50 + k]) + b"\x2a\x4d\x18" for k in range(16)]
"""How frames of zstd begin that hold no content: pzstd's, and tables for reading from anywhere."""

_MAGIC = {
    **{b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"},
    **dict.fromkeys(_SKIPPED_FRAMES, "zst"),
}
_LENIENT = ("gz", "bz2")
"""Compressions whose programs leave out what follows the data; the others refuse it."""

_MAGIC_BYTES = max(map(len, _MAGIC))
_COMPRESSION = {"gz": "gzip", "bz2": "bzip2", "xz": "xz", "zst": "zstd"}

SHOWN_BYTES = 20
"""Bytes behind the end of compressed data that a message shows."""

logger = logging.getLogger("swdual")

_ENCODINGS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by their byte order marks; that of UTF-32 begins with one of UTF-16."""

_BARE_UTF16 = re.compile(rb"([\t-~]\0){4}|(\0[\t-~]){4}")

_LINE_STARTS = re.compile(rb"\n(?:\xef\xbb\xbf|\0+)+")
"""Byte order marks of UTF-8 and NUL in front of lines."""

_MARKS = re.compile(rb"\n(?:\xef\xbb\xbf)+")


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
def open_source(source: Source, *, warns: bool = True) -> Iterator[tuple[InputStream, str | None]]:
    """Open a source; yields its content, and its compression or None.

    Parameters
    ----------
    source
        The source.
    warns
        Whether to warn of what follows compressed data.

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
            raise read_error(source, None, error) from error
        kind = find_compression(head)
        yield (raw if kind is None else _Unpacked(raw, kind, name if warns else None)), kind


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
    source: Source, compression: str | None, cause: Exception, records: int | None = None
) -> InputError:
    """Return the error for a stream that failed.

    Parameters
    ----------
    source, compression
        The file, and its compression or None.
    cause
        The exception.
    records
        Number of records that were read before, if it is known.
    """
    name = source_name(source)
    if isinstance(cause, OSError) and (compression is None or cause.errno is not None):
        return InputError(f"cannot be read: {cause.strerror or cause}", file=name)
    state = "truncated" if isinstance(cause, EOFError) else "corrupt"
    remedy = "copy or download the file again"
    if "memory" in str(cause).lower():
        state, remedy = "unusual", "pack it again with a window of at most 128 MiB"
    read = "" if records is None else f" after {pluralize(records, 'record', 'records')}"
    return InputError(
        f"{state} {_COMPRESSION[compression or 'gz']} stream{read} ({cause}); {remedy}", file=name
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


class Unpacker(Protocol):
    """Decompresses a member of a file, as `bz2.BZ2Decompressor` does."""

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""

    @property
    def needs_input(self) -> bool:
        """Whether there is nothing to return without further input."""

    @property
    def unused_data(self) -> bytes:
        """What follows the member in the input."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return the next bytes, at most `max_length`."""


class _Zlib:
    """A member of gzip."""

    def __init__(self) -> None:
        self._unpacker = zlib.decompressobj(wbits=31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._unpacker.eof

    @property
    def unused_data(self) -> bytes:
        return self._unpacker.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        found = self._unpacker.decompress(self._unpacker.unconsumed_tail + data, max_length)
        self.needs_input = not self._unpacker.unconsumed_tail and len(found) < max_length
        return found


def _begin(kind: str) -> Unpacker:
    """Return what decompresses a member, in bounded memory."""
    if kind == "xz":
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=WINDOW_BYTES)
    if kind == "zst":
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        largest = int(zstd.DecompressionParameter.window_log_max)
        return zstd.ZstdDecompressor(options={largest: WINDOW_LOG})
    if kind == "bz2":
        return bz2.BZ2Decompressor()
    try:
        from isal import igzip_lib  # three times as fast; not for all processors
    except ImportError:
        return _Zlib()
    return igzip_lib.IgzipDecompressor(igzip_lib.DECOMP_GZIP)


class _Unpacked:
    """The content of a compressed file, whose members are read one after the other.

    NUL between and behind members is skipped. What else follows is left out with a warning, or is
    an error, as for the programs of these names: some that send or store files add bytes.

    Parameters
    ----------
    raw, kind, name
        The file, its compression, and its name for the warning, or None for no warning.
    """

    def __init__(self, raw: io.BufferedReader, kind: str, name: str | None) -> None:
        self._raw, self._kind, self._name = raw, kind, name
        self._unpacker = _begin(kind)
        self._ended = False
        self._failure: Exception | None = None

    def read1(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`; none at the end. Failures stay."""
        if self._failure is not None:
            raise self._failure
        try:
            return self._read(size)
        except Exception as error:
            self._failure = error
            raise

    def _read(self, size: int) -> bytes:
        data = b""
        while not data and not self._ended:
            packed = b""
            if self._unpacker.eof:
                packed = self._find_member()
                if not packed:
                    self._ended = True
                    break
                self._unpacker = _begin(self._kind)
            elif self._unpacker.needs_input:
                packed = self._raw.read1(READ_BYTES)
                if not packed:
                    raise EOFError("the file ends before the stream does")
            data = self._unpacker.decompress(packed, size)
        return data

    def _find_member(self) -> bytes:
        """Return the beginning of the next member; nothing if there is none."""
        packed = self._unpacker.unused_data.lstrip(b"\0")
        while len(packed) < _MAGIC_BYTES and (more := self._raw.read1(READ_BYTES)):
            packed = (packed + more).lstrip(b"\0")
        begins = tuple(magic for magic, kind in _MAGIC.items() if kind == self._kind)
        if not packed or packed.startswith(begins):
            return packed
        shown = quote(packed[:SHOWN_BYTES].decode("ascii", "backslashreplace"))
        found = f"bytes that are not {_COMPRESSION[self._kind]} follow the data, from {shown} on"
        if self._kind not in _LENIENT:
            raise ValueError(found)
        if self._name is not None:
            logger.warning("%s: %s; they are left out", sanitize(self._name), found)
        return b""


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


def as_text(parts: Iterator[bytes], name: str, *, nul_separates: bool = False) -> Iterator[bytes]:
    """Yield the text in the bytes of a stream, in UTF-8, with ``\\n`` line ends.

    UTF-16 and UTF-32 are decoded. Byte order marks and NUL in front of lines are left out, and NUL
    at the end: files have them within that were joined, or taken out of a database of MMseqs2.

    Parameters
    ----------
    parts, name
        The bytes, in order, and the name of the file, for messages.
    nul_separates
        Whether NUL within the text has a meaning, and stays.

    Raises
    ------
    InputError
        If it is a known kind of file that is no input, or is in no encoding that is read.
    """
    return _clean(_decode(parts, name), name, _MARKS if nul_separates else _LINE_STARTS)


def _decode(parts: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield a text in UTF-8, or another superset of ASCII."""
    held: list[bytes] = []
    failure: ReadFailure | None = None
    try:
        for part in parts:
            held.append(part)
            if sum(map(len, held)) >= HEAD_BYTES:
                break
    except ReadFailure as error:
        failure = error
    head = b"".join(held)[:HEAD_BYTES]
    encoding = next((code for mark, code in _ENCODINGS.items() if head.startswith(mark)), None)
    text = head if encoding is None else head.decode(encoding, "ignore").encode()
    foreign = find_foreign(text.removeprefix(codecs.BOM_UTF8))
    if encoding is None and _BARE_UTF16.match(head):
        foreign = "is UTF-16 without a byte order mark; save it as UTF-8"
    if foreign is not None:
        raise InputError(foreign, file=name)
    if encoding is None:
        yield from held
        if failure is not None:
            raise failure
        yield from parts
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for part in held:
            yield decoder.decode(part).encode()
        if failure is not None:
            raise failure
        for part in parts:
            yield decoder.decode(part).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"is not {encoding.upper()} throughout ({error.reason}); save it as UTF-8", file=name
        ) from error


def _clean(parts: Iterator[bytes], name: str, left_out: re.Pattern[bytes]) -> Iterator[bytes]:
    """Yield a text with ``\\n`` line ends, without what is left out at the beginning of lines."""
    last, held, silent = b"\n", b"", 0
    for part in parts:
        text, held = held + part, b""
        if text.endswith(b"\r"):
            text, held = text[:-1], b"\r"
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\0" in text or b"\xef" in text:
            text = left_out.sub(b"\n", last + text)
            # What may be the beginning of a mark, and NUL that may be the end, wait for more.
            mark = next((x for x in (b"\xef\xbb", b"\xef") if text.endswith(b"\n" + x)), b"")
            if mark and not held:
                text, held = text.removesuffix(mark), mark
            elif text.endswith(b"\0"):
                text, held = text.rstrip(b"\0"), b"\0" + held
            text = text[1:]
        silent = 0 if text else silent + len(part)
        if silent > MAX_NUL_BYTES:
            raise InputError(
                f"has more than {MAX_NUL_BYTES >> 20} MiB of NUL; copy or download the file again",
                file=name,
            )
        if text:
            yield text
            last = text[-1:]
    rest = held.lstrip(b"\0").replace(b"\r", b"\n")
    if rest:
        yield rest


@contextmanager
def _explain_failures(
    source: Source, records: Callable[[], int] | None = None, *, warns: bool = True
) -> Iterator[tuple[InputStream, str | None]]:
    """Open a source: see `open_source`; a damaged stream becomes an `InputError`."""
    with open_source(source, warns=warns) as (stream, compression):
        try:
            yield stream, compression
        except ReadFailure as failure:
            count = records and records()
            raise read_error(source, compression, failure.cause, count) from failure
        except InputError as error:
            # A damaged stream may return wrong bytes before it fails. So read on: if it is damaged,
            # that is the cause of the error in the text.
            damage = drain(stream) if compression is not None else None
            if damage is not None:
                count = records and records()
                raise read_error(source, compression, damage, count) from error
            raise


@contextmanager
def read_text(
    source: Source,
    records: Callable[[], int] | None = None,
    *,
    nul_separates: bool = False,
    warns: bool = True,
) -> Iterator[Iterator[bytes]]:
    """Open a file, and yield the pieces of its text: see `as_text`.

    An error within the block is raised as it is, unless the stream is damaged.

    Parameters
    ----------
    source
        The file.
    records
        Returns the number of records that were read, for messages.
    nul_separates, warns
        See `as_text` and `open_source`; who reads a file again need not warn.

    Raises
    ------
    InputError
        If it cannot be read, or is no text.
    """
    with _explain_failures(source, records, warns=warns) as (stream, _):
        yield as_text(pieces(stream), source_name(source), nul_separates=nul_separates)


@contextmanager
def open_text(source: Source, *, unless: tuple[bytes, ...] = ()) -> Iterator[IO[bytes]]:
    """Open the text of a file as a file: see `read_text`.

    Parameters
    ----------
    source
        The file.
    unless
        How files begin that are opened as they are: they are no text.
    """
    with _explain_failures(source) as (stream, _):
        parts = pieces(stream)
        first = next(parts, b"")
        parts = itertools.chain([first], parts)
        binary = first.startswith(unless)
        yield _as_file(parts if binary else as_text(parts, source_name(source)))


@contextmanager
def open_bytes(source: Source) -> Iterator[IO[bytes]]:
    """Open what is no text as a file, decompressed.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    with _explain_failures(source) as (stream, compression):
        yield cast(IO[bytes], stream) if compression is None else _as_file(pieces(stream))


def _as_file(parts: Iterable[bytes]) -> IO[bytes]:
    content = ChunkReader(filter(None, parts))  # an empty piece would be the end
    return cast(IO[bytes], io.BufferedReader(cast(io.RawIOBase, content), BUFFER_BYTES))
