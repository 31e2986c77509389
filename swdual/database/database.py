"""The database as an object: a read-only map of the file, checked on first touch."""

from __future__ import annotations

import html
import io
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.database.build import build
from swdual.database.layout import (
    SECTION_TYPES,
    Manifest,
    checksum,
    read_format,
    read_manifest,
)
from swdual.database.mapping import FileState, MappedFile
from swdual.database.room import indexable
from swdual.database.source import typed_batches
from swdual.database.validity import block_agrees, lengths_agree, manifest_fault
from swdual.errors import DatabaseError
from swdual.memory import allowance
from swdual.sequences.alphabet import ALIGNMENT, ALPHABETS, Alphabet
from swdual.sequences.sequence import Batch, Sequence, decode_header
from swdual.sequences.stream import Source
from swdual.sequences.validation import OnInvalid
from swdual.text import harmless
from swdual.version import __version__

SIZES_AT_ONCE = 10_000
"""Header lines held in memory while all are listed."""

CHECKED_AT_ONCE = 4 << 20
"""Bytes of a section that are in memory while its checksum is computed."""

RECORDS_AT_ONCE = 32
"""Scattered records that are looked up before the pages they lie on are let go.

To touch a page brings in 16 of 4096 bytes, so these make 4 MB with their header lines.
"""


class Block(NamedTuple):
    """Targets of one block, by descending length; all arrays are views of the file.

    Target k of the block has its codes at ``residues[16 * starts[k] :][: lengths[k]]`` and was
    record ``ordinals[k]`` of the input. ``first`` is the number of targets in earlier blocks.
    """

    first: int
    residues: NDArray[np.uint8]
    starts: NDArray[np.uint32]
    lengths: NDArray[np.uint32]
    ordinals: NDArray[np.uint64]


