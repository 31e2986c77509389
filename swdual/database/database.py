"""The database as an object: a read-only map of the file, checked on first touch."""

from __future__ import annotations

import html
import io
import mmap
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
    GUARD_BYTES,
    SECTION_TYPES,
    Manifest,
    checksum,
    read_format,
    read_manifest,
)
from swdual.database.source import typed_batches
from swdual.errors import DatabaseError
from swdual.sequences.alphabet import ALIGNMENT, ALPHABETS, Alphabet
from swdual.sequences.sequence import Batch, Sequence, decode_header
from swdual.sequences.stream import Source
from swdual.sequences.validation import OnInvalid
from swdual.version import __version__

SIZES_AT_ONCE = 10_000
"""Header lines held in memory while all are listed."""


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

    ``database[i]`` is record i of the input. Open one with `Database.open`, build one with
    `makedb` or, in memory, with `Database.from_batches`.
    """

    def __init__(self, data: memoryview, name: str, close: Callable[[], None]) -> None:
        self.name = name
        self._data = data
        self._close = close
        self.manifest: Manifest = read_manifest(data, name)
        self._sections = {section.name: section for section in self.manifest.sections}
        self._checked: set[str] = set()
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
            with open(path, "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
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
        database = cls(memoryview(mapped), name, mapped.close)
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
        cls, path: Source, *, dbtype: str = "auto", on_invalid: OnInvalid = "error"
    ) -> Self:
        """Return a database of the records of a FASTA or FASTQ file, built in memory."""
        batches, alphabet = typed_batches([path], dbtype, on_invalid, force=dbtype != "auto")
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
            f"<tr><th>{key}</th><td>{html.escape(value)}</td></tr>" for key, value in rows.items()
        )
        return f"<table><caption>{html.escape(self.name)}</caption>{cells}</table>"

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
        with suppress(BufferError):
            self._data.release()
            self._close()

    def block(self, number: int) -> Block:
        """Return one block; its checksums are verified the first time.

        Raises
        ------
        DatabaseError
            If the block is damaged.
        """
        info = self.manifest.blocks[number]
        arrays = {
            name: self._array(f"{name}/{number}", dtype) for name, dtype in SECTION_TYPES.items()
        }
        block = Block(info.first, **arrays)  # type: ignore[arg-type]
        counts = {len(arrays[name]) for name in ("starts", "lengths", "ordinals")}
        ends = block.starts.astype(np.int64) * ALIGNMENT + block.lengths
        room = len(block.residues) - GUARD_BYTES
        if (
            counts != {info.sequences}
            or info.sequences == 0
            or int(ends.max()) > room
            or int(block.lengths[-1]) < 1
            or bool(np.any(block.lengths[1:] > block.lengths[:-1]))
            or int(block.lengths.sum(dtype=np.int64)) != info.residues
        ):
            raise DatabaseError(f"block {number} contradicts itself", file=self.name)
        return block

    def codes(self, ordinals: Iterable[int]) -> list[bytes]:
        """Return the residue codes of some records of the input."""
        places = np.asarray(list(ordinals), np.int64)
        numbers, within = self._places[:, places].tolist()
        blocks = {number: self.block(number) for number in set(numbers)}
        found = []
        for number, k in zip(numbers, within, strict=True):
            block = blocks[number]
            start = int(block.starts[k]) * ALIGNMENT
            found.append(block.residues[start : start + int(block.lengths[k])].tobytes())
        return found

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Return header line and residues of every record of the input."""
        lengths = np.empty(len(self), np.int64)
        for block in self.blocks():
            lengths[block.ordinals.astype(np.int64)] = block.lengths
        for first in range(0, len(self), SIZES_AT_ONCE):
            here = range(first, min(first + SIZES_AT_ONCE, len(self)))
            yield from zip(
                self.headers(here), lengths[here.start : here.stop].tolist(), strict=True
            )

    def lengths(self, number: int) -> NDArray[np.uint32]:
        """Return the lengths of one block's targets, without touching their residues."""
        lengths: NDArray[np.uint32] = self._array(f"lengths/{number}", "<u4")  # type: ignore[assignment]
        if len(lengths) != self.manifest.blocks[number].sequences:
            raise DatabaseError(f"block {number} contradicts itself", file=self.name)
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
        if len(offsets) != len(self) + 1:
            raise DatabaseError("section 'offsets' contradicts the header", file=self.name)
        names = self._array("names", "u1").data
        places = np.asarray(list(ordinals), np.int64)
        starts, ends = offsets[places].tolist(), offsets[places + 1].tolist()
        return [decode_header(bytes(names[a:b])) for a, b in zip(starts, ends, strict=True)]

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """Block and place in it of each record of the input, shape (2, sequences)."""
        places = np.empty((2, len(self)), np.int64)
        for number in range(len(self.manifest.blocks)):
            ordinals = self._array(f"ordinals/{number}", "<u8").astype(np.int64)
            places[0, ordinals] = number
            places[1, ordinals] = np.arange(len(ordinals))
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
            "title": manifest.title,
            "type": manifest.alphabet,
            "sequences": manifest.sequences,
            "residues": manifest.residues,
            "longest": manifest.longest,
            "shortest": min(block.shortest for block in manifest.blocks),
            "blocks": len(manifest.blocks),
            "bytes": len(self._data),
            "format": read_format(self._data),
            "written by": manifest.writer,
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
        """Verify every checksum.

        Raises
        ------
        DatabaseError
            If a section is damaged; says which.
        """
        for name in self._sections:
            self._array(name, "u1")
        for number in range(len(self.manifest.blocks)):
            self.block(number)

    def _array(self, name: str, dtype: str) -> NDArray[np.generic]:
        """Return a section as an array; its checksum is verified the first time."""
        section = self._sections.get(name)
        if section is None:
            raise DatabaseError(f"section {name!r} is missing", file=self.name)
        try:
            data = self._data[section.offset : section.offset + section.bytes]
        except ValueError as error:
            raise DatabaseError(
                "is closed; keep it open while its results are looked at", file=self.name
            ) from error
        if name not in self._checked:
            with self._lock:
                if name not in self._checked and checksum(data) != section.checksum:
                    raise DatabaseError(
                        f"damaged section {name!r} (checksum mismatch); "
                        "copy it or build it again with 'swdual makedb'",
                        file=self.name,
                    )
                self._checked.add(name)
        if len(data) % np.dtype(dtype).itemsize:
            raise DatabaseError(f"section {name!r} contradicts the header", file=self.name)
        array: NDArray[np.generic] = np.frombuffer(data, dtype=dtype)
        return array
