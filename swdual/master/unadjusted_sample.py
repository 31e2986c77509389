"""A sample of the pairs that are not adjusted, because their targets are not candidates.

The pairs are adjusted in the alignment tasks, with the candidates. They only tell how many hits
``--adjust all`` would add; no hit is made of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from swdual.database.database import Database
from swdual.hits.columns import HIT_COLUMNS
from swdual.hits.query_result import QueryResult

SEED = 0xAD1

UNSCORED = 0
"""Stands for the plain score of a sampled target. No target with so low a score is near-identical
to a query; one that is has nearly always a plain score that makes it a candidate."""


@dataclass(frozen=True)
class UnadjustedSample:
    """Draws targets that are not candidates, about as many for each query.

    Parameters
    ----------
    database
        The targets.
    size
        Number of pairs.
    queries
        Number of queries of the search.
    chosen
        Where only some of the targets are compared: their numbers in the input, ascending.
    """

    database: Database
    size: int
    queries: int
    chosen: NDArray[np.unsignedinteger] | None = None

    @property
    def max_each(self) -> int:
        """Maximum number of targets that are drawn for a query."""
        return -(-self.size // self.queries) if self.queries else 0

    def extend(self, candidates: QueryResult) -> QueryResult:
        """Return the candidates of a query, and the targets that are drawn after these.

        They depend on the query, its number, its candidates and the size of the sample.

        Parameters
        ----------
        candidates
            All candidates of the query.
        """
        number, count = candidates.number, len(candidates)
        left = len(self.database) - count
        share = (number + 1) * self.size // self.queries - number * self.size // self.queries
        seed = SEED, number, xxhash.xxh3_64_intdigest(candidates.query.codes)
        draw = np.random.default_rng(seed)
        ranks = np.sort(draw.choice(left, min(share, left), replace=False, shuffle=False))
        known = np.sort(candidates.ordinals)
        if self.chosen is not None:
            known = np.searchsorted(self.chosen, known)
        records = skip_ordinals(ranks, known)
        ordinals = records if self.chosen is None else self.chosen[records].astype(np.int64)
        drawn = len(ordinals)
        columns = {
            "scores": np.full(drawn, UNSCORED),
            "unrounded": np.full(drawn, float(UNSCORED)),
            "ordinals": ordinals,
            "target_lengths": self.database.find_lengths(records),
            "frames": np.ones(drawn, np.int8),
            "target_frames": np.ones(drawn, np.int8),
            "bits": np.full(drawn, np.nan),
            "log_evalues": np.full(drawn, np.nan),
            "adjustments": np.zeros(drawn, np.int8),
            "lambda_ratios": np.ones(drawn),
        }
        together: dict[str, Any] = {
            name: np.concatenate([getattr(candidates, name), columns[name]]) for name in HIT_COLUMNS
        }
        return replace(candidates, **together)


def skip_ordinals(ranks: NDArray[np.int64], skipped: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers with some ranks among those that are not skipped.

    Parameters
    ----------
    ranks
        Ranks from 0.
    skipped
        Numbers in ascending order.

    >>> skip_ordinals(np.array([0, 1, 2, 3]), np.array([0, 2, 3])).tolist()
    [1, 4, 5, 6]
    """
    before = skipped - np.arange(len(skipped))
    return ranks + np.searchsorted(before, ranks, "right")
