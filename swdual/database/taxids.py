"""Taxonomy ids of records while a database is built, and where they come from.

A record has the ids that its source tells, as a database of BLAST does; or the id that its header
line states: ``OX=9606`` in UniProt, ``TaxID=9606`` in UniRef. A table of accessions replaces them
for the records that it names. Each title of a record may have an id.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.typing import NDArray

from swdual.database.layout import TAXID_ENDS, TAXIDS, TAXONOMY
from swdual.database.writing import SectionWriter
from swdual.errors import InputError
from swdual.io.progress import progress_bar
from swdual.io.stream import Source, read_text, source_name
from swdual.sequences.sequence import Batch, Taxids, decode_header, first_word, split_headers
from swdual.taxonomy.tree import Taxonomy
from swdual.text.messages import pluralize, quote

MAX_LINE_BYTES = 1 << 20
"""Bytes of a line of a table at most."""

RECORDS_AT_ONCE = 1 << 16
"""Records whose ids are written together."""

KEYS_PER_RECORD = 8
"""A record that is looked for takes as much memory as so many identifiers that are compared."""

SHOWN_TAXIDS = 5
"""Unknown ids that a warning names."""

logger = logging.getLogger("swdual")


@dataclass(frozen=True)
class TaxidSource:
    """Where taxonomy ids come from besides the records, and the tree that they belong to.

    Parameters
    ----------
    taxid
        The id of all records; None where they have their own.
    table
        A table of accessions: two columns, as for makeblastdb's option -taxid_map, or those of
        NCBI's accession2taxid files; it may be compressed.
    taxonomy
        The tree, of which the database keeps what its ids need.
    progress
        Whether to draw a bar while the table is read.
    """

    taxid: int | None = None
    table: Source | None = None
    taxonomy: Taxonomy | None = None
    progress: bool = False


class TaxidSpool:
    """Taxonomy ids in input order, kept in temporary files until they are written.

    Parameters
    ----------
    source
        Where ids come from besides the records.
    spool
        Returns a new temporary file.
    looked_up
        Identifiers that are compared at a time: their hashes are in memory.
    """

    def __init__(self, source: TaxidSource, spool: Callable[[], IO[bytes]], looked_up: int) -> None:
        self._source = source
        self._spool = spool
        self._looked_up = max(1, looked_up // KEYS_PER_RECORD)
        self._values, self._ends = spool(), spool()
        self._end = 0
        self._distinct = np.empty(0, np.uint32)

    def add(self, batch: Batch) -> None:
        """Add the ids of the next records."""
        if self._source.taxid is not None:
            count = len(batch.lengths)
            every = np.full(count, self._source.taxid, np.uint32)
            self._append(Taxids(every, np.arange(1, count + 1)))
        else:
            self._append(read_header_taxids(batch) if batch.taxids is None else batch.taxids)

    def _append(self, taxids: Taxids) -> None:
        self._values.write(taxids.values.astype("<u4").tobytes())
        self._ends.write((taxids.ends + self._end).astype("<u8").tobytes())
        self._end += len(taxids.values)
        # Sorted here: NumPy's functions of sets import its masked arrays, which take 15 ms.
        values = np.sort(np.concatenate((self._distinct, taxids.values)))
        self._distinct = values[np.diff(values.astype(np.int64), prepend=-1) != 0]

    def write(self, sections: SectionWriter, names: IO[bytes], offsets: IO[bytes]) -> bool:
        """Append the sections of taxonomy ids, if any record has one; return whether it has.

        Parameters
        ----------
        sections
            Writes them.
        names, offsets
            The header lines of all records, end to end; where each begins, and where the last ends,
            as uint64.

        Raises
        ------
        InputError
            If the table cannot be read, or a line is none of a table.
        """
        if self._source.table is not None:
            self._look_up(self._source.table, names, offsets)
        if not self._end:
            if self._source.taxonomy is not None:
                logger.warning("no record has a taxonomy id: the database is without taxonomy")
            return False
        sections.write_file(TAXIDS, self._values)
        sections.write_file(TAXID_ENDS, self._ends)
        tree = self._source.taxonomy
        if tree is not None:
            distinct = self._distinct.tolist()
            unknown = [taxid for taxid in distinct if taxid not in tree]
            if unknown:
                more = ", ..." if len(unknown) > SHOWN_TAXIDS else ""
                logger.warning(
                    "%s: %s%s",
                    pluralize(
                        len(unknown),
                        "taxonomy id of records is not in the taxonomy",
                        "taxonomy ids of records are not in the taxonomy",
                    ),
                    ", ".join(map(str, unknown[:SHOWN_TAXIDS])),
                    more,
                )
            kept = tree.prune(distinct)
            if len(kept):
                sections.write_file(TAXONOMY, io.BytesIO(kept.to_bytes()))
        return True

    def _look_up(self, table: Source, names: IO[bytes], offsets: IO[bytes]) -> None:
        """Replace the ids of the records that a table names; it is read once for some records."""
        old_values, old_ends = self._values, self._ends
        self._values, self._ends, self._end = self._spool(), self._spool(), 0
        self._distinct = np.empty(0, np.uint32)
        for file in (names, offsets, old_values, old_ends):
            file.seek(0)
        begin = int(np.frombuffer(offsets.read(8), "<u8")[0])
        taken = named = count = 0
        while data := offsets.read(8 * self._looked_up):
            ends = np.frombuffer(data, "<u8").astype(np.int64) - begin
            headers = np.frombuffer(names.read(int(ends[-1])), np.uint8)
            found = self._find(headers, ends, table)
            begin += int(ends[-1])
            edges = np.concatenate(([0], found.ends))
            named += int(np.count_nonzero(np.diff(edges)))
            count += len(ends)
            for first in range(0, len(ends), RECORDS_AT_ONCE):
                here = edges[first : first + RECORDS_AT_ONCE + 1]
                some = Taxids(found.values[here[0] : here[-1]], here[1:] - here[0])
                own_ends = np.frombuffer(old_ends.read(8 * len(some.ends)), "<u8").astype(np.int64)
                own = Taxids(
                    np.frombuffer(old_values.read(4 * (int(own_ends[-1]) - taken)), "<u4"),
                    own_ends - taken,
                )
                taken = int(own_ends[-1])
                self._append(_replace_taxids(own, some))
        if named < count:
            one, many = f"of {count:,} records is not in it", f"of {count:,} records are not in it"
            logger.warning("%s: %s", source_name(table), pluralize(count - named, one, many))

    def _find(self, headers: NDArray[np.uint8], ends: NDArray[np.int64], table: Source) -> Taxids:
        """Return the ids that a table has for the titles of some records.

        Parameters
        ----------
        headers, ends
            Header lines end to end, and (records,) where each ends.
        table
            The table, which is read once for some titles.
        """
        title_ends, records = split_headers(headers, ends)
        parts, start = [], 0
        for first in range(0, len(title_ends), self._looked_up):
            some = title_ends[first : first + self._looked_up]
            text = headers[start : some[-1]]
            parts.append(find_accessions(text, some - start, table, progress=self._source.progress))
            start = int(some[-1])
        return Taxids.of(records, np.concatenate(parts), len(ends))


def _replace_taxids(own: Taxids, found: Taxids) -> Taxids:
    """Return the ids of some records, with those that were found in their place."""
    records = np.arange(len(own.ends))
    counts, new_counts = (np.diff(each.ends, prepend=0) for each in (own, found))
    kept = np.repeat(new_counts == 0, counts)
    return Taxids.of(
        np.concatenate((np.repeat(records, counts)[kept], np.repeat(records, new_counts))),
        np.concatenate((own.values[kept], found.values)),
        len(records),
    )


def read_header_taxids(batch: Batch) -> Taxids:
    """Return the taxonomy ids that the header lines of some records state, one for each title."""
    from swdual.database._taxids import read_organisms

    headers = np.frombuffer(batch.headers, np.uint8)
    ends, records = split_headers(headers, batch.header_ends)
    found = np.zeros(len(ends), np.uint32)
    if b"OX=" in batch.headers or b"TaxID=" in batch.headers:
        read_organisms(headers, ends, found)
    return Taxids.of(records, found, len(batch.header_ends))


def find_accessions(
    headers: NDArray[np.uint8], ends: NDArray[np.int64], table: Source, *, progress: bool = False
) -> NDArray[np.uint32]:
    """Return (records,) the taxonomy ids that a table has for some records of one title, or 0.

    A row names a record by its identifier or, if that has bars, by the accession in it; and by
    these without their version, such as ``.1``. What names it more exactly is preferred. Words are
    compared by hashes of 64 bits.

    Parameters
    ----------
    headers, ends
        Header lines end to end, and (records,) where each ends.
    table
        See `TaxidSource`.
    progress
        Whether to draw a bar.

    Raises
    ------
    InputError
        If the table cannot be read, or a line is none of a table; it names file and line.
    """
    from swdual.database._taxids import KEYS, hash_accessions, match_rows

    keys = np.empty((len(ends), KEYS), np.uint64)
    hash_accessions(headers, ends, keys)
    hashes, inverse = np.unique(keys, return_inverse=True)
    found, other = np.zeros((2, len(hashes)), np.uint32)
    lines = np.zeros((len(hashes), 2), np.int64)
    words = line = read = 0
    with (
        read_text(table) as parts,
        progress_bar("reading taxonomy ids", "MB/s", 1e6, shown=progress) as bar,
    ):
        for text in _whole_lines(parts, source_name(table)):
            start = 0
            if not words:
                words, start = _count_words(text)
                line = int(start > 0)
            rows = np.frombuffer(text, np.uint8)[start:]
            wrong = match_rows(rows, words, hashes, found, other, lines, line)
            if wrong >= 0:
                line += 1 + int(np.count_nonzero(rows[:wrong] == ord("\n")))
                shown = decode_header(bytes(rows[wrong : wrong + 60])).split("\n")[0]
                raise InputError(
                    f"has {quote(shown)} where {'an accession' if words == 1 else 'two accessions'}"
                    " and a taxonomy id are expected",
                    file=source_name(table),
                    line=line,
                )
            line += text.count(b"\n") - (start > 0)
            read += len(text)
            bar(read, None)
    inverse = inverse.reshape(keys.shape)
    chosen = np.argmax(found[inverse] != 0, axis=1)
    places = np.take_along_axis(inverse, chosen[:, None], axis=1)[:, 0]
    doubtful = np.flatnonzero(other[places])
    if len(doubtful):
        record = doubtful[np.argmin(lines[places[doubtful], 0])]
        header = bytes(headers[ends[record - 1] if record else 0 : ends[record]])
        place = places[record]
        logger.warning(
            "%s:%d: gives %s taxonomy id %d, but line %d gave it %d; of %s with two taxonomy ids, "
            "the last one counts",
            source_name(table),
            lines[place, 0],
            quote(first_word(decode_header(header))),
            found[place],
            lines[place, 1],
            other[place],
            pluralize(len(doubtful), "record", "records"),
        )
    return found[places]


def _count_words(text: bytes) -> tuple[int, int]:
    """Return how many words a row has before its id, and where the rows begin.

    NCBI's tables begin with the names of their columns.
    """
    head, _, _ = text.partition(b"\n")
    columns = head.split()
    if not columns or not columns[0].startswith(b"accession"):
        return 1, 0
    return (2 if columns[1:2] == [b"accession.version"] else 1), len(head) + 1


def _whole_lines(parts: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield a text in pieces of whole lines, each with its end.

    Raises
    ------
    InputError
        If a line is longer than `MAX_LINE_BYTES`.
    """
    left = b""
    for piece in parts:
        text = left + piece
        end = text.rfind(b"\n") + 1
        left = text[end:]
        if len(left) > MAX_LINE_BYTES:
            raise InputError("has a line longer than 1 MiB; is this the right file?", file=name)
        if end:
            yield text[:end]
    if left:
        yield left + b"\n"
