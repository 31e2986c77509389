"""Runs a benchmark of this folder without a GPU: CuPy is a stand-in, the emulator runs kernels.

    python bench/gpu/emulated.py kernels.py --residues 3000

Scores are true, times mean nothing, and `instructions.py` is given what the model says, but with
one pipe for maxima and products. For test_gpu.py, so that the scripts cannot rot.
"""

from __future__ import annotations

import ctypes
import re
import runpy
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from backends.cuda.fakes import FakeCupy

from swdual.backends import cuda
from swdual.backends.cuda import launch as _cuda_launch
from swdual.backends.cuda import memory as _cuda_memory
from swdual.backends.cuda import slot as _cuda_slot
from swdual.database import build


class Event:
    """Comes at once, and knows when that was."""

    seconds = 0.0

    def __init__(self, block=False, disable_timing=False):
        self.timed = not disable_timing

    def record(self, stream):
        self.recorded, self.seconds = True, time.perf_counter()

    def synchronize(self):
        assert self.recorded


def elapsed(begin, end):
    """Return milliseconds."""
    assert begin.timed
    assert end.timed
    return (end.seconds - begin.seconds) * 1000


class TimedCupy(FakeCupy):
    """What benchmarks ask of CuPy besides."""

    def __init__(self):
        super().__init__()
        self.cuda.Event = Event
        self.cuda.get_elapsed_time = elapsed
        self.cuda.runtime.deviceGetAttribute = lambda attribute, device: 1_000_000
        self.cuda.runtime.memGetInfo = lambda: (60 << 20, 64 << 20)

    def RawModule(self, code, options, name_expressions):
        if re.match(r"(issue|load|chain)<", name_expressions[0]):
            return SimpleNamespace(get_function=Microbenchmark)
        return super().RawModule(code, options, name_expressions)


class Microbenchmark:
    """A kernel of ``instructions.cu`` on a card that has one pipe for maxima and products."""

    shared_size_bytes = 0

    def __init__(self, name):
        self.name = name
        self.max_dynamic_shared_size_bytes = 0

    def __call__(self, grid, block, arguments, shared_mem=0):
        import instructions

        _, spans, rounds, *places = (int(each) for each in arguments)
        parts, warps = re.findall(r"\w+", self.name)[1:], block[0] // instructions.WARP
        if places:
            shape = instructions.THREADS, instructions.PLACES
            at = np.frombuffer(ctypes.string_at(places[0], 4 * shape[0] * shape[1]), np.uint32)
            size = {"Word": 4, "FourWords": 16}[parts[0]]
            clocks = 4 * instructions.wavefronts(at.reshape(shape), size)
            count = instructions.STREAM
        else:
            (stream,) = (s for s in instructions.streams(90) if s.expression == self.name)
            kinds = {each.structure: each.kind for each in instructions.INSTRUCTIONS.values()}
            shared = sum(kinds[part] in ("maximum", "product") for part in parts)
            clocks, count = max(stream.expected or 5, 2 * shared), stream.rounds_of
        taken = int(clocks * rounds * count * warps / instructions.SCHEDULERS)
        held = np.ctypeslib.as_array(
            ctypes.cast(spans, ctypes.POINTER(ctypes.c_ubyte)),
            (grid[0] * instructions.WARPS * instructions.SPAN.itemsize,),
        ).view(instructions.SPAN)
        held["begin"], held["end"] = 100, 100 + taken
        held["begin_time"], held["end_time"] = 5, 5 + taken // 2


def main(script: str, *arguments: str) -> None:
    """Run a script, or with -m a module, with everything in place, also for its own processes."""
    _cuda_launch.BOUND_WAVES = 0
    build.BLOCK_BYTES, _cuda_slot.MAX_KEYS, _cuda_memory.STAGE_BYTES = 1 << 15, 8, 700
    sys.modules["cupy"] = TimedCupy()
    cuda.why_not = lambda: None
    cuda.devices = lambda: [{"number": 0}]
    cuda.facts = lambda: {"driver": "none"}
    if script == "-m":
        sys.argv = list(arguments)
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "python"
        python.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).absolute()}" "$@"\n'
        )
        python.chmod(0o755)
        sys.executable = str(python)
        sys.argv = [str(Path(__file__).with_name(script)), *arguments]
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
