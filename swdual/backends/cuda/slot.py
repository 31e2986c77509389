"""The memory of one launch, on the card and in the host, and what is fetched from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.backends.cuda.card import Buffer, Stream
from swdual.backends.cuda.memory import Shelf, pad_size
from swdual.backends.cuda.pieces import round_up

MAX_KEYS = 1 << 15
"""Candidates of one query; where there are more, all scores are fetched."""

COUNTERS = {
    **{"next": 0, "rescue_count": 1, "rescue_next": 3},
    **{"left_count": 5, "left_next": 7, "key_count": 9},
}
"""Which of the counters is which; all but the first are one for each of two queries."""

COUNTER_BYTES = 4


class Slot:
    """Arrays of one launch, one behind the other.

    ::

        counters | scores of each query | keys of each | queries | cutoffs of each
        | pieces to score again, of each | pieces that bounds have left, of each

    The first two begin as 0. The host has the same arrays but the last two. Cutoffs and the last
    are there for bounds only.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._buffer: Buffer | None = None
        self._host = np.empty(0, np.uint8)
        self._offsets: dict[tuple[str, int], int] = {}
        self.max_keys = MAX_KEYS
        self._targets = 0

    def lay_out(
        self,
        queries: Sequence[NDArray[np.uint8]],
        targets: int,
        rows: int,
        cutoffs: Sequence[NDArray[np.uint32]] = (),
    ) -> None:
        """Make room for these queries, so many targets and so many pieces.

        What was launched before has been waited for.

        Parameters
        ----------
        queries
            What the card is given of one or two queries: see `KernelQuery.lay_out`.
        targets
            Number of targets.
        rows
            Number of pieces, each of which may have to be scored again.
        cutoffs
            If bounds are computed first, of each query: see `KernelQuery.lay_out_cutoffs`.
        """
        sizes = [("counters", COUNTER_BYTES * (COUNTERS["key_count"] + 2))]
        sizes += [("scores", 4 * targets)] * len(queries)
        sizes += [("keys", 8 * self.max_keys)] * len(queries)
        sizes += [("query", len(query)) for query in queries]
        sizes += [("cutoffs", table.nbytes) for table in cutoffs]
        mirrored = sum(pad_size(size) for _, size in sizes)
        sizes += [("rescue", 4 * rows)] * len(queries)
        sizes += [("left", 4 * rows)] * len(cutoffs)
        self._offsets.clear()
        size = 0
        for name, each in sizes:
            number = sum(other == name for other, _ in self._offsets)
            self._offsets[name, number] = size
            size += pad_size(each)
        self._targets = targets
        if self._buffer is None or self._buffer.size < size:
            if self._buffer is not None:
                self._shelf.budget.free(self._buffer)
                self._buffer = None
            self._buffer = self._shelf.budget.allocate(round_up(size))
        if len(self._host) < mirrored:
            self._host = self._shelf.card.allocate_pinned(round_up(mirrored))
        for number, query in enumerate(queries):
            self._set("query", number, query)
        for number, table in enumerate(cutoffs):
            self._set("cutoffs", number, table.reshape(-1).view(np.uint8))

    def _set(self, name: str, number: int, content: NDArray[np.uint8]) -> None:
        """Write down what is sent to the card."""
        begin = self._offsets[name, number]
        self._host[begin : begin + len(content)] = content

    def address(self, name: str, number: int = 0) -> int:
        """Return where an array or a counter lies on the card.

        Parameters
        ----------
        name
            A name of `COUNTERS`, or "scores", "keys", "query", "cutoffs", "rescue" or "left".
        number
            Which of the two queries it belongs to.
        """
        if name in COUNTERS:
            offset = COUNTER_BYTES * (COUNTERS[name] + number)
        else:
            offset = self._offsets[name, number]
        return self._memory.address + offset

    @property
    def _memory(self) -> Buffer:
        assert self._buffer is not None, "not laid out"
        return self._buffer

    def send(self, stream: Stream) -> None:
        """Queue the copy of queries and cutoffs to the card; set counters and scores there to 0."""
        begin, end = self._offsets["query", 0], self._offsets["rescue", 0]
        stream.upload(self._memory, begin, self._host[begin:end])
        stream.clear(self._memory, 0, self._offsets["keys", 0])

    def fetch(self, stream: Stream, *, scores: bool) -> None:
        """Queue the copy of results to the host.

        Parameters
        ----------
        stream
            The stream.
        scores
            Copy the counters and all scores; otherwise the counters and the keys.
        """
        middle, end = self._offsets["keys", 0], self._offsets["query", 0]
        if scores:
            stream.download(self._host[:middle], self._memory, 0)
        else:
            few = self._offsets["scores", 0]
            stream.download(self._host[:few], self._memory, 0)
            stream.download(self._host[middle:end], self._memory, middle)

    def scores(self, number: int) -> NDArray[np.int32]:
        """Return the scores of a query that were fetched."""
        begin = self._offsets["scores", number]
        return self._host[begin : begin + 4 * self._targets].view(np.int32).copy()

    def counter(self, name: str, number: int) -> int:
        """Return one of `COUNTERS` that was fetched."""
        offset = COUNTER_BYTES * (COUNTERS[name] + number)
        return int(self._host[offset : offset + COUNTER_BYTES].view(np.uint32)[0])

    def left(self, number: int) -> int | None:
        """Return how many pieces bounds have left of a query, fetched; None without bounds."""
        bounded = ("cutoffs", number) in self._offsets
        return self.counter("left_count", number) if bounded else None

    def keys(self, number: int) -> NDArray[np.uint64] | None:
        """Return the keys of a query that were fetched; None if there were more than `max_keys`."""
        count = self.counter("key_count", number)
        if count > self.max_keys:
            return None
        begin = self._offsets["keys", number]
        return self._host[begin : begin + 8 * count].view(np.uint64).copy()
