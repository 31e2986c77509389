"""Whatever the headers of a request are, it is answered without status 500, and counted."""

from __future__ import annotations

from collections import Counter

import anyio
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.server.app import make_app
from swdual.server.jobs import JobQueue
from swdual.server.limits import Limits
from swdual.server.tokens import Tokens

NAMES = (
    *("host", "origin", "authorization", "content-type", "accept", "content-length", "range"),
    *("accept-encoding", "connection", "cookie", "expect", "referer", "transfer-encoding"),
    *("x-forwarded-for", "forwarded", "if-none-match", "if-modified-since", "upgrade"),
)

PIECES = (
    *(b"http://", b"//", b"[", b"]", b"::1", b":", b"@", b"%", b"localhost", b"127.0.0.1", b"80"),
    *(b"application/json", b"text/csv", b"*/*", b";q=", b",", b"nan", b"1e999", b"-1", b"9" * 400),
    *(b"Bearer ", b"bytes=", b"\xff", b"\xe2\x84\x80", b"\xef\xbc\x8f", b"=", b'"', b" ", b"close"),
)

PATHS = ("/", "/healthz", "/metrics", "/databases", "/databases/", "/search", "/jobs", "/jobs/x")

VALUES = st.lists(st.sampled_from(PIECES), max_size=5).map(b"".join) | st.binary(max_size=9)


async def answer(app, method, path, headers):
    """Return the status of a response."""
    told = []
    body = b'{"database": "x", "queries": ">q\\nMK\\n"}'

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        told.append(message)

    scope = {
        **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method},
        **{"scheme": "http", "path": path, "raw_path": path.encode(), "root_path": ""},
        **{"query_string": b"%ff", "headers": headers, "client": ("192.0.2.7", 1)},
        **{"server": ("127.0.0.1", 80)},
    }
    await app(scope, receive, send)
    assert sum(each["type"] == "http.response.start" for each in told) == 1
    return told[0]["status"]


@given(
    method=st.sampled_from(["GET", "HEAD", "POST", "DELETE", "OPTIONS"]),
    path=st.sampled_from(PATHS),
    given_headers=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5),
    tokens=st.sampled_from([(), ("0123456789abcdef",)]),
)
@examples(200)
def test_no_header_is_answered_with_status_500(
    tmp_path_factory, method, path, given_headers, tokens
):
    headers = {b"host": b"localhost"} | {k.encode(): v for k, v in given_headers.items()}
    responses = Counter()

    async def run():
        queue = JobQueue({}, Limits(), 1, {}, tmp_path_factory.getbasetemp())
        try:
            app = make_app(queue, ["localhost", "127.0.0.1", "::1"], Tokens(tokens), responses)
            return await answer(app, method, path, [*headers.items()])
        finally:
            await queue.close()

    status = anyio.run(run)
    assert status < 500
    assert responses == {status: 1}
