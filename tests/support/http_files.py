"""An HTTP server of the files in a folder, in a thread, that counts what it sends and can fail."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

ENDLESS_BYTES = 256 << 20
"""What stands for a response without an end."""


class HttpFiles:
    """A server of a folder; `url` returns the URL of a file.

    Parameters
    ----------
    folder
        The files.

    Attributes
    ----------
    ranges
        Whether it sends parts of files.
    failures
        The statuses with which the next requests for content fail; "cut" closes the connection in
        the middle of the content, "endless" goes on after it without an end, "slow" waits before
        each piece of it, "flip" changes a byte, and None is no failure.
    sent, requests
        By name: bytes of content that were sent, and ranges that were asked for.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ranges = True
        self.failures: list[int | str | None] = []
        self.sent: Counter[str] = Counter()
        self.requests: list[tuple[str, int, int]] = []
        self.lock = threading.Lock()

    def url(self, name: str, user: str = "", query: str = "") -> str:
        """Return the URL of a file."""
        host, port = self._server.server_address[:2]
        return f"http://{user}{host}:{port}/{name}{query}"

    def __enter__(self) -> Self:
        files = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self._answer(with_content=False)

            def do_GET(self):
                self._answer(with_content=True)

            def _answer(self, *, with_content):
                files._answer(self, with_content)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler, with_content: bool) -> None:
        name = urlsplit(request.path).path.lstrip("/")
        path = self.folder / name
        failure: int | str | None = None
        if with_content:
            with self.lock:
                failure = self.failures.pop(0) if self.failures else None
        if isinstance(failure, int) or not path.is_file():
            request.send_response(failure if isinstance(failure, int) else 404)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        data = path.read_bytes()
        tag = hashlib.sha256(data).hexdigest()
        first, last = 0, len(data) - 1
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        partial = self.ranges and asked is not None
        if partial:
            first, last = int(asked[1]), min(int(asked[2] or last), last)
        content = bytearray(data[first : last + 1])
        request.send_response(206 if partial else 200)
        if failure != "endless":
            request.send_header("Content-Length", str(len(content)))
        request.send_header("ETag", f'"{tag}"')
        request.send_header("Accept-Ranges", "bytes" if self.ranges else "none")
        if partial:
            request.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        request.end_headers()
        if not with_content:
            return
        if failure == "flip":
            content[len(content) // 2] ^= 1
        with self.lock:
            self.requests.append((name, first, len(content)))
        if failure == "endless":
            self._send_endless(request, name, bytes(content))
            return
        half = max(1, len(content) // 2)
        for part in (content[:half], content[half:]):
            if failure == "slow":
                time.sleep(0.2)
            try:
                request.wfile.write(part)
            except OSError:
                return
            with self.lock:
                self.sent[name] += len(part)
            if failure == "cut":
                request.wfile.flush()
                request.close_connection = True
                request.connection.close()
                return

    def _send_endless(self, request: BaseHTTPRequestHandler, name: str, content: bytes) -> None:
        """Send content and then zeros, until the client has enough or it is too much."""
        request.close_connection = True
        try:
            while self.sent[name] < ENDLESS_BYTES:
                request.wfile.write(content)
                content = bytes(max(len(content), 1 << 16))
                self.sent[name] += len(content)
        except OSError:
            return
