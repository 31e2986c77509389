"""The work of an alignment task: adjusts the scores of candidates, and aligns those that pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracebacks import Tracebacks
from swdual.composition.adjuster import AdjustedScores
from swdual.master.context import SearchContext, evaluate_scores, take_log
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
    adjusted
        Their adjusted scores; None in mode 0, where all candidates are hits.
    """

    examined: int
    hit_indices: NDArray[np.int64]
    tracebacks: Tracebacks | None
    adjusted: AdjustedScores | None

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return the same with some of the hits."""
        return type(self)(
            self.examined,
            self.hit_indices[indices],
            None if self.tracebacks is None else self.tracebacks.take(indices),
            None if self.adjusted is None else self.adjusted.take(indices),
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
    """Adjust the scores of some candidates of a query, and align those that are still hits.

    Parameters
    ----------
    query
        The query.
    targets
        Residue codes.
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
    count, tracer, adjuster = len(targets), context.tracer, context.adjuster
    if adjuster is None:
        assert tracer is not None
        found = tracer(query.codes, targets, scores, strands, progress, query.unmasked)
        return Traced(count, hit_indices, found, None)
    assert context.statistics is not None
    adjusted = adjuster.adjust(query.codes, targets, scores, progress)
    lengths = np.array([len(codes) for codes in targets], np.int64)
    raw = adjuster.unscale(adjusted.scores.scaled)
    _, log_evalues = evaluate_scores(context.statistics, raw, len(query), lengths)
    params = context.params
    passing = np.flatnonzero(
        (log_evalues <= take_log(params.evalue)) & (adjusted.scores.raw >= params.min_raw_score)
    )
    adjusted = adjusted.take(passing)
    tracebacks = None
    if traced:
        chosen = [targets[k] for k in passing.tolist()]
        tracebacks = adjuster.trace(query, chosen, adjusted, progress)
    return Traced(count, hit_indices[passing], tracebacks, adjusted.scores)
