"""Numba with the project's settings: no GIL in kernels, and compiled code kept in a cache."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, njit
from numba.core import event

from swdual.io.progress import compilation
from swdual.runtime.cache import numba_folder

_DECORATING = threading.Lock()

_FUNCTIONS: set[Callable[..., object]] = set()
"""The Python functions of all kernels."""

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Return a function as a kernel that Numba compiles at its first call.

    For kernels that allocate arrays, or are called so often that every microsecond counts. Others
    use `swdual.runtime.native.native`, which needs no Numba once they are compiled.
    """
    folder = numba_folder()
    with _DECORATING, _numba_cache(folder):
        compiled = njit(
            nogil=True,
            error_model="numpy",
            cache=folder is not None,
            no_cfunc_wrapper=True,  # nothing but Python and other kernels call one
        )(function)
    _FUNCTIONS.add(function)
    return cast(Function, compiled)


class _Watch(event.Listener):  # type: ignore[misc]
    """Measures compilations, but not the loading of a kernel from the cache folder."""

    def on_start(self, event: Any) -> None:
        if _is_kernel(event):
            compilation.begin()

    def on_end(self, event: Any) -> None:
        if _is_kernel(event):
            compilation.end()


def _is_kernel(happening: Any) -> bool:
    """Return whether an event is about a kernel, and not about a user's or Numba's own function."""
    return happening.data["dispatcher"].py_func in _FUNCTIONS


event.register("numba:compile", _Watch())


@contextmanager
def _numba_cache(folder: Path | None) -> Iterator[None]:
    """Set Numba's cache folder in this block only; kernels of the user keep theirs."""
    before = config.CACHE_DIR
    config.CACHE_DIR = "" if folder is None else str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before
