"""The work of an alignment task: scores candidates again, if asked for, and aligns the hits.

A further task finds more alignments of the hits that are reported (`max_hsps`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.further import FurtherAlignments
from swdual.alignment.plain_scores import score_plain
from swdual.alignment.tracebacks import Tracebacks
from swdual.composition.adjust import SCALING
from swdual.composition.adjusted import AdjustedScores
from swdual.composition.adjuster import Adjuster
from swdual.composition.targets import mask_targets
from swdual.hits.further import align_further
from swdual.hits.query_result import QueryResult
from swdual.master.context import SearchContext, evaluate_scores, take_log
from swdual.profiles.query import find_positions, find_scores
from swdual.sequences.alphabet import PROTEIN, raise_case
from swdual.sequences.frames import measure_frames, read_frame
from swdual.sequences.sequence import Sequence as Query


class Traced(NamedTuple):
    """What an alignment task found among some candidates of one query.

    Parameters
    ----------
    examined
        The candidates of the task.
    hit_indices
        (hits,) indices, in the result of the query, of those that are still hits.
    tracebacks
        Their alignments; None if these are found when they are first used.
    rescored
        Their final scores; None if candidates are not scored again: then all of them are hits.
    """

    examined: int
    hit_indices: NDArray[np.int64]
    tracebacks: Tracebacks | None
    rescored: AdjustedScores | None


class TracedFurther(NamedTuple):
    """What a task found besides the best alignments of some hits of one query.

    Parameters
    ----------
    hit_indices
        (hits,) indices of the hits in the result of the query.
    found
        Their further alignments; hits are counted within the task.
    """

    hit_indices: NDArray[np.int64]
    found: FurtherAlignments


def align_further_hits(
    result: QueryResult,
    hit_indices: NDArray[np.int64],
    context: SearchContext,
    progress: Callable[[int], None],
) -> TracedFurther:
    """Find the further alignments of some hits of a query, after all hits have been chosen.

    Parameters
    ----------
    result
        These hits, with their best alignments.
    hit_indices
        Their indices in the result of the query.
    context
        What all queries share.
    progress
        Called with 0 now and then; may raise an exception to stop the work.
    """
    tracer, adjuster = context.rules.tracer, context.rules.adjuster
    assert tracer is not None
    found = align_further(result, tracer, adjuster, progress)
    return TracedFurther(hit_indices, found)


def align_candidates(
    query: Query,
    targets: Sequence[bytes],
    hit_indices: NDArray[np.int64],
    scores: NDArray[np.int64],
    frames: NDArray[np.int8],
    traced: bool,
    context: SearchContext,
    progress: Callable[[int], None],
) -> Traced:
    """Score some candidates of a query again, if asked for, and align those that are still hits.

    With soft masking, the letters of the query as written come first; then, with composition-based
    statistics, the matrix of each pair.

    Parameters
    ----------
    query
        The query.
    targets
        Residue codes, with `LOWER` at letters that a mask masks: see
        `SearchContext.candidate_targets`.
    hit_indices
        (targets,) indices of the candidates in the result of the query.
    scores, frames
        (targets,) plain scores, and the frames of the query that have them.
    traced
        Whether alignments are found now.
    context
        What all queries share.
    progress
        Called with 0 now and then; may raise an exception to stop the work.
    """
    params, rules = context.params, context.rules
    tracer, adjuster = rules.tracer, rules.adjuster
    read = _read_targets(targets, context)
    if not params.rescores:
        assert tracer is not None
        found = tracer(
            query, read.scored, scores, frames, progress, read.written, find_scores(query)
        )
        return Traced(len(targets), hit_indices, found, None)
    if params.soft_masking:
        query = query.soften()
    if params.masks_softly:
        scores = _score_again(query, read.scored, frames, context, progress)
    adjusted, count = None, len(targets)
    positions = find_positions(query)
    if adjuster is None:
        rescored = AdjustedScores.of_plain(scores)
    else:
        if params.comp_based_stats == SCALING and params.adjust == "all":
            read = read.segment()
            # All targets are candidates, few can be hits, and bounds cost less than scores.
            possible = _find_possible(query, read, adjuster, context, progress)
            read, scores, hit_indices = read.take(possible), scores[possible], hit_indices[possible]
            frames = frames[possible]
        # Only those that reach the limits are aligned. Below its cutoff an adjusted score may be
        # an upper bound: it says enough to leave the target out.
        cutoffs = context.adjusted_cutoffs(query).select(read.lengths)
        adjusted = adjuster.adjust(
            query, read.scored, scores, frames, progress, read.segmented, positions, cutoffs
        )
        rescored = adjusted.scores
    query_lengths = measure_frames(query, frames)
    passing = _find_hits(query, query_lengths, read.lengths, rescored, context)
    hits = read.take(passing)
    tracebacks = None
    if traced and adjuster is not None and adjusted is not None:
        adjusted = adjusted.take(passing)
        tracebacks = adjuster.trace(
            query, hits.scored, adjusted, frames[passing], progress, positions
        )
    elif traced:
        assert tracer is not None
        best = scores[passing], frames[passing]
        profile = find_scores(query)
        tracebacks = tracer(query, hits.scored, *best, progress, hits.written, profile)
    return Traced(count, hit_indices[passing], tracebacks, rescored.take(passing))


class _Targets(NamedTuple):
    """Codes of targets: as they are scored, as written, and masked for composition, if known."""

    scored: Sequence[bytes]
    written: Sequence[bytes]
    segmented: Sequence[bytes] | None

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Residues of each target."""
        return np.array([len(codes) for codes in self.written], np.int64)

    def segment(self) -> _Targets:
        """Return the targets with those that are masked for composition."""
        if self.segmented is not None:
            return self
        return self._replace(segmented=mask_targets(self.scored))

    def take(self, indices: NDArray[np.int64]) -> _Targets:
        """Return some of the targets."""
        chosen = indices.tolist()
        scored, written = ([codes[k] for k in chosen] for codes in (self.scored, self.written))
        segmented = self.segmented
        return _Targets(
            scored, written, None if segmented is None else [segmented[k] for k in chosen]
        )


