"""The shipped kernels, built for the CPU, give the exact scores: every kernel, tiles of all lanes.

`SWDUAL_KERNEL_PAIRS` sets the number of random pairs for each configuration; `kernels/bulk.py`
does the same by hand, with any seed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from oracles.smith_waterman import local_score_gotoh

from kernels import bulk, cases, emulator, oracle
from kernels.batch import NEVER, PAD, RESCUE, Run, library_of_costs
from kernels.schemes import PAIRS, blosum62, identity, over, scheme_of
from swdual.backends.cuda.kernels import KERNELS

pytestmark = [
    pytest.mark.sample(5),
    pytest.mark.nightly("kernels", "swdual/backends/cuda", "tests/kernels"),
]

TESTS = Path(__file__).parents[1]
ALL = [
    (kernel, tile)
    for kernel in KERNELS.values()
    for tile in kernel.tiles
    if tile.columns in (16, 28)
    or (kernel.numbers.sparse and (tile.lanes, tile.columns) in {(8, 18), (16, 22), (32, 30)})
]
SOME = [
    (kernel, tile)
    for kernel in KERNELS.values()
    for tile in (kernel.tiles[0], kernel.tiles[len(kernel.tiles) // 2])
]
LIMITED = [(kernel, tile) for kernel, tile in SOME if kernel is not RESCUE]


@pytest.fixture
def rng(request):
    """Numbers that are the same in every run of a test, and others in another test."""
    return np.random.default_rng(list(request.node.name.encode()))


def queries_of(kernel, *sequences):
    return list(sequences[: kernel.queries])


@pytest.mark.parametrize("seed", range(4))
def test_the_oracle_gives_what_another_gives(seed):
    rng = np.random.default_rng(seed)
    scheme = cases.scheme_of(rng, RESCUE)
    query = cases.sequence_of(rng, 60)
    targets = [cases.relative_of(rng, query, length) for length in range(1, 61, 3)]
    open_ = scheme.gap_first - scheme.gap_next
    expected = [
        local_score_gotoh(list(query), list(target), scheme.matrix, open_, scheme.gap_next)
        for target in targets
    ]
    np.testing.assert_array_equal(oracle.scores(query, targets, scheme), expected)


@pytest.mark.sample(5)
@over(ALL)
def test_random_searches(kernel, tile):
    """Schemes, lengths, relatives, windows, grids and orders of threads drawn by lot."""
    bulk.run(kernel, tile, PAIRS, seed=tile.lanes * tile.columns, a_launch=40)


@pytest.mark.sample(5)
@over(ALL)
def test_lengths_at_the_edges_of_lanes_columns_and_tiles(kernel, tile, rng):
    """Queries about a tile's edges against targets about multiples of four and of the lanes."""
    lanes = tile.lanes
    lengths = sorted({*range(1, 10), *(k * lanes + d for k in (1, 2) for d in (-1, 0, 1)), 97})
    queries = [cases.sequence_of(rng, length, 4) for length in cases.edge_lengths(tile)]
    ends = [query[-length:] for query in queries[-1:] for length in lengths]
    targets = [*(cases.sequence_of(rng, length, 4) for length in lengths), *ends]
    for k in range(0, len(queries), kernel.queries):
        mine = queries[k : k + kernel.queries]
        cases.check(kernel, tile, mine, [*targets, *(query[-40:] for query in mine)], blosum62())


@over(SOME)
def test_profiles_with_lengths_at_the_edges_of_lanes_columns_and_tiles(kernel, tile, rng):
    """Each position and each code has a score of its own, very low ones among them."""
    scheme = scheme_of(np.zeros((32, 32)), 12, 1)
    profiles = []
    for length in cases.edge_lengths(tile):
        profile = rng.integers(-13, 9, (length, 32))
        profile[rng.random(profile.shape) < 0.05] = rng.choice([-32768, -2049, 30])
        profile[:, PAD] = NEVER
        profiles.append(profile)
    for k in range(0, len(profiles), kernel.queries):
        mine = profiles[k : k + kernel.queries]
        best = [profile.argmax(axis=1).astype(np.uint8).tobytes() for profile in mine]
        targets = [cases.relative_of(rng, each, n) for each in best for n in (1, 7, 60, 97)]
        cases.check(kernel, tile, mine, [*targets, *(each[-40:] for each in best)], scheme)


