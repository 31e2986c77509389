"""The machine code is what the kernels' speed rests on: so many instructions for a pair of cells.

A pair is one register: two cells. The count takes in all that a loop over rows does, divided by
the pairs of its four rows. There are four such loops: those of a query in one tile, and those of
one in several, which also read and write the border. Of either, one looks at the best in every row,
and one, the sparse, in every fourth.
"""

from __future__ import annotations

import functools
from collections import Counter

import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="needs NVRTC: pip install '.[dev]'")

from kernels import nvrtc, sass
from swdual.backends.cuda.kernels import BOUNDS, KERNELS, Tile

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.nightly("kernels", "swdual/backends/cuda", "tests/kernels"),
]

ROWS = 4

TILES = [
    (kernel, tile)
    for kernel in (KERNELS["q2_s16"], KERNELS["s2_s16"])
    for tile in nvrtc.representative(kernel.tiles_on(90))
]
NAMES = [f"{kernel.name}-{tile.lanes}-{tile.columns}" for kernel, tile in TILES]

LIMITS = {"q2_s16": (6.3, 6.6, 6.55, 6.95), "s2_s16": (7.8, 8.0, 8.15, 8.5)}
"""Instructions for a pair of cells: in one tile, sparse and not, and in several, sparse and not."""

WIDE = 24
"""Columns from which on what a row costs is little beside its cells."""

WIDE_LIMITS = {"q2_s16": (6.0, 6.05), "s2_s16": (7.35, 7.5)}
"""Instructions for a pair of cells, in one tile, sparse: columns by four, and in between."""

SLOWER = {"q2_s16": (3.3, 3.7), "s2_s16": (3.9, 4.3)}
"""Of these, instructions on the pipe of the maxima, the busiest: sparse and not."""

READS = {"q2_s16": (13.0, 7.3), "s2_s16": (15.4, 8.4)}
"""Registers that these read, of both banks together and of the one that is read more."""

COSTS = 12, 1
"""Of a gap's first residue and of each further one, in the instances that are looked at."""

FUSED = ("vimax3_s16x2_relu(f, e, __vadd2(d, s))", "vimax3_s16x2_relu(__vadd2(d, s), e, f)")
"""An edit after which the compiler adds on the pipe of the maxima."""


@functools.cache
def listings(folder, kernel, tiles, edit=None, compiler=None):
    expressions = tuple(kernel.expression(tile, *COSTS) for tile in tiles)
    build = nvrtc.build(kernel.file, expressions, 90, edit, compiler)
    found = sass.disassemble(build.cubin, folder)
    return {tile: found[build.names[kernel.expression(tile, *COSTS)]] for tile in tiles}


