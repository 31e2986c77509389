"""One volume of a BLAST database: its index, and its records in batches."""

from __future__ import annotations

import os
import string
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from swdual.database.readers import _bases, _deflines
from swdual.database.readers._alias import KINDS
from swdual.database.readers._codes import copy_codes
from swdual.database.readers._records import (
    InputFile,
    Offsets,
    cut_batches,
    name_records,
    padded_room,
)
from swdual.errors import DatabaseError, InputError
from swdual.masking.mask import BLAST_PREFIX, parse_mask
from swdual.sequences.alphabet import INVALID, LOWER, NUCLEOTIDE, PAD, PROTEIN, Alphabet
from swdual.sequences.sequence import Batch, Taxids

VERSIONS = (4, 5)

PROTEIN_LETTERS = "-ABCDEFGHIKLMNPQRSTVWXYZU*OJ"
"""NCBIstdaa: the letters of proteins in the order of their numbers."""

BASE_SETS = "-ACMGRSVTWYHKDBN"
"""NCBI4na: the letter of each set of bases, as in `_bases.unpack_bases`."""

MASK_COLUMN = "BlastDb/MaskData"
"""The title of the column that holds masks."""

PROGRAMS = {10: "dust", 20: "seg", 30: "windowmasker", 40: "repeat", 100: "other"}
"""What finds masks, by the numbers of BLAST."""

_CODES = {
    alphabet: np.frombuffer(
        bytes(
            alphabet.letters.index(letter) if letter in alphabet.letters else missing
            for letter in letters
        ).ljust(256, bytes([missing])),
        np.uint8,
    )
    for alphabet, letters, missing in (
        (PROTEIN, PROTEIN_LETTERS, INVALID),
        (NUCLEOTIDE, BASE_SETS, PAD),
    )
}


class _Fields:
    """Numbers and texts at the beginning of a file, one after the other."""

    def __init__(self, file: InputFile) -> None:
        self.file = file
        self.place = 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        here = self.file.array()[self.place : self.place + count]
        if count < 0 or len(here) < count:
            raise self.file.damaged("it ends in its first fields")
        self.place += count
        return here.tobytes()

    def number(self) -> int:
        """Return a number of four bytes."""
        return int.from_bytes(self.take(4), "big", signed=True)

    def text(self) -> str:
        """Return a text whose length stands before it, in four bytes."""
        return _decode(self.take(self.number()))

    def short_number(self) -> int:
        """Return a number of seven bits a byte, the highest first; all but the last have bit 7."""
        value = 0
        while True:
            (byte,) = self.take(1)
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                return value
            if value >> 32:
                raise self.file.damaged("a length is too large")

    def short_text(self) -> str:
        """Return a text whose length stands before it as a `short_number`."""
        return _decode(self.take(self.short_number()))


def _decode(data: bytes) -> str:
    return data.rstrip(b"\0").decode(errors="replace")


