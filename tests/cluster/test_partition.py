"""How a search is divided among nodes: everything once, near the bound, few blocks for each."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from support.target_lengths import TargetLengths, draw_lengths

from swdual import registry
from swdual.cluster import partition
from swdual.cluster.partition import (
    MIN_SHARE_SECONDS,
    SHARE_SECONDS,
    combine_rates,
    partition_search,
)
from swdual.cluster.placement import assign_nodes, compute_loads
from swdual.errors import InputError
from swdual.master.cost import CostModel
from swdual.master.partition import GOOD_ENOUGH, PartitionInput
from swdual.master.ranges import cut
from swdual.planning.planner import PACKAGE, make_plan

pytestmark = pytest.mark.sample("values")

PLANNERS = registry.available(PACKAGE)

CORE = CostModel(2e-5, 1e-9, 1e-9 / np.array([0.4, 1, 3.0, 6, 8, 9, 9, 9, 9]), 64)
CARD = CostModel(
    1e-4, 2e-10, 1e-9 / np.array([30.0, 70, 200.0, 600, 1000, 1300, 1500, 1500, 1500]), 2048
)
PLAIN = combine_rates([CORE] * 16)
MIXED = combine_rates([CORE] * 12 + [CARD] * 4)
SLOWER = combine_rates([CORE] * 8)


@pytest.fixture(scope="module")
def small():
    return TargetLengths(draw_lengths(3000), draw_lengths(1500, 4))


@pytest.fixture(scope="module")
def forty():
    """Of 40 blocks of the usual size, all alike."""
    return TargetLengths(*[draw_lengths(180_000)] * 40)


def kinds(nodes):
    return ["gpu" if rates is MIXED else "cpu" for rates in nodes]


def shared(lengths, database, nodes, planner="dual", frame_count=1, **options):
    given = PartitionInput(lengths, database, kinds(nodes), nodes, planner, frame_count)
    return partition_search(given, **options)


def check(found, lengths, database, nodes, done=(), frame_count=1):
    """Every query meets every target once, on a node that exists, in the time that it needs."""
    counts = [np.zeros((len(lengths), block.sequences), int) for block in database.manifest.blocks]
    for group, place in found.shares:
        block, first, last, *_ = found.ranges[place]
        counts[block][found.groups[group], first:last] += 1
    for query, place in done:
        block, first, last, *_ = found.ranges[place]
        counts[block][query, first:last] += 1
    assert all((count == 1).all() for count in counts)
    skipped = sum(lengths[query] * found.ranges[place].residues for query, place in done)
    assert found.cells.sum() == frame_count * (sum(lengths) * database.residues - skipped)
    assert sorted(np.concatenate(found.plan.queues).tolist()) == [*range(len(found.shares))]
    assert found.plan.kinds == tuple(kinds(nodes))
    for node, queue in enumerate(found.plan.queues):
        took = (found.plan.ends - found.plan.starts)[queue]
        if not found.plan.on_demand:
            assert took == pytest.approx(found.seconds[node][queue])
            assert found.plan.ends[queue].max(initial=0) == pytest.approx(took.sum())
    assert found.plan.lower_bound <= found.plan.makespan


def blocks_of(found):
    """Return the number of blocks that each node meets."""
    blocks = np.array([found.ranges[place].block for _, place in found.shares])
    return np.array([len(np.unique(blocks[queue])) for queue in found.plan.queues])


# What comes out.


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize(
    "nodes", [[PLAIN], [PLAIN] * 3, [PLAIN, MIXED], [MIXED, SLOWER, PLAIN, MIXED]]
)
def test_everything_is_done_once_by_any_planner(small, planner, nodes):
    """Nodes may come in any order; a planner for one kind uses that only."""
    lengths = draw_lengths(70, 9).tolist()
    needed = planner.removesuffix("_only") if planner.endswith("_only") else None
    unlike = planner == "dual_dp" and SLOWER in nodes
    if unlike or (needed and needed not in kinds(nodes)):
        with pytest.raises(InputError, match=planner):
            shared(lengths, small, nodes, planner)
        return
    found = shared(lengths, small, nodes, planner, frame_count=2)
    check(found, lengths, small, nodes, frame_count=2)
    if needed:
        assert all(kinds(nodes)[node] == needed for node in found.plan.workers)


@pytest.mark.parametrize("queries", [1, 3, 70])
def test_few_queries_are_groups_by_themselves(small, queries):
    """Then the targets are cut as finely as needed, and no range lies in two blocks."""
    lengths = draw_lengths(queries, 9).tolist()
    found = shared(lengths, small, [SLOWER] * 4)
    check(found, lengths, small, [SLOWER] * 4)
    assert {each.block for each in found.ranges} == {0, 1}


def test_no_queries_are_no_shares(small):
    """The plan is empty."""
    found = shared([], small, [PLAIN] * 2)
    assert (found.shares, found.groups, found.plan.makespan) == ([], [], 0)


def test_groups_are_large_and_small_ones_of_queries_of_like_length(forty):
    """Each has queries that follow each other by length; the largest group comes first."""
    lengths = draw_lengths(3000, 5).tolist()
    found = shared(lengths, forty, [PLAIN] * 8)
    by_length = sorted(found.groups, key=lambda group: -lengths[group[0]])
    order = [lengths[query] for group in by_length for query in group]
    assert order == sorted(lengths, reverse=True)
    sizes = [sum(lengths[query] for query in group) for group in found.groups]
    assert sizes[0] > 2 * sizes[-1]
    assert max(sizes) < 2.2 * sum(lengths) / len(sizes)
    half = [sum(lengths[query] for query in group) for group in by_length[: len(by_length) // 2]]
    assert max(half) > 2 * min(half)


@pytest.mark.parametrize("nodes", [[PLAIN] * 8, [MIXED] * 3 + [PLAIN] * 5, [PLAIN, SLOWER] * 6])
def test_a_long_search_ends_near_the_bound(forty, nodes):
    """Within 1 % of what shares that could be cut at will would take; each node has enough."""
    lengths = draw_lengths(3000, 5).tolist()
    found = shared(lengths, forty, nodes)
    assert found.plan.makespan <= 1.01 * found.divisible
    counts = np.bincount(found.plan.workers, minlength=len(nodes))
    assert counts.min() >= 5
    took = found.plan.ends - found.plan.starts
    assert took.min() > MIN_SHARE_SECONDS / 8
    assert took.max() < 40


def test_a_short_search_is_not_cut_into_crumbs(small):
    """What a share takes besides is little to its time."""
    lengths = draw_lengths(70, 9).tolist()
    found = shared(lengths, small, [SLOWER] * 2)
    assert len(found.shares) * SHARE_SECONDS < 0.2 * found.plan.busy.sum()


def test_a_node_meets_few_blocks(forty):
    """About as many as its part of the work, and no more than a few beside them."""
    found = shared(draw_lengths(3000, 5).tolist(), forty, [PLAIN] * 10)
    assert blocks_of(found).max() <= 40 / 10 + 3
    found = shared(draw_lengths(3000, 5).tolist(), forty, [PLAIN] * 80)
    assert blocks_of(found).mean() <= 2
    assert found.plan.makespan <= 1.01 * found.divisible
    nodes = [PLAIN] * 30 + [MIXED] * 10
    found = shared(draw_lengths(3000, 5).tolist(), forty, nodes)
    assert blocks_of(found)[30:].mean() <= 40 / 10 + 2


def test_shares_come_range_by_range_with_the_smallest_last(forty):
    """A node meets each range once, its shares from the large to the small."""
    found = shared(draw_lengths(3000, 5).tolist(), forty, [PLAIN] * 7)
    for queue in found.plan.queues:
        places = [found.shares[number].range_number for number in queue]
        assert len([*groupby(places)]) == len(set(places))
        for place in set(places):
            cells = [
                found.cells[number]
                for number in queue
                if found.shares[number].range_number == place
            ]
            assert cells == sorted(cells, reverse=True)
        last = {number for number in queue if found.shares[number].range_number == places[-1]}
        assert found.cells[queue].min() in {found.cells[number] for number in last}


def test_equal_nodes_share_what_is_known_of_them(small):
    """For a thousand of them that is the memory of one."""
    found = shared([300, 40], small, [PLAIN] * 5 + [MIXED])
    assert all(found.seconds[node] is found.seconds[0] for node in range(5))
    assert found.seconds[5] is not found.seconds[0]


# Going on.


def test_what_is_done_is_not_done_again(small):
    """Of given ranges, only the pairs that are left are shared out."""
    lengths = draw_lengths(30, 9).tolist()
    ranges = cut(small, 4)
    done = {(query, place) for query in range(30) for place in range(2) if query % 3 or not place}
    found = shared(lengths, small, [PLAIN] * 3, ranges=ranges, done=done)
    assert found.ranges == ranges
    check(found, lengths, small, [PLAIN] * 3, done)
    assert 0 not in {share.range_number for share in found.shares}
    everything = {(query, place) for query in range(30) for place in range(len(ranges))}
    found = shared(lengths, small, [PLAIN] * 3, ranges=ranges, done=everything)
    assert found.shares == []


@pytest.mark.parametrize("most", [40, 100])
def test_there_are_never_too_many_shares(monkeypatch, forty, most):
    """Finer sharings are not looked at beyond a number."""
    monkeypatch.setattr(partition, "MAX_SHARES", most)
    found = shared(draw_lengths(3000, 5).tolist(), forty, [PLAIN, SLOWER] * 20)
    assert len(found.shares) <= most + len(found.ranges)


# Dealing.


def test_dealing_takes_no_longer_than_is_good_enough():
    """And what cannot be dealt in that time stays as the planner has it."""
    rng = np.random.default_rng(4)
    kept = 0
    for _ in range(50):
        times = rng.uniform(0.1, 1, rng.integers(1, 60))
        speeds = rng.choice([1.0, 2.0, 3.5], rng.integers(1, 6))
        plan = make_plan(times, np.full(len(times), np.inf), cpus=speeds, gpus=0)
        seconds = [times / speed for speed in speeds]
        found = assign_nodes(plan, seconds)
        assert compute_loads(found, seconds).max() <= GOOD_ENOUGH * plan.makespan * (1 + 1e-12)
        kept += found is plan.workers or (found == plan.workers).all()
    assert 0 < kept < 50


def test_neighbours_are_dealt_together():
    """Equal shares go to the nodes in stretches."""
    times = np.ones(12)
    plan = make_plan(times, times / 2, cpus=4, gpus=2)
    found = assign_nodes(plan, [times] * 4 + [times / 2] * 2)
    for node in range(6):
        mine = np.flatnonzero(found == node)
        others = np.flatnonzero((found < 4) == (node < 4))
        stretch = np.searchsorted(others, mine)
        assert stretch[-1] - stretch[0] == len(mine) - 1


# A node's rates.


def test_the_speeds_of_a_nodes_workers_add_up():
    """Equal workers are so many times as fast in everything but the width."""
    node = combine_rates([CORE] * 4)
    assert node.cell_seconds == pytest.approx(CORE.cell_seconds / 4)
    assert node.startup == pytest.approx(CORE.startup / 4)
    assert node.layout == pytest.approx(CORE.layout / 4)
    assert node.width == CORE.width


def test_a_fast_worker_counts_most():
    """Next to a card, cores change little."""
    node = combine_rates([CORE, CARD])
    assert 1 / node.cell_seconds == pytest.approx(1 / CORE.cell_seconds + 1 / CARD.cell_seconds)
    assert node.layout == pytest.approx(CARD.layout, rel=0.05)
    assert node.width == CARD.width
