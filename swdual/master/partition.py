"""Partitions a search into tasks, and plans them for the workers of this machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from swdual.database.target_range import Range, TargetLengths
from swdual.master.cost import KNOTS, CostModel, interpolate_columns
from swdual.master.ranges import TaskId, compute_columns, cut, list_task_ids
from swdual.planning.planner import Plan, list_able, plan_instance
from swdual.request.pairs import ALL_TARGETS, AllTargets

if TYPE_CHECKING:
    from swdual.planning.instance import Instance

GOOD_ENOUGH = 1.005
"""A makespan within this factor of the lower bound is not improved further.

Finer partitions are tried only while each shortens it by at least this factor.
"""

TASKS_PER_WORKER = 24
"""Tasks beyond which nobody waits long for another who turns out slower than predicted."""

UNSURE = 0.2
"""Part of its predicted time by which a task may take longer."""

PATIENCE = 2
"""Number of finer partitions without gain after which the search for better ones ends."""

FIRST_GROUP, FIRST_STREAMED_GROUP = 2, 8
"""Queries that are scored against all ranges before any other: so few that results come at once.

GPUs score two queries together, those of similar length. The second number is that of workers that
copy or lay out each range again for each group.
"""

MAX_GROUP, MAX_GROUPED_RANGES = 8, 16
"""Max queries of a group, and max ranges, where workers hold all targets.

