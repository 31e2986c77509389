"""How many pairs a search adjusted for composition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Self

from swdual.text.messages import pluralize


class AdjustmentCounts(NamedTuple):
    """How many pairs of query and target were adjusted for composition.

    Parameters
    ----------
    queries
        Queries with candidates.
    candidates
        Pairs that were adjusted, because they could become hits.
    """

    queries: int = 0
    candidates: int = 0

    @classmethod
    def total(cls, parts: Iterable[Self]) -> Self:
        """Return the sums of the counts of several queries.

        >>> AdjustmentCounts.total([AdjustmentCounts(1, 3), AdjustmentCounts(0, 0)])
        AdjustmentCounts(queries=1, candidates=3)
        """
        return cls(*map(sum, zip(*parts, strict=True))) if (parts := [*parts]) else cls()

    def describe(self) -> str:
        """Return the number of candidates in words.

        >>> AdjustmentCounts(2, 1200).describe()
        '1,200 candidates of 2 queries adjusted'
        """
        candidates = pluralize(self.candidates, "candidate", "candidates")
        return f"{candidates} of {pluralize(self.queries, 'query', 'queries')} adjusted"


NO_ADJUSTMENT = AdjustmentCounts()
"""The counts of a search without composition-based statistics."""
