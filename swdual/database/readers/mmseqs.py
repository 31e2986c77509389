"""MMseqs2 databases: sequences and headers, plain or compressed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from swdual.database.reader import OtherDatabase
from swdual.database.readers._codes import copy_codes
from swdual.database.readers._entries import read_numbers
from swdual.database.readers._records import (
    InputFile,
    Offsets,
    check_type,
    cut_batches,
    join_texts,
    padded_room,
)
from swdual.errors import DatabaseError, InputError
from swdual.sequences.alphabet import CODES, LOWER, NUCLEOTIDE, PROTEIN, Alphabet
from swdual.sequences.sequence import Batch, decode_header
from swdual.sequences.validation import OnInvalid, Validator
from swdual.text.messages import quote, sanitize

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

AMINO_ACIDS, NUCLEOTIDES, GENERIC = 0, 1, 12
"""Types of databases: the low 16 bits of the file ``.dbtype``."""

TYPES = {AMINO_ACIDS: PROTEIN, NUCLEOTIDES: NUCLEOTIDE}

COMPRESSED, FOR_GPUS = 1 << 31, 8 << 16
"""Bits of the file ``.dbtype``."""

PLAIN_ENTRY = 0xFF
"""The last byte of an entry that is not compressed, though those of its database are."""

MAX_ENTRY_BYTES = 1 << 31

MIN_PACKED_BYTES = 5
"""A compressed entry: its size, and how it is packed."""


def detect(path: str) -> bool:
    """Return whether a path is the name of an MMseqs2 database."""
    return os.path.isfile(f"{path}.dbtype") and os.path.isfile(f"{path}.index")


class _Entries:
    """The entries of a database: a file of data, and an index of keys, places and lengths."""

    def __init__(self, path: str, types: tuple[int, ...]) -> None:
        self.file = InputFile(path)
        flags = InputFile(f"{path}.dbtype")
        if flags.bytes != 4:
            raise flags.damaged("it must have 4 bytes")
        value = int.from_bytes(flags.array().tobytes(), "little")
        self.type, self.is_compressed = value & 0xFFFF, bool(value & COMPRESSED)
        if value & FOR_GPUS:
            raise DatabaseError(
                "is padded for GPUs ('mmseqs makepaddedseqdb'), which swdual does not read; give "
                "the database that it was made of",
                file=path,
            )
        if self.type not in types or value & ~COMPRESSED & ~0xFFFF:
            raise DatabaseError(
                f"is an MMseqs2 database of type {value & ~COMPRESSED}, but swdual reads those of "
                "sequences only ('mmseqs createdb')",
                file=path,
            )
        index = InputFile(f"{path}.index")
        text = index.array()
        lines = int(np.count_nonzero(text == ord("\n"))) + (text[-1] != ord("\n"))
        rows = np.empty((lines, 3), np.int64)
        wrong = read_numbers(text, rows)
        if wrong >= 0:
            raise index.damaged(f"line {wrong + 1} is not a key, a place and a length")
        self.keys, self.places, self.lengths = rows.T.copy()
        self.index = index
        room = MAX_ENTRY_BYTES if self.is_compressed else self.file.bytes
        fault = (self.places > self.file.bytes) | (self.lengths < 1) | (self.lengths > room)
        if not self.is_compressed:
            fault |= self.places + self.lengths - 1 > self.file.bytes
        if fault.any():
            line = int(np.flatnonzero(fault)[0]) + 1
            raise index.damaged(f"line {line} names what is not in {quote(path)}")
        order = np.argsort(self.places)
        room = np.diff(self.places[order])
        taken = MIN_PACKED_BYTES if self.is_compressed else self.lengths[order][:-1]
        if (room < taken).any():
            line = int(order[np.flatnonzero(room < taken)[0]]) + 1
            raise index.damaged(f"the entry of line {line} overlaps with the next one")
        if len(np.unique(self.keys)) != len(self.keys):
            raise index.damaged("a key is there twice")
        # Entries may also be parts of a FASTA file that the database links to.
        self.is_linked = not self.is_compressed and self.file.array()[0] == ord(">")

    def texts(self, rows: Offsets) -> tuple[NDArray[np.uint8], Offsets, Offsets]:
        """Return some entries without the end of their line, as text, starts and lengths."""
        starts, lengths = self.places[rows], self.lengths[rows] - 1
        data = self.file.array()
        if not self.is_compressed and not self.is_linked:
            self._check_ends(data, starts, lengths)
        if self.is_compressed:
            parts = [
                self._unpack(data, *entry)
                for entry in zip(starts.tolist(), lengths.tolist(), strict=True)
            ]
            data = np.frombuffer(b"".join(parts) or b"\0", np.uint8)
            lengths = np.array([len(part) for part in parts], np.int64)
            starts = np.cumsum(lengths) - lengths
        for _ in range(2):  # a line ends with a newline, or with two characters
            last = data[np.maximum(starts + lengths - 1, 0)]
            lengths = lengths - ((lengths > 0) & ((last == ord("\n")) | (last == ord("\r"))))
        return data, starts, lengths

    def _check_ends(self, data: NDArray[np.uint8], starts: Offsets, lengths: Offsets) -> None:
        """Check that entries begin behind another one, and end in a newline and a NUL."""
        whole = (starts == 0) | (data[starts - 1] == 0)
        whole &= data[np.minimum(starts + lengths, len(data) - 1)] == 0
        whole &= data[starts + lengths - 1] == ord("\n")
        if not whole.all():
            place = int(starts[np.flatnonzero(~whole)[0]])
            raise self.index.damaged(
                f"the entry at {place:,} does not lie between the ends of two lines"
            )

    def _unpack(self, data: NDArray[np.uint8], start: int, length: int) -> bytes:
        """Return a compressed entry: the bytes that it takes, these, and how they are packed."""
        size = int.from_bytes(data[start : start + 4].tobytes(), "little")
        packed = data[start + 4 : start + 5 + size].tobytes()
        if len(packed) <= size:
            raise self.file.damaged(f"an entry at {start:,} reaches behind the end")
        if packed[-1] == PLAIN_ENTRY:
            return self._check_length(packed[:-1].rstrip(b"\0"), start, length)
        try:
            unpacker = zstd.ZstdDecompressor()
            text = unpacker.decompress(packed[:-1], max_length=length + 1)
        except zstd.ZstdError as error:
            raise self.file.damaged(f"an entry at {start:,} cannot be unpacked") from error
        if not unpacker.eof:
            raise self.file.damaged(f"an entry at {start:,} is longer than its index says")
        return self._check_length(text.rstrip(b"\0"), start, length)

    def _check_length(self, text: bytes, start: int, length: int) -> bytes:
        if len(text) != length:
            raise self.index.damaged(f"the entry at {start:,} has another length")
        return text


def open_database(path: str, dbtype: str) -> OtherDatabase:
    """Return an MMseqs2 database.

    Parameters
    ----------
    path
        Its name.
    dbtype
        "prot", "nucl" or "auto".

    Raises
    ------
    DatabaseError, InputError
        If it is damaged, or of another type.
    """
    entries = _Entries(path, (AMINO_ACIDS, NUCLEOTIDES))
    headers = _Entries(f"{path}_h", (GENERIC,))
    alphabet = TYPES[entries.type]
    check_type(path, alphabet, dbtype)
    order = np.argsort(headers.keys, kind="stable")
    found = np.searchsorted(headers.keys[order], entries.keys)
    rows = order[np.minimum(found, len(order) - 1)]
    if (headers.keys[rows] != entries.keys).any():
        raise headers.index.damaged("some sequences have no header")
    numbers = np.arange(len(entries.keys))

    def read(read_as: Alphabet, on_invalid: OnInvalid, _masks: tuple[str, ...]) -> Iterator[Batch]:
        validator = Validator(path, read_as, on_invalid)
        for first, last in cut_batches(entries.lengths + headers.lengths[rows]):
            here = slice(first, last)
            batch = _encode(entries.texts(numbers[here]), headers.texts(rows[here]), validator)
            if len(batch.lengths):
                yield batch
            entries.file.release()
            headers.file.release()
        validator.finish()

    return OtherDatabase(
        name=path,
        kind="MMseqs2 database" + (", compressed" if entries.is_compressed else ""),
        title=sanitize(path),
        alphabet=alphabet,
        sequences=len(entries.keys),
        residues=int((entries.lengths - 2).clip(0).sum()),
        longest=int(entries.lengths.max()) - 2,
        files=tuple(each for one in (entries, headers) for each in (one.file.name, one.index.name)),
        read=read,
    )


_Texts = tuple[NDArray[np.uint8], Offsets, Offsets]


def _encode(sequences: _Texts, headers: _Texts, validator: Validator) -> Batch:
    """Return records from their residues and header lines; those without residues are left out."""
    data, starts, lengths = sequences
    text, places, sizes = headers
    codes = padded_room(lengths)
    table = np.frombuffer(validator.alphabet.encoding, np.uint8)
    clean = copy_codes(data, starts, lengths, table, codes) < CODES + LOWER
    if clean and lengths.all():
        titles, ends = join_texts(text, places, sizes)
        if np.diff(ends, prepend=0).all():
            return validator.count(Batch(titles, ends, codes, lengths))

    def records() -> Iterator[tuple[str, bytes]]:
        rows = zip(*(each.tolist() for each in (starts, lengths, places, sizes)), strict=True)
        for start, length, place, size in rows:
            title = decode_header(text[place : place + size].tobytes())
            yield title, data[start : start + length].tobytes()

    return validator.encode(records(), lambda: _complain(records(), validator))


def _complain(records: Iterator[tuple[str, bytes]], validator: Validator) -> InputError:
    """Return the error for the first invalid letter."""
    for title, residues in records:
        error = validator.invalid_letter(residues, 0)
        if error is not None:
            return InputError(f"record {quote(title)}: {error.message}", file=validator.name)
    raise AssertionError("no invalid letter in these records")