def _read_targets(cased: Sequence[bytes], context: SearchContext) -> _Targets:
    """Return targets without `LOWER`, which stands for what their mask says."""
    if context.has_segments:
        written = [raise_case(codes) for codes in cased]
        return _Targets(written, written, [PROTEIN.mask(codes) for codes in cased])
    return _Targets(*context.params.read_targets(cased), None)


def _score_again(
    query: Query,
    targets: Sequence[bytes],
    frames: NDArray[np.int8],
    context: SearchContext,
    progress: Callable[[int], None],
) -> NDArray[np.int64]:
    """Return the plain scores of a query with targets, each in the frame of the candidate."""
    scores = np.zeros(len(targets), np.int64)
    for frame in sorted(set(frames.tolist())):
        here = np.flatnonzero(frames == frame)
        chosen = [targets[k] for k in here.tolist()]
        codes = read_frame(query, frame).codes
        scores[here] = score_plain(
            codes, chosen, context.params.scheme, progress, find_scores(query)
        )
    return scores


def _find_possible(
    query: Query,
    read: _Targets,
    adjuster: Adjuster,
    context: SearchContext,
    progress: Callable[[int], None],
) -> NDArray[np.int64]:
    """Return the indices of the candidates that can be hits by the bounds of their scores."""
    assert read.segmented is not None
    bounds = adjuster.bound(
        query.codes, read.scored, read.segmented, progress, find_positions(query)
    )
    possible = np.isinf(bounds)
    known = np.flatnonzero(~possible)
    possible[known] = _pass_limits(query, len(query), read.lengths[known], bounds[known], context)
    return np.flatnonzero(possible)


def _find_hits(
    query: Query,
    query_lengths: int | NDArray[np.int64],
    lengths: NDArray[np.int64],
    rescored: AdjustedScores,
    context: SearchContext,
) -> NDArray[np.int64]:
    """Return the indices of the candidates whose final scores pass the filters."""
    passing = rescored.raw >= context.params.min_raw_score
    passing &= _pass_limits(query, query_lengths, lengths, rescored.unrounded, context)
    return np.flatnonzero(passing)


def _pass_limits(
    query: Query,
    query_lengths: int | NDArray[np.int64],
    lengths: NDArray[np.int64],
    unrounded: NDArray[np.float64],
    context: SearchContext,
) -> NDArray[np.bool_]:
    """Return which final scores have an E-value within the limit.

    It counts if it is known already: fitted statistics are known when all scores are.
    """
    statistics = context.statistics_of(query)
    if statistics is None:
        return np.ones(len(unrounded), bool)
    _, log_evalues = evaluate_scores(statistics, unrounded, query_lengths, lengths)
    return log_evalues <= take_log(context.params.single_evalue)
