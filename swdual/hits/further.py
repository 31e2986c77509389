"""The further alignments of hits: those besides the best that pass the limits of the search."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.further import Frames, FurtherAlignments, Readings, find_further
from swdual.alignment.pairs import Pairs
from swdual.alignment.tracebacks import COLUMNS
from swdual.alignment.tracer import Tracer
from swdual.backend import Progress
from swdual.composition.adjuster import Adjuster
from swdual.composition.tables import SCALE
from swdual.hits.columns import HitColumns
from swdual.profiles.query import find_positions, find_scores
from swdual.request.search_parameters import AlignmentFilters
from swdual.sequences.frames import list_frames, measure_frames
from swdual.statistics.sum_statistics import find_min_score
from swdual.statistics.table import TableStatistics


def align_further(
    result: HitColumns,
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
    # Adjusted profiles have a table of scores for each target.
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
    result: HitColumns, tracer: Tracer, adjuster: Adjuster | None, progress: Progress
) -> FurtherAlignments:
    """Return the further alignments of hits whose tables are in memory together."""
    query, params, profile = result.query, result.params, find_scores(result.query)
    codes = result.target_codes
    readings = list_readings(result)

    def make_pairs(chosen: list[int], frames: Frames) -> tuple[Pairs, NDArray[np.int64] | None]:
        # Only the targets that still may have an alignment in these frames.
        targets = [params.comparison.read_target(codes[k], frames[1]) for k in chosen]
        if adjuster is None:
            scored, written = params.read_targets(targets)
            return tracer.pair(query, scored, frames[0], written, profile), None
        positions = find_positions(query)
        return adjuster.pair(
            query, targets, frames[0], result.adjustments[chosen], positions, progress
        )

    # A score in `unit`s is at most half a raw score above that which was rounded from it.
    unit = 1 if adjuster is None else SCALE
    scores = result.scores * unit + unit // 2 * (result.scores > 0)
    min_scores = [_find_min_scores(result, scores, unit, frames) for frames in readings.frames]
    max_count, limits = max(params.max_hsps - 1, 0), params.alignment_filters
    if params.sum_stats:  # limits are those of linked alignments
        max_count, limits = 0, AlignmentFilters()

    def keeps(k: int, numbers: NDArray[np.int64]) -> bool:
        columns = dict(zip(COLUMNS, numbers.tolist(), strict=True))
        lengths = len(query), int(result.target_lengths[k])
        return bool(limits.is_passing(columns.__getitem__, *lengths))

    found = find_further(
        tracer,
        make_pairs,
        readings,
        scores=scores,
        frames=[*zip(result.frames.tolist(), result.target_frames.tolist(), strict=True)],
        first=result.tracebacks,
        min_scores=np.stack(min_scores),
        keeps=keeps,
        max_count=max_count,
        progress=progress,
    )
    every = found.hit_indices, found.frames, found.target_frames
    bits, log_evalues = _evaluate(result, found.scores, unit, *every)
    raw = _round(found.scores, unit)
    unrounded = found.scores / unit
    return found._replace(scores=raw, unrounded=unrounded, bits=bits, log_evalues=log_evalues)


def list_readings(result: HitColumns) -> Readings:
    """Return in which frames the query and its targets are compared.

    Parameters
    ----------
    result
        The hits, or their alignments.
    """
    query, params = result.query, result.params
    own = [frame for frame, _ in list_frames(query, params.frames)]
    frames = [*product(own, params.comparison.target_frames)]
    translated = params.comparison.db_gencode is not None
    return Readings(query, result.target_lengths, frames, translated)


def _round(scores: NDArray[np.int64], unit: int) -> NDArray[np.int64]:
    """Return raw scores, as `AdjustedScores.raw` rounds them."""
    return (scores + unit // 2) // unit


def _evaluate(
    result: HitColumns,
    scores: NDArray[np.int64],
    unit: int,
    hits: NDArray[np.int64],
    frames: NDArray[np.int8],
    target_frames: NDArray[np.int8],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bit scores, and logarithms of E-values, as those of hits are computed.

    Parameters
    ----------
    result
        The hits.
    scores, unit
        (alignments,) scores, and the units of these in a raw score.
    hits, frames, target_frames
        (alignments,) indices of their hits, and their frames.
    """
    if result.statistics is None:
        unknown = np.full(len(scores), np.nan)
        return unknown, unknown
    lengths = result.target_lengths[hits]
    params = result.params
    if params.sum_stats or not params.adjusts:
        lengths = np.maximum(params.comparison.measure_targets(lengths, target_frames), 1)
    query_lengths = measure_frames(result.query, frames)
    # As for hits: bit scores are of whole raw scores, E-values of those before rounding.
    bits, _ = result.statistics.evaluate(_round(scores, unit), query_lengths, lengths)
    _, log_evalues = result.statistics.evaluate(scores / unit, query_lengths, lengths)
    return bits, log_evalues


def _find_min_scores(
    result: HitColumns, scores: NDArray[np.int64], unit: int, frames: Frames
) -> NDArray[np.int64]:
    """Return (hits,) the smallest score, up to that of the hit, that passes all limits.

    Where no such score passes, it is one above that of the hit.

    Parameters
    ----------
    result
        The hits.
    scores, unit
        (hits,) their scores, and the units of these in a raw score.
    frames
        The frames of query and targets.
    """
    params, hits = result.params, np.arange(len(result))
    if params.sum_stats:
        query_length = int(np.max(measure_frames(result.query, np.array(frames[:1], np.int8))))
        return np.minimum(unit * _find_min_link_score(result, query_length), scores + 1)
    own, theirs = (np.full(len(result), frame, np.int8) for frame in frames)
    log_limit = np.log(params.evalue) if params.evalue > 0 else -np.inf

    def passes(scores: NDArray[np.int64]) -> NDArray[np.bool_]:
        passing = _round(scores, unit) >= params.min_raw_score
        if result.statistics is not None:
            bits, log_evalues = _evaluate(result, scores, unit, hits, own, theirs)
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


def _find_min_link_score(result: HitColumns, query_length: int) -> int:
    """Return the smallest score of an alignment that is linked with others."""
    statistics = result.statistics
    assert isinstance(statistics, TableStatistics)
    mean = max(1, statistics.residues // max(1, statistics.sequences))
    return find_min_score(statistics.for_sums(query_length), query_length, mean)
