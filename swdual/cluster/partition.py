"""Partitions a search among the nodes of a cluster: into shares, each worth a message.

A share is a group of queries against a range of the targets; the node that gets it divides it
among its own workers. It works with numbers only and knows no machines.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from swdual.cluster.grouping import Share, find_pending, group_queries
from swdual.cluster.placement import assign_nodes
from swdual.database.target_range import Range, TargetLengths
from swdual.master.cost import CostModel
from swdual.master.partition import Division, PartitionInput, instance_of, search_finer
from swdual.master.ranges import compute_columns, cut
from swdual.planning.instance import divisible_bound
from swdual.planning.planner import Plan, list_able, plan_instance

SHARE_SECONDS = 0.01
"""Seconds of a share besides its tasks: its message to the node and the result back."""

SHARES_PER_NODE = 32
"""Shares per node, so that no node waits long for one that is slower than predicted."""

MIN_SHARE_SECONDS, MAX_SHARE_SECONDS = 0.5, 10.0
"""Bounds of the mean share's seconds; single shares take a fifth to twice as many."""

SLOW = 0.25
"""Speed of a node, relative to the mean, below which its shares may take longer."""

MAX_SHARES = 50_000
"""Max shares of a search: each takes the client about a millisecond."""


@dataclass(frozen=True, eq=False)
class ClusterPartition(Division):
    """The shares of a search, and the plan for the nodes; targets are cut block by block.

    Parameters
    ----------
    groups
        The numbers of the queries of each group, longest first.
    shares
        Range by range, and in each from the large to the small.
    seconds
        (shares,) for each node what it needs for each share; equal nodes have the same array.
    """

    groups: list[NDArray[np.int64]]
    shares: list[Share]
    seconds: list[NDArray[np.float64]]

    @property
    def fineness(self) -> int:
        """Number of the shares."""
        return len(self.shares)


def partition_search(
    given: PartitionInput,
    *,
    ranges: list[Range] | None = None,
    done: Collection[tuple[int, int]] = (),
) -> ClusterPartition:
    """Return a partition with a short predicted makespan, and few blocks for each node.

    Parameters
    ----------
    given
        The queries, the targets, and the nodes. The kind of a node is "gpu" if it has one, else
        "cpu"; its rates are those of `combine_rates`.
    ranges
        How the targets are cut already.
    done
        Queries and numbers of such ranges that need not be compared again.
    """
    costs = _Costs(given)
    database, query_count = given.database, len(given.lengths)

    if ranges is None:
        part = 1.0
        if given.pairs.selects:
            compared = given.pairs.count_all_residues(query_count, database)
            all_cells = max(1.0, float(costs.lengths.sum()) * database.residues)
            part = float(costs.lengths @ compared) / all_cells

        def attempt(wanted: float) -> ClusterPartition:
            parts = max(1, math.ceil(wanted / max(1, query_count)))
            ranges = cut(database, parts, shares=len(given.kinds), width=given.width)
            left = find_pending(given.count_residues(ranges))
            return _plan_shares(given, costs, ranges, left, wanted)

    else:
        compared = given.count_residues(ranges)
        left = find_pending(compared, done)
        pending = float(costs.lengths @ (compared * left.T).sum(axis=1))
        part = pending / max(1.0, float(costs.lengths.sum()) * database.residues)

        def attempt(wanted: float) -> ClusterPartition:
            return _plan_shares(given, costs, ranges, left, wanted)

    return search_finer(attempt, costs.shares_worth(part * database.residues), MAX_SHARES)


class _Costs:
    """What shares cost the nodes."""

    def __init__(self, given: PartitionInput) -> None:
        self.lengths = np.asarray(given.lengths, np.int64)
        self.frame_count = given.frame_count
        self.rates = given.rates
        self._able = list_able(given.planner, given.kinds)
        self._distinct = {id(each): each for each in given.rates}
        self._column = {
            key: each.seconds(self.lengths, 1.0) - each.startup
            for key, each in self._distinct.items()
        }

    def shares_worth(self, residues: float) -> float:
        """Return how many shares so many residues should be: neither too short nor too long."""
        node_seconds = [
            self.frame_count * residues * float(self._column[id(rates)].sum())
            for rates, able in zip(self.rates, self._able, strict=True)
            if able
        ]
        speed = sum(1 / seconds for seconds in node_seconds if seconds)
        if not speed:
            return 1.0
        total = len(node_seconds) / speed
        max_seconds = MAX_SHARE_SECONDS * max(total / max(node_seconds), SLOW)
        mean = min(max(1 / speed / SHARES_PER_NODE, MIN_SHARE_SECONDS), max_seconds)
        return min(max(total / mean, 1.0), MAX_SHARES)

    def of_queries(self, residues: float) -> NDArray[np.float64]:
        """Return what each query against so many residues costs the first node that may do it."""
        rates = self.rates[list(self._able).index(True)]
        return rates.startup + residues * self._column[id(rates)]

    def of_shares(
        self,
        database: TargetLengths,
        ranges: Sequence[Range],
        groups: Sequence[NDArray[np.int64]],
        shares: Sequence[Share],
        parts: NDArray[np.float64],
    ) -> list[NDArray[np.float64]]:
        """Return for each node what it needs for each share.

        A share takes the part `parts` of the time of its queries against its whole range.
        """
        numbers = np.array(shares, np.int64).reshape(-1, 2)
        counts = np.array([len(group) for group in groups])
        columns = {
            width: np.array([compute_columns(database, each, width) for each in ranges])
            for width in {each.width for each in self._distinct.values()}
        }
        rows = {}
        for key, rates in self._distinct.items():
            cells = np.array([self._column[key][group].sum() for group in groups])
            group, range_number = numbers.T
            rows[key] = (
                SHARE_SECONDS
                + self.frame_count * counts[group] * rates.startup
                + parts
                * columns[rates.width][range_number]
                * (rates.layout + self.frame_count * cells[group])
            )
        never = np.full(len(shares), np.inf)
        return [
            rows[id(rates)] if able else never
            for rates, able in zip(self.rates, self._able, strict=True)
        ]


