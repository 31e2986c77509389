"""Linkages: which sequences make a cluster, given the pairs that pass.

Sequences are numbered by falling length, equally long ones by their order in the input. Of several
choices that are equally good, the one with the lowest number is taken. So clusters depend on the
sequences and the pairs only. The lowest number of a cluster is that of its longest sequence, which
represents it; with "set-cover" it is the sequence that all others pass with.

greedy
    In turn, the longest sequence that is in no cluster represents a new one. All sequences that
    pass with it and are in no cluster join it. This is CD-HIT's default, and mode 2 of MMseqs2.
set-cover
    In turn, the sequence that passes with the most sequences in no cluster represents a new one,
    with all of these. This is mode 0 of MMseqs2, its default.
single
    Sequences that are connected by a chain of pairs are in one cluster: connected components, mode
    1 of MMseqs2.
complete
    All pairs of a cluster pass. In turn, the two clusters are joined whose least identity, between
    members of the one and of the other, is largest, as long as all these pairs pass.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Neighbors = list[dict[int, float]]
"""The sequences that each sequence passes with, and their identities."""


def link(
    count: int, pairs: NDArray[np.int64], identities: NDArray[np.float64], linkage: str
) -> NDArray[np.int64]:
    """Return (count,) the number of the sequence that represents the cluster of each sequence.

    Parameters
    ----------
    count
        The number of sequences.
    pairs
        (pairs, 2) the numbers of sequences that pass; each pair once.
    identities
        (pairs,) their identities; they matter with "complete" only.
    linkage
        One of `LINKAGES`.
    """
    neighbors: Neighbors = [{} for _ in range(count)]
    for (a, b), identity in zip(pairs.tolist(), identities.tolist(), strict=True):
        neighbors[a][b] = neighbors[b][a] = identity
    return np.array(_LINKAGES[linkage](neighbors), np.int64)


def _link_greedily(neighbors: Neighbors) -> list[int]:
    representatives = [-1] * len(neighbors)
    for number, others in enumerate(neighbors):
        if representatives[number] < 0:
            _assign(representatives, number, others)
    return representatives


def _assign(representatives: list[int], number: int, others: dict[int, float]) -> None:
    """Let a sequence represent itself, and those of the others that are in no cluster."""
    representatives[number] = number
    for other in others:
        if representatives[other] < 0:
            representatives[other] = number


def _cover_sets(neighbors: Neighbors) -> list[int]:
    representatives = [-1] * len(neighbors)
    heap = [(-len(others), number) for number, others in enumerate(neighbors)]
    heapq.heapify(heap)
    # The number of others in no cluster only falls. So the first of the heap is the best one if
    # its number is still right; else it goes back with the right one.
    while heap:
        gain, number = heapq.heappop(heap)
        if representatives[number] >= 0:
            continue
        others = neighbors[number]
        left = sum(representatives[other] < 0 for other in others)
        if left < -gain:
            heapq.heappush(heap, (-left, number))
        else:
            _assign(representatives, number, others)
    return representatives


def _link_components(neighbors: Neighbors) -> list[int]:
    representatives = [-1] * len(neighbors)
    for number in range(len(neighbors)):
        if representatives[number] >= 0:
            continue
        representatives[number] = number
        waiting = [number]
        while waiting:
            for other in neighbors[waiting.pop()]:
                if representatives[other] < 0:
                    representatives[other] = number
                    waiting.append(other)
    return representatives


def _link_completely(neighbors: Neighbors) -> list[int]:
    representatives = list(range(len(neighbors)))
    heap = [
        (-identity, number, other)
        for number, others in enumerate(neighbors)
        for other, identity in others.items()
        if number < other
    ]
    heapq.heapify(heap)
    # A cluster has the number of its representative. Invariant: ``neighbors[a][b]`` is the least
    # identity between the clusters a and b, and there is none if one of their pairs does not pass.
    # An entry of the heap that says something else is out of date.
    while heap:
        identity, number, other = heapq.heappop(heap)
        if neighbors[number].get(other) != -identity:
            continue
        mine, others = neighbors[number], neighbors[other]
        neighbors[number], neighbors[other] = {}, {}
        for third in mine.keys() | others.keys():
            neighbors[third].pop(number, None)
            neighbors[third].pop(other, None)
        for third in mine.keys() & others.keys():
            least = min(mine[third], others[third])
            neighbors[number][third] = neighbors[third][number] = least
            heapq.heappush(heap, (-least, min(number, third), max(number, third)))
        representatives[other] = number
    for number, representative in enumerate(representatives):  # the lower number is done already
        representatives[number] = representatives[representative]
    return representatives


_LINKAGES: dict[str, Callable[[Neighbors], list[int]]] = {
    "greedy": _link_greedily,
    "set-cover": _cover_sets,
    "single": _link_components,
    "complete": _link_completely,
}
