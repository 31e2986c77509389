"""Aligning: the hits of queries made into remote tasks, small ones of several queries together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from swdual.cluster.dispatcher import Dispatcher, RemoteTask
from swdual.cluster.remote import AlignmentRequest, Alignments, align
from swdual.database.database import Database
from swdual.hits.query_result import QueryResult
from swdual.master.merge import Traced, split_hits

ERRAND_CELLS = 500_000_000
"""Cells of the alignments that one task finds, if there are so many: a twentieth of a second."""

CELL_SECONDS = 2e-10
"""What a cell takes, roughly: remote tasks are spread by it."""


@dataclass
class _Bundle:
    """Hits that one remote task aligns: of which queries, which of theirs, and what for.

    With their residues' codes also come the places in the input of the targets.
    """

    requests: list[AlignmentRequest] = field(default_factory=list)
    whose: list[tuple[int, NDArray[np.int64], list[int]]] = field(default_factory=list)
    blocks: set[int] = field(default_factory=set)
    cells: int = 0


class AlignmentStage:
    """The alignments of a batch.

    Parameters
    ----------
    database
        The targets.
    remote tasks
        Where alignments are asked for.
    max_range_cost
        What the targets of a job may weigh.
    priority
        What has more is done before.
    take
        Is called with a query's number and some of its alignments.
    note
        Is called with what came back, and the number of a query in it.
    """

    def __init__(
        self,
        database: Database,
        dispatcher: Dispatcher,
        max_range_cost: int,
        priority: int,
        take: Callable[[int, Traced], None],
        note: Callable[[int, Alignments], None],
    ) -> None:
        self._database = database
        self._dispatcher = dispatcher
        self._heaviest = max_range_cost
        self._priority = priority
        self._take = take
        self._note = note
        blocks = range(len(database.manifest.blocks))
        self._has_residues = all(database.has_block(block) for block in blocks)
        self._bundles: dict[int, _Bundle] = {}
        self._supplied: dict[int, dict[int, bytes]] = {}

    def add(self, number: int, result: QueryResult) -> None:
        """Have the hits of a query aligned, those of a block by a node that has it."""
        anywhere = self._dispatcher.anywhere
        for hits in split_hits(result, self._heaviest):
            blocks, within = self._database.locate(result.ordinals[hits])
            whose = np.zeros(len(hits), np.int64) if anywhere else blocks
            for key in np.unique(whose).tolist():
                here = np.flatnonzero(whose == key)
                here = here[np.argsort(blocks[here], kind="stable")]
                found, firsts = np.unique(blocks[here], return_index=True)
                positions = zip(found.tolist(), np.split(within[here], firsts[1:]), strict=True)
                chosen = hits[here]
                request = AlignmentRequest(
                    result.query.codes, [*positions], result.scores[chosen], result.strands[chosen]
                )
                bundle = self._bundles.setdefault(key, _Bundle())
                bundle.requests.append(request)
                bundle.whose.append((number, chosen, result.ordinals[chosen].tolist()))
                bundle.blocks |= {*found.tolist()}
                residues = int(result.target_lengths[chosen].sum())
                bundle.cells += residues * len(result.query.codes)
                if bundle.cells >= ERRAND_CELLS:
                    self._send(self._bundles.pop(key))

    def flush(self) -> None:
        """Have all that was added aligned, also where more would fit into an remote task."""
        while self._bundles:
            self._send(self._bundles.popitem()[1])

    def supplied(self, number: int) -> dict[int, bytes] | None:
        """Return the residue codes of a query's targets, if they are not here, and forget them."""
        return self._supplied.pop(number, None)

    def _send(self, bundle: _Bundle) -> None:
        self._dispatcher.add(
            RemoteTask(
                align,
                (bundle.requests, not self._has_residues),
                partial(self._arrived, bundle),
                "align",
                frozenset(bundle.blocks),
                self._priority,
                bundle.cells * CELL_SECONDS,
            )
        )

    def _arrived(self, bundle: _Bundle, found: Alignments) -> None:
        """Hand on the alignments of each query, and keep targets that are not here."""
        self._note(bundle.whose[0][0], found)
        for index, (number, hits, ordinals) in enumerate(bundle.whose):
            if found.codes is not None:
                supplied = self._supplied.setdefault(number, {})
                supplied |= zip(ordinals, found.codes[index], strict=True)
            self._take(number, Traced(hits, found.tracebacks[index]))
