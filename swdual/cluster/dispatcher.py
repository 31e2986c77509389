"""Errands: what nodes are to do, and where each is done.

Dask queues errands on the node that the plan has chosen, runs them and tries again what failed. To
a node that has hardly anything left some of the busiest one's are given, and what a lost node was
given, others are. Where nodes lack blocks of the database these are brought to them first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from distributed import Future

from swdual.cluster.block_transfers import Deliveries
from swdual.cluster.membership import Node, Nodes
from swdual.cluster.remote import Lacking
from swdual.database.database import Database
from swdual.errors import ClusterError

BEGUN = 2
"""Errands of a node that it may have begun, and are not taken from it for another."""

MOST_DEATHS = 3
"""Nodes that may die while an errand is the first of theirs."""

FEW = 1
"""Errands of a node with which it will soon be idle: then it is given others."""


@dataclass(eq=False)
class Errand:
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


class Errands:
    """All errands that are not done.

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
        self._deliveries = Deliveries(nodes, database)
        self._open: dict[Errand, None] = {}
        self._loads: defaultdict[Node, float] = defaultdict(float)
        self._alone: defaultdict[Node, dict[Errand, None]] = defaultdict(dict)
        nodes.joined, nodes.left = self._joined, self._left

    @property
    def anywhere(self) -> bool:
        """Whether every node has the whole database."""
        return all(len(node.blocks) == self._blocks for node in self._nodes.here)

    def add(self, errand: Errand, node: Node | None = None) -> None:
        """Have something done, by a node that the plan has chosen or by any."""
        self._open[errand] = None
        self._give(errand, node)

    def _give(self, errand: Errand, node: Node | None) -> None:
        """Have a node do an errand; by default the one with the least to do that can do it now."""
        if errand.future is not None:
            self._nodes.withdraw(errand.future)
            errand.future = None
        here = self._nodes.here
        if node is None and here:
            able = here if self.anywhere else self._holders(errand)
            node = min(able or here, key=lambda other: self._loads[other])
        self._put_down(errand, node)
        if node is not None:
            self._bring(errand, node)

    def _put_down(self, errand: Errand, node: Node | None) -> None:
        """Note whose an errand is."""
        if errand.node is not None:
            self._loads[errand.node] -= errand.seconds_on(errand.node)
            self._alone[errand.node].pop(errand, None)
        errand.node = node
        if node is not None:
            self._loads[node] += errand.seconds_on(node)
            if errand.alone:
                self._alone[node][errand] = None

    def _holders(self, errand: Errand) -> list[Node]:
        """Return the nodes that have the blocks of an errand."""
        return [node for node in self._nodes.here if node.blocks.issuperset(errand.blocks)]

    def _bring(self, errand: Errand, node: Node) -> None:
        """Ask for an errand as soon as its node has all of its blocks."""
        if errand.node is not node or errand.future is not None:
            return  # another has got it meanwhile
        for block in sorted(errand.blocks - node.blocks):
            self._deliveries.bring(node, block, partial(self._bring, errand, node))
            return
        errand.future = self._nodes.ask(
            errand.function,
            node,
            *errand.args,
            then=partial(self._take, errand),
            name=errand.name,
            only=[node] if errand.alone else None if self.anywhere else self._holders(errand),
            priority=errand.priority,
            alone=errand.alone,
        )

    def _take(self, errand: Errand, found: Any) -> None:
        """Hand on what came out of an errand; if blocks were lacking, have it done elsewhere."""
        if isinstance(found, Lacking):
            self._take_lack(errand, found)
            return
        node = errand.node
        del self._open[errand]
        self._put_down(errand, None)
        errand.then(found)
        if node is not None and errand.alone:
            self._relieve_for(node)

    def _take_lack(self, errand: Errand, lacking: Lacking) -> None:
        """Have done by another node what one had no block for any more."""
        for node in self._nodes.here:
            if node.address == lacking.address:
                node.blocks.discard(lacking.block)
        self._give(errand, None)

    def _joined(self, node: Node) -> None:
        """Let a node that has come take part."""
        for errand in [errand for errand in self._open if errand.node is None]:
            self._give(errand, None)
        self._relieve_for(node)

    def _left(self, node: Node) -> None:
        """Have others do what was given to a node that is lost, or only it could do."""
        self._deliveries.left(node)
        self._count_death(node)
        here = self._nodes.here
        known = set().union(*(other.blocks for other in here))
        for errand in [*self._open]:
            if errand.node is node or not errand.blocks <= known:
                self._give(errand, None)
        self._loads.pop(node, None)
        self._alone.pop(node, None)

    def _count_death(self, node: Node) -> None:
        """End the search if nodes die again and again of what comes first on their lists."""
        first = max(self._alone[node], key=lambda errand: errand.priority, default=None)
        if first is None:
            return
        first.deaths += 1
        if first.deaths > MOST_DEATHS:
            raise ClusterError(
                f"{first.deaths} nodes died at the same task, the last at {node.address} on "
                f"{node.facts.host}: have they too little memory? Their logs may tell"
            )

    def _relieve_for(self, node: Node) -> None:
        """Give a node that has hardly anything left a fair part of what the busiest has."""
        loads, here = self._loads, self._nodes.here
        if len(self._alone[node]) > FEW or node not in here:
            return
        busiest = max(here, key=lambda other: loads[other])
        theirs = sorted(self._alone[busiest], key=lambda errand: -errand.priority)
        for errand in reversed(theirs[BEGUN:]):
            left = loads[busiest] - errand.seconds_on(busiest)
            if loads[node] + errand.seconds_on(node) > left:
                break
            self._give(errand, node)
