"""Every kernel compiles for every kind of card it is meant for, and stays within its registers.

On compute capability 9.0 that is tiles of all columns; elsewhere the widest, which need most
registers. With the environment variable ``SWDUAL_ALL_TILES`` it is every tile everywhere, which
takes minutes. Older compilers are tried where there are some (`nvrtc`).
"""

from __future__ import annotations

import os
from itertools import product

import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="needs NVRTC: pip install '.[dev]'")

from kernels import nvrtc
from swdual.backends.cuda.kernels import BOUNDS, KERNELS, Tile, choose

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.nightly("kernels", "swdual/backends/cuda", "tests/kernels"),
]

ALL = bool(os.environ.get("SWDUAL_ALL_TILES"))

SHARED_BYTES = {75: 64, 80: 163, 86: 99, 89: 99, 90: 227, 100: 227, 103: 227, 120: 99}
"""KiB of shared memory that a CTA can have, by compute capability (CUDA C++ Programming Guide)."""

MEANT = [
    (kernel, capability)
    for kernel in (*KERNELS.values(), *BOUNDS.values())
    for capability in SHARED_BYTES
    if kernel.numbers.capabilities[0] <= capability < kernel.numbers.capabilities[1]
]
COMPILED = [pair for pair in MEANT if ALL or pair[1] not in {86, 103}]


REGISTERS = 65536
"""Registers of a multiprocessor."""


def widest(tiles):
    """Return the widest tile for CTAs of each size."""
    return tuple({tile.threads: tile for tile in sorted(tiles, key=lambda t: t.columns)}.values())


def name(value):
    return str(getattr(value, "name", value))


def check_registers(kernel, capability, compiler=None):
    """Fail if a tile spills, takes too many registers, or makes the compiler complain."""
    tiles = kernel.tiles_on(capability)
    if not ALL:
        tiles = nvrtc.representative(tiles) if capability == 90 else widest(tiles)
    expressions = tuple(kernel.expression(tile, 12, 1) for tile in tiles)
    build = nvrtc.build(kernel.file, expressions, capability, compiler=compiler)
    assert build.warnings == []
    assert len(build.resources) == len(tiles)
    for tile, expression in zip(tiles, expressions, strict=True):
        resources = build.resources[build.names[expression]]
        assert resources.local_bytes == 0, expression
        assert resources.registers <= REGISTERS // tile.threads, expression


@pytest.mark.smoke(1)
@pytest.mark.parametrize(("kernel", "capability"), COMPILED, ids=name)
def test_a_kernel_compiles_without_a_warning_and_spills_nothing(kernel, capability):
    check_registers(kernel, capability)


@pytest.mark.parametrize("version", nvrtc.PACKAGES)
@pytest.mark.parametrize("kernel", [*KERNELS.values(), *BOUNDS.values()], ids=name)
def test_nothing_is_spilled_by_older_compilers(kernel, version):
    compiler = nvrtc.find_compiler(version)
    for _, capability in (pair for pair in COMPILED if pair[0] is kernel):
        check_registers(kernel, capability, compiler)


@pytest.mark.parametrize("capability", [75, 80, 90, 120])
def test_the_kernel_of_keys_compiles(capability):
    build = nvrtc.build("keys.cu", (), capability)
    assert build.warnings == []
    assert build.resources["keys"].local_bytes == 0


def test_a_tile_too_wide_for_the_registers_is_noticed():
    kernel = KERNELS["s2_s16"]
    expression = kernel.expression(Tile(16, 32, 512))
    build = nvrtc.build(kernel.file, (expression,), 90)
    assert build.resources[build.names[expression]].local_bytes > 0


def test_a_warning_of_the_compiler_is_noticed():
    build = nvrtc.build("keys.cu", (), 90, ("const int score =", "int unused; const int score ="))
    assert len(build.warnings) == 1


@pytest.mark.parametrize(("kernel", "capability"), MEANT, ids=name)
def test_queries_of_all_lengths_have_a_tile_that_fits_the_shared_memory(kernel, capability):
    shared_bytes = SHARED_BYTES[capability] * 1024
    for length, alone in product((1, 100, 500, 1000, 40_000), (False, True)):
        tile = choose(kernel, capability, length, 350.0, shared_bytes, alone=alone)
        assert tile in kernel.tiles_on(capability)
        assert kernel.shared_bytes(tile, length) <= shared_bytes
