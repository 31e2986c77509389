"""Further alignments of pairs: the best around the first one, the best around both, and so on.

After each alignment the rectangle of its rows and columns is forbidden: no residue of the query
there is paired with a residue of the target there. Gaps may cross it. M. S. Waterman and M. Eggert,
Journal of Molecular Biology 197 (1987) 723-728, forbid the pairs of the alignment only; rectangles
are those of BLAST's Smith-Waterman alignments (`composition_adjustment/smith_waterman.c`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.pairs import Around, Pairs
from swdual.alignment.tracebacks import COLUMNS, Tracebacks
from swdual.alignment.tracer import Tracer
from swdual.backend import Progress

PairMaker = Callable[[list[int], int], Pairs]
"""Returns some of the targets, in this order, with the query or its other strand (1, -1)."""


class FurtherAlignments(NamedTuple):
    """Alignments of hits besides the best of each, in the order of hits, then as they were found.

    Parameters
    ----------
    hit_indices
        (alignments,) the index of the hit, ascending.
    frames
        (alignments,) the frame of the query: 1, or -1 if it aligns with its other strand.
    scores
        (alignments,) raw scores.
    bits, log_evalues
        (alignments,) bit scores, and natural logarithms of the E-values; not-a-number without
        statistics.
    tracebacks
        The alignments.
    """

    hit_indices: NDArray[np.int64]
    frames: NDArray[np.int8]
    scores: NDArray[np.int64]
    bits: NDArray[np.float64]
    log_evalues: NDArray[np.float64]
    tracebacks: Tracebacks

    @classmethod
    def concatenate(cls, parts: Sequence[Self], indices: Sequence[NDArray[np.int64]]) -> Self:
        """Return the alignments of the hits of several parts.

        Parameters
        ----------
        parts
            The alignments of each part.
        indices
            For each part the indices that its hits have in the whole.
        """
        pairs = zip(parts, indices, strict=True)
        every = [
            cls.none(),
            *(part._replace(hit_indices=index[part.hit_indices]) for part, index in pairs),
        ]
        whole = cls(
            np.concatenate([part.hit_indices for part in every]),
            np.concatenate([part.frames for part in every]),
            np.concatenate([part.scores for part in every]),
            np.concatenate([part.bits for part in every]),
            np.concatenate([part.log_evalues for part in every]),
            Tracebacks.concatenate([part.tracebacks for part in every]),
        )
        return whole.select(np.argsort(whole.hit_indices, kind="stable"))

    @classmethod
    def none(cls) -> Self:
        """Return no alignments."""
        whole, real = np.empty(0, np.int64), np.empty(0)
        return cls(whole, np.empty(0, np.int8), whole, real, real, Tracebacks.concatenate([]))

    def select(self, chosen: NDArray[np.int64]) -> Self:
        """Return some of the alignments, given by their indices, such that hits ascend."""
        return type(self)(
            self.hit_indices[chosen],
            self.frames[chosen],
            self.scores[chosen],
            self.bits[chosen],
            self.log_evalues[chosen],
            self.tracebacks.take(chosen),
        )

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return the alignments of some of the hits, numbered in the order of `indices`."""
        starts = np.searchsorted(self.hit_indices, indices, "left")
        counts = np.searchsorted(self.hit_indices, indices, "right") - starts
        ends = np.cumsum(counts)
        chosen = np.arange(counts.sum()) + np.repeat(starts - ends + counts, counts)
        return self.select(chosen)._replace(hit_indices=np.repeat(np.arange(len(indices)), counts))


class _Found(NamedTuple):
    """An alignment: its strand, its score, its numbers (`COLUMNS`) and its operations."""

    strand: int
    score: int
    numbers: NDArray[np.int64]
    runs: NDArray[np.uint32]


