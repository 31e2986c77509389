"""Sequences one by one, and batches of them as arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.sequences.alphabet import ALIGNMENT, PAD, PROTEIN, Alphabet, raise_case
from swdual.text.messages import TITLE_SEPARATOR, sanitize

LINE_LETTERS = 60
"""Letters in a line of FASTA."""

ASCII_BLANKS = " \t\n\v\f\r"

_FIRST_WORD = re.compile(
    rf"[{ASCII_BLANKS}{TITLE_SEPARATOR}]*([^{ASCII_BLANKS}{TITLE_SEPARATOR}]*)"
)

REPR_LETTERS = 20
"""Letters that a `Sequence` shows of itself in one line."""


@dataclass(frozen=True, repr=False, slots=True)
class Sequence:
    """One record: ``str`` gives its letters, ``len`` counts them.

    Parameters
    ----------
    title
        The whole header line: see `split_titles`.
    codes
        The code of each residue.
    alphabet
        The letters of these codes.
    shown
        Where letters are masked: all letters as they were written, masked ones in lower case.
        `codes` have X (or N) there, unless the mask is soft: see `soften`. Empty: nothing is
        masked.
    before, after
        Letters that the whole sequence has before and after these, where they are a part of it.

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
    before: int = 0
    after: int = 0

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

    @property
    def whole_length(self) -> int:
        """Letters of the whole sequence that these are a part of."""
        return self.before + len(self.codes) + self.after

    def cut(self, start: int, end: int) -> Self:
        """Return the part from `start`, counted from 0, to before `end`."""
        return replace(
            self,
            codes=self.codes[start:end],
            shown=self.shown[start:end],
            before=self.before + start,
            after=self.after + len(self.codes) - end,
        )

    def at_location_of(self, part: Sequence) -> Self:
        """Return the sequence as the same part of a whole as another one."""
        return replace(self, before=part.before, after=part.after)

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

    @classmethod
    def of(cls, records: NDArray[np.int64], values: NDArray[np.uint32], count: int) -> Self:
        """Return the ids of some records, each once.

        Parameters
        ----------
        records, values
            Numbers of records, and an id of each; 0 is none.
        count
            Number of all records.
        """
        known = values != 0
        keys = np.sort(records[known].astype(np.int64) << 32 | values[known])
        # Not np.unique: NumPy's functions of sets import its masked arrays, which take 15 ms.
        keys = keys[np.diff(keys, prepend=-1) != 0]
        counts = np.bincount(keys >> 32, minlength=count)
        return cls((keys & 0xFFFFFFFF).astype(np.uint32), np.cumsum(counts))


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

    As in BLAST, it ends at a blank of ASCII, and no other space.

    >>> first_word("sp|P02232|LGB1_VICFA Leghemoglobin-1")
    'sp|P02232|LGB1_VICFA'
    """
    found = _FIRST_WORD.match(title)
    assert found is not None  # it matches any text
    return found[1]


def split_titles(title: str) -> list[str]:
    r"""Return the titles in a header line: NCBI's nr has one for each record of the same sequence.

    >>> split_titles("WP_1.1 protein A\x01XP_2.1 protein B"), split_titles("t1 one >2")
    (['WP_1.1 protein A', 'XP_2.1 protein B'], ['t1 one >2'])
    """
    if TITLE_SEPARATOR not in title:
        return [title]
    titles = [each.strip() for each in title.split(TITLE_SEPARATOR)]
    return [each for each in titles if each] or [""]


def identifiers(title: str) -> list[str]:
    r"""Return the identifiers in a header line, one for each title.

    >>> identifiers("WP_1.1 protein A\x01XP_2.1 protein B")
    ['WP_1.1', 'XP_2.1']
    """
    return [first_word(each) for each in split_titles(title)]


def clean_header(title: str) -> str:
    """Return a header line that is safe to write, and means the same when it is read again."""
    return TITLE_SEPARATOR.join(sanitize(each, "\t") for each in split_titles(title))


def split_headers(
    headers: NDArray[np.uint8], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each title in some header lines ends, and the record that it belongs to.

    Parameters
    ----------
    headers, ends
        Header lines end to end, and (records,) where each ends.
    """
    records = np.arange(len(ends))
    inner = np.flatnonzero(headers == ord(TITLE_SEPARATOR)) + 1
    if not len(inner):
        return ends, records
    inner = inner[ends[np.searchsorted(ends, inner)] != inner]
    every = np.concatenate((ends, inner))
    order = np.argsort(every, kind="stable")
    owners = np.concatenate((records, np.searchsorted(ends, inner, side="right")))
    return every[order], owners[order]


def description(title: str) -> str:
    """Return what follows the identifier in a header line.

    >>> description("t1  one of two"), description("t1")
    ('one of two', '')
    """
    title, *others = split_titles(title)
    rest = title[title.find(word := first_word(title)) + len(word) :]
    return TITLE_SEPARATOR.join([rest.strip(ASCII_BLANKS), *others])


def decode_header(header: bytes) -> str:
    """Return a stored header as text: UTF-8, or Latin-1 if it is not valid UTF-8."""
    try:
        return header.decode("utf-8")
    except UnicodeDecodeError:
        return header.decode("latin-1")