@over(SOME)
def test_a_profile_may_share_a_launch_with_letters(kernel, tile, rng):
    """Of two queries either may be a profile."""
    query = cases.sequence_of(rng, tile.lanes * tile.columns + 9, 20)
    targets = [cases.relative_of(rng, query, length) for length in (5, 40, 90)]
    profile = cases.profile_of(rng, query, blosum62())
    for pair in ([query, profile], [profile, query], [profile[::-1], profile]):
        cases.check(kernel, tile, queries_of(kernel, *pair), targets, blosum62())


@over(SOME)
def test_a_query_of_nothing_scores_nothing(kernel, tile):
    targets = [bytes([1, 2, 3]), bytes([4])]
    cases.check(kernel, tile, [b""], targets, blosum62())
    if kernel.queries == 2:
        cases.check(kernel, tile, [bytes([1, 2, 3]), b""], targets, blosum62())
        cases.check(kernel, tile, [b"", bytes([1, 2, 3])], targets, blosum62())


@over(SOME)
def test_queries_of_very_different_lengths(kernel, tile, rng):
    """One of a pair may be done after one tile, the other after four."""
    long = cases.sequence_of(rng, 3 * tile.lanes * tile.columns + 7, 20)
    short = long[-30:]
    targets = [long[-200:], short, long[5:90], short + long[:50]]
    for pair in ([long, short], [short, long]):
        cases.check(kernel, tile, queries_of(kernel, *pair), targets, blosum62())


@over(SOME)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 33])
def test_any_number_of_targets(kernel, tile, count, rng):
    """Also none, and odd ones, where a pair of targets or a warp is not full; some are empty."""
    query = cases.sequence_of(rng, 50, 20)
    targets = [query[: rng.integers(1, 50)] for _ in range(count)]
    scores = queries_of(kernel, query, query[::-1])
    cases.check(kernel, tile, scores, targets, blosum62(), Run(chunk=2))
    cases.check(kernel, tile, scores, [*targets, b"", query], blosum62())


@over(SOME)
def test_all_codes(kernel, tile):
    """Every code against every other, PAD too, each with a score of its own; not symmetrical."""
    scores = np.arange(32 * 32).reshape(32, 32) % 113 - 20
    targets = [bytes([a, b]) for a in range(32) for b in (a, 31, 0)]
    for first in range(0, 32, kernel.queries):
        queries = [bytes([code]) for code in range(first, first + kernel.queries)]
        cases.check(kernel, tile, queries, targets, scheme_of(scores, 300, 300))
    every = bytes(range(32))
    both = queries_of(kernel, every, every[::-1])
    cases.check(kernel, tile, both, [every, every[::-1], *targets], scheme_of(scores, 30, 2))


@over(SOME)
def test_prices_of_gaps(kernel, tile, rng):
    """Free gaps, gaps dearer than any score, gaps of one price a residue; in several tiles too."""
    schemes = [scheme_of(rng.integers(-6, 7, (32, 32)), *prices) for prices in set(cases.PRICES)]
    schemes = [scheme for scheme in schemes if scheme.suits(kernel)]
    assert len(schemes) > 12
    for scheme in schemes:
        long = cases.sequence_of(rng, tile.lanes * tile.columns + 40)
        for query in (cases.sequence_of(rng, 70), long):
            targets = [cases.relative_of(rng, query, length) for length in range(1, 60)]
            cases.check(kernel, tile, queries_of(kernel, query, query[7:]), targets, scheme)


