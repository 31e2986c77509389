"""Sends a search to a server."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from swdual.errors import (
    DatabaseError,
    EngineError,
    InputError,
    MemoryLimitError,
    OutputError,
    ServerError,
    SwdualError,
)
from swdual.io.output import Output
from swdual.io.progress import progress_bar
from swdual.io.text import quote, sanitize
from swdual.runtime.extras import install_command
from swdual.sequences.stream import ReadFailure, Source, open_source, pieces, read_error
from swdual.server.tokens import LOOPBACK

try:
    import httpx
except ImportError as error:
    raise ServerError(
        f"a search on a server needs httpx ({error}); install it: {install_command('serve')}"
    ) from error

logger = logging.getLogger("swdual")

CONNECT_SECONDS = 10.0

KEEP_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))
        if hasattr(socket, name)
    ),
]
"""A result may be long in coming; the system notices if the server's machine is lost meanwhile."""

ERRORS: dict[int, type[SwdualError]] = {
    1: InputError,
    2: DatabaseError,
    3: EngineError,
    4: MemoryLimitError,
    6: OutputError,
}
"""Errors of a search on a server, by their exit codes."""


def read_queries(source: Source) -> str:
    """Return the text of a file of queries, decompressed, for the field `queries`.

    Parameters
    ----------
    source
        A path, or "-" for standard input.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    parts: list[bytes] = []
    with open_source(source) as (stream, compression):
        try:
            parts.extend(pieces(stream))
        except ReadFailure as failure:
            records = b"".join(parts).count(b"\n>")
            raise read_error(source, compression, records, failure.cause) from failure
    return b"".join(parts).decode(errors="surrogateescape")


def search_on_server(
    url: str, token: str | None, request: dict[str, Any], stream: Output, *, progress: bool
) -> None:
    """Run a search on a server, write its result, and log its messages.

    Parameters
    ----------
    url
        The address of the server.
    token
        The secret that lets this client in; None if there is none.
    request
        The request: see `swdual.server.requests.FIELDS`.
    stream
        Where to write the result.
    progress
        Whether to draw a progress bar.

    Raises
    ------
    SwdualError
        The error of the search, as a search on this machine raises it.
    ServerError
        If the server cannot be reached, refuses the search, or goes away.
    """
    with _connect(url, token) as http:
        sent = http.post("/jobs", content=json.dumps(request), headers=_JSON)
        job = _read(sent, 202)
        address = f"/jobs/{job['id']}"
        try:
            with progress_bar("searching", "GCUPS", 1e9, shown=progress) as bar:
                states: list[dict[str, Any]] = []
                watcher = threading.Thread(
                    target=_watch, args=(http, address, bar, states), daemon=True
                )
                watcher.start()
                received, complete = _receive(http, f"{address}/result", stream)
                watcher.join(CONNECT_SECONDS)
            # A server that is stopped tells the end of a job, and answers no more questions.
            told = bool(states) and states[-1]["state"] not in ("queued", "running")
            job = states[-1] if told else _read(http.get(address), 200)
            for message in job["messages"]:
                logger.log(getattr(logging, message["level"].upper()), "%s", message["text"])
            if job["problem"] is not None:
                raise _make_error(job["problem"])
            if not complete or job["result_bytes"] != received:
                raise ServerError("the result was cut off; search again", file=url)
            logger.info("%s", job["summary"])
        finally:
            with suppress(httpx.HTTPError):
                http.delete(address, timeout=CONNECT_SECONDS)


_JSON = {"Content-Type": "application/json"}


@contextmanager
def _connect(url: str, token: str | None) -> Iterator[httpx.Client]:
    """Yield a client of a server; its errors in this block are raised as a `ServerError`."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
        valid = parts.scheme in ("http", "https") and host and parts.username is None
    except ValueError:
        valid, host = False, None
    if not valid:
        raise InputError(f"`server` is {quote(url)}, but it must be like http://127.0.0.1:8080")
    local = host in LOOPBACK
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    if token is not None and parts.scheme == "http" and not local:
        logger.warning("the token travels in plain text to %s; use https, or an SSH tunnel", host)
    with httpx.Client(
        base_url=url,
        headers=headers,
        timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
        transport=httpx.HTTPTransport(socket_options=KEEP_ALIVE) if local else None,
        trust_env=not local,
    ) as http:
        try:
            yield http
        except httpx.ConnectError as error:
            raise ServerError(
                f"the server cannot be reached: {sanitize(str(error))}; start it with 'swdual "
                "serve'",
                file=url,
            ) from error
        except httpx.HTTPError as error:
            cause = sanitize(str(error)) or type(error).__name__
            raise ServerError(f"the server went away ({cause}); search again", file=url) from error


def _receive(http: httpx.Client, address: str, stream: Output) -> tuple[int, bool]:
    """Write a result to a stream; return the number of bytes, and whether these are all."""
    received = 0
    with http.stream("GET", address, headers={"Accept-Encoding": "identity"}) as response:
        if response.status_code != 200:
            return 0, False
        try:
            for data in response.iter_raw():
                stream.write(data)
                received += len(data)
        except httpx.RemoteProtocolError:  # the job failed: it tells why
            return received, False
    return received, True


def _watch(
    http: httpx.Client,
    address: str,
    report: Callable[[int, int | None], None],
    states: list[dict[str, Any]],
) -> None:
    """Report the progress of a job, and keep its states, until it or the connection ends."""
    with (
        suppress(httpx.HTTPError, RuntimeError, ValueError),
        http.stream("GET", f"{address}/events") as response,
    ):
        for line in response.iter_lines():
            if line.startswith("data: "):
                states[:] = [json.loads(line[6:])]
                report(states[0]["cells_done"], states[0]["cells"] or None)


def _read(response: httpx.Response, status: int) -> dict[str, Any]:
    """Return the JSON object of a response.

    Raises
    ------
    SwdualError
        If it tells a problem, or is none of a server of swdual.
    """
    try:
        told = response.json()
    except ValueError:
        told = None
    if not isinstance(told, dict) or (response.status_code != status and "detail" not in told):
        raise ServerError(
            f"what answers is no search server of swdual (status {response.status_code})",
            file=str(response.request.url),
        )
    if response.status_code != status:
        raise _make_error(told)
    return told


def _make_error(problem: dict[str, Any]) -> SwdualError:
    """Return the error that a problem tells."""
    kind = ERRORS.get(problem.get("exit_code", 0))
    if kind is None:
        return ServerError(f"the server refused the search: {problem['detail']}")
    return kind(problem["message"], file=problem.get("file"), line=problem.get("line"))
