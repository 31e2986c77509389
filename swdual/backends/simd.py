"""The fast one for CPUs: SIMD lanes of 8-bit numbers, wider only for the targets that need them."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swdual.backend import TOO_LARGE, Progress
from swdual.backends._gotoh import score_kernel
from swdual.database.database import Database
from swdual.errors import EngineError
from swdual.lanes.cell import COLUMNS
from swdual.lanes.ladder import Rung, aligned, ladder
from swdual.lanes.pack import Pack, pack
from swdual.lanes.vector import register_bytes, register_count
from swdual.sequences.alphabet import CODES
from swdual.sequences.scoring import ScoringScheme

CALL_CELLS = 4_000_000_000
"""Cells of one call of a kernel: how often progress is told and a stop is noticed."""

KEPT_BYTES = 1 << 30
"""Memory for ranges of targets that are kept interleaved, for the next query."""


def bind(database: Database, scheme: ScoringScheme, lanes: int | None = None) -> SimdScorer:
    """Return a scorer for this machine.

    Parameters
    ----------
    database, scheme
        What is searched and how.
    lanes
        8-bit numbers a vector holds, a power of two from 16 to 128; by default two registers'
        full, or one where there are only 16 of them.
    """
    if lanes is None:
        lanes = register_bytes() * register_count() // 16
    return SimdScorer(database, scheme, lanes)


@dataclass
class Work:
    """What a scorer has computed: cells asked for, and cells of all lanes, idle ones included."""

    cells: int = 0
    lane_cells: int = 0


class SimdScorer:
    """Scores with 8-bit numbers, and again with 16 and 32 bits where a score did not fit."""

    def __init__(self, database: Database, scheme: ScoringScheme, lanes: int) -> None:
        self.work = Work()
        self.width = lanes
        self.rungs = ladder(scheme, lanes)
        self._kernels = {rung.bits: score_kernel(rung.bits, rung.lanes) for rung in self.rungs}
        self._database = database
        self._packs: dict[tuple[int, int, int], Future[Pack]] = {}
        self._lock = threading.Lock()

    def memory(self, longest_query: int) -> tuple[int, int]:
        """Return bytes: see `Scorer`. Ranges are kept laid out; each caller has H and E."""
        return min(self._database.residues, KEPT_BYTES), 2 * self.width * longest_query

    def __call__(
        self, query: bytes, block: int, first: int, last: int, progress: Progress
    ) -> NDArray[np.int32]:
        """Return the scores: see `Scorer`."""
        letters = np.frombuffer(query, np.uint8).astype(np.int64)
        narrowest, *wider = self.rungs
        packed = self._pack(block, first, last, narrowest.lanes)
        scores = self._score(letters, packed, narrowest, progress)
        for rung in wider:
            overflowed = np.flatnonzero(scores < 0)
            if len(overflowed) == 0:
                return scores
            again = pack(self._database.block(block), overflowed + first, rung.lanes)
            scores[overflowed] = self._score(letters, again, rung, lambda cells: progress(0))
        if scores.min(initial=0) < 0:
            raise EngineError(TOO_LARGE)
        return scores

    def _pack(self, block: int, first: int, last: int, lanes: int) -> Pack:
        """Return a range of targets interleaved: one thread does it, others wait for it."""
        key = (block, first, last)
        with self._lock:
            found = self._packs.pop(key, None)
            mine = found is None
            found = Future() if found is None else found
            self._packs[key] = found
        if mine:
            try:
                found.set_result(pack(self._database.block(block), np.arange(first, last), lanes))
            except BaseException as error:
                with self._lock:
                    del self._packs[key]
                found.set_exception(error)
            self._forget()
        return found.result()

    def _forget(self) -> None:
        """Let go of the packs that were not used for longest, if all are too many."""
        with self._lock:
            ready = [key for key, found in self._packs.items() if found.done()]
            held = sum(self._packs[key].result().columns for key in ready)
            for key in ready[:-1]:
                if held <= KEPT_BYTES:
                    break
                held -= self._packs.pop(key).result().columns

    def _score(
        self, query: NDArray[np.int64], packed: Pack, rung: Rung, progress: Progress
    ) -> NDArray[np.int32]:
        """Return scores in the order of the pack's targets; -1 where one does not fit the rung."""
        score_batches = self._kernels[rung.bits]
        kind = np.dtype(f"i{rung.bits // 8}")
        rows, group = len(query) * rung.lanes, COLUMNS * rung.lanes
        scratch = [
            aligned(size, kind) for size in (rows, rows, CODES * group, rung.lanes, rung.lanes)
        ]
        numbers = (rung.zero, rung.first_gap, rung.next_gap, rung.limit)
        out = np.empty(len(packed.event_targets), np.int32)
        used = np.unique(query)
        step = max(1, CALL_CELLS // max(1, len(query) * group))
        first = told = 0
        while first < len(packed.batch_starts) - 1:
            end = packed.batch_starts[first] + step
            last = max(first + 1, int(np.searchsorted(packed.batch_starts, end, "right")) - 1)
            score_batches(
                packed.codes,
                packed.batch_starts,
                packed.event_starts,
                packed.event_groups,
                packed.event_lanes,
                packed.event_targets,
                first,
                last,
                query,
                used,
                rung.low,
                rung.high,
                numbers,
                *scratch,
                out,
            )
            columns = int(packed.batch_starts[last]) * group
            cells = columns * packed.residues // packed.columns * len(query)
            progress(cells - told)
            first, told = last, cells
        with self._lock:
            self.work.cells += packed.residues * len(query)
            self.work.lane_cells += packed.columns * len(query)
        return out
