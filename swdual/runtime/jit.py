"""Numba with the project's settings: no GIL in kernels, and compiled code kept in a cache."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, njit
from numba.core import event

from swdual.runtime.cache import numba_folder
from swdual.runtime.compilation import compilation

_DECORATING = threading.Lock()

_FUNCTIONS: set[Callable[..., object]] = set()
"""The Python functions of all kernels."""

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Return a function as a kernel that Numba compiles at its first call.

    For kernels that allocate arrays, or are called so often that every microsecond counts. Others
    use `swdual.runtime.native.native`, which needs no Numba once they are compiled.
    """
    folder = numba_folder(inspect.getfile(function))
    with _DECORATING, _numba_cache(folder):
        compiled = njit(
            nogil=True,
            error_model="numpy",
            cache=folder is not None,
            no_cfunc_wrapper=True,  # nothing but Python and other kernels call one
        )(function)
    if folder is not None:
        compiled._cache = _KeptCode(compiled._cache)
    _FUNCTIONS.add(function)
    return cast(Function, compiled)


class _KeptCode:
    """Numba's cache of a kernel, without errors: what cannot be loaded or kept is compiled.

    Files of a cache are damaged by a power cut or a full disk, and they are pickles: reading one
    may raise anything.
    """

    def __init__(self, kept: Any) -> None:
        self._kept = kept

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled code for a signature, or None."""
        try:
            return self._kept.load_overload(signature, context)
        except Exception:
            with suppress(Exception):
                self._kept.flush()  # else the damaged index would be read before it is written
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep compiled code if that is possible."""
        with suppress(Exception):
            self._kept.save_overload(signature, code)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kept, name)


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
