"""Builds CUDA sources for the CPU with g++ and the shim of `host.h`, and calls them.

Libraries are kept in the cache folder, or the temporary one, under a hash of all that goes into
them, so that a kernel is compiled once, also where several processes test at the same time.
"""

from __future__ import annotations

import ctypes
import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

SHIM = Path(__file__).parent
COMMON = (
    "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-DSWDUAL_HOST",
    "-fno-strict-aliasing", "-ffp-contract=off", "-Wall", "-Wextra", "-Wno-unknown-pragmas",
)  # fmt: skip
PORTABLE = ("-O2", "-fwrapv")
PLAIN = (*PORTABLE, "-march=native")
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

LAUNCHER = """
extern "C" __attribute__((visibility("default")))
const char* {name}({parameters}, unsigned ctas, unsigned threads, unsigned long shared_bytes,
                   unsigned long seed) {{
    return host::launch(ctas, threads, shared_bytes, seed, [&] {{ {call}; }});
}}
"""
"""What a library exports: one launcher for each kernel, with the kernel's arguments first."""


PARENT = Path(os.environ.get("SWDUAL_CACHE_DIR", tempfile.gettempdir()))
"""Where the folder of the libraries is."""

_ONE_GRID = threading.Lock()
"""A library runs one grid at a time."""


class LaunchError(Exception):
    """A kernel did what no kernel may: the shim's message."""


@functools.cache
def missing() -> str:
    """Return why nothing can be built here, or an empty text."""
    if sys.platform != "linux":
        return "the CUDA kernels are built for the CPU on Linux only"
    if shutil.which("g++") is None:
        return "no g++ is installed, so the CUDA kernels cannot be built for the CPU"
    return ""


def need() -> None:
    """Skip the test, and say why, where nothing can be built."""
    if missing():
        pytest.skip(missing())


class Library:
    """The launchers of one source text, which may include the files of `includes`."""

    def __init__(
        self, source: str, includes: Path | None = None, flags: Sequence[str] = PLAIN
    ) -> None:
        self._library = ctypes.CDLL(os.fspath(build(source, includes, flags)))

    def __call__(
        self,
        name: str,
        *arguments: object,
        ctas: int = 1,
        threads: int = 32,
        shared_bytes: int = 0,
        seed: int = 0,
    ) -> None:
        """Launch a kernel with arrays and C numbers.

        Raises `LaunchError` if it does what no kernel may.
        """
        launcher = getattr(self._library, name)
        launcher.restype = ctypes.c_char_p
        sizes = [ctypes.c_ulong(shared_bytes), ctypes.c_ulong(seed)]
        given = [
            ctypes.c_void_p(argument.ctypes.data) if isinstance(argument, np.ndarray) else argument
            for argument in arguments
        ]
        with _ONE_GRID:
            message = launcher(*given, ctypes.c_uint(ctas), ctypes.c_uint(threads), *sizes)
        if message:
            raise LaunchError(message.decode())


def launcher(name: str, parameters: str, call: str) -> str:
    """Return the source of a launcher: its name, its parameters, what each thread calls."""
    return LAUNCHER.format(name=name, parameters=parameters, call=call)


def build(source: str, includes: Path | None = None, flags: Sequence[str] = PLAIN) -> Path:
    """Return the shared library of a source text, compiled if it has not been yet."""
    flags = [*COMMON, *flags, "-include", f"{SHIM}/host.h"]
    if includes is not None:
        flags.append(f"-I{includes}")
    contents = hashlib.sha256(repr((_compiler(), flags, source)).encode())
    files = [SHIM / "host.h", *SHIM.glob("host/*.h"), *(includes or SHIM / "host").glob("*.cu*")]
    for file in sorted(files):
        contents.update(file.read_bytes())
    library = _folder() / f"{contents.hexdigest()[:24]}.so"
    with open(library.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            text, made = library.with_suffix(".cpp"), library.with_suffix(".new")
            text.write_text(source)
            subprocess.run(["g++", *flags, text, "-o", made], check=True)
            made.replace(library)
    return library


def sanitizer() -> dict[str, str]:
    """Return the environment in which a Python process can load a sanitized library."""
    names = ("libasan.so", "libubsan.so")
    finds = [["g++", f"-print-file-name={name}"] for name in names]
    paths = [subprocess.check_output(find, text=True).strip() for find in finds]
    if not all(map(os.path.isabs, paths)):
        pytest.skip("g++ has no address or undefined-behaviour sanitizer")
    options = {"LD_PRELOAD": " ".join(paths), "ASAN_OPTIONS": "detect_leaks=0"}
    return {**os.environ, **options, "UBSAN_OPTIONS": "print_stacktrace=1"}


@functools.cache
def _compiler() -> str:
    """Return what the compiler says of itself, and of the processor that it compiles for."""
    command = ["g++", "-march=native", "-v", "-E", "-x", "c++", os.devnull]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def _folder() -> Path:
    """Return the folder of the libraries, which nobody else can write to."""
    folder = PARENT / f"swdual-emulator-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = folder.stat()
    if state.st_uid != os.getuid() or state.st_mode & 0o022:
        raise PermissionError(f"{folder} belongs to somebody else")
    return folder
