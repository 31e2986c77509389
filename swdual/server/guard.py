"""What every request passes: the name of the host, the token, the number of requests at a time."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swdual.server.problems import Problem, Refused
from swdual.server.tokens import Tokens

logger = logging.getLogger("swdual")

OPEN = ("/", "/page.css", "/page.js", "/healthz", "/openapi.json")
"""Addresses that need no token: they tell nothing about databases and jobs."""

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of every response."""

STOPS = Problem(503, "the server stops; send the search again later", {}, {"Retry-After": "30"})
"""The answer to requests that come, or are being answered, when the server stops."""

CONTENT_POLICY = "default-src 'none'; frame-ancestors 'none'"
"""What browsers may do with a response, unless it says otherwise: nothing."""


class Guard:
    """Middleware that passes on the requests of known clients, and counts the responses.

    Parameters
    ----------
    app
        Gets the requests; the state of their scope names the `client`.
    hosts
        The names by which the server may be addressed. Others are refused: a web site can have its
        own name point here, and browsers would take the server for a part of that site.
    tokens
        The tokens that let clients in; if there are none, everybody is.
    max_requests, max_client_requests
        Requests at a time, of all clients and of each.
    counts
        Gets the number of responses by their status.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: Iterable[str],
        tokens: Tokens,
        max_requests: int,
        max_client_requests: int,
        counts: Counter[int],
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._tokens = tokens
        self._max_requests = max_requests
        self._max_client_requests = max_client_requests
        self._requests: Counter[str] = Counter()  # by client, of those that are answered now
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._counts[message["status"]] += 1
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", CONTENT_POLICY)
            await send(message)

        try:
            client = self._admit(scope)
        except Refused as refused:
            await refused.problem.respond()(scope, receive, send_guarded)
            return
        self._requests[client] += 1
        try:
            scope.setdefault("state", {})["client"] = client
            await self._app(scope, receive, send_guarded)
        except asyncio.CancelledError:  # the server stops, and waits no longer; see uvicorn
            if not started:
                await STOPS.respond()(scope, receive, send_guarded)
        finally:
            self._requests[client] -= 1
            self._requests += Counter()  # drops clients without requests

    def _admit(self, scope: Scope) -> str:
        """Return who sends a request.

        Raises
        ------
        Refused
            If it is addressed to somebody else, comes from another site, has no token, or there
            are too many.
        """
        client = self._identify(scope)
        if self._requests[client] >= self._max_client_requests:
            raise Refused(
                429,
                f"{self._requests[client]} requests of yours are being answered; wait for one",
                Retry_After="5",
            )
        if self._requests.total() >= self._max_requests:
            raise Refused(
                503,
                f"{self._requests.total()} requests are being answered; try again later",
                Retry_After="5",
            )
        return client

    def _identify(self, scope: Scope) -> str:
        """Return who sends a request: see `_admit`."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if _host_name(host) not in self._hosts:
            raise Refused(
                421, "the server is not known by the name in the header Host; see --allow-host"
            )
        origin = headers.get("origin")
        if origin is not None and _find_authority(origin) != host.lower():
            raise Refused(403, "the request comes from a page of another site")
        address = scope.get("client") or ("unknown",)
        if not self._tokens:
            return str(address[0])
        kind, _, token = headers.get("authorization", "").partition(" ")
        number = self._tokens.find(token.strip()) if kind.lower() == "bearer" else None
        if number is not None:
            return f"token {number}"
        if scope["path"] in OPEN:
            return str(address[0])
        if token:
            logger.warning("a request of %s had a wrong token", address[0])
        raise Refused(
            401,
            "this server asks for a token: send 'Authorization: Bearer TOKEN'",
            WWW_Authenticate='Bearer realm="swdual"',
        )


def _find_authority(origin: str) -> str | None:
    """Return the host and port in a header Origin, in lower case, or None if it is no address."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _host_name(host: str) -> str | None:
    """Return the name in a header Host, without the port and in lower case."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
