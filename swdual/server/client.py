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
from swdual.io.stream import Source, read_text
from swdual.runtime.extras import install_command
from swdual.server.answers import (
    Misfit,
    ToldJob,
    ToldProblem,
    read_all,
    read_events,
    read_job,
    read_problem,
)
from swdual.server.limits import QUIET_SECONDS
from swdual.server.tokens import LOOPBACK, Tokens
from swdual.text.messages import quote, sanitize

try:
    import httpx
except ImportError as error:
    raise ServerError(
        f"a search on a server needs httpx ({error}); install it: {install_command('serve')}"
    ) from error

logger = logging.getLogger("swdual")

CONNECT_SECONDS = 10.0

SILENT_SECONDS = 4 * QUIET_SECONDS
"""A server that says nothing for so long is asked whether it is there, or given up."""

KEEP_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (
            ("TCP_KEEPIDLE", 60),
            ("TCP_KEEPALIVE", 60),  # its name on macOS
            ("TCP_KEEPINTVL", 15),
            ("TCP_KEEPCNT", 4),
        )
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
    with read_text(source, lambda: b"".join(parts).count(b"\n>")) as text:
        parts.extend(text)
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
        content = json.dumps(request).encode()
        job = read_job(_ask(http, "POST", "/jobs", 202, content))
        address = f"/jobs/{job.id}"
        try:
            with progress_bar("searching", "GCUPS", 1e9, shown=progress) as bar:
                states: list[ToldJob] = []
                result = _Result(http, f"{address}/result")
                watcher = threading.Thread(
                    target=_watch, args=(http, address, bar, states, result), daemon=True
                )
                watcher.start()
                received, complete = result.receive(stream)
                watcher.join(CONNECT_SECONDS)
            # A server that is stopped tells the end of a job, and answers no more questions.
            told = bool(states) and states[-1].has_ended
            job = states[-1] if told else read_job(_ask(http, "GET", address, 200))
            for level, text in job.messages:
                logger.log(level, "%s", text)
            if job.problem is not None:
                raise _make_error(job.problem)
            if not complete or job.state != "finished" or job.result_bytes != received:
                raise ServerError("the result was cut off; search again", file=url)
            logger.info("%s", job.summary)
        finally:
            http.timeout = httpx.Timeout(CONNECT_SECONDS)
            with suppress(Misfit, SwdualError, httpx.HTTPError):
                _ask(http, "DELETE", address, 200)


_PLAIN = {"Accept-Encoding": "identity", "Connection": "close"}
"""Headers of all requests: what is compressed could unpack to any size, and each has a connection
of its own, which can be cut."""


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
    if token is not None:
        Tokens([token])  # refuses what no header can have
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    if token is not None and parts.scheme == "http" and not local:
        logger.warning("the token travels in plain text to %s; use https, or an SSH tunnel", host)
    try:
        made = httpx.Client(
            base_url=url,
            headers=headers,
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS, read=SILENT_SECONDS),
            trust_env=not local,
            # The certificates take 40 ms to load; a server on this machine has none by http.
            verify=not local or parts.scheme == "https",
        )
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise InputError(
            f"the proxy that the environment names cannot be used: {error}", file=url
        ) from error
    with made as http:
        try:
            yield http
        except Misfit as error:
            why = f" ({error})" if str(error) else ""
            raise ServerError(
                f"what answers is no search server of swdual{why}", file=url
            ) from error
        except httpx.ConnectError as error:
            raise ServerError(
                f"the server cannot be reached: {sanitize(str(error))}; start it with 'swdual "
                "serve'",
                file=url,
            ) from error
        except httpx.HTTPError as error:
            cause = sanitize(str(error)) or type(error).__name__
            raise ServerError(f"the server went away ({cause}); search again", file=url) from error


class _Result:
    """The result of a job, on its way.

    Parameters
    ----------
    http, address
        The server, and the address of the result.
    """

    def __init__(self, http: httpx.Client, address: str) -> None:
        self._http = http
        self._address = address
        self._stream: Any = None

    def receive(self, stream: Output) -> tuple[int, bool]:
        """Write it to a stream; return the number of bytes, and whether these are all."""
        received = 0
        with self._http.stream(
            "GET",
            self._address,
            headers=_PLAIN,
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            extensions={"trace": self._note},
        ) as response:
            if response.status_code != 200:
                return 0, False
            try:
                for data in response.iter_raw():
                    stream.write(data)
                    received += len(data)
            except httpx.RemoteProtocolError:  # the job failed: it tells why
                return received, False
        return received, True

    def cut(self) -> None:
        """End the connection: `receive`, which another thread runs, raises an error."""
        if self._stream is not None:
            with suppress(OSError):
                self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

    def _note(self, event: str, info: dict[str, Any]) -> None:
        """Take note of the connection. `socket_options` of httpx would not reach proxies."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._stream = info["return_value"]
            for option in KEEP_ALIVE:
                self._stream.get_extra_info("socket").setsockopt(*option)


def _watch(
    http: httpx.Client,
    address: str,
    report: Callable[[int, int | None], None],
    states: list[ToldJob],
    result: _Result,
) -> None:
    """Report the progress of a job, and keep its states, until it or the connection ends.

    If the server falls silent, the result is cut off.
    """
    with suppress(Misfit, httpx.HTTPError, RuntimeError):  # the last: the client was closed
        while True:
            try:
                with http.stream("GET", f"{address}/events", headers=_PLAIN) as response:
                    for job in read_events(response.iter_raw()):
                        if job is not None:
                            states[:] = [job]
                            report(job.cells_done, job.cells or None)
                return
            except httpx.ReadTimeout:
                if not _answers(http):
                    result.cut()
                    return


def _answers(http: httpx.Client) -> bool:
    """Return whether a server is there; a proxy may have held its events back."""
    with suppress(Misfit, SwdualError):
        try:
            _ask(http, "GET", "/healthz", 200)
        except httpx.HTTPError:
            return False
    return True


def _ask(
    http: httpx.Client, method: str, address: str, status: int, content: bytes | None = None
) -> bytes:
    """Return what the server answers.

    Raises
    ------
    SwdualError
        If it is a problem.
    Misfit
        If the status is another, and no problem is told.
    """
    headers = _PLAIN if content is None else {**_PLAIN, "Content-Type": "application/json"}
    with http.stream(method, address, content=content, headers=headers) as response:
        body = read_all(response.iter_raw())
    if response.status_code == status:
        return body
    try:
        problem = read_problem(body)
    except Misfit as error:
        raise Misfit(f"status {response.status_code}") from error
    raise _make_error(problem)


def _make_error(problem: ToldProblem) -> SwdualError:
    """Return the error that a problem tells."""
    kind = ERRORS.get(problem.exit_code)
    if kind is None:
        return ServerError(f"the server refused the search: {problem.detail}")
    return kind(problem.message, file=problem.file, line=problem.line)
