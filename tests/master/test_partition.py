"""How a search is divided: everything once, near the bound, and range by range."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np
import pytest
from support.target_lengths import TargetLengths, draw_lengths

from swdual import registry
from swdual.errors import InputError
from swdual.lanes.pack import INTRA_SEQUENCE_COST
from swdual.master import partition, ranges
from swdual.master.cost import CostModel
from swdual.master.partition import MAX_TASKS, PartitionInput, partition_tasks
from swdual.master.ranges import EDGE, SMALL_EDGE, compute_columns
from swdual.planning.planner import PACKAGE

pytestmark = pytest.mark.sample("values")

PLANNERS = registry.available(PACKAGE)

CPU = CostModel(2e-5, 1e-9, 1e-9 / np.array([0.4, 1, 3.0, 6, 8, 9, 9, 9, 9]), 64)
SLOW = CostModel(2e-5, 1e-9, 1e-9 / np.array([0.1, 0.4, 1.0, 2, 3, 3, 3, 3, 3]), 32)
GPU = CostModel(1e-4, 2e-10, 1e-9 / np.array([3.0, 7, 20.0, 60, 100, 130, 150, 150, 150]), 512)
CREWS = {
    "one": [CPU],
    "cpus": [CPU] * 8,
    "two": [CPU, GPU],
    "eight": [CPU] * 6 + [GPU] * 2,
    "24": [CPU] * 20 + [GPU] * 4,
}


@pytest.fixture(scope="module")
def large():
    return TargetLengths(draw_lengths(2_000_000))


@pytest.fixture(scope="module")
def swiss():
    """Of the size of Swiss-Prot."""
    return TargetLengths(draw_lengths(570_000))


@pytest.fixture(scope="module")
def small():
    return TargetLengths(draw_lengths(3000), draw_lengths(1500, 4))


def kinds(pool):
    return ["gpu" if rates is GPU else "cpu" for rates in pool]


def divided(lengths, database, pool, planner="dual", frame_count=1, failed_workers=()):
    given = PartitionInput(lengths, database, kinds(pool), pool, planner, frame_count)
    return partition_tasks(given, failed_workers=failed_workers)


def check(found, lengths, database, pool, frame_count=1, only=None):
    """Every query meets every target once, on a worker that exists, in the time that it needs."""
    counts = [np.zeros((len(lengths), block.sequences), int) for block in database.manifest.blocks]
    for query, place in found.task_ids:
        block, first, last, *_ = found.ranges[place]
        counts[block][query, first:last] += 1
    assert all((count == 1).all() for count in counts)
    assert found.cells.sum() == sum(lengths) * database.residues * frame_count
    assert found.seconds.shape == (len(pool), len(found.task_ids))
    able = np.array([only in (None, kind) for kind in kinds(pool)])
    assert (np.isfinite(found.seconds[able]) & (found.seconds[able] > 0)).all()
    assert (found.seconds[~able] == np.inf).all()
    queued = np.concatenate(found.plan.queues)
    assert sorted(queued.tolist()) == list(range(len(found.task_ids)))
    for worker, queue in enumerate(found.plan.queues):
        took = (found.plan.ends - found.plan.starts)[queue]
        assert took == pytest.approx(found.seconds[worker, queue], rel=0.2)


def accepts(planner, pool):
    return planner not in ("cpu_only", "gpu_only") or planner.partition("_")[0] in kinds(pool)


# What comes out.


@pytest.mark.parametrize("pool", CREWS)
@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("enough", [0, 1.005])
def test_everything_is_done_once_by_any_planner(monkeypatch, small, planner, pool, enough):
    """Coarse or fine, on one or two kinds of workers; a planner for one kind uses that only."""
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 20_000)
    monkeypatch.setattr(partition, "GOOD_ENOUGH", enough)
    lengths, pool = [300, 40, 5000], CREWS[pool]
    if not accepts(planner, pool):
        with pytest.raises(InputError, match=planner):
            divided(lengths, small, pool, planner)
        return
    found = divided(lengths, small, pool, planner)
    only = planner.partition("_")[0] if planner in ("cpu_only", "gpu_only") else None
    check(found, lengths, small, pool, only=only)
    assert only is None or {kinds(pool)[worker] for worker in found.plan.workers} == {only}
    assert found.plan.on_demand == (planner == "self_scheduling")


def test_both_strands_are_twice_the_work(small):
    """In cells, and but for the layout in seconds."""
    one, both = (
        divided([300, 400], small, [CPU], frame_count=frame_count) for frame_count in (1, 2)
    )
    check(both, [300, 400], small, [CPU], 2)
    assert (both.cells == 2 * one.cells).all()
    assert both.seconds == pytest.approx(2 * one.seconds, rel=0.05)


def test_seconds_are_those_of_the_rates(small):
    """A row for each worker, in their order; workers alike have rows alike."""
    pool = [CPU, SLOW, CPU, GPU]
    found = divided([300, 5000], small, pool)
    assert (found.seconds[0] == found.seconds[2]).all()
    for worker, rates in enumerate(pool):
        for number, (query, place) in enumerate(found.task_ids):
            each = found.ranges[place]
            columns = compute_columns(small, each, rates.width)
            expected = float(rates.seconds([300, 5000][query], columns))
            layout = each.residues * rates.layout
            assert expected <= found.seconds[worker, number] * (1 + 1e-9)
            assert found.seconds[worker, number] <= (expected + layout) * (1 + 1e-9)


def test_one_worker_gets_whole_blocks(small, large):
    """There is nobody to share with."""
    assert len(divided([300], large, [CPU]).ranges) == 1
    assert len(divided([300] * 5, small, [GPU]).ranges) == 2


def test_few_targets_cost_more_than_their_residues():
    """Lanes without a target idle, or targets are scored one by one, which is dearer."""
    titin = TargetLengths([35_213] * 10)
    found = divided([1000], titin, [CPU, GPU])
    assert len(found.task_ids) == 1
    for worker, rates in enumerate((CPU, GPU)):
        columns = INTRA_SEQUENCE_COST * 352_130 + min(EDGE * rates.width, 352_130 / SMALL_EDGE)
        layout = 352_130 * rates.layout
        assert found.overhead[worker, 0] == pytest.approx(rates.startup + layout)
        assert found.seconds[worker, 0] == pytest.approx(
            float(rates.seconds(1000, columns)) + layout
        )
    device_mix = divided([1000], TargetLengths([300] * 100_000), [CPU])
    layout = 30_000_000 * CPU.layout
    assert device_mix.seconds[0, 0] == pytest.approx(
        float(CPU.seconds(1000, 30_000_000 + 64 * EDGE)) + layout
    )


# Near the bound.


@pytest.mark.parametrize("pool", ["cpus", "two", "eight", "24"])
def test_one_query_is_shared_by_all_workers(large, pool):
    """The predicted makespan is within 2 % of the lower bound: the load is even."""
    found = divided([300], large, CREWS[pool])
    assert found.plan.makespan <= 1.02 * found.plan.lower_bound
    assert found.plan.makespan <= 1.02 * found.divisible
    assert len(found.task_ids) <= MAX_TASKS


@pytest.mark.parametrize("pool", ["cpus", "two", "eight", "24"])
@pytest.mark.parametrize(
    "lengths",
    [
        [400] * 40,
        np.geomspace(4, 35_213, 40).astype(int).tolist(),
        np.random.default_rng(5).integers(50, 1500, 2000).tolist(),
        [*[300] * 99, 35_213],
        [*[350] * 511, 35_213],
    ],
    ids=["homogeneous", "heterogeneous", "many", "a giant", "a giant among many"],
)
def test_many_queries_are_shared_by_all_workers(swiss, pool, lengths):
    """Alike, of all lengths, or two thousand: within 2 % even of tasks that were cut at will."""
    found = divided(lengths, swiss, CREWS[pool])
    assert found.plan.makespan <= 1.02 * found.plan.lower_bound
    assert found.plan.makespan <= 1.02 * found.divisible
    loads = [found.seconds[k, queue].sum() for k, queue in enumerate(found.plan.queues)]
    assert max(loads) == pytest.approx(found.plan.makespan, rel=1e-6)


def test_absent_workers_get_nothing(swiss):
    """The others have all, with their own numbers; nothing can be taken over by the absent."""
    everybody = divided([400] * 40, swiss, CREWS["eight"])
    failed_workers = {0, 3}
    found = divided([400] * 40, swiss, CREWS["eight"], failed_workers=failed_workers)
    assert found.plan.kinds == everybody.plan.kinds
    assert not set(found.plan.workers.tolist()) & failed_workers
    assert np.isinf(found.seconds[[0, 3]]).all()
    assert found.plan.makespan > everybody.plan.makespan


def test_workers_of_one_kind_may_differ_in_speed(swiss):
    """Three fast CPUs and five slow ones: each gets work by its speed."""
    pool = [CPU] * 3 + [SLOW] * 5
    found = divided([400] * 40, swiss, pool)
    loads = [found.seconds[k, queue].sum() for k, queue in enumerate(found.plan.queues)]
    assert max(loads) <= 1.03 * np.mean(loads)
    assert found.plan.makespan <= 1.02 * found.plan.lower_bound


@pytest.mark.parametrize("count", [1, 2, 40, 512])
def test_tasks_are_bounded(monkeypatch, swiss, count):
    """However fine the division that would be best."""
    monkeypatch.setattr(partition, "GOOD_ENOUGH", 0)
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 100)
    lengths = np.random.default_rng(6).integers(50, 1500, count).tolist()
    found = divided(lengths, swiss, CREWS["24"])
    assert len(found.task_ids) <= MAX_TASKS


# Range by range.


@pytest.mark.parametrize("planner", [name for name in PLANNERS if name != "self_scheduling"])
def test_workers_go_range_by_range(monkeypatch, small, planner):
    """No range is visited twice, loads and makespan are what the planner gave, without gaps."""
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 20_000)
    pool = CREWS["eight"]
    plans = []
    monkeypatch.setattr(
        partition, "plan_instance", lambda *x, **y: plans.append(make(*x, **y)) or plans[-1]
    )
    found = divided([300, 40, 5000, 80, 81], small, pool, planner)
    before = next(plan for plan in plans if len(plan.workers) == len(found.task_ids))
    assert (found.plan.workers == before.workers).all()
    assert found.plan.busy == pytest.approx(before.busy)
    assert found.plan.makespan == pytest.approx(before.makespan, rel=1e-9)
    for queue in found.plan.queues:
        places = [place for place, _ in groupby(found.task_ids[k].range_number for k in queue)]
        assert len(places) == len(set(places))
        assert found.plan.starts[queue][1:] == pytest.approx(found.plan.ends[queue][:-1])
        assert (found.plan.starts[queue][:1] == 0).all()


@pytest.mark.parametrize("pool", [[GPU], [GPU] * 2])
def test_gpus_that_hold_all_targets_complete_some_queries_before_others(swiss, large, pool):
    """Groups of queries, the last of two; within a group range by range. Not with many ranges."""
    lengths = np.random.default_rng(5).integers(50, 900, 20).tolist()
    given = PartitionInput(lengths, swiss, kinds(pool), pool, "dual", resident=True)
    found, usual = partition_tasks(given), partition_tasks(replace(given, resident=False))
    check(found, lengths, swiss, pool)
    assert (found.plan.workers == usual.plan.workers).all()
    assert found.plan.makespan == pytest.approx(usual.plan.makespan)
    groups = partition.group_queries(20, resident=True)
    assert np.bincount(groups).tolist() == [2, 4, 6, 4, 2, 2]
    for queue in found.plan.queues:
        order = [groups[found.task_ids[k].query] for k in queue]
        assert order == sorted(order)
        visits = [(groups[x.query], x.range_number) for x in (found.task_ids[k] for k in queue)]
        distinct = [visit for visit, _ in groupby(visits)]
        assert len(distinct) == len(set(distinct)) > len(found.ranges)
        assert found.plan.starts[queue][1:] == pytest.approx(found.plan.ends[queue][:-1])
    many = replace(given, database=large)
    found, usual = partition_tasks(many), partition_tasks(replace(many, resident=False))
    assert (len(found.ranges) > partition.MAX_GROUPED_RANGES) == same_order(found, usual)


def same_order(found, other):
    pairs = zip(found.plan.queues, other.plan.queues, strict=True)
    return all(a.tolist() == b.tolist() for a, b in pairs)


@pytest.mark.parametrize("resident", [True, False])
@pytest.mark.parametrize("count", [*range(40), 512])
def test_groups_of_queries_are_even_and_cover_all(count, resident):
    """The first are small, and none is more than four times as large as the one before."""
    for last in {0, count // 4}:
        sizes = np.bincount(partition.group_queries(count, last, resident=resident)).tolist()
        assert sum(sizes) == count
        grown = sizes[:-1] if last else sizes
        assert all(size % 2 == 0 for size in grown[:-1])
        assert sizes[:1] <= [2 if resident else 8]
        assert all(b <= (2 if resident else 4) * a for a, b in pairwise(grown))
        assert not resident or max(grown, default=0) <= partition.MAX_GROUP
        assert last == 0 or sizes[-1] == last
        assert last or not resident or count < 3 or sizes[-1] <= 2


@pytest.mark.parametrize("resident", [True, False])
@pytest.mark.parametrize("pool", [[CPU], [CPU] * 2, [CPU] * 8])
def test_the_first_queries_are_planned_before_all_others(swiss, pool, resident):
    """By every worker; what several CPUs do last is the shortest of the last queries."""
    lengths = np.random.default_rng(6).integers(50, 900, 400).tolist()
    given = PartitionInput(lengths, swiss, kinds(pool), pool, "dual", resident=resident)
    found = partition_tasks(given)
    check(found, lengths, swiss, pool)
    first = 2 if resident else 8
    for queue in found.plan.queues:
        queries = [found.task_ids[k].query for k in queue]
        early = [query < first for query in queries]
        assert early == sorted(early, reverse=True)
        tail = [lengths[query] for query in queries[-2:]]
        assert len(pool) == 1 or tail == sorted(tail, reverse=True)


make = partition.plan_instance


def test_workers_begin_at_different_ranges(swiss):
    """So that they do not all wait for the first to be laid out."""
    found = divided([400] * 8, swiss, [CPU] * 4)
    assert len(found.ranges) >= 4
    firsts = [found.task_ids[queue[0]].range_number for queue in found.plan.queues]
    assert len(set(firsts)) == 4


# One worker.


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("lengths", [[], [300], [40, 1000, 300]])
def test_one_worker_has_the_plan_of_the_planner(monkeypatch, small, kind, lengths):
    """The same tasks in the same order at the same times, without asking the planner."""
    given = PartitionInput(lengths, small, [kind], [CPU], "dual")
    found = partition_tasks(given, max_range_cost=50_000)
    monkeypatch.setattr(partition, "DUAL", "")
    same = partition_tasks(given, max_range_cost=50_000)
    assert len(found.ranges) > 10
    assert (found.ranges, found.task_ids) == (same.ranges, same.task_ids)
    assert found.cells.tolist() == same.cells.tolist()
    assert found.seconds.tolist() == same.seconds.tolist()
    assert found.divisible == pytest.approx(same.divisible)
    assert (found.plan.planner, found.plan.kinds) == (same.plan.planner, same.plan.kinds)
    assert found.plan.queues[0].tolist() == same.plan.queues[0].tolist()
    assert found.plan.starts == pytest.approx(same.plan.starts)
    assert found.plan.ends == pytest.approx(same.plan.ends)
    assert found.plan.lower_bound == found.plan.makespan == pytest.approx(same.plan.makespan)


def test_one_worker_loads_no_planner():
    """What a search by one worker imports until it is planned."""
    code = (
        "import sys, numpy as np\n"
        "from swdual.database.database import Database\n"
        "from swdual.master.cost import CostModel\n"
        "from swdual.master.partition import PartitionInput, partition_tasks\n"
        "from swdual.sequences.alphabet import PROTEIN\n"
        "from swdual.sequences.sequence import Sequence, batch_of\n"
        "batch = batch_of([Sequence('t', bytes(9))])\n"
        "database = Database.from_batches([batch], PROTEIN, 'none')\n"
        "given = PartitionInput([9], database, ['cpu'], [CostModel.from_dict(1)], 'dual')\n"
        "found = partition_tasks(given)\n"
        "assert found.plan.makespan > 0\n"
        "unwanted = 'swdual.planners.', 'swdual.planning.instance'\n"
        "loaded = [x for x in sys.modules if x.startswith(unwanted)]\n"
        "print(*loaded)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
