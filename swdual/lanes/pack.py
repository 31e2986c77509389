"""Targets laid into lanes: which target stands in which lane when, and their codes side by side.

A batch is as many column groups as its longest target needs. Each lane takes the longest target
left, then the longest that still fits behind it, and so on: where lengths are alike that is one
target a lane, and beside a long target the others line up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swdual.database.blocks import Block
from swdual.errors import EngineError
from swdual.lanes.registers import COLUMNS
from swdual.runtime.native import native
from swdual.sequences.alphabet import ALIGNMENT, PAD

MAX_PACK_BYTES = 4 << 30
"""Memory for interleaved codes: lanes times the longest target, at least."""

MAX_COLUMNS_PER_RESIDUE, LARGE_BYTES = 32, 1 << 20
"""A batch of more columns per residue, and of more bytes, is not laid out: a few genomes, say."""

TARGET_BYTES = 5 * 8
"""What is kept of each target besides its codes: start, length, and an event's three numbers."""

INTRA_SEQUENCE_COST = 4
"""Cost per residue of the intra-sequence kernel, relative to the other kernel with full lanes."""


@dataclass(frozen=True)
class Pack:
    """Some targets of a block, interleaved: byte ``c * lanes + l`` is column c of lane l.

    Batch b takes the column groups from ``batch_starts[b]`` to ``batch_starts[b + 1]``; it may
    take none if nearly all lanes would idle: its targets are to be scored one by one. Its events
    ``event_starts[b]`` to ``event_starts[b + 1]`` say that after group `event_groups` (counted
    from the batch's first) lane `event_lanes` has come to the end of target `event_targets`
    (counted in the order given to `pack`).
    """

    lanes: int
    source: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    codes: NDArray[np.uint8]
    batch_starts: NDArray[np.int64]
    event_starts: NDArray[np.int64]
    event_groups: NDArray[np.int64]
    event_lanes: NDArray[np.int64]
    event_targets: NDArray[np.int64]

    @cached_property
    def residues(self) -> int:
        """The residues of all targets."""
        return int(self.lengths.sum())

    @cached_property
    def batch_residues(self) -> NDArray[np.int64]:
        """The residues of each batch's targets."""
        before = np.concatenate(([0], np.cumsum(self.lengths[self.event_targets])))
        return np.diff(before[self.event_starts])

    @cached_property
    def lane_targets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first target of each lane of each batch, and the target that follows each event.

        -1 stands for none.
        """
        batch = np.repeat(np.arange(len(self.batch_starts) - 1), np.diff(self.event_starts))
        place = batch * self.lanes + self.event_lanes
        order = np.lexsort((self.event_groups, place))
        continues = np.diff(place[order]) == 0
        first_targets = np.full((len(self.batch_starts) - 1) * self.lanes, -1, np.int64)
        next_targets = np.full(len(order), -1, np.int64)
        firsts = order[np.concatenate((np.ones(min(len(order), 1), bool), ~continues))]
        first_targets[place[firsts]] = self.event_targets[firsts]
        next_targets[order[:-1][continues]] = self.event_targets[order[1:][continues]]
        return first_targets, next_targets

    @property
    def columns(self) -> int:
        """The columns of all lanes: residues, padding and idle lanes."""
        return len(self.codes)

    @property
    def bytes(self) -> int:
        """The memory of the pack, with the residues if it has a copy of its own of them."""
        copied = len(self.source) if self.source.base is None else 0
        return self.columns + TARGET_BYTES * len(self.lengths) + copied


def count_columns(
    lengths: NDArray[np.int64], lanes: int, sparse: ArrayLike = INTRA_SEQUENCE_COST
) -> NDArray[np.float64]:
    """Return the cost of scoring some targets, in columns of one lane.

    Parameters
    ----------
    lengths
        (targets,) residues, descending.
    lanes
        Scores in a vector.
    sparse
        Cost per residue of the intra-sequence kernel, a number or an array. A batch costs its
        columns in all lanes, or its residues times `sparse` if that is less.

    Returns
    -------
    The cost, in the shape of `sparse`.
    """
    batch, _, _, widths = _assign_lanes(lengths, lanes)
    residues = np.bincount(batch, lengths, len(widths))
    alone = np.multiply.outer(np.asarray(sparse, np.float64), residues)
    return np.asarray(np.minimum(widths * COLUMNS * lanes, alone).sum(axis=-1))


def allocate_bytes(size: int) -> NDArray[np.uint8]:
    """Return a new array of so many bytes.

    Parameters
    ----------
    size
        Its length.
    """
    return np.empty(size, np.uint8)


def pack(
    block: Block,
    targets: NDArray[np.int64],
    lanes: int,
    *,
    alone: int = 0,
    long_targets: bool = True,
    allocate: Callable[[int], NDArray[np.uint8]] = allocate_bytes,
) -> Pack:
    """Lay targets of a block into lanes.

    Parameters
    ----------
    block
        The block.
    targets
        Numbers of targets in the block, by descending length.
    lanes
        Scores in a vector.
    alone
        How many of the longest targets are not laid out: the intra-sequence kernel scores them, and
        they are the first batch.
    long_targets
        Whether to lay out large batches, too, that leave nearly all lanes idle. Otherwise they have
        no columns, and the intra-sequence kernel scores their targets.
    allocate
        Returns an array for so many codes; its content does not matter.

    Raises
    ------
    EngineError
        If the codes would take more than `MAX_PACK_BYTES`.
    """
    starts = block.starts[targets].astype(np.int64) * ALIGNMENT
    lengths = block.lengths[targets].astype(np.int64)
    batch, lane, group, widths = _assign_lanes(lengths[alone:], lanes)
    if alone:
        nothing = np.zeros(alone, np.int64)
        batch = np.concatenate((nothing, batch + 1))
        lane, group = np.concatenate((nothing, lane)), np.concatenate((nothing, group))
        widths = np.concatenate((nothing[:1], widths))
    if not long_targets:
        columns = widths * COLUMNS * lanes
        empty = np.bincount(batch, lengths, len(widths)) * MAX_COLUMNS_PER_RESIDUE < columns
        widths[empty & (columns > LARGE_BYTES)] = 0
    batch_starts = np.concatenate(([0], np.cumsum(widths)))
    size = int(batch_starts[-1]) * COLUMNS * lanes
    if size > MAX_PACK_BYTES:
        raise EngineError(
            f"a target of {int(lengths[0])} residues is too long for {lanes} lanes beside each "
            "other; split it into overlapping pieces"
        )
    codes = allocate(size)
    codes.fill(PAD)
    laid = widths[batch] > 0
    _interleave(
        block.residues,
        block.residues[: len(block.residues) // 8 * 8].view(np.uint64),
        starts[laid],
        lengths[laid],
        (batch_starts[batch] + group)[laid],
        lane[laid],
        lanes * COLUMNS,
        codes,
        codes.view(np.uint64),
    )
    # An event a target: in each batch by the group in which it ends, then by lane.
    ends = group + -(-lengths // COLUMNS) - 1
    order = np.lexsort((lane, ends, batch))
    return Pack(
        lanes=lanes,
        source=block.residues,
        starts=starts,
        lengths=lengths,
        codes=codes,
        batch_starts=batch_starts,
        event_starts=np.searchsorted(batch[order], np.arange(len(batch_starts))),
        event_groups=ends[order],
        event_lanes=lane[order],
        event_targets=order,
    )


def make_block(targets: Sequence[bytes]) -> Block:
    """Return targets, in descending length, as a block of their own.

    Parameters
    ----------
    targets
        Residue codes.
    """
    lengths = np.array([len(codes) for codes in targets], np.int64)
    ends = np.cumsum(-(-lengths // ALIGNMENT))
    padded = [
        codes.ljust(-(-len(codes) // ALIGNMENT) * ALIGNMENT, bytes([PAD])) for codes in targets
    ]
    return Block(
        0,
        np.frombuffer(b"".join(padded), np.uint8),
        (ends + lengths // -ALIGNMENT).astype(np.uint32),
        lengths.astype(np.uint32),
        np.arange(len(targets), dtype=np.uint64),
    )


def _assign_lanes(lengths: NDArray[np.int64], lanes: int) -> tuple[NDArray[np.int64], ...]:
    """Return batch, lane and first group of each target, and the groups of each batch."""
    groups = -(-lengths // COLUMNS)
    batch, lane, group, widths = (np.empty(len(lengths), np.int64) for _ in range(4))
    left = np.arange(len(lengths) + 1)
    batches = _assign(groups, lanes, left, batch, lane, group, widths)
    return batch, lane, group, widths[:batches]


@native
def _assign(
    groups: NDArray[np.int64],
    lanes: int,
    left: NDArray[np.int64],
    batch: NDArray[np.int64],
    lane: NDArray[np.int64],
    first_group: NDArray[np.int64],
    widths: NDArray[np.int64],
) -> int:
    """Choose batch, lane and first group of each target; return the number of batches.

    Parameters
    ----------
    groups
        (targets,) column groups of each target, descending.
    lanes
        Scores in a vector.
    left
        (targets + 1,) 0, 1, 2, ...; work space.
    batch, lane, first_group, widths
        (targets,) receive the choice, and the groups of each batch.
    """
    # First fit decreasing, with two shortcuts. `groups` descends, so the first target that fits
    # into the room left in a lane is found by bisection. It may be taken already: `left` is a
    # union-find forest in which following left[k] from k leads to the first target from k on that
    # is still to be laid, with path halving, in nearly constant time.
    #
    #     groups    9  7  7  4  3  2         room 2 left in a lane: bisection gives k = 5
    #     left      1  2  2  3  5  5  6      0, 1 and 4 are taken: 0 -> 1 -> 2, 4 -> 5
    #
    # Invariant: `longest` is the first target not yet laid; it opens each batch, so no target of
    # the batch is longer than `width`.
    count = len(groups)
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


@native
def _interleave(
    residues: NDArray[np.uint8],
    eights: NDArray[np.uint64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    groups: NDArray[np.int64],
    lane: NDArray[np.int64],
    group_bytes: int,
    codes: NDArray[np.uint8],
    out: NDArray[np.uint64],
) -> None:
    """Write each target down its lane; eight at once where they stand side by side.

    Parameters
    ----------
    residues, eights
        The codes of the block, as bytes and as numbers of eight bytes. (A view that is made here
        would take Numba 0.2 s to compile.)
    starts, lengths
        (targets,) where each begins in `residues`, a multiple of 8, and its residues.
    groups, lane
        (targets,) first column group and lane of each.
    group_bytes
        Bytes of a group of columns in all lanes.
    codes, out
        Receive the codes: one array, as bytes and as numbers of eight bytes.
    """
    # Target k lies in a row of `residues` and goes down a column of `codes`:
    #
    #     residues   a0 a1 a2 ...            codes   lane 0  1  ...
    #                b0 b1 b2 ...    ->      column 0  a0 b0
    #                                        column 1  a1 b1
    #
    # That is a transpose. Eight neighbouring lanes by eight columns are transposed in registers,
    # 64 bytes at a time; what is longer than the shortest of the eight follows byte by byte.
    lanes = group_bytes // COLUMNS
    k = 0
    while k < len(starts):
        together = 1
        if k + 8 <= len(starts) and lane[k] % 8 == 0:
            while together < 8 and (
                lane[k + together] == lane[k] + together and groups[k + together] == groups[k]
            ):
                together += 1
        done = 0
        if together == 8:
            # Lengths descend: the last of the eight is the shortest.
            done = lengths[k + 7] // 8 * 8
            at = (groups[k] * group_bytes + lane[k]) // 8
            for i in range(0, done, 8):
                rows = _transpose(
                    eights[(starts[k] + i) // 8],
                    eights[(starts[k + 1] + i) // 8],
                    eights[(starts[k + 2] + i) // 8],
                    eights[(starts[k + 3] + i) // 8],
                    eights[(starts[k + 4] + i) // 8],
                    eights[(starts[k + 5] + i) // 8],
                    eights[(starts[k + 6] + i) // 8],
                    eights[(starts[k + 7] + i) // 8],
                )
                for row in range(8):
                    out[at + (i + row) * lanes // 8] = rows[row]
        for j in range(k, k + together):
            at = groups[j] * group_bytes + lane[j]
            for i in range(done, lengths[j]):
                codes[at + i * lanes] = residues[starts[j] + i]
        k += together


@native
def _transpose(
    a: np.uint64,
    b: np.uint64,
    c: np.uint64,
    d: np.uint64,
    e: np.uint64,
    f: np.uint64,
    g: np.uint64,
    h: np.uint64,
) -> tuple[np.uint64, ...]:
    """Return the transpose of eight rows of eight bytes: 1 x 1, 2 x 2, then 4 x 4 are swapped.

    The first step on four bytes of two rows; the lowest byte stands at the right::

        a  a3 a2 a1 a0        a  b2 a2 b0 a0
        b  b3 b2 b1 b0   ->   b  b3 a3 b1 a1
    """
    a, b = _swap_fields(a, b, 8, 0x00FF00FF00FF00FF)
    c, d = _swap_fields(c, d, 8, 0x00FF00FF00FF00FF)
    e, f = _swap_fields(e, f, 8, 0x00FF00FF00FF00FF)
    g, h = _swap_fields(g, h, 8, 0x00FF00FF00FF00FF)
    a, c = _swap_fields(a, c, 16, 0x0000FFFF0000FFFF)
    b, d = _swap_fields(b, d, 16, 0x0000FFFF0000FFFF)
    e, g = _swap_fields(e, g, 16, 0x0000FFFF0000FFFF)
    f, h = _swap_fields(f, h, 16, 0x0000FFFF0000FFFF)
    a, e = _swap_fields(a, e, 32, 0x00000000FFFFFFFF)
    b, f = _swap_fields(b, f, 32, 0x00000000FFFFFFFF)
    c, g = _swap_fields(c, g, 32, 0x00000000FFFFFFFF)
    d, h = _swap_fields(d, h, 32, 0x00000000FFFFFFFF)
    return a, b, c, d, e, f, g, h


@native
def _swap_fields(x: np.uint64, y: np.uint64, bits: int, low: int) -> tuple[np.uint64, np.uint64]:
    """Exchange the upper fields of x with the lower ones of y, by three exclusive ors.

    `bits` is the width of a field; `low` has the bits of the lower fields.
    """
    mixed = ((x >> np.uint64(bits)) ^ y) & np.uint64(low)
    return x ^ (mixed << np.uint64(bits)), y ^ mixed
