"""Searches for peptides: finds the occurrences of all queries of a batch at once.

One scan of a part of the targets finds those of all peptides, and where they are: see
`swdual.alignment.occurrences`. So there is no task for each query, nothing to plan and nothing to
align, and this stands in place of the pipeline. The best occurrence in a target is its hit, the
others are its further alignments.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.further import FurtherAlignments
from swdual.alignment.tracebacks import PAIR, Tracebacks
from swdual.hits.columns import score_cutoff
from swdual.hits.query_result import QueryResult
from swdual.master.context import (
    Compared,
    Execution,
    HitRules,
    SearchContext,
    evaluate_scores,
    take_log,
)
from swdual.master.execution_log import ExecutionLog
from swdual.master.memory import PROGRAM_BYTES, Memory
from swdual.master.pipeline import Counter
from swdual.request.comparisons.peptide import Peptide
from swdual.request.inputs import SearchInputs
from swdual.request.options import SearchOptions
from swdual.runtime.memory import Allowance, find_allowance, refuse_below
from swdual.runtime.system import available_threads
from swdual.sequences.sequence import Sequence as Query
from swdual.statistics.composition import Composition

FIRST_BATCH, MAX_BATCH_QUERIES = 1 << 9, 1 << 14
"""Queries of the first batch, which shows hits soon, and of later ones, four times as many each:
the targets are read once for each batch."""

PART_RESIDUES = 1 << 20
"""About so many residues are read at a time; between them a search can be stopped."""

OCCURRENCE_BYTES = 200
"""An occurrence on its way to a result."""

PEPTIDE, ORDINAL, LENGTH, START, MISMATCHES, SCORE, POSITIVES = range(7)
"""What each row of numbers about occurrences holds: the query's place in its batch, the number and
the length of the target, and the rest as `swdual.alignment.occurrences.FIELDS`."""


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


def build_context(inputs: SearchInputs, options: SearchOptions, held_bytes: int) -> PeptideContext:
    """Return what all peptides share; counts the letters of the targets if E-values are wanted.

    For the parameters see `Executor.build_context`.
    """
    params, database = inputs.params, inputs.database
    threads = options.threads or available_threads()
    composition = None
    if params.stats != "none":
        scores = params.scheme.matrix.scores.astype(np.int64)
        composition = Composition(database, scores, params.dbsize, params.dbseqs)
    memory = Memory(
        *(PROGRAM_BYTES + held_bytes, 0, database.held_bytes, 0, 0, 0, 0),
        max_range_cost=0,
        batch_queries=MAX_BATCH_QUERIES,
        max_tasks=0,
        max_completed=0,
        max_alignment_cost=0,
        grid=0,
    )
    run = Execution(
        workers=[],
        aligners=threads,
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


def find_hits(
    queries: Sequence[Query], context: PeptideContext, counter: Counter
) -> Iterator[QueryResult]:
    """Yield the results of all peptides, in order.

    Parameters
    ----------
    queries
        The peptides.
    context
        What they share.
    counter
        Gets the cells done; may raise an exception to stop the search.

    Raises
    ------
    MemoryLimitError
        If the occurrences of a batch do not fit into memory.
    """
    first, size = 0, FIRST_BATCH
    while first < len(queries):
        batch = queries[first : first + size]
        found, is_best = _sort(_scan(batch, context, counter))
        ends = np.searchsorted(found[PEPTIDE], np.arange(len(batch) + 1)).tolist()
        ordinals = np.unique(found[ORDINAL])
        titles = dict(zip(ordinals, context.compared.targets.headers(ordinals), strict=True))
        for number, (start, end) in enumerate(itertools.pairwise(ends)):
            own = found[:, start:end], is_best[start:end]
            result = _make_result(batch[number], first + number, *own, context)
            result.__dict__["titles"] = [titles[k] for k in result.ordinals.tolist()]
            yield result
        first, size = first + size, min(4 * size, MAX_BATCH_QUERIES)


def _scan(queries: Sequence[Query], context: PeptideContext, counter: Counter) -> NDArray[np.int64]:
    """Return the occurrences of some peptides in all targets, in no order."""
    comparison, database = context.params.comparison, context.compared.database
    assert isinstance(comparison, Peptide)
    index = comparison.make_index([query.codes for query in queries], context.params)
    letters = sum(len(query.codes) for query in queries)
    held = context.run.memory.total
    parts = []
    with ThreadPoolExecutor(context.threads) as pool:
        try:
            for number, info in enumerate(database.manifest.blocks):
                block = database.targets(number, 0, info.sequences)
                ends = np.cumsum(block.lengths, dtype=np.int64)
                shares = np.arange(0, int(ends[-1]), PART_RESIDUES)
                bounds = [*np.unique(np.searchsorted(ends, shares, "right")), len(ends)]
                found = pool.map(partial(index.find, block), bounds[:-1], bounds[1:])
                for (first, last), part in zip(itertools.pairwise(bounds), found, strict=True):
                    records = block.ordinals[part[1]].astype(np.int64)
                    ordinals, _ = context.find_ordinals(records)
                    parts.append(np.vstack([part[0], ordinals, block.lengths[part[1]], part[2:]]))
                    held += OCCURRENCE_BYTES * len(ordinals)
                    refuse_below(
                        held,
                        context.allowed,
                        "fewer mismatches, or fewer queries at a time, take less",
                    )
                    counter.add(letters * int(block.lengths[first:last].sum()))
        finally:
            pool.shutdown(cancel_futures=True)
    return np.hstack(parts)


def _sort(found: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return occurrences by query, then by hit, the best of each hit first; and which are best.

    Hits are in the order of their best scores, then of the targets in the input.
    """
    order = np.lexsort((found[START], -found[SCORE], found[ORDINAL], found[PEPTIDE]))
    found = found[:, order]
    is_best = np.ones(len(order), bool)
    is_best[1:] = (found[:LENGTH, 1:] != found[:LENGTH, :-1]).any(axis=0)
    best = found[SCORE, is_best][np.cumsum(is_best) - 1]
    order = np.lexsort((found[ORDINAL], -best, found[PEPTIDE]))
    return found[:, order], is_best[order]


