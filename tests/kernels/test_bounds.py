"""Kernels of bounds, built for the CPU: they leave exactly what their definition leaves.

The definition is `oracle.bounds`, which no score is above.
"""

from __future__ import annotations

import numpy as np
import pytest

from kernels import batch, bulk, cases, oracle
from kernels.batch import EVERY, Run, library_of_costs
from kernels.schemes import PAIRS, blosum62, identity, over
from swdual.backends.cuda.kernels import BOUNDS

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.nightly("kernels", "swdual/backends/cuda", "tests/kernels"),
]

ALL = [(kernel, tile) for kernel in BOUNDS.values() for tile in kernel.tiles[::3]]
SOME = [
    (kernel, tile)
    for kernel in BOUNDS.values()
    for tile in (kernel.tiles[0], kernel.tiles[len(kernel.tiles) // 2])
]


@pytest.fixture
def rng(request):
    """Numbers that are the same in every run of a test, and others in another test."""
    return np.random.default_rng(list(request.node.name.encode()))


def run_of(*scores, **changes):
    """Return how bounds are launched, with a cutoff for each query, whatever the length."""
    return Run(cutoffs=tuple(([1], [score]) for score in scores), **changes)


@over(ALL)
def test_random_searches(kernel, tile):
    """Schemes, lengths, cutoffs, profiles, windows, grids drawn by lot; given up or not."""
    bulk.run(kernel, tile, PAIRS, seed=tile.lanes * tile.columns, a_launch=40)


@over(SOME)
def test_lengths_at_the_edges_of_lanes_columns_and_tiles(kernel, tile, rng):
    """Queries about a tile's edges against targets about multiples of four and of the lanes."""
    lanes = tile.lanes
    lengths = sorted({*range(1, 10), *(k * lanes + d for k in (2, 4) for d in (-1, 0, 1)), 97})
    queries = [cases.sequence_of(rng, length, 4) for length in cases.edge_lengths(tile)]
    targets = [cases.sequence_of(rng, length, 4) for length in lengths]
    targets += [query[-length:] for query in queries[-1:] for length in lengths]
    for k in range(len(queries)):
        mine = queries[k : k + 1 + k % 2]
        some = [*targets, *(query[-40:] for query in mine)]
        for cutoff in (13, 25, 40, 90):
            run = run_of(*[cutoff] * len(mine))
            cases.check_bounds(kernel, tile, mine, some, blosum62(), run)


@pytest.mark.smoke(1)
@over(SOME)
@pytest.mark.parametrize("halved", [False, True], ids=["two", "halves"])
def test_a_bound_is_its_definition_to_the_last_unit(kernel, tile, halved, rng):
    """Each bound of some pairs, found by cutoffs that it just reaches, and just does not."""
    query = cases.sequence_of(rng, 60, 20)
    targets = [cases.relative_of(rng, query, length) for length in range(1, 60, 4)]
    bounds = oracle.bounds(query, targets, blosum62(), halved=halved)
    assert len(set(bounds.tolist())) > 8
    for bound in sorted({*bounds.tolist()} - set(range(13))):
        for cutoff, expected in ((bound, bounds >= bound), (bound + 1, bounds > bound)):
            queries = [query] if halved else [query, query]
            run = run_of(*[cutoff] * len(queries))
            for left in batch.left_by_bounds(kernel, tile, queries, targets, blosum62(), run):
                assert sorted(left) == np.flatnonzero(expected).tolist()


@over(SOME)
@pytest.mark.parametrize("length", [50, 1100])
def test_cutoffs_of_a_query_depend_on_the_length_of_the_target(kernel, tile, length, rng):
    """The first counts for shorter ones; two queries have their own."""
    query = cases.sequence_of(rng, length, 20)
    targets = [cases.relative_of(rng, query, n) for n in (3, 9, 10, 11, 40, 99, 100, 101, 300)]
    tables = ([10, 100], [20, 150]), ([1, 11, 12, 100], [15, 30, 31, 100])
    for queries in ([query, query[3:]], [query]):
        run = Run(cutoffs=tables[: len(queries)])
        assert cases.check_bounds(kernel, tile, queries, targets, blosum62(), run) > 0


@over(SOME)
def test_a_query_alone_leaves_nothing_for_the_other(kernel, tile):
    query, targets = bytes(range(20)), [bytes(range(20)), bytes([1, 2])]
    for queries in ([query], [query, b""]):
        run = run_of(*[20] * len(queries))
        found = batch.left_by_bounds(kernel, tile, queries, targets, blosum62(), run)
        assert found == [[0], []][: len(queries)]


@over(SOME)
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 63, 300, 2500])
def test_alignments_across_the_halves_of_a_query_are_bounded(kernel, tile, length, rng):
    """The best of many targets lies in both halves, in one tile and in several."""
    query = cases.sequence_of(rng, length, 20)
    middle = length // 2
    targets = [query[max(middle - n, 0) : middle + m] for n in (0, 1, 9, 40) for m in (1, 2, 8, 30)]
    targets += [cases.relative_of(rng, target, 60) for target in targets]
    scores = oracle.scores(query, targets, blosum62())
    assert (scores <= oracle.bounds(query, targets, blosum62(), halved=True)).all()
    for cutoff in sorted({13, 20, *(scores + 1).tolist(), *scores.tolist()} - set(range(13)))[::5]:
        cases.check_bounds(kernel, tile, [query], targets, blosum62(), run_of(cutoff))


