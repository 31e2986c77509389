"""What can go wrong, and the exit code that each kind of failure ends the command with."""

from __future__ import annotations

import os
from typing import Any

from swdual.text.messages import sanitize
from swdual.text.url import redact_name, redact_text

_PACKAGE = os.path.join(os.path.dirname(__file__), "")
"""The folder of this package."""


class SwdualError(Exception):
    """A failure that swdual explains: what is wrong, where, and what to do about it.

    Parameters
    ----------
    message
        Cause and remedy, without the place.
    file, line
        The place, where there is one; lines count from 1.
    """

    exit_code = 255

    def __init__(
        self, message: str, *, file: str | os.PathLike[str] | None = None, line: int | None = None
    ) -> None:
        self.message = redact_text(sanitize(message))
        super().__init__(self.message)
        self.file = None if file is None else redact_name(os.fspath(file))
        self.line = line

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.message, self.file, self.line)

    def _render_traceback_(self) -> list[str]:
        """Return what IPython and notebooks show: one line, with the line of the user's code."""
        import traceback  # only here: 10 ms

        place = ""
        for frame in traceback.extract_tb(self.__traceback__):
            if frame.filename.startswith(_PACKAGE):
                break
            name = frame.filename if os.path.isfile(frame.filename) else "this cell"
            place = f" (line {frame.lineno} of {name})"
        return [f"{type(self).__name__}: {self}{place}"]

    def __str__(self) -> str:
        parts = (part for part in (self.file, self.line) if part is not None)
        place = "".join(f"{sanitize(str(part))}:" for part in parts)
        return f"{place} {self.message}" if place else self.message


def _restored(kind: type[SwdualError], message: str, file: str | None, line: int | None) -> Any:
    """Return an error that another process has sent."""
    return kind(message, file=file, line=line)


class InputError(SwdualError, ValueError):
    """A bad query file, option or matrix."""

    exit_code = 1


class UnknownOption(InputError, TypeError):
    """A keyword argument that a function does not have."""


class UnknownName(InputError, KeyError):
    """A key that a dictionary of names does not have."""


class UnknownIdentifier(InputError, KeyError):
    """An identifier that no record has, or that several have."""


class MatrixError(InputError):
    """A substitution matrix that cannot be read or used."""


class StatisticsUnavailable(InputError):
    """E-values that cannot be computed for the scores in hand."""


class DatabaseError(SwdualError):
    """A database that is missing, damaged, or written by another version."""

    exit_code = 2


class EngineError(SwdualError):
    """A worker that failed while it computed scores."""

    exit_code = 3


class DeviceError(EngineError):
    """A device that was asked for and is not there."""


class DeviceMemoryError(DeviceError, MemoryError):
    """A device that has too little memory, even for the smallest share of the work."""

    exit_code = 4


class MemoryLimitError(SwdualError, MemoryError):
    """A limit of memory that the work does not fit into, even in the smallest pieces."""

    exit_code = 4


class ClusterError(SwdualError):
    """A cluster that cannot be reached, has lost all its nodes, or consists of unlike ones."""

    exit_code = 5


class ServerError(SwdualError):
    """A search server that cannot be reached or started, refuses a search, or goes away."""

    exit_code = 5


class OutputError(SwdualError, OSError):
    """A result that cannot be written."""

    exit_code = 6


class ReaderLeft(BaseException):
    """Raised anywhere in the main thread when the reader of the output has left.

    It is no `OSError`: an import takes that for a missing file, and goes on.
    """
