"""Replays a plan for a cluster in the simulator: shares wait for the transfers of blocks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.cluster.partition import SHARE_SECONDS, ClusterPartition
from swdual.errors import InputError
from swdual.planning.gantt import PALETTE, Panel, draw, draw_or_save
from swdual.planning.planner import Plan
from swdual.prediction.nodes_file import Cluster
from swdual.prediction.transfers import Transfer, simulate_transfers
from swdual.scheduling.platform import Platform
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.planned import of_plan

if TYPE_CHECKING:
    import matplotlib.figure

MAX_DRAWN = 500
"""Max nodes of a drawing."""


class Load(NamedTuple):
    """The work of the nodes of one kind.

    Parameters
    ----------
    name, nodes
        What they are called, and how many there are.
    shares, busy, idle, waiting
        Of a node in the mean: how many shares, seconds that it computes, the part of the makespan
        that it does not, and seconds that it waits for blocks before its last share.
    blocks, received, kept
        Blocks that a node meets in the mean, the bytes that are sent to all of them, and the bytes
        that one of them keeps at most.
    """

    name: str
    nodes: int
    shares: float
    busy: float
    idle: float
    waiting: float
    blocks: float
    received: int
    kept: int


@dataclass(frozen=True, eq=False)
class Forecast:
    """A plan for a cluster, and its replay with transfers.

    Parameters
    ----------
    cluster
        The nodes, in the order of its kinds.
    partition
        The shares, and the plan, which knows of no transfers.
    sizes
        (blocks,) bytes of each block of the database.
    returned
        Bytes that come back from the nodes at most.
    """

    cluster: Cluster
    partition: ClusterPartition
    sizes: NDArray[np.int64]
    returned: int

    @property
    def plan(self) -> Plan:
        """Whose share is which, and when; its workers are the nodes."""
        return self.partition.plan

    @cached_property
    def names(self) -> list[str]:
        """The name of each node."""
        kinds = self.cluster.kinds
        return [f"{kind.name} {number}" for kind in kinds for number in range(kind.count)]

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """(shares,) the block that each share needs."""
        ranges = self.partition.ranges
        return np.array(
            [ranges[share.range_number].block for share in self.partition.shares], np.int64
        )

    @cached_property
    def transfers(self) -> list[Transfer]:
        """The transfers of blocks, in the order in which they are needed.

        The client, numbered after the last node, has all blocks; so do some nodes.
        """
        has = np.concatenate([np.full(kind.count, kind.database) for kind in self.cluster.kinds])
        order = np.argsort(self.plan.starts, kind="stable")
        nodes = self.plan.workers[order]
        needed = zip(nodes.tolist(), self.blocks[order].tolist(), strict=True)
        wanted = [pair for pair in dict.fromkeys(needed) if not has[pair[0]]]
        client = len(has)
        senders = [*np.flatnonzero(has).tolist(), client]
        return simulate_transfers(wanted, self.sizes, senders, client + 1, self.cluster.network)

    @cached_property
    def ready(self) -> NDArray[np.float64]:
        """(shares,) seconds before which a share's block is not on its node."""
        arrival = {(each.node, each.block): each.end for each in self.transfers}
        pairs = zip(self.plan.workers.tolist(), self.blocks.tolist(), strict=True)
        return np.array([arrival.get(pair, 0.0) for pair in pairs])

    @cached_property
    def ends(self) -> NDArray[np.float64]:
        """(shares,) seconds at which each share ends when the plan is replayed."""
        schedule = simulate(of_plan(self.plan, self.ready), Platform(len(self.names)), "planned")
        ends = np.empty(len(self.ready))
        ends[schedule.workload.number] = schedule.finish_time
        return ends

    @property
    def makespan(self) -> float:
        """Seconds until the last share ends when the plan is replayed."""
        return float(self.ends.max(initial=0.0))

    @property
    def overhead(self) -> float:
        """The part of all nodes' time in which shares are sent."""
        busy = float(self.plan.busy.sum())
        return SHARE_SECONDS * len(self.partition.shares) / busy if busy else 0.0

    @property
    def loads(self) -> list[Load]:
        """The work of the nodes of each kind."""
        last = np.zeros(len(self.names))
        np.maximum.at(last, self.plan.workers, self.ends)
        received = np.zeros(len(self.names), np.int64)
        for each in self.transfers:
            received[each.node] += self.sizes[each.block]
        met = [np.unique(self.blocks[queue]) for queue in self.plan.queues]
        counts = np.array([len(blocks) for blocks in met])
        shares = np.array([len(queue) for queue in self.plan.queues])
        busy, loads, first = self.plan.busy, [], 0
        for kind in self.cluster.kinds:
            mine = slice(first, first + kind.count)
            first = mine.stop
            part = float(busy[mine].mean())
            loads.append(
                Load(
                    kind.name,
                    kind.count,
                    float(shares[mine].mean()),
                    part,
                    1 - part / self.makespan if self.makespan else 0.0,
                    float((last - busy)[mine].mean()),
                    float(counts[mine].mean()),
                    int(received[mine].sum()),
                    0 if kind.database else int(received[mine].max()),
                )
            )
        return loads

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and texts, for JSON.

        The plan as that of a single machine, and what comes of it when it is replayed.
        """
        partition = self.partition
        client = len(self.names)
        return self.plan.to_dict() | {
            "replayed": self.makespan,
            "overhead": self.overhead,
            "transfers": {
                "blocks": len(self.transfers),
                "bytes": sum(int(self.sizes[each.block]) for each in self.transfers),
                "from_client": sum(
                    int(self.sizes[each.block]) for each in self.transfers if each.sender == client
                ),
                "last": max((each.end for each in self.transfers), default=0.0),
                "returned_at_most": self.returned,
            },
            "kinds": [load._asdict() for load in self.loads],
            "ranges": [list(target_range[:3]) for target_range in partition.ranges],
            "groups": [group.tolist() for group in partition.groups],
            "shares": [list(share) for share in partition.shares],
        }

    def gantt(
        self, path: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> matplotlib.figure.Figure | None:
        """Draw the plan and its replay, one above the other, unless there are too many nodes.

        See `Plan.gantt`.
        """
        if len(self.names) > MAX_DRAWN:
            raise InputError(
                f"a drawing has room for {MAX_DRAWN} nodes, not {len(self.names):,}; leave it out"
            )
        plan, took = self.plan, self.plan.ends - self.plan.starts
        colour = np.array([share.group for share in self.partition.shares], np.int64)
        panels = [
            Panel(
                f"{title} {ends.max(initial=0.0):.4g} s",
                self.names,
                plan.workers,
                ends - took,
                ends,
                colour,
                plan.lower_bound,
                f"lower bound {plan.lower_bound:.4g} s",
                label="share {}".format,
                meaning=f"groups of queries ({len(self.partition.groups):,}; the colours repeat)"
                if len(self.partition.groups) > len(PALETTE)
                else "groups of queries",
            )
            for title, ends in (
                (f"planned by {plan.planner}:", plan.ends),
                ("replayed, with transfers:", self.ends),
            )
        ]
        return draw_or_save(lambda: draw(panels), path, force=force)
