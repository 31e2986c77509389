"""The best targets of a query, under one order: higher score first, then input order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Candidates(NamedTuple):
    """Targets of one query, equally long columns.

    Score, position in the input, length, and the frame of the query that scored so. Of targets
    that are translated, each frame has a position and a length of its own.
    """

    scores: NDArray[Any]
    ordinals: NDArray[Any]
    lengths: NDArray[Any]
    frames: NDArray[Any]


NO_CANDIDATES = Candidates(*(np.empty(0, np.int64) for _ in Candidates._fields))


class Scored(NamedTuple):
    """The result of a scoring task; with a histogram of all scores if E-values are fitted."""

    candidates: Candidates
    histogram: NDArray[np.int64] | None


def select_best(
    candidates: Candidates, limit: int, min_raw_score: int, target_frames: int = 1
) -> Candidates:
    """Return the best targets in order: score descending, then position in the input ascending.

    Of a target that is translated, the best frame is returned; of equal ones the first.

    Parameters
    ----------
    candidates
        In any order.
    limit
        Number of targets to keep; 0 keeps all.
    min_raw_score
        Targets below it are left out.
    target_frames
        Consecutive positions in the input that are frames of one target.

    >>> columns = Candidates(*(np.array(x) for x in ([5, 7, 7], [2, 1, 0], [9, 9, 9], [1, 1, 1])))
    >>> select_best(columns, 2, 0).ordinals.tolist()
    [0, 1]
    """
    if target_frames > 1:
        candidates = _select_frames(candidates, target_frames)
    scores = candidates.scores
    if limit and len(scores) > limit:
        cutoff = max(int(np.partition(scores, -limit)[-limit]), min_raw_score)
    else:
        cutoff = min_raw_score
    chosen = np.flatnonzero(scores >= cutoff)
    order = np.lexsort((candidates.ordinals[chosen], -scores[chosen].astype(np.int64)))
    chosen = chosen[order[:limit] if limit else order]
    return Candidates(*(column[chosen].astype(np.int64) for column in candidates))


def _select_frames(candidates: Candidates, target_frames: int) -> Candidates:
    """Return the best frame of each target."""
    scores, ordinals = (column.astype(np.int64) for column in candidates[:2])
    targets = ordinals // target_frames
    order = np.lexsort((ordinals, -scores, targets))
    best = order[np.unique(targets[order], return_index=True)[1]]
    return Candidates(*(column[best] for column in candidates))


def merge_candidates(parts: Sequence[Candidates], limit: int, target_frames: int = 1) -> Candidates:
    """Return the best targets of several ranges.

    Parameters
    ----------
    parts
        The candidates of each range, as `select_best` returned them.
    limit
        Number of targets to keep; 0 keeps all.
    target_frames
        See `select_best`.
    """
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return select_best(Candidates(*columns), limit, 0, target_frames)