@pytest.mark.parametrize("name", KERNELS)
def test_constant_costs_of_gaps(name, rng):
    """An instance for the costs of a scheme scores as the one for any costs."""
    kernel = KERNELS[name]
    run = Run(library=library_of_costs, cutoff=60)
    for length in (40, 300):
        query = cases.sequence_of(rng, length, 20)
        targets = [cases.relative_of(rng, query, int(n)) for n in rng.integers(1, 300, 60)]
        queries = queries_of(kernel, query, query[::-1])
        cases.check(kernel, kernel.tiles[0], queries, targets, blosum62(), run)


@over(SOME)
def test_scores_as_far_apart_as_the_numbers_allow(kernel, tile, rng):
    """The largest matches with the largest mismatches and prices that the kernel says it holds."""
    schemes = [
        identity(match, -mismatch, first, following)
        for match in (1, 127, 1000, 1023, 2000, 16000, 32000, 2**24)
        for mismatch in (0, 1, 127, 128, 2047, 2048, 32767, 32768, 2**24)
        for first, following in ((0, 0), (1, 1), (1000, 1000), (2000, 0), (16000, 1), (32767, 1))
    ]
    schemes = [scheme for scheme in schemes if scheme.suits(kernel)]
    assert len(schemes) > 20
    for scheme in schemes:
        query = cases.sequence_of(rng, 60, 4)
        targets = [cases.relative_of(rng, query, length) for length in range(1, 61, 4)]
        cases.check(kernel, tile, queries_of(kernel, query, query[::-1]), targets, scheme)


