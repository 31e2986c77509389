"""Connections of clients: how many there may be, and how long one may say or take nothing."""

from __future__ import annotations

import asyncio
import os
import socket
from collections import Counter

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from swdual.errors import ServerError
from swdual.runtime.system import allow_open_files, most_open_files
from swdual.server.limits import Limits

BACKLOG = 50
"""Connections that the system holds until they are accepted, and that are accepted at a time."""

SPARE_FILES = 4 * BACKLOG
"""Files that may be opened besides connections and results: connections are closed a little after
others were accepted, and jobs read files."""

CONNECTIONS = 4
"""Connections for each request that is answered at a time: most wait for the next request."""

MIN_CONNECTIONS = 16


def make_connection_class(
    limits: Limits, most: int, responses: Counter[int]
) -> type[asyncio.Protocol]:
    """Return the class of a server's connections.

    Parameters
    ----------
    limits
        Their `body_seconds` are also the time until the header lines of a request are complete.
    most
        Connections at a time. For one more, that which has waited longest for a request is closed.
    responses
        Gets the number of responses to what is no request.
    """

    class Connection(H11Protocol):
        """A connection that waits for requests, but not for ever."""

        _waiting: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            """Wait for a request. See `asyncio.Protocol`."""
            super().connection_made(transport)
            self._wait()
            if len(self.connections) > most:
                waiting = [each for each in self.connections if isinstance(each, Connection)]
                longest = min(waiting, key=Connection._deadline)
                longest._go_on()  # so that the next one closes another
                longest.transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            """Wait no longer. See `asyncio.Protocol`."""
            self._go_on()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Read, and wait no longer if that completes the header lines of a request."""
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._go_on()

        def on_response_complete(self) -> None:
            """Wait for the next request, unless it is there."""
            super().on_response_complete()
            if self.cycle.response_complete:
                self._wait()

        def send_400_response(self, msg: str) -> None:
            """Refuse what is no request, unless a response has begun, which is cut off."""
            if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
                self.transport.abort()
                return
            responses[400] += 1
            super().send_400_response(msg)
            if self.cycle is not None:
                self.cycle.disconnected = True
                self.cycle.message_event.set()

        def _wait(self) -> None:
            self._go_on()
            self._waiting = self.loop.call_later(limits.body_seconds, self.transport.close)

        def _go_on(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

        def _deadline(self) -> float:
            return float("inf") if self._waiting is None else self._waiting.when()

    return Connection


def allow_connections(limits: Limits, jobs: int) -> int:
    """Return how many connections there may be, and let this process open as many files.

    Parameters
    ----------
    limits
        Requests at a time, and results that are kept.
    jobs
        Jobs that run at a time.

    Raises
    ------
    ServerError
        If the system does not allow enough files.
    """
    with open(os.devnull, "rb") as lowest:
        used = lowest.fileno()
    used += SPARE_FILES + limits.kept_jobs + jobs
    most = CONNECTIONS * limits.requests
    allowed = most_open_files()
    if allowed is not None:
        most = min(most, (allowed - used) // 2)  # each may read a result
    needed = used + 2 * max(most, MIN_CONNECTIONS)
    if most < MIN_CONNECTIONS:
        raise ServerError(
            f"the server needs {needed:,} open files, but the system allows {allowed:,}; raise "
            "`ulimit -n`, or keep fewer jobs (`keep_jobs`)"
        )
    allow_open_files(needed)
    return most


def end_stalled(listener: socket.socket, seconds: float) -> None:
    """Have the system end connections to whose clients nothing can be sent for a time.

    Parameters
    ----------
    listener
        The socket that listens; connections inherit it.
    seconds
        The time.
    """
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        milliseconds = int(1000 * seconds)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
