"""The time during which kernels are compiled, and what a user is told of it."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

logger = logging.getLogger("swdual")

COMPILING = "compiling kernels for their first use on this machine"


class ProgressBar(Protocol):
    """What shows the progress of a task: see `swdual.io.progress.Bar`."""

    def refresh(self) -> None:
        """Draw the present state."""


class _CompilationClock:
    """Measures the time during which kernels are compiled in this process.

    The progress bars that are shown now (`bars`) show it. Where there is none, one message a
    process says that kernels are compiled (`announced`).
    """

    def __init__(self) -> None:
        self.bars: list[ProgressBar] = []
        self._seconds = 0.0
        self._running = 0
        self._began = 0.0
        self.announced = False
        self._lock = threading.Lock()
        self._depth = 0
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._pending: list[int] = []

    @property
    def is_running(self) -> bool:
        """Whether a kernel is being compiled now."""
        return self._running > 0

    @property
    def seconds(self) -> float:
        """Seconds so far; the time while several threads compile counts once."""
        with self._lock:
            running = time.monotonic() - self._began if self._running else 0.0
            return self._seconds + running

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure the compilation of a kernel in this block."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    def begin(self) -> None:
        """Start the clock, and announce the compilation.

        Ctrl-C and SIGTERM take effect afterwards: the compiler calls Python functions that let no
        exception through.
        """
        self._defer_signals()
        with self._lock:
            self._running += 1
            if self._running == 1:
                self._began = time.monotonic()
        self.announce()
        for bar in [*self.bars]:
            bar.refresh()

    def announce(self) -> None:
        """Log that kernels are compiled, once a process, unless a bar shows it."""
        with self._lock:
            silent = not self.bars and not self.announced
            self.announced = self.announced or silent
        if silent:
            logger.info(COMPILING)

    def end(self) -> None:
        """Stop the clock."""
        with self._lock:
            self._running -= 1
            if self._running == 0:
                self._seconds += time.monotonic() - self._began
        self._deliver_signals()

    def _defer_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth += 1
        if self._depth > 1:
            return
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, lambda number, frame: self._pending.append(number))

    def _deliver_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth -= 1
        if self._depth:
            return
        handlers, self._handlers = self._handlers, {}
        pending, self._pending = self._pending, []
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in pending:
            handlers[number](number, None)


compilation = _CompilationClock()
"""`swdual.runtime.native` and `swdual.runtime.jit` call it when they compile a kernel."""
