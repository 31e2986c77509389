"""Sequences one by one, and batches of them as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.sequences.alphabet import ALIGNMENT, PAD


class Sequence(NamedTuple):
    """One record: the whole header line and the codes of its residues."""

    title: str
    codes: bytes

    def __repr__(self) -> str:
        return f"<Sequence {self.id!r}: {len(self.codes):,} residues>"

    @property
    def id(self) -> str:
        """The first word of the header."""
        return first_word(self.title)


class Batch(NamedTuple):
    """Consecutive records: header lines end to end, codes, and the length of each record.

    Each record's codes begin on a multiple of `ALIGNMENT` bytes.
    """

    headers: bytes
    header_ends: NDArray[np.int64]
    codes: NDArray[np.uint8]
    lengths: NDArray[np.int64]

    def sequences(self) -> Iterator[Sequence]:
        """Return the records one by one."""
        start = title = 0
        for end, length in zip(self.header_ends.tolist(), self.lengths.tolist(), strict=True):
            codes = self.codes[start : start + length].tobytes()
            yield Sequence(decode_header(self.headers[title:end]), codes)
            title = end
            start += length + -length % ALIGNMENT


def batch_of(sequences: Iterable[Sequence]) -> Batch:
    """Return some records as a batch.

    >>> batch_of([Sequence("a", bytes([0, 1]))]).lengths.tolist()
    [2]
    """
    headers, parts, lengths = [], [], []
    for title, codes in sequences:
        headers.append(title.encode(errors="replace"))
        parts.append(codes.ljust(len(codes) + -len(codes) % ALIGNMENT, bytes([PAD])))
        lengths.append(len(codes))
    return Batch(
        b"".join(headers),
        np.cumsum([len(header) for header in headers], dtype=np.int64),
        np.frombuffer(b"".join(parts), np.uint8),
        np.array(lengths, np.int64),
    )


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
    """Return a stored header as text: UTF-8, or Latin-1 where it is not UTF-8."""
    try:
        return header.decode("utf-8")
    except UnicodeDecodeError:
        return header.decode("latin-1")
