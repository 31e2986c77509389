"""Compiles what searches compute with, once on a machine, before the clock of a search starts."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import xxhash

from swdual.cache import cache_folder, source_digest
from swdual.memory import resident
from swdual.native import target_processor
from swdual.progress import COMPILING, progress_bar

logger = logging.getLogger("swdual")

KERNELS = 15
"""How many kernels the common searches use."""

FILES = (
    "lanes/pack.py",
    "backends/_gotoh.py",
    "backends/_striped.py",
    "alignment/grid.py",
    "alignment/tile.py",
)
"""Where most of them are: what every search loads, and so takes the digest of."""


def compile_kernels(warm_up: Callable[[], object], *, shown: bool) -> int:
    """Compile the kernels of the common searches, unless this was done on this machine.

    A file in the cache folder, named after the processor and what the kernels are made from, tells
    that it was done: looking for it takes no time. Rarer kernels, such as those for scores above
    32,767, are compiled when they are first needed; so are all where no folder can keep them.
    Returns the bytes of memory that the compiler keeps.

    Parameters
    ----------
    warm_up
        Runs all of these kernels.
    shown
        Draw a progress bar.
    """
    folder = cache_folder()
    if folder is None:
        return 0
    package = Path(__file__).parents[1]
    state = [target_processor(), *(source_digest(str(package / file)) for file in FILES)]
    mark = folder / f"compiled-{xxhash.xxh3_64_hexdigest(repr(state).encode())}"
    if mark.exists():
        return 0
    before = resident()
    with (
        _no_steps_told(),
        progress_bar(COMPILING, "", 1, shown=shown, kernels=KERNELS),
        _no_garbage_collection(),
    ):
        try:
            warm_up()
        finally:
            _wait_for_workers()
    with suppress(OSError):
        mark.touch()
    return max(0, resident() - before)


def _wait_for_workers() -> None:
    """Wait until nobody compiles any more: a process that ends meanwhile ends with a crash."""
    for thread in threading.enumerate():
        if thread.name.startswith("swdual ") and thread is not threading.current_thread():
            thread.join()


@contextmanager
def _no_steps_told() -> Iterator[None]:
    """Leave out what the warm-up would say of itself, under ``-v`` above all."""

    def is_of_user(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or record.msg == COMPILING

    logger.addFilter(is_of_user)
    try:
        yield
    finally:
        logger.removeFilter(is_of_user)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Collect no garbage for a while: that takes an eighth of Numba's time and finds little."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