@pytest.mark.case(number=14)
@over(LIMITED)
def test_scores_too_large_are_noticed_exactly(kernel, tile, rng):
    """Totals one by one about the limit, and about the largest number of the type.

    Code 0 is worth 1 and any other 100, so that a target has the total that we want, and passes the
    limit by small steps or by a large one. No other alignment comes near.
    """
    scheme = scheme_of(
        np.where(np.eye(32), np.minimum(100, 1 + 99 * np.arange(32)), -1000), 700, 700
    )
    limit = kernel.limit(100)
    totals = {*range(limit - 30, limit + 30), *range(limit + 70, limit + 130), *range(2030, 2061)}
    if limit > 2048:
        totals |= {*range(31990, 32800, 13), 40000, 65530, 65536, 65540, 70000}
    hundreds, ones = rng.integers(1, 21, 701).astype(np.uint8).tobytes(), bytes(99)
    query = ones + hundreds + ones
    targets = []
    for total in sorted(totals):
        many, few = total // 100, total % 100
        targets += [ones[:few] + hundreds[:many], hundreds[-many:] + ones[:few]]
    queries = queries_of(kernel, query, query[50:])
    assert cases.check(kernel, tile, queries, targets, scheme, Run(ctas=3)) >= 160
    if kernel.numbers.sparse:  # a cutoff above the limit does not hide what reaches the limit
        near = [ones[: total % 100] + hundreds[: total // 100] for total in (limit - 1, limit)]
        assert cases.check(kernel, tile, queries, near, scheme, Run(cutoff=2 * limit)) >= 1


@over(LIMITED)
def test_the_best_of_many_overflows_beside_scores_that_fit(kernel, tile, rng):
    """Overflows in one half leave the other alone, and in one piece the pieces beside it."""
    scheme = identity(100, -90, 200, 20)
    least = kernel.limit(100) // 100
    family, other = cases.sequence_of(rng, least + 40, 20), cases.sequence_of(rng, least // 2, 20)
    targets = []
    for _ in range(40):
        targets += [family, cases.relative_of(rng, family, 12), other, family[3:] + other]
    run = Run(chunk=7)
    assert cases.check(kernel, tile, queries_of(kernel, family, other), targets, scheme, run) == 80
    twice = cases.check(kernel, tile, queries_of(kernel, other, family), targets, scheme, run)
    assert twice == (80 if kernel.queries == 2 else 0)


@over([(kernel, tile) for kernel, tile in SOME if kernel.numbers.sparse])
@pytest.mark.parametrize("price", [(5, 5), (2, 0), (30, 7)], ids=str)
def test_what_reaches_a_cutoff_is_found_in_any_row_of_four(kernel, tile, price, rng):
    """A best that one row has and no other, in each row of a step, with cutoffs all about it."""
    scheme = identity(20, -90, *price)
    common = cases.sequence_of(rng, 7, 20)
    short, long = common, cases.sequence_of(rng, tile.lanes * tile.columns + 5, 20) + common
    targets = [bytes([25]) * before + common + bytes([25]) * 3 for before in range(9)]
    targets += [target[:-4] + bytes([25]) for target in targets]
    lost = 3 * scheme.gap_next
    for query in (short, long):
        for cutoff in {140 + d for d in (-lost, -1, 0, 1, lost, lost + 1)} | {1, 120, 1000}:
            run = Run(cutoff=cutoff, chunk=6)
            twice = cases.check(
                kernel, tile, queries_of(kernel, query, query), targets, scheme, run
            )
            assert (twice > 0) == (query is long and cutoff <= 140 + lost)


@pytest.mark.case(number=14)
@pytest.mark.sample(2)
@over([(RESCUE, tile) for tile in RESCUE.tiles[::2]])
def test_32_bits_hold_what_is_too_large_for_16(kernel, tile, rng):
    """Up to the largest number that a score may be, 2**31 - 1, in one tile and in several."""
    for match, length in ((2**30 - 1, 2), ((2**31 - 1) // 200, 200), (30000, 2000)):
        scheme = identity(match, -match, 2**20, 2**10)
        assert scheme.suits(kernel)
        query = cases.sequence_of(rng, length, 20)
        targets = [query, query[1:], query[:-1], query[: length // 2] + query]
        cases.check(kernel, tile, [query], targets, scheme)


@over(SOME)
@pytest.mark.parametrize("price", [(12, 1), (2, 2), (3, 1)], ids=str)
def test_windows_of_a_target_hold_its_score(kernel, tile, price, rng):
    """Whatever windows a target is cut into, if they overlap by the span of an alignment."""
    scheme = identity(3, -2, *price)
    queries = queries_of(kernel, *(cases.sequence_of(rng, length, 4) for length in (23, 17)))
    span = cases.compute_span(queries, scheme)
    noise = [cases.sequence_of(rng, int(n), 4) for n in rng.integers(0, 400, 12)]
    targets = [
        noise[k][: rng.integers(400)] + cases.relative_of(rng, queries[0], 23) + noise[k + 1]
        for k in range(11)
    ]
    for window in (span + 16, span + 23, span + 64, 2 * span + 5):
        run = Run(window=window, overlap=span, chunk=5)
        cases.check(kernel, tile, queries, targets, scheme, run)


@over(SOME)
@pytest.mark.parametrize(
    ("ctas", "threads", "chunk"),
    [(1, 32, 1), (2, 64, 3), (3, None, 50), (8, 96, 5), (5, None, 1000)],
)
def test_any_grid_any_chunks_any_order(kernel, tile, ctas, threads, chunk, rng):
    """CTAs, warps, chunks and the order in which threads run change nothing."""
    query = cases.sequence_of(rng, 2 * tile.lanes * tile.columns + 30, 20)
    targets = [cases.relative_of(rng, query, length) for length in cases.target_lengths(rng, 40)]
    targets += [query, query[9:]]
    for length in (60, len(query)):
        queries = queries_of(kernel, query[:length], query[::-1][:length])
        for seed in range(3):
            run = Run(ctas=ctas, threads=threads, chunk=chunk, seed=seed)
            cases.check(kernel, tile, queries, targets, blosum62(), run)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", KERNELS)
def test_memory_is_used_as_it_should_be(name):
    """No array is read or written outside, and no number overflows that must not."""
    emulator.need()
    command = [
        sys.executable,
        "-m",
        "kernels.bulk",
        "--sanitized",
        "--pairs",
        "480",
        "--seed",
        "21",
    ]
    command += ["--kernel", name]
    tiles = KERNELS[name].tiles
    tile = tiles[len(tiles) // 2]
    command += ["--tile", f"{tile.lanes},{tile.columns}"]
    environment = {**emulator.sanitizer(), "PYTHONPATH": f"{TESTS.parent}:{TESTS}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("all exact") == 1
