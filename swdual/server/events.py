"""The progress of a job as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from swdual.server.jobs import SearchJob
from swdual.server.limits import QUIET_SECONDS

MEDIA_TYPE = "text/event-stream"

MIN_SECONDS = 0.2
"""At least so much time is between two events."""


async def tell_progress(
    job: SearchJob, describe: Callable[[SearchJob], dict[str, Any]]
) -> AsyncIterator[bytes]:
    """Yield an event with the state of a job whenever it changes; the last one tells its end.

    Parameters
    ----------
    job
        The job.
    describe
        Returns its state as a JSON object.
    """
    while True:
        change, ended = job.change, job.has_ended
        data = json.dumps(describe(job), separators=(",", ":"))
        yield f"event: {job.state}\ndata: {data}\n\n".encode()
        if ended:
            return
        if not await _wait(change, QUIET_SECONDS):
            yield b": \n\n"
        with suppress(TimeoutError):
            async with asyncio.timeout(MIN_SECONDS):
                while not job.has_ended:
                    await job.change.wait()


async def _wait(change: asyncio.Event, seconds: float) -> bool:
    """Return whether something changes within a time."""
    try:
        async with asyncio.timeout(seconds):
            await change.wait()
    except TimeoutError:
        return False
    return True
