"""The blocks of a database: targets by descending length, checked when they are first used."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.database.interval_cache import IntervalCache
from swdual.database.layout import (
    GUARD_BYTES,
    MAX_NUMBER,
    SECTION_TYPES,
    TAXID_ENDS,
    TAXIDS,
    TAXONOMY,
    Manifest,
    checksum,
    read_digest,
    read_manifest,
    read_metadata,
)
from swdual.database.mapping import FileState, MemoryFile, Piece
from swdual.database.remote import CachedFile
from swdual.database.storage import Storage, piece_state
from swdual.database.validity import (
    block_agrees,
    find_manifest_fault,
    intervals_agree,
    lengths_agree,
)
from swdual.errors import DatabaseError
from swdual.sequences.alphabet import ALIGNMENT, ALPHABETS, LOWER, Alphabet

RECORDS_AT_ONCE = 32
"""Scattered records that are read before their pages are freed.

The system reads 16 pages of 4096 bytes at a time, so these records and headers take 4 MB.
"""


class Block(NamedTuple):
    """Targets of one block, by descending length; all arrays are views of the file.

    Target k of the block has its codes at ``residues[16 * starts[k] :][: lengths[k]]`` and is
    record ``ordinals[k]`` of the input. ``first`` is the number of targets in earlier blocks.
    """

    first: int
    residues: NDArray[np.uint8]
    starts: NDArray[np.uint32]
    lengths: NDArray[np.uint32]
    ordinals: NDArray[np.uint64]


class Blocks:
    """The blocks of a database, and what masks and other processes need of them.

    For the parameters see `Database`.
    """

    def __init__(
        self, main: Piece, *, metadata_only: bool = False, folder: Path | None = None
    ) -> None:
        self.name = main.name
        self._main = main
        self._metadata_only = metadata_only
        self._folder = folder
        # A pickle may be read in another folder.
        self._path = main.url if isinstance(main, CachedFile) else os.path.abspath(main.name)
        self.manifest: Manifest = read_manifest(main.data, self.name)
        fault = find_manifest_fault(self.manifest, MAX_NUMBER if metadata_only else len(main.data))
        if fault is not None:
            raise DatabaseError(f"{fault}; build it again with 'swdual makedb'", file=self.name)
        self._storage = Storage(main, self.manifest, metadata_only=metadata_only, folder=folder)
        self._mask: str | None = None
        self._views: dict[str, Self] = {}
        self._interval_cache = IntervalCache()
        self._blocks: dict[int, tuple[list[tuple[Piece, FileState | None]], Block]] = {}

    @cached_property
    def alphabet(self) -> Alphabet:
        """The letters of the residue codes."""
        return ALPHABETS[self.manifest.alphabet]

    @property
    def residues(self) -> int:
        """The number of residues of all targets."""
        return self.manifest.residues

    def __len__(self) -> int:
        return self.manifest.sequences

    def close(self) -> None:
        """Close the files; one whose arrays are in use is closed after the last of them."""
        self._blocks.clear()
        self._storage.close()

    @property
    def held_bytes(self) -> int:
        """Bytes of memory that the database always takes; 0 if it is a file."""
        return (
            len(self._main.data)
            if isinstance(self._main, MemoryFile) and not self._metadata_only
            else 0
        )

    def release(self) -> None:
        """Free the memory that files were read into; what is needed later is read again."""
        self._storage.release()

    @property
    def is_remote(self) -> bool:
        """Whether the file is remote, so that a block is fetched when it is first used."""
        return isinstance(self._main, CachedFile)

    @property
    def location(self) -> str | None:
        """The path or the URL that opens the database again; None if it is in memory.

        A URL may hold credentials, so it is for no message: see `name`.
        """
        return None if isinstance(self._main, MemoryFile) else self._path

    @property
    def digest(self) -> str:
        """The checksum of the manifest: equal if content and layout are equal."""
        return read_digest(self._main.data).hex()

    @property
    def content_digest(self) -> str:
        """The XXH3-128 of the checksums of names and residues: it identifies the records.

        It is equal for equal headers and residues in equal order, whatever the file, its path and
        its title are. A division into other blocks, as into shards, changes it.
        """
        others = "mask", TAXIDS, TAXID_ENDS, TAXONOMY
        kept = (each for each in self.manifest.sections if not each.name.startswith(others))
        return checksum(f"{each.name} {each.checksum} ".encode() for each in kept)

    @property
    def metadata(self) -> bytes:
        """Header and manifest: enough to open the database in another process, without blocks."""
        return read_metadata(self._main.data)

    def has_block(self, number: int) -> bool:
        """Return whether a block is here, in a file of the right size; that is not verified yet."""
        return self._storage.has_block(number)

    def block_bytes(self, number: int) -> bytes:
        """Return a block as bytes, to be `put` elsewhere; its checksums are verified.

        Raises
        ------
        DatabaseError
            If the block is damaged or missing.
        """
        return self._storage.part(number)

    def put(self, number: int, data: bytes | memoryview) -> None:
        """Keep a block that `block_bytes` returned elsewhere, after verifying its checksums.

        Parameters
        ----------
        number, data
            Number of the block, and its bytes.

        Raises
        ------
        DatabaseError
            If the bytes are damaged, or belong to another database.
        OutputError
            If they cannot be written.
        """
        self._storage.put(number, data)

    @property
    def masks(self) -> tuple[str, ...]:
        """The names of the masks whose intervals the database holds."""
        return self.manifest.masks

    def masked(self, mask: str) -> Self:
        """Return the same database with a mask.

        `targets` then has the wildcard for masked letters, and `codes` has `LOWER` added to theirs.
        Files are shared.

        Parameters
        ----------
        mask
            One of `masks`, or a method as `parse_mask` takes it: its intervals are computed where
            they are needed.
        """
        view = self._views.get(mask)
        if view is None:
            view = self._views.setdefault(mask, self._view(_mask=mask))
        return view

    def _view(self, **state: Any) -> Self:
        """Return the same database with other attributes; files, and what was read, are shared.

        Parameters
        ----------
        state
            The attributes, by their names.
        """
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__ | state)
        return view

    def intervals(self, number: int) -> NDArray[np.uint32]:
        """Return what the mask of the database masks in one block: see `masked`.

        Returns
        -------
        (intervals, 3) number of the target in the block, first letter from 0, and the letter behind
        the last one; in this order, disjoint and not touching one another.

        Raises
        ------
        DatabaseError
            If the section is damaged or missing.
        """
        mask, cache = self._mask, self._interval_cache
        if mask is None:
            return np.empty((0, 3), np.uint32)
        if mask not in self.masks:
            return cache.find(number, mask, lambda: self._find_intervals(number, mask))
        name = f"mask{self.masks.index(mask)}/{number}"
        rows = np.asarray(self._array(name, "<u4"), np.uint32).reshape(-1, 3)
        if name not in cache.checked:
            if not intervals_agree(rows, self.lengths(number)):
                raise self._contradiction_error(f"section {name!r}")
            cache.checked.add(name)
        return rows

    def _find_intervals(self, number: int, mask: str) -> NDArray[np.uint32]:
        """Return the intervals of a mask that the database does not hold."""
        from swdual.database.masks import find_intervals

        block = self.block(number)
        starts = block.starts.astype(np.int64) * ALIGNMENT
        lengths = block.lengths.astype(np.int64)
        return find_intervals(block.residues, starts, lengths, mask, self.alphabet)

    def targets(self, number: int, first: int, last: int) -> Block:
        """Return some targets of a block as they are scored: masked letters are the wildcard.

        Parameters
        ----------
        number
            Number of the block.
        first, last
            Targets ``first`` to ``last - 1`` of the block.

        Raises
        ------
        DatabaseError
            If the block is damaged or missing.
        """
        block = self.block(number)
        self._storage.read_ahead(number + 1)
        begin = int(block.starts[first])
        stop = int(block.starts[last - 1]) * ALIGNMENT + int(block.lengths[last - 1])
        residues = block.residues[begin * ALIGNMENT : stop + GUARD_BYTES]
        starts, lengths = block.starts[first:last] - np.uint32(begin), block.lengths[first:last]
        if self._mask is not None:
            from swdual.database._masks import fill_intervals

            intervals = self.intervals(number)
            here = np.searchsorted(intervals[:, 0], np.array((first, last), np.uint32))
            residues = residues.copy()
            wildcard = self.alphabet.letters.index(self.alphabet.wildcard)
            begins = starts.astype(np.int64) * ALIGNMENT
            chosen = np.ascontiguousarray(intervals[slice(*here.tolist())])
            fill_intervals(residues, begins, chosen, first, wildcard)
        ordinals = block.ordinals[first:last]
        return Block(block.first + first, residues, starts, lengths, ordinals)

    def block(self, number: int) -> Block:
        """Return one block; its checksums are verified the first time.

        Raises
        ------
        DatabaseError
            If the block is damaged or missing, or a file was truncated.
        """
        pieces = self._storage.pieces(number)
        state = [(piece, piece_state(piece)) for piece in pieces]
        known = self._blocks.get(number)
        if known is None or known[0] != state:
            known = self._blocks[number] = state, self._read_block(number, pieces)
        return known[1]

    def _read_block(self, number: int, pieces: list[Piece]) -> Block:
        info = self.manifest.blocks[number]

        def release() -> None:
            for piece in pieces:
                piece.release()

        arrays = {
            name: self._array(f"{name}/{number}", dtype) for name, dtype in SECTION_TYPES.items()
        }
        block = Block(info.first, **arrays)  # type: ignore[arg-type]
        if not block_agrees(*block[1:], self.manifest, info, release):
            raise self._contradiction_error(f"block {number}")
        release()
        return block

    def blocks(self) -> Iterator[Block]:
        """Return all blocks in order."""
        for number in range(len(self.manifest.blocks)):
            yield self.block(number)

    def codes(self, ordinals: Iterable[int]) -> list[bytes]:
        """Return the residue codes of some records of the input, with `LOWER` at masked letters."""
        numbers, indices = self.locate(ordinals)
        codes = [b""] * len(indices)
        for number in np.flatnonzero(np.bincount(numbers)).tolist():
            here = np.flatnonzero(numbers == number)
            block_codes = self.codes_at(number, indices[here].tolist())
            for k, record in zip(here.tolist(), block_codes, strict=True):
                codes[k] = record
        return codes

    def locate(self, ordinals: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where some records lie.

        Parameters
        ----------
        ordinals
            Numbers of records in the input, from 0.

        Returns
        -------
        (records,) int64 number of the block of each record, and (records,) int64 number in that
        block.
        """
        ranks = self._ranks[np.asarray(list(ordinals), np.int64)].astype(np.int64)
        firsts = np.array([info.first for info in self.manifest.blocks])
        numbers = np.searchsorted(firsts, ranks, "right") - 1
        return numbers, ranks - firsts[numbers]

    def codes_at(self, number: int, indices: Iterable[int]) -> list[bytes]:
        """Return the residue codes of some targets of a block, with `LOWER` at masked letters.

        Parameters
        ----------
        number
            Number of the block.
        indices
            Numbers of the targets in the block.

        Raises
        ------
        DatabaseError
            If the block is damaged or missing.
        """
        block, pieces = self.block(number), self._storage.pieces(number)
        intervals = None if self._mask is None else self.intervals(number)
        codes = []
        for count, k in enumerate(indices, 1):
            start = int(block.starts[k]) * ALIGNMENT
            residues = block.residues[start : start + int(block.lengths[k])]
            if intervals is not None:
                residues = residues.copy()
                here = np.searchsorted(intervals[:, 0], np.array((k, k + 1), np.uint32))
                for _, begin, end in intervals[slice(*here.tolist())].tolist():
                    residues[begin:end] |= LOWER
            codes.append(residues.tobytes())
            if count % RECORDS_AT_ONCE == 0:
                for piece in pieces:
                    piece.release()
        for piece in pieces:
            piece.release()
        return codes

    def lengths(self, number: int) -> NDArray[np.uint32]:
        """Return the lengths of one block's targets, without touching their residues."""
        lengths: NDArray[np.uint32] = self._array(f"lengths/{number}", "<u4")  # type: ignore[assignment]
        if not lengths_agree(lengths, self.manifest.blocks[number]):
            raise self._contradiction_error(f"block {number}")
        return lengths

    def find_lengths(self, ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the residues of some records of the input."""
        numbers, indices = self.locate(ordinals.tolist())
        found = np.zeros(len(ordinals), np.int64)
        for number in np.unique(numbers).tolist():
            here = numbers == number
            found[here] = self.lengths(number)[indices[here]]
        return found

    @cached_property
    def _ranks(self) -> NDArray[np.unsignedinteger]:
        """The rank, by descending length, of each record of the input."""
        ranks = np.full(len(self), len(self), np.min_scalar_type(len(self)))
        for number, info in enumerate(self.manifest.blocks):
            ordinals = self.block_ordinals(number)
            ranks[ordinals] = np.arange(info.first, info.first + len(ordinals))
            self._main.release()
        # A record without a rank is missing, so another one comes twice.
        if len(ranks) and int(ranks.max()) == len(self):
            raise self._contradiction_error("the order of the input")
        return ranks

    def block_ordinals(self, number: int) -> NDArray[np.int64]:
        """Return the numbers, in the input, of the targets of a block."""
        ordinals = self._array(f"ordinals/{number}", "<u8")
        if int(ordinals.max()) >= len(self):
            raise self._contradiction_error(f"section 'ordinals/{number}'")
        return ordinals.astype(np.int64)

    def _contradiction_error(self, what: str) -> DatabaseError:
        return DatabaseError(
            f"{what} is inconsistent; build it again with 'swdual makedb'", file=self.name
        )

    def _array(self, name: str, dtype: str) -> NDArray[np.generic]:
        """Return a section as an array; its checksum is verified the first time."""
        array: NDArray[np.generic] = np.frombuffer(self._storage.read(name), dtype=dtype)
        return array
