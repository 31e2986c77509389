"""Which targets each query is compared with: all, or those after it, so that pairs count once.

Where all pairs of a database are compared, each is scored once. A database is in the order of
descending length; equally long targets are in the order of the input. The targets after a query are
the rest of this order: ranges of targets stay ranges. So in each pair the query is the longer
sequence, and of two equally long ones that which comes first in the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.database.database import Database
from swdual.database.target_range import Range, TargetLengths
from swdual.errors import InputError
from swdual.request.search_parameters import SearchParameters
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence as Query
from swdual.text.messages import quote

SHARED_START = 16
"""Targets in front of which queries start to score together.

The targets after a query would have to be laid out in lanes for this query alone, which takes
5 to 10 % of the time of scoring them. So queries start at multiples of this number, and leave out
the scores that are not theirs. With 1, 16 and 64, the pairs of 2,000 proteins take 52, 53 and 55 %
of the lanes that a search of the set in itself takes (128 lanes).
"""

BASES = frozenset(PROTEIN.encode("ACGTUN"))

CHECKED_RESIDUES = 50
"""A protein of so many residues or more is not spelled with the letters of bases only."""


class TaskBounds(NamedTuple):
    """The targets of a task, by their numbers in the block.

    `scored` to ``last - 1`` are scored; the query is compared with `first` to ``last - 1``.
    """

    scored: int
    first: int
    last: int


class AllTargets:
    """Each query is compared with all targets."""

    selects = False
    """Whether some pairs are left out."""

    def select(self, queries: Sequence[int]) -> AllTargets:
        """Return what some of the queries are compared with."""
        return self

    def count_all_residues(self, queries: int, database: TargetLengths) -> NDArray[np.int64]:
        """Return (queries,) the residues of all targets that each query is compared with."""
        return np.full(queries, database.residues)

    def find_bounds(self, number: int, database: TargetLengths, target_range: Range) -> TaskBounds:
        """Return the bounds of the task of one query, by its number, and one range."""
        return TaskBounds(target_range.first, target_range.first, target_range.last)

    def count_residues(
        self, queries: int, database: TargetLengths, ranges: Sequence[Range]
    ) -> NDArray[np.int64]:
        """Return (queries, ranges) the residues that each query is compared with in each range."""
        residues = np.array([each.residues for each in ranges], np.int64)
        return np.broadcast_to(residues, (queries, len(ranges)))


ALL_TARGETS = AllTargets()


@dataclass(frozen=True, eq=False)
class LaterTargets(AllTargets):
    """Each query, itself a target, is compared with the targets after it.

    Parameters
    ----------
    ranks
        (queries,) the rank of each query among the targets of the database, from 0.
    """

    ranks: NDArray[np.int64]

    selects = True

    @classmethod
    def of(cls, database: Database) -> Self:
        """Return those of all sequences of a database, in the order of the input."""
        numbers, positions = database.locate(range(len(database)))
        firsts = np.array([info.first for info in database.manifest.blocks], np.int64)
        return cls(firsts[numbers] + positions)

    def select(self, queries: Sequence[int]) -> Self:
        """Return what some of the queries are compared with."""
        return type(self)(self.ranks[np.asarray(queries, np.int64)])

    def find_first(self, database: TargetLengths, ranges: Sequence[Range]) -> NDArray[np.int64]:
        """Return (queries, ranges) the first target of each range that comes after each query.

        It is a number in the block, and the end of the range if there is none.
        """
        blocks = database.manifest.blocks
        starts = np.array([blocks[each.block].first for each in ranges], np.int64)
        bounds = np.array([(each.first, each.last) for each in ranges], np.int64).reshape(-1, 2)
        return np.asarray(np.clip(self.ranks[:, None] + 1 - starts, *bounds.T))

    def count_all_residues(self, queries: int, database: TargetLengths) -> NDArray[np.int64]:
        """Return (queries,) the residues of all targets after each query."""
        blocks = range(len(database.manifest.blocks))
        lengths = np.concatenate([database.lengths(number) for number in blocks])
        database.release()
        ends = np.cumsum(lengths, dtype=np.int64)
        # Targets lie by descending length, and a rank is a place in this order.
        return np.asarray(ends[-1] - ends[self.ranks])

    def find_bounds(self, number: int, database: TargetLengths, target_range: Range) -> TaskBounds:
        """Return the bounds of the task of one query, by its number, and one range."""
        start = database.manifest.blocks[target_range.block].first
        first = min(max(int(self.ranks[number]) + 1 - start, target_range.first), target_range.last)
        # Whole groups before the first target are skipped. The targets before it in its own group
        # are scored for nothing, so that all queries share the layout of a range.
        skipped = (first - target_range.first) // SHARED_START * SHARED_START
        return TaskBounds(target_range.first + skipped, first, target_range.last)

    def count_residues(
        self, queries: int, database: TargetLengths, ranges: Sequence[Range]
    ) -> NDArray[np.int64]:
        """Return (queries, ranges) the residues of the targets of each range after each query."""
        firsts = self.find_first(database, ranges)
        residues = np.empty(firsts.shape, np.int64)
        # Block by block: the lengths of one are in memory at a time.
        for block in {each.block for each in ranges}:
            lengths = database.lengths(block)
            ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
            for number, each in enumerate(ranges):
                if each.block == block:
                    residues[:, number] = ends[each.last] - ends[firsts[:, number]]
        database.release()
        return residues


def require_all_pairs(
    database: Database, sequences: Sequence[Query], params: SearchParameters, dbtype: str
) -> None:
    """Check that the sequences of a database can be compared with each other.

    Parameters
    ----------
    database, sequences
        The database, and its sequences.
    params
        What decides about hits.
    dbtype
        The option of this name; with "prot", proteins may look like nucleotides.

    Raises
    ------
    InputError
        If there are no pairs, some sequences are nucleotides, or E-values would have to be fitted
        to the scores of each query with all targets.
    """
    if len(database) < 2:
        raise InputError(f"{database.name} holds one sequence; pairs need at least two")
    if params.stats == "fit":
        raise InputError(
            "`stats='fit'` needs the scores of a query with all targets, but a pair is scored only "
            "once; use `stats='table'`, or `stats='none'`"
        )
    if database.alphabet is not PROTEIN or dbtype == "prot":
        return
    for sequence in sequences:
        codes = sequence.unmasked
        if len(codes) >= CHECKED_RESIDUES and BASES.issuperset(codes):
            raise InputError(
                f"{database.name} holds proteins, but {quote(sequence.id)} looks like nucleotides; "
                "compare them separately, or use `dbtype='prot'` if all are proteins"
            )
