"""Fills the matrices of a query and its targets, keeping lines, and walks back between the lines.

Targets of similar lengths are filled side by side, a target in each lane. Where that would leave
lanes idle they are filled one by one, the rows of the query spread over the lanes. Targets that
are too large for both are filled in parts.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.grid import grid_kernel, walk_targets
from swdual.alignment.lines import Layout, walk_lines
from swdual.alignment.long import NOT_FORBIDDEN, Walk
from swdual.alignment.pairs import Around, Pairs, find_residues
from swdual.alignment.tracebacks import COLUMNS
from swdual.backend import Progress
from swdual.backends._striped import StripedQuery, target_kernel
from swdual.errors import EngineError
from swdual.lanes.layout import count_alone, find_sparse
from swdual.lanes.pack import Pack, pack
from swdual.lanes.registers import COLUMNS as GROUP_COLUMNS
from swdual.lanes.score_widths import ScoreWidth, allocate_aligned
from swdual.sequences.alphabet import ALIGNMENT

MIN_TILE, MAX_TILE = 32, 512
"""Rows and columns between the lines that are kept."""

_WALKED_TOGETHER, _RUNS = 256, 1 << 16
"""Targets, and their operations, for which a kernel walks back in one call."""

_NO_EDGES = np.empty((0, 5), np.int64)


class Paths(NamedTuple):
    """Alignments: numbers as in `Tracebacks`, and the operations of each from its beginning.

    Of the numbers only the first four are known, where the alignments begin and end.
    """

    numbers: NDArray[np.int64]
    runs: list[NDArray[np.uint32]]

    @classmethod
    def allocate(cls, count: int) -> Paths:
        """Return room for some alignments, which are empty."""
        return cls(np.zeros((len(COLUMNS), count), np.int64), [np.empty(0, np.uint32)] * count)


class _Group(NamedTuple):
    """Targets that are packed together: their columns, which they are, and their score tables."""

    packed: Pack
    chosen: NDArray[np.int64]
    tables: NDArray[np.signedinteger]


class _Ends(NamedTuple):
    """Targets of a batch: where they are, and what is known of the ends of their alignments."""

    targets: NDArray[np.int64]
    lanes: NDArray[np.int64]
    first_columns: NDArray[np.int64]
    goals: NDArray[np.int64]
    groups: NDArray[np.int64]
    rows: NDArray[np.uint8]

    def part(self, part: slice) -> _Ends:
        """Return some of them."""
        return _Ends(
            self.targets[part],
            self.lanes[part],
            self.first_columns[part],
            self.goals[part],
            self.groups[part],
            self.rows[part],
        )


class Filler:
    """Fills matrices; threads may use it at the same time.

    Parameters
    ----------
    grid_bytes
        Memory for the lines of one thread; where it is too small the tiles grow.
    """

    def __init__(self, grid_bytes: int) -> None:
        self._grid_bytes = grid_bytes
        self._thread = threading.local()

    def find(
        self,
        pairs: Pairs,
        scores: NDArray[np.int64],
        progress: Progress,
        around: Around | None = None,
    ) -> Paths:
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
        rows, targets = len(pairs.query), pairs.targets
        found = Paths.allocate(len(scores))
        left = scores > 0
        for score_width in pairs.widths:
            if around is not None and not score_width.forbids:
                continue
            fits = left & (scores <= score_width.limit - score_width.zero)
            left &= ~fits
            chosen = np.flatnonzero(fits)
            if not len(chosen):
                continue
            alone = self._count_alone(rows, targets.lengths[chosen], score_width, around)
            each, chosen = chosen[:alone], chosen[alone:]
            # The edges of the rectangles of a batch are looked through for each group of columns.
            size = len(chosen) if around is None else score_width.lanes
            for first in range(0, len(chosen), max(size, 1)):
                some = chosen[first : first + size]
                packed = pack(targets, some, score_width.lanes, long_targets=around is not None)
                sparse = np.zeros(len(packed.batch_starts) - 1, bool)
                if around is None:
                    sparse = find_sparse(packed, score_width.bits, rows)
                group = _Group(packed, some, score_width.target_tables(some))
                for batch in np.flatnonzero(~sparse).tolist():
                    progress(0)
                    self._trace_batch(pairs, group, batch, scores, score_width, found, around)
                in_batches = np.repeat(sparse, np.diff(packed.event_starts))
                each = np.concatenate((each, some[packed.event_targets[in_batches]]))
            if around is None:
                self._trace_each(pairs, each, scores, score_width, found, progress)
            else:
                left[each] = True
        for k in np.flatnonzero(left).tolist():
            _trace_long(pairs, k, scores, found, progress, around)
        return found

    def _count_alone(
        self,
        rows: int,
        lengths: NDArray[np.integer],
        score_width: ScoreWidth,
        around: Around | None,
    ) -> int:
        """Return how many of the longest targets to align one by one."""
        if around is None and score_width.is_profile_per_target:
            return len(lengths)
        tiles = [_find_tile(rows, n, score_width, self._grid_bytes) for n in lengths.tolist()]
        too_large = int(np.sum(np.array(tiles) > MAX_TILE))
        if around is not None:
            return too_large
        return max(too_large, count_alone(lengths.astype(np.int64), rows, score_width))

    def _trace_each(
        self,
        pairs: Pairs,
        chosen: NDArray[np.int64],
        scores: NDArray[np.int64],
        score_width: ScoreWidth,
        found: Paths,
        progress: Progress,
    ) -> None:
        """Align the query with some targets one by one, its rows spread over the lanes."""
        if not len(chosen):
            return
        query, targets = pairs.query, pairs.targets
        lanes, kind, zero = score_width.lanes, score_width.kind, score_width.zero
        rows = -(-len(query) // lanes)
        size = rows * lanes
        striped = StripedQuery.of(query, score_width, lanes)
        scratch = [allocate_aligned(length, kind) for length in (size, size, lanes)]
        numbers = zero, score_width.first_gap, score_width.next_gap
        fill = target_kernel(score_width.bits, lanes)
        first, score, end = np.zeros(1, np.int64), np.empty(1, np.int32), np.empty(3, np.int64)
        for k in chosen.tolist():
            progress(0)
            target = find_residues(targets, k)
            row_size = len(target) * 2 * lanes
            tile, column_size = self._choose_columns(len(target), row_size, 2 * size, kind)
            if tile > MAX_TILE:
                _trace_long(pairs, k, scores, found, progress, None)
                continue
            kept_rows, kept_columns = self._allocate_lines(row_size, column_size, kind)
            goal = int(scores[k]) + zero
            tables = score_width.target_tables(np.array([k]))
            fill(
                target,
                first,
                np.array([len(target)]),
                first,
                striped.rows,
                tables,
                score_width.table_rows,
                (*numbers, goal - 1),
                striped.scores(tables),
                striped.strides,
                *scratch,
                score,
                tile,
                kept_rows,
                kept_columns,
                end,
            )
            end_row, end_column, found_number = end.tolist()
            if score[0] >= 0 or found_number != goal:
                raise _score_error(k, int(scores[k]))
            layout = Layout(1, kind.itemsize, lanes, rows, tile)
            lines, end_place = (kept_rows, kept_columns), (end_row, end_column)
            self._walk(pairs, k, score_width, layout, lines, end_place, found)

    def _choose_columns(
        self, columns: int, row_size: int, line_size: int, kind: np.dtype[np.signedinteger]
    ) -> tuple[int, int]:
        """Return the smallest distance of column lines that fits, and the numbers of all of them.

        The distance is above `MAX_TILE` if none fits.
        """
        tile = 2 * MIN_TILE
        while tile <= MAX_TILE:
            column_size = columns // tile * line_size
            if (row_size + column_size) * kind.itemsize <= self._grid_bytes:
                return tile, column_size
            tile *= 2
        return tile, 0

    def _trace_batch(
        self,
        pairs: Pairs,
        group: _Group,
        batch: int,
        scores: NDArray[np.int64],
        score_width: ScoreWidth,
        found: Paths,
        around: Around | None,
    ) -> None:
        """Align the query with the targets of a batch, one in each lane."""
        query, targets, kind = pairs.query, pairs.targets, score_width.kind
        packed, chosen, target_tables = group
        first_targets, next_targets = packed.lane_targets
        goals = scores[chosen] + score_width.zero
        if around is not None:
            goals[:] = score_width.zero
        numbers = (score_width.zero, score_width.first_gap, score_width.next_gap)
        lanes = score_width.lanes
        group_size = GROUP_COLUMNS * lanes
        sizes = len(query) * lanes, score_width.table_rows * group_size
        scratch = [allocate_aligned(size, kind) for size in (sizes[0], *sizes, lanes, lanes, lanes)]
        covered = allocate_aligned(sizes[1] * (around is not None), kind)
        start, stop = packed.batch_starts[batch : batch + 2].tolist()
        here = slice(*packed.event_starts[batch : batch + 2].tolist())
        tile = _find_tile(len(query), (stop - start) * GROUP_COLUMNS, score_width, self._grid_bytes)
        blocks = -(-len(query) // tile)
        row_size = (blocks - 1) * (stop - start) * 2 * GROUP_COLUMNS * lanes
        column_size = ((stop - start) * GROUP_COLUMNS // tile) * len(query) * 2 * lanes
        kept = self._allocate_lines(row_size, column_size, kind)
        edges = _NO_EDGES if around is None else _list_edges(packed, here, chosen, around)
        end_groups = np.full(len(chosen), -1, np.int64)
        end_rows = np.zeros((len(chosen), blocks), np.uint8)
        grid_kernel(score_width.bits, lanes, score_width.source)(
            packed.codes,
            start,
            stop - start,
            packed.event_groups[here],
            packed.event_lanes[here],
            first_targets[batch * lanes : (batch + 1) * lanes].copy(),
            next_targets[here],
            goals,
            query,
            np.flatnonzero(np.bincount(query)),
            score_width.low,
            score_width.high,
            target_tables,
            score_width.table_rows,
            numbers,
            tile,
            *scratch,
            np.empty(lanes, np.int64),
            *kept,
            end_groups,
            end_rows,
            edges,
            np.empty(group_size, np.int64),
            covered,
            np.empty(group_size, np.uint8),
        )
        ended = packed.event_targets[here]
        some = chosen[ended]
        reached = goals[ended] - score_width.zero
        if around is not None:
            reached[reached < around.min_scores[some]] = 0
            scores[some] = reached
        wrong = (reached != scores[some]) | ((reached > 0) & (end_groups[ended] < 0))
        if wrong.any():
            k = int(some[np.argmax(wrong)])
            raise _score_error(k, int(scores[k]))
        traced = np.flatnonzero(reached)
        ended, some = ended[traced], some[traced]
        groups = -(targets.lengths[some].astype(np.int64) // -GROUP_COLUMNS)
        first_columns = (packed.event_groups[here][traced] + 1 - groups) * GROUP_COLUMNS
        ends = _Ends(
            *(some, packed.event_lanes[here][traced], first_columns),
            *(goals[ended], end_groups[ended], end_rows[ended]),
        )
        layout = Layout(0, kind.itemsize, lanes, tile, tile, groups=stop - start)
        self._walk_batch(pairs, ends, score_width, layout, *kept, around, found)

    def _walk_batch(
        self,
        pairs: Pairs,
        ends: _Ends,
        score_width: ScoreWidth,
        layout: Layout,
        kept_rows: NDArray[np.signedinteger],
        kept_columns: NDArray[np.signedinteger],
        around: Around | None,
        found: Paths,
    ) -> None:
        """Walk back the alignments of targets of a batch: see `walk_targets`."""
        query, targets = pairs.query, pairs.targets
        longest = int(targets.lengths[ends.targets].max(initial=0))
        runs = np.empty(max(_RUNS, len(query) + longest), np.uint32)
        scratch, directions = _allocate_tile(layout.tile_rows, layout.tile_columns)
        first = 0
        while first < len(ends.targets):
            some = ends.part(slice(first, first + _WALKED_TOGETHER))
            chosen = some.targets
            rectangles: list[list[list[int]]] = [[] for _ in chosen]
            if around is not None:
                rectangles = [around.rectangles_of(k).tolist() for k in chosen.tolist()]
            near = Around.of(rectangles, np.ones(len(chosen), np.int64))
            places = np.empty((len(chosen), 4), np.int64)
            run_ends = np.empty(len(chosen), np.int64)
            done = walk_targets(
                query,
                targets.residues,
                targets.starts[chosen].astype(np.int64) * ALIGNMENT,
                targets.lengths[chosen].astype(np.int64),
                score_width.tables_of(chosen),
                (score_width.zero, score_width.first_gap, score_width.next_gap),
                layout,
                some.goals,
                some.groups,
                some.rows,
                some.lanes,
                some.first_columns,
                kept_rows.view(np.int8),
                kept_columns.view(np.int8),
                near.forbidden,
                near.starts,
                scratch,
                directions,
                places,
                runs,
                run_ends,
            )
            if done < 0:
                raise _score_error(int(chosen[-1 - done]), int(some.goals[-1 - done]))
            found.numbers[:4, chosen[:done]] = places[:done].T
            stops = run_ends[:done].tolist()
            for k, start, stop in zip(chosen.tolist(), [0, *stops], stops, strict=False):
                found.runs[k] = runs[start:stop].copy()
            first += done

    def _walk(
        self,
        pairs: Pairs,
        k: int,
        score_width: ScoreWidth,
        layout: Layout,
        lines: tuple[NDArray[np.signedinteger], NDArray[np.signedinteger]],
        end: tuple[int, int],
        found: Paths,
    ) -> None:
        """Walk back from the end of a target's alignment, by its row lines and column lines."""
        (end_row, end_column), (kept_rows, kept_columns) = end, lines
        target = find_residues(pairs.targets, k)
        buffer = np.empty(len(pairs.query) + len(target), np.uint32)
        row, column, count = walk_lines(
            pairs.query,
            target,
            score_width.table_of(k),
            (score_width.zero, score_width.first_gap, score_width.next_gap),
            layout,
            kept_rows.view(np.int8),
            kept_columns.view(np.int8),
            NOT_FORBIDDEN,
            *end,
            *_allocate_tile(layout.tile_rows, layout.tile_columns),
            buffer,
        )
        first = layout.first_column
        found.numbers[:4, k] = row, end_row + 1, column - first, end_column + 1 - first
        found.runs[k] = buffer[:count][::-1].copy()

    def _allocate_lines(
        self, row_size: int, column_size: int, kind: np.dtype[np.signedinteger]
    ) -> tuple[NDArray[np.signedinteger], NDArray[np.signedinteger]]:
        """Return memory for row lines and column lines; each thread keeps its own."""
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
        for top, bottom, left, right in around.rectangles_of(int(chosen[number])).tolist():
            edges.append((top, lane, column + left, column + right, 1))
            edges.append((bottom, lane, column + left, column + right, -1))
    return np.array(sorted(edges), np.int64).reshape(-1, 5)


