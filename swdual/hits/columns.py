"""The columns of a query's hits: their numbers, their targets and their best alignments.

What is looked up or aligned late is kept: the targets' titles and residues, the alignments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracebacks import Tracebacks
from swdual.hits.adjustment_counts import NO_ADJUSTMENT, AdjustmentCounts
from swdual.hits.targets import TargetRecords
from swdual.profiles.query import find_positions, find_scores
from swdual.request.search_parameters import AlignmentFilters, SearchParameters
from swdual.runtime.keywords import plain_number, require_range
from swdual.sequences.sequence import Sequence
from swdual.statistics.model import Statistics

MAX_PIECE_WEIGHT, HIT_WEIGHT = 4 << 20, 400
"""Residues of queries and targets in a piece of a result, and the weight of a hit besides."""

LATE_GRID_BYTES = 16 << 20
"""Memory for the lines of alignments that are computed when they are first used."""

HIT_COLUMNS = (
    *("scores", "unrounded", "ordinals", "target_lengths", "bits", "log_evalues"),
    *("frames", "target_frames"),
    *("adjustments", "lambda_ratios"),
)


@dataclass(frozen=True, eq=False)
class HitColumns:
    """The hits of one query, as columns: `swdual.QueryResult` tells what each is."""

    query: Sequence
    number: int
    scores: NDArray[np.int64]
    unrounded: NDArray[np.float64]
    ordinals: NDArray[np.int64]
    target_lengths: NDArray[np.int64]
    frames: NDArray[np.int8]
    target_frames: NDArray[np.int8]
    bits: NDArray[np.float64]
    log_evalues: NDArray[np.float64]
    adjustments: NDArray[np.int8]
    lambda_ratios: NDArray[np.float64]
    statistics: Statistics | None
    params: SearchParameters
    targets: TargetRecords = field(repr=False)
    device: str = "cpu"
    traced: Tracebacks | None = None
    before: int = 0
    adjustment_counts: AdjustmentCounts = NO_ADJUSTMENT
    round: int = 0

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def titles(self) -> list[str]:
        """Header lines of the targets."""
        return self.targets.headers(self.ordinals) if len(self) else []

    @cached_property
    def taxids(self) -> list[tuple[int, ...]]:
        """Taxonomy ids of the targets, of each in ascending order."""
        return self.targets.taxids(self.ordinals)

    @cached_property
    def target_codes(self) -> list[bytes]:
        """Residue codes of the targets, with `LOWER` at letters that a mask of targets masks."""
        return self.targets.codes(self.ordinals)

    @cached_property
    def evalues(self) -> NDArray[np.float64]:
        """E-values; those below about 1e-308 are 0, but their logarithms are not lost."""
        # The last digit of NumPy's function depends on the instructions that the processor has.
        return np.array([*map(math.exp, self.log_evalues.tolist())], np.float64)

    @cached_property
    def tracebacks(self) -> Tracebacks:
        """The alignments, as columns."""
        # A search that writes alignments has found them in parallel. Others are found here, when
        # they are first used.
        if self.traced is not None:
            return self.traced
        if self.params.adjusts:
            from swdual.hits.adjusters import make_adjuster

            positions = find_positions(self.query)
            compared = self._compared_codes, self.adjustments, self.frames
            adjuster = make_adjuster(self.params, self.statistics, LATE_GRID_BYTES)
            traced = adjuster.align(self.query, *compared, positions)
            return self._place_in_targets(traced)
        from swdual.alignment.tracer import Tracer

        tracer = Tracer(self.params.scheme, LATE_GRID_BYTES)
        targets, unmasked_targets = self.params.read_targets(self._compared_codes)
        traced = tracer(
            self.query,
            targets,
            self.scores,
            self.frames,
            unmasked_targets=unmasked_targets,
            profile=find_scores(self.query),
        )
        return self._place_in_targets(traced)

    @property
    def _compared_codes(self) -> list[bytes]:
        """Residue codes of the frames of the targets that were compared."""
        pairs = zip(self.target_codes, self.target_frames.tolist(), strict=True)
        return [self.params.comparison.read_target(codes, frame) for codes, frame in pairs]

    def _place_in_targets(self, traced: Tracebacks) -> Tracebacks:
        """Return alignments with their places in the targets as given."""
        frames, lengths = self.target_frames, self.target_lengths
        return self.params.comparison.place(traced, frames, lengths)

    @property
    def compared_lengths(self) -> NDArray[np.int64]:
        """Residues of what was compared of each target."""
        return self.params.comparison.measure_targets(self.target_lengths, self.target_frames)

    @property
    def evaluated_lengths(self) -> NDArray[np.int64]:
        """(hits,) lengths of the targets that E-values refer to.

        Of adjusted scores with translated targets, BLAST takes the nucleotides, unless it has sum
        statistics (tblastn 2.12): so does this.
        """
        if self.params.adjusts and not self.params.sum_stats:
            return self.target_lengths
        return self.compared_lengths

    @cached_property
    def shown_frames(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The frames of query and target as BLAST tells them, (hits,) each."""
        return self.params.comparison.show_frames(
            self.query, self.frames, self.target_frames, lambda: self.tracebacks.query_places
        )

    def with_tracebacks(self, traced: Tracebacks) -> Self:
        """Return the same result with these alignments, whose places are those compared."""
        return replace(self, traced=self._place_in_targets(traced))

    def subset(self, indices: NDArray[np.int64]) -> Self:
        """Return the same with some of the hits, in the order of `indices`."""
        smaller = replace(self, **self._take(indices))
        if "titles" in self.__dict__:
            smaller.__dict__["titles"] = [self.titles[k] for k in indices.tolist()]
        return smaller

    def _take(self, indices: NDArray[np.int64]) -> dict[str, Any]:
        """Return the columns of some of the hits, by the names of their fields."""
        traced = self.__dict__.get("tracebacks", self.traced)
        columns = {name: getattr(self, name)[indices] for name in HIT_COLUMNS}
        return columns | {"traced": None if traced is None else traced.take(indices)}

    def pieces(self) -> Iterator[Self]:
        """Yield the hits in order, as results small enough to be written in little memory."""
        max_hits = MAX_PIECE_WEIGHT // HIT_WEIGHT
        first = 0
        while first < len(self) or first == 0:
            lengths = self.target_lengths[first : first + max_hits]
            # At least one hit, however long its target is.
            weights = np.cumsum(lengths + len(self.query.codes) + HIT_WEIGHT)
            count = max(1, int(np.searchsorted(weights, MAX_PIECE_WEIGHT, "right")))
            if count >= len(self):
                yield self
            else:
                indices = np.arange(first, min(first + count, len(self)))
                yield replace(self.subset(indices), before=self.before + first)
            first += count

    def top(self, count: int) -> Self:
        """Return a result with the first `count` hits.

        Raises
        ------
        InputError
            If the count is no whole number, or negative.
        """
        count = int(plain_number("count", count, int))
        require_range("count", count, 0, percentage=False)
        return self.subset(np.arange(min(count, len(self))))

    def within(self, percent: float) -> Self:
        """Return a result with the hits that score at most `percent` percent below the best.

        Hits of equal scores are kept or left out together.

        Raises
        ------
        InputError
            If it is no percentage.
        """
        plain_number("percent", percent, float)
        require_range("percent", percent, 0, percentage=True)
        if not len(self):
            return self
        cutoff = score_cutoff(int(self.scores.max()), percent)
        return self.subset(np.flatnonzero(self.scores >= cutoff))

    def is_passing(self, limits: AlignmentFilters) -> NDArray[np.bool_]:
        """Return (hits,) whether the alignment of each hit passes all limits."""
        if not limits.are_set:
            return np.ones(len(self), bool)
        column, lengths = self.tracebacks.column, self.target_lengths
        passing: NDArray[np.bool_] = limits.is_passing(column, len(self.query.codes), lengths)
        return passing


def score_cutoff(best: int, percent: float) -> int:
    """Return the smallest score that is at most some percent below the best.

    Parameters
    ----------
    best
        The best score.
    percent
        From 0 to 100.

    >>> score_cutoff(200, 10), score_cutoff(1000, 0.1), score_cutoff(7, 0)
    (180, 999, 7)
    """
    # Rounding may make 999.0000000000001 of 99.9 % of 1000.
    return math.ceil(best * (100 - percent) / 100 - 1e-9)
