"""How a search is divided among the nodes of a cluster: into shares, each worth a message.

A share is a group of queries against a range of the targets; the node that gets it divides it
among its own workers. Numbers only: which machines the nodes are is nobody's business here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual import registry
from swdual.cluster.dealing import dealt
from swdual.instance import divisible_bound
from swdual.master.cost import Rates
from swdual.master.division import GOOD_ENOUGH, PATIENCE, instance_of
from swdual.master.task import Range, Targets, columns_of, cut
from swdual.planner import PACKAGE, Plan, plan_for

SHARE_SECONDS = 0.01
"""What a share takes besides: the way to the node and back."""

SHARES_PER_NODE = 32
"""Shares of a node at which nobody waits long for another who turns out slower than predicted."""

BRIEFEST, LENGTHIEST = 0.5, 10.0
"""Seconds of a mean share between which that holds; the smallest have half, the largest 1 1/2."""

MOST_SHARES = 50_000
"""Shares beyond which a search is not cut further: each takes the client a millisecond or so."""

TAPER = 0.5
"""How much larger than the mean the largest group of queries is, how much smaller the smallest."""


SMALL = 4
"""How many times as many shares as its part of the residues allows a small range may be cut into.
"""


class Share(NamedTuple):
    """The queries of group number `group` against range number `place`."""

    group: int
    place: int


@dataclass(frozen=True, eq=False)
class Sharing:
    """The shares of a search and which node shall do them.

    Parameters
    ----------
    ranges
        How the targets are cut, block by block.
    groups
        The numbers of the queries of each group, longest first.
    shares
        Range by range, and in each from the large to the small.
    cells
        (shares,) the size of each.
    seconds
        (shares,) for each node what it needs for each share; equal nodes have the same array.
    plan
        Whose share is which, and when; its workers are the nodes.
    divisible
        Seconds that the shares would take if they could be cut at will.
    """

    ranges: list[Range]
    groups: list[NDArray[np.int64]]
    shares: list[Share]
    cells: NDArray[np.int64]
    seconds: list[NDArray[np.float64]]
    plan: Plan
    divisible: float


def share_out(
    lengths: Sequence[int],
    database: Targets,
    kinds: Sequence[str],
    rates: Sequence[Rates],
    planner: str,
    sides: int = 1,
    *,
    ranges: list[Range] | None = None,
    done: Collection[tuple[int, int]] = (),
    heaviest: int | None = None,
) -> Sharing:
    """Return a sharing with a short predicted makespan, and few blocks for each node.

    Parameters
    ----------
    lengths
        Residues of each query.
    database
        The targets.
    kinds, rates
        Of each node: "gpu" if it has one, else "cpu", and what shares cost it: see `combined`.
    planner
        Name of the planner.
    sides
        Strands to compare.
    ranges
        How the targets are cut already.
    done
        Queries and numbers of such ranges that need not be compared again.
    heaviest
        What a range weighs at most: see `cut`.
    """
    only = getattr(registry.load(PACKAGE, planner), "KIND", None)
    able = [only not in kinds or kind == only for kind in kinds]
    costs = _Costs(np.asarray(lengths, np.int64), rates, able, sides)
    width = max(each.width for each in rates)

    def attempt(wanted: float) -> Sharing:
        places = ranges
        if places is None:
            parts = max(1, math.ceil(wanted / max(1, len(lengths))))
            places = cut(database, parts, shares=len(kinds), width=width, heaviest=heaviest)
        return _planned(costs, database, places, _left(len(lengths), places, done), wanted,
                        kinds, planner)  # fmt: skip

    part = 1.0
    if ranges is not None and done:
        weights = np.array([each.residues for each in ranges], np.float64)
        part = (
            weights
            @ _left(len(lengths), ranges, done)
            @ costs.lengths
            / (weights.sum() * costs.lengths.sum())
        )
    return _best(attempt, costs.shares_worth(part * database.residues))


def _best(attempt: Callable[[float], Sharing], wanted: float) -> Sharing:
    """Return the best of ever finer sharings; the first has shares as long as they should be."""
    best = last = attempt(wanted)
    in_vain = 0
    while best.plan.makespan > GOOD_ENOUGH * best.divisible and in_vain < PATIENCE:
        wanted *= 2
        if wanted > MOST_SHARES:
            break
        finer = attempt(wanted)
        if len(finer.shares) == len(last.shares):
            break
        last = finer
        in_vain = 0 if finer.plan.makespan * GOOD_ENOUGH < best.plan.makespan else in_vain + 1
        if finer.plan.makespan < best.plan.makespan:
            best = finer
    return best


class _Costs:
    """What shares cost the nodes."""

    def __init__(
        self, lengths: NDArray[np.int64], rates: Sequence[Rates], able: Sequence[bool], sides: int
    ) -> None:
        self.lengths = lengths
        self.sides = sides
        self.rates = rates
        self._able = able
        self._distinct = {id(each): each for each in rates}
        self._column = {
            key: each.seconds(lengths, 1.0) - each.startup for key, each in self._distinct.items()
        }

    def shares_worth(self, residues: float) -> float:
        """Return how many shares so many residues should be: neither too short nor too long."""
        node_seconds = [
            self.sides * residues * float(self._column[id(rates)].sum())
            for rates, able in zip(self.rates, self._able, strict=True)
            if able
        ]
        speed = sum(1 / seconds for seconds in node_seconds if seconds)
        if not speed:
            return 1.0
        total = len(node_seconds) / speed
        mean = min(max(1 / speed / SHARES_PER_NODE, BRIEFEST), LENGTHIEST)
        return min(max(total / mean, 1.0), MOST_SHARES)

    def of_queries(self, residues: float) -> NDArray[np.float64]:
        """Return what each query against so many residues costs the first node that may do it."""
        rates = self.rates[list(self._able).index(True)]
        return rates.startup + residues * self._column[id(rates)]

    def of_shares(
        self,
        database: Targets,
        ranges: Sequence[Range],
        groups: Sequence[NDArray[np.int64]],
        shares: Sequence[Share],
    ) -> list[NDArray[np.float64]]:
        """Return for each node what it needs for each share."""
        numbers = np.array(shares, np.int64).reshape(-1, 2)
        counts = np.array([len(group) for group in groups])
        columns = {
            width: np.array([columns_of(database, each, width) for each in ranges])
            for width in {each.width for each in self._distinct.values()}
        }
        rows = {}
        for key, rates in self._distinct.items():
            cells = np.array([self._column[key][group].sum() for group in groups])
            group, place = numbers.T
            rows[key] = (
                SHARE_SECONDS
                + self.sides * counts[group] * rates.startup
                + columns[rates.width][place] * (rates.layout + self.sides * cells[group])
            )
        never = np.full(len(shares), np.inf)
        return [
            rows[id(rates)] if able else never
            for rates, able in zip(self.rates, self._able, strict=True)
        ]


def _left(
    queries: int, ranges: Sequence[Range], done: Collection[tuple[int, int]]
) -> NDArray[np.bool_]:
    """Return (ranges, queries) what is left to compare."""
    left = np.ones((len(ranges), queries), np.bool_)
    if done:
        query, place = np.array([*done], np.int64).T
        left[place, query] = False
    return left


def _planned(
    costs: _Costs,
    database: Targets,
    ranges: list[Range],
    left: NDArray[np.bool_],
    wanted: float,
    kinds: Sequence[str],
    planner: str,
) -> Sharing:
    """Return the sharing into about so many shares."""
    groups, shares = _cut(costs, ranges, left, wanted)
    seconds = costs.of_shares(database, ranges, groups, shares)
    residues = np.array([each.residues for each in ranges], np.int64)
    group, place = np.array(shares, np.int64).reshape(-1, 2).T
    query_residues = np.array([costs.lengths[each].sum() for each in groups], np.int64)
    cells = costs.sides * query_residues[group] * residues[place]
    instance = instance_of(seconds, kinds)
    plan = plan_for(instance, planner)
    # The planner numbers CPUs before GPUs.
    order = np.argsort([kind == "gpu" for kind in kinds], kind="stable")
    plan = replace(plan, kinds=tuple(kinds), workers=order[plan.workers])
    if not plan.on_demand:
        plan = replace(plan, workers=dealt(plan, seconds))
        plan = _range_by_range(plan, seconds, place, cells)
    return Sharing(ranges, groups, shares, cells, seconds, plan, divisible_bound(instance))


def _cut(
    costs: _Costs, ranges: Sequence[Range], left: NDArray[np.bool_], wanted: float
) -> tuple[list[NDArray[np.int64]], list[Share]]:
    """Return groups of queries, and the shares: about so many."""
    longest_first = np.argsort(-costs.lengths, kind="stable")
    busy = left.any(axis=1)
    residues = sum(each.residues for each, some in zip(ranges, busy, strict=True) if some)
    most = math.ceil(wanted / max(1, busy.sum()))
    seconds = costs.of_queries(residues / max(1, busy.sum()))
    grouped = cache(partial(_grouped, longest_first, seconds))
    groups: list[NDArray[np.int64]] = []
    numbers: dict[bytes, int] = {}
    shares = []
    for place, rest in enumerate(left):
        if not busy[place]:
            continue
        fair = wanted * ranges[place].residues / residues
        for group in grouped(min(most, 1 << math.ceil(math.log2(max(1.0, SMALL * fair))))):
            some = group[rest[group]]
            if not len(some):
                continue
            number = numbers.setdefault(some.tobytes(), len(groups))
            if number == len(groups):
                groups.append(some)
            shares.append(Share(number, place))
    return groups, shares


def _grouped(
    queries: NDArray[np.int64], seconds: NDArray[np.float64], count: int
) -> list[NDArray[np.int64]]:
    """Return the queries in at most so many groups, the large ones first.

    Their sizes fall evenly from the first to the last (trapezoid self-scheduling: Tzen and Ni,
    IEEE Trans. Parallel and Distributed Systems 4 (1993) 87-98). A group has queries that follow
    each other, and there are large and small groups of long queries as well as of short ones: one
    kind of nodes may get nothing else.
    """
    if count >= len(queries):
        return [queries[k : k + 1] for k in range(len(queries))]
    sizes = np.linspace(1 + TAPER, 1 - TAPER, count)
    mixed = np.empty(count)
    mixed[::2], mixed[1::2] = sizes[: -(-count // 2)], sizes[::-1][: count // 2]
    before = np.cumsum(seconds[queries])
    wanted = np.cumsum(mixed)[:-1] / count * before[-1]
    ends = np.unique(np.searchsorted(before, wanted) + 1)
    groups = [group for group in np.split(queries, ends) if len(group)]
    return sorted(groups, key=lambda group: -seconds[group].sum())


def _range_by_range(
    plan: Plan,
    seconds: Sequence[NDArray[np.float64]],
    places: NDArray[np.int64],
    cells: NDArray[np.int64],
) -> Plan:
    """Return the plan with each node's shares ordered by range, from the large to the small.

    The range that has the node's smallest share comes last: small ones even out what was uneven.
    """
    starts, ends = plan.starts.copy(), plan.ends.copy()
    for node, queue in enumerate(plan.queues):
        found, inverse = np.unique(places[queue], return_inverse=True)
        smallest = np.full(len(found), np.iinfo(np.int64).max)
        np.minimum.at(smallest, inverse, cells[queue])
        ordered = queue[np.lexsort((-cells[queue], inverse, -smallest[inverse]))]
        took = seconds[node][ordered]
        ends[ordered] = np.cumsum(took)
        starts[ordered] = ends[ordered] - took
    makespan = float(ends.max(initial=0.0))
    return replace(plan, starts=starts, ends=ends, lower_bound=min(plan.lower_bound, makespan))


def combined(rates: Sequence[Rates]) -> Rates:
    """Return what tasks cost a node whose workers, with these rates, share each of them."""
    speeds = np.array([1 / each.cell_seconds for each in rates])
    total = speeds.sum(axis=0)
    parts = (speeds / total).mean(axis=1)
    # Each worker lays out the part that it computes, beside the others.
    return Rates(
        startup=float(parts @ [each.startup for each in rates]) / len(rates),
        layout=float(parts**2 @ [each.layout for each in rates]),
        cell_seconds=1 / total,
        width=max(each.width for each in rates),
    )