def _make_result(
    query: Query,
    number: int,
    found: NDArray[np.int64],
    is_best: NDArray[np.bool_],
    context: PeptideContext,
) -> QueryResult:
    """Return the result of a peptide.

    Parameters
    ----------
    query, number
        The query, and its number among all queries.
    found, is_best
        Its occurrences, as `_sort` returns them.
    context
        What all peptides share.
    """
    params, statistics = context.params, None
    bits = log_evalues = np.full(len(is_best), np.nan)
    if context.composition is not None:
        statistics = context.composition.evaluate(query.codes)
        numbers = found[SCORE], len(query.codes), found[LENGTH]
        bits, log_evalues = evaluate_scores(statistics, *numbers)
        passing = (log_evalues <= take_log(params.evalue)) & (bits >= params.min_score)
        found, is_best = found[:, passing], is_best[passing]
        bits, log_evalues = bits[passing], log_evalues[passing]
    hits = np.flatnonzero(is_best)
    wanted = params.max_target_seqs or len(hits)
    if params.top is not None and len(hits):
        cutoff = score_cutoff(int(found[SCORE, 0]), params.top)
        wanted = min(wanted, int(np.count_nonzero(found[SCORE, hits] >= cutoff)))
    if wanted < len(hits):
        is_best, hits = is_best[: hits[wanted]], hits[:wanted]
    further = FurtherAlignments.none()
    if len(hits) < len(is_best):
        others = np.flatnonzero(~is_best)
        frames, scores = np.ones(len(others), np.int8), found[SCORE, others]
        further = FurtherAlignments(
            np.cumsum(is_best)[others] - 1,
            *(frames, frames, scores, scores.astype(np.float64)),
            *(bits[others], log_evalues[others]),
            _trace(query, found[:, others]),
        )
    frames, scores = np.ones(len(hits), np.int8), found[SCORE, hits]
    return QueryResult(
        *(query, number, scores, scores.astype(np.float64)),
        *(found[ORDINAL, hits], found[LENGTH, hits], frames, frames),
        *(bits[hits], log_evalues[hits], np.zeros(len(hits), np.int8), np.ones(len(hits))),
        *(statistics, params, context.compared.targets),
        traced=_trace(query, found[:, hits]),
        traced_further=further,
    )


def _trace(query: Query, found: NDArray[np.int64]) -> Tracebacks:
    """Return occurrences of a query as alignments."""
    length, count = len(query.codes), found.shape[1]
    numbers = np.zeros((9, count), np.int64)
    numbers[1] = numbers[4] = length
    numbers[2] = found[START]
    numbers[3] = numbers[2] + length
    numbers[5] = length - found[MISMATCHES]
    numbers[6] = found[POSITIVES]
    return Tracebacks(numbers, np.arange(count + 1), np.full(count, length << 4 | PAIR, np.uint32))
