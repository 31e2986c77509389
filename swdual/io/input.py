"""Small files that people write, and lines of larger ones, read in bounded memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import IO, Any, AnyStr

from swdual.errors import InputError

MAX_BYTES = 1 << 20


def read_small(path: str | os.PathLike[str], most: int = MAX_BYTES) -> bytes:
    """Return the content of a file that should not be long.

    Parameters
    ----------
    path
        The file.
    most
        The most bytes that it may have.

    Raises
    ------
    InputError
        If it cannot be read, or is longer.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error
    if len(content) > most:
        raise InputError(f"is longer than {most >> 20} MiB; is this the right file?", file=path)
    return content


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a small TOML file says.

    Raises
    ------
    InputError
        If it cannot be read, or is no TOML; with the line if that is known.
    """
    import tomllib

    try:
        return tomllib.loads(read_small(path).decode("utf-8-sig"))
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError("is not text in UTF-8", file=path) from error
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column \d+\)", str(error))
        line = int(place[1]) if place else None
        cause = str(error).replace(place[0], "") if place else str(error)
        raise InputError(f"is no TOML: {cause}", file=path, line=line) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no TOML: {error}", file=path) from error


def read_lines(stream: IO[AnyStr], name: str, most: int = MAX_BYTES) -> Iterator[AnyStr]:
    """Yield the lines of a file, with what ends them.

    Parameters
    ----------
    stream
        The open file.
    name
        What it is called.
    most
        The most characters, or bytes, of a line.

    Raises
    ------
    InputError
        If a line is longer: with its number.
    """
    number = 0
    while line := stream.readline(most + 1):
        number += 1
        if len(line) > most:
            raise InputError("the line does not end; is this a table?", file=name, line=number)
        yield line
