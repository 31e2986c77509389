"""Delivery: blocks of the database sent to the nodes that lack them, once each.

A block comes from a node that has it, or from the client. Dask carries it; a node that lacks many
gets them one by one, in the order in which its shares need them, while it computes others.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from distributed import Future

from swdual.cluster.membership import Node, Nodes
from swdual.cluster.remote import keep_block, read_block
from swdual.database.database import Database
from swdual.errors import DatabaseError

AT_ONCE = 2
"""Blocks under way to a node: one arrives while the other is read."""

FROM_CLIENT, FROM_NODE = 4, 2
"""Blocks under way from the client, as the scheduler holds them meanwhile, and from a node."""

PRIORITY = 1 << 40
"""Before all shares: somebody may wait for it."""


@dataclass(eq=False)
class _Transfer:
    """A block that a node waits for; under way if `kept` will tell when it is there.

    It comes from the client if there is no `sender`.
    """

    node: Node
    block: int
    then: list[Callable[[], None]]
    sender: Node | None = None
    read: Future | None = None
    kept: Future | None = None


class BlockTransfers:
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
        self._parcels: dict[tuple[Node, int], _Transfer] = {}

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
        self._parcels[node, block] = _Transfer(node, block, [then])
        self._send()

    def left(self, node: Node) -> None:
        """Forget what was on its way to a node that is lost, and send anew what came from it."""
        for key in [key for key in self._parcels if key[0] is node]:
            self._take_back(self._parcels.pop(key))
        for parcel in self._parcels.values():
            if parcel.sender is node:
                self._take_back(parcel)
        self._send()

    def _take_back(self, parcel: _Transfer) -> None:
        for future in (parcel.kept, parcel.read):
            if future is not None:
                self._nodes.withdraw(future)
        parcel.sender = parcel.read = parcel.kept = None

    def _send(self) -> None:
        """Send nodes the next blocks that they wait for."""
        under_way = [parcel for parcel in self._parcels.values() if parcel.kept is not None]
        to = Counter(parcel.node for parcel in under_way)
        sending = Counter(parcel.sender for parcel in under_way)
        leaving = {parcel.block for parcel in under_way if parcel.sender is None}
        here = self._nodes.here
        for parcel in [parcel for parcel in self._parcels.values() if parcel.kept is None]:
            if to[parcel.node] >= AT_ONCE:
                continue
            senders = [node for node in here if parcel.block in node.blocks]
            sender = min(senders, key=lambda node: sending[node]) if senders else None
            if sending[sender] >= (FROM_CLIENT if sender is None else FROM_NODE):
                continue
            if sender is None:
                if parcel.block in leaving:  # soon a node will have it, and send it on
                    continue
                leaving.add(parcel.block)
            self._send_from(sender, parcel)
            to[parcel.node] += 1
            sending[sender] += 1

    def _send_from(self, sender: Node | None, parcel: _Transfer) -> None:
        """Send a block from a node that has it, or from here."""
        nodes, block = self._nodes, parcel.block
        data: bytes | Future
        if sender is None:
            if not self._database.has_block(block):
                self._refuse(block)
            data = self._database.block_bytes(block)
        else:
            parcel.sender = sender
            data = parcel.read = nodes.ask(
                read_block,
                sender,
                block,
                then=None,
                name="read",
                only=[sender],
                priority=PRIORITY,
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # there is no better way
            parcel.kept = nodes.ask(
                keep_block,
                parcel.node,
                block,
                data,
                then=partial(self._arrived, parcel),
                name="keep",
                only=[parcel.node],
                priority=PRIORITY,
            )
        self._database.release()

    def _refuse(self, block: int) -> None:
        """End the search for want of a block; say which file it should be in."""
        hosts = ", ".join(sorted({node.facts.host for node in self._nodes.here}))
        try:
            self._database.block(block)
        except DatabaseError as error:
            words = f"{error.message}, or to a node: none has it ({hosts})"
            raise DatabaseError(words, file=error.file) from error

    def _arrived(self, parcel: _Transfer, _: None) -> None:
        """Do what waited for a block."""
        del self._parcels[parcel.node, parcel.block]
        parcel.node.blocks.add(parcel.block)
        if parcel.read is not None:
            self._nodes.withdraw(parcel.read)
        for then in parcel.then:
            then()
        self._send()
