"""The executor on a Dask cluster: each Dask worker is a node, with CPUs and GPUs of its own.

A node gets shares: some queries against a range of targets. It divides a share among its own
workers, as this machine does with a whole search.
"""

from __future__ import annotations

import logging
import math
import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from distributed import Client

from swdual.cluster.alignment import AlignmentStage
from swdual.cluster.dispatcher import Dispatcher, RemoteTask
from swdual.cluster.membership import Node, Nodes
from swdual.cluster.partition import ClusterPartition, partition_search
from swdual.cluster.remote import Alignments, FurtherFound, Scores, SearchSpec, score
from swdual.database.subset import Subset
from swdual.database.target_range import Range
from swdual.hits.query_result import QueryResult
from swdual.hits.targets import SuppliedTargets
from swdual.master.context import Compared, Execution, SearchContext
from swdual.master.execution_log import ExecutionLog
from swdual.master.executor import BatchExecution, BatchListener, Executor
from swdual.master.memory import plan_memory
from swdual.master.partition import PartitionInput
from swdual.master.ranges import TaskId
from swdual.master.serialization import deserialize, read_key
from swdual.master.setup import MAX_BATCH_CANDIDATES, estimate_needs, make_context
from swdual.planning.timeline import Span
from swdual.request.inputs import SearchInputs
from swdual.request.options import SearchOptions
from swdual.runtime.memory import find_allowance
from swdual.sequences.frames import frame_length
from swdual.sequences.sequence import Sequence as Query
from swdual.text.url import redact_name

logger = logging.getLogger("swdual")

FIRST_SECONDS, BATCH_SECONDS = 1.0, 60.0
"""How long the first batch of queries should keep all nodes busy, and how long later ones."""

BATCH_PRIORITY = 1_000_000
"""Distance between the priorities of two batches; half of it is for the shares of a batch.

The alignments of a batch run after its shares, as on one machine, and before those of the next
batch. So the plan can be compared with what happened.
"""


class DaskExecutor(Executor):
    """Runs the tasks of a search on the nodes of a Dask cluster.

    The next batch is submitted before the previous one has ended, so that no node waits for the
    client.

    Parameters
    ----------
    client, is_ours
        The client of the cluster, and whether the executor closes it.
    """

    batches_ahead = 1

    def __init__(self, client: Client, *, is_ours: bool) -> None:
        self._client, self._is_ours = client, is_ours
        self._nodes: Nodes | None = None
        self._dispatcher: Dispatcher | None = None
        self._batches = 0

    def check_options(self, options: SearchOptions) -> None:
        """Check nothing: only the nodes know their devices."""

    def build_context(
        self, inputs: SearchInputs, options: SearchOptions, held_bytes: int
    ) -> SearchContext:
        """Get the nodes ready. See `Executor.build_context`.

        Threads, devices and memory of the options are those of each node.
        """
        database, params = inputs.database, inputs.params
        lengths = [frame_length(query) for query in inputs.queries]
        location = database.location
        spec = SearchSpec(
            uuid.uuid4().hex[:8] + "0",
            database.name if location is None else redact_name(location),
            location,
            database.metadata,
            database.digest,
            np.array(lengths, np.int64),
            params,
            options.for_nodes(),
            inputs.pairs,
            database.selection if isinstance(database, Subset) else None,
        )
        execution_log = ExecutionLog([], predicting=True)
        self._nodes = nodes = Nodes(self._client, spec, execution_log.timeline)
        nodes.begin()
        self._dispatcher = Dispatcher(nodes, database)
        self._log_nodes(nodes.active)
        needs = estimate_needs(database, lengths, params, options, held_bytes)
        # The memory is that of two batches: the next is submitted before one ends.
        wanted = _count_queries(inputs, nodes.active, 2 * BATCH_SECONDS)
        self.first_batch = max(1, _count_queries(inputs, nodes.active, FIRST_SECONDS))
        needs = replace(needs, together=max(needs.together, wanted))
        kinds = {kind for node in nodes.active for kind in node.facts.kinds}
        run = Execution(
            workers=[],
            aligners=len(nodes.active),
            planner=options.planner,
            device=kinds.pop() if len(kinds) == 1 else "hybrid",
            memory=plan_memory(needs, find_allowance(None)),
            execution_log=execution_log,
        )
        return make_context(Compared.of_inputs(inputs), params, options, run)

    def begin(
        self,
        queries: list[Query],
        numbers: Sequence[int],
        context: SearchContext,
        listener: BatchListener,
        *,
        ranges: list[Range] | None,
        done: Collection[TaskId],
    ) -> DaskBatch:
        """Partition a batch into shares for the nodes. See `Executor.begin`."""
        nodes, dispatcher = self._nodes, self._dispatcher
        assert nodes is not None
        assert dispatcher is not None
        while not (active := nodes.active):
            nodes.poll()
        given = PartitionInput(
            [frame_length(query) for query in queries],
            context.compared.database,
            [node.kind for node in active],
            [node.rates for node in active],
            context.run.planner,
            context.params.frame_count,
            context.compared.pairs.select(numbers),
        )
        partition = partition_search(given, ranges=ranges, done=done)
        batch = DaskBatch(
            queries, numbers, context, listener, nodes, dispatcher, partition, self._batches
        )
        self._batches += 1
        return batch

    def close(self) -> None:
        """Drop the search on all nodes, and close the client if it is ours."""
        try:
            if self._nodes is not None:
                self._nodes.end()
                self._nodes = None
        finally:
            if self._is_ours:
                self._client.close()

    def _log_nodes(self, nodes: list[Node]) -> None:
        """Log the nodes and the address of the dashboard."""
        kinds = Counter(kind for node in nodes for kind in node.facts.kinds)
        counts = ", ".join(
            f"{kinds[kind]} {kind.upper()}{'s' if kinds[kind] > 1 else ''}"
            for kind in sorted(kinds)
        )
        one = "node" if len(nodes) == 1 else "nodes"
        shown = "dashboard" in self._client.scheduler_info(n_workers=0).get("services", {})
        link = self._client.dashboard_link if shown else ""
        logger.info("cluster of %d %s: %s%s", len(nodes), one, counts, f"; {link}" if link else "")