def _plan_shares(
    given: PartitionInput,
    costs: _Costs,
    ranges: list[Range],
    left: NDArray[np.bool_],
    wanted: float,
) -> ClusterPartition:
    """Return the partition into about so many shares."""
    kinds = given.kinds
    mean = given.database.residues / max(1, len(ranges))
    order = np.argsort(-costs.lengths, kind="stable")
    groups, shares = group_queries(costs.of_queries(mean), order, ranges, left, wanted)
    group, range_number = np.array(shares, np.int64).reshape(-1, 2).T
    residues = np.array([each.residues for each in ranges], np.int64)
    query_residues = np.array([costs.lengths[each].sum() for each in groups], np.int64)
    whole = np.maximum(query_residues[group] * residues[range_number], 1)
    cells = whole
    if given.pairs.selects:
        compared = given.count_residues(ranges)
        cells = np.array(
            [
                costs.lengths[groups[share.group]]
                @ compared[groups[share.group], share.range_number]
                for share in shares
            ],
            np.int64,
        )
    seconds = costs.of_shares(given.database, ranges, groups, shares, cells / whole)
    cells = costs.frame_count * cells
    instance = instance_of(seconds, kinds)
    plan = plan_instance(instance, given.planner)
    # The planner numbers CPUs before GPUs.
    order = np.argsort([kind == "gpu" for kind in kinds], kind="stable")
    plan = replace(plan, kinds=tuple(kinds), workers=order[plan.workers])
    if not plan.on_demand:
        plan = replace(plan, workers=assign_nodes(plan, seconds))
        plan = _order_by_range(plan, seconds, range_number, cells)
    return ClusterPartition(ranges, cells, plan, divisible_bound(instance), groups, shares, seconds)


def _order_by_range(
    plan: Plan,
    seconds: Sequence[NDArray[np.float64]],
    range_numbers: NDArray[np.int64],
    cells: NDArray[np.int64],
) -> Plan:
    """Return the plan with each node's shares ordered by range, from the large to the small.

    The range that has the node's smallest share comes last: small ones even out what was uneven.
    """
    starts, ends = plan.starts.copy(), plan.ends.copy()
    for node, queue in enumerate(plan.queues):
        found, inverse = np.unique(range_numbers[queue], return_inverse=True)
        smallest = np.full(len(found), np.iinfo(np.int64).max)
        np.minimum.at(smallest, inverse, cells[queue])
        ordered = queue[np.lexsort((-cells[queue], inverse, -smallest[inverse]))]
        until = np.cumsum(seconds[node][ordered])
        starts[ordered], ends[ordered] = np.append(0.0, until)[:-1], until
    makespan = float(ends.max(initial=0.0))
    return replace(plan, starts=starts, ends=ends, lower_bound=min(plan.lower_bound, makespan))


def combine_rates(rates: Sequence[CostModel]) -> CostModel:
    """Return what tasks cost a node whose workers, with these rates, share each of them.

    >>> round(1e-9 / combine_rates([CostModel.from_dict(40.0)] * 64).cell_seconds[0])
    2560
    """
    speeds = np.array([1 / each.cell_seconds for each in rates])
    total = speeds.sum(axis=0)
    parts = (speeds / total).mean(axis=1)
    # Each worker lays out the part that it computes, beside the others.
    return CostModel(
        startup=float(parts @ [each.startup for each in rates]) / len(rates),
        layout=float(parts**2 @ [each.layout for each in rates]),
        calibrated=1 / total,
        width=max(each.width for each in rates),
    )
