"""The further alignments of hits: those besides the best that pass the limits of the search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.further import FurtherAlignments, find_further
from swdual.alignment.pairs import Pairs
from swdual.alignment.tracer import Tracer
from swdual.backend import Progress
from swdual.composition.adjuster import Adjuster
from swdual.composition.tables import SCALE
from swdual.profiles.query import find_positions, find_scores

if TYPE_CHECKING:
    from swdual.hits.query_result import QueryResult


def align_further(
    result: QueryResult,
    tracer: Tracer,
    adjuster: Adjuster | None,
    progress: Progress = lambda cells: None,
) -> FurtherAlignments:
    """Return the further alignments of all hits of a query, as many as the search reports.

    Their E-values, bit scores and raw scores pass the same limits as those of hits.

    Parameters
    ----------
    result
        The hits.
    tracer, adjuster
        What aligns them, and what adjusts their matrices, unless scores are plain.
    progress
        Called with 0 now and then; may raise to stop the work.
    """
    positions = find_positions(result.query)
    size = len(result)
    if adjuster is not None and positions is not None:
        size = positions.targets_at_once
    parts, indices = [], []
    for first in range(0, len(result), max(size, 1)):
        chosen = np.arange(first, min(first + size, len(result)))
        some = result if len(chosen) == len(result) else result.subset(chosen)
        parts.append(_align(some, tracer, adjuster, progress))
        indices.append(chosen)
    return FurtherAlignments.concatenate(parts, indices)


def _align(
    result: QueryResult, tracer: Tracer, adjuster: Adjuster | None, progress: Progress
) -> FurtherAlignments:
    """Return the further alignments of hits whose tables are in memory together."""
    query, params, profile = result.query, result.params, find_scores(result.query)
    codes = result.target_codes
    scored, written = (codes, codes) if adjuster is not None else params.read_targets(codes)

    def make_pairs(chosen: list[int], frame: int) -> Pairs:
        targets, unmasked = ([each[k] for k in chosen] for each in (scored, written))
        if adjuster is None:
            return tracer.pair(query, targets, frame, unmasked, profile)
        return adjuster.pair(
            query, targets, result.adjustments[chosen], find_positions(query), progress
        )

    # A score in `unit`s is at most half a raw score above that which was rounded from it.
    unit = 1 if adjuster is None else SCALE
    scores = result.scores * unit + unit // 2 * (result.scores > 0)
    found = find_further(
        tracer,
        make_pairs,
        query_length=len(query.codes),
        target_lengths=result.target_lengths,
        scores=scores,
        frames=result.frames,
        first=result.tracebacks,
        min_scores=_find_min_scores(result, scores, unit),
        max_count=max(params.max_hsps - 1, 0),
        both=params.strand == "both",
        min_identity=params.min_identity,
        min_query_cover=params.min_query_cover,
        progress=progress,
    )
    lengths = result.target_lengths[found.hit_indices]
    bits, log_evalues = _evaluate(result, found.scores, lengths, unit)
    raw = _round(found.scores, unit)
    return found._replace(scores=raw, bits=bits, log_evalues=log_evalues)


def _round(scores: NDArray[np.int64], unit: int) -> NDArray[np.int64]:
    """Return raw scores, as `AdjustedScores.raw` rounds them."""
    return (scores + unit // 2) // unit


def _evaluate(
    result: QueryResult, scores: NDArray[np.int64], lengths: NDArray[np.int64], unit: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bit scores, and logarithms of E-values, as those of hits are computed."""
    if result.statistics is None:
        unknown = np.full(len(scores), np.nan)
        return unknown, unknown
    query_length = len(result.query.codes)
    bits, _ = result.statistics.evaluate(_round(scores, unit), query_length, lengths)
    _, log_evalues = result.statistics.evaluate(scores / unit, query_length, lengths)
    return bits, log_evalues


def _find_min_scores(
    result: QueryResult, scores: NDArray[np.int64], unit: int
) -> NDArray[np.int64]:
    """Return (hits,) the smallest score, up to that of the hit, that passes all limits.

    Where no such score passes, it is one above that of the hit.

    Parameters
    ----------
    result
        The hits.
    scores, unit
        (hits,) their scores, and the units of these in a raw score.
    """
    params, lengths = result.params, result.target_lengths
    log_limit = np.log(params.evalue) if params.evalue > 0 else -np.inf

    def passes(scores: NDArray[np.int64]) -> NDArray[np.bool_]:
        passing = _round(scores, unit) >= params.min_raw_score
        if result.statistics is not None:
            bits, log_evalues = _evaluate(result, scores, lengths, unit)
            passing &= log_evalues <= log_limit
            if params.min_score > 0:
                passing &= bits >= params.min_score
        return passing

    # Invariant: scores below `low` do not pass, those from `high` on do, as far as there are any.
    low, high = np.ones(len(scores), np.int64), scores + 1
    while (low < high).any():
        middle = (low + high) // 2
        passing = passes(middle)
        high = np.where((low < high) & passing, middle, high)
        low = np.where((low < high) & ~passing, middle + 1, low)
    return np.maximum(high, 1)
