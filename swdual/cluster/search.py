"""A search on a Dask cluster: the same as on one machine, but nodes run its tasks."""

from __future__ import annotations

import logging
import math
import os
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from distributed import Client

from swdual.alignment.tracer import Tracer
from swdual.backend import Device
from swdual.cluster.dispatcher import Dispatcher
from swdual.cluster.membership import Node, Nodes
from swdual.cluster.query_batch import ClusterQueryBatch
from swdual.cluster.remote import SearchSpec
from swdual.hits.query_result import QueryResult
from swdual.io.progress import progress_bar
from swdual.master.context import SearchContext
from swdual.master.execution_log import ExecutionLog
from swdual.master.memory import plan_memory
from swdual.master.pipeline import split_batches
from swdual.master.search import Search
from swdual.master.setup import (
    MAX_BATCH_CANDIDATES,
    estimate_needs,
    make_statistics,
)
from swdual.master.worker import bind
from swdual.options import SearchOptions
from swdual.runtime.memory import find_allowance
from swdual.statistics.shuffle import shuffle_targets

logger = logging.getLogger("swdual")

BATCH_SECONDS = 60.0
"""How long one batch of queries should keep all nodes busy."""


class ClusterSearch(Search):
    """A search on a Dask cluster; `swdual.api` makes it, and one thread uses it.

    Parameters
    ----------
    queries, database, options
        As for `Search`. Threads, devices and memory are those of each node.
    client, is_ours
        The client of the cluster, and whether the search closes it.

    Raises
    ------
    ClusterError
        In `prepare`: if the cluster has no workers, or they are of another release.
    """

    def __init__(
        self, queries: Any, database: Any, options: SearchOptions, *, client: Client, is_ours: bool
    ) -> None:
        self._client, self._is_ours = client, is_ours
        self._nodes: Nodes | None = None
        self._cells_done = 0
        super().__init__(queries, database, options)

    def prepare(self) -> None:
        """Read the inputs and get the cluster's nodes ready; leave the cluster if that fails."""
        try:
            super().prepare()
        except BaseException:
            self._leave()
            raise

    def _check_devices(self) -> None:
        """Check nothing: only the nodes know their devices."""

    def _build_context(self) -> SearchContext:
        """Return what all queries share, with the cluster's nodes ready."""
        options = self.options
        database, params = self.database, self.params
        lengths = [len(query.codes) for query in self.queries]
        is_file = database.held_bytes == 0
        spec = SearchSpec(
            uuid.uuid4().hex[:8] + "0",
            os.path.abspath(database.name) if is_file else database.name,
            is_file,
            database.metadata,
            database.digest,
            np.array(lengths, np.int64),
            params,
            options.for_nodes(),
        )
        execution_log = ExecutionLog([], predicting=True)
        self._nodes = nodes = Nodes(self._client, spec, execution_log.timeline)
        nodes.begin()
        self._log_nodes(nodes.active)
        needs = estimate_needs(database, lengths, params, options, self._held)
        needs = replace(
            needs, together=max(needs.together, self._count_batch_queries(nodes.active))
        )
        memory = plan_memory(needs, find_allowance(None))
        copies = shuffle_targets(database) if params.stats == "fit" else None
        kinds = {kind for node in nodes.active for kind in node.facts.kinds}
        return SearchContext(
            database,
            [],
            params,
            make_statistics(database, params),
            None if copies is None else (copies, bind(Device(), copies, params.scheme)),
            Tracer(params.scheme, memory.grid) if options.finds_alignments else None,
            options.planner,
            options.replan,
            kinds.pop() if len(kinds) == 1 else "hybrid",
            execution_log,
            memory,
            None,
        )

    def _count_batch_queries(self, nodes: list[Node]) -> int:
        """Return how many queries keep all nodes busy for a while, without too many hits.

        With fewer, the messages of many nodes would take longer than their work.
        """
        if self.params.stats == "fit":
            return 0
        kept = min(self.params.max_candidates or len(self.database), len(self.database))
        speed = sum(1 / float(node.rates.cell_seconds.min()) for node in nodes)
        mean: float = self.cells / max(1, len(self.queries))
        wanted = 2 * BATCH_SECONDS * speed / max(1.0, mean)
        return min(math.ceil(wanted), MAX_BATCH_CANDIDATES // kept, len(self.queries))

    def results(self) -> Iterator[QueryResult]:
        """Run the search batch by batch; the next is submitted before the last has ended."""
        bar = progress_bar("searching", "GCUPS", 1e9, shown=self.options.progress is True)
        try:
            with bar as shown:
                self._bar = shown
                self._report = self.options.progress if callable(self.options.progress) else shown
                batches = self._batches()
                ahead = next(batches, None)
                while ahead is not None:
                    query_batch = ahead
                    ahead = next(batches, None)
                    for result in query_batch.results():
                        with shown.pause():
                            yield result
                        del result
                    del query_batch  # so that at most two are held
        finally:
            self._leave()

    def _batches(self) -> Iterator[ClusterQueryBatch]:
        """Yield the batches; each is submitted when it is asked for."""
        nodes = self._nodes
        assert nodes is not None
        dispatcher = Dispatcher(nodes, self.database)
        size, checkpoint = self.memory.batch_queries, self._context.checkpoint
        if len(self.queries) > size:
            size = max(1, size // 2)
        bounds = split_batches(len(self.queries), size, checkpoint)
        for number, (start, end) in enumerate(bounds):
            queries = self.queries[start:end]
            with nodes.explain_lost_scheduler():
                query_batch = ClusterQueryBatch(
                    number, queries, start, self._context, nodes, dispatcher, self._count
                )
            self._cells_known += query_batch.cells_known
            self._bar.skip(self._cells_known)
            self._count(query_batch.cells_known)
            yield query_batch

    def _count(self, cells: int) -> None:
        """Add cells to the progress."""
        self._cells_done += cells
        self._report(self._cells_done, self.cells)

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

    def _leave(self) -> None:
        """Drop the search on all nodes, and close the client if it is ours."""
        try:
            if self._nodes is not None:
                self._nodes.end()
                self._nodes = None
        finally:
            if self._is_ours:
                self._client.close()