class Volume:
    """A volume of a BLAST database.

    Parameters
    ----------
    base
        Its path without ending.
    alphabet
        Of its sequences.

    Attributes
    ----------
    version, title, sequences, residues, longest
        What its index says.
    files
        The files that records are read from.
    masks
        The name of each mask, by its number in the volume.

    Raises
    ------
    DatabaseError
        If a file is missing or damaged, or of another version.
    """

    def __init__(self, base: str, alphabet: Alphabet) -> None:
        self._alphabet = alphabet
        self._base = f"{base}.{KINDS[alphabet.name]}"
        self.files = tuple(f"{self._base}{end}" for end in ("in", "hr", "sq"))
        index = self._index
        fields = _Fields(index)
        self.version = fields.number()
        is_protein = fields.number()
        if self.version not in VERSIONS:
            raise DatabaseError(
                f"is of version {self.version}, but 4 and 5 are supported; "
                "or it is no index of a BLAST database",
                file=index.name,
            )
        if is_protein != (alphabet is PROTEIN):
            raise index.damaged(f"its ending says {alphabet.plural}, its content does not")
        if self.version == 5:
            fields.number()  # of the volume
        self.title = fields.text()
        if self.version == 5:
            fields.text()  # the name of the file that finds identifiers
        fields.text()  # the date
        self.sequences = fields.number()
        self.residues = int.from_bytes(fields.take(8), "little")
        self.longest = fields.number()
        arrays = 2 if alphabet is PROTEIN else 3
        room = (index.bytes - fields.place) // (4 * arrays) - 1
        if not 0 <= self.sequences <= room:
            raise index.damaged(f"there is room for {max(room, 0):,} of {self.sequences:,} records")
        self._arrays = fields.place
        column = self._column
        self.masks = {} if column is None else {k: mask_name(v) for k, v in column[2].items()}
        _ = self._headers, self._sequences  # must be there
        self._close()

    @cached_property
    def _index(self) -> InputFile:
        return InputFile(self.files[0])

    @cached_property
    def _headers(self) -> InputFile:
        return InputFile(self.files[1])

    @cached_property
    def _sequences(self) -> InputFile:
        return InputFile(self.files[2])

    def _close(self) -> None:
        """Close the files until they are needed: a database may have hundreds of volumes."""
        for name in ("_index", "_headers", "_sequences", "_column"):
            self.__dict__.pop(name, None)

    def _offsets(self, number: int, limit: int, what: str) -> Offsets:
        """Return an array of the index: ascending places in a file, one more than records."""
        start = self._arrays + 4 * number * (self.sequences + 1)
        data = self._index.array()[start : start + 4 * (self.sequences + 1)]
        offsets = data.view(">u4").astype(np.int64)
        if (offsets[1:] < offsets[:-1]).any() or int(offsets[-1]) > limit:
            raise self._index.damaged(
                f"the places of {what} are not in order, or behind the end of their file"
            )
        return offsets

    @cached_property
    def _column(self) -> tuple[InputFile, Offsets, dict[int, str]] | None:
        """The masks: their file, where those of each record begin, and the name of each."""
        for letter in string.ascii_lowercase:
            if not os.path.isfile(f"{self._base}{letter}a"):
                continue
            index = InputFile(f"{self._base}{letter}a")
            fields = _Fields(index)
            _, _, width, count = (fields.number() for _ in range(4))
            size = int.from_bytes(fields.take(8), "big")
            metadata, offsets = fields.number(), fields.number()
            if fields.short_text() != MASK_COLUMN:
                continue
            fields.place = metadata
            names = {}
            for _ in range(fields.short_number()):
                key, value = fields.short_text(), fields.short_text()
                if not key.isdecimal():
                    raise index.damaged(f"a mask has no number, but {key[:20]!r}")
                names[int(key)] = value
            data = InputFile(f"{self._base}{letter}b")
            fields.place = offsets
            places = np.frombuffer(fields.take(4 * (count + 1)), ">u4").astype(np.int64)
            if width != 4 or count != self.sequences or size > data.bytes:
                raise index.damaged("it does not fit to the index of the volume")
            if (places[1:] < places[:-1]).any() or int(places[-1]) > size:
                raise index.damaged("the places of masks are not in order")
            return data, places, names
        return None

    def batches(self, masks: Sequence[str]) -> Iterator[Batch]:
        """Yield the records, with ``LOWER << k`` at letters that the mask ``masks[k]`` masks.

        Raises
        ------
        DatabaseError
            If they are damaged.
        """
        headers = self._offsets(0, self._headers.bytes, "headers")
        places = self._offsets(1, self._sequences.bytes, "sequences")
        starts, ends = places[:-1], places[1:]
        if self._alphabet is PROTEIN:
            ambiguities = ends - 1
            sizes = ambiguities - starts  # behind each protein there is a zero
        else:
            ambiguities = self._offsets(2, self._sequences.bytes, "ambiguities")[:-1]
            sizes = 4 * (ambiguities - starts)
        if (sizes < 0).any() or (ambiguities > ends).any():
            raise self._index.damaged("the places of sequences and ambiguities contradict")
        residues = 0
        for first, last in cut_batches(sizes + headers[1:] - headers[:-1]):
            here = slice(first, last)
            lengths = self._lengths(starts[here], ambiguities[here])
            residues += int(lengths.sum())
            kept = np.flatnonzero(lengths)
            codes = self._codes(
                first, starts[here][kept], ambiguities[here][kept], ends[here][kept], lengths[kept]
            )
            kept += first
            if masks:
                self._mark(kept, lengths[kept - first], masks, codes)
            yield self._batch(headers, kept, lengths[kept - first], codes)
            for file in (self._headers, self._sequences):
                file.release()
        if residues != self.residues:
            raise self._index.damaged(
                f"it counts {self.residues:,} residues, but there are {residues:,}"
            )
        self._close()

    def _lengths(self, starts: Offsets, ambiguities: Offsets) -> Offsets:
        """Return the residues of some records."""
        data = self._sequences.array()
        if self._alphabet is PROTEIN:
            if data[starts - 1].any() or data[ambiguities].any():
                raise self._sequences.damaged("a sequence does not lie between zeros")
            return ambiguities - starts
        empty = ambiguities == starts
        last = data[np.maximum(ambiguities - 1, 0)].astype(np.int64) & 3
        return np.where(empty, 0, 4 * (ambiguities - starts - 1) + last)

    def _codes(
        self, first: int, starts: Offsets, ambiguities: Offsets, ends: Offsets, lengths: Offsets
    ) -> NDArray[np.uint8]:
        """Return the codes of some records, the first of which has this number."""
        data, table = self._sequences.array(), _CODES[self._alphabet]
        codes = padded_room(lengths)
        if self._alphabet is PROTEIN:
            if copy_codes(data, starts, lengths, table, codes) >= LOWER:
                raise self._sequences.damaged(f"no letter, in record {first} or after it")
            return codes
        wrong = _bases.unpack_bases(data, starts, ambiguities, ends, lengths, table[:16], codes)
        if wrong >= 0:
            raise self._sequences.damaged(f"the ambiguities of record {first + wrong}")
        return codes

    def _mark(
        self, records: Offsets, lengths: Offsets, masks: Sequence[str], codes: NDArray[np.uint8]
    ) -> None:
        """Mark the masked letters of some records."""
        if self._column is None:
            return
        data, places, _ = self._column
        known = {number: name for number, name in self.masks.items() if name in masks}
        marks = [LOWER << masks.index(name) for name in known.values()]
        wrong = _bases.mark_masks(
            data.array(),
            places[records],
            places[records + 1],
            np.array([*known], np.int64),
            np.array(marks, np.uint8),
            lengths,
            codes,
        )
        if wrong >= 0:
            raise data.damaged(f"the masks of record {int(records[wrong])}")

    def _batch(
        self, headers: Offsets, records: Offsets, lengths: Offsets, codes: NDArray[np.uint8]
    ) -> Batch:
        """Return some records with their headers."""
        starts, ends = headers[records], headers[records + 1]
        size = int((ends - starts).sum())
        text = np.empty(_deflines.GROWTH * size, np.uint8)
        taxids = np.empty(size // 3 + 1, np.uint32)
        text_ends, taxid_ends = written_ends = np.empty((2, len(records)), np.int64)
        wrong = _deflines.read_deflines(
            self._headers.array(),
            starts,
            ends,
            self.version == 5,
            np.empty((_deflines.WORK_ROWS, 3), np.int64),
            text,
            taxids,
            written_ends,
        )
        if wrong >= 0:
            raise self._headers.damaged(f"the header of record {int(records[wrong])}")
        used = int(text_ends[-1]) if len(records) else 0
        return name_records(
            Batch(
                text[:used].tobytes(), text_ends, codes, lengths, _sort_taxids(taxids, taxid_ends)
            ),
            records,
        )


def _sort_taxids(taxids: NDArray[np.uint32], ends: Offsets) -> Taxids | None:
    """Return the taxonomy ids of records, each once and in order; None if there are none."""
    total = int(ends[-1]) if len(ends) else 0
    if total == 0:
        return None
    records = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    return Taxids.of(records, taxids[:total], len(ends))


def mask_name(description: str) -> str:
    """Return the name of a mask: that of the method as `parse_mask` takes it, if it is one.

    Parameters
    ----------
    description
        The number of the program, its options, and a name and a description that a user may have
        given, with colons between them.

    >>> mask_name("20:window=12; locut=2.2; hicut=2.5"), mask_name("100:x=1:mine:all of it")
    ('seg:12,2.2,2.5', 'blast:mine')
    """
    number, _, rest = description.partition(":")
    options, _, rest = rest.partition(":")
    program = PROGRAMS.get(int(number) if number.isdecimal() else 0, number)
    values = dict(pair.strip().split("=", 1) for pair in options.split(";") if "=" in pair)
    order = {"seg": ("window", "locut", "hicut"), "dust": ("level", "window", "linker")}
    names = order.get(program, ())
    if names and set(names) == set(values):
        try:
            return str(parse_mask(f"{program}:{','.join(values[each] for each in names)}", "mask"))
        except InputError:
            pass
    return f"{BLAST_PREFIX}{rest.partition(':')[0] or program}"
