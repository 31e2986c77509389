"""Servers in threads of this process, on free ports: those of swdual, and others."""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import uvicorn

from swdual.server.jobs import JobQueue
from swdual.server.limits import Limits
from swdual.server.service import ServerOptions, listen, make_config, open_databases

SECONDS = 30

logger = logging.getLogger("swdual")


@contextmanager
def running_server(*databases, limits=None, **options) -> Iterator[tuple[str, JobQueue]]:
    """Run a server in this block; yields its address and its queue."""
    defaults = {"threads": 2, "port": 0, "grace_seconds": 1}
    chosen = ServerOptions(limits=limits or Limits(), **{**defaults, **options})
    with open_databases(map(str, databases)) as opened, tempfile.TemporaryDirectory() as folder:
        queue = JobQueue(opened, chosen.limits, chosen.jobs, chosen.search_options, Path(folder))
        listener = listen(chosen.host, 0, chosen.limits.stall_seconds)
        server = uvicorn.Server(make_config(queue, chosen))
        thread = threading.Thread(target=server.run, args=([listener],))
        logger.addFilter(queue.keep_message)
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", queue
        finally:
            server.should_exit = True
            thread.join(SECONDS)
            assert not thread.is_alive()
            logger.removeFilter(queue.keep_message)
            assert not [*Path(folder).iterdir()]


@contextmanager
def other_server(
    answer: Callable[[str, str], tuple[int, bytes]], host: str = "127.0.0.1", **headers: str
) -> Iterator[str]:
    """Run a server of another program in this block; yields its address.

    Parameters
    ----------
    answer
        Returns status and body for a method and a path.
    host
        Where it listens.
    headers
        Headers of each response.
    """

    class Handler(BaseHTTPRequestHandler):
        def respond(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, body = answer(self.command, self.path)
            with suppress(OSError):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

        do_GET = do_POST = do_DELETE = respond

        def log_message(self, *words: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer((host, 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://{host}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def wait_until(condition) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.01)
