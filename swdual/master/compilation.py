"""Compiles what searches compute with, once on a machine, before the clock of a search starts.

Some processes of their own do it, since Numba compiles one kernel at a time. So the process that
searches needs no Numba, nor its memory, and can be interrupted at any time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import xxhash

from swdual.io.progress import REFRESH_SECONDS, progress_bar
from swdual.runtime.cache import cache_folder, source_digest
from swdual.runtime.compilation import COMPILING, compilation
from swdual.runtime.native_code import target_processor
from swdual.runtime.system import kill_group

if TYPE_CHECKING:
    import subprocess

Job = tuple[str, *tuple[int, ...]]
"""A function of `swdual.master.warm_up`, and its arguments."""


class KernelSet(NamedTuple):
    """Kernels that some searches use.

    Parameters
    ----------
    kernels
        How many there are.
    files
        Where most of them are: what these searches load, and so takes the digest of.
    jobs
        What `warm_up` does to compile them, what takes longest first.
    """

    kernels: int
    files: tuple[str, ...]
    jobs: tuple[Job, ...]


COMMON = KernelSet(
    12,
    ("lanes/pack.py", "backends/_gotoh.py", "backends/_striped.py"),
    (("compile_scores",), ("compile_bounds",), ("compile_plans",)),
)
"""What every search uses."""

PLAIN = KernelSet(
    6,
    ("backends/_striped.py", "alignment/grid.py", "alignment/tile.py", "masking/seg.py"),
    (("compile_masks",), ("compile_alignments", 16), ("compile_alignments", 8)),
)
"""What searches without composition-based statistics use besides."""

COMPOSITION = KernelSet(
    14,
    (
        "backends/_gotoh.py",
        "backends/_striped.py",
        "alignment/grid.py",
        "alignment/tile.py",
        "composition/adjust.py",
        "composition/near_identical.py",
        "masking/seg.py",
    ),
    (
        ("compile_adjustments",),
        ("compile_masks",),
        ("compile_adjusted_alignments", 32),
        ("compile_adjusted_alignments", 16),
        ("compile_adjusted_scores", 16),
        ("compile_adjusted_scores", 32),
        ("compile_near_identical",),
    ),
)
"""What searches with composition-based statistics use besides."""

_PACKAGE = Path(__file__).parents[1]

_tried: set[Path] = set()
"""What was compiled, or could not be: later searches of this process do not wait for it again."""


def compile_kernels(*, adjusts: bool = False, shown: bool = False) -> None:
    """Compile the kernels of the usual searches, unless this was done on this machine.

    A file in the cache folder, named after the processor and what the kernels are made from, tells
    that it was done: looking for it takes no time. Rarer kernels, such as those for scores above
    32,767, are compiled when they are first needed; so are all where no folder can keep them, and
    where this failed before in this process.

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
    sets = COMMON, COMPOSITION if adjusts else PLAIN
    marks = {_find_mark(folder, each): each for each in sets}
    missing = {
        mark: each for mark, each in marks.items() if mark not in _tried and not mark.exists()
    }
    if not missing:
        return
    import subprocess

    before, count = _count_kernels(folder), sum(each.kernels for each in missing.values())
    with progress_bar(COMPILING, "", 1, shown=shown) as bar, ExitStack() as running:
        compilation.announce()
        process = running.enter_context(
            _python([job for each in missing.values() for job in each.jobs])
        )
        while process.poll() is None:
            bar(min(_count_kernels(folder) - before, count), count)
            with suppress(subprocess.TimeoutExpired):
                process.wait(REFRESH_SECONDS)
    _tried.update(missing)  # not if the user interrupted it
    if process.returncode == 0:
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
def _python(jobs: Sequence[Job]) -> Iterator[subprocess.Popen[bytes]]:
    """Run jobs of `warm_up` by the same Python, with the same swdual, in the block."""
    import subprocess

    process = subprocess.Popen(
        [sys.executable, "-c", f"from swdual.master import warm_up; warm_up.run({[*jobs]})"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([os.fspath(_PACKAGE.parent), *sys.path])},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    try:
        yield process
    finally:
        kill_group(process)
        process.wait()
