"""The best targets of a query, under one order: higher score first, then input order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Candidates(NamedTuple):
    """Targets of one query, equally long columns.

    Score, position in the input, length, and the strand of the query that scored so: 1 or -1.
    """

    scores: NDArray[Any]
    ordinals: NDArray[Any]
    lengths: NDArray[Any]
    strands: NDArray[Any]


NO_CANDIDATES = Candidates(*(np.empty(0, np.int64) for _ in Candidates._fields))


class Scored(NamedTuple):
    """The result of a scoring task; with a histogram of all scores if E-values are fitted."""

    candidates: Candidates
    histogram: NDArray[np.int64] | None


def select_best(candidates: Candidates, limit: int, min_raw_score: int) -> Candidates:
    """Return the best targets in order: score descending, then position in the input ascending.

    Parameters
    ----------
    candidates
        In any order.
    limit
        Number of targets to keep; 0 keeps all.
    min_raw_score
        Targets below it are left out.

    >>> columns = Candidates(*(np.array(x) for x in ([5, 7, 7], [2, 1, 0], [9, 9, 9], [1, 1, 1])))
    >>> select_best(columns, 2, 0).ordinals.tolist()
    [0, 1]
    """
    scores = candidates.scores
    if limit and len(scores) > limit:
        cutoff = max(int(np.partition(scores, -limit)[-limit]), min_raw_score)
    else:
        cutoff = min_raw_score
    chosen = np.flatnonzero(scores >= cutoff)
    order = np.lexsort((candidates.ordinals[chosen], -scores[chosen].astype(np.int64)))
    chosen = chosen[order[:limit] if limit else order]
    return Candidates(*(column[chosen].astype(np.int64) for column in candidates))


def merge_candidates(parts: Sequence[Candidates], limit: int) -> Candidates:
    """Return the best targets of several ranges.

    Parameters
    ----------
    parts
        The candidates of each range, as `select_best` returned them.
    limit
        Number of targets to keep; 0 keeps all.
    """
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return select_best(Candidates(*columns), limit, 0)
