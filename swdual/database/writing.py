"""Blocks to streams: the sections of a database, dealt to its shards if it has any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, NamedTuple, Protocol

import numpy as np
import xxhash
from numpy.typing import NDArray

from swdual.database.layout import (
    PAGE_BYTES,
    SECTION_TYPES,
    SHARDED,
    BlockInfo,
    Section,
    Shard,
    checksum,
    padding,
)
from swdual.errors import InputError
from swdual.sequences.alphabet import ALIGNMENT, LOWER

MIN_BLOCKS_OF_SHARD = 4
"""So many blocks give every shard long and short targets, about as many as the others."""

COPY_BYTES = 8 << 20

_WORD = np.dtype(np.complex128)
"""16 bytes, which are one load and one store."""

_GATHERED = 4096
"""Targets that `gather` copies together."""


class OutputStream(Protocol):
    """A seekable binary stream that a database is written to."""

    def write(self, data: bytes | memoryview, /) -> int:
        """Write some bytes."""

    def seek(self, offset: int, /) -> int:
        """Go to an offset, counted from the beginning."""


class SortedTargets(NamedTuple):
    """Targets in file order: lengths, numbers in the input, and codes laid out as in the file."""

    lengths: NDArray[np.int64]
    ordinals: NDArray[np.int64]
    residues: NDArray[np.uint8]


class ShardAssigner:
    """Chooses the sizes of blocks, and the shard of each.

    All shards get the same number of blocks, of about as many bytes, by descending length. The next
    block goes to the shard with the fewest bytes; of shards that are equal to within half a block,
    to that with the most targets, since later blocks have more of them.

    Parameters
    ----------
    shards
        Number of shards; 0 if there are none.
    total
        Bytes of all targets.
    max_block_bytes
        Maximum size of a block.
    """

    def __init__(self, shards: int, total: int, max_block_bytes: int) -> None:
        self._total, self._max_block_bytes = total, max_block_bytes
        min_blocks = -(-total // (max_block_bytes * max(1, shards)))
        self._block_count = shards * max(MIN_BLOCKS_OF_SHARD, min_blocks)
        self._count = 0
        self._blocks: list[list[int]] = [[] for _ in range(shards)]
        self._bytes, self._targets = [0] * shards, [0] * shards

    def size(self, number: int, used: int) -> int:
        """Return the maximum size of a block, in bytes.

        Parameters
        ----------
        number
            Number of the block.
        used
            Bytes of all blocks before it.
        """
        if not self._blocks:
            return self._max_block_bytes
        return min(
            self._max_block_bytes, -(-(self._total - used) // max(1, self._block_count - number))
        )

    def next(self, targets: SortedTargets) -> int:
        """Return the number of the stream that the next block goes to; 0 without shards."""
        if not self._blocks:
            return 0
        share = self._total / self._block_count

        def order(shard: int) -> tuple[int, int, int]:
            return round(self._bytes[shard] / share), -self._targets[shard], shard

        chosen = min(range(len(self._blocks)), key=order)
        self._bytes[chosen] += len(targets.residues)
        self._targets[chosen] += len(targets.lengths)
        self._blocks[chosen].append(self._count)
        self._count += 1
        return 1 + chosen

    def shards(self, sizes: Iterable[int]) -> tuple[Shard, ...]:
        """Return the shards, given their bytes."""
        if not all(self._blocks):
            raise InputError(
                f"{len(self._blocks)} shards are too many for {sum(self._targets)} sequences: each "
                "shard needs at least one; ask for fewer"
            )
        return tuple(
            Shard(size, tuple(blocks)) for size, blocks in zip(sizes, self._blocks, strict=True)
        )


class SectionWriter:
    """Writes sections one behind the other, in a thread of its own, and keeps their checksums.

    There may be several streams; `ends` says how long they are.
    """

    def __init__(self, streams: Sequence[OutputStream], background: ThreadPoolExecutor) -> None:
        self._streams = streams
        self._background = background
        self._written: list[Future[Section]] = []
        self.ends = [PAGE_BYTES] * len(streams)
        for stream in streams:
            stream.write(bytes(PAGE_BYTES))

    def write(self, name: str, data: memoryview, stream: int = 0) -> None:
        """Append a section; wait while the same section of the block before is being written.

        Parameters
        ----------
        name, data, stream
            Name of the section, its bytes, and the number of the stream.
        """
        if len(self._written) >= len(SECTION_TYPES):
            self._written[-len(SECTION_TYPES)].result()
        offset = self.ends[stream]
        self._written.append(self._background.submit(self._write, name, stream, offset, data))
        self.ends[stream] += data.nbytes + padding(data.nbytes)

    def _write(self, name: str, stream: int, offset: int, data: memoryview) -> Section:
        self._streams[stream].write(data)
        self._streams[stream].write(bytes(padding(data.nbytes)))
        return Section(name, offset, data.nbytes, checksum([data]))

    def write_file(self, name: str, spool: IO[bytes]) -> None:
        """Append the content of a temporary file to the first stream.

        Parameters
        ----------
        name, spool
            Name of the section, and the file.
        """

        for written in self._written:
            written.result()
        digest, size, stream = xxhash.xxh3_128(), 0, self._streams[0]
        spool.seek(0)
        while data := spool.read(COPY_BYTES):
            stream.write(data)
            digest.update(data)
            size += len(data)
        stream.write(bytes(padding(size)))
        section: Future[Section] = Future()
        section.set_result(Section(name, self.ends[0], size, digest.hexdigest()))
        self._written.append(section)
        self.ends[0] += size + padding(size)

    def finish(self) -> tuple[Section, ...]:
        """Return all sections once they are written."""
        return tuple(written.result() for written in self._written)


def write_block(
    sections: SectionWriter,
    targets: SortedTargets,
    before: list[BlockInfo],
    stream: int,
    masks: int = 0,
) -> BlockInfo:
    """Append the sections of one block.

    Parameters
    ----------
    sections
        Writes them.
    targets
        The targets of the block. Marks of masked letters are removed.
    before
        The blocks that were written before.
    stream
        Number of the stream for the sections that lie in shards.
    masks
        Number of masks: letters of mask k are marked by ``LOWER << k``.
    """
    from swdual.database._masks import collect_intervals

    number = len(before)
    padded = pad_lengths(targets.lengths)
    begins = np.cumsum(padded) - padded
    starts = begins // ALIGNMENT
    intervals = [
        collect_intervals(targets.residues, begins, targets.lengths, LOWER << mask)
        for mask in range(masks)
    ]
    if masks:
        np.bitwise_and(targets.residues, LOWER - 1, out=targets.residues)
    arrays = {"starts": starts, "lengths": targets.lengths, "ordinals": targets.ordinals}
    sections.write(f"residues/{number}", targets.residues.data, stream)
    for name, values in arrays.items():
        data = values.astype(SECTION_TYPES[name]).data
        sections.write(f"{name}/{number}", data, stream if name in SHARDED else 0)
    for mask, rows in enumerate(intervals):
        sections.write(f"mask{mask}/{number}", memoryview(rows.astype("<u4").tobytes()))
    return BlockInfo(
        first=before[-1].first + before[-1].sequences if before else 0,
        sequences=len(targets.lengths),
        residues=int(targets.lengths.sum()),
        longest=int(targets.lengths[0]),
        shortest=int(targets.lengths[-1]),
    )


def pad_lengths(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bytes that targets take, each padded to the start of the next one."""
    return lengths + -lengths % ALIGNMENT


def gather(
    residues: NDArray[np.uint8],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> None:
    """Copy targets one behind the other.

    Parameters
    ----------
    residues
        Where they are.
    starts, sizes
        Where each begins, and its bytes: multiples of `ALIGNMENT`.
    out
        Receives them.
    """
    #     residues | a a | b | c c c |    starts 3 0 2, sizes 3 2 1 (words): by descending length
    #     out      | c c c | a a | b |    places 3 4 5   0 1   2
    source, target = (x[: len(x) // ALIGNMENT * ALIGNMENT].view(_WORD) for x in (residues, out))
    end = 0
    for some in range(0, len(starts), _GATHERED):
        begins, counts = (x[some : some + _GATHERED] // ALIGNMENT for x in (starts, sizes))
        ends = np.cumsum(counts)
        places = np.repeat(begins - ends + counts, counts)
        places += np.arange(len(places))
        np.take(source, places, out=target[end : end + len(places)], mode="clip")
        end += len(places)