def _count_queries(inputs: SearchInputs, nodes: list[Node], seconds: float) -> int:
    """Return how many queries keep all nodes busy for so long, without too many hits.

    With few, the messages of many nodes would take longer than their work.
    """
    params, targets, queries = inputs.params, len(inputs.database), len(inputs.queries)
    if params.stats == "fit":
        return 0
    kept = min(params.max_candidates or targets, targets)
    speed = sum(1 / float(node.rates.cell_seconds.min()) for node in nodes)
    mean = sum(inputs.cells) / max(1, queries)
    wanted = seconds * speed / max(1.0, mean)
    return min(math.ceil(wanted), MAX_BATCH_CANDIDATES // kept, queries)


class DaskBatch(BatchExecution):
    """One batch of queries on the nodes of a cluster.

    Parameters
    ----------
    queries, numbers, context, listener
        As for `Executor.begin`.
    nodes, dispatcher
        The nodes, and what submits tasks to them.
    partition
        The shares, planned for the nodes that are active.
    batch
        The number of the batch. Nodes run the tasks of earlier batches first.
    """

    def __init__(
        self,
        queries: list[Query],
        numbers: Sequence[int],
        context: SearchContext,
        listener: BatchListener,
        nodes: Nodes,
        dispatcher: Dispatcher,
        partition: ClusterPartition,
        batch: int,
    ) -> None:
        self._queries = queries
        self._numbers = numbers
        self._context = context
        self._listener = listener
        self._nodes = nodes
        self._dispatcher = dispatcher
        self._partition = partition
        self._planned_for = nodes.active
        self._priority = -BATCH_PRIORITY * batch
        self._shares_left = len(partition.shares)
        self._alignments = AlignmentStage(
            context,
            dispatcher,
            context.run.memory.max_alignment_cost,
            self._priority - BATCH_PRIORITY // 2,
            listener.add_alignments,
            self._log_alignments,
        )
        self.ranges = partition.ranges

    def submit(self) -> None:
        """Log the plan, and submit the shares to their nodes. See `BatchExecution.submit`."""
        partition, context = self._partition, self._context
        kinds = dict.fromkeys(range(len(context.run.execution_log.timeline.workers)), "cpu")
        kinds |= {node.number: node.kind for node in self._nodes.known}
        node_numbers = np.array([node.number for node in self._planned_for], np.int64)
        workers = node_numbers[partition.plan.workers]
        plan = replace(partition.plan, kinds=tuple(kinds.values()), workers=workers)
        first_queries = [
            self._numbers[int(partition.groups[share.group][0])] for share in partition.shares
        ]
        context.run.execution_log.begin(plan, first_queries)
        ranks = np.argsort(np.argsort(partition.plan.starts, kind="stable"))
        with self._nodes.explain_lost_scheduler():
            for share, node in enumerate(partition.plan.workers.tolist()):
                self._submit_share(share, self._planned_for[node], int(ranks[share]))

    def align(self, query: int, result: QueryResult) -> None:
        """Add the hits of a query to the alignment tasks. See `BatchExecution.align`."""
        traced = self._context.aligns_now(len(result))
        with self._nodes.explain_lost_scheduler():
            self._alignments.add(query, result, traced=traced)

    def align_further(self, query: int, result: QueryResult) -> None:
        """Add the hits to the tasks of further alignments. See `BatchExecution.align_further`."""
        supplied = self._alignments.supplied(query)
        if supplied is not None:
            result = replace(result, targets=SuppliedTargets(result.targets, supplied))
        take = partial(self._listener.add_further, query)
        with self._nodes.explain_lost_scheduler():
            self._alignments.add_further(query, result, take)

    def wait(self) -> None:
        """Handle the next event of the cluster. See `BatchExecution.wait`."""
        if not self._shares_left:
            self._alignments.flush()
        self._nodes.poll()

    def supply_targets(self, query: int, result: QueryResult) -> QueryResult:
        """Add the residues that nodes have sent. See `BatchExecution.supply_targets`."""
        supplied = self._alignments.pop_supplied(query)
        if supplied is None:
            return result
        return replace(result, targets=SuppliedTargets(result.targets, supplied))

    def _submit_share(self, share: int, node: Node, rank: int) -> None:
        """Submit a share to a node."""
        partition = self._partition
        group, range_number = partition.shares[share]
        queries, target_range = partition.groups[group].tolist(), partition.ranges[range_number]
        seconds = float(partition.seconds[int(partition.plan.workers[share])][share])
        cells = int(partition.cells[share])
        remote_task = RemoteTask(
            score,
            (
                [self._queries[query] for query in queries],
                [self._numbers[query] for query in queries],
                target_range,
            ),
            partial(self._take_scores, self._numbers[queries[0]], target_range, cells, seconds),
            "score",
            frozenset([target_range.block]),
            self._priority - rank,
            seconds,
            node.pace,
            exclusive=True,
        )
        self._dispatcher.add(remote_task, node)

    def _take_scores(
        self, first_query: int, target_range: Range, cells: int, predicted: float, scores: Scores
    ) -> None:
        """Pass on the result of a share: a record for each of its queries."""
        context = self._context
        self._shares_left -= 1
        bounds = target_range.block, target_range.first, target_range.last - 1
        self._log("score", first_query, bounds, scores, cells, predicted)
        self._listener.add_cells(cells)
        fitted = context.params.stats == "fit"
        for record in scores.records:
            query = read_key(record)[0] - self._numbers[0]
            scored = deserialize(record, len(context.compared.database), fitted=fitted)
            self._listener.add_scores(query, target_range, scored)

    def _log_alignments(self, query: int, result: Alignments | FurtherFound) -> None:
        self._log("align", self._numbers[query], (-1, -1, -1), result)
        self._listener.add_aligning(result.seconds)

    def _log(
        self,
        activity: str,
        query: int,
        bounds: tuple[int, int, int],
        result: Scores | Alignments | FurtherFound,
        cells: int = 0,
        predicted: float = math.nan,
    ) -> None:
        """Add a span that ends now to the timeline."""
        execution_log = self._context.run.execution_log
        end = execution_log.elapsed
        start = max(0.0, end - result.seconds)
        node = self._nodes.number(result.address)
        span = Span(node, activity, query, *bounds, start, end, cells, predicted)
        execution_log.timeline.add(span)
