"""A database without some of its targets: a view, which copies no residues.

The view is like a database that was built of the chosen records only: they have new numbers, in the
order of the input, and blocks without any of them are left out. Files, and the blocks that nodes of
a cluster send each other, are those of the whole database.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from swdual.database.blocks import Block
from swdual.database.database import Database
from swdual.database.layout import GUARD_BYTES, BlockInfo, Section
from swdual.database.lookup import Matches
from swdual.database.writing import gather, pad_lengths
from swdual.errors import InputError
from swdual.sequences.alphabet import ALIGNMENT, PAD
from swdual.taxonomy.tree import Taxonomy

RECENT_BLOCKS = 4
"""Blocks whose numbers about chosen targets stay in memory, 16 bytes for each target."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Some records of a database.

    It takes 4 bytes for each of them, and a bit for each record of the database.

    Parameters
    ----------
    ordinals
        Their numbers in the input, ascending.
    bits
        Whether each target is chosen, by descending length, eight targets a byte.
    numbers
        The number of each block in which some are chosen.
    blocks
        What the manifest says of these targets, block by block.
    """

    ordinals: NDArray[np.unsignedinteger]
    bits: NDArray[np.uint8]
    numbers: tuple[int, ...]
    blocks: tuple[BlockInfo, ...]

    @property
    def digest(self) -> str:
        """A number that identifies the selection, among those of one database."""
        return xxhash.xxh3_64_hexdigest(self.bits.tobytes())


def select_records(database: Database, chosen: NDArray[np.bool_]) -> Selection:
    """Return a selection of some records.

    Parameters
    ----------
    database
        The database.
    chosen
        (records,) whether each record of the input is chosen.

    Raises
    ------
    InputError
        If none is.
    """
    bits = np.empty(len(database), np.bool_)
    numbers, blocks = [], []
    before = 0
    for number, info in enumerate(database.manifest.blocks):
        here = chosen[database.block_ordinals(number)]
        bits[info.first : info.first + info.sequences] = here
        lengths = database.lengths(number)[here].astype(np.int64)
        database.release()
        if len(lengths):
            numbers.append(number)
            ends = int(lengths[0]), int(lengths[-1])
            blocks.append(BlockInfo(before, len(lengths), int(lengths.sum()), *ends))
            before += len(lengths)
    if not blocks:
        raise InputError(f"none of the targets of {database.name} is chosen")
    ordinals = np.flatnonzero(chosen).astype(np.min_scalar_type(len(database)))
    return Selection(ordinals, np.packbits(bits), tuple(numbers), tuple(blocks))


class Subset(Database):
    """Some records of a database, as a database.

    Parameters
    ----------
    whole
        The database, which may have a mask.
    selection
        Its records.
    """

    def __init__(self, whole: Database, selection: Selection) -> None:
        self.__dict__.update(whole.__dict__)
        for name in ("_ranks", "alphabet"):
            self.__dict__.pop(name, None)
        self.whole = whole
        self.selection = selection
        self._views = {}
        self._kept: dict[int, NDArray[np.uint32]] = {}
        self._recent: dict[int, tuple[Block, Block]] = {}  # protected by `_lock`
        self._lock = threading.Lock()
        blocks = selection.blocks
        self.manifest = replace(
            whole.manifest,
            sequences=sum(block.sequences for block in blocks),
            residues=sum(block.residues for block in blocks),
            longest=blocks[0].longest,
            blocks=blocks,
            sections=tuple(self._sections()),
        )

    def _sections(self) -> Iterable[Section]:
        """Yield the sections of the chosen blocks, the residues as long as what is kept of them."""
        blocks = dict(zip(self.selection.numbers, self.selection.blocks, strict=True))
        for section in self.whole.manifest.sections:
            kind, _, number = section.name.partition("/")
            if not number:
                yield section
            elif int(number) in blocks:
                info = blocks[int(number)]
                longest = info.residues + info.sequences * (ALIGNMENT - 1) + GUARD_BYTES
                kept = min(section.bytes, longest) if kind == "residues" else section.bytes
                yield replace(section, bytes=kept)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.whole, self.selection)

    def masked(self, mask: str) -> Self:
        """Return the same records with a mask: see `Database.masked`."""
        view = self._views.get(mask)
        if view is None:
            view = self._views.setdefault(mask, type(self)(self.whole.masked(mask), self.selection))
        return view

    def with_taxonomy(self, taxonomy: Taxonomy) -> Self:
        """Return the same records with another tree of taxa: see `Database.with_taxonomy`."""
        return type(self)(self.whole.with_taxonomy(taxonomy), self.selection)

    def _find_kept(self, number: int) -> NDArray[np.int64]:
        """Return the numbers, in a block of the whole database, of its chosen targets."""
        info = self.whole.manifest.blocks[self.selection.numbers[number]]
        begin, end = info.first, info.first + info.sequences
        bits = np.unpackbits(self.selection.bits[begin // 8 : -(-end // 8)])
        return np.flatnonzero(bits[begin % 8 :][: info.sequences])

    def has_block(self, number: int) -> bool:
        """Return whether a block is here: see `Database.has_block`."""
        return self.whole.has_block(self.selection.numbers[number])

    def block_bytes(self, number: int) -> bytes:
        """Return the whole block as bytes: see `Database.block_bytes`."""
        return self.whole.block_bytes(self.selection.numbers[number])

    def put(self, number: int, data: bytes | memoryview) -> None:
        """Keep a whole block: see `Database.put`."""
        self.whole.put(self.selection.numbers[number], data)

    def block(self, number: int) -> Block:
        """Return the chosen targets of a block; residues of others are between theirs."""
        whole = self.whole.block(self.selection.numbers[number])
        with self._lock:
            known = self._recent.get(number)
        if known is not None and known[0] is whole:
            return known[1]
        kept = self._find_kept(number)
        block = Block(
            self.manifest.blocks[number].first,
            whole.residues,
            whole.starts[kept],
            whole.lengths[kept],
            self.block_ordinals(number).view(np.uint64),
        )
        with self._lock:
            self._recent[number] = whole, block
            while len(self._recent) > RECENT_BLOCKS:
                del self._recent[next(iter(self._recent))]
        return block

    def close(self) -> None:
        """Close the files: see `Database.close`."""
        with self._lock:
            self._recent.clear()
        super().close()

    def lengths(self, number: int) -> NDArray[np.uint32]:
        """Return the lengths of the chosen targets of a block."""
        return self.whole.lengths(self.selection.numbers[number])[self._find_kept(number)]

    def block_ordinals(self, number: int) -> NDArray[np.int64]:
        """Return the new numbers of the chosen targets of a block."""
        if number not in self._kept:
            found = self.whole.block_ordinals(self.selection.numbers[number])
            found = found[self._find_kept(number)]
            self._kept[number] = np.searchsorted(self.selection.ordinals, found).astype(np.uint32)
        return self._kept[number].astype(np.int64)

    def targets(self, number: int, first: int, last: int) -> Block:
        """Return some targets as they are scored, one behind the other: see `Database.targets`."""
        kept = self._find_kept(number)[first:last]
        whole = self.whole.targets(self.selection.numbers[number], int(kept[0]), int(kept[-1]) + 1)
        within = kept - kept[0]
        starts, lengths = whole.starts[within], whole.lengths[within]
        sizes = pad_lengths(lengths.astype(np.int64))
        room = int(sizes.sum())
        residues = np.empty(room + GUARD_BYTES, np.uint8)
        residues[room:] = PAD
        gather(whole.residues, starts.astype(np.int64) * ALIGNMENT, sizes, residues)
        ordinals = self.block_ordinals(number)[first:last].view(np.uint64)
        packed = ((np.cumsum(sizes) - sizes) // ALIGNMENT).astype(np.uint32)
        before = self.manifest.blocks[number].first + first
        return Block(before, residues, packed, lengths, ordinals)

    def intervals(self, number: int) -> NDArray[np.uint32]:
        """Return what the mask masks in the chosen targets: see `Database.intervals`."""
        rows, kept = self.whole.intervals(self.selection.numbers[number]), self._find_kept(number)
        places = np.minimum(np.searchsorted(kept, rows[:, 0]), len(kept) - 1)
        chosen = kept[places] == rows[:, 0]
        own: NDArray[np.uint32] = rows[chosen]
        own[:, 0] = places[chosen]
        return own

    def codes_at(self, number: int, indices: Iterable[int]) -> list[bytes]:
        """Return the residue codes of some targets of a block: see `Database.codes_at`."""
        kept = self._find_kept(number)[np.asarray(list(indices), np.int64)]
        return self.whole.codes_at(self.selection.numbers[number], kept.tolist())

    def _number_in_whole(self, ordinals: Iterable[int]) -> list[int]:
        """Return the numbers of records in the input of the whole database."""
        numbers: list[int] = self.selection.ordinals[np.asarray(list(ordinals), np.int64)].tolist()
        return numbers

    def headers(self, ordinals: Iterable[int]) -> list[str]:
        """Return the header lines of some records."""
        return self.whole.headers(self._number_in_whole(ordinals))

    def lookup(self, identifiers: Iterable[str]) -> dict[str, Matches]:
        """Return the chosen records that each identifier may mean: see `Database.lookup`."""
        chosen = self.selection.ordinals

        def number(records: list[int]) -> list[int]:
            places = np.searchsorted(chosen, records)
            numbers: list[int] = places[np.isin(records, chosen)].tolist()
            return numbers

        found = self.whole.lookup(identifiers)
        return {word: Matches(*map(number, matches)) for word, matches in found.items()}

    def check(self) -> None:
        """Verify the whole database: see `Database.check`."""
        self.whole.check()

    def taxids(self, ordinals: Iterable[int]) -> list[tuple[int, ...]]:
        """Return the taxonomy ids of some records."""
        return self.whole.taxids(self._number_in_whole(ordinals))
