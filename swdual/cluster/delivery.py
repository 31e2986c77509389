"""Delivery: blocks of the database sent to the nodes that lack them, once each.

A block comes from a node that has it, or from the client. Dask carries it; a node that lacks many
gets them one by one, in the order in which its shares need them, while it computes others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from distributed import Future

from swdual.cluster.node import keep_block, read_block
from swdual.cluster.nodes import Node, Nodes
from swdual.database.database import Database
from swdual.errors import DatabaseError

AT_ONCE = 2
"""Blocks under way to a node: one arrives while the other is read."""

PRIORITY = 1 << 40
"""Before all shares: somebody may wait for it."""


@dataclass(eq=False)
class _Parcel:
    """A block on its way to a node; `senders` have it, none if it comes from the client."""

    node: Node
    block: int
    then: list[Callable[[], None]]
    senders: list[Node] = field(default_factory=list)
    source: Future | None = None
    kept: Future | None = None


class Deliveries:
    """What is on its way to the nodes.

    Parameters
    ----------
    nodes
        The nodes.
    database
        The database as the client has it.
    """

    def __init__(self, nodes: Nodes, database: Database) -> None:
        self._nodes = nodes
        self._database = database
        self._parcels: dict[tuple[Node, int], _Parcel] = {}
        self.sent_bytes = 0

    def bring(self, node: Node, block: int, then: Callable[[], None]) -> None:
        """Have a block brought to a node, and something done when it is there.

        Raises
        ------
        DatabaseError
            If nobody has it.
        """
        if block in node.blocks:
            then()
            return
        parcel = self._parcels.get((node, block))
        if parcel is not None:
            parcel.then.append(then)
            return
        self._parcels[node, block] = _Parcel(node, block, [then])
        self._send(node)

    def left(self, node: Node) -> None:
        """Forget what was on its way to a node that is lost, and send anew what came from it."""
        for key in [key for key in self._parcels if key[0] is node]:
            self._drop(self._parcels.pop(key))
        here = self._nodes.here
        for parcel in [*self._parcels.values()]:
            if parcel.senders and not any(sender in here for sender in parcel.senders):
                self._drop(parcel)
                parcel.source = parcel.kept = None
                self._send(parcel.node)

    def _drop(self, parcel: _Parcel) -> None:
        for future in (parcel.kept, parcel.source):
            if future is not None:
                self._nodes.withdraw(future)

    def _send(self, node: Node) -> None:
        """Send a node the next blocks that it waits for."""
        mine = [parcel for (other, _), parcel in self._parcels.items() if other is node]
        under_way = sum(parcel.kept is not None for parcel in mine)
        for parcel in [parcel for parcel in mine if parcel.kept is None][: AT_ONCE - under_way]:
            parcel.source = self._source(parcel)
            parcel.kept = self._nodes.ask(
                keep_block,
                node,
                parcel.block,
                parcel.source,
                then=partial(self._arrived, parcel),
                name="keep",
                only=[node],
                priority=PRIORITY,
            )

    def _source(self, parcel: _Parcel) -> Future:
        """Return a block's bytes, which are with Dask then."""
        nodes, block = self._nodes, parcel.block
        parcel.senders = [node for node in nodes.here if block in node.blocks]
        if parcel.senders:
            sender = min(parcel.senders, key=self._burden)
            return nodes.ask(
                read_block,
                sender,
                block,
                then=lambda _: None,
                name="read",
                only=parcel.senders,
                priority=PRIORITY,
                fetched=False,
            )
        if not self._database.has_block(block):
            self._refuse(block)
        data = self._database.block_bytes(block)
        self._database.release()
        self.sent_bytes += len(data)
        return nodes.put(data, parcel.node)

    def _refuse(self, block: int) -> None:
        """End the search for want of a block; say which file it should be in."""
        hosts = ", ".join(sorted({node.facts.host for node in self._nodes.here}))
        try:
            self._database.block(block)
        except DatabaseError as error:
            words = f"{error.message}, or to a node: none has it ({hosts})"
            raise DatabaseError(words, file=error.file) from error

    def _burden(self, sender: Node) -> int:
        return sum(parcel.senders[:1] == [sender] for parcel in self._parcels.values())

    def _arrived(self, parcel: _Parcel, _: bool) -> None:
        """Do what waited for a block."""
        del self._parcels[parcel.node, parcel.block]
        parcel.node.blocks.add(parcel.block)
        if parcel.source is not None:
            self._nodes.withdraw(parcel.source)
        for then in parcel.then:
            then()
        self._send(parcel.node)
