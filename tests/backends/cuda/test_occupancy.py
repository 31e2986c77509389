"""How much of a card long queries keep busy, by what the launches are given."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from backends.cuda.searches import database_of, expected, random_codes, scheme_of, score
from backends.cuda.standin import StandIn
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.backends.cuda import CudaScorer, pieces
from swdual.backends.cuda.kernels import KERNELS, Tile, choose
from swdual.backends.cuda.memory import share_memory
from swdual.backends.cuda.occupancy import UNCUT, LaunchShape, choose_shape, predict_cost

H200 = 132
"""Its multiprocessors."""

SHARED_BYTES = 232_448
MEGABASE = 10**6


def find_busy(kernel, shape, lengths, ctas, border_bytes):
    """Return the share of all groups that work at the same time, of chunks as they are made."""
    tile, span, window = shape
    words = -(-lengths.astype(np.int64) // 16)
    starts = (np.cumsum(words) - words).astype(np.uint32)
    cut = pieces.cut(starts, lengths, span, window)
    groups = tile.threads // tile.lanes
    area = partial(kernel.border_rows, tile, 1)
    chunks = pieces.chunk(
        cut.lengths, groups * kernel.targets, kernel.targets, ctas, area, border_bytes // (8 * ctas)
    )
    grid = min(ctas, border_bytes // (8 * chunks.rows))
    sizes = -(-np.diff(chunks.edges.astype(np.int64)) // kernel.targets)
    return sizes[:grid].sum() / (ctas * groups)


@pytest.mark.parametrize("name", ["q2_s16", "s2_s16"])
@pytest.mark.parametrize(
    ("length", "lengths", "faster"),
    [
        (10_000, [250 * MEGABASE], 1.3),
        (100_000, [250 * MEGABASE], 5),
        (MEGABASE, [5 * MEGABASE] * 12, 4),
    ],
)
def test_long_queries_keep_half_of_the_groups_busy(name, length, lengths, faster):
    """Chromosomes and genomes on an H200, by the scores of blastn: 2 for a match, 2 a gap residue.

    Compared with a tile of 16 lanes, as one protein wants it, and windows of four spans at least.
    """
    kernel, lengths = KERNELS[name], np.array(lengths, np.uint32)
    borders = share_memory(126_000_000_000, int(lengths.sum()), 0).borders
    tile = choose(kernel, 90, 400, 350.0, SHARED_BYTES)
    assert tile.lanes == 16
    span = pieces.round_up(pieces.compute_span(length, 2 * length, 2))
    fitting = (each for each in kernel.tiles_on(90) if each.lanes == 32)
    wide = [each for each in fitting if kernel.shared_bytes(each, length) <= SHARED_BYTES]
    tiles = [tile, *wide]
    shape = choose_shape(kernel, tiles, length, span, lengths, H200, borders)
    share = int(lengths.sum(dtype=np.int64)) // (H200 * tile.threads // tile.lanes * kernel.targets)
    window = pieces.compute_window(span, share)
    usual = LaunchShape(tile, span, window) if window < lengths[0] else LaunchShape(tile, 0, UNCUT)
    busy = find_busy(kernel, shape, lengths, H200, borders)
    before = find_busy(kernel, usual, lengths, H200, 1 << 30)
    costs = [
        predict_cost(kernel, each, length, lengths, H200, size)
        for each, size in ((usual, 1 << 30), (shape, borders))
    ]
    times = costs[0] / costs[1]
    print(f"{length} {name}: {before:.4f} to {busy:.3f} of the groups, {shape}, {times:.1f} times")
    assert busy >= 0.5
    assert before <= busy
    assert times > faster


def test_genomes_shorter_than_the_span_stay_whole():
    """An alignment may cover all of them: one group each, a warp wide."""
    lengths = np.full(12, MEGABASE, np.uint32)
    tiles = [Tile(8, 28, 512), Tile(32, 28, 512)]
    span = pieces.compute_span(MEGABASE, 2 * MEGABASE, 2)
    shape = choose_shape(KERNELS["q2_s16"], tiles, MEGABASE, span, lengths, H200, 20 << 30)
    assert shape == (tiles[1], 0, UNCUT)


@examples(60)
@given(st.data())
def test_the_shape_is_one_of_those_that_are_exact(data):
    """One of the tiles; no windows, or windows longer than the span and shorter than a target."""
    lengths = np.sort(
        np.array(data.draw(st.lists(st.integers(1, 10**6), min_size=1, max_size=30)), np.uint32)
    )[::-1]
    span = data.draw(st.one_of(st.none(), st.integers(1, 10**6)))
    tiles = KERNELS["s2_s16"].tiles_on(90)
    border = data.draw(st.integers(1, 1 << 34))
    tile, overlap, window = choose_shape(
        KERNELS["s2_s16"], tiles, 5000, span, lengths, data.draw(st.integers(1, 140)), border
    )
    assert tile in tiles
    if window == UNCUT:
        assert overlap == 0
    else:
        assert overlap == span < window < lengths[0]


@examples(5)
@given(st.integers(0, 2**32))
def test_long_queries_against_few_targets_score_by_the_definition(seed):
    """In windows that overlap by more than they advance."""
    rng = np.random.default_rng(seed)
    scheme = scheme_of(5, -4, 3, 200)  # where a query of n residues spans n and a little
    query = random_codes(rng, rng.integers(1030, 1200), 4)
    lengths = rng.integers(1, 2500, rng.integers(1, 4))
    database = database_of([random_codes(rng, each, 4) for each in lengths])
    capability = (8, 6) if rng.integers(2) else (9, 0)
    card = StandIn(processors=int(rng.integers(1, 9)), seed=seed, capability=capability)
    task = (query, 0, 0, len(lengths))
    assert [score(CudaScorer(database, scheme, card), task)] == expected(database, scheme, [task])


@pytest.mark.parametrize("name", ["q2_s16", "s2_s16"])
@pytest.mark.parametrize("length", [144, 375, 2005, 5478])
def test_few_targets_have_wide_groups(name, length):
    """Where groups would be idle: by `predict_cost` the tile is nearly as good as the best one."""
    kernel = KERNELS[name]
    for share in (0.5, 2, 8, 30, 64):
        lengths = np.full(int(share * 132), 350, np.uint32)
        tile = choose(kernel, 90, length, 350.0, SHARED_BYTES, share=share)
        costs = {
            each: predict_cost(kernel, LaunchShape(each, 0, UNCUT), length, lengths, 132, 20 << 30)
            for each in kernel.tiles_on(90)
            if kernel.shared_bytes(each, length) <= SHARED_BYTES
        }
        assert costs[tile] <= 1.12 * min(costs.values())
        if share <= 8 and length > 1000:
            usual = choose(kernel, 90, length, 350.0, SHARED_BYTES)
            assert costs[tile] <= 0.8 * costs[usual] or tile == usual
