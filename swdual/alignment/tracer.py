"""Finds the alignments of a query with the targets that are reported."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.grid import grid_kernel, walk_grid
from swdual.alignment.long import NOT_FORBIDDEN, Walk
from swdual.alignment.tile import tally
from swdual.alignment.tracebacks import COLUMNS, Tracebacks, find_positives
from swdual.backend import Progress
from swdual.database.database import Block
from swdual.errors import EngineError
from swdual.lanes.pack import Pack, make_block, pack
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

_NO_EDGES = np.empty((0, 5), np.int64)


class Pairs(NamedTuple):
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


class Around(NamedTuple):
    """Rectangles around which alignments are looked for, because earlier alignments are in them.

    Parameters
    ----------
    forbidden
        For each target (rectangles, 4) the rows and columns without pairs: see `find_segment`.
    min_scores
        (targets,) the smallest score that is looked for, at least 1.
    """

    forbidden: Sequence[NDArray[np.int64]]
    min_scores: NDArray[np.int64]


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
        unmasked = query if unmasked is None else unmasked
        unmasked_targets = targets if unmasked_targets is None else unmasked_targets
        widths = self._score_widths
        if profile is not None:
            widths = score_widths(self._scheme, register_bytes(), profile)
        parts, indices = [], []
        for strand in (1, -1):
            here = sort_by_length(targets, np.flatnonzero((strands == strand) & (scores > 0)))
            if not len(here):
                continue
            sequences = targets, unmasked_targets
            some, unmasked_some = ([each[k] for k in here.tolist()] for each in sequences)
            pairs = self._pair(query, some, strand, widths, unmasked, unmasked_some, profile)
            traced = self._trace(pairs, scores[here], progress)
            parts.append(traced.reverse_strand(len(query)) if strand < 0 else traced)
            indices.append(here)
        return _in_order(parts, indices, len(targets))

    def pair(
        self,
        query: bytes,
        targets: Sequence[bytes],
        strand: int,
        unmasked: bytes,
        unmasked_targets: Sequence[bytes],
        profile: NDArray[np.int32] | None = None,
    ) -> Pairs:
        """Return a query with targets in descending length, for `trace_around`.

        Parameters
        ----------
        query, targets, unmasked, unmasked_targets, profile
            As for `Tracer`.
        strand
            1, or -1 for the query's other strand.
        """
        widths = score_widths(self._scheme, register_bytes(), profile, forbids=True)
        return self._pair(query, targets, strand, widths, unmasked, unmasked_targets, profile)

    def _pair(
        self,
        query: bytes,
        targets: Sequence[bytes],
        strand: int,
        widths: list[ScoreWidth],
        unmasked: bytes,
        unmasked_targets: Sequence[bytes],
        profile: NDArray[np.int32] | None,
    ) -> Pairs:
        """Return a query with targets in descending length: see `pair`."""
        scheme = self._scheme
        block = unmasked_block = make_block(targets)
        if unmasked_targets is not targets:
            unmasked_block = make_block(unmasked_targets)
        turn = scheme.matrix.alphabet.reverse_complement if strand < 0 else bytes
        rows = number_rows(turn(query), profile)
        letters = np.frombuffer(turn(unmasked), np.uint8)
        return Pairs(
            rows, block, widths, (scheme.gap_open, scheme.gap_extend), letters, unmasked_block
        )

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
        here = sort_by_length(targets, np.flatnonzero(scores > 0))
        if not len(here):
            return _in_order([], [], len(targets))
        pairs = self.pair_adjusted(
            query,
            [targets[k] for k in here.tolist()],
            matrices[here],
            (gap_open, gap_extend),
            unmasked_query,
            [unmasked_targets[k] for k in here.tolist()],
            forbids=False,
        )
        return _in_order([self._trace(pairs, scores[here], progress)], [here], len(targets))

    def pair_adjusted(
        self,
        query: NDArray[np.integer],
        targets: Sequence[bytes],
        matrices: NDArray[np.signedinteger],
        gap_penalties: tuple[int, int],
        unmasked_query: bytes,
        unmasked_targets: Sequence[bytes],
        *,
        forbids: bool = True,
    ) -> Pairs:
        """Return a query with targets in descending length that have a matrix each.

        Parameters
        ----------
        query, targets, matrices, unmasked_query, unmasked_targets
            As for `trace_adjusted`.
        gap_penalties
            `gap_open` and `gap_extend`, in the units of the matrices.
        forbids
            Whether they are for `trace_around`.
        """
        block, unmasked_block = make_block(targets), make_block(unmasked_targets)
        widths = score_widths_per_target(
            query, block.residues, matrices, *gap_penalties, register_bytes(), forbids=forbids
        )
        letters = np.frombuffer(unmasked_query, np.uint8)
        rows = query.astype(np.int64)
        return Pairs(rows, block, widths, gap_penalties, letters, unmasked_block)

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
        """Return the alignments of a query with targets in descending length.

        Parameters
        ----------
        pairs
            Query and targets.
        scores
            (targets,) the scores; where one is 0 the alignment is empty. With `around`, what they
            do not exceed: receives the scores.
        progress
            Called with 0 now and then; may raise to stop the work.
        around
            Where the alignments are looked for, unless it is everywhere.
        """
        query, targets = pairs.query, pairs.targets
        numbers = np.zeros((len(COLUMNS), len(scores)), np.int64)
        ends = numbers[:4]
        runs: list[NDArray[np.uint32]] = [np.empty(0, np.uint32)] * len(scores)
        narrowest = pairs.widths[0]
        tiles = [_tile(len(query), int(n), narrowest, self._grid_bytes) for n in targets.lengths]
        long_targets = (np.array(tiles, np.int64) > MAX_TILE) & (scores > 0)
        left = ~long_targets & (scores > 0)
        for score_width in pairs.widths:
            fits = left & (scores <= score_width.limit - score_width.zero)
            if around is not None and not score_width.forbids:
                continue
            left &= ~fits
            chosen = np.flatnonzero(fits)
            # The edges of the rectangles of a batch are looked through for each group of columns.
            size = len(chosen) if around is None else score_width.lanes
            for first in range(0, len(chosen), max(size, 1)):
                some = chosen[first : first + size]
                self._grids(pairs, some, scores, score_width, ends, runs, progress, around)
        for k in np.flatnonzero(long_targets | left).tolist():
            _align_long(pairs, k, scores, ends, runs, progress, around)
        for k in np.flatnonzero(scores).tolist():
            operations = runs[k]
            here = pairs.unmasked_query[ends[0, k] :]
            there = _residues(pairs.unmasked_targets, k)[ends[2, k] :]
            numbers[4:, k] = tally(here, there, operations, self._positive_pairs)
        return Tracebacks.of(numbers, runs)

    def _grids(
        self,
        pairs: Pairs,
        chosen: NDArray[np.int64],
        scores: NDArray[np.int64],
        score_width: ScoreWidth,
        ends: NDArray[np.int64],
        runs: list[NDArray[np.uint32]],
        progress: Progress,
        around: Around | None,
    ) -> None:
        """Align the query with some targets whose scores fit a score width."""
        query, targets, kind = pairs.query, pairs.targets, score_width.kind
        packed = pack(targets, chosen, score_width.lanes)
        first_targets, next_targets = packed.lane_targets
        target_tables = score_width.target_tables(chosen)
        goals = scores[chosen] + score_width.zero
        if around is not None:
            goals[:] = score_width.zero
        numbers = (score_width.zero, score_width.first_gap, score_width.next_gap)
        fill = grid_kernel(score_width.bits, score_width.lanes, score_width.source)
        rows = len(query) * score_width.lanes
        group_size = GROUP_COLUMNS * score_width.lanes
        scratch = [
            allocate_aligned(size, kind)
            for size in (
                rows,
                rows,
                score_width.table_rows * group_size,
                *[score_width.lanes] * 3,
            )
        ]
        covered = allocate_aligned(score_width.table_rows * group_size * (around is not None), kind)
        cover, group_codes = np.empty(group_size, np.int64), np.empty(group_size, np.uint8)
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
            edges = _NO_EDGES if around is None else _list_edges(packed, here, chosen, around)
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
                edges,
                cover,
                covered,
                group_codes,
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
                forbidden = NOT_FORBIDDEN
                found = int(goals[number]) - score_width.zero
                if around is not None:
                    scores[k] = found if found >= around.min_scores[k] else 0
                    if scores[k] == 0:
                        continue
                    forbidden = around.forbidden[k]
                if end_groups[number] < 0 or found != scores[k]:
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
                    forbidden,
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


def _list_edges(
    packed: Pack, events: slice, chosen: NDArray[np.int64], around: Around
) -> NDArray[np.int64]:
    """Return the edges of the rectangles of a batch: see `fill_grid`."""
    edges = []
    for number, lane, last_group in zip(
        packed.event_targets[events].tolist(),
        packed.event_lanes[events].tolist(),
        packed.event_groups[events].tolist(),
        strict=True,
    ):
        length = int(packed.lengths[number])
        column = (last_group + 1 + length // -GROUP_COLUMNS) * GROUP_COLUMNS
        for top, bottom, left, right in around.forbidden[chosen[number]].tolist():
            edges.append((top, lane, column + left, column + right, 1))
            edges.append((bottom, lane, column + left, column + right, -1))
    return np.array(sorted(edges), np.int64).reshape(-1, 5)


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


def _align_long(
    pairs: Pairs,
    k: int,
    scores: NDArray[np.int64],
    ends: NDArray[np.int64],
    runs: list[NDArray[np.uint32]],
    progress: Progress,
    around: Around | None,
) -> None:
    """Align the query with one target that is too large for the lanes."""
    table = pairs.widths[-1].table_of(k)
    forbidden = NOT_FORBIDDEN if around is None else around.forbidden[k]
    score = int(scores[k] if around is None else around.min_scores[k])
    target = _residues(pairs.targets, k)
    walk = Walk(pairs.query, target, table, *pairs.gap_penalties, progress, forbidden)
    query_end, target_end = walk.walk_best(score)
    if query_end == 0 and around is not None:
        scores[k] = 0
        return
    if query_end == 0 or (around is None and walk.score != score):
        raise _score_error(k, score)
    scores[k] = walk.score
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
