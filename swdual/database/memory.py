"""How much of a database is in memory while it is built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from swdual.database.layout import BLOCK_BYTES
from swdual.runtime.memory import (
    MIB,
    READ_ANYWAY,
    Allowance,
    find_largest_part,
    interpolate,
    refuse_below,
)
from swdual.sequences.sequence import Batch

PROGRAM_BYTES = 100 * MIB
"""What Python, its packages and the kernels take.

Numba takes 60 MiB more where it compiles these, once on a machine.
"""

READING_BYTES = 56 * MIB
"""Pieces of the input that are being read, parsed, and waiting."""

RECORD_BYTES = 120
"""What a record takes besides its residues and its name while they are put in order."""

BLOCK_BUFFERS = 2
"""Blocks in memory: one is filled while the other is written."""

MERGED_BLOCKS = 3.4
"""Blocks in memory while sorted runs are merged: one is filled, with room to grow, one waits, and
one is written.
"""

RECORD_ENTRY_BYTES = 4 + 4 + 8 + 8
"""What the file holds of a record besides residues and name: start, length, place, name's end."""

BLOCK_ENTRY_BYTES = 128 << 10
"""What the file holds of a block besides: the rest of the last pages, its part of the manifest."""

SEARCH_BYTES = 264 * MIB
"""What a search with a few threads takes besides a database in memory, in small pieces."""

MERGED_BYTES = 80 * MIB
"""What the sorted runs take of which the next records are looked at."""


@dataclass(frozen=True)
class BuildMemoryPlan:
    """What a database takes while it is built.

    Records are sorted in runs of so many `residues` and `records`; names are kept until they take
    `spooled` bytes, and then on disk; so many `identifiers` are compared for duplicates.
    """

    residues: int
    records: int
    spooled: int
    identifiers: int

    def total(self, block_bytes: int) -> int:
        """Return the bytes of memory that it takes, with blocks of so many bytes."""
        sorting = self.residues + BLOCK_BUFFERS * block_bytes
        return (
            PROGRAM_BYTES
            + READING_BYTES
            + max(sorting, MERGED_BYTES + int(MERGED_BLOCKS * block_bytes))
            + RECORD_BYTES * self.records
            + 2 * self.spooled
            + 16 * self.identifiers
        )


def fit_memory_plan(most: BuildMemoryPlan, block_bytes: int, allowed: Allowance) -> BuildMemoryPlan:
    """Return as much room as may be had.

    Parameters
    ----------
    most
        All that is of use.
    block_bytes
        Size of the largest blocks, which is that of the file and does not change.
    allowed
        What may be used.

    Raises
    ------
    MemoryLimitError
        If that is too little; says what would be enough.
    """

    def of(part: float) -> BuildMemoryPlan:
        return BuildMemoryPlan(
            interpolate(min(32 * MIB, most.residues), most.residues, part),
            interpolate(min(1 << 16, most.records), most.records, part),
            interpolate(min(MIB, most.spooled), most.spooled, part),
            interpolate(min(1 << 20, most.identifiers), most.identifiers, part),
        )

    refuse_below(of(0.0).total(block_bytes), allowed, "a smaller input needs as much")
    return of(find_largest_part(lambda part: of(part).total(block_bytes), allowed.bytes))


def index_bytes(size: int) -> int:
    """Return what it takes to build a database of so many bytes in memory, the program included.

    There are the residues in input order, the blocks that are laid out, and the file, which grows.
    """
    return PROGRAM_BYTES + READING_BYTES + 9 * size // 4 + min(size, BLOCK_BUFFERS * BLOCK_BYTES)


def search_bytes(size: int) -> int:
    """Return what it takes to build a database of so many bytes in memory and to search it.

    That is told before all of it is read, so that a search may need yet more: see `READ_ANYWAY`.
    """
    return max(index_bytes(size), size + SEARCH_BYTES)


def limit_batches(batches: Iterable[Batch], allowed: Allowance) -> Iterator[Batch]:
    """Return the records as long as a database of them can be built in memory.

    Raises
    ------
    MemoryLimitError
        If it cannot, at the end, when it is known what would be enough.
    """
    size = BLOCK_ENTRY_BYTES
    for batch in batches:
        size += BLOCK_ENTRY_BYTES * len(batch.codes) // BLOCK_BYTES
        size += len(batch.codes) + len(batch.headers) + RECORD_ENTRY_BYTES * len(batch.lengths)
        if size <= READ_ANYWAY or search_bytes(size) <= allowed.bytes:
            yield batch
    if size > READ_ANYWAY:
        remedy = "a database that 'swdual makedb' wrote takes less"
        refuse_below(search_bytes(size), allowed, remedy)
