"""Finds the alignments of a query with the targets that are reported."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.grid import grid_kernel, walk_grid
from swdual.alignment.long import Walk
from swdual.alignment.tile import tally
from swdual.alignment.tracebacks import COLUMNS, Tracebacks, find_positives
from swdual.backend import Progress
from swdual.database.database import Block
from swdual.errors import EngineError
from swdual.lanes.pack import make_block, pack
from swdual.lanes.registers import COLUMNS as GROUP_COLUMNS
from swdual.lanes.registers import register_bytes
from swdual.lanes.score_widths import (
    ScoreWidth,
    allocate_aligned,
    number_rows,
    score_widths,
    score_widths_per_target,
)
from swdual.sequences.alphabet import ALIGNMENT
from swdual.sequences.scoring import ScoringScheme

MIN_TILE, MAX_TILE = 32, 512
"""Rows and columns between the lines that are kept."""

GRID_BYTES = 128 << 20
"""Memory for the lines of one thread; where it is too small the tiles grow."""


class _Pairs(NamedTuple):
    """A query with some targets, in descending length.

    Parameters
    ----------
    query, targets
        Rows of the score tables, and residue codes, that are aligned.
    widths
        The score widths, narrowest first.
    gap_penalties
        A gap of k residues costs the first number plus k times the second.
    unmasked_query, unmasked_targets
        Residue codes in which equal letters and positive scores are counted.
    """

    query: NDArray[np.int64]
    targets: Block
    widths: list[ScoreWidth]
    gap_penalties: tuple[int, int]
    unmasked_query: NDArray[np.uint8]
    unmasked_targets: Block


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
        self._grid_bytes = GRID_BYTES if grid_bytes is None else grid_bytes
        self._score_widths = score_widths(scheme, register_bytes())
        self._positive_pairs = find_positives(scheme.matrix)
        self._thread = threading.local()

    def __call__(
        self,
        query: bytes,
        targets: Sequence[bytes],
        scores: NDArray[np.int64],
        strands: NDArray[np.int8],
        progress: Progress = lambda cells: None,
        unmasked: bytes | None = None,
        unmasked_targets: Sequence[bytes] | None = None,
        profile: NDArray[np.int32] | None = None,
    ) -> Tracebacks:
        """Return the alignments of a query with targets, in their order.

        Parameters
        ----------
        query, targets
            Residue codes.
        scores
            (targets,) their Smith-Waterman scores; where one is 0 the alignment is empty.
        strands
            (targets,) 1, or -1 where it is the query's other strand that has the score.
        progress
            Called with 0 now and then; may raise to stop the work.
        unmasked, unmasked_targets
            The residue codes of query and targets in which equal letters and positive scores are
            counted; by default `query` and `targets`.
        profile
            (residues, 32) scores of each position of the query, instead of the matrix. Positive
            scores are counted by the matrix, as PSI-BLAST does.

        Raises
        ------
        EngineError
            If the best alignment of a target has another score than given.
        """
        scheme, unmasked = self._scheme, query if unmasked is None else unmasked
        gap_penalties = scheme.gap_open, scheme.gap_extend
        widths = self._score_widths
        if profile is not None:
            widths = score_widths(scheme, register_bytes(), profile)
        parts, indices = [], []
        for strand in (1, -1):
            here = _by_length(targets, np.flatnonzero((strands == strand) & (scores > 0)))
            if not len(here):
                continue
            block = unmasked_block = make_block([targets[k] for k in here.tolist()])
            if unmasked_targets is not None:
                unmasked_block = make_block([unmasked_targets[k] for k in here.tolist()])
            turn = scheme.matrix.alphabet.reverse_complement if strand < 0 else bytes
            rows = number_rows(turn(query), profile)
            unmasked_letters = np.frombuffer(turn(unmasked), np.uint8)
            pairs = _Pairs(rows, block, widths, gap_penalties, unmasked_letters, unmasked_block)
            traced = self._trace(pairs, scores[here], progress)
            parts.append(traced.reverse_strand(len(query)) if strand < 0 else traced)
            indices.append(here)
        return _in_order(parts, indices, len(targets))

    def trace_adjusted(
        self,
        query: NDArray[np.integer],
        targets: Sequence[bytes],
        matrices: NDArray[np.signedinteger],
        gap_open: int,
        gap_extend: int,
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
        matrices
            See `ScoreWidth`.
        gap_open, gap_extend
            A gap of k residues costs ``gap_open + k * gap_extend``, in the units of the matrices.
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
        here = _by_length(targets, np.flatnonzero(scores > 0))
        if not len(here):
            return _in_order([], [], len(targets))
        block, unmasked_block = (
            make_block([sequences[k] for k in here.tolist()])
            for sequences in (targets, unmasked_targets)
        )
        gap_penalties = gap_open, gap_extend
        widths = score_widths_per_target(
            query, block.residues, matrices[here], *gap_penalties, register_bytes()
        )
        letters = np.frombuffer(unmasked_query, np.uint8)
        rows = query.astype(np.int64)
        pairs = _Pairs(rows, block, widths, gap_penalties, letters, unmasked_block)
        return _in_order([self._trace(pairs, scores[here], progress)], [here], len(targets))

    def _trace(self, pairs: _Pairs, scores: NDArray[np.int64], progress: Progress) -> Tracebacks:
        """Return the alignments of a query with targets in descending length."""
        query, targets = pairs.query, pairs.targets
        numbers = np.empty((len(COLUMNS), len(scores)), np.int64)
        ends = numbers[:4]
        runs: list[NDArray[np.uint32]] = [np.empty(0, np.uint32)] * len(scores)
        narrowest = pairs.widths[0]
        tiles = [_tile(len(query), int(n), narrowest, self._grid_bytes) for n in targets.lengths]
        long_targets = np.array(tiles, np.int64) > MAX_TILE
        left = ~long_targets
        for score_width in pairs.widths:
            fits = left & (scores <= score_width.limit - score_width.zero)
            left &= ~fits
            chosen = np.flatnonzero(fits)
            if len(chosen):
                self._grids(pairs, chosen, scores, score_width, ends, runs, progress)
        for k in np.flatnonzero(long_targets | left).tolist():
            _align_long(pairs, k, int(scores[k]), ends, runs, progress)
        for k, operations in enumerate(runs):
            here = pairs.unmasked_query[ends[0, k] :]
            there = _residues(pairs.unmasked_targets, k)[ends[2, k] :]
            numbers[4:, k] = tally(here, there, operations, self._positive_pairs)
        return Tracebacks.of(numbers, runs)

    def _grids(
        self,
        pairs: _Pairs,
        chosen: NDArray[np.int64],
        scores: NDArray[np.int64],
        score_width: ScoreWidth,
        ends: NDArray[np.int64],
        runs: list[NDArray[np.uint32]],
        progress: Progress,
    ) -> None:
        """Align the query with some targets whose scores fit a score width."""
        query, targets, kind = pairs.query, pairs.targets, score_width.kind
        packed = pack(targets, chosen, score_width.lanes)
        first_targets, next_targets = packed.lane_targets
        target_tables = score_width.target_tables(chosen)
        goals = scores[chosen] + score_width.zero
        numbers = (score_width.zero, score_width.first_gap, score_width.next_gap)
        fill = grid_kernel(score_width.bits, score_width.lanes, score_width.source)
        rows = len(query) * score_width.lanes
        scratch = [
            allocate_aligned(size, kind)
            for size in (
                rows,
                rows,
                score_width.table_rows * GROUP_COLUMNS * score_width.lanes,
                *[score_width.lanes] * 3,
            )
        ]
        used = np.flatnonzero(np.bincount(query))
        for batch in range(len(packed.batch_starts) - 1):
            progress(0)
            start, stop = packed.batch_starts[batch : batch + 2].tolist()
            here = slice(*packed.event_starts[batch : batch + 2].tolist())
            lanes = slice(batch * packed.lanes, (batch + 1) * packed.lanes)
            tile = _tile(len(query), (stop - start) * GROUP_COLUMNS, score_width, self._grid_bytes)
            blocks = -(-len(query) // tile)
            kept_rows, kept_columns = self._lines(
                len(query), (stop - start), tile, score_width, kind
            )
            end_groups = np.full(len(chosen), -1, np.int64)
            end_rows = np.zeros((len(chosen), blocks), np.uint8)
            fill(
                packed.codes,
                start,
                stop - start,
                packed.event_groups[here],
                packed.event_lanes[here],
                first_targets[lanes].copy(),
                next_targets[here],
                goals,
                query,
                used,
                score_width.low,
                score_width.high,
                target_tables,
                score_width.table_rows,
                numbers,
                tile,
                *scratch,
                np.empty(score_width.lanes, np.int64),
                kept_rows,
                kept_columns,
                end_groups,
                end_rows,
            )
            borders = np.empty(4 * tile, np.int64)
            directions = np.empty(tile * tile, np.uint8)
            kept = kept_rows.view(np.int8), kept_columns.view(np.int8)
            for number, lane, last_group in zip(
                packed.event_targets[here].tolist(),
                packed.event_lanes[here].tolist(),
                packed.event_groups[here].tolist(),
                strict=True,
            ):
                k = int(chosen[number])
                if end_groups[number] < 0:
                    raise _score_error(k, int(scores[k]))
                target = _residues(targets, k)
                first_group = last_group + 1 + len(target) // -GROUP_COLUMNS
                buffer = np.empty(len(query) + len(target), np.uint32)
                *bounds, count = walk_grid(
                    query,
                    target,
                    score_width.table_of(k),
                    numbers,
                    int(goals[number]),
                    tile,
                    score_width.lanes,
                    lane,
                    first_group * GROUP_COLUMNS,
                    stop - start,
                    kind.itemsize,
                    *kept,
                    int(end_groups[number]),
                    end_rows[number],
                    borders,
                    directions,
                    buffer,
                )
                if count == 0:
                    raise _score_error(k, int(scores[k]))
                ends[:, k] = bounds
                runs[k] = buffer[:count][::-1].copy()

    def _lines(
        self,
        rows: int,
        groups: int,
        tile: int,
        score_width: ScoreWidth,
        kind: np.dtype[np.signedinteger],
    ) -> tuple[NDArray[np.signedinteger], NDArray[np.signedinteger]]:
        """Return memory for row lines and column lines; each thread keeps its own."""
        row_size = ((rows - 1) // tile) * groups * 2 * GROUP_COLUMNS * score_width.lanes
        column_size = (groups * GROUP_COLUMNS // tile) * rows * 2 * score_width.lanes
        size = (row_size + column_size) * kind.itemsize
        memory = getattr(self._thread, "lines", None)
        if memory is None or len(memory) < size:
            memory = self._thread.lines = allocate_aligned(size, np.dtype(np.int8))
        lines = memory[:size].view(kind)
        return lines[:row_size], lines[row_size:]


def _by_length(targets: Sequence[bytes], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of some targets by descending length."""
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


