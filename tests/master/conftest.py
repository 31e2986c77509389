"""What tests of searches share."""

from __future__ import annotations

import threading
import time

import pytest

PATIENCE = 60.0
"""Seconds after which a thread is taken for one that never ends."""


@pytest.fixture
def no_thread_is_left():
    """Yield a function that checks that all threads of the test have ended; also called after it.

    A busy machine takes a while to end a thread.
    """
    before = {*threading.enumerate()}

    def check():
        until = time.monotonic() + PATIENCE
        for thread in {*threading.enumerate()} - before:
            thread.join(max(0.0, until - time.monotonic()))
        assert {*threading.enumerate()} <= before

    yield check
    check()
