"""Targets laid into lanes: which target stands in which lane when, and their codes side by side.

A batch is as many column groups as its longest target needs. Each lane takes the longest target
left, then the longest that still fits behind it, and so on: where lengths are alike that is one
target a lane, and beside a giant the others line up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swdual.database.database import Block
from swdual.errors import EngineError
from swdual.jit import kernel
from swdual.lanes.cell import COLUMNS
from swdual.sequences.alphabet import ALIGNMENT, PAD

LARGEST_PACK_BYTES = 4 << 30
"""Memory for interleaved codes: lanes times the longest target, at least."""


@dataclass(frozen=True)
class Pack:
    """Some targets of a block, interleaved: byte ``c * lanes + l`` is column c of lane l.

    Batch b takes the column groups from ``batch_starts[b]`` to ``batch_starts[b + 1]``. Its events
    ``event_starts[b]`` to ``event_starts[b + 1]`` say that after group `event_groups` (counted
    from the batch's first) lane `event_lanes` has come to the end of target `event_targets`
    (counted in the order given to `pack`).
    """

    lanes: int
    residues: int
    codes: NDArray[np.uint8]
    batch_starts: NDArray[np.int64]
    event_starts: NDArray[np.int64]
    event_groups: NDArray[np.int64]
    event_lanes: NDArray[np.int64]
    event_targets: NDArray[np.int64]

    @property
    def columns(self) -> int:
        """The columns of all lanes: residues, padding and idle lanes."""
        return len(self.codes)


def pack(block: Block, targets: NDArray[np.int64], lanes: int) -> Pack:
    """Lay targets of a block (indices in descending length) into lanes."""
    starts = block.starts[targets].astype(np.int64) * ALIGNMENT
    lengths = block.lengths[targets].astype(np.int64)
    groups = -(-lengths // COLUMNS)
    batch, lane, group = (np.empty(len(targets), np.int64) for _ in range(3))
    widths = np.empty(len(targets), np.int64)
    batches = _assign(groups, lanes, batch, lane, group, widths)
    batch_starts = np.concatenate(([0], np.cumsum(widths[:batches])))
    size = int(batch_starts[-1]) * COLUMNS * lanes
    if size > LARGEST_PACK_BYTES:
        raise EngineError(
            f"a target of {int(lengths[0])} residues is too long for {lanes} lanes beside each "
            "other; split it into overlapping pieces"
        )
    codes = np.full(size, PAD, np.uint8)
    _interleave(
        block.residues, starts, lengths, batch_starts[batch] + group, lane, lanes * COLUMNS, codes
    )
    ends = group + groups - 1
    order = np.lexsort((lane, ends, batch))
    return Pack(
        lanes=lanes,
        residues=int(lengths.sum()),
        codes=codes,
        batch_starts=batch_starts,
        event_starts=np.searchsorted(batch[order], np.arange(batches + 1)),
        event_groups=ends[order],
        event_lanes=lane[order],
        event_targets=order,
    )


@kernel
def _assign(
    groups: NDArray[np.int64],
    lanes: int,
    batch: NDArray[np.int64],
    lane: NDArray[np.int64],
    first_group: NDArray[np.int64],
    widths: NDArray[np.int64],
) -> int:
    """Choose batch, lane and first group of each target; return the number of batches.

    `groups` descends. `left[k]` leads to the first target from k on that is still unplaced.
    """
    count = len(groups)
    left = np.arange(count + 1)
    longest = batches = 0
    while longest < count:
        width = groups[longest]
        for column in range(lanes):
            room = width
            k = longest
            while k < count:
                batch[k], lane[k], first_group[k] = batches, column, width - room
                left[k] = k + 1
                room -= groups[k]
                # The first target that fits the rest of this lane.
                low, high = k + 1, count
                while low < high:
                    middle = (low + high) // 2
                    if groups[middle] <= room:
                        high = middle
                    else:
                        low = middle + 1
                k = low
                while left[k] != k:
                    left[k] = left[left[k]]
                    k = left[k]
            while left[longest] != longest:
                left[longest] = left[left[longest]]
                longest = left[longest]
            if longest == count:
                break
        widths[batches] = width
        batches += 1
    return batches


@kernel
def _interleave(
    residues: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    groups: NDArray[np.int64],
    lane: NDArray[np.int64],
    group_bytes: int,
    codes: NDArray[np.uint8],
) -> None:
    """Write each target down its lane."""
    lanes = group_bytes // COLUMNS
    for k in range(len(starts)):
        at = groups[k] * group_bytes + lane[k]
        for i in range(lengths[k]):
            codes[at + i * lanes] = residues[starts[k] + i]
