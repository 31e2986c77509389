"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import errno
import io
import logging
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, Any, NoReturn, Protocol, cast

from swdual.errors import OutputError, ReaderLeft
from swdual.io.file_kind import HEAD_BYTES, FileKind
from swdual.runtime import system
from swdual.text.url import is_url

logger = logging.getLogger("swdual")

STDOUT = ("-", "/dev/stdout")
"""Names of standard output."""

MAX_NAME_LENGTH = 255

COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
"""Compressions by the endings of file names."""

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
"""Compressions by the first bytes of files."""


class Text(Protocol):
    """A stream of text."""

    def write(self, text: str, /) -> object:
        """Write some text."""


class Output:
    """A binary stream whose errors name the file.

    Parameters
    ----------
    stream, name
        The stream, and the file's name.
    is_awaited
        Whether somebody may wait for each result: it is passed on at once.
    """

    def __init__(self, stream: IO[bytes], name: str, *, is_awaited: bool = False) -> None:
        self._stream = stream
        self._name = name
        self._is_awaited = is_awaited

    def write(self, data: bytes | memoryview, /) -> int:
        """Write some bytes."""
        with name_errors(self._name):
            written = self._stream.write(data)
            if self._is_awaited:
                self._stream.flush()
            return written

    def discard(self) -> None:
        """Discard everything that is written from now on."""
        self._stream = io.BytesIO()

    def seek(self, offset: int, /) -> int:
        """Go to an offset, counted from the beginning."""
        with name_errors(self._name):
            return self._stream.seek(offset)


class Utf8:
    """Writes text to an output as UTF-8."""

    def __init__(self, stream: Output) -> None:
        self._stream = stream

    def write(self, text: str, /) -> None:
        """Write text; what is no Unicode, such as half a surrogate pair, becomes "?"."""
        self._stream.write(text.encode(errors="replace"))


class Sink(io.RawIOBase):
    """An output as a file object that pyarrow can write to."""

    def __init__(self, stream: Output) -> None:
        self._stream = stream
        self._written = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any, /) -> int:
        """Write some bytes."""
        size = len(data)
        self._stream.write(bytes(data))
        self._written += size
        return size

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._written


