"""DIAMOND databases: .dmnd files of format version 2 and 3."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

import numpy as np

from swdual.database.reader import OtherDatabase
from swdual.database.readers._codes import copy_codes
from swdual.database.readers._records import (
    InputFile,
    Offsets,
    check_type,
    cut_batches,
    join_texts,
    name_records,
    padded_room,
)
from swdual.errors import DatabaseError
from swdual.sequences.alphabet import CODES, INVALID, LOWER, PROTEIN, Alphabet
from swdual.sequences.sequence import Batch
from swdual.sequences.validation import OnInvalid
from swdual.text.messages import sanitize

MAGIC = 0x24AF8A415EE186D
HEADER = struct.Struct("<QIIQQQ")
"""Magic number, build of DIAMOND, version, sequences, letters, and the offset of `ENTRY`."""

VERSIONS = (2, 3)

ENTRY = np.dtype([("place", "<u8"), ("length", "<u4"), ("unused", "<u4")])
"""Where a record lies: 0xFF, its letters, 0xFF, its title, 0. One entry more ends the last one."""

LETTERS = "ARNDCQEGHILKMFPSTWYVBJZX*"
"""DIAMOND's letters in the order of their numbers: the first of swdual's."""

MASKED = 128
"""Added to the number of a letter that makedb masked."""


def detect(path: str) -> bool:
    """Return whether a path is a .dmnd file, or its name without ending."""
    return _find_file(path) is not None


def _find_file(path: str) -> str | None:
    for name in (path, f"{path}.dmnd"):
        if os.path.isfile(name):
            try:
                with open(name, "rb") as file:
                    return name if file.read(8) == MAGIC.to_bytes(8, "little") else None
            except OSError:
                return None
    return None


def _letter_table(keeps_case: bool) -> bytes:
    """Return the code of each byte of a sequence."""
    table = bytearray([INVALID] * 256)
    for number, letter in enumerate(LETTERS):
        code = PROTEIN.letters.index(letter)
        table[number] = code
        table[number | MASKED] = code | LOWER if keeps_case else code
    return bytes(table)


def open_database(path: str, dbtype: str) -> OtherDatabase:
    """Return a DIAMOND database.

    Parameters
    ----------
    path
        Its file, with or without ending.
    dbtype
        "prot" or "auto".

    Raises
    ------
    DatabaseError, InputError
        If it is damaged, of another version, or not of this type.
    """
    check_type(path, PROTEIN, dbtype)
    file = InputFile(_find_file(path) or path)
    head = file.array()[: HEADER.size].tobytes()
    if len(head) < HEADER.size:
        raise file.damaged("it ends in its header")
    _, build, version, sequences, letters, offset = HEADER.unpack(head)
    if version not in VERSIONS:
        raise DatabaseError(
            f"is of format version {version}, but 2 and 3 are supported", file=file.name
        )
    if sequences == 0 or offset + ENTRY.itemsize * (sequences + 1) > file.bytes:
        raise file.damaged(f"there is no room for {sequences:,} sequences")
    places, lengths = _read_index(file, sequences, offset)
    if int(lengths.sum()) != letters:
        raise file.damaged(f"it counts {letters:,} letters, its index {int(lengths.sum()):,}")

    def read(read_as: Alphabet, _on_invalid: OnInvalid, _masks: tuple[str, ...]) -> Iterator[Batch]:
        table = np.frombuffer(_letter_table(read_as.keeps_case), np.uint8)
        for first, last in cut_batches(np.diff(places)):
            data, starts, sizes = file.array(), places[first:last] + 1, lengths[first:last]
            codes = padded_room(sizes)
            if copy_codes(data, starts, sizes, table, codes) >= CODES + LOWER:
                raise file.damaged(f"no letter, in record {first} or after it")
            titles = starts + sizes + 1
            ends = places[first + 1 : last + 1] - 1
            edges = (starts - 1, titles - 1)
            if data[ends].any() or any((data[each] != 0xFF).any() for each in edges):
                raise file.damaged(f"records do not lie as the index says, from {first} on")
            text, text_ends = join_texts(data, titles, ends - titles)
            yield name_records(Batch(text, text_ends, codes, sizes), np.arange(first, last))
            file.release()

    return OtherDatabase(
        name=path,
        kind=f"DIAMOND database of version {version}, build {build}",
        title=sanitize(path),
        alphabet=PROTEIN,
        sequences=sequences,
        residues=letters,
        longest=int(lengths.max()),
        files=(file.name,),
        read=read,
    )


def _read_index(file: InputFile, sequences: int, offset: int) -> tuple[Offsets, Offsets]:
    """Return where records begin, with the end of the last one, and the letters of each."""
    data = file.array()[offset : offset + ENTRY.itemsize * (sequences + 1)]
    entries = data.view(ENTRY)
    places = entries["place"].astype(np.int64)
    lengths = entries["length"][:-1].astype(np.int64)
    outside = places.min() < HEADER.size or places.max() > file.bytes
    if outside or (np.diff(places) < lengths + 3).any():
        raise file.damaged("the places of records are not in order, or behind the end")
    if not lengths.all():
        raise file.damaged("there is a record without letters")
    return places, lengths
