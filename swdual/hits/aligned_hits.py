"""The hits of a query with all that their alignments tell: further ones, first inclusions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.further import FurtherAlignments
from swdual.alignment.tracebacks import Tracebacks
from swdual.hits.columns import HIT_COLUMNS, LATE_GRID_BYTES, HitColumns
from swdual.hits.inclusion import Inclusion, InclusionHistory, list_inclusions


@dataclass(frozen=True, eq=False)
class AlignedHits(HitColumns):
    """The hits of one query, as columns, and their alignments besides the best.

    A row is a hit, or one of its alignments: see `per_alignment`.
    """

    history: InclusionHistory | None = None
    traced_further: FurtherAlignments | None = None
    row_hits: NDArray[np.int64] | None = None

    @cached_property
    def further(self) -> FurtherAlignments:
        """The alignments of hits besides the best, as columns; none if `max_hsps` is 1."""
        if self.traced_further is not None:
            return self.traced_further
        if self.params.max_hsps == 1 or not len(self):
            return FurtherAlignments.none()
        from swdual.alignment.tracer import Tracer
        from swdual.hits.adjusters import make_adjuster
        from swdual.hits.further import align_further

        adjuster = None
        if self.params.adjusts:
            adjuster = make_adjuster(self.params, self.statistics, LATE_GRID_BYTES)
        tracer = Tracer(self.params.scheme, LATE_GRID_BYTES)
        parts, indices, first = [], [], 0
        # Piece by piece: the residues of all targets may not fit into memory.
        for piece in self.pieces():
            parts.append(align_further(piece, tracer, adjuster))
            indices.append(np.arange(first, first + len(piece)))
            first += len(piece)
        return FurtherAlignments.concatenate(parts, indices)

    def with_further(self, further: FurtherAlignments) -> Self:
        """Return the same result with these alignments besides the best."""
        return self._keep(replace(self, traced_further=further))

    def _keep(self, result: Self) -> Self:
        """Return a result of the same hits with what was looked up: `replace` leaves it out."""
        kept = ("titles", "target_codes", "tracebacks")
        result.__dict__.update({k: self.__dict__[k] for k in kept if k in self.__dict__})
        return result

    def _take(self, indices: NDArray[np.int64]) -> dict[str, Any]:
        further = self.__dict__.get("further", self.traced_further)
        return super()._take(indices) | {
            "traced_further": None if further is None else further.take(indices),
            "row_hits": None if self.row_hits is None else self.row_hits[indices],
        }

    def per_alignment(self) -> Self:
        """Return a result with a row for each alignment instead of each hit.

        The alignments of a hit follow each other, best first; the hit's rank is that of all of
        them. If `max_hsps` is 1, this is the result itself.
        """
        if self.params.max_hsps == 1 or self.row_hits is not None:
            return self
        return self.list_alignments()

    def list_alignments(self) -> Self:
        """Return a result with a row for each alignment that was found, as in `per_alignment`."""
        further = self.further
        if not len(further.hit_indices):
            return self._keep(replace(self, row_hits=np.arange(len(self))))
        hits = np.concatenate([np.arange(len(self)), further.hit_indices])
        # Adjusted scores may be higher in another frame than in that of the best plain score.
        order = np.lexsort((-np.concatenate([self.scores, further.scores]), hits))
        # A column that alignments do not have of their own is that of their hit.
        own = {name: getattr(further, name, None) for name in HIT_COLUMNS}
        columns: dict[str, Any] = {
            name: np.concatenate(
                [
                    getattr(self, name),
                    getattr(self, name)[further.hit_indices] if column is None else column,
                ]
            )[order]
            for name, column in own.items()
        }
        rows = replace(
            self,
            **columns,
            traced=Tracebacks.concatenate([self.tracebacks, further.tracebacks]).take(order),
            traced_further=FurtherAlignments.none(),
            row_hits=hits[order],
        )
        for name in ("titles", "target_codes"):
            if name in self.__dict__:
                rows.__dict__[name] = [self.__dict__[name][k] for k in hits[order].tolist()]
        return rows

    def as_hits(
        self, best: NDArray[np.int64], others: NDArray[np.int64], hits: NDArray[np.int64]
    ) -> Self:
        """Return a result of hits, made of rows of alignments: the inverse of `list_alignments`.

        Parameters
        ----------
        best
            (hits,) the index of the row that is the best alignment of each hit.
        others, hits
            (alignments,) those of further alignments, and the indices of their hits, ascending.
        """
        further = FurtherAlignments(
            hits,
            self.frames[others],
            self.target_frames[others],
            self.scores[others],
            self.unrounded[others],
            self.bits[others],
            self.log_evalues[others],
            self.tracebacks.take(others),
        )
        return replace(self.subset(best), row_hits=None).with_further(further)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """(hits,) the rank of each among the hits of the query, from 1."""
        hits = np.arange(len(self)) if self.row_hits is None else self.row_hits
        return self.before + 1 + hits

    @cached_property
    def inclusions(self) -> dict[int, Inclusion]:
        """The first inclusions up to this round, by the targets' numbers in the database.

        Empty if the search is not iterated.
        """
        if self.history is None:
            return {}
        own = list_inclusions(self, self.history.log_limit)
        return own | dict(self.history.earlier)
