"""Some queries on their way through a cluster: shares to the nodes, what they find gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from swdual.cluster.alignment import AlignmentStage
from swdual.cluster.dispatcher import Dispatcher, RemoteTask
from swdual.cluster.membership import Node, Nodes
from swdual.cluster.partition import ClusterPartition, partition_search
from swdual.cluster.remote import Alignments, Scores, score
from swdual.hits.query_result import QueryResult
from swdual.hits.targets import SuppliedTargets
from swdual.master.context import SearchContext
from swdual.master.merge import HitMerger
from swdual.master.ranges import Range
from swdual.master.serialization import deserialize, read_key
from swdual.planning.timeline import Span
from swdual.sequences.sequence import Sequence

WAVE_PRIORITY = 1_000_000
"""More than twice the shares of a batch. Its alignments come after them, as on one machine, and
then the shares of the next; so plan and reality can be compared.
"""


class ClusterQueryBatch:
    """Some queries that are searched together; `cells_known` an earlier search has done.

    Parameters
    ----------
    number
        Which batch it is: what an earlier one needs is done before.
    queries
        The queries.
    first_number
        The number of the first of them among all queries.
    context
        What they share.
    nodes, remote tasks
        Who computes, and what they have to do.
    tell
        Is told the cells of each share that is done.
    """

    def __init__(
        self,
        number: int,
        queries: list[Sequence],
        first_number: int,
        context: SearchContext,
        nodes: Nodes,
        dispatcher: Dispatcher,
        tell: Callable[[int], None],
    ) -> None:
        self._number = number
        self._queries = queries
        self._first_number = first_number
        self._context = context
        self._nodes = nodes
        self._dispatcher = dispatcher
        self._fitted = context.params.stats == "fit"
        self._merger = merger = HitMerger(queries, first_number, context)
        self._aligning = AlignmentStage(
            context.database,
            dispatcher,
            context.memory.share,
            -WAVE_PRIORITY * number - WAVE_PRIORITY // 2,
            merger.add_alignments,
            self._note_alignments,
        )
        while not (here := nodes.here):
            nodes.attempt()
        partition = partition_search(
            [len(query.codes) for query in queries],
            context.database,
            [node.kind for node in here],
            [node.rates for node in here],
            context.planner,
            context.params.strand_count,
            ranges=merger.ranges,
            done=merger.done.keys(),
        )
        self._tell = tell
        self.cells_known = merger.begin(partition.ranges)
        of_share = [int(partition.groups[share.group][0]) for share in partition.shares]
        numbers = np.array([node.number for node in here], np.int64)
        kinds = dict.fromkeys(range(len(context.execution_log.timeline.workers)), "cpu")
        kinds |= {node.number: node.kind for node in nodes.known}
        workers = numbers[partition.plan.workers]
        plan = replace(partition.plan, kinds=tuple(kinds.values()), workers=workers)
        context.execution_log.begin(plan, [first_number + query for query in of_share])
        for known, result in merger.restore_known():
            self._aligning.add(known, result)
        ranks = np.argsort(np.argsort(partition.plan.starts, kind="stable"))
        self._shares_left = len(partition.shares)
        for share, node in enumerate(partition.plan.workers.tolist()):
            self._reassign(partition, share, here[node], int(ranks[share]))

    def results(self) -> Iterator[QueryResult]:
        """Return the results in the order of the queries."""
        for number in range(len(self._queries)):
            while not self._merger.is_complete(number):
                if not self._shares_left:
                    self._aligning.flush()
                self._nodes.attempt()
            result = self._merger.pop_result(number)
            supplied = self._aligning.supplied(number)
            if supplied is not None:
                result = replace(result, targets=SuppliedTargets(result.targets, supplied))
            yield result

    def _reassign(self, partition: ClusterPartition, share: int, node: Node, rank: int) -> None:
        """Have a share done by a node."""
        group, range_number = partition.shares[share]
        queries, where = partition.groups[group].tolist(), partition.ranges[range_number]
        seconds = float(partition.seconds[int(partition.plan.workers[share])][share])
        cells = int(partition.cells[share])
        remote_task = RemoteTask(
            score,
            (
                [self._queries[query] for query in queries],
                [self._first_number + query for query in queries],
                where,
            ),
            partial(self._take_scores, queries[0], where, cells, seconds),
            "score",
            frozenset([where.block]),
            -WAVE_PRIORITY * self._number - rank,
            seconds,
            node.pace,
            alone=True,
        )
        self._dispatcher.add(remote_task, node)

    def _take_scores(
        self, query: int, where: Range, cells: int, predicted: float, scores: Scores
    ) -> None:
        """Keep what came out of a share."""
        context = self._context
        self._shares_left -= 1
        bounds = where.block, where.first, where.last - 1
        self._note("score", query, bounds, scores, cells, predicted)
        self._tell(cells)
        for record in scores.records:
            if context.checkpoint is not None:
                context.checkpoint.keep(record)
            number = read_key(record)[0] - self._first_number
            scored = deserialize(record, len(context.database), fitted=self._fitted)
            result = self._merger.add_scores(number, scored)
            if result is not None:
                self._aligning.add(number, result)

    def _note_alignments(self, number: int, found: Alignments) -> None:
        self._note("align", number, (-1, -1, -1), found)

    def _note(
        self,
        activity: str,
        query: int,
        where: tuple[int, int, int],
        found: Scores | Alignments,
        cells: int = 0,
        predicted: float = float("nan"),
    ) -> None:
        """Note who did what, which ended just now."""
        execution_log = self._context.execution_log
        end = execution_log.elapsed
        start = max(0.0, end - found.seconds)
        number = self._first_number + query
        span = Span(
            self._nodes.number(found.address),
            activity,
            number,
            *where,
            start,
            end,
            cells,
            predicted,
        )
        execution_log.timeline.add(span)
