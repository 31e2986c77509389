"""Errands: what nodes are to do, and where each is done best, or can be done at all.

Where all nodes have the whole database Dask moves errands to idle nodes by itself. Else an errand
can go only where its blocks are: they are brought to the node that the plan has chosen. What a lost
node was given, others are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from distributed import Future

from swdual.cluster.delivery import Deliveries
from swdual.cluster.node import Lacking
from swdual.cluster.nodes import Node, Nodes
from swdual.database.database import Database

BEGUN = 2
"""Errands of a node that it may have begun, and are not taken from it for another."""


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
    seconds
        What it was predicted to take.
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
    alone: bool = False
    node: Node | None = field(default=None, init=False)
    future: Future | None = field(default=None, init=False)


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
            self._loads[errand.node] -= errand.seconds
        errand.node = node
        if node is not None:
            self._loads[node] += errand.seconds

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
            only=None if self.anywhere else self._holders(errand),
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
        if node is not None and errand.alone and not self.anywhere:
            self._relieve_for(node)

    def _take_lack(self, errand: Errand, lacking: Lacking) -> None:
        """Have done what an idle node took over but lacks blocks for.

        It is sent the block unless it waits for another, so that it does not take over everything.
        """
        taker = next((x for x in self._nodes.here if x.address == lacking.address), None)
        if taker is not None:
            taker.blocks.discard(lacking.block)
            if any(other.node is taker and other.future is None for other in self._open):
                taker = None
        self._give(errand, taker)

    def _joined(self, node: Node) -> None:
        """Let a node that has come take part; if it has everything, Dask sees to that."""
        for errand in [errand for errand in self._open if errand.node is None]:
            self._give(errand, None)
        if not self.anywhere:
            self._relieve_for(node)

    def _left(self, node: Node) -> None:
        """Have others do what was given to a node that is lost, or only it could do."""
        self._deliveries.left(node)
        for errand in [*self._open]:
            if errand.node is node or not self._holders(errand):
                self._give(errand, None)
        self._loads.pop(node, None)

    def _relieve_for(self, node: Node) -> None:
        """Give a node that has nothing left a fair part of what the busiest has not begun."""
        loads, here = self._loads, self._nodes.here
        if node not in here or any(x.alone and x.node is node for x in self._open):
            return
        busiest = max(here, key=lambda other: loads[other])
        theirs = [errand for errand in self._open if errand.alone and errand.node is busiest]
        theirs.sort(key=lambda errand: -errand.priority)
        for errand in reversed(theirs[BEGUN:]):
            if loads[node] + errand.seconds > loads[busiest] - errand.seconds:
                break
            self._give(errand, node)
