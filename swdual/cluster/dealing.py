"""Which of several equal nodes gets which shares: neighbours together, in as little time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.jit import kernel
from swdual.master.division import GOOD_ENOUGH
from swdual.planner import Plan

TRIALS = 8
"""Makespans that are tried between the least possible and the longest that is good enough."""

ALIKE = 0.002
"""How much longer one share may take than another for which it is exchanged."""

IDLE = (GOOD_ENOUGH - 1) / 2
"""The part of its time that a node may stay idle rather than take a share from elsewhere."""


def dealt(plan: Plan, seconds: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return a node for each share: of the kind that the plan gives it to, beside its neighbours.

    Nodes are filled one by one with the next shares that fit. Where that takes longer than the
    plan by more than `GOOD_ENOUGH`, shares that take equally long are exchanged.

    Parameters
    ----------
    plan
        Whose workers are the nodes.
    seconds
        (shares,) for each node what it needs for each share. Shares that follow each other are
        neighbours.
    """
    workers = plan.workers.copy()
    longest = GOOD_ENOUGH * loads(workers, seconds).max(initial=0.0)
    for kind in set(plan.kinds):
        nodes = np.array([number for number, each in enumerate(plan.kinds) if each == kind])
        shares = np.flatnonzero(np.isin(workers, nodes))
        own = np.array([seconds[node][shares].sum() for node in nodes])
        nodes, own = nodes[np.isfinite(own)], own[np.isfinite(own)]
        if not len(shares):
            continue
        speeds = own[0] / own
        times = seconds[nodes[0]][shares]
        owners = _beside_each_other(times, speeds, longest)
        workers[shares] = _exchanged(times, workers[shares]) if owners is None else nodes[owners]
    good = loads(workers, seconds).max(initial=0.0) <= longest
    return workers if good else plan.workers


def _beside_each_other(
    times: NDArray[np.float64], speeds: NDArray[np.float64], longest: float
) -> NDArray[np.int64] | None:
    """Return a node for each share, in the shortest time found; None if none is short enough."""
    best = None
    low, high, limit = times.sum() / speeds.sum(), longest, longest
    for _ in range(TRIALS):
        owners = np.empty(len(times), np.int64)
        if _fill(limit, times, speeds, owners):
            best, high = owners, limit
        elif best is None:
            break
        else:
            low = limit
        limit = (low + high) / 2
    return best


def _exchanged(times: NDArray[np.float64], workers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a node for each share, so that of those alike neighbours go to neighbours.

    Each node keeps as many shares of each length as it has.
    """
    alike = np.round(np.log(times) / ALIKE)
    changed = np.empty_like(workers)
    changed[np.argsort(alike, kind="stable")] = workers[np.lexsort((workers, alike))]
    return changed


def loads(
    workers: NDArray[np.int64], seconds: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return (nodes,) how long each node computes."""
    order = np.argsort(workers, kind="stable")
    cuts = np.searchsorted(workers[order], np.arange(1, len(seconds)))
    mine = np.split(order, cuts)
    return np.array([row[shares].sum() for row, shares in zip(seconds, mine, strict=True)])


@kernel
def _fill(
    limit: float,
    times: NDArray[np.float64],
    speeds: NDArray[np.float64],
    owners: NDArray[np.int64],
) -> bool:
    """Give each node in turn the next shares that fit; return whether none is left over."""
    count = len(times)
    # A list of those left, linked so that taking one out is cheap; its head stands at the end.
    following = np.arange(1, count + 2)
    head = count
    following[head] = 0
    for node in range(len(speeds)):
        room = limit * speeds[node]
        idle = IDLE * room
        before = head
        share = following[head]
        while share < count and room > idle:
            if times[share] <= room:
                owners[share] = node
                room -= times[share]
                following[before] = following[share]
            else:
                before = share
            share = following[share]
    return bool(following[head] == count)
