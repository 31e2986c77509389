"""The dispatcher: sends remote tasks to the nodes that the plan has chosen, and rebalances them.

Dask queues remote tasks on their nodes, runs them, and retries what failed. The dispatcher does the
rest: a node that has almost nothing left gets tasks of the busiest node; tasks of a lost node go to
others; a node that lacks a block of the database gets it before the task is submitted.
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

MAX_STARTED = 2
"""Tasks at the head of a node's queue that it may have started; they stay there."""

MAX_DEATHS = 3
"""Nodes that may die while the same remote task is first in their queues."""

MIN_QUEUED = 1
"""Tasks of a node at which it gets others, so that it does not become idle."""


@dataclass(eq=False)
class RemoteTask:
    """A function to call on a node; the dispatcher submits it to Dask.

    Parameters
    ----------
    function, args
        What is called, with the node's `RemoteSearch` and these arguments.
    then
        Called with the result, in the thread of the search.
    name
        The name on Dask's dashboard.
    blocks
        The blocks of the database that it needs.
    priority
        Tasks with larger numbers run first.
    seconds, pace
        Predicted seconds on a node of this pace; on any node if there is no pace.
    exclusive
        Whether a node runs only one such task at a time.

    Attributes
    ----------
    node
        The node that has it; None while there is no node.
    future
        What Dask returned; None before it is submitted.
    deaths
        How many nodes died while it was first in their queues.
    """

    function: Callable[..., Any]
    args: tuple[object, ...]
    then: Callable[[Any], None]
    name: str
    blocks: frozenset[int]
    priority: int
    seconds: float = 0.0
    pace: float | None = None
    exclusive: bool = False
    node: Node | None = field(default=None, init=False)
    future: Future | None = field(default=None, init=False)
    deaths: int = field(default=0, init=False)

    def seconds_on(self, node: Node) -> float:
        """Return the predicted seconds on a node."""
        return self.seconds * (1.0 if self.pace is None else node.pace / self.pace)


