"""Who waits for a job hears of each change, whenever it comes."""

from __future__ import annotations

import asyncio
import json

import pytest
from support.servers import SECONDS

from swdual.server.app import _wait_for_result
from swdual.server.events import tell_progress
from swdual.server.jobs import FAILED, SearchJob
from swdual.server.limits import Limits
from swdual.server.problems import Problem
from swdual.server.requests import read_request


class Silent:
    """A request whose client says nothing more."""

    async def receive(self):
        await asyncio.Event().wait()


@pytest.fixture
def in_a_loop(tmp_path):
    """Run a coroutine function with a job that has begun; it may take some seconds."""

    async def limited(function):
        body = {"database": "t.db", "queries": ">q\nMKV\n"}
        job = SearchJob(read_request(json.dumps(body).encode()), "", Limits(), tmp_path)
        job.begin()
        async with asyncio.timeout(SECONDS):
            return await function(job)

    return lambda function: asyncio.run(limited(function))


def test_the_end_is_told_though_it_comes_while_an_event_is_sent(in_a_loop, monkeypatch):
    """No quiet time passes before the client hears of it."""
    monkeypatch.setattr("swdual.server.events.QUIET_SECONDS", 2 * SECONDS)

    async def follow(job):
        events = tell_progress(job, SearchJob.describe)
        first = await anext(events)
        job.end(FAILED, Problem(500, "internal error"))
        return first, await anext(events)

    first, last = in_a_loop(follow)
    assert first.startswith(b"event: running")
    assert last.startswith(b"event: failed")


@pytest.mark.parametrize("steps", range(6))
def test_a_result_is_answered_though_the_job_ends_meanwhile(in_a_loop, steps):
    """After any step of the event loop."""

    async def ask(job):
        answer = asyncio.create_task(_wait_for_result(job, Silent(), whole=False))
        for _ in range(steps):
            await asyncio.sleep(0)
        job.end(FAILED, Problem(500, "internal error"))
        await answer

    in_a_loop(ask)