class Database:
    """Targets to search, in memory or mapped from a file.

    A file that is replaced by another goes on being read; one that is written to is verified again.

    ``database[i]`` is record i of the input. Open one with `Database.open`, build one with
    `makedb` or, in memory, with `Database.from_batches`.
    """

    def __init__(
        self,
        data: memoryview,
        name: str,
        close: Callable[[], None],
        state: Callable[[], FileState | None] = lambda: None,
        release: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self._data = data
        self._close = close
        self._state = state
        self._release = release
        self.manifest: Manifest = read_manifest(data, name)
        fault = manifest_fault(self.manifest, len(data))
        if fault is not None:
            raise DatabaseError(f"{fault}; build it again with 'swdual makedb'", file=name)
        self._sections = {section.name: section for section in self.manifest.sections}
        self._verified: dict[str, FileState | None] = {}
        self._blocks: dict[int, tuple[FileState | None, Block]] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Source, *, check: bool = False) -> Self:
        """Return the database in a file, mapped into memory.

        Parameters
        ----------
        path
            A file that `makedb` wrote.
        check
            Verify every checksum now; otherwise each section is verified when first used.

        Raises
        ------
        DatabaseError
            If there is no such file, or it is no database, of another version, or damaged.
        """
        name = os.fspath(path)
        try:
            file = MappedFile(path)
        except ValueError as error:
            raise DatabaseError(
                "is empty; build it again with 'swdual makedb'", file=name
            ) from error
        except IsADirectoryError as error:
            raise DatabaseError("is a directory, not a database file", file=name) from error
        except OSError as error:
            blast = any(os.path.exists(f"{name}.{end}") for end in ("pin", "nin", "pal", "nal"))
            hint = (
                "there is a BLAST database of that name; give its FASTA file"
                if blast
                else "build it with 'swdual makedb'"
            )
            raise DatabaseError(
                f"cannot be opened ({error.strerror}); {hint}", file=name
            ) from error
        database = cls(file.data, name, file.close, file.state, file.release)
        if check:
            database.check()
        return database

    @classmethod
    def from_batches(cls, batches: Iterable[Batch], alphabet: Alphabet, name: str) -> Self:
        """Return a database of some records, built in memory."""
        stream = io.BytesIO()
        writer = f"swdual {__version__}"
        build(batches, stream, alphabet, title=name, writer=writer, scratch=None)
        return cls(stream.getbuffer(), name, stream.close)

    @classmethod
    def from_fasta(
        cls,
        path: Source,
        *,
        dbtype: str = "auto",
        on_invalid: OnInvalid = "error",
        memory_limit: int | None = None,
    ) -> Self:
        """Return a database of the records of a FASTA or FASTQ file, built in memory.

        Raises
        ------
        MemoryLimitError
            If that takes more memory than may be used; says what would be enough.
        """
        batches, alphabet = typed_batches([path], dbtype, on_invalid, force=dbtype != "auto")
        batches = indexable(batches, allowance(memory_limit))
        return cls.from_batches(batches, alphabet, "-" if path == "-" else os.fspath(path))

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

    def __repr__(self) -> str:
        m = self.manifest
        size = f"{m.sequences:,} {m.alphabet} sequences, {m.residues:,} residues"
        return f"<Database {self.name!r}: {size}>"

    def _repr_html_(self) -> str:
        m = self.manifest
        rows = {
            "sequences": f"{m.sequences:,}",
            "residues": f"{m.residues:,}",
            "longest": f"{m.longest:,}",
            "type": m.alphabet,
            "written by": m.writer,
        }
        cells = "".join(
            f"<tr><th>{key}</th><td>{html.escape(harmless(value))}</td></tr>"
            for key, value in rows.items()
        )
        return f"<table><caption>{html.escape(harmless(self.name))}</caption>{cells}</table>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file, or leave that to the last of its arrays that is still in use."""
        self._blocks.clear()
        with suppress(BufferError):
            self._data.release()
            self._close()

    @property
    def held_bytes(self) -> int:
        """The bytes of memory that it takes however little is looked at: none if it is a file."""
        return len(self._data) if self._release is None else 0

    def release(self) -> None:
        """Let go of the memory that the file has been read into; what is needed is read again."""
        if self._release is not None:
            self._release()

    def block(self, number: int) -> Block:
        """Return one block; its checksums are verified the first time.

        Raises
        ------
        DatabaseError
            If the block is damaged, or the file is no longer as long as it was.
        """
        state = self._looked_at()
        known = self._blocks.get(number)
        if known is None or known[0] != state:
            known = self._blocks[number] = state, self._read_block(number)
        return known[1]

    def _read_block(self, number: int) -> Block:
        info = self.manifest.blocks[number]
        arrays = {
            name: self._array(f"{name}/{number}", dtype) for name, dtype in SECTION_TYPES.items()
        }
        block = Block(info.first, **arrays)  # type: ignore[arg-type]
        if not block_agrees(*block[1:], self.manifest, info, self.release):
            raise self._contradiction(f"block {number}")
        self.release()
        return block

    def codes(self, ordinals: Iterable[int]) -> list[bytes]:
        """Return the residue codes of some records of the input."""
        places = self._places[np.asarray(list(ordinals), np.int64)].astype(np.int64)
        firsts = np.array([info.first for info in self.manifest.blocks])
        numbers = np.searchsorted(firsts, places, "right") - 1
        within = places - firsts[numbers]
        blocks = {number: self.block(number) for number in set(numbers.tolist())}
        found = []
        for number, k in zip(numbers.tolist(), within.tolist(), strict=True):
            block = blocks[number]
            start = int(block.starts[k]) * ALIGNMENT
            found.append(block.residues[start : start + int(block.lengths[k])].tobytes())
            if len(found) % RECORDS_AT_ONCE == 0:
                self.release()
        self.release()
        return found

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Return header line and residues of every record of the input."""
        lengths = np.zeros(len(self), np.uint32)
        for block in self.blocks():
            lengths[block.ordinals.astype(np.int64)] = block.lengths
            self.release()
        if not lengths.all():
            raise self._contradiction("the order of the input")
        for first in range(0, len(self), SIZES_AT_ONCE):
            here = range(first, min(first + SIZES_AT_ONCE, len(self)))
            yield from zip(
                self.headers(here), lengths[here.start : here.stop].tolist(), strict=True
            )

    def lengths(self, number: int) -> NDArray[np.uint32]:
        """Return the lengths of one block's targets, without touching their residues."""
        lengths: NDArray[np.uint32] = self._array(f"lengths/{number}", "<u4")  # type: ignore[assignment]
        if not lengths_agree(lengths, self.manifest.blocks[number]):
            raise self._contradiction(f"block {number}")
        return lengths

    def blocks(self) -> Iterator[Block]:
        """Return all blocks in order."""
        for number in range(len(self.manifest.blocks)):
            yield self.block(number)

    def __getitem__(self, ordinal: int) -> Sequence:
        if not -len(self) <= ordinal < len(self):
            raise IndexError(f"record {ordinal} of {len(self)}")
        place = ordinal % len(self)
        return Sequence(self.headers([place])[0], self.codes([place])[0])

    def __iter__(self) -> Iterator[Sequence]:
        return (self[ordinal] for ordinal in range(len(self)))

    def headers(self, ordinals: Iterable[int]) -> list[str]:
        """Return the header lines of some records of the input."""
        offsets = self._array("offsets", "<u8")
        names = self._array("names", "u1").data
        places = np.asarray(list(ordinals), np.int64)
        found: list[str] = []
        for first in range(0, len(places), RECORDS_AT_ONCE):
            here = places[first : first + RECORDS_AT_ONCE]
            starts, ends = offsets[here].tolist(), offsets[here + 1].tolist()
            if not all(a <= b <= len(names) for a, b in zip(starts, ends, strict=True)):
                raise self._contradiction("section 'offsets'")
            found += [decode_header(bytes(names[a:b])) for a, b in zip(starts, ends, strict=True)]
            self.release()
        return found

    @cached_property
    def _places(self) -> NDArray[np.unsignedinteger]:
        """The place by descending length of each record of the input."""
        places = np.full(len(self), len(self), np.min_scalar_type(len(self)))
        for number, info in enumerate(self.manifest.blocks):
            ordinals = self._array(f"ordinals/{number}", "<u8")
            if int(ordinals.max()) >= len(self):
                raise self._contradiction(f"section 'ordinals/{number}'")
            places[ordinals.astype(np.int64)] = np.arange(info.first, info.first + len(ordinals))
            self.release()
        if len(places) and int(places.max()) == len(self):  # so another record comes twice
            raise self._contradiction("the order of the input")
        return places

    def facts(self, *, letters: bool = False) -> dict[str, Any]:
        """Return what the database holds, in plain values.

        Parameters
        ----------
        letters
            Also count each letter, which reads all residues.
        """
        manifest = self.manifest
        facts = {
            "file": self.name,
            "title": harmless(manifest.title),
            "type": manifest.alphabet,
            "sequences": manifest.sequences,
            "residues": manifest.residues,
            "longest": manifest.longest,
            "shortest": min(block.shortest for block in manifest.blocks),
            "blocks": len(manifest.blocks),
            "bytes": len(self._data),
            "format": read_format(self._data),
            "written by": harmless(manifest.writer),
        }
        if letters:
            counts = dict.fromkeys(self.alphabet.letters, 0)
            for block in self.blocks():
                codes = block.residues.tobytes()
                for code, letter in enumerate(self.alphabet.letters):
                    counts[letter] += codes.count(code)
            facts["letters"] = {letter: count for letter, count in counts.items() if count}
        return facts

    def check(self) -> None:
        """Verify every checksum, and that all sections fit together.

        Raises
        ------
        DatabaseError
            If a section is damaged; says which.
        """
        for name in self._sections:
            self._array(name, "u1")
        for number in range(len(self.manifest.blocks)):
            self.block(number)
        self.codes([])  # looks at the order of the input
        offsets: NDArray[np.uint64] = self._array("offsets", "<u8")  # type: ignore[assignment]
        size = self._sections["names"].bytes
        if int(offsets[-1]) != size or (offsets[1:] < offsets[:-1]).any():
            raise self._contradiction("section 'offsets'")

    def _contradiction(self, what: str) -> DatabaseError:
        return DatabaseError(
            f"{what} contradicts itself; build it again with 'swdual makedb'", file=self.name
        )

    def _array(self, name: str, dtype: str) -> NDArray[np.generic]:
        """Return a section as an array; its checksum is verified the first time."""
        section = self._sections[name]
        state = self._looked_at()
        data = self._data[section.offset : section.offset + section.bytes]
        if not self._is_verified(name, state):
            with self._lock:
                if not self._is_verified(name, state) and self._sum(data) != section.checksum:
                    then = "was changed while it was in use: " if name in self._verified else ""
                    raise DatabaseError(
                        f"{then}damaged section {name!r} (checksum mismatch); "
                        "copy it or build it again with 'swdual makedb'",
                        file=self.name,
                    )
                self._verified[name] = state
        array: NDArray[np.generic] = np.frombuffer(data, dtype=dtype)
        return array

    def _is_verified(self, name: str, state: FileState | None) -> bool:
        return name in self._verified and self._verified[name] == state

    def _sum(self, data: memoryview) -> str:
        """Return the checksum of a section, of which little is in memory at a time."""

        def parts() -> Iterator[memoryview]:
            for first in range(0, len(data), CHECKED_AT_ONCE):
                yield data[first : first + CHECKED_AT_ONCE]
                self.release()

        return checksum(parts())

    def _looked_at(self) -> FileState | None:
        """Return the state of the file, after making sure that all of it can be read.

        Raises
        ------
        DatabaseError
            If it is shorter than it was, or the database is closed.
        """
        try:
            size, state = self._data.nbytes, self._state()
        except ValueError as error:
            raise DatabaseError(
                "is closed; keep it open while its results are looked at", file=self.name
            ) from error
        if state is not None and state.bytes < size:
            raise DatabaseError(
                f"was truncated while it was in use: {state.bytes} bytes of {size} are left; "
                "copy it or build it again with 'swdual makedb'",
                file=self.name,
            )
        return state
