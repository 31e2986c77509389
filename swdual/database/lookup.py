"""Records of a database by their identifiers, found in its header lines without an index.

The header lines are searched as bytes, some megabytes at a time. A record that may be meant is then
looked at as text, so what is compared is the identifier as everybody else reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.database.hashes import hash_identifiers
from swdual.errors import UnknownIdentifier
from swdual.sequences.sequence import decode_header, identifiers, split_headers
from swdual.text.messages import TITLE_SEPARATOR, nearest, quote

_MAX_OFFSET = (1 << 64) - 1

CHUNK_BYTES = 4 << 20
"""Bytes of header lines that are searched together."""

MAX_SCANS, MIN_SCAN_LETTERS = 16, 4
"""How many identifiers are searched for one by one, and how long the shortest of them must be.

Others are found by a hash of each identifier, for which Numba is loaded."""

MAX_SUGGESTIONS = 3
"""Identifiers that an error names because they resemble one that does not exist."""

_BEFORE_A_PART = b"| \t" + TITLE_SEPARATOR.encode()

_VERSION = re.compile(r"\.[0-9]+\Z")

_WITH_BARS = re.compile(r"[a-z]{2,3}\|([^|]+)\|[^|]*", re.ASCII)


def find_index(word: str, identifiers: Sequence[str], what: str) -> int:
    """Return the index of the first identifier that a word names, as `Database.find` does.

    Parameters
    ----------
    word
        An identifier, or a part of one.
    identifiers
        The identifiers.
    what
        What messages call the thing that is missing.

    Raises
    ------
    UnknownIdentifier
        If the word names none, or is a part of several.

    >>> find_index("P01008", ["sp|P02232|LGB1_VICFA", "sp|P01008|ANT3_HUMAN"], "hit")
    1
    """
    if word in identifiers:
        return identifiers.index(word)
    partial = [k for k, each in enumerate(identifiers) if is_part(word, each)]
    if len(partial) == 1:
        return partial[0]
    if partial:
        names = ", ".join(identifiers[k] for k in partial[:MAX_SUGGESTIONS])
        raise UnknownIdentifier(
            f"{quote(word)} is part of {len(partial):,} identifiers: {names}; "
            "give the whole identifier"
        )
    near = nearest(word, identifiers)
    hint = f"; did you mean {near}?" if near else ""
    raise UnknownIdentifier(f"there is no {what} {quote(word)}{hint}")


class Names(NamedTuple):
    """The header lines of a database.

    Parameters
    ----------
    headers
        All header lines, end to end.
    offsets
        (records + 1,) where the header line of each record begins.
    release
        Lets go of the pages of `headers` that have been read.
    """

    headers: memoryview
    offsets: NDArray[np.uint64]
    release: Callable[[], None]

    def header(self, record: int) -> str:
        """Return the header line of a record."""
        start, end = self.offsets[record : record + 2].tolist()
        return decode_header(bytes(self.headers[start:end]))

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of records, [first, stop), whose header lines are searched together."""
        first = 0
        while first < len(self.offsets) - 1:
            end = np.uint64(min(int(self.offsets[first]) + CHUNK_BYTES, _MAX_OFFSET))
            stop = max(first + 1, int(np.searchsorted(self.offsets, end, "right")) - 1)
            yield first, stop
            self.release()
            first = stop


class Matches(NamedTuple):
    """The records that an identifier may mean: their numbers in the input, ascending.

    Parameters
    ----------
    exact
        Records with this identifier. A record has one for each of its titles.
    partial
        Records with an identifier that has it as a part: see `is_part`.
    """

    exact: list[int]
    partial: list[int]

    @property
    def best(self) -> list[int]:
        """The exact ones, or the partial ones where there are none."""
        return self.exact or self.partial


def is_part(word: str, identifier: str) -> bool:
    """Return whether a word is a part of an identifier, between bars, with or without version.

    Parameters
    ----------
    word, identifier
        The word, and the first word of a header line.

    >>> is_part("P01008", "sp|P01008.1|ANT3_HUMAN"), is_part("P01008.2", "sp|P01008.1|ANT3_HUMAN")
    (True, False)
    """
    return any(word in (part, _VERSION.sub("", part)) for part in identifier.split("|"))


def find_accession(word: str) -> str | None:
    """Return the accession in an identifier with bars, as BLAST's `sseqid` has them; else None.

    >>> find_accession("ref|NP_000509.1|"), find_accession("NP_000509.1")
    ('NP_000509.1', None)
    """
    match = _WITH_BARS.fullmatch(word)
    return None if match is None else match[1]


