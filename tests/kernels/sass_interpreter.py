"""Runs the machine code of the kernels on the CPU: ``python -m kernels.sass_interpreter``.

NVRTC compiles a kernel for a compute capability, nvdisasm writes down its instructions,
`sass_program` decodes them, and ``sass_interpreter.cpp`` executes them: warps of 32 lanes, the
constant bank, shared memory, barriers. What a kernel may not do is a `LaunchError`: see the head of
``sass_interpreter.cpp``. Random searches go through the same launches as on the emulator, and are
compared with the oracle.

Run it in the checkout with ``PYTHONPATH=.:tests``. A failure names the seed, which repeats it.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernels import batch, cases, emulator, nvrtc, sass, sass_program
from kernels.batch import ALL
from kernels.sass_program import Bank, Program
from swdual.backends.cuda.kernels import Kernel, Tile

SOURCE = Path(__file__).with_suffix(".cpp")
FLAGS = (*emulator.PLAIN, "-Wno-psabi")

STATISTICS = np.dtype([("loads", "u8", 5), ("wavefronts", "u8", 5)])
"""Loads of full warps from shared memory, for 1, 2, 4, 8 and 16 bytes a lane, and the wavefronts
that they take: 4 are right for 16 bytes, more are bank conflicts."""

STACK, DESCRIPTOR = 0x28, 0x208
"""Where a launch leaves the end of the stack, and (from 9.0 on) what describes global memory."""

PAIRS = 240
"""Pairs of a random search."""


@dataclass(frozen=True)
class Layout:
    """Where the parameters lie in the constant bank, and the dynamic shared memory begins."""

    parameters: int
    descriptor: int
    shared: int


LAYOUTS = {80: Layout(0x160, 0x118, 0), 90: Layout(0x210, DESCRIPTOR, 0x400)}
"""By compute capability: from 9.0 on the first KiB of shared memory belongs to the system."""


class Executable:
    """A kernel's machine code, called as `emulator.Library` is.

    `statistics` sums up all launches, and so does `executed`: how often warps did each instruction.
    """

    def __init__(self, program: Program, capability: int = 90) -> None:
        self._program, self._layout = program, LAYOUTS[capability]
        self._texts = "\n".join(program.texts).encode()
        self.statistics = np.zeros((), STATISTICS)
        self.executed = np.zeros(len(program.code), np.uint64)

    def __call__(
        self,
        name: str,
        *arguments: object,
        ctas: int = 1,
        threads: int = 32,
        shared_bytes: int = 0,
        seed: int = 0,
    ) -> None:
        """Launch the kernel with arrays that `batch.exact` made, C numbers, or one structure.

        Raises `LaunchError`, with the instruction, if it does what no kernel may.
        """
        bank = self._bank(arguments, ctas, threads)
        constants = np.array([resolve(value, bank) for value in self._program.constants], np.uint32)
        regions = np.array(
            sorted((address, address + size) for address, size in batch.ARRAYS.items()), np.uint64
        )
        code = self._program.code
        _library()(
            name,
            *(code, ctypes.c_uint(len(code)), ctypes.c_char_p(self._texts)),
            *(constants, ctypes.c_uint(len(constants))),
            *(regions, ctypes.c_uint(len(regions))),
            ctypes.c_uint(self._layout.shared),
            *(self.statistics, self.executed),
            ctas=ctas,
            threads=threads,
            shared_bytes=shared_bytes,
            seed=seed,
        )

    @property
    def opcodes(self) -> Counter[str]:
        """How often warps did the instructions of each opcode."""
        found: Counter[str] = Counter()
        for text, times in zip(self._program.texts, self.executed.tolist(), strict=True):
            instruction = text.split(maxsplit=1)[1]  # behind its address
            found[sass_program.GUARD.sub("", instruction).split()[0]] += times
        return found

    def _bank(self, arguments: tuple[object, ...], ctas: int, threads: int) -> dict[int, int]:
        """Return the words of the constant bank that a launch writes, by their offsets."""
        layout = self._layout
        parameters = bytearray()
        for argument in arguments:
            value, alignment = pack(argument)
            parameters += bytes(-len(parameters) % alignment) + value
        parameters += bytes(-len(parameters) % 4)
        sizes = [threads, 1, 1, ctas, 1, 1]
        bank = {4 * k: size for k, size in enumerate(sizes)}
        bank |= {STACK: 0xFFFDC0, layout.descriptor: 0, layout.descriptor + 4: 0}
        words = np.frombuffer(parameters, np.uint32).tolist()
        return bank | {layout.parameters + 4 * k: word for k, word in enumerate(words)}


def pack(argument: object) -> tuple[bytes, int]:
    """Return the bytes of a parameter, and to what they are aligned."""
    if isinstance(argument, np.ndarray):
        if argument.dtype.names:  # by value
            return argument.tobytes(), 8
        return argument.ctypes.data.to_bytes(8, "little"), 8
    value = bytes(argument)
    return value, len(value)


def resolve(value: int | Bank, bank: dict[int, int]) -> int:
    """Return what a constant is in a launch."""
    if isinstance(value, int):
        return value
    if value.offset not in bank:
        raise emulator.LaunchError(f"uninitialized constant c[0x0][{value.offset:#x}]")
    return bank[value.offset]


@functools.cache
def _library() -> emulator.Library:
    emulator.need()
    return emulator.Library(sass_program.enumerations() + SOURCE.read_text(), flags=FLAGS)


@functools.cache
def compile_kernel(
    file: str, expression: str, capability: int, edit: tuple[str, str] | None = None
) -> Executable:
    """Return the machine code of one instance of a source; see `nvrtc.build` for `edit`."""
    # A kernel that is no template is known by its own name.
    expressions = (expression,) if "<" in expression else ()
    build = nvrtc.build(file, expressions, capability, edit)
    with tempfile.TemporaryDirectory() as folder:
        text = sass.read_text(build.cubin, Path(folder))
    name = build.names.get(expression, expression)
    return Executable(sass_program.parse(text, name), capability)


def library_on(
    capability: int, edit: tuple[str, str] | None = None, *, constant_costs: bool = False
) -> Callable[[Kernel, Tile, tuple[int, int]], Executable]:
    """Return what gives the machine code of an instance for a compute capability.

    With constant costs, it is made for the gap costs of the scheme, else for any.
    """

    def library(kernel: Kernel, tile: Tile, gap_costs: tuple[int, int] = (0, 0)) -> Executable:
        costs = gap_costs if constant_costs else (0, 0)
        return compile_kernel(kernel.file, kernel.expression(tile, *costs), capability, edit)

    return library


def capability_of(kernel: Kernel) -> int:
    """Return the compute capability, 9.0 or else 8.0, for which a kernel is meant."""
    return 90 if kernel.numbers.capabilities[1] > 90 else 80


def main() -> None:
    """Run random searches of some kernels, or of all."""
    parser = argparse.ArgumentParser(description="machine code of the kernels against the oracle")
    parser.add_argument("--searches", type=int, default=200, help="for each kernel")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="of each search")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernel", action="append", choices=list(ALL))
    parser.add_argument("--tile", help="lanes and columns, as 16,24; else the first")
    chosen = parser.parse_args()
    for name in chosen.kernel or ALL:
        kernel = ALL[name]
        capability = capability_of(kernel)
        tiles = kernel.tiles_on(capability)
        if chosen.tile:
            tiles = [tile for tile in tiles if f"{tile.lanes},{tile.columns}" == chosen.tile]
        execute, start = library_on(capability), time.monotonic()
        cells = overflows = 0
        for number in range(chosen.searches):
            try:
                done = cases.check_random(
                    kernel, tiles[0], chosen.pairs, (chosen.seed, number), execute
                )
            except Exception as error:
                error.add_note(f"{name} {tiles[0]}, seed {chosen.seed}, search {number}")
                raise
            cells, overflows = cells + done[0], overflows + done[1]
        executable = execute(kernel, tiles[0])
        statistics = executable.statistics
        print(
            f"{kernel.expression(tiles[0])} on {capability / 10}: {chosen.searches} searches, "
            f"{cells} cells, {overflows} overflows, all exact; {executable.executed.sum()} "
            f"instructions, {(executable.executed > 0).mean():.1%} of the code, "
            f"{statistics['wavefronts'][4] / statistics['loads'][4]:.2f} wavefronts a load of 16 "
            f"bytes, {time.monotonic() - start:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
