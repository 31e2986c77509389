"""Nodes that are switched off when they are idle, and on when a job gets them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swdual.scheduling import processors as sets
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.platform import Platform
from swdual.scheduling.power import PowerModel
from swdual.scheduling.processors import Ranges


@dataclass(frozen=True, eq=False)
class OffPeriods:
    """Times from the begin of a shutdown to that of the next boot, as columns; by node and time.

    Parameters
    ----------
    node
        (periods,) the node.
    ranges
        (periods, 2) its processors, [first, stop).
    since, until
        (periods,) seconds; `until` is infinite for a node that is not booted again.
    """

    node: NDArray[np.int64]
    ranges: Ranges
    since: NDArray[np.float64]
    until: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.node)


class PoweredNodes:
    """The states of all nodes: which are on, and since when others are not.

    Nodes whose idle timeout is over are switched off in the order in which it ends, the highest
    number first, while more than `keep_idle` are idle. It changes nothing for the policy, so that
    it is done later, when a job starts or ends: `advance` brings the states up to date.

    Parameters
    ----------
    power
        When nodes are switched off.
    platform
        Their processors.
    begin
        Since when all are on and idle, in seconds.

    Attributes
    ----------
    down
        Processors of the nodes that are off or shut down.
    """

    def __init__(self, power: PowerModel, platform: Platform, begin: float) -> None:
        self._power = power
        self._processors = platform.processors
        nodes = -(-platform.processors // power.node_size)
        self._held = np.zeros(nodes, np.int64)  # processors that jobs hold
        self._idle_since = np.full(nodes, begin)  # counts where none is held
        self._off_since = np.full(nodes, np.inf)  # begin of the shutdown; infinite if on or booting
        self._on_since = np.full(nodes, begin)  # end of the last boot
        self._last = begin
        self._ended: list[NDArray[np.float64]] = []  # (3, periods): node, since, until
        self.down = sets.whole(0)[:0]

    def advance(self, now: float) -> None:
        """Switch off what is due before an instant, before that instant's events.

        At an instant itself the policy comes first: it may still use a node that is due then.

        Parameters
        ----------
        now
            Seconds.
        """
        idle = np.flatnonzero((self._held == 0) & (self._off_since == np.inf))
        surplus = max(0, len(idle) - self._power.keep_idle)
        # A node that was kept is due at the last instant: jobs that ended left more of them idle.
        due = np.maximum(self._idle_since[idle] + self._power.idle_timeout, self._last)
        idle, due = idle[due < now], due[due < now]
        if surplus and len(idle):
            order = np.lexsort((-idle, due))[:surplus]
            self._off_since[idle[order]] = due[order]
            self._find_down()
        self._last = now

    def take(self, processors: Ranges, now: float) -> float:
        """Note that a job gets processors, boot their nodes, and return when all are on.

        Parameters
        ----------
        processors
            (ranges, 2) what it gets.
        now
            Seconds.
        """
        nodes, counts = self._count_by_node(processors)
        self._held[nodes] += counts
        down = nodes[self._off_since[nodes] < np.inf]
        if len(down):
            since = self._off_since[down]
            until = np.maximum(since + self._power.shutdown_time, now)
            self._on_since[down] = until + self._power.boot_time
            self._ended.append(np.stack((down, since, until)))
            self._off_since[down] = np.inf
            self._find_down()
        return max(now, float(self._on_since[nodes].max()))

    def release(self, processors: Ranges, now: float) -> None:
        """Note that a job leaves processors: see `take`."""
        nodes, counts = self._count_by_node(processors)
        self._held[nodes] -= counts
        self._idle_since[nodes[self._held[nodes] == 0]] = now

    def off_periods(self) -> OffPeriods:
        """Return all off periods up to the last `advance`."""
        down = np.flatnonzero(self._off_since < np.inf)
        last = np.stack((down, self._off_since[down], np.full(len(down), np.inf)))
        node, since, until = np.concatenate([*self._ended, last], axis=1)
        order = np.lexsort((since, node))
        nodes = node[order].astype(np.int64)
        return OffPeriods(nodes, self._ranges(nodes), since[order], until[order])

    def _ranges(self, nodes: NDArray[np.int64]) -> Ranges:
        """Return (nodes, 2) the processors of each node; the last node may be short."""
        ends = np.stack((nodes, nodes + 1), axis=1) * self._power.node_size
        return np.minimum(ends, self._processors)

    def _count_by_node(self, processors: Ranges) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the nodes of a set, and how many of its processors each has."""
        which = np.concatenate([np.arange(first, stop) for first, stop in processors.tolist()])
        return np.unique(which // self._power.node_size, return_counts=True)

    def _find_down(self) -> None:
        down = np.concatenate(([False], self._off_since < np.inf, [False]))
        edges = np.flatnonzero(down[1:] != down[:-1]) * self._power.node_size
        self.down = np.minimum(edges, self._processors).reshape(-1, 2)


class OnFirst:
    """An allocator that chooses among processors that are on, if it can.

    If too few of the free ones are on, a job gets all of these, and the lowest of the others. A
    forced allocator then chooses among all free ones.

    Parameters
    ----------
    allocator
        What chooses.
    nodes
        The states of the nodes.
    """

    def __init__(self, allocator: Allocator, nodes: PoweredNodes) -> None:
        self.FORCED = allocator.FORCED
        self._allocator = allocator
        self._nodes = nodes

    def choose(self, free: Ranges, count: int, platform: Platform) -> Ranges | None:
        """Return processors for a job, or None: see `Allocator.choose`."""
        down = sets.intersection(free, self._nodes.down)
        if len(down):
            on = sets.minus(free, down)
            assert on is not None, "what is down here is free"
            missing = count - sets.count(on)
            if 0 < missing <= sets.count(down) and not self.FORCED:
                on, missing = sets.union(on, sets.lowest(down, missing)), 0
            chosen = None if missing > 0 else self._allocator.choose(on, count, platform)
            if chosen is not None:
                return chosen
        return self._allocator.choose(free, count, platform)
