"""The database as an object: a read-only map of the file, checked on first touch."""

from __future__ import annotations

import io
import itertools
import operator
import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from swdual.database.blocks import RECORDS_AT_ONCE, Blocks
from swdual.database.layout import TAXID_ENDS, TAXIDS, TAXONOMY, read_format
from swdual.database.lookup import (
    MAX_SUGGESTIONS,
    Matches,
    Names,
    find_accession,
    find_records,
    is_part,
    similar_identifiers,
)
from swdual.database.mapping import MappedFile, MemoryFile
from swdual.database.memory import limit_batches
from swdual.database.reader import find_reader
from swdual.database.remote import open_remote
from swdual.database.source import TypedBatches, is_database, read_typed_batches
from swdual.database.storage import piece_state
from swdual.database.validity import taxids_agree
from swdual.errors import DatabaseError, InputError, UnknownIdentifier
from swdual.io.stream import Source
from swdual.runtime.memory import find_allowance
from swdual.sequences.alphabet import PROTEIN, Alphabet
from swdual.sequences.detection import TypeRule
from swdual.sequences.sequence import Batch, Sequence, Taxids, decode_header, identifiers
from swdual.sequences.validation import OnInvalid
from swdual.taxonomy.tree import Taxonomy
from swdual.text import notebook
from swdual.text.messages import pluralize, quote, sanitize
from swdual.text.url import find_path, redact_name

SIZES_AT_ONCE = 10_000
"""Header lines held in memory while all are listed."""

MATCHED_AT_ONCE = 1 << 20
"""Records whose taxonomy ids are compared together."""


