"""From records to a database file: sort by length, in runs on disk when memory is short."""

from __future__ import annotations

import heapq
import logging
import os
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count, cycle
from operator import itemgetter
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from swdual.database.hashes import hash_identifiers
from swdual.database.layout import (
    BLOCK_BYTES,
    GUARD_BYTES,
    BlockInfo,
    Manifest,
    pack_header,
    pack_shard_header,
    read_digest,
)
from swdual.database.memory import TAXID_SPOOLS, BuildMemoryPlan
from swdual.database.source import TypedBatches
from swdual.database.taxids import TaxidSource, TaxidSpool
from swdual.database.writing import (
    OutputStream,
    SectionWriter,
    ShardAssigner,
    SortedTargets,
    gather,
    pad_lengths,
    write_block,
)
from swdual.errors import InputError
from swdual.sequences.alphabet import ALIGNMENT, PAD
from swdual.sequences.sequence import Batch
from swdual.text.messages import pluralize
from swdual.version import __version__

RUN_RESIDUES = 384 << 20
"""Residues kept in memory before a sorted run goes to disk."""

RUN_RECORDS = 1 << 20
"""Records kept in memory before a sorted run goes to disk."""

CHECKED_IDS = 32 << 20
"""Identifiers compared for duplicates; beyond them memory would grow."""

BUFFERS = 2
"""Blocks that are laid out in turn: while one is written, the next is filled."""

SPOOL_BYTES = 64 << 20

BLOCK_RECORDS = 1 << 20
"""Records of a block at most."""

STORED_RECORDS = 512
"""Records of a sorted run on disk that are looked at together."""

MAX_RUNS = 256
"""Sorted runs on disk before they are merged into one."""

HEADERS = TaxidSource()
"""Taxonomy ids of the records and of their header lines only."""

BlockSize = Callable[[int, int], int]
"""Returns the maximum size of a block, from its number and the bytes of all blocks before it."""

logger = logging.getLogger("swdual")


def largest_memory_plan() -> BuildMemoryPlan:
    """Return the plan with all memory that is of use to the building of a database."""
    return BuildMemoryPlan(RUN_RESIDUES, RUN_RECORDS, SPOOL_BYTES, CHECKED_IDS)


def build(
    records: TypedBatches,
    stream: OutputStream,
    *,
    scratch: Path | None,
    room: BuildMemoryPlan | None = None,
    shards: Sequence[OutputStream] = (),
    taxids: TaxidSource = HEADERS,
    progress: Callable[[int], None] = lambda residues: None,
) -> None:
    """Write a database to a seekable binary stream.

    Parameters
    ----------
    records
        The records in input order, with the title of the database and its masks.
    stream
        Empty and seekable.
    scratch
        Folder for temporary files; None takes the system's.
    room
        How much to hold in memory; by default `largest_memory_plan`. The file does not
        depend on it.
    shards
        Streams like the first, for the residues of a database in shards.
    taxids
        Where taxonomy ids come from besides the batches and their header lines.
    progress
        Called with the number of residues of each batch that was read.

    Raises
    ------
    InputError
        If there are no records, or too few for so many shards; or a table of taxonomy ids cannot be
        read.
    """
    room = largest_memory_plan() if room is None else room
    title, masks = records.title or "", records.masks
    with ThreadPoolExecutor(1) as background, ExitStack() as files:
        folder = None if scratch is None else os.fspath(scratch)

        def spool() -> IO[bytes]:
            return files.enter_context(tempfile.TemporaryFile(dir=folder))

        def names_spool() -> IO[bytes]:
            return files.enter_context(tempfile.SpooledTemporaryFile(room.spooled, dir=folder))

        def taxids_spool() -> IO[bytes]:
            size = room.spooled // TAXID_SPOOLS
            return files.enter_context(tempfile.SpooledTemporaryFile(size, dir=folder))

        sections = SectionWriter([stream, *shards], background)
        names = _Names(names_spool(), names_spool(), room.identifiers)
        organisms = TaxidSpool(taxids, taxids_spool, room.identifiers)
        runs = _sorted_runs(records.batches, names, organisms, progress, spool, room)
        deal = ShardAssigner(len(shards), _padded_bytes(runs), BLOCK_BYTES)
        blocks: list[BlockInfo] = []
        for targets in _blocks(runs, deal.size):
            blocks.append(write_block(sections, targets, blocks, deal.next(targets), len(masks)))
        names.write(sections, title)
        with_taxids = organisms.write(sections, *names.files)
        manifest = Manifest(
            writer=f"swdual {__version__}",
            alphabet=records.alphabet.name,
            title=title,
            sequences=sum(block.sequences for block in blocks),
            residues=sum(block.residues for block in blocks),
            longest=max(block.longest for block in blocks),
            blocks=tuple(blocks),
            sections=sections.finish(),
            shards=deal.shards(sections.ends[1:]),
            masks=masks,
        )
    text = manifest.to_json()
    stream.write(text)
    header = pack_header(
        sections.ends[0], text, shards=bool(shards), masks=bool(masks), taxids=with_taxids
    )
    stream.seek(0)
    stream.write(header)
    for number, shard in enumerate(shards):
        shard.seek(0)
        shard.write(pack_shard_header(number, manifest, read_digest(memoryview(header))))


