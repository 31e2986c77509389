"""Small text files, and the lines of large ones, read in bounded memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, AnyStr

from swdual.errors import InputError
from swdual.io.stream import read_text

MAX_BYTES = 1 << 20


def read_small(
    path: str | os.PathLike[str], max_bytes: int = MAX_BYTES, *, nul_separates: bool = False
) -> bytes:
    """Return the text of a small file: see `swdual.io.stream.as_text`.

    Parameters
    ----------
    path
        The file.
    max_bytes
        Maximum size of the text.
    nul_separates
        See `swdual.io.stream.as_text`.

    Raises
    ------
    InputError
        If the file cannot be read, is no text, or is larger.
    """
    parts, size = [], 0
    # A path, as "-" would be standard input.
    with read_text(Path(path), nul_separates=nul_separates) as pieces:
        for part in pieces:
            parts.append(part)
            size += len(part)
            if size > max_bytes:
                raise InputError(
                    f"is longer than {max_bytes >> 20} MiB; is this the right file?", file=path
                )
    return b"".join(parts)


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a small TOML file.

    Raises
    ------
    InputError
        If the file cannot be read, or is not TOML; with the line if it is known.
    """
    import tomllib

    try:
        return tomllib.loads(read_small(path).decode())
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError("is not text in UTF-8", file=path) from error
    except tomllib.TOMLDecodeError as error:
        position = re.search(r" \(at line (\d+), column \d+\)", str(error))
        line = int(position[1]) if position else None
        cause = str(error).replace(position[0], "") if position else str(error)
        raise InputError(f"is not TOML: {cause}", file=path, line=line) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not TOML: {error}", file=path) from error


def read_lines(stream: IO[AnyStr], name: str, max_length: int = MAX_BYTES) -> Iterator[AnyStr]:
    """Yield the lines of a file, with their line ends.

    Parameters
    ----------
    stream
        The open file.
    name
        Name of the file, for messages.
    max_length
        Maximum length of a line, in characters or bytes.

    Raises
    ------
    InputError
        If a line is longer; with its number.
    """
    number = 0
    while line := stream.readline(max_length + 1):
        number += 1
        if len(line) > max_length:
            raise InputError("the line is too long; is this a table?", file=name, line=number)
        yield line
