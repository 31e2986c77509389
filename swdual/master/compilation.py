"""Compiles what searches compute with, once on a machine, before the clock of a search starts.

Some processes of their own do it, since Numba compiles one kernel at a time. So the process that
searches needs no Numba, nor its memory, and can be interrupted at any time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import xxhash

from swdual.io.progress import COMPILING, REFRESH_SECONDS, compilation, progress_bar
from swdual.runtime.cache import cache_folder, source_digest
from swdual.runtime.native_code import target_processor


class KernelSet(NamedTuple):
    """Kernels that some searches use.

    Parameters
    ----------
    kernels
        How many there are.
    files
        Where most of them are: what these searches load, and so takes the digest of.
    parts
        Functions of `warm_up`, each run by a process of its own; they take about as long.
    """

    kernels: int
    files: tuple[str, ...]
    parts: tuple[str, ...]


COMMON = KernelSet(
    16,
    (
        "lanes/pack.py",
        "backends/_gotoh.py",
        "backends/_striped.py",
        "alignment/grid.py",
        "alignment/tile.py",
        "masking/seg.py",
    ),
    ("scores", "alignments"),
)
"""What every search uses."""

COMPOSITION = KernelSet(
    10,
    (
        "backends/_gotoh.py",
        "backends/_striped.py",
        "alignment/grid.py",
        "composition/adjust.py",
        "composition/near_identical.py",
        "masking/seg.py",
    ),
    ("adjustments",),
)
"""What searches with composition-based statistics use besides."""

_PACKAGE = Path(__file__).parents[1]


def compile_kernels(*, adjusts: bool = False, shown: bool = False) -> None:
    """Compile the kernels of the usual searches, unless this was done on this machine.

    A file in the cache folder, named after the processor and what the kernels are made from, tells
    that it was done: looking for it takes no time. Rarer kernels, such as those for scores above
    32,767, are compiled when they are first needed; so are all where no folder can keep them, and
    where Python cannot be started.

    Parameters
    ----------
    adjusts
        Compile also those of composition-based statistics.
    shown
        Draw a progress bar.
    """
    folder = cache_folder()
    if folder is None:
        return
    sets = (COMMON, COMPOSITION) if adjusts else (COMMON,)
    marks = {_find_mark(folder, each): each for each in sets}
    missing = {mark: each for mark, each in marks.items() if not mark.exists()}
    if not missing:
        return
    before, count = _count_kernels(folder), sum(each.kernels for each in missing.values())
    with progress_bar(COMPILING, "", 1, shown=shown) as bar, ExitStack() as running:
        compilation.announce()
        parts = [part for each in missing.values() for part in each.parts]
        processes = [running.enter_context(_python(part)) for part in parts]
        for process in processes:
            while process.poll() is None:
                bar(min(_count_kernels(folder) - before, count), count)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(REFRESH_SECONDS)
    if not any(process.returncode for process in processes):
        with suppress(OSError):
            for mark in missing:
                mark.touch()


def _find_mark(folder: Path, kernel_set: KernelSet) -> Path:
    """Return the file that tells that kernels were compiled."""
    digests = (source_digest(str(_PACKAGE / file)) for file in kernel_set.files)
    state = [target_processor(), *digests]
    return folder / f"compiled-{xxhash.xxh3_64_hexdigest(repr(state).encode())}"


def _count_kernels(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*.native"))


@contextmanager
def _python(part: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a function of `warm_up` by the same Python, with the same swdual, in the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"from swdual.master import warm_up; warm_up.compile_{part}()"],
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