@pytest.fixture(scope="module")
def listing_of(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sass")

    def listing(kernel, tile, edit=None):
        tiles = nvrtc.representative(kernel.tiles_on(90)) if edit is None else (tile,)
        return listings(folder, kernel, tiles, edit)[tile]

    return listing


def per_pair(opcodes, columns, *starts):
    """Return how many instructions of these kinds, or of all, a pair of cells takes."""
    number = sass.count(opcodes, *starts) if starts else opcodes.total()
    return number / (ROWS * columns)


def row_loops(listing):
    """Return the loops of a query in one tile, sparse and not, and of one in several."""
    loops = listing.row_loops
    assert len(loops) == 4
    return sorted(loops, key=lambda loop: (sass.count(loop, "STG"), sass.count(loop, "VIMNMX3")))


def check_counts(kernel, tile, listing):
    """Fail if the loops over rows take more instructions than they may."""
    loops = row_loops(listing)
    assert [sass.count(loop, "STG") for loop in loops] == [0, 0, ROWS, ROWS]
    slower = 2 * SLOWER[kernel.name]
    for loop, limit, most in zip(loops, LIMITS[kernel.name], slower, strict=True):
        assert per_pair(loop, tile.columns) <= limit
        assert per_pair(loop, tile.columns, *sass.SLOWER_PIPE) <= most
    if tile.columns >= WIDE:
        assert per_pair(loops[0], tile.columns) <= WIDE_LIMITS[kernel.name][tile.columns % 4 // 2]


@pytest.mark.parametrize(("kernel", "tile"), TILES, ids=NAMES)
def test_a_pair_of_cells_takes_few_instructions(listing_of, kernel, tile):
    check_counts(kernel, tile, listing_of(kernel, tile))


@pytest.mark.parametrize("version", nvrtc.PACKAGES)
@pytest.mark.parametrize("name", ["q2_s16", "s2_s16"])
def test_older_compilers_need_no_more(tmp_path, name, version):
    kernel = KERNELS[name]
    tiles = nvrtc.representative(kernel.tiles_on(90))
    compiler = nvrtc.find_compiler(version)
    for tile, listing in listings(tmp_path, kernel, tiles, compiler=compiler).items():
        check_counts(kernel, tile, listing)
        assert sass.count(listing.opcodes, "LDL", "STL") == 0


@pytest.mark.parametrize(("kernel", "tile"), TILES, ids=NAMES)
def test_sums_have_a_pipe_of_their_own(listing_of, kernel, tile):
    for loop, looks in zip(row_loops(listing_of(kernel, tile)), (1 / 4, 1) * 2, strict=True):
        assert per_pair(loop, tile.columns, "VIADD.16x2") == 2
        assert per_pair(loop, tile.columns, "VIADDMNMX.S16x2") == 2
        assert per_pair(loop, tile.columns, "VIMNMX3.S16x2") == 1 + looks / 2


@pytest.mark.parametrize(("kernel", "tile"), TILES, ids=NAMES)
def test_few_registers_are_read(listing_of, kernel, tile):
    """Two banks deliver one a clock each, so that these decide, too, how long a pair takes."""
    both, one = READS[kernel.name]
    for reads in listing_of(kernel, tile).row_reads:
        assert sum(reads) <= both * ROWS * tile.columns
        assert max(reads) <= one * ROWS * tile.columns


def test_costs_of_gaps_in_registers_are_noticed(listing_of):
    kernel, tile = KERNELS["q2_s16"], Tile(16, 28, 512)
    for reads in listing_of(kernel, tile, ("return FIRST ?", "return 0 ?")).row_reads:
        assert sum(reads) > READS[kernel.name][0] * ROWS * tile.columns


@pytest.mark.parametrize(("kernel", "tile"), TILES, ids=NAMES)
def test_nothing_lies_in_local_memory(listing_of, kernel, tile):
    assert sass.count(listing_of(kernel, tile).opcodes, "LDL", "STL") == 0


def test_a_fused_sum_is_noticed(listing_of):
    kernel, tile = KERNELS["q2_s16"], Tile(16, 28, 512)
    most = 2 * SLOWER[kernel.name]
    for loop, slower in zip(row_loops(listing_of(kernel, tile, FUSED)), most, strict=True):
        assert per_pair(loop, tile.columns, "VIADD.16x2") < 2
        assert per_pair(loop, tile.columns, *sass.SLOWER_PIPE) > slower


BOUND = BOUNDS["bound_s16"]
BOUND_TILES = [tile for tile in nvrtc.representative(BOUND.tiles_on(90)) if tile.columns >= 16]

BOUND_LIMITS = 4.3, 4.6
"""Instructions of a bound for a pair of cells, in one tile and in several."""

BOUND_CLOCKS = {"maxima": 4.2, "shared memory": 4.4, "registers": 5.0}
"""Clocks of the pipe of the maxima, of shared memory, and of the bank of registers read more."""


@pytest.mark.parametrize("tile", BOUND_TILES, ids=lambda tile: f"{tile.lanes}-{tile.columns}")
def test_a_pair_of_cells_of_a_bound_takes_few_instructions(listing_of, tile):
    """Of a block six sums on a pipe of their own, one with a maximum, and six and a half maxima."""
    listing, pairs = listing_of(BOUND, tile), ROWS * tile.columns
    assert sass.count(listing.opcodes, "LDL", "STL", "WARPSYNC.COLLECTIVE") == 0
    loops = list(zip(listing.row_loops, listing.row_reads, strict=True))
    loops.sort(key=lambda loop: sass.count(loop[0], "STG"))
    assert [sass.count(loop, "STG") for loop, _ in loops] == [0, ROWS]
    for (loop, reads), limit in zip(loops, BOUND_LIMITS, strict=True):
        assert loop.total() <= limit * pairs
        assert 2 * sass.count(loop, *sass.SLOWER_PIPE) <= BOUND_CLOCKS["maxima"] * pairs
        wavefronts = {"LDS.128": 4, "LDS.64": 2, "SHFL": 1}
        shared = 4 * sum(n * sass.count(loop, opcode) for opcode, n in wavefronts.items())
        assert shared <= BOUND_CLOCKS["shared memory"] * pairs
        assert max(reads) <= BOUND_CLOCKS["registers"] * pairs
        assert sass.count(loop, "VIADD.16x2") == 1.5 * pairs
        assert sass.count(loop, "VIADDMNMX.S16x2") == pairs / 4


LISTING = """
.text._Z4kernel:
.L_x_0:
        /*0000*/                   S2R R0, SR_TID.X ;
.L_x_1:
{rows}
        /*0800*/              @!P0 LDS.128 R4, [R2] ;
        /*0810*/              @P1 BRA `(.L_x_1) ;
        /*0820*/                   BRA `(.L_x_2) ;
        /*0830*/               @P2 BRA `(.L_x_0) ;
.L_x_2:
        /*0840*/                   EXIT ;
"""


def test_the_innermost_loop_with_maxima_is_that_over_rows():
    rows = "        /*0010*/                   VIMNMX3.S16x2 R1, R2, R3, R4, !PT ;\n" * 70
    listing = sass.parse(LISTING.format(rows=rows))["_Z4kernel"]
    assert listing.loops == [(1, 72), (0, 74)]
    assert listing.row_loops == [Counter({"VIMNMX3.S16x2": 70, "LDS.128": 1, "BRA": 1})]


def test_loops_without_maxima_are_not_looked_at():
    listing = sass.parse(LISTING.format(rows=""))["_Z4kernel"]
    assert listing.row_loops == []
