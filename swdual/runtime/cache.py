"""The cache folder: compiled kernels and calibration results, kept between runs.

It is the first of these folders that can be written to: ``SWDUAL_CACHE_DIR``, the user's cache
folder, the folder for temporary files. If there is none, nothing is kept.

Code is loaded from there, so nobody else may be able to put something into it, or another folder in
its place.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import platformdirs
import xxhash

from swdual.runtime import system
from swdual.version import __version__

logger = logging.getLogger("swdual")

_HOLDS_KERNELS = re.compile(
    rb"^(?:from swdual\.runtime\.(?:jit|native)|from numba|import numba)\b", re.M
)
_IMPORTED = re.compile(rb"from (swdual\.[\w.]+) import (\([^)]*|[^(\n]*)")
_CONSTANT = re.compile(rb"\b[A-Z][A-Z_]+\b")

_PACKAGE = Path(__file__).parents[1]


@cache
def cache_folder() -> Path | None:
    """Return the cache folder of this release, or None with a warning if nothing can be kept."""
    user = "swdual" if (number := system.user_number()) is None else f"swdual-{number}"
    parents: list[Callable[[], str]] = [
        lambda: os.environ.get("SWDUAL_CACHE_DIR", ""),
        lambda: platformdirs.user_cache_dir("swdual", appauthor=False),
        lambda: os.path.join(tempfile.gettempdir(), user),
    ]
    refusals = []
    for parent in parents:
        try:
            path = parent()
            if path:
                folder = make_private(Path(path) / __version__)
                with tempfile.TemporaryFile(dir=folder):
                    pass
                return folder
        except (OSError, KeyError) as error:
            refusals.append(error)
    causes = [str(error) for error in refusals if isinstance(error, UnsafeFolderError)]
    logger.warning(
        "kernels are compiled at each run: %s; name a folder of yours by SWDUAL_CACHE_DIR",
        "; ".join(causes) or "no cache folder can be written to",
    )
    return None


class UnsafeFolderError(PermissionError):
    """A folder whose content others could change."""


def make_private(folder: Path) -> Path:
    """Return a folder that only this user can change, without symbolic links; make it if needed.

    Raises
    ------
    UnsafeFolderError
        If others can change what is in it, or put another folder in its place.
    OSError
        If it cannot be made.
    """
    make_folders(folder)
    folder = folder.resolve()
    risk = _find_risk(folder)
    if risk is not None:
        raise UnsafeFolderError(risk)
    return folder


def make_folders(folder: Path) -> None:
    """Make a folder, and those above it that do not exist, for this user alone.

    ``mkdir(mode, parents=True)`` gives the mode to the last one only. Under umask 002, the default
    of many systems, others could write to those above.

    Raises
    ------
    OSError
        If they cannot be made.
    """
    for level in (*reversed(folder.parents), folder):
        if not level.is_dir():
            level.mkdir(mode=0o700, exist_ok=True)


@cache
def numba_folder(file: str) -> Path | None:
    """Return the folder for Numba's cache of the kernels in a file, or None.

    Numba compiles a kernel again if its file changes, but not if functions that it calls or
    constants that it uses change in other files. So the name of the folder has a digest of all
    files that the kernels depend on.
    """
    folder = cache_folder()
    return None if folder is None else folder / f"numba-{_digest([Path(file)])}"


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
        state.update(_read(file))
        files += _list_needed(file)
    return state.hexdigest()


@cache
def _list_needed(file: Path) -> list[Path]:
    """Return the files with kernels, and those of constants, that a file with kernels imports."""
    if not _holds_kernels(file):
        return []
    needed = []
    for module, names in _IMPORTED.findall(_read(file)):
        path = _PACKAGE.parent / f"{module.decode().replace('.', '/')}.py"
        if _CONSTANT.search(names) or (path.is_file() and _holds_kernels(path)):
            needed.append(path)
    return needed


@cache
def _holds_kernels(file: Path) -> bool:
    return _HOLDS_KERNELS.search(_read(file)) is not None


@cache
def _read(file: Path) -> bytes:
    return file.read_bytes()


def _find_risk(folder: Path) -> str | None:
    """Return why others could change what is in a folder, or None if they cannot.

    They could if they can write to it, or to a folder above it: to rename what is there takes no
    more. But in a folder with the sticky bit only owners rename, and nobody gets to what is below a
    folder that only this user can search. The home folder and those above it are not judged: who
    can write there can also change what the user's shell runs.
    """
    user = system.user_number()
    if user is None:
        return None
    levels = [*reversed(folder.parents), folder]
    trusted = {user, 0, levels[0].stat().st_uid}  # in a container, root may have a number
    home = Path(os.path.expanduser("~")).resolve()
    shut = False
    for level in levels[:-1]:
        state = level.stat()
        shut = shut or _is_shut(state, user)
        if shut or level == home or level in home.parents:
            continue
        if state.st_uid not in trusted:
            return f"{level} belongs to another user"
        if not state.st_mode & stat.S_ISVTX and _is_open(state):
            return f"{level} can be written by others (chmod go-w {shlex.quote(str(level))})"
    state = folder.stat()
    if state.st_uid != user:
        return f"{folder} belongs to another user"
    if _is_open(state):
        return f"{folder} can be written by others; remove it"
    return None


def _is_open(state: os.stat_result) -> bool:
    """Return whether others than the owner can write to a folder."""
    by_group = state.st_mode & stat.S_IWGRP and not system.is_private_group(state.st_gid)
    return bool(by_group or state.st_mode & stat.S_IWOTH)


def _is_shut(state: os.stat_result, user: int) -> bool:
    """Return whether only this user can get to what is in a folder."""
    return state.st_uid == user and not state.st_mode & (stat.S_IXGRP | stat.S_IXOTH)