class _Names:
    """Header lines in input order, kept in a temporary file until they are written."""

    def __init__(self, names: IO[bytes], offsets: IO[bytes], checked: int) -> None:
        self.files = self._names, self._offsets = names, offsets
        self._checked = checked
        self._end = 0
        self._hashes: list[NDArray[np.uint64]] = []
        self._count = 0

    def add(self, batch: Batch) -> None:
        ends = batch.header_ends
        starts = self._end + np.concatenate(([0], ends[:-1]))
        self._offsets.write(starts.astype("<u8").tobytes())
        self._names.write(batch.headers)
        self._end += int(ends[-1])
        if self._count < self._checked:
            headers = np.frombuffer(batch.headers, np.uint8)
            self._hashes.append(hash_identifiers(headers, ends))
        self._count += len(ends)

    def write(self, sections: SectionWriter, title: str) -> None:
        """Append the sections of the names, and warn of identifiers given twice."""
        if self._hashes:
            hashes = np.concatenate(self._hashes)
            self._hashes.clear()
            hashes.sort()
            twice = np.count_nonzero(hashes[1:] == hashes[:-1])
            if twice:
                repeated = pluralize(
                    int(twice),
                    "record repeats the identifier of an earlier one; both",
                    "records repeat the identifier of an earlier one; all",
                )
                logger.warning("%s: %s are kept", title, repeated)
        self._offsets.write(np.array([self._end], dtype="<u8").tobytes())
        sections.write_file("offsets", self._offsets)
        sections.write_file("names", self._names)


class _Run:
    """Records in memory, end to end."""

    def __init__(self, first_ordinal: int, room: int, most_records: int) -> None:
        self.first_ordinal = first_ordinal
        self._most_records = most_records
        self.records = 0
        self._codes = np.empty(room, np.uint8)
        self._filled = 0
        self._lengths: list[NDArray[np.int64]] = []

    def holds(self, batch: Batch) -> bool:
        """Return whether there is room for a batch."""
        fits = self._filled + len(batch.codes) <= len(self._codes)
        return fits and self.records + len(batch.lengths) <= self._most_records

    def add(self, batch: Batch) -> None:
        end = self._filled + len(batch.codes)
        self._codes[self._filled : end] = batch.codes
        self._lengths.append(batch.lengths)
        self._filled = end
        self.records += len(batch.lengths)

    @property
    def padded_bytes(self) -> int:
        """The bytes of all records, each filled up to the next one's begin."""
        return int(sum(pad_lengths(lengths).sum() for lengths in self._lengths))

    def blocks(self, block_bytes: BlockSize) -> Iterator[SortedTargets]:
        """Return the records by descending length, ties in input order, cut into blocks.

        The codes of a block are overwritten by those of the next but one.
        """
        lengths = np.concatenate(self._lengths)
        sizes = pad_lengths(lengths)
        starts = np.cumsum(sizes) - sizes
        order = np.argsort(-lengths, kind="stable")
        ends = np.cumsum(sizes[order])
        room = min(int(ends[-1]), BLOCK_BYTES) + GUARD_BYTES
        buffers = cycle([np.empty(room, np.uint8) for _ in range(BUFFERS)])
        first = 0
        for number in count():
            if first == len(order):
                return
            used = int(ends[first - 1]) if first else 0
            limit = block_bytes(number, used)
            last = int(np.searchsorted(ends, used + limit, side="right"))
            chosen = order[first : max(last, first + 1)]
            first += len(chosen)
            size = int(sizes[chosen].sum())
            buffer = next(buffers)
            if len(buffer) < size + GUARD_BYTES:  # one target that is longer than a block
                buffer = np.empty(size + GUARD_BYTES, np.uint8)
            residues = buffer[: size + GUARD_BYTES]
            gather(self._codes, starts[chosen], sizes[chosen], residues)
            residues[size:] = PAD
            yield SortedTargets(lengths[chosen], chosen + self.first_ordinal, residues)


