"""Refusals and failures as RFC 9457 tells them: a status, and the reason in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from swdual.errors import (
    DatabaseError,
    EngineError,
    InputError,
    MemoryLimitError,
    OutputError,
    SwdualError,
)
from swdual.server.media_types import NotAcceptable

MEDIA_TYPE = "application/problem+json"

STATUSES: tuple[tuple[type[BaseException], int], ...] = (
    (NotAcceptable, 406),
    (InputError, 422),
    (MemoryLimitError, 413),
    (OutputError, 507),
    (DatabaseError, 500),
    (EngineError, 500),
)
"""The status of each kind of error; the first that fits."""


@dataclass(frozen=True)
class Problem:
    """Why a request was refused, or a job failed.

    Parameters
    ----------
    status
        The HTTP status.
    detail
        The reason, with its place.
    extension
        Members of the JSON object besides those of RFC 9457. Of an error of a search: its
        `exit_code`, its `message` without the place, and the place: `file` and `line`.
    headers
        Headers of the response.
    """

    status: int
    detail: str
    extension: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        title = HTTPStatus(self.status).phrase
        told = {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail}
        return told | self.extension

    def respond(self) -> JSONResponse:
        """Return the response that tells it."""
        return JSONResponse(
            self.to_dict(), self.status, headers=self.headers, media_type=MEDIA_TYPE
        )


class Refused(Exception):
    """A request is refused.

    Parameters
    ----------
    status, detail
        As for `Problem`.
    headers
        Headers of the response.
    """

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.problem = Problem(status, detail, {}, named)


def explain(error: SwdualError | MemoryError, file: str = "", name: str = "") -> Problem:
    """Return the problem that an error of a search is.

    Parameters
    ----------
    error
        The error.
    file, name
        The file of the queries on this machine, which messages do not show, and what they show.
    """
    if not isinstance(error, SwdualError):
        error = MemoryLimitError("out of memory; send fewer queries at a time")
    status = next((code for kind, code in STATUSES if isinstance(error, kind)), 500)
    shown = name if error.file == file else error.file
    message = error.message.replace(file, name) if file else error.message
    told = type(error)(message, file=shown, line=error.line)
    extension = {"exit_code": error.exit_code, "message": message}
    extension |= {} if shown is None else {"file": shown}
    extension |= {} if error.line is None else {"line": error.line}
    return Problem(status, str(told), extension)
