"""Finds the alignments of a query with the targets that are reported."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.fill import Filler
from swdual.alignment.frames import trace_frames
from swdual.alignment.pairs import Around, Pairs, TargetMatrices
from swdual.alignment.tile import tally
from swdual.alignment.tracebacks import COLUMNS, Tracebacks, find_positives
from swdual.backend import Progress
from swdual.lanes.pack import make_block
from swdual.lanes.registers import register_bytes
from swdual.lanes.score_widths import (
    ScoreWidth,
    number_rows,
    score_widths,
    score_widths_per_target,
)
from swdual.sequences.alphabet import ALIGNMENT
from swdual.sequences.frames import read_frame
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence as Query
from swdual.sequences.translation import CODON

GRID_BYTES = 128 << 20
"""Memory for the lines of one thread; where it is too small the tiles grow."""


class Tracer:
    """Finds alignments under one scoring scheme; threads may call it at the same time.

    Parameters
    ----------
    scheme
        Substitution matrix and gap penalties of the scores.
    grid_bytes
        Memory for the lines of one thread, by default `GRID_BYTES`. The alignments do not depend on
        it.
    """

    def __init__(self, scheme: ScoringScheme, grid_bytes: int | None = None) -> None:
        self._scheme = scheme
        self._filler = Filler(GRID_BYTES if grid_bytes is None else grid_bytes)
        self._score_widths = score_widths(scheme, register_bytes())
        self._positive_pairs = find_positives(scheme.matrix)

    def __call__(
        self,
        query: Query,
        targets: Sequence[bytes],
        scores: NDArray[np.int64],
        frames: NDArray[np.int8],
        progress: Progress = lambda cells: None,
        unmasked_targets: Sequence[bytes] | None = None,
        profile: NDArray[np.int32] | None = None,
    ) -> Tracebacks:
        """Return the alignments of a query with targets, in their order.

        Parameters
        ----------
        query, targets
            The query, and residue codes. Equal letters and positive scores are counted in the
            letters of the query as written.
        scores
            (targets,) their Smith-Waterman scores; where one is 0 the alignment is empty.
        frames
            (targets,) the frame of the query that has the score.
        progress
            Called with 0 now and then; may raise to stop the work.
        unmasked_targets
            The residue codes of targets in which equal letters and positive scores are counted; by
            default `targets`.
        profile
            (residues, 32) scores of each position of the query, instead of the matrix. Positive
            scores are counted by the matrix, as PSI-BLAST does.

        Raises
        ------
        EngineError
            If the best alignment of a target has another score than given.
        """
        unmasked_targets = targets if unmasked_targets is None else unmasked_targets
        widths = self._score_widths
        if profile is not None:
            widths = score_widths(self._scheme, register_bytes(), profile)
        parts, indices = [], []
        for frame in sorted(set(frames[scores > 0].tolist())):
            here = sort_by_length(targets, np.flatnonzero((frames == frame) & (scores > 0)))
            sequences = targets, unmasked_targets
            some, unmasked_some = ([each[k] for k in here.tolist()] for each in sequences)
            pairs = self._pair(query, some, frame, widths, unmasked_some, profile)
            traced = self._trace(pairs, scores[here], progress)
            parts.append(traced.place_in_query(query, frame))
            indices.append(here)
        return _in_order(parts, indices, len(targets))

    def pair(
        self,
        query: Query,
        targets: Sequence[bytes],
        frame: int,
        unmasked_targets: Sequence[bytes],
        profile: NDArray[np.int32] | None = None,
    ) -> Pairs:
        """Return a query with targets in descending length, for `trace_around`.

        Parameters
        ----------
        query, targets, unmasked_targets, profile
            As for `Tracer`.
        frame
            The frame of the query.
        """
        widths = score_widths(self._scheme, register_bytes(), profile, forbids=True)
        return self._pair(query, targets, frame, widths, unmasked_targets, profile)

    def _pair(
        self,
        query: Query,
        targets: Sequence[bytes],
        frame: int,
        widths: list[ScoreWidth],
        unmasked_targets: Sequence[bytes],
        profile: NDArray[np.int32] | None,
    ) -> Pairs:
        """Return a query with targets in descending length: see `pair`."""
        scheme = self._scheme
        block = unmasked_block = make_block(targets)
        if unmasked_targets is not targets:
            unmasked_block = make_block(unmasked_targets)
        read = read_frame(query, frame)
        rows = number_rows(read.codes, profile)
        letters = np.frombuffer(read.unmasked, np.uint8)
        return Pairs(
            rows, block, widths, (scheme.gap_open, scheme.gap_extend), letters, unmasked_block
        )

    def trace_adjusted(
        self,
        query: NDArray[np.integer],
        targets: Sequence[bytes],
        scoring: TargetMatrices,
        scores: NDArray[np.int64],
        unmasked_query: bytes,
        unmasked_targets: Sequence[bytes],
        progress: Progress = lambda cells: None,
    ) -> Tracebacks:
        """Return the alignments of a query with targets that have a matrix each, in their order.

        Parameters
        ----------
        query, targets
            Rows of the matrices, and residue codes.
        scoring
            The matrices, and what gaps cost.
        scores
            (targets,) their Smith-Waterman scores; where one is 0 the alignment is empty.
        unmasked_query, unmasked_targets
            Residue codes in which equal letters are counted, and positive scores of the scheme.
        progress
            Called with 0 now and then; may raise to stop the work.

        Raises
        ------
        EngineError
            If the best alignment of a target has another score than given.
        """
        here = sort_by_length(targets, np.flatnonzero(scores > 0))
        if not len(here):
            return _in_order([], [], len(targets))
        if not np.array_equal(here, np.arange(len(targets))):
            scoring = scoring._replace(matrices=scoring.matrices[here])
        pairs = self.pair_adjusted(
            query,
            [targets[k] for k in here.tolist()],
            scoring,
            unmasked_query,
            [unmasked_targets[k] for k in here.tolist()],
            forbids=False,
        )
        return _in_order([self._trace(pairs, scores[here], progress)], [here], len(targets))

    def pair_adjusted(
        self,
        query: NDArray[np.integer],
        targets: Sequence[bytes],
        scoring: TargetMatrices,
        unmasked_query: bytes,
        unmasked_targets: Sequence[bytes],
        *,
        forbids: bool = True,
    ) -> Pairs:
        """Return a query with targets in descending length that have a matrix each.

        Parameters
        ----------
        query, targets, scoring, unmasked_query, unmasked_targets
            As for `trace_adjusted`.
        forbids
            Whether they are for `trace_around`.
        """
        block, unmasked_block = make_block(targets), make_block(unmasked_targets)
        widths = score_widths_per_target(
            query,
            block.residues,
            scoring.matrices,
            *scoring.gap_penalties,
            register_bytes(),
            scoring.extremes,
            forbids=forbids,
        )
        letters = np.frombuffer(unmasked_query, np.uint8)
        rows = query.astype(np.int64)
        return Pairs(rows, block, widths, scoring.gap_penalties, letters, unmasked_block)

    def trace_around(
        self,
        pairs: Pairs,
        chosen: NDArray[np.int64],
        bounds: NDArray[np.int64],
        around: Around,
        progress: Progress,
    ) -> tuple[NDArray[np.int64], Tracebacks]:
        """Return the best alignments around rectangles, and their scores.

        Parameters
        ----------
        pairs
            What `pair` or `pair_adjusted` returned.
        chosen
            Some of its targets, in ascending order.
        bounds
            (targets,) what the scores do not exceed.
        around
            The rectangles, and the smallest scores, of all targets.
        progress
            Called with 0 now and then; may raise to stop the work.

        Returns
        -------
        (chosen,) scores, 0 where none reaches the smallest; and the alignments, there empty.
        """
        scores = np.zeros(len(pairs.targets.lengths), np.int64)
        scores[chosen] = bounds[chosen]
        traced = self._trace(pairs, scores, progress, around)
        return scores[chosen], traced.take(chosen)

    def _trace(
        self,
        pairs: Pairs,
        scores: NDArray[np.int64],
        progress: Progress,
        around: Around | None = None,
    ) -> Tracebacks:
        """Return the alignments of a query with targets in descending length: see `Filler.find`."""
        shift = self._scheme.frameshift
        if shift:
            found = Tracebacks.of(*trace_frames(pairs, scores, shift, progress))
        else:
            found = Tracebacks.of(*self._filler.find(pairs, scores, progress, around))
        tally(
            pairs.unmasked_query,
            pairs.unmasked_targets.residues,
            pairs.unmasked_targets.starts.astype(np.int64) * ALIGNMENT,
            *found,
            self._positive_pairs,
            CODON if shift else 1,
        )
        return found


def sort_by_length(targets: Sequence[bytes], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of some targets by descending length.

    Parameters
    ----------
    targets, chosen
        Residue codes, and which of them.
    """
    lengths = np.array([len(targets[k]) for k in chosen.tolist()], np.int64)
    return chosen[np.argsort(-lengths, kind="stable")]


def _in_order(parts: list[Tracebacks], indices: list[NDArray[np.int64]], count: int) -> Tracebacks:
    """Return the alignments of all targets in their order; those in no part are empty."""
    in_no_part = np.ones(count, np.bool_)
    for some in indices:
        in_no_part[some] = False
    empty = np.flatnonzero(in_no_part)
    numbers = np.zeros((len(COLUMNS), len(empty)), np.int64)
    parts = [*parts, Tracebacks.of(numbers, [np.empty(0, np.uint32)] * len(empty))]
    order = np.argsort(np.concatenate([*indices, empty]))
    return Tracebacks.concatenate(parts).take(order)
