"""Adjusts the scores of the candidates of a query, and aligns them, as BLAST does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.pairs import Pairs, TargetMatrices
from swdual.alignment.tracebacks import Tracebacks
from swdual.alignment.tracer import Tracer
from swdual.backend import Progress
from swdual.composition.adjust import LETTERS, MAX_X_SCORE, PYL, STOP, X, adjust
from swdual.composition.adjusted import UNMASKED, Adjusted, AdjustedScores
from swdual.composition.bounds import CEILINGS, bound_scores, bound_targets
from swdual.composition.near_identical import (
    find_dense,
    find_extension,
    find_min_score,
    is_near_identical,
)
from swdual.composition.positions import PositionTables, adjust_positions, find_ratios
from swdual.composition.region_finder import RegionFinder
from swdual.composition.regions import Regions
from swdual.composition.rescore import rescore
from swdual.composition.sequences import prepare_query
from swdual.composition.tables import FORBIDDEN, find_tables
from swdual.composition.targets import mask_targets
from swdual.lanes.score_widths import number_rows
from swdual.sequences.frames import read_frame
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence as Query
from swdual.statistics.parameters import gapped


class Adjuster:
    """Composition-based statistics under one scoring scheme; threads may use it at the same time.

    Low-complexity regions of a target are masked first, with SEG, unless query and target are
    nearly identical. Then the matrix is adjusted to the compositions of the two, and the target is
    scored and aligned again with it (Schaffer et al. 2001, Nucleic Acids Research 29, 2994; Yu and
    Altschul 2005, Bioinformatics 21, 902; Altschul et al. 2005, FEBS Journal 272, 5101). Of a
    translated sequence, letters near the alignment under the plain matrix count: see `regions`. A
    translated target is cut to the window there.

    Parameters
    ----------
    scheme
        The plain matrix, and the gap penalties, which are never adjusted.
    mode
        From 1 to 3: see `SearchOptions.comp_based_stats`.
    grid_bytes
        Memory for the alignments of one thread: see `Tracer`.
    translated
        What is translated: "query", "targets", or "" for proteins.
    find_joined_score
        See `RegionFinder`.

    Raises
    ------
    StatisticsUnavailable
        If there are no residue pair frequencies for the matrix.
    """

    def __init__(
        self,
        scheme: ScoringScheme,
        mode: int,
        grid_bytes: int | None = None,
        translated: str = "",
        find_joined_score: Callable[[int], int] | None = None,
    ) -> None:
        self._mode = mode
        self._scheme = scheme
        self._tables = find_tables(scheme)
        self._lambda = gapped(scheme).lambda_
        self._tracer = Tracer(scheme, grid_bytes)
        self._region_finder = (
            RegionFinder(scheme, self._tracer, translated, find_joined_score)
            if translated
            else None
        )

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
        # Nearly identical targets are not masked, and which these are is not known yet.
        unmasked = _take(targets, changed)
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
        query: Query,
        targets: Sequence[bytes],
        scores: NDArray[np.int64],
        frames: NDArray[np.int8] | None = None,
        progress: Progress = lambda cells: None,
        masked: Sequence[bytes] | None = None,
        positions: PositionTables | None = None,
        cutoffs: NDArray[np.int64] | None = None,
    ) -> Adjusted:
        """Return the adjusted scores of targets.

        Parameters
        ----------
        query, targets
            The query, whose masked residues are X, and residue codes, not masked.
        scores, frames
            (targets,) their plain scores, and the frames of the query that have them; by default 1.
        progress
            Called with 0 now and then; may raise to stop the work.
        masked
            What `mask_targets` returns for the targets, if that is known.
        positions
            The scores of the query's positions, if it is a profile.
        cutoffs
            (targets,) the lowest adjusted scores that are asked for, in units of 1 / `SCALE`, if
            not all are: those below may be upper bounds.
        """
        parts, indices = [], []
        for frame, here in _split_frames(frames, len(targets)):
            some = _take(targets, here)
            some_masked = None if masked is None else _take(masked, here)
            asked = None if cutoffs is None else cutoffs[here]
            codes = read_frame(query, frame).codes
            parts.append(
                self._adjust_frame(
                    codes, some, scores[here], progress, some_masked, positions, asked
                )
            )
            indices.append(here)
        return Adjusted.join(parts, indices)

    def _adjust_frame(
        self,
        query: bytes,
        targets: Sequence[bytes],
        scores: NDArray[np.int64],
        progress: Progress,
        masked: Sequence[bytes] | None,
        positions: PositionTables | None,
        cutoffs: NDArray[np.int64] | None,
    ) -> Adjusted:
        """Return the adjusted scores of targets with one frame of the query: see `adjust`."""
        regions = self._find_regions(query, targets, progress, scores)
        targets, firsts, rows = _cut_windows(targets, regions)
        chosen = [*(mask_targets(targets) if masked is None else masked)]
        # Nearly identical targets stay unmasked; only those with masked letters need be asked.
        pairs = zip(chosen, targets, strict=True)
        changed = np.array([one != other for one, other in pairs], bool)
        plain = None if positions is None else positions.plain
        identical = self._find_near_identical(query, targets, scores, changed, progress, plain)
        for k in identical.tolist():
            chosen[k] = targets[k]
        adjusted = self._adjust(query, chosen, positions, progress, rows, cutoffs)
        adjusted.scores.adjustments[identical] |= UNMASKED
        return adjusted._replace(firsts=firsts)

    def _find_regions(
        self,
        query: bytes,
        targets: Sequence[bytes],
        progress: Progress,
        scores: NDArray[np.int64] | None = None,
    ) -> Regions | None:
        """Return the letters that count: see `RegionFinder.find`; None if all do."""
        if self._region_finder is None:
            return None
        return self._region_finder.find(query, targets, progress, scores)

    def _adjust(
        self,
        query: bytes,
        masked: Sequence[bytes],
        positions: PositionTables | None,
        progress: Progress,
        regions: NDArray[np.int64] | None = None,
        cutoffs: NDArray[np.int64] | None = None,
    ) -> Adjusted:
        """Return the adjusted scores of whole targets that are masked already."""
        firsts = np.zeros(len(masked), np.int64)
        if positions is None:
            matrices, kinds, ratios = adjust(query, masked, self._tables, self._mode, regions)
            progress(0)
            prepared = prepare_query(query)
            scoring = self._price_gaps(matrices)
            scaled = rescore(prepared, masked, scoring, progress, cutoffs=cutoffs)
            return Adjusted(AdjustedScores(scaled, kinds, ratios), matrices, masked, firsts)
        rows = positions.rows
        # The tables of a profile are as long as the query: few are in memory at a time. Bounds of
        # their scores are the profile's, so that no table is searched for its own.
        extremes = self._find_extremes(positions)
        parts = []
        order = _sort_by_length(masked)
        for chosen in _cut(order, positions.targets_at_once):
            some = _take(masked, chosen)
            tables, kinds, ratios = adjust_positions(positions, some, extremes[0])
            progress(0)
            scaled = rescore(rows, some, self._price_gaps(tables, extremes), progress)
            parts.append(AdjustedScores(scaled, kinds, ratios))
        scores = AdjustedScores.concatenate(parts).take(np.argsort(order))
        return Adjusted(scores, None, masked, firsts)

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
        frames: NDArray[np.int8] | None = None,
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
        frames, progress, positions
            As for `adjust`.
        """
        parts, indices = [], []
        for frame, here in _split_frames(frames, len(targets)):
            read = read_frame(query, frame)
            some, part = _take(targets, here), adjusted.take(here)
            traced = self._trace_frame(read, some, part, progress, positions)
            parts.append(traced.place_in_query(query, frame))
            indices.append(here)
        return Tracebacks.concatenate(parts).take(np.argsort(np.concatenate(indices)))

    def _trace_frame(
        self,
        query: Query,
        targets: Sequence[bytes],
        adjusted: Adjusted,
        progress: Progress,
        positions: PositionTables | None,
    ) -> Tracebacks:
        """Return the alignments of targets with one frame of the query: see `trace`."""
        if positions is None:
            assert adjusted.matrices is not None
            firsts = adjusted.firsts
            # Only the window of a translated target was adjusted, so only that is aligned.
            windows = [
                codes[first : first + len(masked)]
                for codes, masked, first in zip(
                    targets, adjusted.masked, firsts.tolist(), strict=True
                )
            ]
            traced = self._trace(query, windows, adjusted, prepare_query(query.codes), progress)
            return traced.shift_targets(firsts)
        rows = positions.rows
        extremes = self._find_extremes(positions)
        parts = []
        order = _sort_by_length(targets)
        for chosen in _cut(order, positions.targets_at_once):
            part = adjusted.take(chosen)
            tables = adjust_positions(positions, part.masked, extremes[0]).tables
            part = part._replace(matrices=tables)
            parts.append(self._trace(query, _take(targets, chosen), part, rows, progress, extremes))
        return Tracebacks.concatenate(parts).take(np.argsort(order))

    def align(
        self,
        query: Query,
        targets: Sequence[bytes],
        adjustments: NDArray[np.int8],
        frames: NDArray[np.int8],
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
        frames, positions
            As for `adjust`.
        """
        parts, indices = [], []
        for frame, here in _split_frames(frames, len(targets)):
            codes, whole = read_frame(query, frame).codes, _take(targets, here)
            regions = self._find_regions(codes, whole, lambda cells: None)
            windows, firsts, rows = _cut_windows(whole, regions)
            masked = _mask_again(windows, adjustments[here])
            adjusted = self._adjust(codes, masked, positions, lambda cells: None, rows)
            parts.append(adjusted._replace(firsts=firsts))
            indices.append(here)
        return self.trace(
            query, targets, Adjusted.join(parts, indices), frames, positions=positions
        )

    def pair(
        self,
        query: Query,
        targets: Sequence[bytes],
        frame: int,
        adjustments: NDArray[np.int8],
        positions: PositionTables | None,
        progress: Progress,
    ) -> tuple[Pairs, NDArray[np.int64] | None]:
        """Return a query with hits in descending length, for `Tracer.trace_around`.

        Parameters
        ----------
        query, targets, adjustments, positions
            As for `align`; of a profile at most `PositionTables.targets_at_once` targets.
        frame
            The frame of the query.
        progress
            Called with 0 now and then; may raise to stop the work.

        Returns
        -------
        The pairs, and (targets,) the scores of translated ones, which may have a higher score in
        another frame than in that of the hit.
        """
        masked = _mask_again(targets, adjustments)
        read = read_frame(query, frame)
        rows: NDArray[np.integer]
        regions = None
        if positions is None:
            rows = prepare_query(read.codes)
            regions = self._find_regions(read.codes, targets, progress)
            counted = None if regions is None else regions.rows
            matrices, _, _ = adjust(read.codes, masked, self._tables, self._mode, counted)
            extremes = None
        else:
            rows = positions.rows
            extremes = self._find_extremes(positions)
            matrices = adjust_positions(positions, masked, extremes[0]).tables
        progress(0)
        scoring = self._price_gaps(matrices, extremes)
        pairs = self._tracer.pair_adjusted(rows, masked, scoring, read.unmasked, targets)
        if regions is None:
            return pairs, None
        return pairs, rescore(rows, masked, scoring, progress)

    def _price_gaps(
        self, matrices: NDArray[np.signedinteger], extremes: tuple[int, int] | None = None
    ) -> TargetMatrices:
        """Return adjusted matrices with the gap penalties, which are the same for all."""
        return TargetMatrices(matrices, (self._tables.gap_open, self._tables.gap_extend), extremes)

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
            self._price_gaps(adjusted.matrices, extremes),
            adjusted.scores.scaled,
            query.unmasked,
            targets,
            progress,
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
            unmasked = _take(targets, asked)
            dense = find_dense(query, unmasked, floor, scheme, lambda_, profile)
            asked = asked[dense]
        rows = number_rows(query, profile)
        plain = (scheme.matrix.scores if profile is None else profile).astype(np.int64)
        passing = []
        codes = np.frombuffer(query, np.uint8)
        for target in _take(targets, asked):
            letters = np.frombuffer(target, np.uint8)
            found = find_extension(codes, rows, letters, scheme, plain, lambda_)
            passing.append(found is not None and is_near_identical(query, target, found, lambda_))
        identical: NDArray[np.int64] = asked[np.array(passing, bool)]
        return identical


def _split_frames(
    frames: NDArray[np.int8] | None, count: int
) -> list[tuple[int, NDArray[np.int64]]]:
    """Return the frames that targets have, at least one, and the indices of these targets."""
    if frames is None:
        return [(1, np.arange(count))]
    found = sorted(set(frames.tolist())) or [1]
    return [(frame, np.flatnonzero(frames == frame)) for frame in found]


def _cut_windows(
    targets: Sequence[bytes], regions: Regions | None
) -> tuple[Sequence[bytes], NDArray[np.int64], NDArray[np.int64] | None]:
    """Return the windows of targets, where these begin, and the letters in them that count."""
    if regions is None:
        return targets, np.zeros(len(targets), np.int64), None
    windows, rows = regions.cut(targets)
    return windows, regions.firsts, rows


def _take(targets: Sequence[bytes], indices: NDArray[np.int64]) -> list[bytes]:
    """Return some of the targets."""
    return [targets[k] for k in indices.tolist()]


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
