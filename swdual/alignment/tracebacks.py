"""The alignments of one query with some targets, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.sequences.frames import TranslatedSequence, find_places
from swdual.sequences.matrices import SubstitutionMatrix
from swdual.sequences.sequence import Sequence as Query
from swdual.sequences.translation import CODON

PAIR, QUERY_ONLY, TARGET_ONLY = 0, 1, 2
"""Operations as SAM numbers them: M, I (query residues at a gap), D (target residues at a gap)."""

BASE_SKIPPED, BASE_BACK = 3, 4
"""Frameshifts of a translated query: a base is skipped, or the last one is read again."""

LETTERS = "MID\\/"
"""SAM's letters for them, and DIAMOND's for frameshifts."""

COLUMNS = (
    *("query_starts", "query_ends", "target_starts", "target_ends"),
    *("lengths", "identities", "positives", "gap_openings", "gaps"),
)
"""Positions are 0-based and half-open. `lengths` counts the columns of each alignment, `identities`
those of equal letters, `positives` these and those of a positive score, `gaps` those with a gap,
and `gap_openings` the gaps."""


def find_positives(matrix: SubstitutionMatrix) -> NDArray[np.int64]:
    """Return (32, 32) 1 for each pair of letters that counts as positive, else 0.

    As in BLAST equal letters are positive, also X with X, which scores below 0; J with another
    letter is not, which scores as I and L do.

    Parameters
    ----------
    matrix
        The plain matrix.
    """
    positive = matrix.scores > 0
    other = matrix.alphabet.letters.find("J")
    if other >= 0:
        positive[other] = positive[:, other] = False
    return np.asarray(positive | np.eye(len(positive), dtype=bool), np.int64)


class Tracebacks(NamedTuple):
    """Alignments of a query with several targets.

    Alignment k has the numbers ``numbers[:, k]``, named by `COLUMNS`, and the operations
    ``runs[run_starts[k] : run_starts[k + 1]]``, each ``length << 4 | operation``, which
    go along the query, from its beginning to its end.
    """

    numbers: NDArray[np.int64]
    run_starts: NDArray[np.int64]
    runs: NDArray[np.uint32]

    @classmethod
    def of(cls, numbers: NDArray[np.int64], runs: list[NDArray[np.uint32]]) -> Tracebacks:
        """Return alignments whose operations are given one by one.

        Parameters
        ----------
        numbers
            (`COLUMNS`, alignments) numbers.
        runs
            The operations of each alignment, from its beginning to its end.
        """
        starts = np.zeros(len(runs) + 1, np.int64)
        np.cumsum([len(x) for x in runs], out=starts[1:])
        return cls(numbers, starts, np.concatenate([*runs, np.empty(0, np.uint32)]))

    @classmethod
    def concatenate(cls, parts: Sequence[Tracebacks]) -> Tracebacks:
        """Return the alignments of several parts after each other."""
        if len(parts) == 1:
            return parts[0]
        numbers = [np.empty((len(COLUMNS), 0), np.int64), *(part.numbers for part in parts)]
        runs = [np.empty(0, np.uint32), *(part.runs for part in parts)]
        counts = [np.diff(part.run_starts) for part in parts]
        starts = np.concatenate(([0], *counts)).cumsum(dtype=np.int64)
        return cls(np.concatenate(numbers, axis=1), starts, np.concatenate(runs))

    def column(self, name: str) -> NDArray[np.int64]:
        """Return one of `COLUMNS`."""
        column: NDArray[np.int64] = self.numbers[COLUMNS.index(name)]
        return column

    def runs_of(self, k: int) -> NDArray[np.uint32]:
        """Return the operations of one alignment."""
        return self.runs[self.run_starts[k] : self.run_starts[k + 1]]

    def cigar(self, k: int) -> str:
        """Return the operations of one alignment as SAM writes them, such as 10M2D7M."""
        return "".join(f"{run >> 4}{LETTERS[run & 15]}" for run in self.runs_of(k).tolist())

    def pairs(self, k: int, strand: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the places in the query and in the target that one alignment pairs, from 0.

        Parameters
        ----------
        k, strand
            The alignment, and -1 if the query aligns with the target's other strand.
        """
        query = self.column("query_starts")[k]
        target = self.column("target_starts" if strand > 0 else "target_ends")[k] - (strand < 0)
        ours, theirs = [], []
        for run in self.runs_of(k).tolist():
            length, operation = run >> 4, run & 15
            if operation == PAIR:
                ours.append(np.arange(query, query + length))
                theirs.append(np.arange(target, target + strand * length, strand))
            query += length * (operation != TARGET_ONLY)
            target += strand * length * (operation != QUERY_ONLY)
        nothing = np.empty(0, np.int64)
        return np.concatenate([nothing, *ours]), np.concatenate([nothing, *theirs])

    def take(self, indices: NDArray[np.int64]) -> Tracebacks:
        """Return some of the alignments, in the order of `indices`."""
        counts = np.diff(self.run_starts)[indices]
        starts = np.concatenate(([0], counts)).cumsum(dtype=np.int64)
        shifts = np.repeat(self.run_starts[indices] - starts[:-1], counts)
        runs = self.runs[np.arange(len(shifts)) + shifts]
        return type(self)(self.numbers[:, indices], starts, runs)

    def place_in_query(self, query: Query, frame: int) -> Tracebacks:
        """Return the same alignments with their places in the query as given.

        Parameters
        ----------
        query, frame
            The query, and its frame.
        """
        if not isinstance(query, TranslatedSequence):
            return self if frame > 0 else self.reverse_strand(len(query))
        numbers = self.numbers.copy()
        starts, ends = self.numbers[:2]
        if query.shifts:  # rows are bases; the last codon has two bases more
            places = np.where(ends > starts, [starts, ends + CODON - 1], 0)
            numbers[:2] = places if frame > 0 else len(query) - places[::-1]
            return self._replace(numbers=numbers)
        numbers[:2] = find_places(starts, ends, frame, len(query))
        return self._replace(numbers=numbers)

    def shift_targets(self, firsts: NDArray[np.int64]) -> Tracebacks:
        """Return the alignments of parts of targets, with their places in the targets.

        Parameters
        ----------
        firsts
            (alignments,) where the parts begin.
        """
        numbers = self.numbers.copy()
        numbers[2:4] += np.where(numbers[3] > numbers[2], firsts, 0)
        return self._replace(numbers=numbers)

    @property
    def query_places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(alignments,) starts and ends in the query."""
        return self.numbers[0], self.numbers[1]

    def place_in_targets(self, frames: NDArray[np.int8], bases: NDArray[np.int64]) -> Tracebacks:
        """Return the same alignments with their places in the nucleotides of translated targets.

        Parameters
        ----------
        frames, bases
            (alignments,) the frame of each target, and its length.
        """
        numbers = self.numbers.copy()
        for frame in np.unique(frames).tolist():
            here = frames == frame
            starts, ends = self.numbers[2:4, here]
            numbers[2:4, here] = find_places(starts, ends, frame, bases[here])
        return self._replace(numbers=numbers)

    def reverse_strand(self, query_length: int) -> Tracebacks:
        """Return the same alignments along the other strand of the query."""
        numbers = self.numbers.copy()
        numbers[:2] = query_length - self.numbers[1::-1]
        return self.of(numbers, [self.runs_of(k)[::-1] for k in range(numbers.shape[1])])
