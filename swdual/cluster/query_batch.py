"""A batch of queries on a cluster: shares to the nodes, their candidates merged and aligned."""

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
from swdual.master.partition import PartitionInput
from swdual.master.ranges import Range
from swdual.master.serialization import deserialize, read_key
from swdual.planning.timeline import Span
from swdual.sequences.sequence import Sequence

BATCH_PRIORITY = 1_000_000
"""Distance between the priorities of two batches: more than twice the shares of a batch.

The alignments of a batch run after its shares, as on one machine, and before those of the next
batch. So the plan can be compared with what happened.
"""


class ClusterQueryBatch:
    """Runs the pipeline for some queries: partition -> submit -> merge -> align -> yield, on nodes.

    The thread of the search makes it and reads its results. `cells_known` is the number of cells
    that a resumed search has done before.

    Parameters
    ----------
    number
        The number of the batch. Nodes run the tasks of earlier batches first.
    queries
        The queries.
    first_number
        The number of the first of them among all queries.
    context
        What all queries share.
    nodes, dispatcher
        The nodes, and what submits tasks to them.
    tell
        Gets the cells of each share that is done.
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
            -BATCH_PRIORITY * number - BATCH_PRIORITY // 2,
            merger.add_alignments,
            self._note_alignments,
        )
        while not (active := nodes.active):
            nodes.poll()
        given = PartitionInput(
            [len(query.codes) for query in queries],
            context.database,
            [node.kind for node in active],
            [node.rates for node in active],
            context.planner,
            context.params.strand_count,
        )
        partition = partition_search(given, ranges=merger.ranges, done=merger.done.keys())
        self._tell = tell
        self.cells_known = merger.begin(partition.ranges)
        of_share = [int(partition.groups[share.group][0]) for share in partition.shares]
        numbers = np.array([node.number for node in active], np.int64)
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
            self._submit(partition, share, active[node], int(ranks[share]))

    def results(self) -> Iterator[QueryResult]:
        """Yield the results in the order of the queries."""
        for number in range(len(self._queries)):
            while not self._merger.is_complete(number):
                if not self._shares_left:
                    self._aligning.flush()
                self._nodes.poll()
            result = self._merger.pop_result(number)
            supplied = self._aligning.supplied(number)
            if supplied is not None:
                result = replace(result, targets=SuppliedTargets(result.targets, supplied))
            yield result

    def _submit(self, partition: ClusterPartition, share: int, node: Node, rank: int) -> None:
        """Submit a share to a node."""
        group, range_number = partition.shares[share]
        queries, target_range = partition.groups[group].tolist(), partition.ranges[range_number]
        seconds = float(partition.seconds[int(partition.plan.workers[share])][share])
        cells = int(partition.cells[share])
        remote_task = RemoteTask(
            score,
            (
                [self._queries[query] for query in queries],
                [self._first_number + query for query in queries],
                target_range,
            ),
            partial(self._take_scores, queries[0], target_range, cells, seconds),
            "score",
            frozenset([target_range.block]),
            -BATCH_PRIORITY * self._number - rank,
            seconds,
            node.pace,
            exclusive=True,
        )
        self._dispatcher.add(remote_task, node)

    def _take_scores(
        self, query: int, target_range: Range, cells: int, predicted: float, scores: Scores
    ) -> None:
        """Add the result of a share to the merger and to the journal."""
        context = self._context
        self._shares_left -= 1
        bounds = target_range.block, target_range.first, target_range.last - 1
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

    def _note_alignments(self, number: int, result: Alignments) -> None:
        self._note("align", number, (-1, -1, -1), result)

    def _note(
        self,
        activity: str,
        query: int,
        bounds: tuple[int, int, int],
        result: Scores | Alignments,
        cells: int = 0,
        predicted: float = float("nan"),
    ) -> None:
        """Add a span that ends now to the timeline."""
        execution_log = self._context.execution_log
        end = execution_log.elapsed
        start = max(0.0, end - result.seconds)
        number = self._first_number + query
        span = Span(
            self._nodes.number(result.address),
            activity,
            number,
            *bounds,
            start,
            end,
            cells,
            predicted,
        )
        execution_log.timeline.add(span)
