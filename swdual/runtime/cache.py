"""The cache folder: compiled kernels and calibration results, kept between runs.

It is the first of these folders that can be written to: ``SWDUAL_CACHE_DIR``, the user's cache
folder, the folder for temporary files. If there is none, nothing is kept.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import platformdirs
import xxhash

from swdual.version import __version__

_HOLDS_KERNELS = re.compile(
    rb"^(?:from swdual\.runtime\.(?:jit|native)|from numba|import numba)\b", re.M
)
_IMPORTED = re.compile(rb"^ *from (swdual\.[\w.]+) import (\([^)]*|[^(\n]*)", re.M)
_CONSTANT = re.compile(rb"\b[A-Z][A-Z_]+\b")

_PACKAGE = Path(__file__).parents[1]


@cache
def cache_folder() -> Path | None:
    """Return the cache folder of this release, or None if no folder can be written to."""
    user = f"swdual-{os.getuid()}" if hasattr(os, "getuid") else "swdual"
    parents: list[Callable[[], str]] = [
        lambda: os.environ["SWDUAL_CACHE_DIR"],
        lambda: platformdirs.user_cache_dir("swdual", appauthor=False),
        lambda: os.path.join(tempfile.gettempdir(), user),
    ]
    for parent in parents:
        try:
            folder = Path(parent()) / __version__
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
            if _is_ours(folder) and _is_ours(folder.parent):
                return folder
        except (OSError, KeyError):
            continue
    return None


@cache
def numba_folder() -> Path | None:
    """Return the folder for Numba's cache, or None.

    Numba compiles a kernel again if its file changes, but not if functions that it calls or
    constants that it uses change in other files. So the name of the folder has a digest of all
    files with kernels.
    """
    folder = cache_folder()
    if folder is None:
        return None
    files = sorted(file for file in _PACKAGE.rglob("*.py") if _HOLDS_KERNELS.search(_read(file)))
    return folder / f"numba-{_digest(files)}"


@cache
def source_digest(file: str) -> str:
    """Return a digest of all source code that the native code of a file's kernels depends on."""
    return _digest([Path(file), _PACKAGE / "runtime/native.py", _PACKAGE / "runtime/codegen.py"])


def _digest(files: list[Path]) -> str:
    """Return a digest of files, of kernel files that they import, and of files of constants.

    Changes in other files need no new compilation.
    """
    state = xxhash.xxh3_64()
    seen: set[Path] = set()
    while files:
        file = files.pop()
        if file in seen or not file.is_file():
            continue
        seen.add(file)
        text = _read(file)
        state.update(text)
        for module, names in _IMPORTED.findall(text) if _HOLDS_KERNELS.search(text) else ():
            path = _PACKAGE.parent / f"{module.decode().replace('.', '/')}.py"
            if _CONSTANT.search(names) or (path.is_file() and _HOLDS_KERNELS.search(_read(path))):
                files.append(path)
    return state.hexdigest()


@cache
def _read(file: Path) -> bytes:
    return file.read_bytes()


def _is_ours(folder: Path) -> bool:
    """Return whether only this user can write to a folder: else its code could be foreign."""
    state = folder.stat()
    return not hasattr(os, "getuid") or (
        state.st_uid == os.getuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )
