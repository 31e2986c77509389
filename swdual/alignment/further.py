"""Further alignments of pairs: the best around the first one, the best around both, and so on.

After each alignment the rectangle of its rows and columns is forbidden: no residue of the query
there is paired with a residue of the target there. Gaps may cross it. M. S. Waterman and M. Eggert,
Journal of Molecular Biology 197 (1987) 723-728, forbid the pairs of the alignment only; rectangles
are those of BLAST's Smith-Waterman alignments (`composition_adjustment/smith_waterman.c`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.pairs import Around, Pairs
from swdual.alignment.tracebacks import COLUMNS, Tracebacks
from swdual.alignment.tracer import Tracer
from swdual.backend import Progress
from swdual.sequences.frames import TranslatedSequence, count_residues, find_residues
from swdual.sequences.sequence import Sequence as Query

Frames = tuple[int, int]
"""The frame of the query, and that of the targets."""

PairMaker = Callable[[list[int], Frames], tuple[Pairs, NDArray[np.int64] | None]]
"""Returns the query with some of the targets, in this order, all in their frames; and (targets,)
what their scores do not exceed, if that may be more than the score of the hit."""

Keeps = Callable[[int, NDArray[np.int64]], bool]
"""Returns whether an alignment is kept: called with the index of the hit, and its `COLUMNS`."""


class FurtherAlignments(NamedTuple):
    """Alignments of hits besides the best of each, in the order of hits, then as they were found.

    Parameters
    ----------
    hit_indices
        (alignments,) the index of the hit, ascending.
    frames, target_frames
        (alignments,) the frames of query and target: see `QueryResult`.
    scores, unrounded
        (alignments,) raw scores, and the same before they were rounded: see `QueryResult`.
    bits, log_evalues
        (alignments,) bit scores, and natural logarithms of the E-values; not-a-number without
        statistics.
    tracebacks
        The alignments.
    """

    hit_indices: NDArray[np.int64]
    frames: NDArray[np.int8]
    target_frames: NDArray[np.int8]
    scores: NDArray[np.int64]
    unrounded: NDArray[np.float64]
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
        if len(parts) == 1 and not len(parts[0].hit_indices):
            return parts[0]
        pairs = zip(parts, indices, strict=True)
        every = [
            cls.none(),
            *(part._replace(hit_indices=index[part.hit_indices]) for part, index in pairs),
        ]
        whole = cls(
            np.concatenate([part.hit_indices for part in every]),
            np.concatenate([part.frames for part in every]),
            np.concatenate([part.target_frames for part in every]),
            np.concatenate([part.scores for part in every]),
            np.concatenate([part.unrounded for part in every]),
            np.concatenate([part.bits for part in every]),
            np.concatenate([part.log_evalues for part in every]),
            Tracebacks.concatenate([part.tracebacks for part in every]),
        )
        return whole.select(np.argsort(whole.hit_indices, kind="stable"))

    @classmethod
    @cache
    def none(cls) -> Self:
        """Return no alignments."""
        whole, frames, real = np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0)
        return cls(whole, frames, frames, whole, real, real, real, Tracebacks.concatenate([]))

    def select(self, chosen: NDArray[np.int64]) -> Self:
        """Return some of the alignments, given by their indices, such that hits ascend."""
        return type(self)(
            self.hit_indices[chosen],
            self.frames[chosen],
            self.target_frames[chosen],
            self.scores[chosen],
            self.unrounded[chosen],
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
    """An alignment: its frames, its score, its numbers (`COLUMNS`) and its operations."""

    frames: Frames
    score: int
    numbers: NDArray[np.int64]
    runs: NDArray[np.uint32]


class Readings(NamedTuple):
    """In which frames a query is compared with targets.

    Parameters
    ----------
    query
        The query.
    target_lengths
        (targets,) their length as given.
    frames
        The frames of query and target that are compared; of equal scores, the first wins.
    translates_targets
        Whether targets are translated.
    """

    query: Query
    target_lengths: NDArray[np.int64]
    frames: Sequence[Frames]
    translates_targets: bool

    def compared_lengths(self, frames: Frames) -> NDArray[np.int64]:
        """Return (targets,) the residues of each target in the frames: they differ by one."""
        if not self.translates_targets:
            return self.target_lengths
        return count_residues(self.target_lengths, np.array(frames[1]))

    def find_rectangle(self, k: int, frames: Frames, bounds: NDArray[np.int64]) -> list[int]:
        """Return the rows and columns of an alignment of a target in the frames it is found in.

        Parameters
        ----------
        k, frames
            The target, and the frames.
        bounds
            The alignment's places on the sequences as given.
        """
        top, bottom, left, right = bounds.tolist()
        length = len(self.query)
        if isinstance(self.query, TranslatedSequence):
            top, bottom = find_residues(top, bottom, frames[0], length)
        elif frames[0] < 0:
            top, bottom = length - bottom, length - top
        if self.translates_targets:
            left, right = find_residues(left, right, frames[1], int(self.target_lengths[k]))
        return [top, bottom, left, right]

    def place(self, traced: Tracebacks, targets: NDArray[np.int64], frames: Frames) -> Tracebacks:
        """Return alignments with their places on the sequences as given.

        Parameters
        ----------
        traced, targets
            The alignments, and (alignments,) their targets.
        frames
            The frames that they were found in.
        """
        traced = traced.place_in_query(self.query, frames[0])
        if not self.translates_targets:
            return traced
        theirs = np.full(len(targets), frames[1], np.int8)
        return traced.place_in_targets(theirs, self.target_lengths[targets])


class _Search:
    """The further alignments of pairs, found in rounds.

    For all frames that count, `_pending` has the best alignment of a pair around those that were
    reported. The best one is reported next; of equal ones the first in the order of the frames.
    An alignment changes what is pending in its own frames only. So where all alignments are wanted,
    a round reports one in all frames, and the alignments are sorted in the end.
    """

    def __init__(
        self,
        tracer: Tracer,
        make_pairs: PairMaker,
        readings: Readings,
        min_scores: NDArray[np.int64],
        progress: Progress,
    ) -> None:
        self._tracer, self._make_pairs = tracer, make_pairs
        self._readings = readings
        self._min_scores = min_scores
        self._progress = progress
        self._pairs: dict[Frames, tuple[NDArray[np.int64], Pairs]] = {}
        self._pending: dict[tuple[int, Frames], _Found] = {}
        self._forbidden: dict[tuple[int, Frames], list[list[int]]] = {}

    def find(
        self,
        scores: NDArray[np.int64],
        own: Sequence[Frames],
        first: Tracebacks,
        keeps: Keeps,
        max_count: int,
    ) -> list[list[_Found]]:
        """Return the further alignments of each pair: see `find_further`."""
        every = self._readings.frames
        found: list[list[_Found]] = [[] for _ in range(len(scores))]
        wanted: list[tuple[int, Frames]] = []
        for k in np.flatnonzero(scores > 0).tolist():
            self._forbid(k, own[k], first.numbers[:4, k])
            wanted += [(k, frames) for frames in every]
        bounds = np.tile(scores, (len(every), 1))
        while wanted:
            self._align(wanted, bounds)
            wanted = []
            for k in sorted({k for k, _ in self._pending}):
                options = [self._pending[k, f] for f in every if (k, f) in self._pending]
                if max_count:
                    options = [max(options, key=lambda x: x.score)]
                for best in options:
                    del self._pending[k, best.frames]
                    if keeps(k, best.numbers):
                        found[k].append(best)
                    bounds[every.index(best.frames), k] = best.score
                    self._forbid(k, best.frames, best.numbers[:4])
                    wanted.append((k, best.frames))
                if max_count and len(found[k]) == max_count:
                    wanted.pop()
                    for frames in every:
                        self._pending.pop((k, frames), None)
        for some in found:
            some.sort(key=lambda x: (-x.score, every.index(x.frames)))
        return found

    def _forbid(self, k: int, frames: Frames, bounds: NDArray[np.int64]) -> None:
        """Forbid the rectangle of an alignment, in the rows and columns of its frames."""
        rectangle = self._readings.find_rectangle(k, frames, bounds)
        self._forbidden.setdefault((k, frames), []).append(rectangle)

    def _align(self, wanted: list[tuple[int, Frames]], bounds: NDArray[np.int64]) -> None:
        """Find the best alignments of some pairs and frames around their rectangles.

        No score exceeds (frames, pairs) `bounds`, or what the maker of pairs says.
        """
        for number, frames in enumerate(self._readings.frames):
            own = {k for k, other in wanted if other == frames}
            if not own:
                continue
            if frames not in self._pairs:  # all that will ever be wanted are wanted first
                lengths = self._readings.compared_lengths(frames)
                order = np.argsort(-lengths, kind="stable")  # as `Tracer` needs them
                order = order[np.isin(order, [*own])]
                pairs, limits = self._make_pairs(order.tolist(), frames)
                self._pairs[frames] = order, pairs
                if limits is not None:
                    bounds[number, order] = limits
            order, pairs = self._pairs[frames]
            chosen = np.flatnonzero(np.isin(order, [*own]))
            rectangles = [
                self._forbidden.get((k, frames), []) if k in own else [] for k in order.tolist()
            ]
            around = Around.of(rectangles, self._min_scores[number, order])
            scores, traced = self._tracer.trace_around(
                pairs, chosen, bounds[number, order], around, self._progress
            )
            traced = self._readings.place(traced, order[chosen], frames)
            for place, (k, score) in enumerate(
                zip(order[chosen].tolist(), scores.tolist(), strict=True)
            ):
                if score:
                    numbers, runs = traced.numbers[:, place], traced.runs_of(place)
                    self._pending[k, frames] = _Found(frames, score, numbers, runs)


def find_further(
    tracer: Tracer,
    make_pairs: PairMaker,
    readings: Readings,
    *,
    scores: NDArray[np.int64],
    frames: Sequence[Frames],
    first: Tracebacks,
    min_scores: NDArray[np.int64],
    keeps: Keeps,
    max_count: int,
    progress: Progress,
) -> FurtherAlignments:
    """Return the further alignments of hits, without bit scores and E-values.

    Parameters
    ----------
    tracer, make_pairs
        Finds alignments, and returns the pairs that it aligns.
    readings
        What is compared.
    scores, frames, first
        The best alignments, and their frames. Scores are in the units of the pairs.
    min_scores
        (frames, hits) the smallest score of a further alignment in each of the frames of
        `readings`, at least 1.
    keeps
        Chooses alignments; others are left out, and do not count.
    max_count
        Maximum number of further alignments of a hit; 0 sets no limit.
    progress
        Called with 0 now and then; may raise to stop the work.
    """
    search = _Search(tracer, make_pairs, readings, min_scores, progress)
    lists = search.find(scores, frames, first, keeps, max_count)
    found = [each for some in lists for each in some]
    unknown = np.full(len(found), np.nan)
    numbers = np.empty((len(COLUMNS), len(found)), np.int64)
    for k, each in enumerate(found):
        numbers[:, k] = each.numbers
    return FurtherAlignments(
        np.repeat(np.arange(len(lists)), [len(some) for some in lists]),
        np.array([each.frames[0] for each in found], np.int8),
        np.array([each.frames[1] for each in found], np.int8),
        np.array([each.score for each in found], np.int64),
        np.array([each.score for each in found], np.float64),
        unknown,
        unknown,
        Tracebacks.of(numbers, [each.runs for each in found]),
    )


def find_others(
    tracer: Tracer,
    query: Query,
    targets: Sequence[bytes],
    scores: NDArray[np.int64],
    first: Tracebacks,
    min_score: int,
    progress: Progress,
) -> FurtherAlignments:
    """Return the alignments of proteins besides the best, with plain scores from a limit on.

    Parameters
    ----------
    tracer
        Finds alignments.
    query, targets
        The query, and residue codes.
    scores, first
        (targets,) the scores of the best alignments, and these.
    min_score
        The limit.
    progress
        Called with 0 now and then; may raise to stop the work.
    """
    lengths = np.array([len(codes) for codes in targets], np.int64)

    def make_pairs(chosen: list[int], _: Frames) -> tuple[Pairs, None]:
        some = [targets[k] for k in chosen]
        return tracer.pair(query, some, 1, some), None

    return find_further(
        tracer,
        make_pairs,
        Readings(query, lengths, [(1, 1)], translates_targets=False),
        scores=scores,
        frames=[(1, 1)] * len(targets),
        first=first,
        min_scores=np.full((1, len(targets)), min_score),
        keeps=lambda k, numbers: True,
        max_count=0,
        progress=progress,
    )