class Database(Blocks):
    """Targets to search, in memory or mapped from files.

    ``database[i]`` is record i of the input, ``database["id"]`` the record with an identifier. Open
    a database with `Database.open`; build one with `makedb` or, in memory, with
    `Database.from_fasta` or `Database.from_batches`.

    If another file takes the name of the file, the old one is still read. If the file is written
    to, its checksums are verified again. A database can be pickled: a file as its path, which must
    lead to the same content later, and a database in memory as its bytes.

    Parameters
    ----------
    main
        The file, or header and manifest of one.
    metadata_only
        Whether `main` holds header and manifest only.
    folder
        Where blocks that other processes sent are kept.
    """

    _given_taxonomy: Taxonomy | None = None

    @classmethod
    def open(cls, path: Source, *, check: bool = False, folder: Path | None = None) -> Self:
        """Return the database in a file, and in the shards beside it, mapped into memory.

        Of a remote file, header and manifest are read now, and each section when it is first
        used. They are kept in the user's cache folder, up to the size that the environment variable
        ``SWDUAL_REMOTE_CACHE`` says. A database of another program is read into memory: see
        `from_fasta`.

        Parameters
        ----------
        path
            A file that `makedb` wrote, or its URL, or the name of a database of BLAST, MMseqs2 or
            DIAMOND.
        check
            Verify every checksum now; otherwise each section is verified when first used.
        folder
            Where blocks of missing shards are kept that come from elsewhere: see `put`. Also where
            sections of a URL are kept, of any size, instead of the cache folder.

        Raises
        ------
        DatabaseError
            If there is no such file, or it is no database, of another version, or damaged.
        """
        if find_reader(path) is not None:
            return cls.from_fasta(path)
        name, here = redact_name(os.fspath(path)), find_path(path)
        if here is None:
            piece = open_remote(os.fspath(path), folder)
            try:
                database = cls(piece, folder=folder)
            except BaseException:
                piece.close()
                raise
            if check:
                database.check()
            return database
        try:
            file = MappedFile(here)
        except ValueError as error:
            raise DatabaseError(
                "is empty; build it again with 'swdual makedb'", file=name
            ) from error
        except IsADirectoryError as error:
            raise DatabaseError("is a directory, not a database file", file=name) from error
        except OSError as error:
            hint = "build it with 'swdual makedb'"
            if len(name.split()) > 1 and all(map(os.path.exists, name.split())):
                hint = (
                    f"only searches take several: 'swdual makedb {name} NEW.db' joins FASTA files"
                )
            raise DatabaseError(
                f"cannot be opened ({error.strerror}); {hint}", file=name
            ) from error
        database = cls(file, folder=folder)
        if check:
            database.check()
        return database

    @classmethod
    def from_metadata(cls, metadata: bytes, name: str, folder: Path) -> Self:
        """Return a database whose blocks come from another process, and are kept in a folder.

        Parameters
        ----------
        metadata
            What `metadata` returned where the database is.
        name
            Name of the database in messages.
        folder
            Where its blocks are kept, or will be: see `put`. Databases and processes may share it.

        Raises
        ------
        DatabaseError
            If these are no metadata, or of another version.
        """
        return cls(MemoryFile(metadata, name), metadata_only=True, folder=folder)

    @classmethod
    def from_batches(
        cls,
        batches: Iterable[Batch],
        alphabet: Alphabet,
        name: str,
        *,
        title: str | None = None,
        masks: Iterable[str] = (),
    ) -> Self:
        """Return a database of some records, built in memory.

        Parameters
        ----------
        batches
            The records.
        alphabet
            The letters of their codes.
        name
            Name of the database in messages.
        title
            Its title; by default the name.
        masks
            The names of masks that the records are marked with: see `build`.

        Raises
        ------
        InputError
            If there are no records.
        """
        from swdual.database.build import build

        stream = io.BytesIO()
        shown = name if title is None else title
        build(TypedBatches(batches, alphabet, shown, tuple(masks)), stream, scratch=None)
        return cls(MemoryFile(stream.getvalue(), name))

    @classmethod
    def from_fasta(
        cls,
        path: Source,
        *,
        dbtype: str | TypeRule = "auto",
        on_invalid: OnInvalid = "error",
        memory_limit: int | None = None,
    ) -> Self:
        """Return a database of the records of a FASTA or FASTQ file, built in memory.

        Parameters
        ----------
        path
            The file, or a database of BLAST, MMseqs2 or DIAMOND; "-" is standard input.
        dbtype
            "prot", "nucl", or "auto": see `makedb`. Or a rule that knows more.
        on_invalid
            What to do with invalid letters: see `read_batches`.
        memory_limit
            Bytes of memory to use at most; by default what machine and job allow.

        Raises
        ------
        InputError
            If the file cannot be read, or is no FASTA or FASTQ file.
        MemoryLimitError
            If it takes more memory than may be used; the message says how much is enough.
        DatabaseError
            If it is a database of another program, and damaged.
        """
        return cls.from_files(
            [path], dbtype=dbtype, on_invalid=on_invalid, memory_limit=memory_limit
        )

    @classmethod
    def from_files(
        cls,
        paths: list[Source],
        *,
        dbtype: str | TypeRule = "auto",
        on_invalid: OnInvalid = "error",
        memory_limit: int | None = None,
    ) -> Self:
        """Return a database of the records of several files, one behind the other.

        Parameters
        ----------
        paths
            FASTA or FASTQ files, or databases of BLAST, MMseqs2 or DIAMOND.
        dbtype, on_invalid, memory_limit
            As for `from_fasta`.

        Raises
        ------
        InputError
            As `from_fasta` does; also if one of several is a database that `makedb` wrote.
        MemoryLimitError, DatabaseError
            As `from_fasta` does.
        """
        for path in paths if len(paths) > 1 else ():
            if is_database(path):
                cls.open(path).close()  # says so if there is no such file
                raise InputError(
                    "is a database of swdual, which is searched by itself; join the files that it "
                    "was made from with the others: 'swdual makedb FILE... NEW.db'",
                    file=redact_name(os.fspath(path)),
                )
        rule = TypeRule(dbtype) if isinstance(dbtype, str) else dbtype
        found = read_typed_batches(paths, rule, on_invalid, keeps_masks=True)
        batches = limit_batches(found.batches, find_allowance(memory_limit))
        name = " ".join(redact_name(os.fspath(path)) for path in paths)
        return cls.from_batches(batches, found.alphabet, name, title=found.title, masks=found.masks)

    def describe_sequences(self) -> str:
        """Return the number of sequences with their kind, such as "19,570 proteins"."""
        one, many = "nucleotide sequence", "nucleotide sequences"
        if self.alphabet is PROTEIN:
            one, many = "protein", "proteins"
        return pluralize(len(self), one, many)

    def __repr__(self) -> str:
        m = self.manifest
        size = f"{m.sequences:,} {m.alphabet} sequences, {m.residues:,} residues"
        return f"<Database {self.name!r}: {size}>"

    def _repr_html_(self) -> str:
        m = self.manifest
        facts = {
            "sequences": f"{m.sequences:,}",
            "residues": f"{m.residues:,}",
            "longest": f"{m.longest:,}",
            "type": m.alphabet,
            "written by": m.writer,
        }
        rows = [[notebook.faint(name), notebook.text(value)] for name, value in facts.items()]
        title = notebook.strong(self.name)
        if m.title != self.name:
            title = notebook.join((title, notebook.cut(m.title, 60)), " ")
        heads = [notebook.Head("database"), notebook.Head("")]
        return notebook.table(heads, [notebook.Group(title, rows)])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a file as its path and digest, and what is in memory as its bytes."""
        piece_state(self._main)
        mask = self._mask
        state = None if self._given_taxonomy is None else {"_given_taxonomy": self._given_taxonomy}
        if not isinstance(self._main, MemoryFile):
            return _reopen, (type(self), self._path, self._folder, self.digest, mask), state
        data = bytes(self._main.data)
        facts = data, self.name, self._metadata_only, self._folder, mask
        return _restore, (type(self), *facts), state

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Yield header line and number of residues of every record, in the order of the input."""
        lengths = np.zeros(len(self), np.uint32)
        for number in range(len(self.manifest.blocks)):
            lengths[self.block_ordinals(number)] = self.lengths(number)
            self._main.release()
        if not lengths.all():
            raise self._contradiction_error("the order of the input")
        for first in range(0, len(self), SIZES_AT_ONCE):
            here = range(first, min(first + SIZES_AT_ONCE, len(self)))
            yield from zip(
                self.headers(here), lengths[here.start : here.stop].tolist(), strict=True
            )

    def __getitem__(self, record: int | str) -> Sequence:
        """Return a record by its number in the input, or by its identifier: see `find`."""
        if isinstance(record, str):
            record = self.find(record)
        try:
            ordinal = operator.index(record)
        except TypeError:
            raise TypeError(
                "a record of a database is named by a whole number or by its identifier, "
                f"not by {type(record).__name__}"
            ) from None
        if not -len(self) <= ordinal < len(self):
            raise IndexError(f"record {ordinal} of {len(self)}")
        ordinal %= len(self)
        return self._sequence(self.headers([ordinal])[0], self.codes([ordinal])[0])

    def __iter__(self) -> Iterator[Sequence]:
        return self.records(range(len(self)))

    def records(self, ordinals: Iterable[int]) -> Iterator[Sequence]:
        """Yield records by their numbers in the input, from 0; few are in memory at a time."""
        left = iter(ordinals)
        while some := list(itertools.islice(left, RECORDS_AT_ONCE)):
            for title, codes in zip(self.headers(some), self.codes(some), strict=True):
                yield self._sequence(title, codes)

    def _sequence(self, title: str, codes: bytes) -> Sequence:
        """Return a record: as `Sequence.of_cased` if the database has a mask."""
        if self._mask is None:
            return Sequence(title, codes, self.alphabet)
        return Sequence.of_cased(title, codes, self.alphabet)

    def __contains__(self, identifier: object) -> bool:
        """Return whether `find` finds a record."""
        if not isinstance(identifier, str):
            return any(record == identifier for record in self)
        exact, partial = self.lookup([identifier])[identifier]
        return bool(exact) or len(partial) == 1

    def find(self, identifier: str) -> int:
        """Return the number, in the input, of the record with an identifier.

        The identifier is the first word of the header line, or of one of its titles: see
        `split_titles`. If no record has it, a part between
        bars also counts, with or without its version: P01008 finds sp|P01008.1|ANT3_HUMAN. If
        several records have the same identifier, the first is returned.

        Raises
        ------
        UnknownIdentifier
            If there is no such record, or if the word is a part of several identifiers. This is
            also a `KeyError`.
        """
        exact, partial = self.lookup([identifier])[identifier]
        if exact:
            return exact[0]
        if len(partial) == 1:
            return partial[0]
        raise self._unknown_error(identifier, partial)

    def lookup(self, words: Iterable[str]) -> dict[str, Matches]:
        """Return the records that each identifier may mean (see `find`), found in one pass.

        Raises
        ------
        DatabaseError
            If the header lines are damaged.
        """
        try:
            found = find_records(words, self._names)
            accessions = {
                word: accession
                for word, matches in found.items()
                if not matches.best and (accession := find_accession(word)) is not None
            }
            others = find_records(accessions.values(), self._names)
        except ValueError as error:
            raise self._contradiction_error("section 'offsets'") from error
        return found | {
            word: Matches([], others[accession].exact) for word, accession in accessions.items()
        }

    def select(self, words: Iterable[str]) -> tuple[list[int], dict[str, UnknownIdentifier]]:
        """Return the records that some identifiers name, and an error for each unknown identifier.

        Records are given once, by their numbers in the input, in the order of the identifiers. If
        several have the same identifier, all are returned.
        """
        chosen: dict[int, None] = {}
        errors = {}
        for identifier, (exact, partial) in self.lookup(words).items():
            if exact or len(partial) == 1:
                chosen |= dict.fromkeys(exact or partial)
            else:
                errors[identifier] = self._unknown_error(identifier, partial)
        return [*chosen], errors

    def _unknown_error(self, identifier: str, partial: list[int]) -> UnknownIdentifier:
        """Return the error for an identifier that no record has, or that is a part of several."""
        if partial:
            some = map(identifiers, self.headers(partial[:MAX_SUGGESTIONS]))
            first = [next(each for each in own if is_part(identifier, each)) for own in some]
            more = ", ..." if len(partial) > len(first) else ""
            return UnknownIdentifier(
                f"{quote(identifier)} is part of {len(partial):,} identifiers: "
                f"{', '.join(first)}{more}; give the whole identifier",
                file=self.name,
            )
        near = similar_identifiers(identifier, self._names)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        return UnknownIdentifier(f"has no record {quote(identifier)}{hint}", file=self.name)

    @property
    def _names(self) -> Names:
        """The header lines, as they are searched."""
        headers = self._array("names", "u1").data
        offsets: NDArray[np.uint64] = self._array("offsets", "<u8")  # type: ignore[assignment]
        return Names(headers, offsets, self._main.release)

    def headers(self, ordinals: Iterable[int]) -> list[str]:
        """Return the header lines of some records of the input."""
        offsets = self._array("offsets", "<u8")
        names = self._array("names", "u1").data
        numbers = np.asarray(list(ordinals), np.int64)
        headers: list[str] = []
        for first in range(0, len(numbers), RECORDS_AT_ONCE):
            here = numbers[first : first + RECORDS_AT_ONCE]
            starts, ends = offsets[here].tolist(), offsets[here + 1].tolist()
            if not all(a <= b <= len(names) for a, b in zip(starts, ends, strict=True)):
                raise self._contradiction_error("section 'offsets'")
            headers += [decode_header(bytes(names[a:b])) for a, b in zip(starts, ends, strict=True)]
            self._main.release()
        return headers

    @property
    def has_taxids(self) -> bool:
        """Whether the database holds taxonomy ids."""
        return TAXIDS in self._storage.sections

    @property
    def _taxids(self) -> Taxids:
        """The taxonomy ids of all records.

        Raises
        ------
        DatabaseError
            If the sections are damaged.
        """
        values: NDArray[np.uint32] = self._array(TAXIDS, "<u4")  # type: ignore[assignment]
        ends: NDArray[np.uint64] = self._array(TAXID_ENDS, "<u8")  # type: ignore[assignment]
        if TAXIDS not in self._interval_cache.checked:
            if not taxids_agree(values, ends):
                raise self._contradiction_error(f"section {TAXID_ENDS!r}")
            self._interval_cache.checked.add(TAXIDS)
        return Taxids(values, ends.view(np.int64))

    def taxids(self, ordinals: Iterable[int]) -> list[tuple[int, ...]]:
        """Return the taxonomy ids of some records of the input, of each in ascending order.

        Raises
        ------
        DatabaseError
            If the sections are damaged.
        """
        numbers = np.asarray(list(ordinals), np.int64)
        if not self.has_taxids:
            return [()] * len(numbers)
        values, ends = self._taxids
        starts = np.where(numbers > 0, ends[numbers - 1], 0).tolist()
        bounds = zip(starts, ends[numbers].tolist(), strict=True)
        found = [tuple(sorted({*values[first:end].tolist()})) for first, end in bounds]
        self._main.release()
        return found

    @cached_property
    def taxonomy(self) -> Taxonomy | None:
        """The tree of taxa: one that was given, or what the database holds of one; else None.

        Raises
        ------
        DatabaseError
            If the section is damaged.
        """
        if self._given_taxonomy is not None or TAXONOMY not in self._storage.sections:
            return self._given_taxonomy
        try:
            return Taxonomy.from_bytes(bytes(self._storage.read(TAXONOMY)))
        except (ValueError, IndexError) as error:
            raise self._contradiction_error(f"section {TAXONOMY!r}") from error

    def with_taxonomy(self, taxonomy: Taxonomy) -> Self:
        """Return the same database with another tree of taxa; files are shared."""
        view = self._view(_given_taxonomy=taxonomy, _views={})
        view.__dict__.pop("taxonomy", None)
        return view

    def match_taxids(
        self, wanted: NDArray[np.uint32]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which records have one of some taxonomy ids, and which have no others.

        Parameters
        ----------
        wanted
            The ids, ascending.

        Returns
        -------
        (records,) whether a record has one of them; (records,) whether it has ids, all of them
        among these.

        Raises
        ------
        DatabaseError
            If the sections are damaged.
        """
        values, ends = self._taxids
        some, every = np.zeros(len(ends), np.bool_), np.zeros(len(ends), np.bool_)
        begin = 0
        for first in range(0, len(ends), MATCHED_AT_ONCE):
            here = slice(first, first + MATCHED_AT_ONCE)
            own_ends = ends[here] - begin
            matches = np.isin(values[begin : begin + int(own_ends[-1])], wanted)
            sums = np.concatenate(([0], np.cumsum(matches)))
            counts = np.diff(sums[own_ends], prepend=0)
            some[here] = counts > 0
            every[here] = some[here] & (counts == np.diff(own_ends, prepend=0))
            begin += int(own_ends[-1])
            self._main.release()
        return some, every

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
            "title": sanitize(manifest.title),
            "type": manifest.alphabet,
            "sequences": manifest.sequences,
            "residues": manifest.residues,
            "longest": manifest.longest,
            "shortest": min(block.shortest for block in manifest.blocks),
            "blocks": len(manifest.blocks),
            "bytes": len(self._main.data) + sum(shard.bytes for shard in manifest.shards),
            "format": read_format(self._main.data),
            "written by": sanitize(manifest.writer),
        }
        if self.has_taxids:
            facts["taxids"] = len(np.unique(self._taxids.values))
            facts["taxa"] = 0 if self.taxonomy is None else len(self.taxonomy)
        if manifest.masks:
            facts["masks"] = sanitize(", ".join(manifest.masks))
        if manifest.shards:
            facts["shards"] = len(manifest.shards)
            facts["shards here"] = sum(self.has_block(x.blocks[0]) for x in manifest.shards)
        if letters:
            counts = dict.fromkeys(self.alphabet.letters, 0)
            for block in self.blocks():
                codes = block.residues.tobytes()
                for code, letter in enumerate(self.alphabet.letters):
                    counts[letter] += codes.count(code)
            facts["letters"] = {letter: count for letter, count in counts.items() if count}
        return facts

    def check(self) -> None:
        """Verify every checksum, and that all sections agree with each other.

        Raises
        ------
        DatabaseError
            If a section is damaged; the message names it.
        """
        for name in self._storage.sections:
            self._array(name, "u1")
        for number in range(len(self.manifest.blocks)):
            self.block(number)
            for mask in self.masks:
                self.masked(mask).intervals(number)
        self.codes([])  # looks at the order of the input
        offsets: NDArray[np.uint64] = self._array("offsets", "<u8")  # type: ignore[assignment]
        size = self._storage.sections["names"].bytes
        if int(offsets[-1]) != size or (offsets[1:] < offsets[:-1]).any():
            raise self._contradiction_error("section 'offsets'")
        if self.has_taxids:
            self.taxids([])
            _ = self.taxonomy


def _reopen(
    kind: type[Database], path: str, folder: Path | None, digest: str, mask: str | None
) -> Database:
    """Return the database in a file that another process has pickled.

    Raises
    ------
    DatabaseError
        If it cannot be opened, or its content is another.
    """
    database = kind.open(path, folder=folder)
    if database.digest != digest:
        database.close()
        raise DatabaseError(
            "is not the database that was pickled: its content is another; pickle it again",
            file=path,
        )
    return database if mask is None else database.masked(mask)


def _restore(
    kind: type[Database],
    data: bytes,
    name: str,
    metadata_only: bool,
    folder: Path | None,
    mask: str | None,
) -> Database:
    """Return a database that another process had in memory."""
    database = kind(MemoryFile(data, name), metadata_only=metadata_only, folder=folder)
    return database if mask is None else database.masked(mask)
