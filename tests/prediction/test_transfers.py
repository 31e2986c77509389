"""How blocks come to nodes: links are busy with one block at a time, and receivers send on."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from swdual.prediction.nodes_file import Network
from swdual.prediction.transfers import Transfer, simulate_transfers

SECOND = Network(bandwidth=100.0, latency=0.0)
"""A block of 100 bytes takes a second."""


def test_one_sender_sends_block_after_block():
    """To three nodes that want different blocks."""
    found = simulate_transfers([(0, 0), (1, 1), (2, 2)], np.full(3, 100), [3], 4, SECOND)
    assert found == [Transfer(k, 3, k, k, k + 1) for k in range(3)]


def test_a_block_is_sent_on_by_those_who_have_it():
    """One sender and seven nodes: 1, 3 and 7 of them have it after 1, 2 and 3 seconds."""
    found = simulate_transfers([(k, 0) for k in range(7)], np.array([100]), [7], 8, SECOND)
    assert sorted(each.end for each in found) == [1, 2, 2, 3, 3, 3, 3]


def test_a_node_receives_one_block_at_a_time():
    """However many could send."""
    found = simulate_transfers([(0, 0), (0, 1)], np.array([100, 200]), [1, 2, 3], 4, SECOND)
    assert [(each.start, each.end) for each in found] == [(0, 1), (1, 3)]


def test_latency_comes_on_top():
    network = Network(bandwidth=50.0, latency=0.25)
    (found,) = simulate_transfers([(0, 0)], np.array([100]), [1], 2, network)
    assert found.end == 2.25


@pytest.mark.parametrize("seed", range(5))
def test_no_link_is_used_twice_at_once_and_nobody_sends_what_it_lacks(seed):
    rng = np.random.default_rng(seed)
    nodes, blocks = 12, 6
    sizes = rng.integers(1, 500, blocks)
    wanted = [(int(node), int(block)) for node in range(nodes) for block in range(blocks)]
    wanted = [wanted[k] for k in rng.permutation(len(wanted))[:40]]
    senders = [nodes, 3]
    wanted = [pair for pair in wanted if pair[0] != 3]
    found = simulate_transfers(wanted, sizes, senders, nodes + 1, SECOND)
    assert [(each.node, each.block) for each in found] == wanted
    arrived = {(each.node, each.block): each.end for each in found}
    for each in found:
        assert each.end == pytest.approx(each.start + sizes[each.block] / 100)
        assert each.sender in senders or arrived[each.sender, each.block] <= each.start
    for side in ("sender", "node"):
        for machine in range(nodes + 1):
            own = sorted((x.start, x.end) for x in found if getattr(x, side) == machine)
            assert all(a[1] <= b[0] + 1e-9 for a, b in pairwise(own))
