"""The dispatcher: remote tasks, and the node that each is done on.

Dask queues remote tasks on the node that the plan has chosen, runs them and tries again what
failed. A node that has hardly anything left gets some of the busiest one's tasks; tasks of a lost
node go to others. Where a node has not all blocks of the database, they are sent to it first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from distributed import Future

from swdual.cluster.block_transfers import BlockTransfers
from swdual.cluster.membership import Node, Nodes
from swdual.cluster.remote import BlockMissing
from swdual.database.database import Database
from swdual.errors import ClusterError

BEGUN = 2
"""Errands of a node that it may have begun, and are not taken from it for another."""

MAX_DEATHS = 3
"""Nodes that may die while an remote task is the first of theirs."""

FEW = 1
"""Errands of a node with which it will soon be idle: then it is given others."""


@dataclass(eq=False)
class RemoteTask:
    """Something that a node is to do.

    Parameters
    ----------
    function, args
        Is called with the search as it lies on the node, and these.
    then
        Is called with what comes out of it.
    name
        What Dask's dashboard calls it.
    blocks
        The blocks of the database that it needs.
    priority
        What has more is done before.
    seconds, pace
        What it was predicted to take on a node of that pace; any node's, if none is given.
    alone
        Whether a node does only one such thing at a time.
    """

    function: Callable[..., Any]
    args: tuple[object, ...]
    then: Callable[[Any], None]
    name: str
    blocks: frozenset[int]
    priority: int
    seconds: float = 0.0
    pace: float | None = None
    alone: bool = False
    node: Node | None = field(default=None, init=False)
    future: Future | None = field(default=None, init=False)
    deaths: int = field(default=0, init=False)

    def seconds_on(self, node: Node) -> float:
        """Return what it takes a node."""
        return self.seconds * (1.0 if self.pace is None else node.pace / self.pace)


class Dispatcher:
    """All remote tasks that are not done.

    Parameters
    ----------
    nodes
        Who does them.
    database
        The database as the client has it.
    """

    def __init__(self, nodes: Nodes, database: Database) -> None:
        self._nodes = nodes
        self._blocks = len(database.manifest.blocks)
        self._transfers = BlockTransfers(nodes, database)
        self._open: dict[RemoteTask, None] = {}
        self._loads: defaultdict[Node, float] = defaultdict(float)
        self._alone: defaultdict[Node, dict[RemoteTask, None]] = defaultdict(dict)
        nodes.joined, nodes.left = self._joined, self._left

    @property
    def anywhere(self) -> bool:
        """Whether every node has the whole database."""
        return all(len(node.blocks) == self._blocks for node in self._nodes.here)

    def add(self, remote_task: RemoteTask, node: Node | None = None) -> None:
        """Have something done, by a node that the plan has chosen or by any."""
        self._open[remote_task] = None
        self._reassign(remote_task, node)

    def _reassign(self, remote_task: RemoteTask, node: Node | None) -> None:
        """Submit a task to a node; by default to the one with the least to do."""
        if remote_task.future is not None:
            self._nodes.withdraw(remote_task.future)
            remote_task.future = None
        here = self._nodes.here
        if node is None and here:
            able = here if self.anywhere else self._holders(remote_task)
            node = min(able or here, key=lambda other: self._loads[other])
        self._put_down(remote_task, node)
        if node is not None:
            self._bring(remote_task, node)

    def _put_down(self, remote_task: RemoteTask, node: Node | None) -> None:
        """Note whose an remote task is."""
        if remote_task.node is not None:
            self._loads[remote_task.node] -= remote_task.seconds_on(remote_task.node)
            self._alone[remote_task.node].pop(remote_task, None)
        remote_task.node = node
        if node is not None:
            self._loads[node] += remote_task.seconds_on(node)
            if remote_task.alone:
                self._alone[node][remote_task] = None

    def _holders(self, remote_task: RemoteTask) -> list[Node]:
        """Return the nodes that have the blocks of an remote task."""
        return [node for node in self._nodes.here if node.blocks.issuperset(remote_task.blocks)]

    def _bring(self, remote_task: RemoteTask, node: Node) -> None:
        """Ask for an remote task as soon as its node has all of its blocks."""
        if remote_task.node is not node or remote_task.future is not None:
            return  # another has got it meanwhile
        for block in sorted(remote_task.blocks - node.blocks):
            self._transfers.bring(node, block, partial(self._bring, remote_task, node))
            return
        remote_task.future = self._nodes.ask(
            remote_task.function,
            node,
            *remote_task.args,
            then=partial(self._take, remote_task),
            name=remote_task.name,
            only=[node]
            if remote_task.alone
            else None
            if self.anywhere
            else self._holders(remote_task),
            priority=remote_task.priority,
            alone=remote_task.alone,
        )

    def _take(self, remote_task: RemoteTask, found: Any) -> None:
        """Hand on the result of a remote task; if blocks were missing, have it done elsewhere."""
        if isinstance(found, BlockMissing):
            self._take_lack(remote_task, found)
            return
        node = remote_task.node
        del self._open[remote_task]
        self._put_down(remote_task, None)
        remote_task.then(found)
        if node is not None and remote_task.alone:
            self._relieve_for(node)

    def _take_lack(self, remote_task: RemoteTask, lacking: BlockMissing) -> None:
        """Have done by another node what one had no block for any more."""
        for node in self._nodes.here:
            if node.address == lacking.address:
                node.blocks.discard(lacking.block)
        self._reassign(remote_task, None)

    def _joined(self, node: Node) -> None:
        """Let a node that has come take part."""
        for remote_task in [remote_task for remote_task in self._open if remote_task.node is None]:
            self._reassign(remote_task, None)
        self._relieve_for(node)

    def _left(self, node: Node) -> None:
        """Have others do what was given to a node that is lost, or only it could do."""
        self._transfers.left(node)
        self._count_death(node)
        here = self._nodes.here
        known = set().union(*(other.blocks for other in here))
        for remote_task in [*self._open]:
            if remote_task.node is node or not remote_task.blocks <= known:
                self._reassign(remote_task, None)
        self._loads.pop(node, None)
        self._alone.pop(node, None)

    def _count_death(self, node: Node) -> None:
        """End the search if nodes die again and again of what comes first on their lists."""
        first = max(self._alone[node], key=lambda remote_task: remote_task.priority, default=None)
        if first is None:
            return
        first.deaths += 1
        if first.deaths > MAX_DEATHS:
            raise ClusterError(
                f"{first.deaths} nodes died at the same task, the last at {node.address} on "
                f"{node.facts.host}: have they too little memory? Their logs may tell"
            )

    def _relieve_for(self, node: Node) -> None:
        """Give a node that has hardly anything left a fair part of what the busiest has."""
        compute_loads, here = self._loads, self._nodes.here
        if len(self._alone[node]) > FEW or node not in here:
            return
        busiest = max(here, key=lambda other: compute_loads[other])
        theirs = sorted(self._alone[busiest], key=lambda remote_task: -remote_task.priority)
        for remote_task in reversed(theirs[BEGUN:]):
            left = compute_loads[busiest] - remote_task.seconds_on(busiest)
            if compute_loads[node] + remote_task.seconds_on(node) > left:
                break
            self._reassign(remote_task, node)
