"""Requests: the futures of the client, and their results one after the other in one thread.

Dask tells in a thread of its own that a future is done. Other threads fetch its result, since that
may take long, and put an event into a queue. The thread of the search takes the events from it.
"""

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
"""Results that are fetched at the same time."""

FETCH_SECONDS = 5.0
"""Time limit of the first try to fetch a result; each further try gets twice as long.

The node that has the result may have died. Dask then runs the task elsewhere.
"""

RETRIES = 2
"""How often Dask retries a task that failed."""

Then = Callable[[Any], None]
Failed = Callable[[Exception], None]


def _raise_error(error: Exception) -> None:
    raise error


class Requests:
    """The open futures of one search; the thread of the search calls the public methods.

    No lock is needed: only that thread changes the set `_open`. Dask's thread and those that fetch
    just look whether a future is in it, and give up one that is not. If it was cancelled between
    that look and its event, `process_event` drops the event.

    Parameters
    ----------
    client
        The client of a Dask cluster.
    name
        Part of all keys, so that they differ from those of other searches.
    lost
        Called when Dask has dropped a future; may cancel it or submit it again.
    """

    def __init__(self, client: Client, name: str, lost: Callable[[], None]) -> None:
        self._client = client
        self._name = name
        self._lost = lost
        self._open: set[Future] = set()
        self._count = 0
        self._events: SimpleQueue[tuple[Future, Callable[[], None]]] = SimpleQueue()
        self._fetching = ThreadPoolExecutor(FETCHERS, thread_name_prefix="swdual fetching")

    def submit(
        self,
        what: str,
        function: Callable[..., Any],
        *args: object,
        then: Then | None = None,
        failed: Failed = _raise_error,
        **how: Any,
    ) -> Future:
        """Submit a function to Dask.

        Parameters
        ----------
        what
            The name on the dashboard.
        function, args
            What is called. Futures among the arguments stand for their results.
        then
            Called with the result in `process_event`; without it the result stays on its node.
        failed
            Called with the error, if there is one; by default `process_event` raises it.
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

    def cancel(self, future: Future) -> None:
        """Cancel a future, or drop its result."""
        self._open.discard(future)
        self._client.cancel([future], force=True)

    def process_event(self, seconds: float) -> None:
        """Handle the next event; wait for it so many seconds at most."""
        with suppress(Empty):
            future, act = self._events.get(timeout=seconds)
            if future in self._open:
                act()

    def end(self, also: list[Future]) -> None:
        """Cancel all open futures, and drop the results of others."""
        open_ = [*self._open, *also]
        self._open.clear()
        self._fetching.shutdown(wait=False, cancel_futures=True)
        if self._client.status == "running":
            self._client.cancel(open_, force=True)

    def _fetch(self, future: Future, then: Then | None, failed: Failed) -> None:
        """Fetch a result; runs in a thread of the pool."""
        seconds = FETCH_SECONDS
        while future in self._open and future.status not in ("error", "cancelled"):
            try:
                value = future.result(timeout=seconds)
            except (TimeoutError, CancelledError):
                seconds *= 2
            except Exception as error:
                act: Callable[[], None] = partial(self._fail, future, failed, error)
                if isinstance(error, OSError) and future.status != "error":
                    act = partial(_raise_error, error)  # the connection failed, not the task
                self._events.put((future, act))
                return
            else:
                self._events.put((future, partial(self._finish, future, then, value)))
                return
        self._events.put((future, partial(self._handle_loss, future, failed)))

    def _finish(self, future: Future, then: Then | None, value: Any) -> None:
        self._open.discard(future)
        if then is not None:
            then(value)

    def _fail(self, future: Future, failed: Failed, error: Exception) -> None:
        self._open.discard(future)
        failed(explain_error(error))

    def _handle_loss(self, future: Future, failed: Failed) -> None:
        """Handle a future that ended with an error or was dropped by Dask."""
        if future.status == "error":
            error = future.exception()
            self._fail(future, failed, error if error is not None else EngineError("failed"))
            return
        self._lost()
        if future in self._open:
            raise ClusterError("the cluster has dropped a part of the search: was it restarted?")


def explain_error(error: Exception) -> SwdualError:
    """Return an error of Dask or of a node as users should see it."""
    if isinstance(error, SwdualError):
        return error
    if isinstance(error, KilledWorker):
        return ClusterError(
            f"{error.allowed_failures + 1} nodes died at the same task, the last at "
            f"{error.last_worker.address}: have they too little memory? Their logs may tell"
        )
    words = f"{type(error).__name__}: {error}"
    return EngineError(f"a node of the cluster failed {RETRIES + 1} times; the last time {words}")
