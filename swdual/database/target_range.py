"""Ranges of targets: the parts of a database that tasks score."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from numpy import unsignedinteger
from numpy.typing import NDArray

from swdual.database.layout import Manifest


class Range(NamedTuple):
    """Targets `first` to `last - 1` of a block: their residues, and the longest of them."""

    block: int
    first: int
    last: int
    residues: int
    longest: int


class TargetLengths(Protocol):
    """What planning needs of a database: the number and the lengths of the targets by block."""

    @property
    def manifest(self) -> Manifest:
        """The blocks, among other things."""
        ...

    @property
    def residues(self) -> int:
        """The residues of all targets."""
        ...

    def lengths(self, number: int, /) -> NDArray[unsignedinteger[Any]]:
        """Return the lengths of one block's targets, in descending order."""
        ...

    def release(self) -> None:
        """Release memory that can be read again."""
        ...