class _Search:
    """The further alignments of pairs, found in rounds: one of each pair in a round.

    For each strand that counts, `_pending` has the best alignment of a pair around those that were
    reported. The better one is reported next; of equal ones that of the plus strand.
    """

    def __init__(
        self,
        tracer: Tracer,
        make_pairs: PairMaker,
        lengths: NDArray[np.int64],
        query_length: int,
        min_scores: NDArray[np.int64],
        progress: Progress,
    ) -> None:
        self._tracer, self._make_pairs = tracer, make_pairs
        self._order = np.argsort(-lengths, kind="stable")
        self._query_length = query_length
        self._min_scores = min_scores
        self._progress = progress
        self._pairs: dict[int, tuple[NDArray[np.int64], Pairs]] = {}
        self._pending: dict[tuple[int, int], _Found] = {}
        self._forbidden: dict[tuple[int, int], list[list[int]]] = {}

    def find(
        self,
        scores: NDArray[np.int64],
        strands: NDArray[np.int8],
        first: Tracebacks,
        both: bool,
        keeps: Callable[[int, _Found], bool],
        max_count: int,
    ) -> list[list[_Found]]:
        """Return the further alignments of each pair: see `find_further`."""
        count = len(scores)
        found: list[list[_Found]] = [[] for _ in range(count)]
        wanted: list[tuple[int, int]] = []
        for k in np.flatnonzero(scores > 0).tolist():
            own = int(strands[k])
            self._forbid(k, own, first.numbers[:4, k])
            wanted += [(k, strand) for strand in ((1, -1) if both else (own,))]
        bounds = scores.copy()
        while wanted:
            self._align(wanted, bounds)
            wanted = []
            for k in sorted({k for k, _ in self._pending}):
                options = [self._pending.get((k, strand)) for strand in (1, -1)]
                best = max((x for x in options if x is not None), key=lambda x: x.score)
                del self._pending[k, best.strand]
                if keeps(k, best):
                    found[k].append(best)
                if max_count and len(found[k]) == max_count:
                    self._pending.pop((k, -best.strand), None)
                    continue
                bounds[k] = best.score
                self._forbid(k, best.strand, best.numbers[:4])
                wanted.append((k, best.strand))
        return found

    def _forbid(self, k: int, strand: int, bounds: NDArray[np.int64]) -> None:
        """Forbid the rectangle of an alignment, in the rows of its strand of the query."""
        top, bottom, left, right = bounds.tolist()
        if strand < 0:
            top, bottom = self._query_length - bottom, self._query_length - top
        self._forbidden.setdefault((k, strand), []).append([top, bottom, left, right])

    def _align(self, wanted: list[tuple[int, int]], bounds: NDArray[np.int64]) -> None:
        """Find the best alignments of some pairs and strands around their rectangles."""
        for strand in (1, -1):
            own = {k for k, other in wanted if other == strand}
            if not own:
                continue
            if strand not in self._pairs:  # all that will ever be wanted are wanted first
                order = self._order[np.isin(self._order, [*own])]
                self._pairs[strand] = order, self._make_pairs(order.tolist(), strand)
            order, pairs = self._pairs[strand]
            chosen = np.flatnonzero(np.isin(order, [*own]))
            rectangles = [
                np.array(self._forbidden.get((k, strand), []), np.int64).reshape(-1, 4)
                for k in order.tolist()
            ]
            around = Around(rectangles, self._min_scores[order])
            scores, traced = self._tracer.trace_around(
                pairs, chosen, bounds[order], around, self._progress
            )
            if strand < 0:
                traced = traced.reverse_strand(self._query_length)
            for place, (k, score) in enumerate(
                zip(order[chosen].tolist(), scores.tolist(), strict=True)
            ):
                if score:
                    numbers, runs = traced.numbers[:, place], traced.runs_of(place)
                    self._pending[k, strand] = _Found(strand, score, numbers, runs)


def find_further(
    tracer: Tracer,
    make_pairs: PairMaker,
    *,
    query_length: int,
    target_lengths: NDArray[np.int64],
    scores: NDArray[np.int64],
    frames: NDArray[np.int8],
    first: Tracebacks,
    min_scores: NDArray[np.int64],
    max_count: int,
    both: bool,
    min_identity: float,
    min_query_cover: float,
    progress: Progress,
) -> FurtherAlignments:
    """Return the further alignments of hits, without bit scores and E-values.

    Parameters
    ----------
    tracer, make_pairs
        Finds alignments, and returns the pairs that it aligns.
    query_length, target_lengths
        Residues.
    scores, frames, first
        The best alignments. Scores are in the units of the pairs.
    min_scores
        (hits,) the smallest score of a further alignment, at least 1.
    max_count
        Maximum number of further alignments of a hit; 0 sets no limit.
    both
        Whether both strands of the query are compared.
    min_identity, min_query_cover
        Alignments with smaller percentages are left out, and do not count.
    progress
        Called with 0 now and then; may raise to stop the work.
    """

    def keeps(k: int, found: _Found) -> bool:
        columns = dict(zip(COLUMNS, found.numbers.tolist(), strict=True))
        covered = columns["query_ends"] - columns["query_starts"]
        return bool(
            100 * columns["identities"] >= min_identity * columns["lengths"]
            and 100 * covered >= min_query_cover * query_length
        )

    search = _Search(tracer, make_pairs, target_lengths, query_length, min_scores, progress)
    lists = search.find(scores, frames, first, both, keeps, max_count)
    found = [each for some in lists for each in some]
    unknown = np.full(len(found), np.nan)
    numbers = np.empty((len(COLUMNS), len(found)), np.int64)
    for k, each in enumerate(found):
        numbers[:, k] = each.numbers
    return FurtherAlignments(
        np.repeat(np.arange(len(lists)), [len(some) for some in lists]),
        np.array([each.strand for each in found], np.int8),
        np.array([each.score for each in found], np.int64),
        unknown,
        unknown,
        Tracebacks.of(numbers, [each.runs for each in found]),
    )
