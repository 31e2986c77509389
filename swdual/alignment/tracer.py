"""Finds the alignments of a query with the targets that are reported."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.grid import grid_kernel, walk_grid
from swdual.alignment.long import Walk
from swdual.alignment.tile import tally
from swdual.alignment.tracebacks import COLUMNS, Tracebacks
from swdual.backend import Progress
from swdual.database.database import Block
from swdual.errors import EngineError
from swdual.lanes.pack import Pack, pack
from swdual.lanes.registers import COLUMNS as GROUP_COLUMNS
from swdual.lanes.registers import register_bytes
from swdual.lanes.score_widths import ScoreWidth, allocate_aligned, score_widths
from swdual.sequences.alphabet import ALIGNMENT, CODES, PAD
from swdual.sequences.scoring import ScoringScheme

MIN_TILE, MAX_TILE = 32, 512
"""Rows and columns between the lines that are kept."""

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
        self._grid_bytes = GRID_BYTES if grid_bytes is None else grid_bytes
        self._score_widths = score_widths(scheme, register_bytes())
        self._thread = threading.local()

    def __call__(
        self,
        query: bytes,
        targets: Sequence[bytes],
        scores: NDArray[np.int64],
        strands: NDArray[np.int8],
        progress: Progress = lambda cells: None,
        unmasked: bytes | None = None,
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
        unmasked
            The residue codes of the query in which equal letters and positive scores are counted;
            by default `query`.

        Raises
        ------
        EngineError
            If the best alignment of a target has another score than given.
        """
        unmasked = query if unmasked is None else unmasked
        parts, indices = [], []
        for strand in (1, -1):
            here = np.flatnonzero((strands == strand) & (scores > 0))
            lengths = np.array([len(targets[k]) for k in here.tolist()], np.int64)
            here = here[np.argsort(-lengths, kind="stable")]
            block = _make_block([targets[k] for k in here.tolist()])
            if strand > 0:
                parts.append(self._one_strand(query, unmasked, block, scores[here], progress))
            elif len(here):
                reverse = self._scheme.matrix.alphabet.reverse_complement
                traced = self._one_strand(
                    reverse(query), reverse(unmasked), block, scores[here], progress
                )
                parts.append(traced.reverse_strand(len(query)))
            indices.append(here)
        empty = np.flatnonzero(scores <= 0)
        numbers = np.zeros((len(COLUMNS), len(empty)), np.int64)
        parts.append(Tracebacks.of(numbers, [np.empty(0, np.uint32)] * len(empty)))
        indices.append(empty)
        return Tracebacks.concatenate(parts).take(np.argsort(np.concatenate(indices)))

    def _one_strand(
        self,
        query: bytes,
        unmasked: bytes,
        targets: Block,
        scores: NDArray[np.int64],
        progress: Progress,
    ) -> Tracebacks:
        """Return the alignments of a query with targets in descending length."""
        codes = np.frombuffer(query, np.uint8)
        numbers = np.empty((len(COLUMNS), len(scores)), np.int64)
        ends = numbers[:4]
        runs: list[NDArray[np.uint32]] = [np.empty(0, np.uint32)] * len(scores)
        narrowest = self._score_widths[0]
        tiles = [_tile(len(codes), int(n), narrowest, self._grid_bytes) for n in targets.lengths]
        long_targets = np.array(tiles, np.int64) > MAX_TILE
        left = ~long_targets
        for score_width in self._score_widths:
            fits = left & (scores <= score_width.limit - score_width.zero)
            left &= ~fits
            chosen = np.flatnonzero(fits)
            if len(chosen):
                self._grids(codes, targets, chosen, scores, score_width, ends, runs, progress)
        for k in np.flatnonzero(long_targets | left).tolist():
            self._align_long(codes, targets, k, int(scores[k]), ends, runs, progress)
        letters = np.frombuffer(unmasked, np.uint8)
        for k, operations in enumerate(runs):
            here, there = letters[ends[0, k] :], _residues(targets, k)[ends[2, k] :]
            numbers[4:, k] = tally(here, there, operations, self._score_widths[-1].table)
        return Tracebacks.of(numbers, runs)

    def _align_long(
        self,
        query: NDArray[np.uint8],
        targets: Block,
        k: int,
        score: int,
        ends: NDArray[np.int64],
        runs: list[NDArray[np.uint32]],
        progress: Progress,
    ) -> None:
        """Align the query with one target that is too large for the lanes."""
        scheme = self._scheme
        table = scheme.matrix.scores.astype(np.int64)
        walk = Walk(
            query, _residues(targets, k), table, scheme.gap_open, scheme.gap_extend, progress
        )
        query_end, target_end = walk.walk_best(score)
        if query_end == 0:
            raise _score_error(k, score)
        ends[:, k] = walk.row + 1, query_end, walk.column + 1, target_end
        runs[k] = walk.runs[: walk.count][::-1].copy()

    def _grids(
        self,
        query: NDArray[np.uint8],
        targets: Block,
        chosen: NDArray[np.int64],
        scores: NDArray[np.int64],
        score_width: ScoreWidth,
        ends: NDArray[np.int64],
        runs: list[NDArray[np.uint32]],
        progress: Progress,
    ) -> None:
        """Align the query with some targets whose scores fit a score width."""
        packed = pack(targets, chosen, score_width.lanes)
        kind = np.dtype(f"i{score_width.bits // 8}")
        letters = query.astype(np.int64)
        goals = scores[chosen] + score_width.zero
        numbers = (score_width.zero, score_width.first_gap, score_width.next_gap)
        fill = grid_kernel(score_width.bits, score_width.lanes)
        rows = len(query) * score_width.lanes
        scratch = [
            allocate_aligned(size, kind)
            for size in (
                rows,
                rows,
                CODES * GROUP_COLUMNS * score_width.lanes,
                *[score_width.lanes] * 3,
            )
        ]
        used = np.flatnonzero(np.bincount(letters))
        for batch in range(len(packed.batch_starts) - 1):
            progress(0)
            start, stop = packed.batch_starts[batch : batch + 2].tolist()
            here = slice(*packed.event_starts[batch : batch + 2].tolist())
            order, firsts, following = _locate_targets(packed, here)
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
                firsts,
                following,
                goals,
                letters,
                used,
                score_width.low,
                score_width.high,
                numbers,
                tile,
                *scratch,
                kept_rows,
                kept_columns,
                end_groups,
                end_rows,
            )
            borders = np.empty(4 * tile, np.int64)
            directions = np.empty(tile * tile, np.uint8)
            kept = kept_rows.view(np.int8), kept_columns.view(np.int8)
            for number, lane, first_group in order:
                k = int(chosen[number])
                if end_groups[number] < 0:
                    raise _score_error(k, int(scores[k]))
                target = _residues(targets, k)
                buffer = np.empty(len(query) + len(target), np.uint32)
                *bounds, count = walk_grid(
                    query,
                    target,
                    score_width.table,
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


def _score_error(k: int, score: int) -> EngineError:
    return EngineError(f"the best alignment of target {k} does not have the score {score}")


def _tile(rows: int, columns: int, score_width: ScoreWidth, grid_bytes: int) -> int:
    """Return the smallest distance of lines that together take at most `grid_bytes`."""
    line_bytes = 4 * rows * columns * score_width.lanes * score_width.bits // 8
    tile = MIN_TILE
    while line_bytes > tile * grid_bytes:
        tile *= 2
    return tile


def _make_block(targets: list[bytes]) -> Block:
    """Return targets, in descending length, as a block of their own."""
    lengths = np.array([len(codes) for codes in targets], np.int64)
    ends = np.cumsum(-(-lengths // ALIGNMENT))
    padded = [
        codes.ljust(-(-len(codes) // ALIGNMENT) * ALIGNMENT, bytes([PAD])) for codes in targets
    ]
    return Block(
        0,
        np.frombuffer(b"".join(padded), np.uint8),
        (ends + lengths // -ALIGNMENT).astype(np.uint32),
        lengths.astype(np.uint32),
        np.arange(len(targets), dtype=np.uint64),
    )


def _residues(targets: Block, k: int) -> NDArray[np.uint8]:
    start = int(targets.starts[k]) * ALIGNMENT
    return targets.residues[start : start + int(targets.lengths[k])]


def _locate_targets(
    packed: Pack, events: slice
) -> tuple[list[tuple[int, int, int]], NDArray[np.int64], NDArray[np.int64]]:
    """Return where the targets of a batch lie, the first target of each lane, and the next ones.

    The first result is a list of (number, lane, first group); in the others -1 is no target.
    """
    firsts = np.full(packed.lanes, -1, np.int64)
    following = np.full(events.stop - events.start, -1, np.int64)
    latest: dict[int, tuple[int, int]] = {}
    order = []
    columns = zip(
        packed.event_targets[events].tolist(),
        packed.event_lanes[events].tolist(),
        packed.event_groups[events].tolist(),
        strict=True,
    )
    for number, (target, lane, end) in enumerate(columns):
        if lane in latest:
            before, first = latest[lane]
            following[before] = target
        else:
            first = 0
            firsts[lane] = target
        order.append((target, lane, first))
        latest[lane] = number, end + 1
    return order, firsts, following
