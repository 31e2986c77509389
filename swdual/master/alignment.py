"""The work of an alignment task: scores candidates again, if asked for, and aligns the hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracebacks import Tracebacks
from swdual.backend import TOO_LARGE
from swdual.backends.simd import score_targets
from swdual.composition.adjuster import AdjustedScores
from swdual.errors import EngineError
from swdual.lanes.registers import register_bytes
from swdual.lanes.score_widths import score_widths
from swdual.master.context import SearchContext, evaluate_scores, take_log
from swdual.sequences.alphabet import PROTEIN, raise_case
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

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return the same with some of the hits."""
        return type(self)(
            self.examined,
            self.hit_indices[indices],
            None if self.tracebacks is None else self.tracebacks.take(indices),
            None if self.rescored is None else self.rescored.take(indices),
        )


def align_candidates(
    query: Query,
    targets: Sequence[bytes],
    hit_indices: NDArray[np.int64],
    scores: NDArray[np.int64],
    strands: NDArray[np.int8],
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
    scores, strands
        (targets,) plain scores, and 1 or -1: see `Tracer`.
    traced
        Whether alignments are found now.
    context
        What all queries share.
    progress
        Called with 0 now and then; may raise an exception to stop the work.
    """
    params, tracer, adjuster = context.params, context.tracer, context.adjuster
    read = _read_targets(targets, context)
    if not params.rescores:
        assert tracer is not None
        pair = query.unmasked, read.written
        found = tracer(query.codes, read.scored, scores, strands, progress, *pair)
        return Traced(len(targets), hit_indices, found, None)
    if params.soft_masking:
        query = query.soften()
    if params.masks_softly:
        scores = _score_again(query, read.scored, strands, context, progress)
    adjusted = None
    if adjuster is None:
        rescored = AdjustedScores.of_plain(scores)
    else:
        adjusted = adjuster.adjust(query.codes, read.scored, scores, progress, read.segmented)
        rescored = adjusted.scores
    passing = _find_hits(query, targets, rescored, context)
    hits = read.take(passing)
    tracebacks = None
    if traced and adjuster is not None and adjusted is not None:
        adjusted = adjusted.take(passing)
        tracebacks = adjuster.trace(query, hits.scored, adjusted, progress)
    elif traced:
        assert tracer is not None
        pair = query.unmasked, hits.written
        best = scores[passing], strands[passing]
        tracebacks = tracer(query.codes, hits.scored, *best, progress, *pair)
    return Traced(len(targets), hit_indices[passing], tracebacks, rescored.take(passing))


class _Targets(NamedTuple):
    """Codes of targets: as they are scored, as written, and masked for composition, if known."""

    scored: Sequence[bytes]
    written: Sequence[bytes]
    segmented: Sequence[bytes] | None

    def take(self, indices: NDArray[np.int64]) -> _Targets:
        """Return some of the targets, as they are scored and as written."""
        chosen = indices.tolist()
        scored, written = ([codes[k] for k in chosen] for codes in (self.scored, self.written))
        return _Targets(scored, written, None)


def _read_targets(cased: Sequence[bytes], context: SearchContext) -> _Targets:
    """Return targets without `LOWER`, which stands for what their mask says."""
    if context.has_segments:
        written = [raise_case(codes) for codes in cased]
        return _Targets(written, written, [PROTEIN.mask(codes) for codes in cased])
    return _Targets(*context.params.read_targets(cased), None)


def _score_again(
    query: Query,
    targets: Sequence[bytes],
    strands: NDArray[np.int8],
    context: SearchContext,
    progress: Callable[[int], None],
) -> NDArray[np.int64]:
    """Return the plain scores of a query with targets, each on the strand of the candidate."""
    scheme = context.params.scheme
    widths = score_widths(scheme, register_bytes())
    scores = np.zeros(len(targets), np.int64)
    for strand in (1, -1):
        here = np.flatnonzero(strands == strand)
        if len(here):
            codes = query.codes
            if strand < 0:
                codes = scheme.matrix.alphabet.reverse_complement(codes)
            chosen = [targets[k] for k in here.tolist()]
            letters = np.frombuffer(codes, np.uint8)
            scores[here] = score_targets(letters, chosen, widths, progress)
    if scores.min(initial=0) < 0:
        raise EngineError(TOO_LARGE)
    return scores


def _find_hits(
    query: Query, targets: Sequence[bytes], rescored: AdjustedScores, context: SearchContext
) -> NDArray[np.int64]:
    """Return the indices of the candidates whose final scores pass the filters.

    The E-value counts if it is known already: fitted statistics are known when all scores are.
    """
    params = context.params
    passing = rescored.raw >= params.min_raw_score
    if context.statistics is not None:
        lengths = np.array([len(codes) for codes in targets], np.int64)
        unrounded = rescored.unrounded
        _, log_evalues = evaluate_scores(context.statistics, unrounded, len(query), lengths)
        passing &= log_evalues <= take_log(params.evalue)
    return np.flatnonzero(passing)
