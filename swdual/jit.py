"""Numba with the project's settings: kernels release the GIL and are compiled once a machine.

Compiled kernels are kept in the first of these folders that can be written: ``SWDUAL_CACHE_DIR``,
the user's cache folder, the folder for temporary files. Where none can, they live in memory only.
"""

from __future__ import annotations

import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

import platformdirs
import xxhash
from numba import config, njit

_DECORATING = threading.Lock()

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Return `function` compiled to machine code on its first call."""
    folder = cache_folder()
    with _DECORATING, _numba_cache(folder):
        compiled = njit(nogil=True, error_model="numpy", cache=folder is not None)(function)
    return cast(Function, compiled)


@cache
def cache_folder() -> Path | None:
    """Return the folder for compiled kernels, or None where there is none to write to.

    Numba notices a change in the file of a kernel, but not in the functions that it calls, so
    the folder's name depends on all of the package's files.
    """
    package = Path(__file__).parent
    state = xxhash.xxh3_64()
    for file in sorted(package.rglob("*.py")):
        state.update(file.read_bytes())
    name = state.hexdigest()
    user = f"swdual-{os.getuid()}" if hasattr(os, "getuid") else "swdual"
    parents: list[Callable[[], str]] = [
        lambda: os.environ["SWDUAL_CACHE_DIR"],
        lambda: platformdirs.user_cache_dir("swdual", appauthor=False),
        lambda: os.path.join(tempfile.gettempdir(), user),
    ]
    for parent in parents:
        try:
            folder = Path(parent()) / name
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
            if _is_ours(folder) and _is_ours(folder.parent):
                return folder
        except (OSError, KeyError):
            continue
    return None


def _is_ours(folder: Path) -> bool:
    """Return whether nobody else could have put something into a folder."""
    state = folder.stat()
    return not hasattr(os, "getuid") or (
        state.st_uid == os.getuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


@contextmanager
def _numba_cache(folder: Path | None) -> Iterator[None]:
    """Point Numba at our folder while it decorates; the user's own kernels keep theirs."""
    before = config.CACHE_DIR
    config.CACHE_DIR = "" if folder is None else str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before
