"""Merging: the candidates of all ranges and the alignments become the result of each query."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.further import FurtherAlignments
from swdual.alignment.tracebacks import Tracebacks
from swdual.backend import TARGET_COST
from swdual.composition.adjusted import AdjustedScores
from swdual.database.target_range import Range
from swdual.errors import StatisticsUnavailable
from swdual.hits.adjustment_counts import NO_ADJUSTMENT, AdjustmentCounts
from swdual.hits.linking import link_hits
from swdual.hits.query_result import QueryResult
from swdual.master.alignment import Traced, TracedFurther
from swdual.master.candidates import NO_CANDIDATES, Candidates, Scored, merge_candidates
from swdual.master.context import SearchContext, evaluate_scores, take_log
from swdual.master.query_state import QueryState, Stage
from swdual.master.ranges import TaskId
from swdual.master.remaining import ADJUST_CELLS, Work
from swdual.sequences.frames import frame_length, measure_frames
from swdual.sequences.sequence import Sequence

logger = logging.getLogger("swdual")

MAX_PARTS = 16
"""Parts of one query that wait before they are merged."""

TRACE_CELLS = 500_000_000
"""Cells of the alignments that one task finds."""

RESCORE_CELLS = 4_000_000_000
"""Cells of the candidates that one task adjusts: few are aligned, so that many must be examined to
fill the lanes."""

MIN_SHARED_CELLS = 50_000_000
"""The least work for which another worker is asked; it takes a few milliseconds."""

_NO_HITS = np.empty(0, np.int64)


class HitMerger:
    """The reduce step of one batch of queries; only the thread of the search calls it.

    It computes what brings a query from one stage to the next; `QueryState` draws the stages.
    `add_scores` returns the candidates that alignment tasks are to score again (soft masks,
    composition-based statistics) or align, `add_alignments` the hits of which further alignments
    are to be found (`max_hsps`), and `pop_result` the result.

    Parameters
    ----------
    queries
        The queries of the batch.
    first_number
        The number of the first of them among all queries.
    context
        What all queries share.

    Attributes
    ----------
    ranges
        The ranges that an earlier search, which is resumed, has cut; else None until `begin`.
    done
        The tasks that the earlier search has finished, with their records in the journal.
    """

    def __init__(self, queries: list[Sequence], first_number: int, context: SearchContext) -> None:
        self._queries = queries
        self._first_number = first_number
        self._context = context
        self._states: dict[int, QueryState] = {}
        self.ranges: list[Range] | None = None
        self.done: dict[TaskId, int] = {}
        checkpoint = context.run.checkpoint
        begun = None if checkpoint is None else checkpoint.find_batch(first_number)
        if checkpoint is not None and begun is not None:
            self.ranges = begun[1]
            self.done = checkpoint.done(first_number, first_number + len(queries), begun[1])

    def begin(self, ranges: list[Range]) -> int:
        """Set the ranges that each query is scored against; return the cells already done."""
        self.ranges = ranges
        context, end = self._context, self._first_number + len(self._queries)
        compared = context.compared.count_residues(range(self._first_number, end), ranges)
        # Of all pairs, a query meets only the targets behind it. Where a range holds none of these
        # there is no task, and the query does not wait for one.
        ranges_of = np.count_nonzero(compared, axis=1).tolist()
        self._states = {number: QueryState(count) for number, count in enumerate(ranges_of)}
        checkpoint = context.run.checkpoint
        if checkpoint is not None:
            checkpoint.begin(self._first_number, end, ranges)
        for number, count in enumerate(ranges_of):
            if count == 0:
                self._evaluate(number, NO_CANDIDATES)
        residues = [int(compared[task_id]) for task_id in self.done]
        lengths = [frame_length(self._queries[task_id.query]) for task_id in self.done]
        frame_count = context.params.frame_count
        return frame_count * sum(m * n for m, n in zip(residues, lengths, strict=True))

    def restore_known(self) -> Iterator[tuple[int, QueryResult]]:
        """Add the tasks that the earlier search has finished; yield queries to be aligned now."""
        checkpoint = self._context.run.checkpoint
        for task_id, number in self.done.items():
            assert checkpoint is not None
            result = self.add_scores(task_id.query, checkpoint.read(number))
            if result is not None:
                yield task_id.query, result

    def add_scores(self, number: int, scored: Scored) -> QueryResult | None:
        """Add the candidates of one range.

        Parameters
        ----------
        number
            The query's number in the batch.
        scored
            What its task returned.

        Returns
        -------
        QueryResult or None
            The result, if this was the last range and there are alignment tasks to do.
        """
        state, params = self._states[number], self._context.params
        state.collect(scored)
        parts, limit = state.parts, params.max_candidates
        # Merge now and then: with a limit, only so many candidates of all parts can become hits.
        # Without one, merging frees nothing until all parts are there.
        if len(parts) > 1 and (state.ranges_left == 0 or (limit and len(parts) == MAX_PARTS)):
            parts[:] = [merge_candidates(parts, limit, params.target_frame_count)]
        if state.ranges_left > 0:
            return None
        return self._evaluate(number, parts.pop())

    def _evaluate(self, number: int, candidates: Candidates) -> QueryResult | None:
        """Bring a query to `Stage.EVALUATED`; return what is to be aligned: see `add_scores`."""
        context, state = self._context, self._states[number]
        result = self._evaluate_candidates(number, candidates, state.pop_histogram())
        # Candidates that are scored again are all examined, however many. Else the query is
        # complete now if no alignments are wanted, or so many that they wait until they are used.
        aligned = context.params.rescores or context.aligns_now(len(result))
        state.evaluate(result, awaited=len(result) if aligned else 0)
        return result if aligned else None

    def add_alignments(self, number: int, traced: Traced) -> QueryResult | None:
        """Add alignments.

        Parameters
        ----------
        number
            The query's number in the batch.
        traced
            Alignments of some of its hits.

        Returns
        -------
        QueryResult or None
            The hits, if these were the last alignments and further ones are to be found now.
        """
        state = self._states[number]
        state.add_alignments(traced)
        if not state.is_complete or not self._context.params.finds_further:
            return None
        result = self._select_hits(state)
        has_further = result.traced is not None and len(result) > 0
        state.select(result, awaited=len(result) if has_further else 0)
        return result if has_further else None

    def add_further(self, number: int, traced: TracedFurther) -> None:
        """Add alignments besides the best.

        Parameters
        ----------
        number
            The query's number in the batch.
        traced
            Those of some of its hits.
        """
        self._states[number].add_further(traced)

    def count_work(self, number: int) -> Work | None:
        """Return what is to be aligned of a query; None before it has all its scores."""
        state = self._states[number]
        if state.stage is Stage.COLLECTING or state.result is None:
            return None
        if not state.hits_left:
            return Work(0, 0)
        result = state.result
        return Work(len(result), frame_length(result.query) * int(result.compared_lengths.sum()))

    def is_complete(self, number: int) -> bool:
        """Return whether all scores and alignments of a query are there."""
        return self._states[number].is_complete

    def pop_result(self, number: int) -> QueryResult:
        """Remove and return the result of a complete query, with its alignments."""
        state = self._states.pop(number)
        if state.stage is Stage.SELECTED:
            result, _ = state.pop_result()
        else:
            result = self._select_hits(state)
        if state.further:
            found = [part.found for part in state.further]
            indices = [part.hit_indices for part in state.further]
            result = result.with_further(FurtherAlignments.concatenate(found, indices))
        if result.params.sum_stats:
            result = link_hits(result)
        if len(result) <= self._context.run.memory.max_completed:
            _ = result.titles  # read now, so that tables outlive the database
        return result

    def _select_hits(self, state: QueryState) -> QueryResult:
        """Return the hits of a query that pass all filters, with their best alignments."""
        result, parts = state.pop_result()
        if result.params.rescores:
            result = self._rescore(result, parts)
        elif self._context.aligns_now(len(result)):
            # Each task has hits of similar length, and tasks end in any order.
            indices = np.concatenate([_NO_HITS, *(part.hit_indices for part in parts)])
            traced = _join_tracebacks(parts)
            if (indices[1:] < indices[:-1]).any():
                traced = traced.take(np.argsort(indices))
            result = result.with_tracebacks(traced)
        if result.params.filters_alignments and not result.params.sum_stats:
            result = result.select_hits()
        return result

    def _rescore(self, candidates: QueryResult, parts: list[Traced]) -> QueryResult:
        """Return the hits of a query by their final scores, best first.

        Scores are compared at the scale of adjusted matrices, so hits of equal raw scores may
        differ; equal ones are in the order of the database's input.

        Parameters
        ----------
        candidates
            The candidates of the query.
        parts
            What the alignment tasks found among these.
        """
        params, statistics = candidates.params, candidates.statistics
        counts = NO_ADJUSTMENT
        if params.adjusts:
            count = len(candidates)
            counts = AdjustmentCounts(int(count > 0), count)
        result = candidates.subset(
            np.concatenate([_NO_HITS, *(part.hit_indices for part in parts)])
        )
        rescored = AdjustedScores.concatenate(
            [part.rescored for part in parts if part.rescored is not None]
        )
        raw, lengths = rescored.raw, result.evaluated_lengths
        query_lengths = measure_frames(result.query, result.frames)
        unrounded = rescored.unrounded
        bits = log_evalues = np.full(len(raw), math.nan)
        if statistics is not None:
            bits, _ = evaluate_scores(statistics, raw, query_lengths, lengths)
            _, log_evalues = evaluate_scores(statistics, unrounded, query_lengths, lengths)
        result = replace(
            result,
            query=result.query.soften() if params.soft_masking else result.query,
            scores=raw,
            unrounded=unrounded,
            bits=bits,
            log_evalues=log_evalues,
            adjustments=rescored.adjustments,
            lambda_ratios=rescored.lambda_ratios,
            adjustment_counts=counts,
        )
        if all(part.tracebacks is not None for part in parts):
            result = result.with_tracebacks(_join_tracebacks(parts))
        # The last key counts first: higher score, then earlier in the input.
        order = np.lexsort((result.ordinals, -rescored.scaled))
        if statistics is not None:
            passing = log_evalues <= take_log(params.single_evalue)
            if params.min_score > 0 and not params.sum_stats:
                passing &= bits >= params.min_score
            order = order[passing[order]]
        result = result.subset(order)
        # `top` and the limit come after filters that need alignments, and after linking.
        if params.filters_alignments or params.sum_stats:
            return result
        if params.top is not None:
            result = result.within(params.top)
        return result.top(params.max_target_seqs) if params.max_target_seqs else result

    def _evaluate_candidates(
        self, number: int, candidates: Candidates, histogram: NDArray[np.int64] | None
    ) -> QueryResult:
        """Return the hits of a query that pass every filter that needs no alignment."""
        context, query = self._context, self._queries[number]
        scores, ordinals, lengths, frames = candidates
        try:
            statistics = context.statistics_of(query, histogram)
        except StatisticsUnavailable as error:
            logger.warning("query %s has no E-values: %s", query.id, error)
            statistics = None
        bits = log_evalues = np.full(len(scores), math.nan)
        if statistics is not None:
            query_lengths = measure_frames(query, frames)
            bits, log_evalues = evaluate_scores(statistics, scores, query_lengths, lengths)
        ordinals, target_frames = context.find_ordinals(ordinals)
        if context.params.comparison.db_gencode is not None:
            lengths = context.compared.targets.find_lengths(ordinals)
        result = QueryResult(
            query,
            self._first_number + number,
            scores,
            scores.astype(np.float64),
            ordinals,
            lengths,
            frames.astype(np.int8),
            target_frames,
            bits,
            log_evalues,
            np.zeros(len(scores), np.int8),
            np.ones(len(scores)),
            statistics,
            context.params,
            context.compared.targets,
            device=context.run.device,
        )
        params = context.params
        if statistics is not None:
            # Looser than the limit of hits where scores are adjusted or linked later.
            passing = log_evalues <= take_log(params.candidate_evalue)
            if params.min_score > 0 and not (params.rescores or params.sum_stats):
                passing &= bits >= params.min_score
            result = result if passing.all() else result.subset(np.flatnonzero(passing))
        if params.top is None or params.filters_alignments or params.rescores or params.sum_stats:
            return result
        return result.within(params.top)


def _join_tracebacks(parts: list[Traced]) -> Tracebacks:
    """Return the alignments of all parts, one after the other."""
    return Tracebacks.concatenate(
        [part.tracebacks for part in parts if part.tracebacks is not None]
    )


def split_hits(
    result: QueryResult, max_range_cost: int, workers: int = 1
) -> list[NDArray[np.int64]]:
    """Split the hits of a query into parts, each the work of one alignment task.

    Targets of similar length come together: that suits the lanes of the kernels.

    Parameters
    ----------
    result
        The hits.
    max_range_cost
        About how much the targets of a part may cost: residues, and twice `TARGET_COST` for each
        target.
    workers
        Workers that have nothing else to do than these hits: they share long work.

    Returns
    -------
    list of arrays
        The indices of the hits of each part.
    """
    # Sums along the order are divided by their limits; the larger quotient is the number of the
    # part, so a target is never split:
    #
    #     cells  // task_cells      0 0 0 1 1 2 2 2 2 2
    #     costs  // max_range_cost  0 0 0 0 1 1 1 2 3 4
    #     part                      0 0 0 1 1 2 2 2 3 4
    lengths = result.compared_lengths
    order = np.argsort(-lengths, kind="stable")
    residues = np.cumsum(lengths[order])
    cells, task_cells = residues * frame_length(result.query), TRACE_CELLS
    if result.params.adjusts:
        cells += ADJUST_CELLS * np.arange(1, len(order) + 1)
        task_cells = RESCORE_CELLS
    if workers > 1 and len(order):
        task_cells = max(MIN_SHARED_CELLS, min(task_cells, -(-int(cells[-1] + 1) // workers)))
    costs = residues + 2 * TARGET_COST * np.arange(1, len(order) + 1)
    parts = np.maximum(cells // task_cells, costs // max_range_cost)
    cuts = np.flatnonzero(np.diff(parts)) + 1
    return [part for part in np.split(order, cuts) if len(part)]
