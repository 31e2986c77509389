"""Simulates the transfers of blocks to the nodes that lack them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.prediction.nodes_file import Network


class Transfer(NamedTuple):
    """A block on its way from a machine to a node; seconds from the start of the search."""

    block: int
    sender: int
    node: int
    start: float
    end: float


def simulate_transfers(
    wanted: Sequence[tuple[int, int]],
    sizes: NDArray[np.int64],
    senders: Collection[int],
    machines: int,
    network: Network,
) -> list[Transfer]:
    """Return the transfers of blocks, each as soon as its links are free, in the order given.

    A machine sends one block at a time and receives one at a time. A node that has received a
    block can send it on.

    Parameters
    ----------
    wanted
        Pairs of node and block, in the order in which they are needed.
    sizes
        Bytes of each block.
    senders
        Machines that have all blocks.
    machines
        The number of machines; the nodes are the first of them.
    network
        Their links.
    """
    sending, receiving = np.zeros(machines), np.zeros(machines)
    everything = np.array(sorted(senders), np.int64)
    owners: dict[int, list[Transfer]] = {}
    transfers = []
    for node, block in wanted:
        sender = int(everything[sending[everything].argmin()])
        start = sending[sender]
        for earlier in owners.get(block, ()):
            possible = max(sending[earlier.node], earlier.end)
            if possible < start:
                sender, start = earlier.node, possible
        start = max(start, receiving[node])
        end = start + network.latency + sizes[block] / network.bandwidth
        sending[sender] = receiving[node] = end
        transfers.append(Transfer(block, sender, node, float(start), float(end)))
        owners.setdefault(block, []).append(transfers[-1])
    return transfers