@over(SOME)
def test_bounds_that_are_too_large_for_their_numbers_leave_the_target(kernel, tile, rng):
    """A cutoff beyond what the numbers hold: all that may reach their limit is left."""
    scheme = identity(100, -90, 200, 20)
    limit = kernel.limit(100)
    query = cases.sequence_of(rng, limit // 100 + 40, 20)
    targets = [query[:n] for n in range(limit // 100 - 5, limit // 100 + 6)]
    targets += [query, cases.sequence_of(rng, 50, 20)]
    for queries in ([query, query[1:]], [query]):
        run = run_of(*[limit + 5000] * len(queries))
        left = cases.check_bounds(kernel, tile, queries, targets, scheme, run)
        assert 1 <= left < len(queries) * len(targets)


@over(SOME)
@pytest.mark.parametrize("length", [60, 1100])
def test_bounds_are_given_up_where_most_targets_are_left(kernel, tile, length, rng):
    """Each piece is listed once, whether it got a bound or not; without patience fewer get one."""
    query = cases.sequence_of(rng, length, 20)
    targets = [query[:50] for _ in range(900)] + [cases.sequence_of(rng, 50, 20)] * 200
    targets = [targets[k] for k in rng.permutation(len(targets))]
    queries = [query, query[::-1]][: rng.integers(1, 3)]
    found = {}
    for patience in (20, EVERY):
        run = run_of(*[70] * len(queries), patience=patience, chunk=12)
        left = batch.left_by_bounds(kernel, tile, queries, targets, blosum62(), run)
        assert all(len(set(each)) == len(each) for each in left)
        found[patience] = set(left[0])
    assert found[EVERY] < found[20]


@pytest.mark.parametrize("name", BOUNDS)
def test_constant_costs_of_gaps(name, rng):
    """An instance for the costs of a scheme leaves what the one for any costs does."""
    kernel = BOUNDS[name]
    for length in (40, 300):
        query = cases.sequence_of(rng, length, 20)
        targets = [cases.relative_of(rng, query, int(n)) for n in rng.integers(1, 300, 60)]
        queries = [query, query[::-1]]
        run = run_of(*[60] * len(queries), library=library_of_costs)
        cases.check_bounds(kernel, kernel.tiles[0], queries, targets, blosum62(), run)
