"""Adjusts the scores of the candidates of a query, and aligns them, as BLAST does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.pairs import Pairs
from swdual.alignment.tracebacks import Tracebacks
from swdual.alignment.tracer import Tracer
from swdual.backend import Progress
from swdual.composition.adjust import LETTERS, MAX_X_SCORE, PYL, STOP, X, adjust
from swdual.composition.bounds import CEILINGS, bound_scores, bound_targets
from swdual.composition.near_identical import (
    find_best_part,
    find_dense,
    find_max_drop,
    find_min_score,
    is_near_identical,
)
from swdual.composition.positions import PositionTables, adjust_positions, find_ratios
from swdual.composition.rescore import rescore
from swdual.composition.sequences import prepare_query
from swdual.composition.tables import FORBIDDEN, SCALE, find_tables
from swdual.composition.targets import mask_targets
from swdual.lanes.score_widths import number_rows
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence as Query
from swdual.statistics.parameters import gapped

UNMASKED = 4
"""Added to a kind of adjustment: the target was not masked, because it is nearly identical."""


_KINDS = ("none", "scaled", "optimised")


def describe_adjustment(adjustment: int) -> str:
    """Return an adjustment in words.

    Parameters
    ----------
    adjustment
        One of `AdjustedScores.adjustments`.

    >>> describe_adjustment(1), describe_adjustment(2 | UNMASKED)
    ('scaled', 'optimised, not masked')
    """
    kind = _KINDS[adjustment & ~UNMASKED]
    return f"{kind}, not masked" if adjustment & UNMASKED else kind


class AdjustedScores(NamedTuple):
    """Adjusted scores of some targets of one query.

    Parameters
    ----------
    scaled
        (targets,) scores in units of 1 / `SCALE`.
    adjustments
        (targets,) how the matrix was adjusted: 0 not, 1 scaled, 2 optimised; plus `UNMASKED`.
    lambda_ratios
        (targets,) the ratio by which the matrix was scaled; 1 otherwise.
    """

    scaled: NDArray[np.int64]
    adjustments: NDArray[np.int8]
    lambda_ratios: NDArray[np.float64]

    @classmethod
    def of_plain(cls, scores: NDArray[np.int64]) -> Self:
        """Return scores that were computed with the plain matrix, in its units."""
        count = len(scores)
        return cls(SCALE * scores, np.zeros(count, np.int8), np.ones(count))

    @property
    def raw(self) -> NDArray[np.int64]:
        """The scores as whole numbers, rounded to the nearest."""
        return (self.scaled + SCALE // 2) // SCALE

    @property
    def unrounded(self) -> NDArray[np.float64]:
        """The scores in the units of the plain matrix, not rounded."""
        return self.scaled / SCALE

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return the scores of some of the targets."""
        return type(self)(
            self.scaled[indices], self.adjustments[indices], self.lambda_ratios[indices]
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Return the scores of several parts after each other."""
        return cls(
            np.concatenate([np.empty(0, np.int64), *(part.scaled for part in parts)]),
            np.concatenate([np.empty(0, np.int8), *(part.adjustments for part in parts)]),
            np.concatenate([np.empty(0), *(part.lambda_ratios for part in parts)]),
        )


class Adjusted(NamedTuple):
    """Adjusted scores, and what they were computed with.

    Parameters
    ----------
    scores
        The scores.
    matrices
        (targets, 32, 32) scores of query codes with target codes, in units of 1 / `SCALE`. None
        for profiles, whose tables are large: they are computed again for alignments.
    masked
        Residue codes of the targets: masked, unless they are nearly identical to the query.
    """

    scores: AdjustedScores
    matrices: NDArray[np.signedinteger] | None
    masked: Sequence[bytes]

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return the same of some of the targets."""
        masked = [self.masked[k] for k in indices.tolist()]
        matrices = None if self.matrices is None else self.matrices[indices]
        return type(self)(self.scores.take(indices), matrices, masked)


class Adjuster:
    """Composition-based statistics under one scoring scheme; threads may use it at the same time.

    Low-complexity regions of a target are masked first, with SEG, unless query and target are
    nearly identical. Then the matrix is adjusted to the compositions of the two, and the target is
    scored and aligned again with it (Schaffer et al. 2001, Nucleic Acids Research 29, 2994; Yu and
    Altschul 2005, Bioinformatics 21, 902; Altschul et al. 2005, FEBS Journal 272, 5101).

    Parameters
    ----------
    scheme
        The plain matrix, and the gap penalties, which are never adjusted.
    mode
        From 1 to 3: see `SearchOptions.comp_based_stats`.
    grid_bytes
        Memory for the alignments of one thread: see `Tracer`.

    Raises
    ------
    StatisticsUnavailable
        If there are no residue pair frequencies for the matrix.
    """

    def __init__(self, scheme: ScoringScheme, mode: int, grid_bytes: int | None = None) -> None:
        self._mode = mode
        self._scheme = scheme
        self._tables = find_tables(scheme)
        self._lambda = gapped(scheme).lambda_
        self._tracer = Tracer(scheme, grid_bytes)

    def bound(
        self,
        query: bytes,
        targets: Sequence[bytes],
        masked: Sequence[bytes],
        progress: Progress = lambda cells: None,
        positions: PositionTables | None = None,
    ) -> NDArray[np.float64]:
        """Return what the scores of targets do not exceed in mode 1: see `bounds`.

        Parameters
        ----------
        query, targets, progress, positions
            As for `adjust`.
        masked
            What `mask_targets` returns for the targets.

        Returns
        -------
        (targets,) bounds, in the units of the plain matrix.
        """
        pairs = zip(masked, targets, strict=True)
        changed = np.flatnonzero([one != other for one, other in pairs])
        unmasked = [targets[k] for k in changed.tolist()]
        found, again = (
            self._bound(query, some, positions, progress) for some in (masked, unmasked)
        )
        found[changed] = np.maximum(found[changed], again)
        return found

    def _bound(
        self,
        query: bytes,
        targets: Sequence[bytes],
        positions: PositionTables | None,
        progress: Progress,
    ) -> NDArray[np.float64]:
        """Return the bounds of targets, masked as they are."""
        if positions is None:
            scores, start = self._tables.scores, self._tables.start
            table = np.full(start.shape, float(FORBIDDEN))
            table[:STOP, :LETTERS] = scores[:STOP]
            table[[X, PYL]] = MAX_X_SCORE
            bounds = bound_scores(table, start)[prepare_query(query)]
            return bound_targets(bounds, targets, self._scheme, progress)
        ceilings = np.ceil(CEILINGS * find_ratios(positions, targets)[1])
        found = np.empty(len(targets))
        for ceiling in np.unique(ceilings):
            here = np.flatnonzero(ceilings == ceiling)
            bounds = bound_scores(positions.scores, positions.start, ceiling / CEILINGS)
            some = [targets[k] for k in here.tolist()]
            found[here] = bound_targets(bounds, some, self._scheme, progress)
        return found

    def adjust(
        self,
        query: bytes,
        targets: Sequence[bytes],
        scores: NDArray[np.int64],
        progress: Progress = lambda cells: None,
        masked: Sequence[bytes] | None = None,
        positions: PositionTables | None = None,
    ) -> Adjusted:
        """Return the adjusted scores of targets.

        Parameters
        ----------
        query, targets
            Residue codes; masked residues of the query are X, the targets are not masked.
        scores
            (targets,) their plain scores.
        progress
            Called with 0 now and then; may raise to stop the work.
        masked
            What `mask_targets` returns for the targets, if that is known.
        positions
            The scores of the query's positions, if it is a profile.
        """
        chosen = [*(mask_targets(targets) if masked is None else masked)]
        pairs = zip(chosen, targets, strict=True)
        changed = np.array([one != other for one, other in pairs], bool)
        plain = None if positions is None else positions.plain
        identical = self._find_near_identical(query, targets, scores, changed, progress, plain)
        for k in identical.tolist():
            chosen[k] = targets[k]
        adjusted = self._adjust(query, chosen, positions, progress)
        adjusted.scores.adjustments[identical] |= UNMASKED
        return adjusted

    def _adjust(
        self,
        query: bytes,
        masked: Sequence[bytes],
        positions: PositionTables | None,
        progress: Progress,
    ) -> Adjusted:
        """Return the adjusted scores of targets that are masked already."""
        if positions is None:
            matrices, kinds, ratios = adjust(query, masked, self._tables, self._mode)
            progress(0)
            scaled = self._score(prepare_query(query), masked, matrices, progress)
            return Adjusted(AdjustedScores(scaled, kinds, ratios), matrices, masked)
        rows = positions.rows
        extremes = self._find_extremes(positions)
        parts = []
        order = _sort_by_length(masked)
        for chosen in _cut(order, positions.targets_at_once):
            some = [masked[k] for k in chosen.tolist()]
            tables, kinds, ratios = adjust_positions(positions, some, extremes[0])
            progress(0)
            scaled = self._score(rows, some, tables, progress, extremes)
            parts.append(AdjustedScores(scaled, kinds, ratios))
        scores = AdjustedScores.concatenate(parts).take(np.argsort(order))
        return Adjusted(scores, None, masked)

    def _find_extremes(self, positions: PositionTables) -> tuple[int, int]:
        """Return the smallest score that the tables of a profile must hold, and the largest.

        A pair that scores less than a gap of one residue in each sequence is in no best alignment.
        """
        first_gap = self._tables.gap_open + self._tables.gap_extend
        return max(-(2 * first_gap + 1), FORBIDDEN), positions.max_score

    def trace(
        self,
        query: Query,
        targets: Sequence[bytes],
        adjusted: Adjusted,
        progress: Progress = lambda cells: None,
        positions: PositionTables | None = None,
    ) -> Tracebacks:
        """Return the alignments of a query with targets that were adjusted.

        Parameters
        ----------
        query
            The query.
        targets
            Residue codes, not masked: equal letters and positive scores are counted in these.
        adjusted
            The result of `adjust` for these targets.
        progress
            Called with 0 now and then; may raise to stop the work.
        positions
            As for `adjust`.
        """
        if positions is None:
            assert adjusted.matrices is not None
            return self._trace(query, targets, adjusted, prepare_query(query.codes), progress)
        rows = positions.rows
        extremes = self._find_extremes(positions)
        parts = []
        order = _sort_by_length(targets)
        for chosen in _cut(order, positions.targets_at_once):
            part = adjusted.take(chosen)
            tables = adjust_positions(positions, part.masked, extremes[0]).tables
            part = part._replace(matrices=tables)
            some = [targets[k] for k in chosen.tolist()]
            parts.append(self._trace(query, some, part, rows, progress, extremes))
        return Tracebacks.concatenate(parts).take(np.argsort(order))

    def align(
        self,
        query: Query,
        targets: Sequence[bytes],
        adjustments: NDArray[np.int8],
        positions: PositionTables | None = None,
    ) -> Tracebacks:
        """Return the alignments of hits whose matrices are not at hand.

        Parameters
        ----------
        query
            The query.
        targets
            Residue codes, not masked.
        adjustments
            (targets,) how they were adjusted: see `AdjustedScores`.
        positions
            As for `adjust`.
        """
        masked = _mask_again(targets, adjustments)
        adjusted = self._adjust(query.codes, masked, positions, lambda cells: None)
        return self.trace(query, targets, adjusted, positions=positions)

    def pair(
        self,
        query: Query,
        targets: Sequence[bytes],
        adjustments: NDArray[np.int8],
        positions: PositionTables | None,
        progress: Progress,
    ) -> Pairs:
        """Return a query with hits in descending length, for `Tracer.trace_around`.

        Parameters
        ----------
        query, targets, adjustments, positions
            As for `align`; of a profile at most `PositionTables.targets_at_once` targets.
        progress
            Called with 0 now and then; may raise to stop the work.
        """
        masked = _mask_again(targets, adjustments)
        rows: NDArray[np.integer]
        if positions is None:
            rows = prepare_query(query.codes)
            matrices, _, _ = adjust(query.codes, masked, self._tables, self._mode)
            extremes = None
        else:
            rows = positions.rows
            extremes = self._find_extremes(positions)
            matrices = adjust_positions(positions, masked, extremes[0]).tables
        progress(0)
        gap_penalties = self._tables.gap_open, self._tables.gap_extend
        return self._tracer.pair_adjusted(
            rows, masked, matrices, gap_penalties, query.unmasked, targets, extremes
        )

    def _score(
        self,
        rows: NDArray[np.integer],
        masked: Sequence[bytes],
        matrices: NDArray[np.signedinteger],
        progress: Progress,
        extremes: tuple[int, int] | None = None,
    ) -> NDArray[np.int64]:
        gap_penalties = self._tables.gap_open, self._tables.gap_extend
        return rescore(rows, masked, matrices, *gap_penalties, progress, extremes=extremes)

    def _trace(
        self,
        query: Query,
        targets: Sequence[bytes],
        adjusted: Adjusted,
        rows: NDArray[np.integer],
        progress: Progress,
        extremes: tuple[int, int] | None = None,
    ) -> Tracebacks:
        """Return the alignments of targets whose matrices are at hand."""
        assert adjusted.matrices is not None
        return self._tracer.trace_adjusted(
            rows,
            adjusted.masked,
            adjusted.matrices,
            self._tables.gap_open,
            self._tables.gap_extend,
            adjusted.scores.scaled,
            query.unmasked,
            targets,
            progress,
            extremes,
        )

    def _find_near_identical(
        self,
        query: bytes,
        targets: Sequence[bytes],
        scores: NDArray[np.int64],
        changed: NDArray[np.bool_],
        progress: Progress,
        profile: NDArray[np.int32] | None = None,
    ) -> NDArray[np.int64]:
        """Return indices of the targets with masked letters that are nearly identical."""
        scheme, lambda_ = self._scheme, self._lambda
        floor = find_min_score(query, scheme, lambda_, profile)
        asked = np.flatnonzero(changed & (scores >= floor))
        if len(asked) and len(query):
            unmasked = [targets[k] for k in asked.tolist()]
            dense = find_dense(query, unmasked, floor, scheme, lambda_, profile)
            asked = asked[dense]
        chosen = [targets[k] for k in asked.tolist()]
        frames = np.ones(len(asked), np.int8)
        whole = Query("", query)
        traced = self._tracer(whole, chosen, scores[asked], frames, progress, profile=profile)
        rows, max_drop = number_rows(query, profile), find_max_drop(lambda_)
        plain = (scheme.matrix.scores if profile is None else profile).astype(np.int64)
        bounds = np.zeros(4, np.int64)
        passing = []
        for k, target in enumerate(chosen):
            score = find_best_part(
                rows,
                np.frombuffer(target, np.uint8),
                traced.numbers[:, k],
                traced.runs[traced.run_starts[k] : traced.run_starts[k + 1]],
                plain,
                scheme.gap_open,
                scheme.gap_extend,
                max_drop,
                bounds,
            )
            passing.append(is_near_identical(query, target, bounds, score, lambda_))
        identical: NDArray[np.int64] = asked[np.array(passing, bool)]
        return identical


def _sort_by_length(targets: Sequence[bytes]) -> NDArray[np.int64]:
    """Return the indices of targets by descending length, as kernels take them."""
    lengths = np.array([len(codes) for codes in targets], np.int64)
    return np.argsort(-lengths, kind="stable")


def _cut(order: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """Return parts of at most so many numbers."""
    return [order[first : first + size] for first in range(0, len(order), size)]


def _mask_again(targets: Sequence[bytes], adjustments: NDArray[np.int8]) -> list[bytes]:
    """Return targets as they were masked when they were adjusted."""
    masked = mask_targets(targets)
    for k in np.flatnonzero(adjustments & UNMASKED).tolist():
        masked[k] = targets[k]
    return masked
