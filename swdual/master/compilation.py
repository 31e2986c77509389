"""Compiles what searches compute with, once on a machine, before the clock of a search starts.

Two processes of their own do it, since Numba compiles one kernel at a time. So the process that
searches needs no Numba, nor its memory, and can be interrupted at any time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import xxhash

from swdual.io.progress import COMPILING, REFRESH_SECONDS, compilation, progress_bar
from swdual.runtime.cache import cache_folder, source_digest
from swdual.runtime.native_code import target_processor

KERNELS = 16
"""How many kernels the common searches use."""

FILES = (
    "lanes/pack.py",
    "backends/_gotoh.py",
    "backends/_striped.py",
    "alignment/grid.py",
    "alignment/tile.py",
    "masking/seg.py",
)
"""Where most of them are: what every search loads, and so takes the digest of."""

PROGRAMS = [
    f"from swdual.master import warm_up; warm_up.compile_{part}()"
    for part in ("scores", "alignments")
]
"""What the two processes run; each takes half of the time."""

_PACKAGE = Path(__file__).parents[1]


def compile_kernels(*, shown: bool = False) -> None:
    """Compile the kernels of the common searches, unless this was done on this machine.

    A file in the cache folder, named after the processor and what the kernels are made from, tells
    that it was done: looking for it takes no time. Rarer kernels, such as those for scores above
    32,767, are compiled when they are first needed; so are all where no folder can keep them, and
    where Python cannot be started.

    Parameters
    ----------
    shown
        Draw a progress bar.
    """
    folder = cache_folder()
    if folder is None:
        return
    state = [target_processor(), *(source_digest(str(_PACKAGE / file)) for file in FILES)]
    mark = folder / f"compiled-{xxhash.xxh3_64_hexdigest(repr(state).encode())}"
    if mark.exists():
        return
    before = _count_kernels(folder)
    with progress_bar(COMPILING, "", 1, shown=shown) as bar, ExitStack() as running:
        compilation.announce()
        processes = [running.enter_context(_python(program)) for program in PROGRAMS]
        for process in processes:
            while process.poll() is None:
                bar(min(_count_kernels(folder) - before, KERNELS), KERNELS)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(REFRESH_SECONDS)
    if not any(process.returncode for process in processes):
        with suppress(OSError):
            mark.touch()


def _count_kernels(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*.native"))


@contextmanager
def _python(program: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program by the same Python, with the same swdual, until the block is left."""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([os.fspath(_PACKAGE.parent), *sys.path])},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
