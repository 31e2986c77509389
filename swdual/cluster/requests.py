"""Requests: what was asked of Dask, and what came of it, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from distributed import CancelledError, Client, Future
from distributed.scheduler import KilledWorker

from swdual.errors import ClusterError, EngineError, SwdualError

FETCHERS = 8
"""Results that are brought here at a time."""

FETCH_SECONDS = 5.0
"""How long one may take to arrive before it is tried anew, for the first time; then twice as long.

Its node may have died: then Dask does the same again, and the result comes from elsewhere.
"""

RETRIES = 2
"""How often Dask tries again what failed on a node."""

Then = Callable[[Any], None]
Failed = Callable[[Exception], None]


def _raise_error(error: Exception) -> None:
    raise error


class Requests:
    """What was asked and has not come yet.

    Dask tells what is done in a thread of its own; here it waits until `take` is called.

    Parameters
    ----------
    client
        Of a Dask cluster.
    name
        What is part of all keys, so that they are no other's.
    lost
        Is called when Dask has dropped something; may withdraw it, or ask for it anew.
    """

    def __init__(self, client: Client, name: str, lost: Callable[[], None]) -> None:
        self._client = client
        self._name = name
        self._lost = lost
        self._open: set[Future] = set()
        self._count = 0
        self._events: SimpleQueue[tuple[Future, Callable[[], None]]] = SimpleQueue()
        self._fetching = ThreadPoolExecutor(FETCHERS, thread_name_prefix="swdual fetching")

    def ask(
        self,
        what: str,
        function: Callable[..., Any],
        *args: object,
        then: Then | None = None,
        failed: Failed = _raise_error,
        **how: Any,
    ) -> Future:
        """Have something done by Dask.

        Parameters
        ----------
        what
            What the dashboard calls it.
        function, args
            What is called; futures among the arguments stand for their results.
        then
            Is called with the result in `take`; without, the result stays where it is.
        failed
            Is called with the error instead, if there is one; by default `take` raises it.
        **how
            As for ``Client.submit``.
        """
        self._count += 1
        key = f"swdual-{what}-{self._name}-{self._count}"
        future = self._client.submit(function, *args, key=key, retries=RETRIES, pure=False, **how)
        self._open.add(future)

        def done(future: Future) -> None:
            if future in self._open and (then is not None or future.status != "finished"):
                with suppress(RuntimeError):  # the search has ended
                    self._fetching.submit(self._fetch, future, then, failed)

        future.add_done_callback(done)
        return future

    def withdraw(self, future: Future) -> None:
        """Have something not done that was asked for, or its result forgotten."""
        self._open.discard(future)
        self._client.cancel([future], force=True)

    def take(self, seconds: float) -> None:
        """Hand on what has come, waiting for it a moment."""
        with suppress(Empty):
            future, act = self._events.get(timeout=seconds)
            if future in self._open:
                act()

    def end(self, also: list[Future]) -> None:
        """Have nothing more done, and some results forgotten."""
        open_ = [*self._open, *also]
        self._open.clear()
        self._fetching.shutdown(wait=False, cancel_futures=True)
        if self._client.status == "running":
            self._client.cancel(open_, force=True)

    def _fetch(self, future: Future, then: Then | None, failed: Failed) -> None:
        """Bring a result here, in a thread."""
        seconds = FETCH_SECONDS
        while future in self._open and future.status not in ("error", "cancelled"):
            try:
                value = future.result(timeout=seconds)
            except (TimeoutError, CancelledError):
                seconds *= 2
            except Exception as error:
                self._events.put((future, partial(self._fail, future, failed, error)))
                return
            else:
                self._events.put((future, partial(self._finish, future, then, value)))
                return
        self._events.put((future, partial(self._look_into, future, failed)))

    def _finish(self, future: Future, then: Then | None, value: Any) -> None:
        self._open.discard(future)
        if then is not None:
            then(value)

    def _fail(self, future: Future, failed: Failed, error: Exception) -> None:
        self._open.discard(future)
        failed(explain_error(error))

    def _look_into(self, future: Future, failed: Failed) -> None:
        """Deal with something that came to nothing."""
        if future.status == "error":
            error = future.exception()
            self._fail(future, failed, error if error is not None else EngineError("failed"))
            return
        self._lost()
        if future in self._open:
            raise ClusterError("the cluster has dropped a part of the search: was it restarted?")


def explain_error(error: Exception) -> SwdualError:
    """Return the error that something ended with, as users should see it."""
    if isinstance(error, SwdualError):
        return error
    if isinstance(error, KilledWorker):
        return ClusterError(
            f"{error.allowed_failures + 1} nodes died at the same task, the last at "
            f"{error.last_worker.address}: have they too little memory? Their logs may tell"
        )
    words = f"{type(error).__name__}: {error}"
    return EngineError(f"a node of the cluster failed {RETRIES + 1} times; the last time {words}")
