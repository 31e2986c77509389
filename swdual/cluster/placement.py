"""Assigns shares to nodes of equal kind: neighbouring shares together, without losing time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.master.partition import GOOD_ENOUGH
from swdual.planning.planner import Plan
from swdual.runtime.jit import kernel

TRIALS = 8
"""Makespans that are tried between the lower bound and the longest acceptable one."""

ALIKE = 0.002
"""Largest relative difference in time of two shares that are exchanged."""

NONE = -1
"""Stands for no share."""

ROUNDS, EVEN = 4, 1e-4
"""Max changes for each node that even out a plan, and the least gain of each."""

MIN_TASKS_A_NODE = 8
"""Min shares of a node, if possible: all others would wait for a slow node with a large share."""

IDLE = (GOOD_ENOUGH - 1) / 2
"""Part of its time that a node may stay idle instead of taking a distant share."""


def assign_nodes(plan: Plan, seconds: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return a node for each share: of the kind that the plan gives it to, beside its neighbours.

    First the plan is made more even within each kind. Then nodes are filled one by one with the
    next shares that fit; where that takes longer by more than `GOOD_ENOUGH`, shares that take
    equally long are exchanged instead.

    Parameters
    ----------
    plan
        Whose workers are the nodes.
    seconds
        (shares,) for each node what it needs for each share. Shares that follow each other are
        neighbours.
    """
    workers = plan.workers.copy()
    busy = dict.fromkeys(plan.kinds[worker] for worker in np.unique(workers))
    kinds = [_Kind(plan, seconds, kind) for kind in busy]
    for kind in kinds:
        _even_out(kind.times, kind.speeds, kind.owners)
        workers[kind.shares] = kind.nodes[kind.owners]
    even, longest = workers.copy(), GOOD_ENOUGH * compute_loads(workers, seconds).max(initial=0.0)
    for kind in kinds:
        for fewest in (MIN_TASKS_A_NODE, 1):
            owners = _fill_nodes(kind.times, kind.speeds, longest, fewest)
            if owners is not None:
                break
        else:
            owners = _exchange(kind.times, kind.owners)
        workers[kind.shares] = kind.nodes[owners]
    return workers if compute_loads(workers, seconds).max(initial=0.0) <= longest else even


class _Kind:
    """The nodes of a kind that can compute, and the shares that a plan gives them: some.

    `times` are those of the first of the nodes; each takes its time divided by its speed. `owners`
    are indices of the nodes.
    """

    def __init__(self, plan: Plan, seconds: Sequence[NDArray[np.float64]], kind: str) -> None:
        nodes = np.array([number for number, each in enumerate(plan.kinds) if each == kind])
        self.shares = np.flatnonzero(np.isin(plan.workers, nodes))
        own = np.array([seconds[node][self.shares].sum() for node in nodes])
        self.nodes, own = nodes[np.isfinite(own)], own[np.isfinite(own)]
        self.times = seconds[self.nodes[0]][self.shares]
        self.speeds = own[0] / own
        self.owners = np.searchsorted(self.nodes, plan.workers[self.shares])


def _fill_nodes(
    times: NDArray[np.float64], speeds: NDArray[np.float64], longest: float, fewest: int
) -> NDArray[np.int64] | None:
    """Return a node for each share, in the shortest time found; None if none is short enough."""
    best = None
    low, high, limit = times.sum() / speeds.sum(), longest, longest
    for _ in range(TRIALS):
        owners = np.empty(len(times), np.int64)
        if _fill(limit, times, speeds, fewest, owners):
            best, high = owners, limit
        elif best is None:
            break
        else:
            low = limit
        limit = (low + high) / 2
    return best


@kernel
def _even_out(
    times: NDArray[np.float64], speeds: NDArray[np.float64], owners: NDArray[np.int64]
) -> None:
    """Move single shares from the busiest node to the least busy one, or exchange two, in place.

    As long as that helps, and at most `ROUNDS` times for each node.
    """
    load = np.zeros(len(speeds))
    for number in range(len(times)):
        load[owners[number]] += times[number]
    for _ in range(ROUNDS * len(speeds)):
        busiest, least = np.argmax(load / speeds), np.argmin(load / speeds)
        best = load[busiest] / speeds[busiest] * (1 - EVEN)
        given, taken = NONE, NONE
        own = np.flatnonzero(owners == busiest)
        others = np.append(np.flatnonzero(owners == least), NONE)
        for share in own:
            for other in others:
                change = times[share] - (times[other] if other != NONE else 0.0)
                after = max(
                    (load[busiest] - change) / speeds[busiest],
                    (load[least] + change) / speeds[least],
                )
                if after < best:
                    best, given, taken = after, int(share), int(other)
        if given == NONE:
            return
        change = times[given] - (times[taken] if taken != NONE else 0.0)
        load[busiest] -= change
        load[least] += change
        owners[given] = least
        if taken != NONE:
            owners[taken] = busiest


def _exchange(times: NDArray[np.float64], workers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a node for each share, so that of those alike neighbours go to neighbours.

    Each node keeps as many shares of each length as it has.
    """
    alike = np.round(np.log(times) / ALIKE)
    changed = np.empty_like(workers)
    changed[np.argsort(alike, kind="stable")] = workers[np.lexsort((workers, alike))]
    return changed


def compute_loads(
    workers: NDArray[np.int64], seconds: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return (nodes,) the seconds that each node computes.

    Parameters
    ----------
    workers
        (shares,) the number of the node that has each share.
    seconds
        (shares,) for each node what it needs for each share.
    """
    order = np.argsort(workers, kind="stable")
    cuts = np.searchsorted(workers[order], np.arange(1, len(seconds)))
    mine = np.split(order, cuts)
    return np.array([row[shares].sum() for row, shares in zip(seconds, mine, strict=True)])


@kernel
def _fill(
    limit: float,
    times: NDArray[np.float64],
    speeds: NDArray[np.float64],
    fewest: int,
    owners: NDArray[np.int64],
) -> bool:
    """Give each node in turn the next shares that fit; return whether none is left over.

    None takes longer than a part of the limit, so that no node gets fewer than some.
    """
    count = len(times)
    # A list of those left, linked so that taking one out is cheap; its head stands at the end.
    following = np.arange(1, count + 2)
    head = count
    following[head] = 0
    for node in range(len(speeds)):
        room = limit * speeds[node]
        idle = IDLE * room
        largest = room / fewest
        before = head
        share = following[head]
        while share < count and room > idle:
            if times[share] <= min(room, largest):
                owners[share] = node
                room -= times[share]
                following[before] = following[share]
            else:
                before = share
            share = following[share]
    return bool(following[head] == count)
