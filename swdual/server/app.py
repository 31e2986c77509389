"""The addresses of the server."""

from __future__ import annotations

import asyncio
import io
import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import cache
from importlib.resources import files
from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from swdual.errors import InputError
from swdual.io.output import Output
from swdual.server import events, metrics
from swdual.server.description import describe_server
from swdual.server.guard import Guard
from swdual.server.jobs import JobQueue, SearchJob
from swdual.server.media_types import MEDIA_TYPES
from swdual.server.problems import Problem, Refused, explain
from swdual.server.requests import SearchRequest, read_request
from swdual.server.spool import Gone, Spool
from swdual.server.tokens import Tokens
from swdual.version import __version__

SWEEP_SECONDS = 10.0
"""How often old jobs are forgotten."""

REPORT_POLICY = "sandbox allow-scripts allow-downloads"
"""What browsers may do with a result: a report may run its own script, as no part of this site."""


def make_app(
    queue: JobQueue, hosts: Iterable[str], tokens: Tokens, responses: Counter[int]
) -> ASGIApp:
    """Return the application.

    Parameters
    ----------
    queue
        Runs the jobs.
    hosts, tokens
        As for `Guard`.
    responses
        Gets the number of responses by their status.
    """
    site = _Site(queue, responses)
    pages = {"/": "page.html", "/page.css": "page.css", "/page.js": "page.js"}
    app = Starlette(
        routes=[
            *(Route(path, _serve_file(name)) for path, name in pages.items()),
            Route("/healthz", site.tell_health),
            Route("/metrics", site.tell_metrics),
            Route("/openapi.json", site.tell_description),
            Route("/databases", site.list_databases),
            Route("/search", site.search, methods=["POST"]),
            Route("/jobs", site.submit, methods=["POST"]),
            Route("/jobs/{id}", site.show, methods=["GET"]),
            Route("/jobs/{id}", site.cancel, methods=["DELETE"]),
            Route("/jobs/{id}/events", site.tell_progress),
            Route("/jobs/{id}/result", site.send_result),
        ],
        exception_handlers={
            HTTPException: _answer_http_error,
            Refused: _answer_refusal,
            InputError: _answer_input_error,
            ClientDisconnect: _answer_nobody,
            500: _answer_defect,
        },
        lifespan=site.keep_tidy,
    )
    limits = queue.limits
    return Guard(app, hosts, tokens, limits.requests, limits.client_requests, responses)


class _Result(StreamingResponse):
    """A result; if it cannot be completed, the connection is closed, which no client overlooks.

    Parameters
    ----------
    parts, headers, media_type
        The result.
    leave
        Called at the end, or when the client has gone.
    """

    def __init__(
        self,
        parts: AsyncGenerator[bytes],
        headers: dict[str, str],
        media_type: str,
        leave: Callable[[], None],
    ) -> None:
        super().__init__(parts, headers=headers, media_type=media_type)
        self._parts = parts
        self._leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()
            await self._parts.aclose()

    async def stream_response(self, send: Send) -> None:
        with suppress(_Incomplete, Gone):
            await super().stream_response(send)


class _Incomplete(Exception):
    """The rest of a result will never come."""


