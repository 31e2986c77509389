"""What lies on the card: targets that stay, targets that pass through, and tables about both.

Targets lie there with their starts and lengths. Only where targets are cut into pieces, or pieces
are gathered in chunks, a launch needs a table of its own.

If the database is larger than its part of the memory, what is asked for first stays, up to a limit,
and the rest passes through a ring of bays. To keep what was used last instead would keep nothing:
of a database that is read from end to end again and again, it would always throw away what comes
next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.backends.cuda import pieces
from swdual.backends.cuda.card import Buffer, Card, Event, Stream
from swdual.database.blocks import Block
from swdual.database.database import Database
from swdual.database.layout import GUARD_BYTES
from swdual.sequences.alphabet import ALIGNMENT

BAYS = 3
"""Stretches in the ring: one computed, one that comes, one that may still be in use."""

STAGE_BYTES = 8 << 20
"""At most so many bytes are copied to the card at a time, while the next go to another stage."""

STRETCH_PART = 8
"""A stretch may take one of so many parts of the memory."""

MIN_WORKING, STREAMED_PART, TIGHT_PART = 2 << 30, 16, 2
"""Bytes that are kept for other things than targets, if the database fits beside them. If it does
not, one of so many parts of the memory is kept, if that is more; at most one of so many parts."""

BORDER_PART, TABLE_PART = 2, 4
"""Borders and tables may take one of so many parts of what targets leave."""

FINENESS = 256
"""Arrays on the card begin on multiples of so many bytes."""


Arrays = Sequence[NDArray[Any]]


class OverBudget(Exception):
    """More memory is needed than may be used."""


class Stretch(NamedTuple):
    """Targets `first` to `last - 1` of a block, which lie on the card together."""

    block: int
    first: int
    last: int


class Part(NamedTuple):
    """Targets `first` to `last - 1` of a block, all in one stretch."""

    stretch: Stretch
    first: int
    last: int


class MemoryShares(NamedTuple):
    """Bytes of the card for targets that stay, for borders and for tables."""

    targets: int
    borders: int
    tables: int


@dataclass
class CardRegion:
    """Memory of the card with some arrays: when they arrived, and when they were last used."""

    buffer: Buffer
    addresses: list[int]
    arrived: Event
    used: Event | None = None
    about: tuple[int, ...] = ()


@dataclass
class _Stage:
    array: NDArray[np.uint8]
    sent: Event | None = None


def pad_size(size: int) -> int:
    """Return the next multiple of what arrays on the card begin on.

    >>> pad_size(257)
    512
    """
    return -(-size // FINENESS) * FINENESS


def share_memory(limit: int, database_bytes: int, ring_bytes: int) -> MemoryShares:
    """Return what may be used for what; what is left is for the arrays of launches.

    Parameters
    ----------
    limit
        Bytes that may be used for all purposes.
    database_bytes
        What the whole database takes on the card.
    ring_bytes
        What the ring takes, which is needed if the database does not fit.

    >>> [size >> 30 for size in share_memory(64 << 30, 20 << 30, 1 << 30)]
    [20, 22, 11]
    """
    tight = limit // TIGHT_PART
    if database_bytes <= limit - min(tight, MIN_WORKING):
        targets, working = database_bytes, limit - database_bytes
    else:
        working = min(tight, max(MIN_WORKING, limit // STREAMED_PART))
        targets = limit - working - ring_bytes
    return MemoryShares(targets, working // BORDER_PART, working // TABLE_PART)


def _tables_size(targets: int) -> int:
    """Return what the starts and the lengths of some targets take on the card."""
    return 2 * pad_size(4 * targets)


def _size_on_card(arrays: Arrays) -> int:
    return sum(pad_size(array.nbytes) for array in arrays)


@dataclass
class Budget:
    """Memory of the card, of which no more than `limit` bytes may be used."""

    card: Card
    limit: int
    used: int = 0
    _owned: dict[int, Buffer] = field(default_factory=dict)

    def allocate(self, size: int) -> Buffer:
        """Return new memory.

        Raises
        ------
        OverBudget
            If it is more than may be used.
        CardMemory
            If it is more than there is.
        """
        if self.used + size > self.limit:
            raise OverBudget(f"{self.used + size} bytes are needed")
        buffer = self.card.allocate(size)
        self.used += size
        self._owned[buffer.address] = buffer
        return buffer

    def free(self, buffer: Buffer) -> None:
        """Free memory that nothing uses any more."""
        del self._owned[buffer.address]
        self.used -= buffer.size
        buffer.free()

    def free_all(self) -> None:
        """Free all memory; the card must be idle."""
        for buffer in list(self._owned.values()):
            self.free(buffer)


class Shelf:
    """The targets of a database on a card.

    Parameters
    ----------
    card
        Where they lie.
    database
        Whose they are.
    limit
        Bytes of the card that may be used for all purposes.

    Attributes
    ----------
    is_resident
        Whether all targets stay on the card, once they have come.
    """

    def __init__(self, card: Card, database: Database, limit: int) -> None:
        self.card = card
        self.budget = Budget(card, limit)
        self.uploaded: dict[Stretch, int] = {}
        self._database = database
        sizes = [
            section.bytes
            for section in database.manifest.sections
            if section.name.startswith("residues/")
        ]
        self._stretch_bytes = min(max(sizes), limit // STRETCH_PART)
        counts = [block.sequences for block in database.manifest.blocks]
        self.max_targets = max(counts)
        # What a stretch of a block takes, unless it is one target that is longer.
        targets = min(self.max_targets, self._stretch_bytes // ALIGNMENT + 1)
        self._bay_bytes = pad_size(self._stretch_bytes + GUARD_BYTES) + _tables_size(targets)
        cuts = sum(2 * size // self._stretch_bytes for size in sizes if size > self._stretch_bytes)
        database_bytes = (
            sum(pad_size(size) for size in sizes)
            + sum(_tables_size(count) for count in counts)
            + cuts * (pad_size(GUARD_BYTES) + 3 * FINENESS)
        )
        shares = share_memory(limit, database_bytes, BAYS * self._bay_bytes)
        self._room, self.border_bytes, self._table_bytes = shares
        self.is_resident = database_bytes <= self._room
        self._staying: dict[Stretch, CardRegion] = {}
        self._ring: dict[Stretch, CardRegion] = {}
        self._tables: dict[Any, CardRegion] = {}
        self._copies: Stream = card.stream()
        self._stage_bytes = min(STAGE_BYTES, pad_size(max(sizes)))
        self._stages = [_Stage(card.allocate_pinned(self._stage_bytes)) for _ in range(2)]
        self._cuts: dict[int, list[Stretch]] = {}
        self._last_lengths: tuple[int, NDArray[np.uint32]] | None = None
        self._last_residues: tuple[Part, int] | None = None

    def block(self, number: int) -> Block:
        """Return a block of the database."""
        return self._database.block(number)

    def lengths(self, number: int) -> NDArray[np.uint32]:
        """Return the lengths of the targets of a block; at once if it is the last one again."""
        if self._last_lengths is None or self._last_lengths[0] != number:
            # A copy, so that the block's file can be closed.
            self._last_lengths = number, self.block(number).lengths.copy()
        return self._last_lengths[1]

    def residues(self, part: Part) -> int:
        """Return how many residues some targets have; at once if they are the last ones again."""
        if self._last_residues is None or self._last_residues[0] != part:
            lengths = self.lengths(part.stretch.block)[part.first : part.last]
            self._last_residues = part, int(lengths.sum(dtype=np.int64))
        return self._last_residues[1]

    def parts(self, block: int, first: int, last: int) -> list[Part]:
        """Cut a range of targets at the borders of stretches.

        Parameters
        ----------
        block
            Number of the block.
        first, last
            Targets ``first`` to ``last - 1`` of the block.
        """
        if block not in self._cuts:
            lengths = self._database.lengths(block)
            self._cuts[block] = [
                Stretch(block, *ends) for ends in pieces.cut_stretches(lengths, self._stretch_bytes)
            ]
        return [
            Part(stretch, max(first, stretch.first), min(last, stretch.last))
            for stretch in self._cuts[block]
            if stretch.first < last and first < stretch.last
        ]

    def hold(self, stretch: Stretch) -> CardRegion:
        """Return where a stretch lies on the card, or will lie when its copy has arrived.

        Returns
        -------
        A region with residues, starts (in 16 bytes, from the first target's) and lengths.
        """
        if stretch in self._staying:
            return self._staying[stretch]
        region = self._ring.pop(stretch, None)
        if region is None:
            targets = self._database.targets(*stretch)
            arrays: Arrays = [targets.residues, targets.starts, targets.lengths]
            self.uploaded[stretch] = self.uploaded.get(stretch, 0) + 1
            region = self._stay(arrays)
            if region is not None:
                self._staying[stretch] = region
                return region
            region = self._pass(arrays)
        self._ring[stretch] = region
        return region

    def _stay(self, arrays: Arrays) -> CardRegion | None:
        """Return a region for targets that stay on the card, if there is room."""
        size = _size_on_card(arrays)
        if size > self._room:
            return None
        try:
            buffer = self.budget.allocate(size)
        except OverBudget:
            return None
        self._room -= size
        return self._send(buffer, arrays)

    def _pass(self, arrays: Arrays) -> CardRegion:
        """Return a region in the ring, whose former targets are overwritten."""
        buffer, used = self._bay(_size_on_card(arrays))
        if used is not None:
            self._copies.wait(used)
        region = self._send(buffer, arrays)
        region.used = region.arrived
        return region

    def _bay(self, size: int) -> tuple[Buffer, Event | None]:
        """Return memory of the ring, and when its last use is over."""
        usual = max(size, self._bay_bytes)
        if len(self._ring) < BAYS:
            return self.budget.allocate(usual), None
        oldest = next(iter(self._ring))
        if self._ring[oldest].buffer.size >= size:
            region = self._ring.pop(oldest)
            return region.buffer, region.used
        self.card.synchronize()
        self.budget.free(self._ring.pop(oldest).buffer)
        return self.budget.allocate(usual), None

    def keep(self, array: NDArray[Any]) -> CardRegion:
        """Return where an array lies on the card for good."""
        return self._send(self.budget.allocate(pad_size(array.nbytes)), [array])

    def table(self, key: Any, make: Callable[[], tuple[Arrays, tuple[int, ...]]]) -> CardRegion:
        """Return where some arrays lie on the card, one behind the other, each padded.

        Parameters
        ----------
        key
            Identifies the arrays as long as they fit into the memory for tables.
        make
            Makes the arrays, and the numbers to keep `about` them.
        """
        region = self._tables.pop(key, None)
        if region is None:
            arrays, about = make()
            size = _size_on_card(arrays)
            held = sum(each.buffer.size for each in self._tables.values())
            while held + size > self._table_bytes and len(self._tables) > 1:
                self.card.synchronize()
                oldest = self._tables.pop(next(iter(self._tables))).buffer
                held -= oldest.size
                self.budget.free(oldest)
            region = self._send(self.budget.allocate(size), arrays)
            region.about = about
        self._tables[key] = region
        return region

    def _send(self, buffer: Buffer, arrays: Arrays) -> CardRegion:
        """Copy arrays to the card, one behind the other, each padded."""
        begin, addresses = 0, []
        for array in arrays:
            addresses.append(buffer.address + begin)
            data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            for first in range(0, len(data), self._stage_bytes):
                some = data[first : first + self._stage_bytes]
                stage = self._stages[0]
                if stage.sent is not None:
                    stage.sent.wait()
                np.copyto(stage.array[: len(some)], some)
                self._copies.upload(buffer, begin + first, stage.array[: len(some)])
                stage.sent = self._copies.record()
                self._stages.reverse()
            begin += pad_size(array.nbytes)
        return CardRegion(buffer, addresses, self._copies.record())

    def clear(self) -> None:
        """Free all memory of the card, after all work on it is done."""
        self.card.synchronize()
        self._staying.clear()
        self._ring.clear()
        self._tables.clear()
        self.budget.free_all()
