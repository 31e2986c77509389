"""Alignment on a cluster: hits become remote tasks; few hits of several queries share one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from swdual.cluster.dispatcher import Dispatcher, RemoteTask
from swdual.cluster.remote import (
    AlignmentRequest,
    Alignments,
    FurtherFound,
    align,
    align_further,
)
from swdual.hits.query_result import QueryResult
from swdual.master.alignment import Traced, TracedFurther
from swdual.master.context import SearchContext
from swdual.master.merge import split_hits

REMOTE_TASK_CELLS = 500_000_000
"""Cells of the alignments in one remote task, if there are so many: about 0.05 s."""

CELL_SECONDS = 2e-10
"""Approximate seconds of a cell; it spreads alignment tasks over the nodes."""


@dataclass
class _Bundle:
    """The hits that one remote task aligns.

    For each request `owners` has the query, counted from the first of the batch, and the numbers of
    all its candidates in the database's input.
    """

    requests: list[AlignmentRequest] = field(default_factory=list)
    owners: list[tuple[int, NDArray[np.int64]]] = field(default_factory=list)
    blocks: set[int] = field(default_factory=set)
    cells: int = 0


class AlignmentStage:
    """Submits the alignments of one batch; the thread of the search calls everything here.

    Parameters
    ----------
    context
        What all queries share.
    dispatcher
        Submits the tasks.
    max_range_cost
        Max cost of the targets of a request.
    priority
        The priority of all its tasks.
    take
        Called with a query, counted from the first of the batch, and some of its alignments.
    note
        Called with the first query of each task and the result of the task.
    """

    def __init__(
        self,
        context: SearchContext,
        dispatcher: Dispatcher,
        max_range_cost: int,
        priority: int,
        take: Callable[[int, Traced], None],
        note: Callable[[int, Alignments | FurtherFound], None],
    ) -> None:
        self._context = context
        self._database = database = context.compared.database
        self._dispatcher = dispatcher
        self._max_range_cost = max_range_cost
        self._priority = priority
        self._take = take
        self._note = note
        blocks = range(len(database.manifest.blocks))
        here = not database.is_remote
        self._has_residues = here and all(database.has_block(block) for block in blocks)
        self._bundles: dict[int, _Bundle] = {}
        self._supplied: dict[int, dict[int, bytes]] = {}

    def add(self, query: int, result: QueryResult, *, traced: bool) -> None:
        """Add the hits of a query; those of a block go to a node that has it.

        Parameters
        ----------
        query
            The query, counted from the first of the batch.
        result
            Its hits, all of which are adjusted or aligned.
        traced
            Whether their alignments are wanted now.
        """
        anywhere = self._dispatcher.anywhere
        for hits in split_hits(result, self._max_range_cost):
            blocks, within = self._database.locate(self._context.number_records(result, hits))
            group = np.zeros(len(hits), np.int64) if anywhere else blocks
            for key in np.unique(group).tolist():
                here = np.flatnonzero(group == key)
                here = here[np.argsort(blocks[here], kind="stable")]
                own_blocks, firsts = np.unique(blocks[here], return_index=True)
                positions = zip(
                    own_blocks.tolist(), np.split(within[here], firsts[1:]), strict=True
                )
                chosen = hits[here]
                request = AlignmentRequest(
                    result.query,
                    chosen,
                    [*positions],
                    result.scores[chosen],
                    result.frames[chosen],
                    traced,
                )
                bundle = self._bundles.setdefault(key, _Bundle())
                bundle.requests.append(request)
                bundle.owners.append((query, result.ordinals))
                bundle.blocks |= {*own_blocks.tolist()}
                residues = int(result.target_lengths[chosen].sum())
                bundle.cells += residues * len(result.query.codes)
                if bundle.cells >= REMOTE_TASK_CELLS:
                    self._send(self._bundles.pop(key))

    def add_further(
        self, query: int, result: QueryResult, take: Callable[[TracedFurther], None]
    ) -> None:
        """Submit tasks that find the further alignments of the hits of a query, on any node.

        The residues of the targets are part of the message.

        Parameters
        ----------
        query
            The query, counted from the first of the batch.
        result
            The hits that are reported, with their best alignments.
        take
            Called with the further alignments of some of its hits.
        """

        def take_result(found: FurtherFound) -> None:
            self._note(query, found)
            take(found.traced)

        for hits in split_hits(result, self._max_range_cost):
            cells = int(result.target_lengths[hits].sum()) * len(result.query.codes)
            self._dispatcher.add(
                RemoteTask(
                    align_further,
                    (result.subset(hits), hits),
                    take_result,
                    "align",
                    frozenset(),
                    self._priority,
                    cells * CELL_SECONDS,
                )
            )

    def flush(self) -> None:
        """Submit everything that was added, also tasks that are not full."""
        while self._bundles:
            self._send(self._bundles.popitem()[1])

    def supplied(self, query: int) -> dict[int, bytes] | None:
        """Return the residue codes of a query's targets, if nodes have sent them."""
        return self._supplied.get(query)

    def pop_supplied(self, query: int) -> dict[int, bytes] | None:
        """Remove what `supplied` returns, and return it."""
        return self._supplied.pop(query, None)

    def _send(self, bundle: _Bundle) -> None:
        self._dispatcher.add(
            RemoteTask(
                align,
                (bundle.requests, not self._has_residues),
                partial(self._take_result, bundle),
                "align",
                frozenset(bundle.blocks),
                self._priority,
                bundle.cells * CELL_SECONDS,
            )
        )

    def _take_result(self, bundle: _Bundle, result: Alignments) -> None:
        """Pass on the alignments of each query, and keep the residues that came with them."""
        self._note(bundle.owners[0][0], result)
        for index, (query, ordinals) in enumerate(bundle.owners):
            traced = result.traced[index]
            if result.codes is not None:
                supplied = self._supplied.setdefault(query, {})
                own = ordinals[traced.hit_indices].tolist()
                supplied |= zip(own, result.codes[index], strict=True)
            self._take(query, traced)