class _Site:
    """What the server answers.

    Parameters
    ----------
    queue
        The jobs.
    responses
        The number of responses by their status.
    """

    def __init__(self, queue: JobQueue, responses: Counter[int]) -> None:
        self._queue = queue
        self._responses = responses

    @asynccontextmanager
    async def keep_tidy(self, app: Starlette) -> AsyncIterator[None]:
        """Forget old jobs in this block, and cancel all at its end."""

        async def sweep() -> None:
            while True:
                await asyncio.sleep(SWEEP_SECONDS)
                self._queue.forget_old()

        task = asyncio.create_task(sweep())
        try:
            yield
        finally:
            task.cancel()
            await self._queue.close()

    async def tell_health(self, request: Request) -> Response:
        queue = self._queue
        return JSONResponse(
            {
                "status": "ok",
                "version": __version__,
                "queued": queue.queued,
                "running": queue.running,
            }
        )

    async def tell_metrics(self, request: Request) -> Response:
        text = metrics.write_metrics(self._queue, self._responses)
        return Response(text, media_type=metrics.MEDIA_TYPE)

    async def tell_description(self, request: Request) -> Response:
        return JSONResponse(describe_server())

    async def list_databases(self, request: Request) -> Response:
        return JSONResponse(self._queue.list_databases())

    async def submit(self, request: Request) -> Response:
        job = self._queue.submit(await self._read(request), request.state.client)
        place = {"Location": f"/jobs/{job.id}"}
        return JSONResponse(self._queue.describe(job), 202, headers=place)

    async def search(self, request: Request) -> Response:
        job = self._queue.submit(await self._read(request), request.state.client)
        try:
            return await self._send(job, request, self._queue.forget)
        except BaseException:
            self._queue.forget(job)
            raise

    async def show(self, request: Request) -> Response:
        return JSONResponse(self._queue.describe(self._find(request)))

    async def cancel(self, request: Request) -> Response:
        job = self._find(request)
        self._queue.forget(job)
        return JSONResponse(self._queue.describe(job))

    async def tell_progress(self, request: Request) -> Response:
        told = events.tell_progress(self._find(request), self._queue.describe)
        return StreamingResponse(told, media_type=events.MEDIA_TYPE)

    async def send_result(self, request: Request) -> Response:
        def leave(job: SearchJob) -> None:
            if not job.readers:
                self._queue.cancel(job, "the client that read the result has gone")

        return await self._send(self._find(request), request, leave)

    def _find(self, request: Request) -> SearchJob:
        return self._queue.find(request.path_params["id"], request.state.client)

    async def _read(self, request: Request) -> SearchRequest:
        """Return the request that the body of a request is."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, "send the request as application/json", Accept="application/json")
        body, limits = bytearray(), self._queue.limits
        try:
            async with asyncio.timeout(limits.body_seconds):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > limits.query_bytes:
                        raise Refused(
                            413,
                            f"the request is larger than {limits.query_bytes:,} bytes; send fewer "
                            "queries at a time",
                            Connection="close",
                        )
        except TimeoutError as error:
            detail = f"the request took longer than {limits.body_seconds:g} seconds to arrive"
            raise Refused(408, detail, Connection="close") from error
        accept = request.headers.get("accept", "")
        return await anyio.to_thread.run_sync(read_request, bytes(body), accept)

    async def _send(
        self, job: SearchJob, request: Request, leave: Callable[[SearchJob], None]
    ) -> Response:
        """Return the result of a job as a response, which begins before the job ends.

        Parameters
        ----------
        job, request
            The job, and the request for its result.
        leave
            Called when the response is complete, or the client has gone.
        """

        def end() -> None:
            self._queue.end_reading(job)
            leave(job)

        whole = not job.is_streamed or request.scope["http_version"] == "1.0"
        self._queue.begin_reading(job)
        try:
            await _wait_for_result(job, request, whole=whole)
            if job.problem is not None or job.spool is None or job.is_forgotten:
                problem = job.problem or Problem(410, "the result is gone")
                end()
                return problem.respond()
        except BaseException:
            end()
            raise
        headers = {"Content-Length": str(job.size)} if job.has_ended else {}
        headers["Content-Security-Policy"] = REPORT_POLICY
        return _Result(_read(job, job.spool), headers, MEDIA_TYPES[job.format], end)


async def _read(job: SearchJob, spool: Spool) -> AsyncGenerator[bytes]:
    """Yield the result of a job while it is written.

    Raises
    ------
    _Incomplete
        If the job fails or is cancelled.
    """
    offset = 0
    with spool.reading() as read_from:
        while True:
            ended = job.has_ended
            if offset < spool.flushed:
                data = await anyio.to_thread.run_sync(read_from, offset)
                offset += len(data)
                yield data
            elif not ended:
                await job.change.wait()
            elif job.problem is not None:
                raise _Incomplete
            else:
                return


async def _wait_for_result(job: SearchJob, request: Request, *, whole: bool) -> None:
    """Wait until a job has ended, or has written something.

    Parameters
    ----------
    job, request
        The job, and the request for its result.
    whole
        Whether only its end counts.

    Raises
    ------
    ClientDisconnect
        If the client goes.
    """

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    gone = asyncio.ensure_future(watch())
    try:
        while not (job.has_ended or (job.size and not whole)):
            change = asyncio.ensure_future(job.change.wait())
            await asyncio.wait((change, gone), return_when=asyncio.FIRST_COMPLETED)
            change.cancel()
            if gone.done():
                raise ClientDisconnect
    finally:
        gone.cancel()


def _serve_file(name: str) -> Callable[[Request], Any]:
    """Return what answers with a file of the page."""
    kinds = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
    content = files("swdual.server").joinpath("page").joinpath(name).read_bytes()
    headers = {"Content-Security-Policy": _page_policy()}

    async def answer(request: Request) -> Response:
        return Response(content, headers=headers, media_type=kinds[name.rpartition(".")[2]])

    return answer


@cache
def _page_policy() -> str:
    """Return what browsers allow the page: its files, and in a frame the scripts of reports.

    A report in a frame inherits this policy and has its own besides, so both name its script and
    its styles by their digests.
    """
    from swdual.formats import html

    page = io.BytesIO()
    html.write([], Output(page, "report"), (), header=False)
    digests = re.findall(r"(script|style)-src ('sha256-[^']+')", page.getvalue().decode())
    own = "; ".join(f"{kind}-src 'self' {digest}" for kind, digest in digests)
    return (
        f"default-src 'none'; {own}; connect-src 'self'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = {
        404: "there is no such address; see /openapi.json",
        405: "this address does not take that method; see /openapi.json",
    }.get(error.status_code, error.detail)
    return Problem(error.status_code, detail, headers=dict(error.headers or {})).respond()


async def _answer_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return error.problem.respond()


async def _answer_input_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, InputError)
    return explain(error).respond()


async def _answer_nobody(request: Request, error: Exception) -> Response:
    return Response(status_code=499)


async def _answer_defect(request: Request, error: Exception) -> Response:
    detail = f"internal error: {type(error).__name__}; the log of the server has more"
    return Problem(500, detail).respond()