def split_compression(path: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Return a file's name without the ending of its compression, and the compression.

    >>> split_compression("hits.tsv.gz"), split_compression("hits.tsv")
    (('hits.tsv', 'gzip'), ('hits.tsv', None))
    """
    name = os.fspath(path)
    stem, ending = os.path.splitext(name)
    compression = COMPRESSIONS.get(ending.lower())
    return (name, None) if compression is None else (stem, compression)


@contextmanager
def replace_file(
    path: str | os.PathLike[str],
    kind: FileKind,
    *,
    force: bool,
    inputs: Iterable[str | os.PathLike[str]] = (),
    compress: bool = False,
    finish: Callable[[int], None] | None = None,
) -> Iterator[Output]:
    """Open a stream whose content replaces a file when the block ends without error.

    Until then the content is in `.NAME.part` beside the file. An error removes it; if a process was
    killed, the next one overwrites it. "-" is standard output. Pipes and devices are written to
    directly. Of a symbolic link, the file that it leads to is written.

    Parameters
    ----------
    path
        The file, or "-".
    kind
        What is written.
    force
        Replace a file that exists, if it is of this kind or empty.
    inputs
        Files that are never replaced.
    compress
        Compress the content if the name ends in .gz, .bz2, .xz or .zst. Equal content gives equal
        bytes: they hold neither the time nor the name.
    finish
        Called with the descriptor of the complete file, open for reading and writing, before the
        file gets its name; not called for standard output, pipes and devices.

    Raises
    ------
    OutputError
        If the file exists and `force` is not given, is one of `inputs` or of another kind, is being
        written by another process, or cannot be written.
    """
    if is_url(path):
        raise OutputError("is a URL, but results are written to local files", file=path)
    is_stdout = os.fspath(path) in STDOUT
    name = "standard output" if is_stdout else os.fspath(path)
    if is_stdout:
        if sys.stdout is None:
            raise OutputError("is closed", file=name)
        with _end_without_reader(sys.stdout.buffer):
            yield Output(sys.stdout.buffer, name, is_awaited=not _is_regular(sys.stdout.buffer))
        with name_errors(name):
            sys.stdout.buffer.flush()
        return
    target = follow_links(Path(path))
    with name_errors(name):
        special = target.exists() and not stat.S_ISREG(target.stat().st_mode)
    compression = split_compression(path)[1] if compress else None
    if special:
        with name_errors(name):
            device = target.open("wb")
        try:
            with (
                _end_without_reader(device),
                _compress(Output(device, name, is_awaited=True), compression, name) as output,
            ):
                yield output
        finally:
            with name_errors(name):
                device.close()
    else:
        check_target(path, kind, force=force, inputs=inputs)
        with (
            _replace_when_complete(target, kind, force, name, finish) as stream,
            _compress(Output(stream, name), compression, name) as output,
        ):
            yield output
        logger.debug("output: %s is written", name)


def _is_regular(stream: IO[bytes]) -> bool:
    """Return whether a stream is a file of the disk, or none of the system's."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return True


@contextmanager
def _end_without_reader(stream: IO[bytes]) -> Iterator[None]:
    """End a block by BrokenPipeError when nobody is left to read the pipe that it writes to.

    Writing would tell so, too, but results may be minutes apart. A thread waits for the end of the
    pipe and sends SIGPIPE to the main thread, where a handler raises `ReaderLeft`. Nothing is done
    in other threads, if the process handles SIGPIPE by itself (Python ignores it), or on Windows.
    """
    main = threading.main_thread()
    is_main = threading.current_thread() is main
    try:
        descriptor = stream.fileno()
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except (OSError, ValueError):  # closed, or none of the system's
        is_pipe = False
    number = system.SIGPIPE
    ignored = number is not None and signal.getsignal(number) is signal.SIG_IGN
    if number is None or not (is_pipe and is_main and ignored):
        yield
        return
    ended, end = os.pipe()

    def watch() -> None:
        if system.wait_for_reader(descriptor, ended):
            system.signal_main_thread(number)

    thread = threading.Thread(target=watch, name="reader of the output", daemon=True)
    signal.signal(number, _raise_reader_left)
    thread.start()
    try:
        yield
    except ReaderLeft:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from None
    finally:
        # First of all: a second signal would raise an error here, and the handler would stay.
        signal.signal(number, signal.SIG_IGN)
        os.close(end)  # an end of its own for the thread
        thread.join()
        os.close(ended)


def _raise_reader_left(number: int, frame: FrameType | None) -> NoReturn:
    raise ReaderLeft


@contextmanager
def _compress(output: Output, compression: str | None, name: str) -> Iterator[Output]:
    """Yield a stream whose content is written to `output` in compressed form."""
    if compression is None:
        yield output
        return
    try:
        stream = _compressor(output, compression)  # writes the head
        yield Output(stream, name)
    except BaseException:
        output.discard()  # the last bytes of a stream that is freed, which would make it complete
        raise
    with name_errors(name):
        stream.close()


def _compressor(output: Output, compression: str) -> IO[bytes]:
    """Return a stream that compresses."""
    file: Any = output
    if compression == "gzip":
        import gzip

        return cast(IO[bytes], gzip.GzipFile("", "wb", 6, file, mtime=0))
    return cast(IO[bytes], _file_class(compression)(file, "wb"))


def _decompressor(file: IO[bytes], compression: str) -> IO[bytes]:
    """Return a stream of the content of a compressed file."""
    if compression == "gzip":
        import gzip

        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    return cast(IO[bytes], _file_class(compression)(file))


def _file_class(compression: str) -> Any:
    if compression == "bzip2":
        from bz2 import BZ2File

        return BZ2File
    if compression == "xz":
        from lzma import LZMAFile

        return LZMAFile
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdFile
    else:
        from backports.zstd import ZstdFile
    return ZstdFile


@contextmanager
def _replace_when_complete(
    target: Path, kind: FileKind, force: bool, name: str, finish: Callable[[int], None] | None
) -> Iterator[IO[bytes]]:
    """Open a part file; rename it to the target when the block ends without error."""
    part = target.with_name(_part_name(target.name))
    with name_errors(name):
        stream = open_locked(part, name)
    try:
        _refuse_existing(target, kind, force, name)
        with name_errors(name):
            stream.truncate()
        yield stream
        with name_errors(name):
            stream.flush()
            if finish is not None:
                finish(stream.fileno())
            os.fsync(stream.fileno())
            system.rename_open(stream, part, target)
    except BaseException:
        with suppress(OSError):
            system.remove_open(stream, part)
        raise


def open_locked(path: Path, name: str) -> IO[bytes]:
    """Open a file of the user's, and lock it; create it if it does not exist.

    Parameters
    ----------
    path
        The file. It is not emptied.
    name
        Name of the file, for messages.

    Raises
    ------
    OutputError
        If another process has locked it, or it is no plain file that belongs to the user.
    """
    while True:
        descriptor = system.open_own(path)
        stream = os.fdopen(descriptor, "wb")
        try:
            _lock(descriptor, name)
            # The path may have got another file between opening and locking: compare them.
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode) or not system.is_own(state):
                raise OutputError("exists and is not a plain file of yours; remove it", file=path)
            if state.st_nlink == 1 and os.path.samestat(state, os.lstat(path)):
                return stream
            if state.st_nlink > 1:
                raise OutputError("exists and has other names (hard links); remove it", file=path)
        except FileNotFoundError:
            pass  # the process that held it has just renamed or removed it: open it again
        except BaseException:
            stream.close()
            raise
        stream.close()


