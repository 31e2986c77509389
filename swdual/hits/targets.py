"""What the hits need of a database: all of it, or what was kept of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, Self

from swdual.sequences.alphabet import Alphabet
from swdual.sequences.sequence import Sequence


class Targets(Protocol):
    """Records by their place in the database's input; a `Database` is one."""

    @property
    def name(self) -> str:
        """What the database is called."""
        ...

    @property
    def alphabet(self) -> Alphabet:
        """The letters of the residue codes."""
        ...

    @property
    def residues(self) -> int:
        """The number of residues of the whole database."""
        ...

    def __len__(self) -> int: ...

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
    """Some records of a database, kept so that the results can be pickled."""

    name: str
    alphabet: Alphabet
    residues: int
    sequences: int
    kept: dict[int, Sequence]

    @classmethod
    def of(cls, targets: Targets, ordinals: list[int]) -> Self:
        """Return these records of a database."""
        pairs = zip(targets.headers(ordinals), targets.codes(ordinals), strict=True)
        kept = dict(
            zip(ordinals, (Sequence(*pair, targets.alphabet) for pair in pairs), strict=True)
        )
        return cls(targets.name, targets.alphabet, targets.residues, len(targets), kept)

    def __len__(self) -> int:
        return self.sequences

    def headers(self, ordinals: Iterable[int]) -> list[str]:
        """Return the header lines of some records."""
        return [self.kept[int(ordinal)].title for ordinal in ordinals]

    def codes(self, ordinals: Iterable[int]) -> list[bytes]:
        """Return the residue codes of some records."""
        return [self.kept[int(ordinal)].codes for ordinal in ordinals]

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Return header line and residues of every record that was kept."""
        return ((record.title, len(record.codes)) for _, record in sorted(self.kept.items()))


@dataclass(frozen=True)
class SuppliedTargets:
    """A database whose residues are elsewhere, but for those of some records, by their places."""

    database: Targets
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