def _align_long(
    pairs: _Pairs,
    k: int,
    score: int,
    ends: NDArray[np.int64],
    runs: list[NDArray[np.uint32]],
    progress: Progress,
) -> None:
    """Align the query with one target that is too large for the lanes."""
    table = pairs.widths[-1].table_of(k)
    walk = Walk(pairs.query, _residues(pairs.targets, k), table, *pairs.gap_penalties, progress)
    query_end, target_end = walk.walk_best(score)
    if query_end == 0:
        raise _score_error(k, score)
    ends[:, k] = walk.row + 1, query_end, walk.column + 1, target_end
    runs[k] = walk.runs[: walk.count][::-1].copy()


def _score_error(k: int, score: int) -> EngineError:
    return EngineError(f"the best alignment of target {k} does not have the score {score}")


def _tile(rows: int, columns: int, score_width: ScoreWidth, grid_bytes: int) -> int:
    """Return the smallest distance of lines that together take at most `grid_bytes`."""
    line_bytes = 4 * rows * columns * score_width.lanes * score_width.bits // 8
    tile = MIN_TILE
    while line_bytes > tile * grid_bytes:
        tile *= 2
    return tile


def _residues(targets: Block, k: int) -> NDArray[np.uint8]:
    start = int(targets.starts[k]) * ALIGNMENT
    return targets.residues[start : start + int(targets.lengths[k])]