class _StoredRun:
    """A sorted run in a temporary file, read back record by record."""

    def __init__(self, blocks: Iterator[SortedTargets], file: IO[bytes]) -> None:
        self._file = file
        self.padded_bytes = 0
        for targets in blocks:
            self.padded_bytes += len(targets.residues) - GUARD_BYTES
            ends = np.concatenate(([0], np.cumsum(pad_lengths(targets.lengths))))
            for first in range(0, len(targets.lengths), STORED_RECORDS):
                part = slice(first, first + STORED_RECORDS)
                table = np.stack((targets.lengths[part], targets.ordinals[part]))
                codes = slice(int(ends[first]), int(ends[first + table.shape[1]]))
                self._file.write(np.array([table.shape[1]]).tobytes() + table.tobytes())
                self._file.write(targets.residues[codes].data)

    def close(self) -> None:
        """Close the file, which frees its space on the disk."""
        self._file.close()

    def __iter__(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield negative length, number in the input and padded codes of each record."""
        self._file.seek(0)
        while head := self._file.read(8):
            count = int(np.frombuffer(head, np.int64)[0])
            table = np.frombuffer(self._file.read(16 * count), np.int64).reshape(2, count)
            for length, ordinal in zip(*table.tolist(), strict=True):
                yield -length, ordinal, self._file.read(length + -length % ALIGNMENT)


def _sorted_runs(
    batches: Iterable[Batch],
    names: _Names,
    organisms: TaxidSpool,
    progress: Callable[[int], None],
    spool: Callable[[], IO[bytes]],
    room: BuildMemoryPlan,
) -> _Run | list[_StoredRun]:
    """Read everything; a single run is in memory, several are on disk."""
    runs: list[_StoredRun] = []
    run = _Run(0, room.residues, room.records)
    for batch in batches:
        names.add(batch)
        organisms.add(batch)
        if not run.holds(batch):
            if run.records:
                runs.append(_StoredRun(run.blocks(_full_block), spool()))
            if len(runs) == MAX_RUNS:
                merged = _StoredRun(_blocks(runs, _full_block), spool())
                for stored in runs:
                    stored.close()
                runs = [merged]
            first = run.first_ordinal + run.records
            run = _Run(first, max(room.residues, len(batch.codes)), room.records)
        run.add(batch)
        progress(int(batch.lengths.sum()))
    if run.records == 0:
        raise InputError("no sequences to build a database of")
    return [*runs, _StoredRun(run.blocks(_full_block), spool())] if runs else run


def _padded_bytes(runs: _Run | list[_StoredRun]) -> int:
    return sum(run.padded_bytes for run in ([runs] if isinstance(runs, _Run) else runs))


def _full_block(number: int, used: int) -> int:
    """Return the maximum size of a block, whatever was used: there are no shards."""
    return BLOCK_BYTES


def _blocks(runs: _Run | list[_StoredRun], block_bytes: BlockSize) -> Iterator[SortedTargets]:
    """Return all targets by descending length, ties in input order, cut into blocks."""
    if isinstance(runs, _Run):
        yield from runs.blocks(block_bytes)
        return
    number = used = 0
    limit = block_bytes(number, used)
    lengths, ordinals, codes = array("q"), array("q"), bytearray()
    for shortness, ordinal, padded in heapq.merge(*runs, key=itemgetter(0)):
        if lengths and (len(codes) + len(padded) > limit or len(lengths) >= BLOCK_RECORDS):
            number, used = number + 1, used + len(codes)
            limit = block_bytes(number, used)
            yield _make_targets(lengths, ordinals, codes)
            lengths, ordinals, codes = array("q"), array("q"), bytearray()
        lengths.append(-shortness)
        ordinals.append(ordinal)
        codes += padded
    yield _make_targets(lengths, ordinals, codes)


def _make_targets(lengths: array[int], ordinals: array[int], codes: bytearray) -> SortedTargets:
    codes += bytes([PAD]) * GUARD_BYTES
    return SortedTargets(
        np.frombuffer(lengths, np.int64),
        np.frombuffer(ordinals, np.int64),
        np.frombuffer(codes, np.uint8),
    )