def _trace_long(
    pairs: Pairs,
    k: int,
    scores: NDArray[np.int64],
    found: Paths,
    progress: Progress,
    around: Around | None,
) -> None:
    """Align the query with one target that is too large for the lanes."""
    table = pairs.widths[-1].table_of(k)
    forbidden = NOT_FORBIDDEN if around is None else around.rectangles_of(k)
    score = int(scores[k] if around is None else around.min_scores[k])
    target = find_residues(pairs.targets, k)
    walk = Walk(pairs.query, target, table, *pairs.gap_penalties, progress, forbidden)
    query_end, target_end = walk.walk_best(score)
    if query_end == 0 and around is not None:
        scores[k] = 0
        return
    if query_end == 0 or (around is None and walk.score != score):
        raise _score_error(k, score)
    scores[k] = walk.score
    found.numbers[:4, k] = walk.row + 1, query_end, walk.column + 1, target_end
    found.runs[k] = walk.runs[: walk.count][::-1].copy()


def _score_error(k: int, score: int) -> EngineError:
    return EngineError(f"the best alignment of target {k} does not have the score {score}")


def _allocate_tile(rows: int, columns: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return work space for a tile: see `walk_lines`."""
    return np.empty(2 * (rows + columns), np.int64), np.empty(rows * columns, np.uint8)


def _find_tile(rows: int, columns: int, score_width: ScoreWidth, grid_bytes: int) -> int:
    """Return the smallest distance of lines that together take at most `grid_bytes`."""
    line_bytes = 4 * rows * columns * score_width.lanes * score_width.bits // 8
    tile = MIN_TILE
    while line_bytes > tile * grid_bytes:
        tile *= 2
    return tile
