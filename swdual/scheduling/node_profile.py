"""Availability profiles of nodes: what each will have free, by requested times.

Like `swdual.scheduling.profile`, but of nodes with several resources, some of which may be down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.scheduling.kernels import nodes as kernels
from swdual.scheduling.kernels import profile as slices
from swdual.scheduling.node_table import NodeRequest, NodeTable, Placement


class NodeProfile:
    """The free resources of nodes from now on; the last slice never ends.

    Parameters
    ----------
    nodes
        The nodes; all of them are free.
    """

    def __init__(self, nodes: NodeTable) -> None:
        capacity = 16
        self._nodes = nodes
        self._size = 1
        self._times = np.full(capacity, -np.inf)
        self._counts = np.full(capacity, nodes.sizes.sum(), np.int64)
        self._rows = np.arange(capacity)
        self._table = np.zeros((capacity, len(nodes.empty_row)), np.int64)
        self._table[0] = nodes.empty_row
        self._window = nodes.empty_row.copy()
        self._placed = np.zeros((2, len(nodes)), np.int64)

    def advance(self, now: float) -> bool:
        """Forget what was before now; return whether a slice has ended since the last time."""
        size = self._size
        self._size = slices.advance(self._times, self._counts, self._rows, size, now)
        return self._size < size

    def find_earliest(self, request: NodeRequest, duration: float) -> tuple[float, Placement]:
        """Return the earliest start of a job that delays no reservation, and its placement.

        Parameters
        ----------
        request
            What the job asks for; it fits on the empty platform.
        duration
            Seconds.
        """
        first = self._find_start(request, duration, self._size)
        return float(self._times[first]), self._read_placement(request)

    def fit_now(self, request: NodeRequest, duration: float) -> Placement | None:
        """Return the placement of a job that starts now, or None. See `find_earliest`."""
        if self._find_start(request, duration, 1):
            return None
        return self._read_placement(request)

    def reserve(self, start: float, end: float, placement: Placement) -> None:
        """Reserve what a placement holds in [start, end), in seconds."""
        self._change(start, end, placement.nodes, _pad(-placement.held))

    def release(self, start: float, end: float, placement: Placement) -> None:
        """Release what was reserved in [start, end)."""
        self._change(start, end, placement.nodes, _pad(placement.held))

    def block(self, start: float, end: float, nodes: NDArray[np.int64]) -> None:
        """Let nodes be down in [start, end), or from now on if it has begun."""
        down = np.zeros((len(nodes), kernels.FIELDS), np.int64)
        down[:, -1] = 1
        self._change(max(start, float(self._times[0])), end, nodes, down)

    def _find_start(self, request: NodeRequest, duration: float, stop: int) -> int:
        return kernels.find_start(
            *(self._times, self._counts, self._rows, self._table, self._size, stop, duration),
            *(self._nodes.sizes, request.allowed, request.numbers, self._window, self._placed),
        )

    def _read_placement(self, request: NodeRequest) -> Placement:
        """Return the placement that the kernel has written."""
        nodes = np.flatnonzero(self._placed[0])
        processors = self._placed[0, nodes]
        if request.exclusive:
            return Placement(nodes, processors, self._nodes.capacity[nodes])
        memory = processors * request.numbers[2]
        return Placement(
            nodes, processors, np.stack((processors, memory, self._placed[1, nodes]), axis=1)
        )

    def _change(
        self, start: float, end: float, nodes: NDArray[np.int64], by: NDArray[np.int64]
    ) -> None:
        if not start < end:
            return
        if self._size + 2 > len(self._times):
            self._grow()
        profile = self._times, self._counts, self._rows, self._table
        first, self._size = slices.split(*profile, self._size, start)
        stop, self._size = slices.split(*profile, self._size, end)
        kernels.change(self._counts, self._rows, self._table, first, stop, nodes, by)
        self._size = slices.join(*profile, self._size, stop)
        self._size = slices.join(*profile, self._size, first)

    def _grow(self) -> None:
        size = len(self._times)
        self._times = np.resize(self._times, 2 * size)
        self._counts = np.resize(self._counts, 2 * size)
        self._rows = np.append(self._rows, np.arange(size, 2 * size))
        self._table = np.concatenate((self._table, np.zeros_like(self._table)))


def _pad(held: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (nodes, 4) a change of what is free that leaves outages as they are."""
    return np.concatenate((held, np.zeros((len(held), 1), np.int64)), axis=1)
