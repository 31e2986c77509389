"""Memory that the building of a database takes, and how it is limited."""

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
"""Bytes that Python, its packages and the kernels take.

Numba takes 60 MiB more where it compiles these, once on a machine.
"""

READING_BYTES = 56 * MIB
"""Pieces of the input that are being read, parsed, and waiting."""

RECORD_BYTES = 120
"""Bytes that a record takes besides its residues and its name while they are put in order."""

BLOCK_BUFFERS = 2
"""Blocks in memory: one is filled while the other is written."""

MERGED_BLOCKS = 3.4
"""Blocks in memory while sorted runs are merged: one is filled, with room to grow, one waits, and
one is written.
"""

RECORD_ENTRY_BYTES = 4 + 4 + 8 + 8 + 4 + 8
"""Bytes of a record in the file besides residues and name: start, length, ordinal, name's end,
taxonomy id and its end.
"""

BLOCK_ENTRY_BYTES = 128 << 10
"""Bytes of a block in the file besides: padding of the last pages, its part of the manifest."""

TAXID_SPOOLS = 4
"""Temporary files of taxonomy ids, as they are read and as a table changes them."""

SEARCH_BYTES = 264 * MIB
"""Memory that a search with a few threads takes besides a database in memory."""

MERGED_BYTES = 80 * MIB
"""Memory for the next records of the sorted runs that are merged."""


FILE_REMEDY = "a database that 'swdual makedb' wrote takes less"
"""What to do where a database in memory does not fit."""


@dataclass(frozen=True)
class BuildMemoryPlan:
    """Memory that the building of a database takes.

    Parameters
    ----------
    residues, records
        Maximum size of a run that is sorted in memory.
    spooled
        Bytes of names that stay in memory, and of all taxonomy ids; more go to disk.
    identifiers
        Identifiers that are compared for duplicates.
    """

    residues: int
    records: int
    spooled: int
    identifiers: int

    def total(self, block_bytes: int) -> int:
        """Return the bytes of memory that building takes, with blocks of this size."""
        sorting = self.residues + BLOCK_BUFFERS * block_bytes
        return (
            PROGRAM_BYTES
            + READING_BYTES
            + max(sorting, MERGED_BYTES + int(MERGED_BLOCKS * block_bytes))
            + RECORD_BYTES * self.records
            + 3 * self.spooled
            + 16 * self.identifiers
        )


def fit_memory_plan(
    largest: BuildMemoryPlan, block_bytes: int, allowed: Allowance, others: int = 0
) -> BuildMemoryPlan:
    """Return the largest plan that the memory allows.

    Parameters
    ----------
    largest
        The plan with all memory that is of use.
    block_bytes
        Size of the largest blocks of the file; it does not change.
    allowed
        The memory that may be used.
    others
        Bytes that building takes besides.

    Raises
    ------
    MemoryLimitError
        If it is too little; the message says how much is enough.
    """

    def of(part: float) -> BuildMemoryPlan:
        return BuildMemoryPlan(
            interpolate(min(32 * MIB, largest.residues), largest.residues, part),
            interpolate(min(1 << 16, largest.records), largest.records, part),
            interpolate(min(MIB, largest.spooled), largest.spooled, part),
            interpolate(min(1 << 20, largest.identifiers), largest.identifiers, part),
        )

    least = of(0.0).total(block_bytes) + others
    refuse_below(least, allowed, "a smaller input needs as much memory")
    return of(find_largest_part(lambda part: of(part).total(block_bytes) + others, allowed.bytes))


def index_bytes(size: int) -> int:
    """Return the memory that building a database of this size in memory takes.

    That is the program, the residues in input order, the blocks that are laid out, and the file,
    which grows.
    """
    return PROGRAM_BYTES + READING_BYTES + 9 * size // 4 + min(size, BLOCK_BUFFERS * BLOCK_BYTES)


def search_bytes(size: int) -> int:
    """Return the memory that building a database of this size in memory and a search take.

    This is known before the whole input is read, so that a search may need more: see `READ_ANYWAY`.
    """
    return max(index_bytes(size), size + SEARCH_BYTES)


def limit_batches(
    batches: Iterable[Batch], allowed: Allowance, remedy: str = FILE_REMEDY
) -> Iterator[Batch]:
    """Yield records as long as a database of them can be built in memory.

    Parameters
    ----------
    batches
        The records.
    allowed
        The memory that may be used.
    remedy
        What to do if there is too little, for the message.

    Raises
    ------
    MemoryLimitError
        If it cannot; raised at the end, when it is known how much is enough.
    """
    size = BLOCK_ENTRY_BYTES
    for batch in batches:
        size += BLOCK_ENTRY_BYTES * len(batch.codes) // BLOCK_BYTES
        size += len(batch.codes) + len(batch.headers) + RECORD_ENTRY_BYTES * len(batch.lengths)
        if size <= READ_ANYWAY or search_bytes(size) <= allowed.bytes:
            yield batch
    if size > READ_ANYWAY:
        refuse_below(search_bytes(size), allowed, remedy)
