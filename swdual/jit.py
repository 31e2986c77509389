"""Numba with the project's settings: kernels release the GIL and are compiled once a machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

from numba import config, njit

from swdual.cache import numba_folder

_DECORATING = threading.Lock()

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Return `function` compiled to machine code on its first call.

    For kernels that allocate arrays, or are called so often that every microsecond of a call
    counts. Others are `swdual.native.native`, which needs no Numba once they are compiled.
    """
    folder = numba_folder()
    with _DECORATING, _numba_cache(folder):
        compiled = njit(nogil=True, error_model="numpy", cache=folder is not None)(function)
    return cast(Function, compiled)


@contextmanager
def _numba_cache(folder: Path | None) -> Iterator[None]:
    """Point Numba at our folder while it decorates; the user's own kernels keep theirs."""
    before = config.CACHE_DIR
    config.CACHE_DIR = "" if folder is None else str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before