class Dispatcher:
    """All remote tasks that are not done; the thread of the search calls everything here.

    No lock is needed. Dask reports from its own threads, but `Nodes.poll` passes every report on
    in the thread of the search. There also run `_add_node` and `_remove_node`.

    Parameters
    ----------
    nodes
        The nodes.
    database
        The database as the client has it.
    """

    def __init__(self, nodes: Nodes, database: Database) -> None:
        self._nodes = nodes
        self._blocks = len(database.manifest.blocks)
        self._transfers = BlockTransfers(nodes, database)
        self._open: dict[RemoteTask, None] = {}
        self._loads: defaultdict[Node, float] = defaultdict(float)
        self._exclusive: defaultdict[Node, dict[RemoteTask, None]] = defaultdict(dict)
        nodes.on_join, nodes.on_leave = self._add_node, self._remove_node

    @property
    def anywhere(self) -> bool:
        """Whether every node has the whole database."""
        return all(len(node.blocks) == self._blocks for node in self._nodes.active)

    def add(self, remote_task: RemoteTask, node: Node | None = None) -> None:
        """Submit a task.

        Parameters
        ----------
        remote_task
            The task.
        node
            The node that the plan has chosen; by default the one with the least to do.
        """
        self._open[remote_task] = None
        self._reassign(remote_task, node)

    def _reassign(self, remote_task: RemoteTask, node: Node | None) -> None:
        """Submit a task to a node; by default to the one with the least to do."""
        if remote_task.future is not None:
            self._nodes.cancel(remote_task.future)
            remote_task.future = None
        here = self._nodes.active
        if node is None and here:
            able = here if self.anywhere else self._holders(remote_task)
            node = min(able or here, key=lambda other: self._loads[other])
        self._set_node(remote_task, node)
        if node is not None:
            self._submit(remote_task, node)

    def _set_node(self, remote_task: RemoteTask, node: Node | None) -> None:
        """Note which node has a task, and what that adds to the load of the nodes."""
        if remote_task.node is not None:
            self._loads[remote_task.node] -= remote_task.seconds_on(remote_task.node)
            self._exclusive[remote_task.node].pop(remote_task, None)
        remote_task.node = node
        if node is not None:
            self._loads[node] += remote_task.seconds_on(node)
            if remote_task.exclusive:
                self._exclusive[node][remote_task] = None

    def _holders(self, remote_task: RemoteTask) -> list[Node]:
        """Return the nodes that have all blocks of a task."""
        return [node for node in self._nodes.active if node.blocks.issuperset(remote_task.blocks)]

    def _submit(self, remote_task: RemoteTask, node: Node) -> None:
        """Submit a task to Dask, or first the next block that its node lacks.

        Each block that arrives calls this again, until no block is missing.
        """
        if remote_task.node is not node or remote_task.future is not None:
            return  # it was given to another node meanwhile, or is submitted already
        for block in sorted(remote_task.blocks - node.blocks):
            self._transfers.request(node, block, partial(self._submit, remote_task, node))
            return
        # An exclusive task was planned for this node. Others may run where their blocks are.
        allowed: list[Node] | None = [node]
        if not remote_task.exclusive:
            allowed = None if self.anywhere else self._holders(remote_task)
        remote_task.future = self._nodes.submit(
            remote_task.function,
            node,
            *remote_task.args,
            then=partial(self._take, remote_task),
            name=remote_task.name,
            only=allowed,
            priority=remote_task.priority,
            exclusive=remote_task.exclusive,
        )

    def _take(self, remote_task: RemoteTask, result: Any) -> None:
        """Pass on the result of a task; if its block was missing, submit it again."""
        if isinstance(result, BlockMissing):
            self._retry_elsewhere(remote_task, result)
            return
        node = remote_task.node
        del self._open[remote_task]
        self._set_node(remote_task, None)
        remote_task.then(result)
        if node is not None and remote_task.exclusive:
            self._rebalance(node)

    def _retry_elsewhere(self, remote_task: RemoteTask, missing: BlockMissing) -> None:
        """Submit a task again whose node has lost a block, such as after a restart."""
        for node in self._nodes.active:
            if node.address == missing.address:
                node.blocks.discard(missing.block)
        self._reassign(remote_task, None)

    def _add_node(self, node: Node) -> None:
        """Give tasks to a node that has joined."""
        for remote_task in [x for x in self._open if x.node is None]:
            self._reassign(remote_task, None)
        self._rebalance(node)

    def _remove_node(self, node: Node) -> None:
        """Give the tasks of a lost node, and those that only it could run, to other nodes."""
        self._transfers.forget_node(node)
        self._count_death(node)
        here = self._nodes.active
        known = set().union(*(other.blocks for other in here))
        for remote_task in [*self._open]:
            if remote_task.node is node or not remote_task.blocks <= known:
                self._reassign(remote_task, None)
        self._loads.pop(node, None)
        self._exclusive.pop(node, None)

    def _count_death(self, node: Node) -> None:
        """End the search if nodes die again and again of the same task.

        The task that is first in the queue of a dead node is the one that it was running.
        """
        first = max(
            self._exclusive[node], key=lambda remote_task: remote_task.priority, default=None
        )
        if first is None:
            return
        first.deaths += 1
        if first.deaths > MAX_DEATHS:
            raise ClusterError(
                f"{first.deaths} nodes died at the same task, the last at {node.address} on "
                f"{node.facts.host}: have they too little memory? Their logs may tell"
            )

    def _rebalance(self, node: Node) -> None:
        """Move tasks from the end of the busiest node's queue to a node that has almost none left.

        A task moves only while the node would then still finish before the busiest one.
        """
        compute_loads, here = self._loads, self._nodes.active
        if len(self._exclusive[node]) > MIN_QUEUED or node not in here:
            return
        busiest = max(here, key=lambda other: compute_loads[other])
        queue = sorted(self._exclusive[busiest], key=lambda remote_task: -remote_task.priority)
        for remote_task in reversed(queue[MAX_STARTED:]):
            left = compute_loads[busiest] - remote_task.seconds_on(busiest)
            if compute_loads[node] + remote_task.seconds_on(node) > left:
                break
            self._reassign(remote_task, node)