def find_records(words: Iterable[str], names: Names) -> dict[str, Matches]:
    """Return the records that each word may mean, in one pass over the headers.

    Parameters
    ----------
    words, names
        Identifiers, or parts of them, and the header lines.

    Raises
    ------
    ValueError
        If the offsets do not fit the header lines.
    """
    wanted = [*dict.fromkeys(words)]
    exact: dict[str, set[int]] = {word: set() for word in wanted}
    partial: dict[str, set[int]] = {word: set() for word in wanted}
    sought = [word for word in wanted if word]
    if sought:
        few = len(sought) <= MAX_SCANS and min(map(len, sought)) >= MIN_SCAN_LETTERS
        for record, word in (_by_bytes if few else _by_hash)(sought, names):
            own = identifiers(names.header(record))
            if word in own:
                exact[word].add(record)
            elif any(is_part(word, each) for each in own):
                partial[word].add(record)
    return {word: Matches(sorted(exact[word]), sorted(partial[word])) for word in wanted}


def similar_identifiers(word: str, names: Names) -> list[str]:
    """Return up to `MAX_SUGGESTIONS` identifiers that contain a word, in any case.

    Parameters
    ----------
    word, names
        The word, and the header lines.
    """
    matches: list[str] = []
    needle = word.lower().encode(errors="replace")
    for first, stop in names.chunks() if needle else ():
        starts, headers = _chunk(names, first, stop)
        for position in _occurrences(needle, headers.lower()):
            record = first + int(np.searchsorted(starts, position, "right")) - 1
            for identifier in identifiers(names.header(record)):
                if word.lower() in identifier.lower() and identifier not in matches:
                    matches.append(identifier)
                if len(matches) == MAX_SUGGESTIONS:
                    return matches
    return matches


def _by_bytes(words: list[str], names: Names) -> Iterator[tuple[int, str]]:
    """Yield each record whose header line contains a word, with that word."""
    for first, stop in names.chunks():
        starts, headers = _chunk(names, first, stop)
        for word in words:
            for needle in _encodings(word):
                for position in _occurrences(needle, headers):
                    record = int(np.searchsorted(starts, position, "right")) - 1
                    if position == starts[record] or headers[position - 1] in _BEFORE_A_PART:
                        yield first + record, word


def _by_hash(words: list[str], names: Names) -> Iterator[tuple[int, str]]:
    """Yield each record with a part of its identifier whose hash is that of a word."""
    from swdual.database._find import find_hashes

    needles = [(needle, word) for word in words for needle in _encodings(word)]
    text = np.frombuffer(b"".join(needle for needle, _ in needles), np.uint8)
    hashes = hash_identifiers(text, np.cumsum([len(needle) for needle, _ in needles]))
    order = np.argsort(hashes, kind="stable")
    for first, stop in names.chunks():
        starts, headers = _chunk(names, first, stop)
        text_of_chunk = np.frombuffer(headers, np.uint8)
        ends, records = split_headers(text_of_chunk, np.append(starts[1:], len(headers)))
        matches = find_hashes(text_of_chunk, ends, hashes[order])
        for title, position in matches.tolist():
            for k in order[position:].tolist():
                if hashes[k] != hashes[order[position]]:
                    break
                yield first + int(records[title]), needles[k][1]


def _chunk(names: Names, first: int, stop: int) -> tuple[NDArray[np.int64], bytes]:
    """Return the header lines of a range of records, and where each of them begins."""
    bounds = names.offsets[first : stop + 1].astype(np.int64)
    if (bounds[1:] < bounds[:-1]).any() or not 0 <= bounds[0] <= bounds[-1] <= len(names.headers):
        raise ValueError("offsets are not those of the header lines")
    return bounds[:-1] - bounds[0], bytes(names.headers[bounds[0] : bounds[-1]])


def _encodings(word: str) -> list[bytes]:
    """Return the bytes that may stand for a word: a header line is UTF-8 or Latin-1."""
    encoded = [word.encode(errors="replace")]
    if not word.isascii():
        encoded.append(word.encode("latin-1", errors="replace"))
    return encoded


def _occurrences(needle: bytes, text: bytes) -> Iterator[int]:
    position = text.find(needle)
    while position >= 0:
        yield position
        position = text.find(needle, position + 1)
