"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Protocol

from swdual.errors import OutputError


class Text(Protocol):
    """What text is written to."""

    def write(self, text: str, /) -> object:
        """Write some text."""


class Output:
    """A binary stream whose failures name the file."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream = stream
        self._name = name

    def write(self, data: bytes | memoryview, /) -> int:
        """Write some bytes."""
        with _named(self._name):
            return self._stream.write(data)

    def seek(self, place: int, /) -> int:
        """Go on at a place counted from the beginning."""
        with _named(self._name):
            return self._stream.seek(place)


class Utf8:
    """An output for text."""

    def __init__(self, stream: Output) -> None:
        self._stream = stream

    def write(self, text: str, /) -> None:
        """Write some text; what is no Unicode, such as half a surrogate pair, becomes '?'."""
        self._stream.write(text.encode(errors="replace"))


@contextmanager
def replacing(
    path: str | os.PathLike[str],
    *,
    force: bool,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> Iterator[Output]:
    """Open a stream whose content takes the place of `path` when the block ends without error.

    Until then the content is in a temporary file beside it, which an error removes. "-" is
    standard output; a pipe or a device is written to directly. None of `inputs` is replaced.

    Raises
    ------
    OutputError
        If `path` is an existing file and `force` is not given, or one of `inputs`, or cannot be
        written.
    """
    if os.fspath(path) == "/dev/stdout":
        path = "-"
    target = Path(path)
    name = "standard output" if os.fspath(path) == "-" else os.fspath(path)
    if os.fspath(path) == "-":
        if sys.stdout is None:
            raise OutputError("is closed", file=name)
        yield Output(sys.stdout.buffer, name)
        with _named(name):
            sys.stdout.buffer.flush()
        return
    with _named(name):
        exists = target.exists()
        special = exists and not stat.S_ISREG(target.stat().st_mode)
    if special:
        with _named(name):
            stream = target.open("wb")
        try:
            yield Output(stream, name)
        finally:
            with _named(name):
                stream.close()
    else:
        if exists and any(_same_file(target, source) for source in inputs):
            raise OutputError("is also an input; write to another file", file=path)
        if exists and not force:
            raise OutputError("exists; use --force to replace it", file=path)
        with _named(name):
            part = tempfile.NamedTemporaryFile(  # noqa: SIM115  (closed and renamed below)
                dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".part", delete=False
            )
        try:
            yield Output(part, name)
            with _named(name):
                part.close()
                mask = os.umask(0)
                os.umask(mask)
                os.chmod(part.name, 0o666 & ~mask)
                os.replace(part.name, target)
        except BaseException:
            with suppress(OSError):
                part.close()
            os.unlink(part.name)
            raise


def _same_file(target: Path, source: str | os.PathLike[str]) -> bool:
    try:
        return target.samefile(source)
    except (OSError, ValueError):
        return False


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Turn a failure of the system into one that names the file; a closed pipe stays what it is."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        cause = error.strerror or error
        raise OutputError(f"cannot be written: {cause}", file=name) from error
