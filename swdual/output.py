"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from swdual.errors import OutputError, SwdualError


@contextmanager
def replacing(path: str | os.PathLike[str], *, force: bool) -> Iterator[IO[bytes]]:
    """Open a stream whose content takes the place of `path` when the block ends without error.

    Until then the content is in a temporary file beside it, which an error removes. "-" is
    standard output; a pipe or a device is written to directly.

    Raises
    ------
    OutputError
        If `path` is an existing file and `force` is not given, or cannot be written.
    """
    target = Path(path)
    try:
        if os.fspath(path) == "-":
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        elif target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with target.open("wb") as stream:
                yield stream
        else:
            if target.exists() and not force:
                raise OutputError("exists; use --force to replace it", file=path)
            with _temporary(target) as stream:
                yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        if isinstance(error, SwdualError):
            raise
        name = "standard output" if os.fspath(path) == "-" else path
        cause = error.strerror or error
        raise OutputError(f"cannot be written: {cause}; nothing was left", file=name) from error


@contextmanager
def _temporary(target: Path) -> Iterator[IO[bytes]]:
    with tempfile.NamedTemporaryFile(
        dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".part", delete=False
    ) as stream:
        try:
            yield stream
            stream.close()
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(stream.name, 0o666 & ~mask)
            os.replace(stream.name, target)
        except BaseException:
            stream.close()
            os.unlink(stream.name)
            raise
