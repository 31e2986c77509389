"""The folder for what is worth keeping between runs: compiled kernels, measured rates.

It is the first of these that can be written: ``SWDUAL_CACHE_DIR``, the user's cache folder, the
folder for temporary files. Where none can, nothing is kept.
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

_HOLDS_KERNELS = re.compile(rb"^(?:from swdual\.(?:jit|native)|from numba|import numba)\b", re.M)
_CONSTANTS_FROM = re.compile(
    rb"^ *from (swdual\.[\w.]+) import (?:\([^)]*|[^(\n]*)\b[A-Z][A-Z_]+\b", re.M
)


@cache
def cache_folder() -> Path | None:
    """Return the folder, or None where there is none to write to."""
    name = _kernel_digest()
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


def _kernel_digest() -> str:
    """Return a digest of what compiled kernels depend on, the name of their folder.

    Numba compares the file of a kernel, but neither the functions that it calls nor the constants
    that it uses. So the digest covers all files that hold kernels, the files that these take
    constants from, and the release. Other files may change without a new compilation.
    """
    package = Path(__file__).parent
    contents = {file: file.read_bytes() for file in package.rglob("*.py")}
    kernels = [file for file, text in contents.items() if _HOLDS_KERNELS.search(text)]
    modules = {
        name.decode() for file in kernels for name in _CONSTANTS_FROM.findall(contents[file])
    }
    paths = {package.parent / f"{module.replace('.', '/')}.py" for module in modules}
    state = xxhash.xxh3_64(__version__.encode())
    for file in sorted({*kernels, *paths & contents.keys()}):
        state.update(contents[file])
    return state.hexdigest()


def _is_ours(folder: Path) -> bool:
    """Return whether nobody else could have put something into a folder."""
    state = folder.stat()
    return not hasattr(os, "getuid") or (
        state.st_uid == os.getuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )
