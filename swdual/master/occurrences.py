"""The executor of searches for peptides: finds the occurrences of all queries of a batch at once.

One scan of a range of targets finds those of all peptides, and where they are: see
`swdual.alignment.occurrences`. So there is no task for each query, nothing to plan, and nothing to
align. The best occurrence in a target is its hit, the others are its further alignments.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.further import FurtherAlignments
from swdual.alignment.tracebacks import PAIR, Tracebacks
from swdual.database.blocks import Block
from swdual.database.target_range import Range
from swdual.hits.query_result import QueryResult
from swdual.master.candidates import NO_CANDIDATES, Candidates, Scored
from swdual.master.context import (
    Compared,
    Execution,
    HitRules,
    SearchContext,
    evaluate_scores,
    take_log,
)
from swdual.master.devices import available_threads
from swdual.master.execution_log import ExecutionLog
from swdual.master.executor import BatchExecution, BatchListener, Executor
from swdual.master.memory import PROGRAM_BYTES, Memory
from swdual.master.ranges import TaskId
from swdual.request.comparisons.peptide import Peptide
from swdual.request.inputs import SearchInputs
from swdual.request.options import SearchOptions
from swdual.runtime.memory import Allowance, find_allowance, refuse_below
from swdual.sequences.sequence import Sequence as Query
from swdual.statistics.composition import Composition
from swdual.statistics.model import Statistics

MAX_BATCH_QUERIES, FIRST_BATCH = 1 << 14, 1 << 9
"""Queries of a batch: each scan of the targets is for all of them. Few come first, to show hits."""

PART_RESIDUES = 1 << 20
"""About so many residues are read at a time; between them a search can be stopped."""

OCCURRENCE_BYTES = 200
"""An occurrence on its way to a result."""

NO_SCORES, NO_TRACEBACKS = Scored(NO_CANDIDATES, None), Tracebacks.concatenate([])


@dataclass(frozen=True, kw_only=True)
class PeptideContext(SearchContext):
    """What all peptides of a search share.

    Parameters
    ----------
    composition
        What E-values follow from; None if there are none.
    threads
        How many threads read the targets.
    allowed
        The memory that the search may use.
    """

    composition: Composition | None
    threads: int
    allowed: Allowance

    def statistics_of(
        self, query: Query, counts: NDArray[np.int64] | None = None
    ) -> Statistics | None:
        """Return the statistics of one query. See `SearchContext.statistics_of`."""
        return None if self.composition is None else self.composition.evaluate(query.codes)


class PeptideExecutor(Executor):
    """Finds occurrences on the CPUs of this machine."""

    first_batch = FIRST_BATCH

    def check_options(self, options: SearchOptions) -> None:
        """Do nothing: `Comparison.check` has refused what it cannot do."""

    def build_context(
        self, inputs: SearchInputs, options: SearchOptions, held_bytes: int
    ) -> PeptideContext:
        """Count the letters of the targets if E-values are wanted. See `Executor.build_context`."""
        params, database = inputs.params, inputs.database
        threads = options.threads or available_threads()
        longest = database.manifest.longest
        composition = None
        if params.stats != "none":
            scores = params.scheme.matrix.scores.astype(np.int64)
            composition = Composition(database, scores, params.dbsize, params.dbseqs)
        program = PROGRAM_BYTES + held_bytes
        memory = Memory(
            *(program, 0, database.held_bytes, 0, 0, 0, 0),
            max_range_cost=longest,
            batch_queries=MAX_BATCH_QUERIES,
            max_tasks=0,
            max_completed=0,
            max_alignment_cost=longest,
            grid=0,
        )
        run = Execution(
            workers=[],
            aligners=1,
            planner=options.planner,
            device="cpu",
            memory=memory,
            execution_log=ExecutionLog([f"cpu {number}" for number in range(threads)]),
        )
        return PeptideContext(
            params=params,
            compared=Compared.of_inputs(inputs),
            rules=HitRules(None, None, tracer=None, adjuster=None),
            run=run,
            composition=composition,
            threads=threads,
            allowed=find_allowance(options.memory_limit),
        )

    def begin(
        self,
        queries: list[Query],
        numbers: Sequence[int],
        context: SearchContext,
        listener: BatchListener,
        *,
        ranges: list[Range] | None,
        done: Collection[TaskId],
    ) -> PeptideBatch:
        """Make the index of a batch. See `Executor.begin`."""
        assert isinstance(context, PeptideContext)
        return PeptideBatch(queries, context, listener)

    def close(self) -> None:
        """Do nothing: threads end with their scan."""


class _Found(NamedTuple):
    """Occurrences, by query; of each query the target's number as hits have it, then best first.

    Parameters
    ----------
    ordinals
        The numbers of the targets.
    others
        `FIELDS` of `swdual.alignment.occurrences` but for the peptide and the target.
    """

    ordinals: NDArray[np.int64]
    others: NDArray[np.int64]


class PeptideBatch(BatchExecution):
    """One batch of peptides. Each block of the database is a range.

    Parameters
    ----------
    queries
        The peptides.
    context
        What they share.
    listener
        Receives the results.
    """

    def __init__(
        self, queries: list[Query], context: PeptideContext, listener: BatchListener
    ) -> None:
        self._queries = queries
        self._context = context
        self._listener = listener
        database = context.compared.database
        self.ranges = [
            Range(number, 0, info.sequences, info.residues, info.longest)
            for number, info in enumerate(database.manifest.blocks)
        ]
        self._left = iter(self.ranges)
        comparison = context.params.comparison
        assert isinstance(comparison, Peptide)
        self._index = comparison.make_index([query.codes for query in queries], context.params)
        self._found: list[tuple[NDArray[np.int64], _Found]] = []

    def submit(self) -> None:
        """Do nothing: `wait` reads the next range."""

    def wait(self) -> None:
        """Find the occurrences in the next range. See `BatchExecution.wait`."""
        target_range = next(self._left)
        database = self._context.compared.database
        block = database.targets(target_range.block, target_range.first, target_range.last)
        found = self._scan(block)
        peptides, targets, _, _, scores, _ = found
        records = block.ordinals[targets].astype(np.int64)
        order = np.lexsort((found[2], -scores, records, peptides))
        found, records = found[:, order], records[order]
        peptides, targets, _, _, scores, _ = found
        ordinals, _ = self._context.find_ordinals(records)
        ends = np.searchsorted(peptides, np.arange(len(self._queries) + 1))
        self._found.append((ends, _Found(ordinals, found[2:])))
        # The first occurrence of each query in each target is its best there.
        is_best = np.ones(len(records), bool)
        is_best[1:] = (peptides[1:] != peptides[:-1]) | (records[1:] != records[:-1])
        best = np.flatnonzero(is_best)
        best = best[np.lexsort((records[best], -scores[best], peptides[best]))]
        lengths = block.lengths[targets].astype(np.int64)
        columns = scores, records, lengths, np.ones(len(records), np.int64)
        candidates = Candidates(*(column[best] for column in columns))
        ends = np.searchsorted(peptides[best], np.arange(len(self._queries) + 1))
        limit = self._context.params.max_candidates or len(records)
        for query, (first, last) in enumerate(itertools.pairwise(ends.tolist())):
            scored = NO_SCORES
            if last > first:
                own = slice(first, min(last, first + limit))
                scored = Scored(Candidates(*(column[own] for column in candidates)), None)
            self._listener.add_scores(query, target_range, scored)

    def _scan(self, block: Block) -> NDArray[np.int64]:
        """Return the occurrences in a range, part by part: see `PeptideIndex.find`.

        Raises
        ------
        MemoryLimitError
            If there are more than fit into memory.
        """
        context, letters = self._context, sum(len(query.codes) for query in self._queries)
        ends = np.cumsum(block.lengths, dtype=np.int64)
        shares = np.arange(0, int(ends[-1]), PART_RESIDUES)
        bounds = [*np.unique(np.searchsorted(ends, shares, "right")).tolist(), len(ends)]
        held = sum(len(found.ordinals) for _, found in self._found)
        parts = []
        with ThreadPoolExecutor(context.threads) as pool:
            try:
                found = pool.map(partial(self._index.find, block), bounds[:-1], bounds[1:])
                for (first, last), part in zip(itertools.pairwise(bounds), found, strict=True):
                    parts.append(part.astype(np.int64))
                    held += part.shape[1]
                    refuse_below(
                        context.run.memory.total + OCCURRENCE_BYTES * held,
                        context.allowed,
                        "fewer mismatches, or fewer queries at a time, take less",
                    )
                    self._listener.add_cells(letters * int(block.lengths[first:last].sum()))
            finally:
                pool.shutdown(cancel_futures=True)
        return np.hstack(parts)

    def align(self, query: int, result: QueryResult) -> None:
        """Do nothing: `supply_targets` has the alignments."""

    def align_further(self, query: int, result: QueryResult) -> None:
        """Do nothing: `supply_targets` has the alignments."""

    def supply_targets(self, query: int, result: QueryResult) -> QueryResult:
        """Return a result with the occurrences. See `BatchExecution.supply_targets`."""
        if not len(result):
            return replace(result, traced=NO_TRACEBACKS)
        found = self._of_query(query)
        # The occurrences in a target follow each other, and the first one is the hit.
        firsts = np.searchsorted(found.ordinals, result.ordinals)
        counts = np.searchsorted(found.ordinals, result.ordinals, "right") - firsts - 1
        further = FurtherAlignments.none()
        if counts.any():
            within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            chosen = np.repeat(firsts, counts) + 1 + within
            further = self._make_further(
                query, result, np.repeat(np.arange(len(result)), counts), found.others[:, chosen]
            )
        traced = self._trace(query, found.others[:, firsts])
        return replace(result, traced=traced, traced_further=further)

    def _make_further(
        self,
        query: int,
        result: QueryResult,
        hits: NDArray[np.int64],
        others: NDArray[np.int64],
    ) -> FurtherAlignments:
        """Return occurrences besides the best of each hit, if they pass the limits.

        Parameters
        ----------
        query, result
            The query, and its hits.
        hits, others
            (occurrences,) the index of each one's hit, and what was found: see `_Found`.
        """
        scores, frames = others[2], np.ones(len(hits), np.int8)
        bits = log_evalues = np.full(len(hits), np.nan)
        passing = np.ones(len(hits), bool)
        if result.statistics is not None:
            bits, log_evalues = evaluate_scores(
                result.statistics, scores, len(result.query.codes), result.target_lengths[hits]
            )
            passing = (log_evalues <= take_log(result.params.evalue)) & (
                bits >= result.params.min_score
            )
        traced = self._trace(query, others)
        unrounded = scores.astype(np.float64)
        numbers = hits, frames, frames, scores, unrounded, bits, log_evalues
        return FurtherAlignments(*numbers, traced).select(np.flatnonzero(passing))

    def _of_query(self, query: int) -> _Found:
        """Return the occurrences of a query in all ranges."""
        parts = [
            _Found(
                found.ordinals[ends[query] : ends[query + 1]],
                found.others[:, ends[query] : ends[query + 1]],
            )
            for ends, found in self._found
        ]
        if len(parts) == 1:
            return parts[0]
        ordinals = np.concatenate([part.ordinals for part in parts])
        order = np.argsort(ordinals, kind="stable")
        others = np.hstack([part.others for part in parts])
        return _Found(ordinals[order], others[:, order])

    def _trace(self, query: int, others: NDArray[np.int64]) -> Tracebacks:
        """Return occurrences as alignments."""
        starts, mismatches, _, positives = others
        length, count = len(self._queries[query].codes), len(starts)
        whole, none = np.full(count, length), np.zeros(count, np.int64)
        numbers = (none, whole, starts, starts + length, whole, length - mismatches, positives)
        return Tracebacks(
            np.vstack([*numbers, none, none]),
            np.arange(count + 1),
            np.full(count, length << 4 | PAIR, np.uint32),
        )


EXECUTOR = PeptideExecutor
