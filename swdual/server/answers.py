"""What a server answers, checked: it may be another program, or none that means well."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

MAX_ANSWER_BYTES = 4 << 20
"""The longest state of a job, as JSON. That of a server of swdual takes a few kilobytes."""

MAX_COUNT = 2**63 - 1

MAX_MESSAGES = 100

MAX_TEXT = 10_000
"""Characters of a message that are shown."""

LEVELS = {"info": logging.INFO, "warning": logging.WARNING}
"""The levels of messages; others are shown as information."""

STATES = ("queued", "running", "finished", "failed", "cancelled")

_ID = re.compile(r"[\w-]{1,100}", re.ASCII)


class Misfit(Exception):
    """No server of swdual answers like this."""


@dataclass(frozen=True)
class ToldProblem:
    """Why a server refused a request, or why a job failed.

    Parameters
    ----------
    detail
        The reason.
    exit_code, message, file, line
        Of an error of the search: its exit code, its message without the place, and the place.
    """

    detail: str
    exit_code: int
    message: str
    file: str | None
    line: int | None


@dataclass(frozen=True)
class ToldJob:
    """The state of a job: see `description.JOB`.

    Parameters
    ----------
    id, state, cells, cells_done, result_bytes, summary
        As there.
    messages
        Level and text of each.
    problem
        Why it failed, or None.
    """

    id: str
    state: str
    cells: int
    cells_done: int
    result_bytes: int
    summary: str
    messages: list[tuple[int, str]]
    problem: ToldProblem | None

    @property
    def has_ended(self) -> bool:
        """Whether nothing changes any more."""
        return self.state not in ("queued", "running")


def read_job(text: bytes) -> ToldJob:
    """Return the state of a job that JSON tells.

    Raises
    ------
    Misfit
        If it does not.
    """
    told = _Object(_load(text))
    problem = told.take("problem", dict, type(None))
    messages = [_Object(each) for each in told.take("messages", list)[:MAX_MESSAGES]]
    state = told.text("state")
    if not _ID.fullmatch(told.text("id")) or state not in STATES:
        raise Misfit
    return ToldJob(
        told.text("id"),
        state,
        told.count("cells"),
        told.count("cells_done"),
        told.count("result_bytes"),
        told.text("summary"),
        [(LEVELS.get(each.text("level"), logging.INFO), each.text("text")) for each in messages],
        None if problem is None else _read_problem(problem),
    )


def read_problem(text: bytes) -> ToldProblem:
    """Return the problem that JSON tells.

    Raises
    ------
    Misfit
        If it does not.
    """
    return _read_problem(_load(text))


def _read_problem(value: Any) -> ToldProblem:
    told = _Object(value)
    file, line = told.take("file", str, type(None)), told.take("line", int, type(None))
    code = told.take("exit_code", int, type(None))
    if code is None:
        return ToldProblem(told.text("detail"), 0, "", None, None)
    message = told.text("message")
    line = None if line is None else told.count("line")
    return ToldProblem(told.text("detail"), code, message, file and _cut(file), line)


def read_events(parts: Iterable[bytes]) -> Iterator[ToldJob | None]:
    """Yield the states that server-sent events tell, and None for each other line.

    Raises
    ------
    Misfit
        If a line is too long, or tells no state.
    """
    held = b""
    for part in parts:
        *lines, held = (held + part).split(b"\n")
        for line in lines:
            yield read_job(line[6:]) if line.startswith(b"data: ") else None
        if len(held) > MAX_ANSWER_BYTES:
            raise Misfit


def read_all(parts: Iterable[bytes]) -> bytes:
    """Return a body.

    Raises
    ------
    Misfit
        If it is too long.
    """
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > MAX_ANSWER_BYTES:
            raise Misfit
    return bytes(body)


def _load(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Misfit from error


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."


class _Object:
    """A JSON object whose members are taken by their types."""

    def __init__(self, value: Any) -> None:
        if not isinstance(value, dict):
            raise Misfit
        self._members = value

    def take(self, name: str, *kinds: type) -> Any:
        """Return a member of one of these types; one that is not there is None."""
        value = self._members.get(name)
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise Misfit
        return value

    def text(self, name: str) -> str:
        """Return a text, cut if it is too long to be shown."""
        return _cut(self.take(name, str))

    def count(self, name: str) -> int:
        """Return a whole number, not negative, of at most 64 bits."""
        value: int = self.take(name, int)
        if not 0 <= value <= MAX_COUNT:
            raise Misfit
        return value
