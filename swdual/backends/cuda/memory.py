"""What lies on the card: targets that stay, targets that pass through, and tables about both.

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
from swdual.database.database import Block, Database
from swdual.database.layout import GUARD_BYTES
from swdual.sequences.alphabet import ALIGNMENT

BAYS = 3
"""Stretches in the ring: one computed, one that comes, one that may still be in use."""

STAGE_BYTES = 8 << 20
"""At most so many bytes are copied to the card at a time, while the next go to another stage."""

STRETCH_PART, WORKING_PART, BORDER_PART, TABLE_PART = 8, 2, 8, 8
"""A stretch, all that is no target, borders and tables may take one of so many parts."""

MAX_WORKING, MAX_BORDER, MAX_TABLES = 2 << 30, 1 << 30, 512 << 20
"""More than that they never need."""

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


@dataclass
class Place:
    """Where something lies on the card, when it arrived, and when it was used last."""

    buffer: Buffer
    arrived: Event
    used: Event | None = None
    about: tuple[int, ...] = ()


@dataclass
class _Stage:
    array: NDArray[np.uint8]
    sent: Event | None = None


def pad_size(size: int) -> int:
    """Return the next multiple of what arrays on the card begin on.

    >>> padded(257)
    512
    """
    return -(-size // FINENESS) * FINENESS


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
        """Give memory back that nothing uses any more."""
        del self._owned[buffer.address]
        self.used -= buffer.size
        buffer.free()

    def free_all(self) -> None:
        """Give all back; the card does nothing now."""
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
    """

    def __init__(self, card: Card, database: Database, limit: int) -> None:
        self.card = card
        self.budget = Budget(card, limit)
        self.border_bytes = min(limit // BORDER_PART, MAX_BORDER)
        self.uploaded: dict[Stretch, int] = {}
        self._database = database
        sizes = [
            section.bytes
            for section in database.manifest.sections
            if section.name.startswith("residues/")
        ]
        self._stretch_bytes = min(max(sizes), limit // STRETCH_PART)
        room = limit - min(limit // WORKING_PART, MAX_WORKING)
        if sum(pad_size(size) for size in sizes) > room:
            room -= BAYS * pad_size(self._stretch_bytes + GUARD_BYTES)
        self._room = room
        self._staying: dict[Stretch, Place] = {}
        self._ring: dict[Stretch, Place] = {}
        self._tables: dict[Any, Place] = {}
        self._table_bytes = min(limit // TABLE_PART, MAX_TABLES)
        self._copies: Stream = card.stream()
        self._stage_bytes = min(STAGE_BYTES, pad_size(max(sizes)))
        self._stages = [_Stage(card.allocate_pinned(self._stage_bytes)) for _ in range(2)]
        self._cuts: dict[int, list[Stretch]] = {}

    def block(self, number: int) -> Block:
        """Return a block of the database."""
        return self._database.block(number)

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

    def hold(self, stretch: Stretch) -> Place:
        """Return where a stretch lies on the card, or will lie when it has arrived there."""
        if stretch in self._staying:
            return self._staying[stretch]
        place = self._ring.pop(stretch, None)
        if place is None:
            block = self.block(stretch.block)
            begin = int(block.starts[stretch.first]) * ALIGNMENT
            last = stretch.last - 1
            end = int(block.starts[last]) * ALIGNMENT + int(block.lengths[last]) + GUARD_BYTES
            residues = block.residues[begin:end]
            self.uploaded[stretch] = self.uploaded.get(stretch, 0) + 1
            place = self._stay(residues)
            if place is not None:
                self._staying[stretch] = place
                return place
            place = self._pass(residues)
        self._ring[stretch] = place
        return place

    def _stay(self, residues: NDArray[np.uint8]) -> Place | None:
        """Return a new place for targets that stay, if there is room."""
        size = pad_size(len(residues))
        if size > self._room:
            return None
        try:
            buffer = self.budget.allocate(size)
        except OverBudget:
            return None
        self._room -= size
        return Place(buffer, self._send(buffer, [residues]))

    def _pass(self, residues: NDArray[np.uint8]) -> Place:
        """Return a place in the ring, where targets that were used before are overwritten."""
        size = pad_size(len(residues))
        buffer, used = self._bay(size)
        if used is not None:
            self._copies.wait(used)
        arrived = self._send(buffer, [residues])
        return Place(buffer, arrived, arrived)

    def _bay(self, size: int) -> tuple[Buffer, Event | None]:
        """Return memory of the ring, and when its last use is over."""
        usual = max(size, pad_size(self._stretch_bytes + GUARD_BYTES))
        if len(self._ring) < BAYS:
            return self.budget.allocate(usual), None
        oldest = next(iter(self._ring))
        if self._ring[oldest].buffer.size >= size:
            place = self._ring.pop(oldest)
            return place.buffer, place.used
        self.card.synchronize()
        self.budget.free(self._ring.pop(oldest).buffer)
        return self.budget.allocate(usual), None

    def keep(self, array: NDArray[Any]) -> Place:
        """Return where an array lies on the card for good."""
        buffer = self.budget.allocate(pad_size(array.nbytes))
        return Place(buffer, self._send(buffer, [array]))

    def table(self, key: Any, make: Callable[[], tuple[Arrays, tuple[int, ...]]]) -> Place:
        """Return where some arrays lie on the card, one behind the other, each `pad_size`.

        Parameters
        ----------
        key
            What they are known by as long as there is room.
        make
            Makes them, and the numbers that are to be known `about` them.
        """
        place = self._tables.pop(key, None)
        if place is None:
            arrays, about = make()
            size = sum(pad_size(array.nbytes) for array in arrays)
            held = sum(each.buffer.size for each in self._tables.values())
            while held + size > self._table_bytes and len(self._tables) > 1:
                self.card.synchronize()
                oldest = self._tables.pop(next(iter(self._tables))).buffer
                held -= oldest.size
                self.budget.free(oldest)
            buffer = self.budget.allocate(size)
            place = Place(buffer, self._send(buffer, arrays), about=about)
        self._tables[key] = place
        return place

    def _send(self, buffer: Buffer, arrays: Arrays) -> Event:
        """Copy arrays to the card; return when they have arrived."""
        begin = 0
        for array in arrays:
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
        return self._copies.record()

    def clear(self) -> None:
        """Give back all memory of the card, after all work on it is done."""
        self.card.synchronize()
        self._staying.clear()
        self._ring.clear()
        self._tables.clear()
        self.budget.free_all()
