"""The shim runs threads as a card does, and tells where a kernel does what no kernel may."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from kernels import emulator

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.nightly("kernels", "swdual/backends/cuda", "tests/kernels"),
]

SHUFFLES = """
__global__ void shuffle(int* out, int kind, int operand, int width, int group) {
    const int lane = threadIdx.x % 32;
    const unsigned mask = group == 32 ? ~0u : ((1u << group) - 1) << lane / group * group;
    const int mine = threadIdx.x * 10;
    int got = -1;
    if (kind == 0) got = __shfl_sync(mask, mine, operand, width);
    if (kind == 1) got = __shfl_up_sync(mask, mine, operand, width);
    if (kind == 2) got = __shfl_xor_sync(mask, mine, operand, width);
    out[threadIdx.x] = got;
}
"""

RACES = """
// Each thread reads what another of its CTA wrote, twice, through the same place.
__global__ void exchange(int* wrong, bool before, bool after, bool warps) {
    SHARED_MEMORY(memory);
    int* box = reinterpret_cast<int*>(memory);
    const int size = warps ? 32 : blockDim.x, base = threadIdx.x / size * size;
    const int other = base + (threadIdx.x + size / 2 + 1) % size;
    for (int turn = 0; turn < 2; ++turn) {
        box[threadIdx.x] = turn * 1000 + threadIdx.x;
        if (before) { if (warps) __syncwarp(); else __syncthreads(); }
        if (box[other] != turn * 1000 + other) atomicAdd(wrong, 1);
        if (after) { if (warps) __syncwarp(); else __syncthreads(); }
    }
}
"""

COUNTER = """
// CTAs draw numbers until there are no more.
__global__ void draw(unsigned* drawn_by, unsigned* next, unsigned count) {
    SHARED_MEMORY(memory);
    for (;;) {
        if (threadIdx.x == 0) memory[0].x = atomicAdd(next, 1u);
        __syncthreads();
        const unsigned number = memory[0].x;
        __syncthreads();
        if (number >= count) return;
        if (threadIdx.x == number % blockDim.x) drawn_by[number] = blockIdx.x + gridDim.x;
    }
}
"""

FAULTS = {
    "a lane of a mask is elsewhere": (
        "if (threadIdx.x != 5) __syncwarp(); else __syncthreads();",
        "CTA 0, warp 0 would wait for ever: lanes 00000020 are at __syncthreads, "
        "lanes 00000000 have returned, lanes ffffffdf wait for others",
    ),
    "a shuffle and a barrier": (
        "if (threadIdx.x) __syncwarp(); else __shfl_up_sync(~0u, 1, 1);",
        "CTA 0, warp 0: lane 0 meets others at operation 232 for lanes ffffffff, lane 1 at",
    ),
    "two masks": (
        "__syncwarp(threadIdx.x < 16 ? 0x1ffff : ~0u);",
        "lane 0 meets others at operation 0 for lanes 0001ffff, lane 16 at operation 0 for",
    ),
    "two widths": (
        "__shfl_up_sync(~0u, 1, 1, threadIdx.x < 16 ? 16 : 32);",
        "lane 0 meets others at operation 216",
    ),
    "a mask without the caller": (
        "__syncwarp(0xffff);",
        "is none of them",
    ),
    "a value of a lane that has returned": (
        "if (threadIdx.x != 7) __shfl_sync(~0u, 1, 7);",
        "asks lane 7, which does not take part",
    ),
    "a value of a lane outside the mask": (
        "if (threadIdx.x < 8) __shfl_sync(0xff, 1, 9);",
        "asks lane 9, which does not take part",
    ),
    "behind shared memory": (
        "SHARED_MEMORY(memory); reinterpret_cast<char*>(memory)[40] = 1;",
        "CTA 0 wrote behind its 40 bytes of shared memory",
    ),
}

SOUND = {
    "lanes return before others meet": "if (threadIdx.x > 8) { __syncwarp(); __syncthreads(); }",
    "halves of a warp go apart": "__syncwarp(threadIdx.x & 16 ? 0xffff0000 : 0xffff);",
    "the last lane to come has returned": "if (threadIdx.x) __syncwarp();",
}


def library(source, name, parameters, call, **options):
    """Return the library of one toy kernel."""
    emulator.need()
    return emulator.Library(source + emulator.launcher(name, parameters, call), **options)


@pytest.fixture(scope="module")
def small():
    """Run one of the kernels that are a line each."""
    emulator.need()
    bodies = {**{name: body for name, (body, _) in FAULTS.items()}, **SOUND, "nothing": ""}
    names = {title: f"run{number}" for number, title in enumerate(bodies)}
    source = "".join(emulator.launcher(names[title], "int*", bodies[title]) for title in bodies)
    run = emulator.Library(source)
    return lambda title, **options: run(names[title], None, **options)


def shuffled(kind, operand, width, group, lane):
    """Return what a lane gets, by the words of the programming guide."""
    first = lane // width * width
    if kind == 0:
        return first + operand % width
    if kind == 1:
        return lane if lane - operand < first else lane - operand
    source = lane ^ operand
    return lane if source >= first + width else source


@pytest.fixture(scope="module")
def shuffle():
    parameters = "int* out, int kind, int operand, int width, int group"
    return library(SHUFFLES, "run", parameters, "shuffle(out, kind, operand, width, group)")


@pytest.mark.parametrize(
    ("width", "group"), [(32, 32), (16, 32), (8, 32), (8, 8), (16, 16), (4, 8)]
)
def test_shuffles_fetch_from_the_lane_that_they_name(shuffle, width, group):
    """Segments of `width` lanes; the lanes of a mask, `group` of them, go at their own pace."""
    for kind in range(3):
        for operand in (0, 1, 3, width - 1):
            out = np.zeros(96, np.int32)
            shuffle("run", out, kind, operand, width, group, threads=96, seed=operand)
            expected = [
                10 * (t // 32 * 32 + shuffled(kind, operand, width, group, t % 32))
                for t in range(96)
            ]
            np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("warps", [False, True])
def test_a_missing_barrier_shows(warps):
    """With both barriers all is well under every seed; without either, most seeds tell."""
    parameters = "int* wrong, bool before, bool after, bool warps"
    run = library(RACES, "run", parameters, "exchange(wrong, before, after, warps)")

    def seeds_that_tell(before, after):
        wrong = np.zeros((40, 1), np.int32)
        for seed, count in enumerate(wrong):
            flags = map(ctypes.c_bool, (before, after, warps))
            run("run", count, *flags, ctas=2, threads=128, shared_bytes=512, seed=seed)
        return np.count_nonzero(wrong)

    assert seeds_that_tell(True, True) == 0
    assert seeds_that_tell(False, True) > 30
    assert seeds_that_tell(True, False) > 30


@pytest.mark.parametrize("ctas", [1, 2, 7])
def test_ctas_take_turns(ctas):
    """All CTAs of a grid draw from one counter, and none takes everything."""
    run = library(
        COUNTER, "run", "unsigned* by, unsigned* next, const unsigned* count",
        "draw(by, next, *count)",
    )  # fmt: skip
    count = np.array([300], np.uint32)
    by = np.zeros(300, np.uint32)
    run("run", by, np.zeros(1, np.uint32), count, ctas=ctas, threads=64, shared_bytes=16, seed=3)
    assert set(by) == set(range(ctas, 2 * ctas))


def test_a_seed_repeats_its_order():
    run = library("", "run", "int* order, int* next", "order[atomicAdd(next, 1)] = threadIdx.x")
    orders = np.zeros((3, 256), np.int32)
    for order, seed in zip(orders, (1, 1, 2), strict=True):
        run("run", order, np.zeros(1, np.int32), threads=256, seed=seed)
    np.testing.assert_array_equal(orders[0], orders[1])
    assert np.any(orders[0] != orders[2])
    np.testing.assert_array_equal(np.sort(orders), np.tile(np.arange(256), (3, 1)))


def test_shared_memory_holds_garbage_at_first():
    run = library("", "run", "unsigned* out", """
        SHARED_MEMORY(memory);
        out[threadIdx.x] = reinterpret_cast<unsigned*>(memory)[threadIdx.x]
    """)  # fmt: skip
    out = np.zeros(256, np.uint32)
    run("run", out, threads=256, shared_bytes=1024)
    assert np.all(out != 0)
    assert len(set(out)) > 250


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_with_a_message(small, fault):
    for seed in range(5):
        with pytest.raises(emulator.LaunchError) as error:
            small(fault, threads=64, shared_bytes=40, seed=seed)
        assert FAULTS[fault][1] in str(error.value)


@pytest.mark.parametrize("kernel", SOUND)
def test_lanes_may_part(small, kernel):
    for seed in range(5):
        small(kernel, ctas=2, threads=64, seed=seed)


def test_a_grid_of_no_threads_is_refused(small):
    for ctas, threads in [(0, 32), (1, 0), (1, 33), (1, 1056)]:
        with pytest.raises(emulator.LaunchError, match="whole warps"):
            small("nothing", ctas=ctas, threads=threads)


SANITIZED = {
    "none": ("in[threadIdx.x % 16] = threadIdx.x;", None),
    "array": ("in[threadIdx.x] = 1;", "heap-buffer-overflow"),
    "shared": ("SHARED_MEMORY(m); in[0] = m[threadIdx.x / 8].x;", "use-after-poison"),
    "stack": ("int a[4]; a[threadIdx.x % 8] = 1; in[0] = a[in[1] & 3];", "out of bounds"),
    "overflow": ("in[0] = in[0] * 0 + 0x7fffffff; __syncwarp(); in[0] += 1;", "overflow"),
}


@pytest.mark.parametrize("fault", SANITIZED)
def test_sanitizers_see_into_fibres(fault):
    """The arrays of a launch, shared memory and stacks are watched, and fibres do not confuse."""
    emulator.need()
    launchers = (emulator.launcher(name, "int* in", body) for name, (body, _) in SANITIZED.items())
    path = emulator.build("".join(launchers), flags=emulator.SANITIZED)
    script = (
        "import ctypes; size = ctypes.c_ulong; "
        f"run = ctypes.CDLL({str(path)!r}).{fault}; "
        "malloc = ctypes.CDLL(None).malloc; malloc.restype = ctypes.c_void_p; "
        "run.restype = ctypes.c_char_p; memory = ctypes.c_void_p(malloc(size(64))); "
        "print(run(memory, 2, 64, size(100), size(1)))"
    )
    command, environment = [sys.executable, "-c", script], emulator.sanitizer()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    words = SANITIZED[fault][1]
    if words is None:
        assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr
    else:
        assert done.returncode != 0
        assert words in done.stderr
