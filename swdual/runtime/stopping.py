"""Work that can be stopped: what may take long asks now and then whether it shall go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_check: ContextVar[Callable[[], None] | None] = ContextVar("_check", default=None)


@contextmanager
def stoppable(check: Callable[[], None]) -> Iterator[None]:
    """Have `check_stop` call a function in this block, which raises an exception to stop the work.

    It counts for this thread only.
    """
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_stop(cells: int = 0) -> None:
    """Raise an exception if the work of this thread is to stop: see `stoppable`.

    Loops over the records of a user call it for each of them. Kernels call it with `cells`, as they
    call a function that shows their progress.
    """
    check = _check.get()
    if check is not None:
        check()
