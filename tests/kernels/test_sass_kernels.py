"""The machine code of the kernels gives the exact scores: one tile of each kernel, and the keys.

`sass_interpreter` executes it. The searches are those of the emulator, so what is wrong here and
right there has been made by the compiler, or lies where the emulator has its own code.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="needs NVRTC: pip install '.[dev]'")

from kernels import cases, emulator, sass_counts
from kernels.batch import ALL, RESCUE, exact
from kernels.sass_interpreter import capability_of, compile_kernel, library_on
from swdual.backends.cuda.kernels import KERNELS, Tile, choose
from swdual.backends.cuda.pieces import MAX_CHUNK_ROWS

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.nightly("kernels", "swdual/backends/cuda", "tests/kernels"),
]

SEARCHES = 30
PAIRS = 120
REACHED = {80: 0.7, 90: 0.97}
"""Of the instructions, those that the searches execute. Others are behind the end, or for lists of
pieces, which bounds are never given; on 8.0 there are copies of the shuffles for lanes that are
not together.
"""
WAVEFRONTS = np.array([1, 1, 1, 2, 4], np.uint64)
"""Of a load of 1, 2, 4, 8 and 16 bytes a lane, if there are no bank conflicts."""
SHARED_BYTES = 163 * 1024
"""Shared memory that a CTA can have on 8.0; on 9.0 it is more."""


def tile_of(kernel):
    """Return the tile with which one search of a usual protein is done soonest."""
    return choose(kernel, capability_of(kernel), 400, 350.0, SHARED_BYTES)


@pytest.fixture(scope="module", autouse=True)
def _compilers():
    emulator.need()


def search(kernel, execute, searches=SEARCHES):
    """Compare random searches with the oracle; return how many pairs were scored twice."""
    seeds = [(len(kernel.name), number) for number in range(searches)]
    return sum(
        cases.check_random(kernel, tile_of(kernel), PAIRS, seed, execute)[1] for seed in seeds
    )


@pytest.mark.parametrize("name", ALL)
def test_random_searches(name):
    """Several tiles, profiles, windows, overflows; memory used as it should be; no conflicts."""
    kernel = ALL[name]
    capability = capability_of(kernel)
    execute = library_on(capability)
    rescued = search(kernel, execute)
    assert (rescued > 0) == (kernel is not RESCUE)
    executable = execute(kernel, tile_of(kernel))
    loads, wavefronts = executable.statistics["loads"], executable.statistics["wavefronts"]
    assert loads[4] > 10_000
    np.testing.assert_array_equal(wavefronts, loads * WAVEFRONTS)
    lists = 0.05 if kernel.is_bound else 0
    assert (executable.executed > 0).mean() > REACHED[capability] - lists


@pytest.mark.parametrize("name", ALL)
def test_random_searches_with_constant_costs_of_gaps(name):
    """The kernel is compiled anew for the costs of each search."""
    kernel = ALL[name]
    search(kernel, library_on(capability_of(kernel), constant_costs=True), searches=5)


@pytest.mark.parametrize(("tiles", "most"), [(1, 8.5), (3, 9.2)])
def test_short_targets_follow_one_another(tiles, most):
    """When each waited for the last, peptides took 10.3 clocks a pair; in three tiles 10.6."""
    clocks = sass_counts.count(
        KERNELS["q2_s16"], Tile(16, 28, 512), "peptides", tiles, MAX_CHUNK_ROWS
    )[1]
    assert clocks < most


def test_keys_sort_by_score_and_then_by_place():
    rng = np.random.default_rng(1)
    scores, ordinals = rng.integers(0, 100, 1000), rng.permutation(1000)
    expected = np.sort(scores.astype(np.uint64) << 32 | (2**32 - 1 - ordinals).astype(np.uint64))
    expected = expected[expected >> 32 >= 90]
    given = exact(scores.astype(np.int32)), exact(ordinals.astype(np.uint32))
    for capacity in (0, 50, 1000):
        keys, count = exact(np.zeros(capacity, np.uint64)), exact(np.zeros(1, np.uint32))
        compile_kernel("keys.cu", "keys", 90)(
            "run",
            *(*given, ctypes.c_uint(1000), ctypes.c_int(90)),
            *(keys, ctypes.c_uint(capacity), count),
            ctas=3,
            threads=96,
            seed=capacity,
        )
        assert count[0] == len(expected)
        found = np.sort(keys[: len(expected)])
        assert np.isin(found, expected).all()
        assert len(np.unique(found)) == min(capacity, len(expected))


BROKEN = {
    "a barrier is missing": (
        ("    __syncthreads();\n    if (threadIdx", "    if (threadIdx"),
        (emulator.LaunchError, AssertionError),
        "another warp|uninitialized|are wrong",
    ),
    "places are not counted exactly": (  # which the emulator does not see
        (
            "return __reduce_max_sync(FULL_WARP, a);",
            "return __reduce_max_sync(FULL_WARP, a & ~3u);",
        ),
        AssertionError,
        "are wrong",
    ),
    "no PAD lies between pieces": (
        ("max(longest + 1, RAMP)", "max(longest, RAMP)"),
        AssertionError,
        "are wrong",
    ),
    "lanes do not forget the pieces before": (
        ("stream.state.clear_if(forgets, gap);", ""),
        AssertionError,
        "are wrong",
    ),
    "a profile is overwritten while it is needed": (
        ("profiles + parity * PROFILE", "profiles"),
        (emulator.LaunchError, AssertionError),
        "another warp|are wrong",
    ),
    "a gap costs too much": (
        ("given_next(Number::pack(-next_price, -next_price))", "given_next(given_first)"),
        AssertionError,
        "scores of q2_s16.* are wrong",
    ),
    "a profile is read at a misaligned address": (
        ("hidden(profile + threadIdx.x % LANES)", "hidden(profile + threadIdx.x % LANES) + 4"),
        emulator.LaunchError,
        "misaligned access to shared memory",
    ),
    "a border is written behind its end": (
        ("FIRST_WRITTEN + lane]", "FIRST_WRITTEN + lane * 99]"),
        (emulator.LaunchError, AssertionError),
        "out-of-bounds|uninitialized|are wrong",
    ),
}
"""Edits of the sources, and how they are noticed."""


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_kernel_is_noticed(what):
    edit, error, message = BROKEN[what]
    with pytest.raises(error, match=message):
        search(KERNELS["q2_s16"], library_on(90, edit), searches=20)