With more ranges, scores take so much longer than alignments that these may begin late.
"""

MAX_TASKS = 20_000
"""Max tasks of a batch."""

DUAL = "dual"
"""The default planner. Its plan for a single worker is known: all tasks, one after the other."""


@dataclass(frozen=True, eq=False)
class PartitionInput:
    """What is to be partitioned, and the workers or nodes that share it.

    Parameters
    ----------
    lengths
        Residues of each query; of the longest frame, if it has several.
    database
        The targets.
    kinds, rates
        Of each worker or node: "cpu" or "gpu", and what tasks cost it.
    planner
        Name of the planner.
    frame_count
        Frames of each query that are compared.
    pairs
        The targets that each query is compared with.
    resident
        Whether all workers hold all targets, so that the order of ranges costs nothing.
    """

    lengths: Sequence[int]
    database: TargetLengths
    kinds: Sequence[str]
    rates: Sequence[CostModel]
    planner: str
    frame_count: int = 1
    pairs: AllTargets = ALL_TARGETS
    resident: bool = False

    @property
    def width(self) -> int:
        """Targets that the widest of the workers computes side by side."""
        return max(each.width for each in self.rates)

    def count_residues(self, ranges: Sequence[Range]) -> NDArray[np.int64]:
        """Return (queries, ranges) the residues that each query is compared with in each range."""
        return self.pairs.count_residues(len(self.lengths), self.database, ranges)

    def select_workers(self, numbers: Sequence[int]) -> PartitionInput:
        """Return the same for the workers with these numbers only."""
        kinds = [self.kinds[number] for number in numbers]
        return replace(self, kinds=kinds, rates=[self.rates[number] for number in numbers])


@dataclass(frozen=True, eq=False)
class Division:
    """How a search is divided, and the plan for that.

    Parameters
    ----------
    ranges
        How the targets are cut.
    cells
        (pieces,) size of each piece of work.
    plan
        Who does which piece, and when.
    divisible
        Lower bound on the makespan: that of pieces that could be cut at will.
    """

    ranges: list[Range]
    cells: NDArray[np.int64]
    plan: Plan
    divisible: float

    @property
    def fineness(self) -> int:
        """What grows if it is cut further."""
        return len(self.ranges)


@dataclass(frozen=True, eq=False)
class Partition(Division):
    """The tasks of a batch, and the plan for the workers.

    Parameters
    ----------
    task_ids
        The query and the range of each task.
    seconds, overhead
        (workers, tasks) predicted seconds, and the part of them that does not depend on cells.
    """

    task_ids: list[TaskId]
    seconds: NDArray[np.float64]
    overhead: NDArray[np.float64]


def partition_tasks(
    given: PartitionInput,
    *,
    failed_workers: Collection[int] = (),
    ranges: list[Range] | None = None,
    done: Collection[TaskId] = (),
    max_range_cost: int | None = None,
    max_tasks: int = MAX_TASKS,
    within: Range | None = None,
) -> Partition:
    """Return the partition with the shortest predicted makespan, among ever finer ones.

    Parameters
    ----------
    given
        The queries, the targets, and the workers of this machine, CPUs first.
    failed_workers
        Numbers of the workers that get nothing to do.
    ranges
        How the targets are cut already.
    done
        Tasks of these ranges that need not be done again.
    max_range_cost
        What a range weighs at most: see `cut`.
    max_tasks
        Tasks beyond which a search is not cut further.
    within
        The targets to divide, if not all.
    """
    kinds = given.kinds
    present = [number for number in range(len(kinds)) if number not in failed_workers]
    able = given.select_workers(present)
    if ranges is not None:
        return _add_failed_workers(_plan_ranges(able, ranges, done), present, kinds)

    def attempt(parts: int) -> Partition:
        ranges = cut(
            able.database,
            parts,
            shares=len(present),
            width=able.width,
            max_range_cost=max_range_cost,
            within=within,
        )
        return _plan_ranges(able, ranges)

    best = _best(attempt, len(given.lengths), len(present), max_tasks)
    return _add_failed_workers(best, present, kinds)


Found = TypeVar("Found", bound=Division)
Number = TypeVar("Number", int, float)


def search_finer(
    attempt: Callable[[Number], Found],
    parts: Number,
    max_parts: float,
    price: Callable[[Found], float] = lambda found: found.plan.makespan,
) -> Found:
    """Return the best of ever finer partitions, each into about twice the parts of the last.

    Parameters
    ----------
    attempt
        Returns the partition into about so many parts.
    parts, max_parts
        Those of the first partition, and beyond which nothing is cut further.
    price
        Seconds by which partitions are compared.
    """
    best = last = attempt(parts)
    least, in_vain = price(best), 0
    while least > GOOD_ENOUGH * best.divisible and in_vain < PATIENCE:
        parts *= 2
        if parts > max_parts:
            break
        finer = attempt(parts)
        if finer.fineness == last.fineness:
            break
        seconds, last = price(finer), finer
        in_vain = 0 if seconds * GOOD_ENOUGH < least else in_vain + 1
        if seconds < least:
            best, least = finer, seconds
    return best


def _best(
    attempt: Callable[[int], Partition], queries: int, workers: int, max_tasks: int
) -> Partition:
    """Return the best of ever finer partitions, or of coarser ones."""
    if workers == 1 or not queries:
        return attempt(1)
    parts = -(-TASKS_PER_WORKER * workers // queries)
    best = search_finer(
        attempt, parts, max_tasks / queries, lambda found: _estimate_makespan(found, queries)
    )
    least = _estimate_makespan(best, queries)
    while parts > 1:
        parts //= 2
        coarser = attempt(parts)
        price = _estimate_makespan(coarser, queries)
        if price >= least:
            break
        best, least = coarser, price
    return best


def _add_failed_workers(
    partition: Partition, present: list[int], kinds: Sequence[str]
) -> Partition:
    """Return the partition with the failed workers in it, who can do nothing."""
    seconds = np.full((len(kinds), len(partition.task_ids)), np.inf)
    seconds[present] = partition.seconds
    overhead = np.zeros(seconds.shape)
    overhead[present] = partition.overhead
    workers = np.array(present, np.int64)[partition.plan.workers]
    plan = replace(partition.plan, kinds=tuple(kinds), workers=workers)
    return replace(partition, seconds=seconds, overhead=overhead, plan=plan)


def _estimate_makespan(partition: Partition, queries: int) -> float:
    """Return the predicted makespan, and how much later the longest task may make it.

    The ranges of a single query are large first and small last, which evens errors out.
    """
    plan = partition.plan
    longest = float((plan.ends - plan.starts).max(initial=0.0))
    return plan.makespan + (UNSURE * longest if queries > 1 else 0.0)


def _plan_ranges(
    given: PartitionInput, ranges: list[Range], done: Collection[TaskId] = ()
) -> Partition:
    """Return the partition into every query against each of these ranges, without what is done.

    Where a query is compared with a part of a range, its time is taken to be that part of the
    whole range's.
    """
    lengths, kinds, frame_count = given.lengths, given.kinds, given.frame_count
    compared = given.count_residues(ranges)
    task_ids = [
        task_id
        for task_id in list_task_ids(lengths, ranges)
        if task_id not in done and compared[task_id]
    ]
    queries, range_numbers = (
        np.array(column, np.int64).reshape(-1) for column in _columns(task_ids)
    )
    residues = np.array([each.residues for each in ranges])
    task_residues = compared[queries, range_numbers]
    parts = task_residues / residues[range_numbers]
    query_lengths = np.asarray(lengths, np.int64)[queries]
    distinct = {id(each): each for each in given.rates}
    share = min(1.0, len(distinct) / max(1, len(lengths) * frame_count))
    unlike, which = np.unique(query_lengths, return_inverse=True)
    rows, overheads = {}, {}
    for key, model in distinct.items():
        columns = [
            compute_columns(given.database, each, model.width, model.sparse) for each in ranges
        ]
        here = (
            parts
            * interpolate_columns(unlike, np.array(columns).reshape(-1, len(KNOTS)))[
                which, range_numbers
            ]
        )
        overheads[key] = frame_count * model.overhead(task_residues, share)
        rows[key] = overheads[key] + frame_count * model.cells_time(query_lengths, here)
    seconds = np.array([rows[id(each)] for each in given.rates])
    overhead = np.array([overheads[id(each)] for each in given.rates])
    cells = query_lengths * task_residues * frame_count
    resident = given.resident and len(ranges) <= MAX_GROUPED_RANGES
    even = 0  # CPUs align what they have scored: the last queries even out what is left to each
    if "gpu" not in kinds:
        even = min(len(lengths) // 4, TASKS_PER_WORKER * (len(kinds) - 1) // len(ranges))
    groups = group_queries(len(lengths), even, resident=resident)[queries]
    if len(kinds) == 1 and given.planner == DUAL:
        plan = _plan_one_worker(seconds[0], kinds[0], groups, range_numbers, residues)
        return Partition(ranges, cells, plan, plan.lower_bound, task_ids, seconds, overhead)
    from swdual.planning.instance import divisible_bound

    idle = np.logical_not(list_able(given.planner, kinds))
    seconds[idle] = np.inf  # these take nothing over either
    instance = instance_of(seconds, kinds)
    plan = plan_instance(instance, given.planner)
    if not plan.on_demand:
        plan = _order_by_range(plan, groups, range_numbers, residues)
    return Partition(ranges, cells, plan, divisible_bound(instance), task_ids, seconds, overhead)


def _plan_one_worker(
    seconds: NDArray[np.float64],
    kind: str,
    groups: NDArray[np.int64],
    range_numbers: NDArray[np.int64],
    residues: NDArray[np.int64],
) -> Plan:
    """Return the plan of a worker that does all tasks by itself: no planner is needed for it.

    Parameters
    ----------
    seconds, groups, range_numbers
        (tasks,) how long each takes, and the numbers of its group of queries and of its range.
    kind
        Of the worker.
    residues
        (ranges,) of each range.
    """
    ends = np.cumsum(seconds)
    workers = np.zeros(len(seconds), np.int64)
    plan = Plan(DUAL, (kind,), workers, ends - seconds, ends, 0.0)
    plan = _order_by_range(plan, groups, range_numbers, residues)
    return replace(plan, lower_bound=plan.makespan)


def instance_of(
    seconds: NDArray[np.float64] | Sequence[NDArray[np.float64]], kinds: Sequence[str]
) -> Instance:
    """Return the tasks and workers to plan for, where all workers may differ.

    A worker's speed is what all tasks would take the first able one of its kind, over what they
    would take itself: where workers of one kind differ otherwise than by a factor, this and all
    that follows from it is an approximation.

    Parameters
    ----------
    seconds
        (workers, tasks) how long each task takes each worker; infinite if it cannot run there.
    kinds
        (workers,) "cpu" or "gpu".
    """
    totals = np.array([row.sum() for row in seconds])
    from swdual.planning.instance import Instance

    times, speeds = [], []
    for kind in ("cpu", "gpu"):
        mine = [k for k, other in enumerate(kinds) if other == kind]
        mine.sort(key=lambda k: not np.isfinite(totals[k]))
        times.append(seconds[mine[0]] if mine else np.full(len(seconds[0]), np.inf))
        speeds.append(
            np.array(
                [
                    totals[mine[0]] / totals[k] if 0 < totals[k] < np.inf else 1.0
                    for k in sorted(mine)
                ]
            )
        )
    return Instance(*times, *speeds)


def _columns(task_ids: list[TaskId]) -> tuple[list[int], list[int]]:
    return [task_id.query for task_id in task_ids], [task_id.range_number for task_id in task_ids]


def group_queries(count: int, even: int = 0, *, resident: bool) -> NDArray[np.int64]:
    """Return (queries,) the group of each; a group is scored before the next.

    The first groups are small, so that the first results come at once. Where workers hold all
    targets they remain small: then results follow each other, and hits are aligned while others
    are scored. Else they grow fourfold. Groups are even: GPUs score pairs.

    Parameters
    ----------
    count
        The number of queries.
    even
        How many of the last queries are one group, which begins with the longest. If that is 0,
        the last groups are small: threads beside GPUs align what GPUs have scored.
    resident
        Whether the workers hold all targets.

    >>> np.bincount(group_queries(40, 12, resident=True)).tolist()
    [2, 4, 8, 8, 6, 12]
    >>> np.bincount(group_queries(20, resident=True)).tolist()
    [2, 4, 6, 4, 2, 2]
    >>> np.bincount(group_queries(500, resident=False)).tolist()
    [8, 32, 128, 332]
    """
    sizes: list[int] = []
    left = count - even
    while left > 0:
        size = FIRST_STREAMED_GROUP << 2 * len(sizes)
        if resident:
            size = min(FIRST_GROUP << len(sizes), MAX_GROUP)
            if not even:
                size = min(size, max(FIRST_GROUP, left // 4 * 2))
        sizes.append(min(size, left))
        left -= sizes[-1]
    sizes += [even] * (even > 0)
    return np.repeat(np.arange(len(sizes)), sizes)


def _order_by_range(
    plan: Plan,
    groups: NDArray[np.int64],
    range_numbers: NDArray[np.int64],
    residues: NDArray[np.int64],
) -> Plan:
    """Return the plan with each worker's tasks ordered by group of queries.

    Within a group they are ordered by range, from the large to the small.

    Among ranges of like size workers begin at different ones, so that they do not all wait for
    the first to be laid out.
    """
    starts, ends = plan.starts.copy(), plan.ends.copy()
    smallness = -np.round(np.log2(residues))
    _, first, alike = np.unique(np.sort(smallness), return_index=True, return_counts=True)
    rank = np.argsort(np.argsort(smallness, kind="stable"))
    group = np.searchsorted(first, rank, "right") - 1
    place_in_group, group_size = rank - first[group], alike[group]
    for worker, queue in enumerate(plan.queues):
        begins = worker * group_size // len(plan.kinds)
        turned = (place_in_group - begins) % group_size
        ordered = queue[
            np.lexsort(
                (queue, turned[range_numbers[queue]], group[range_numbers[queue]], groups[queue])
            )
        ]
        durations = (plan.ends - plan.starts)[ordered]
        ends[ordered] = np.cumsum(durations)
        starts[ordered] = ends[ordered] - durations
    return replace(plan, starts=starts, ends=ends)
