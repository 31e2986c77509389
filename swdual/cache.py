"""The folder for what is worth keeping between runs: compiled kernels, measured rates.

It is the first of these that can be written: ``SWDUAL_CACHE_DIR``, the user's cache folder, the
folder for temporary files. Where none can, nothing is kept.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import platformdirs
import xxhash


@cache
def cache_folder() -> Path | None:
    """Return the folder, or None where there is none to write to.

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
