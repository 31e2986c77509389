"""Block transfers: each node gets the blocks of the database that it lacks, once.

A block comes from a node that has it, or from the client. Dask carries the bytes. A node that lacks
many blocks gets them in the order in which its shares need them, while it computes other shares.
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

MAX_RECEIVING = 2
"""Blocks on the way to one node: one arrives while the other is read."""

MAX_CLIENT_SENDING, MAX_NODE_SENDING = 4, 2
"""Blocks on the way from the client, which the scheduler holds meanwhile, and from one node."""

PRIORITY = 1 << 40
"""Higher than that of all shares: a share may wait for the block."""


@dataclass(eq=False)
class _Transfer:
    """A block that a node waits for.

    It has three states. Waiting: `stored` is None. On the way: `stored` is the future that keeps
    the block on the node; `read` is the future that reads it on `sender`, both None if the client
    sends. Arrived: it is removed, and each function of `then` is called.
    """

    node: Node
    block: int
    then: list[Callable[[], None]]
    sender: Node | None = None
    read: Future | None = None
    stored: Future | None = None


class BlockTransfers:
    """The blocks that nodes wait for; the thread of the search calls everything here.

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
        self._waiting: dict[tuple[Node, int], _Transfer] = {}

    def request(self, node: Node, block: int, then: Callable[[], None]) -> None:
        """Send a block to a node, unless it is there, and call a function when it has arrived.

        Parameters
        ----------
        node, block
            The node, and the number of the block.
        then
            Called at once if the node has the block.

        Raises
        ------
        DatabaseError
            If neither a node nor the client has the block.
        """
        if block in node.blocks:
            then()
            return
        transfer = self._waiting.get((node, block))
        if transfer is not None:
            transfer.then.append(then)
            return
        self._waiting[node, block] = _Transfer(node, block, [then])
        self._send()

    def forget_node(self, node: Node) -> None:
        """Drop transfers to a lost node, and restart those from it."""
        for key in [key for key in self._waiting if key[0] is node]:
            self._cancel(self._waiting.pop(key))
        for transfer in self._waiting.values():
            if transfer.sender is node:
                self._cancel(transfer)
        self._send()

    def _cancel(self, transfer: _Transfer) -> None:
        """Set a transfer back to waiting."""
        for future in (transfer.stored, transfer.read):
            if future is not None:
                self._nodes.cancel(future)
        transfer.sender = transfer.read = transfer.stored = None

    def _send(self) -> None:
        """Start the next transfers, as many as the limits of nodes and client allow."""
        under_way = [transfer for transfer in self._waiting.values() if transfer.stored is not None]
        to = Counter(transfer.node for transfer in under_way)
        sending = Counter(transfer.sender for transfer in under_way)
        leaving = {transfer.block for transfer in under_way if transfer.sender is None}
        here = self._nodes.active
        for transfer in [
            transfer for transfer in self._waiting.values() if transfer.stored is None
        ]:
            if to[transfer.node] >= MAX_RECEIVING:
                continue
            senders = [node for node in here if transfer.block in node.blocks]
            sender = min(senders, key=lambda node: sending[node]) if senders else None
            if sending[sender] >= (MAX_CLIENT_SENDING if sender is None else MAX_NODE_SENDING):
                continue
            if sender is None:
                if transfer.block in leaving:  # soon a node has it and can send it
                    continue
                leaving.add(transfer.block)
            self._send_from(sender, transfer)
            to[transfer.node] += 1
            sending[sender] += 1

    def _send_from(self, sender: Node | None, transfer: _Transfer) -> None:
        """Send a block from a node that has it, or from the client."""
        nodes, block = self._nodes, transfer.block
        data: bytes | Future
        if sender is None:
            if not self._database.has_block(block):
                self._refuse(block)
            data = self._database.block_bytes(block)
        else:
            transfer.sender = sender
            data = transfer.read = nodes.submit(
                read_block,
                sender,
                block,
                then=None,
                name="read",
                only=[sender],
                priority=PRIORITY,
            )
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "Sending large graph"
            )  # the client has the block, not Dask
            transfer.stored = nodes.submit(
                keep_block,
                transfer.node,
                block,
                data,
                then=partial(self._finish, transfer),
                name="keep",
                only=[transfer.node],
                priority=PRIORITY,
            )
        self._database.release()

    def _refuse(self, block: int) -> None:
        """Raise the error of a block that is nowhere; it names the file that should have it."""
        hosts = ", ".join(sorted({node.facts.host for node in self._nodes.active}))
        try:
            self._database.block(block)
        except DatabaseError as error:
            words = f"{error.message}, or to a node: none has it ({hosts})"
            raise DatabaseError(words, file=error.file) from error

    def _finish(self, transfer: _Transfer, _: None) -> None:
        """Call what waits for a block that has arrived, and start the next transfers."""
        del self._waiting[transfer.node, transfer.block]
        transfer.node.blocks.add(transfer.block)
        if transfer.read is not None:
            self._nodes.cancel(transfer.read)
        for then in transfer.then:
            then()
        self._send()
