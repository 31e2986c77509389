"""Sequences one by one, and batches of them as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.sequences.alphabet import ALIGNMENT, PAD, PROTEIN, Alphabet, raise_case

LINE_LETTERS = 60
"""Letters in a line of FASTA."""

REPR_LETTERS = 20
"""Letters that a `Sequence` shows of itself in one line."""


@dataclass(frozen=True, repr=False, slots=True)
class Sequence:
    """One record: ``str`` gives its letters, ``len`` counts them.

    Parameters
    ----------
    title
        The whole header line.
    codes
        The code of each residue.
    alphabet
        The letters of these codes.
    shown
        Where letters are masked: all letters as they were written, masked ones in lower case.
        `codes` have X (or N) there, unless the mask is soft: see `soften`. Empty: nothing is
        masked.

    Examples
    --------
    >>> sequence = Sequence("s1 a test", PROTEIN.encode("MKVLAW"))
    >>> str(sequence), len(sequence), sequence.id
    ('MKVLAW', 6, 's1')
    """

    title: str
    codes: bytes
    alphabet: Alphabet = PROTEIN
    shown: str = ""

    def __len__(self) -> int:
        return len(self.codes)

    def __str__(self) -> str:
        return self.letters

    def __repr__(self) -> str:
        first = (self.shown or self.alphabet.decode(self.codes[:REPR_LETTERS]))[:REPR_LETTERS]
        more = "..." if len(self.codes) > REPR_LETTERS else ""
        return f"<Sequence {self.id!r}: {len(self.codes):,} residues, {first}{more}>"

    @property
    def id(self) -> str:
        """The first word of the header."""
        return first_word(self.title)

    @property
    def letters(self) -> str:
        """The residues as text, in upper case; masked ones in lower case."""
        return self.shown or self.alphabet.decode(self.codes)

    @property
    def unmasked(self) -> bytes:
        """The code of each residue as it was written."""
        return self.alphabet.encode(self.shown) if self.shown else self.codes

    @classmethod
    def of_cased(cls, title: str, codes: bytes, alphabet: Alphabet, soft: bool = False) -> Self:
        """Return a record whose letters in lower case are masked.

        Parameters
        ----------
        title
            The whole header line.
        codes
            The codes of ``alphabet.cased``.
        alphabet
            Of the result.
        soft
            Whether the mask is soft: see `soften`.
        """
        written = raise_case(codes)
        if written == codes:
            return cls(title, codes, alphabet)
        shown = alphabet.cased.decode(codes)
        return cls(title, written if soft else alphabet.mask(codes), alphabet, shown)

    def soften(self) -> Sequence:
        """Return the sequence with a soft mask: with the codes as written, and `shown` as it is.

        >>> soft = Sequence("s1", PROTEIN.encode("MXX"), shown="Mkv").soften()
        >>> PROTEIN.decode(soft.codes), soft.letters
        ('MKV', 'Mkv')
        """
        return replace(self, codes=self.unmasked)

    def to_fasta(self, width: int = LINE_LETTERS) -> str:
        """Return the record as FASTA: the header line, then lines of `width` letters.

        >>> print(Sequence("s1 a test", PROTEIN.encode("MKVLAW")).to_fasta(width=4), end="")
        >s1 a test
        MKVL
        AW
        """
        return format_fasta(self.title, self.letters, width)


class Taxids(NamedTuple):
    """Taxonomy ids of consecutive records: none, one or several for each.

    Parameters
    ----------
    values
        uint32: the ids of all records end to end, those of a record in ascending order.
    ends
        (records,) where those of each record end in `values`.
    """

    values: NDArray[np.uint32]
    ends: NDArray[np.int64]


class Batch(NamedTuple):
    """Consecutive records.

    Parameters
    ----------
    headers, header_ends
        Header lines end to end, and (records,) where each ends.
    codes
        Residue codes; each record begins on a multiple of `ALIGNMENT` bytes.
    lengths
        (records,) residues.
    taxids
        Taxonomy ids, if the source of the records has them.
    """

    headers: bytes
    header_ends: NDArray[np.int64]
    codes: NDArray[np.uint8]
    lengths: NDArray[np.int64]
    taxids: Taxids | None = None

    def sequences(self, alphabet: Alphabet = PROTEIN) -> Iterator[Sequence]:
        """Yield the records one by one, as sequences of this alphabet."""
        start = title = 0
        for end, length in zip(self.header_ends.tolist(), self.lengths.tolist(), strict=True):
            codes = self.codes[start : start + length].tobytes()
            yield Sequence(decode_header(self.headers[title:end]), codes, alphabet)
            title = end
            start += length + -length % ALIGNMENT


def batch_of(sequences: Iterable[Sequence]) -> Batch:
    """Return some records as a batch.

    >>> batch_of([Sequence("a", bytes([0, 1]))]).lengths.tolist()
    [2]
    """
    headers, parts, lengths = [], [], []
    for sequence in sequences:
        codes = sequence.codes
        headers.append(sequence.title.encode(errors="replace"))
        parts.append(codes.ljust(len(codes) + -len(codes) % ALIGNMENT, bytes([PAD])))
        lengths.append(len(codes))
    return Batch(
        b"".join(headers),
        np.cumsum([len(header) for header in headers], dtype=np.int64),
        np.frombuffer(b"".join(parts), np.uint8),
        np.array(lengths, np.int64),
    )


def format_fasta(title: str, letters: str, width: int) -> str:
    """Return a header line, then lines of `width` letters.

    >>> format_fasta("s1 a test", "MKVlaw", 4)
    '>s1 a test\\nMKVl\\naw\\n'
    """
    lines = (letters[first : first + width] for first in range(0, len(letters), width))
    return "\n".join((f">{title}", *lines, ""))


def first_word(title: str) -> str:
    """Return the identifier in a header line.

    >>> first_word("sp|P02232|LGB1_VICFA Leghemoglobin-1")
    'sp|P02232|LGB1_VICFA'
    """
    words = title.split(maxsplit=1)
    return words[0] if words else ""


def description(title: str) -> str:
    """Return what follows the identifier in a header line.

    >>> description("t1  one of two"), description("t1")
    ('one of two', '')
    """
    words = title.split(maxsplit=1)
    return words[1] if len(words) > 1 else ""


def decode_header(header: bytes) -> str:
    """Return a stored header as text: UTF-8, or Latin-1 if it is not valid UTF-8."""
    try:
        return header.decode("utf-8")
    except UnicodeDecodeError:
        return header.decode("latin-1")