def _lock(descriptor: int, name: str) -> None:
    try:
        locked = system.try_lock(descriptor)
    except OSError as error:
        if error.errno not in system.NO_LOCKS:
            raise
    else:
        if not locked:
            holder = _holder(descriptor)
            raise OutputError(
                f"is being written by {holder}; wait for it, or write to another file", file=name
            )


def _holder(descriptor: int) -> str:
    """Return the process that has locked a file, as far as the system knows it."""
    process = system.find_holder(descriptor)
    if process is None:
        return "another process"
    import socket

    return f"process {process} on {socket.gethostname()}"


def check_target(
    path: str | os.PathLike[str],
    kind: FileKind,
    *,
    force: bool,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> None:
    """Check that `replace_file` may write a file, as far as that can be told beforehand.

    For the parameters see `replace_file`.

    Raises
    ------
    OutputError
        If the file is one of `inputs`, or exists and must not be replaced.
    """
    target = follow_links(Path(path))
    with name_errors(os.fspath(path)):
        if target.exists() and not target.is_file():
            return
    if any(_same_file(target, source) for source in inputs):
        raise OutputError("is also an input; write to another file", file=path)
    _refuse_existing(target, kind, force, os.fspath(path))


def follow_links(path: Path) -> Path:
    """Return the file that a path leads to, which need not exist: the path if it is no link.

    Raises
    ------
    OutputError
        If links lead to each other, or must not be followed.
    """
    with name_errors(os.fspath(path)):
        # The system may forbid to follow links of other users. A link of /dev/fd leads to a pipe
        # that has no other name.
        if path.exists() and not path.is_file():
            return path
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        if target.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target


def _refuse_existing(target: Path, kind: FileKind, force: bool, name: str) -> None:
    with name_errors(name):
        exists = target.exists()
    if not exists:
        return
    if not force:
        raise OutputError("exists; use `force=True` to replace it", file=name)
    if not kind.fits(split_compression(target)[0], _read_head(target)):
        raise OutputError(
            f"exists and is not {kind.name}, so it is not replaced; remove it, or write to "
            "another file",
            file=name,
        )


def _read_head(path: Path) -> bytes:
    """Return how a file begins, unpacked if it is compressed."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            for magic, compression in _MAGIC.items():
                if head.startswith(magic):
                    file.seek(0)
                    with suppress(Exception), _decompressor(file, compression) as stream:
                        return stream.read(HEAD_BYTES)  # each library has errors of its own
            return head
    except OSError:
        return b"\0"


def _part_name(name: str) -> str:
    """Return the name of a file while it is written."""
    part = f".{name}.part"
    if len(os.fsencode(part)) <= MAX_NAME_LENGTH:
        return part
    import xxhash

    return f".{xxhash.xxh3_128_hexdigest(os.fsencode(name))}.part"


def _same_file(target: Path, source: str | os.PathLike[str]) -> bool:
    try:
        return target.samefile(source)
    except (OSError, ValueError):
        return False


@contextmanager
def name_errors(name: str) -> Iterator[None]:
    """Raise errors of the system as an `OutputError` that names the file; keep a closed pipe."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        if system.is_reader_gone(error):
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from error
        cause = error.strerror or error
        raise OutputError(f"cannot be written: {cause}", file=name) from error
