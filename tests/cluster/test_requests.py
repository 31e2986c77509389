"""Errors of the connection and errors of tasks, with a stand-in for Dask's client."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install '.[cluster]'")

from swdual.cluster.requests import Requests
from swdual.errors import EngineError


class Future:
    """One whose result cannot be fetched."""

    def __init__(self, status):
        self.status = status

    def add_done_callback(self, call):
        call(self)

    def result(self, timeout):
        raise ConnectionResetError("reset by peer")

    def exception(self):
        return ConnectionResetError("of the task")


class Client:
    """It submits nothing."""

    status = "closing"

    def __init__(self, future):
        self._future = future

    def submit(self, *_, **__):
        return self._future


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        ("finished", ConnectionResetError, "reset by peer"),
        ("error", EngineError, "failed 3 times; the last time .*of the task"),
    ],
)
def test_a_connection_that_fails_is_no_failure_of_a_task(status, kind, words):
    """`Nodes.poll` explains the first as the loss of the scheduler."""
    requests = Requests(Client(Future(status)), "name", lambda: None)

    def fail(error):
        raise error

    requests.submit("what", print, then=print, failed=fail)
    with pytest.raises(kind, match=words):
        requests.process_event(30)
    requests.end([])
