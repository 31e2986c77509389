"""Hits as columns: those of the truth, and the exact values of hits that tables list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swdual.hits.query_result import QueryResult


@dataclass(frozen=True)
class Hits:
    """Hits of several queries.

    Parameters
    ----------
    queries, targets
        (hits,) the number of the query among all queries, and of the target in the database.
    bits, log_evalues
        (hits,) exact bit scores, and natural logarithms of exact E-values.
    """

    queries: NDArray[np.int64]
    targets: NDArray[np.int64]
    bits: NDArray[np.float64]
    log_evalues: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.queries)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Hits:
        """Return some of the hits."""
        return Hits(self.queries[rows], self.targets[rows], self.bits[rows], self.log_evalues[rows])

    @classmethod
    def collect(cls, results: Iterable[QueryResult], numbers: NDArray[np.int64]) -> Hits:
        """Return the hits of some results.

        Parameters
        ----------
        results
            The results of the queries that were searched.
        numbers
            (queries,) their numbers among all queries.
        """
        return cls.concatenate(
            cls(
                np.full(len(result), numbers[result.number]),
                result.ordinals,
                result.bits,
                result.log_evalues,
            )
            for result in results
        )

    @classmethod
    def concatenate(cls, parts: Iterable[Hits]) -> Hits:
        """Return the hits of several, one after the other."""
        parts = [NO_HITS, *parts]
        columns = ("queries", "targets", "bits", "log_evalues")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))

    def find(self, queries: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where some pairs are among the hits, (pairs,); -1 for those that are not."""
        size = max(self.targets.max(initial=0), targets.max(initial=0)) + 1
        own, wanted = self.queries * size + self.targets, queries * size + targets
        if not len(own):
            return np.full(len(wanted), -1)
        order = np.argsort(own)
        places = order[np.minimum(np.searchsorted(own, wanted, sorter=order), len(own) - 1)]
        return np.where(own[places] == wanted, places, -1)


NO_HITS = Hits(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))
