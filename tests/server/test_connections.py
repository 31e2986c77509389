"""Connections: how many there may be, how long they may be silent, and what is no request."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress

import httpx
import pytest
import uvicorn
from support.servers import SECONDS, running_server, wait_until

from swdual.errors import ServerError
from swdual.server.connections import (
    MIN_CONNECTIONS,
    SPARE_FILES,
    allow_connections,
    make_connection_class,
)
from swdual.server.limits import Limits
from swdual.server.service import listen


class Site:
    """A server with the connections of swdual; it answers with endless bodies at /endless."""

    def __init__(self, limits, most=1000):
        self.responses = Counter()
        self.ended = threading.Event()
        self.listener = listen("127.0.0.1", 0, limits.stall_seconds)
        self.address = self.listener.getsockname()
        kind = make_connection_class(limits, most, self.responses)
        config = uvicorn.Config(
            self.answer, http=kind, log_config=None, lifespan="off", interface="asgi3"
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.listener],))

    async def answer(self, scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/endless":
            flood = asyncio.ensure_future(self.send_for_ever(send))
            while (await receive())["type"] != "http.disconnect":
                pass
            flood.cancel()
            self.ended.set()
        await send({"type": "http.response.body", "body": b"ok"})

    async def send_for_ever(self, send):
        while True:
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
            await asyncio.sleep(0)

    def __enter__(self):
        self.thread.start()
        wait_until(lambda: self.server.started)
        return self

    def __exit__(self, *error):
        self.ended.set()
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(SECONDS)


def read_end(connection):
    """Return what a server sends until it closes a connection."""
    connection.settimeout(SECONDS)
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: local",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HT",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc",
    ],
)
def test_a_connection_that_does_not_complete_a_request_is_closed(sent):
    """Also one that sends something now and then."""
    with (
        Site(Limits(body_seconds=0.3)) as site,
        socket.create_connection(site.address) as connection,
    ):
        connection.sendall(sent)
        if sent.endswith((b"local", b"HT", b"abc")):
            with suppress(OSError):  # it is closed
                for letter in b"xx":
                    time.sleep(0.05)
                    connection.sendall(bytes([letter]))
        answer = read_end(connection)
        assert answer.count(b"200 OK") == sent.count(b"\r\n\r\n")
        wait_until(lambda: not site.server.server_state.connections)


def test_a_new_connection_closes_that_which_has_waited_longest():
    with Site(Limits(), most=20) as site, ExitStack() as files:
        idle = []
        for _ in range(60):
            idle.append(files.enter_context(socket.create_connection(site.address)))
            idle[-1].sendall(b"GET / HTTP/1.1\r\nHost: local")
        url = "http://{}:{}".format(*site.address)
        for _ in range(3):
            assert httpx.get(url).text == "ok"
        for connection in idle[:40]:
            assert read_end(connection) == b""
        wait_until(lambda: len(site.server.server_state.connections) <= 20)
        idle[-1].sendall(b"host\r\n\r\n")
        idle[-1].settimeout(SECONDS)
        assert idle[-1].recv(1000).startswith(b"HTTP/1.1 200 OK")


def test_a_client_that_takes_nothing_is_given_up():
    with (
        Site(Limits(stall_seconds=0.5)) as site,
        socket.create_connection(site.address) as connection,
    ):
        connection.sendall(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert site.ended.wait(SECONDS)


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n\x00\xff\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_request_is_refused_and_counted(running, caplog, sent):
    url, queue = running
    host, port = url.removeprefix("http://").split(":")
    before = count(url, 400)
    caplog.set_level(logging.WARNING)
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(sent)
        assert read_end(connection).startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert count(url, 400) == before + 1
    assert queue.running == 0
    assert not [record for record in caplog.records if record.exc_info]


def count(url, status):
    """Return how many responses of a status the metrics tell."""
    name = f'swdual_responses_total{{status="{status}"}} '
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return next((int(x.removeprefix(name)) for x in lines if x.startswith(name)), 0)


@pytest.fixture(scope="module")
def running():
    with running_server() as (url, queue):
        yield url, queue


def test_there_are_as_many_connections_as_files_allow(monkeypatch):
    limits = Limits(kept_jobs=100, requests=200)
    with open(os.devnull, "rb") as lowest:
        used = lowest.fileno()  # other tests leave files open
    chosen = []
    monkeypatch.setattr(resource, "setrlimit", lambda kind, values: chosen.append(values))

    def allow(soft, hard):
        monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, hard))
        chosen.clear()
        return allow_connections(limits, 1), [*chosen]

    most, raised = allow(1024, resource.RLIM_INFINITY)
    assert most == 800
    assert 1600 + SPARE_FILES < raised[0][0] < 2100 + used
    assert allow(1 << 20, 1 << 20) == (800, [])
    most, raised = allow(600, 1000 + used)
    assert MIN_CONNECTIONS < most < 400
    assert raised[0][0] <= 1000 + used
    with pytest.raises(ServerError, match=r"needs \d+ open files, but the system allows 256"):
        allow(256, 256)
