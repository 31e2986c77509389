"""A synthetic database: the lengths of targets that are only described, block by block."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from swdual.database.build import BLOCK_RECORDS
from swdual.database.layout import BLOCK_BYTES, BlockInfo, Manifest
from swdual.errors import InputError
from swdual.sequences.alphabet import ALIGNMENT, ALPHABETS, Alphabet
from swdual.version import __version__

MAX_RESIDUES = 10**12
"""Max residues; UniRef90 has 6 * 10^10."""

MAX_SEQUENCES, MAX_LENGTH = 10**10, 10**9
"""Max targets, and max residues of the longest."""

LENGTHS = 4096
"""Max distinct lengths, so that a billion targets take no memory."""

SPREAD = 0.7
"""The standard deviation of the logarithm of proteins' lengths; in Swiss-Prot it is 0.66."""

TARGET_BYTES = 24
"""Bytes of a target in a block besides its residues: the gap behind it, and its numbers."""


class SyntheticDatabase:
    """Targets whose lengths are distributed like those of proteins; they have no residues.

    Parameters
    ----------
    residues, sequences, longest
        Their numbers, as closely as whole lengths allow.
    alphabet
        "prot" or "nucl".

    Raises
    ------
    InputError
        If no database can have these numbers.

    >>> uniref = SyntheticDatabase(60_000_000_000, 184_000_000, 45_000)
    >>> len(uniref), round(uniref.residues / 1e9), uniref.manifest.longest
    (184000000, 60, 45000)
    """

    def __init__(self, residues: int, sequences: int, longest: int, alphabet: str = "prot") -> None:
        for name, value, most in (
            ("residues", residues, MAX_RESIDUES),
            ("sequences", sequences, min(residues, MAX_SEQUENCES)),
            ("longest", longest, min(residues, MAX_LENGTH)),
        ):
            if not 1 <= value <= most:
                raise InputError(f"{name} is {value:,}, but it must be from 1 to {most:,}")
        if sequences * longest < residues:
            raise InputError(
                f"{sequences:,} sequences of at most {longest:,} residues have no {residues:,}"
            )
        self.name = "described database"
        self.alphabet: Alphabet = ALPHABETS[alphabet]
        self._lengths, self._counts = _draw_lengths(residues, sequences, longest)

    def __len__(self) -> int:
        return int(self._counts.sum())

    @property
    def masks(self) -> tuple[str, ...]:
        """Names of its masks: it has none."""
        return ()

    @property
    def residues(self) -> int:
        """Of all targets."""
        return self.manifest.residues

    @property
    def held_bytes(self) -> int:
        """The bytes of memory that it always takes: none, as for a file."""
        return 0

    @cached_property
    def manifest(self) -> Manifest:
        """The blocks, as `swdual makedb` would cut them."""
        blocks = tuple(self._blocks())
        return Manifest(
            writer=__version__,
            alphabet=self.alphabet.name,
            title=self.name,
            sequences=len(self),
            residues=sum(block.residues for block in blocks),
            longest=int(self._lengths[0]),
            blocks=blocks,
            sections=(),
            shards=(),
        )

    def lengths(self, number: int, /) -> NDArray[np.uint32]:
        """Return the lengths of one block's targets, in descending order."""
        block = self.manifest.blocks[number]
        return np.repeat(self._lengths, self._within(block.first, block.first + block.sequences))

    def release(self) -> None:
        """Do nothing: nothing is held."""

    def _within(self, first: int, last: int) -> NDArray[np.int64]:
        """Return how many of targets `first` to `last - 1` have each length."""
        ends = np.cumsum(self._counts)
        within = np.clip(ends, first, last) - np.clip(ends - self._counts, first, last)
        return np.asarray(within)

    def _blocks(self) -> list[BlockInfo]:
        """Return the blocks: as many targets as there is room for, but one at least."""
        padded = self._lengths.astype(np.int64) + -self._lengths.astype(np.int64) % ALIGNMENT
        ends = np.cumsum(self._counts)
        bytes_before = np.cumsum(self._counts * padded) - self._counts * padded
        blocks: list[BlockInfo] = []
        first = 0
        while first < ends[-1]:
            here = int(np.searchsorted(ends, first, "right"))
            begin = bytes_before[here] + (first - (ends - self._counts)[here]) * padded[here]
            full = int(np.searchsorted(bytes_before, begin + BLOCK_BYTES, "right")) - 1
            room = (begin + BLOCK_BYTES - bytes_before[full]) // padded[full]
            last = int(min((ends - self._counts)[full] + room, first + BLOCK_RECORDS, ends[-1]))
            last = max(last, first + 1)
            counts = self._within(first, last)
            some = self._lengths[counts > 0]
            residues = int(counts @ self._lengths.astype(np.int64))
            blocks.append(
                BlockInfo(
                    first, last - first, residues, longest=int(some[0]), shortest=int(some[-1])
                )
            )
            first = last
        return blocks


def _draw_lengths(
    residues: int, sequences: int, longest: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return descending lengths and how many targets have each: log-normal, with the mean given."""
    lengths = np.unique(np.round(np.geomspace(longest, 1, LENGTHS)))[::-1]
    logs = np.log(lengths)
    edges = np.concatenate(([logs[0]], (logs[1:] + logs[:-1]) / 2, [logs[-1]]))
    widths = np.maximum(edges[:-1] - edges[1:], 1e-9)

    def parts(centre: float) -> NDArray[np.float64]:
        density = -(((logs - centre) / SPREAD) ** 2) / 2
        weights = widths * np.exp(density - density.max())
        return np.asarray(weights / weights.sum())

    low, high = -40.0, logs[0] + 40.0
    for _ in range(60):
        centre = (low + high) / 2
        if parts(centre) @ lengths < residues / sequences:
            low = centre
        else:
            high = centre
    before = np.round(np.cumsum(parts(high)) * sequences).astype(np.int64)
    before[-1] = sequences
    before = np.maximum(before, 1)  # there is a longest one
    return lengths.astype(np.uint32), np.diff(before, prepend=0)


def block_bytes(block: BlockInfo) -> int:
    """Return about how many bytes a block is that is sent to a node."""
    return block.residues + TARGET_BYTES * block.sequences
