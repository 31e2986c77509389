"""The targets of hits: a database, or the records that were stored of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, Self

from swdual.sequences.alphabet import Alphabet
from swdual.sequences.sequence import Sequence
from swdual.taxonomy.tree import Taxonomy


class TargetRecords(Protocol):
    """Records by their number in the database's input; a `Database` is one."""

    @property
    def name(self) -> str:
        """The name of the database."""
        ...

    @property
    def alphabet(self) -> Alphabet:
        """The letters of the residue codes."""
        ...

    @property
    def residues(self) -> int:
        """The number of residues of the whole database."""
        ...

    @property
    def content_digest(self) -> str:
        """A number that identifies the records: see `Database.content_digest`."""
        ...

    def __len__(self) -> int: ...

    @property
    def has_taxids(self) -> bool:
        """Whether taxonomy ids are known."""
        ...

    @property
    def taxonomy(self) -> Taxonomy | None:
        """The tree of taxa, or None."""
        ...

    def taxids(self, ordinals: Iterable[int]) -> list[tuple[int, ...]]:
        """Return the taxonomy ids of some records, of each in ascending order."""
        ...

    def headers(self, ordinals: Iterable[int]) -> list[str]:
        """Return the header lines of some records."""
        ...

    def codes(self, ordinals: Iterable[int]) -> list[bytes]:
        """Return the residue codes of some records."""
        ...

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Return header line and residues of every record that is known."""
        ...


@dataclass(frozen=True)
class StoredTargets:
    """Some records of a database, stored so that results can be pickled."""

    name: str
    alphabet: Alphabet
    residues: int
    sequences: int
    records: dict[int, Sequence]
    content_digest: str = ""
    known_taxids: dict[int, tuple[int, ...]] | None = None
    taxonomy: Taxonomy | None = None

    @classmethod
    def of(cls, targets: TargetRecords, ordinals: list[int]) -> Self:
        """Return some records of a database.

        Parameters
        ----------
        targets
            The database.
        ordinals
            Numbers of the records in its input.
        """
        pairs = zip(targets.headers(ordinals), targets.codes(ordinals), strict=True)
        records = dict(
            zip(ordinals, (Sequence(*pair, targets.alphabet) for pair in pairs), strict=True)
        )
        size = targets.residues, len(targets)
        facts = targets.name, targets.alphabet, *size, records, targets.content_digest
        if not targets.has_taxids:
            return cls(*facts)
        taxids = targets.taxids(ordinals)
        tree = targets.taxonomy
        kept = None if tree is None else tree.prune(itertools.chain.from_iterable(taxids))
        return cls(*facts, dict(zip(ordinals, taxids, strict=True)), kept)

    @property
    def has_taxids(self) -> bool:
        """Whether taxonomy ids are known."""
        return self.known_taxids is not None

    def taxids(self, ordinals: Iterable[int]) -> list[tuple[int, ...]]:
        """Return the taxonomy ids of some records."""
        known = self.known_taxids or {}
        return [known.get(int(ordinal), ()) for ordinal in ordinals]

    def __len__(self) -> int:
        return self.sequences

    def headers(self, ordinals: Iterable[int]) -> list[str]:
        """Return the header lines of some records."""
        return [self.records[int(ordinal)].title for ordinal in ordinals]

    def codes(self, ordinals: Iterable[int]) -> list[bytes]:
        """Return the residue codes of some records."""
        return [self.records[int(ordinal)].codes for ordinal in ordinals]

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Return header line and residues of every record that is stored."""
        return ((record.title, len(record.codes)) for _, record in sorted(self.records.items()))


@dataclass(frozen=True)
class SuppliedTargets:
    """A database without residues, and the residues of some of its records."""

    database: TargetRecords
    supplied: dict[int, bytes]

    @property
    def name(self) -> str:
        """What the database is called."""
        return self.database.name

    @property
    def alphabet(self) -> Alphabet:
        """The letters of the residue codes."""
        return self.database.alphabet

    @property
    def residues(self) -> int:
        """The number of residues of the whole database."""
        return self.database.residues

    @property
    def content_digest(self) -> str:
        """A number that identifies the records of the database."""
        return self.database.content_digest

    @property
    def has_taxids(self) -> bool:
        """Whether taxonomy ids are known."""
        return self.database.has_taxids

    @property
    def taxonomy(self) -> Taxonomy | None:
        """The tree of taxa, or None."""
        return self.database.taxonomy

    def taxids(self, ordinals: Iterable[int]) -> list[tuple[int, ...]]:
        """Return the taxonomy ids of some records."""
        return self.database.taxids(ordinals)

    def __len__(self) -> int:
        return len(self.database)

    def headers(self, ordinals: Iterable[int]) -> list[str]:
        """Return the header lines of some records."""
        return self.database.headers(ordinals)

    def codes(self, ordinals: Iterable[int]) -> list[bytes]:
        """Return the residue codes of some records, all of which were supplied."""
        return [self.supplied[int(ordinal)] for ordinal in ordinals]

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Return header line and residues of every record."""
        return self.database.sizes()
