"""Pairs of two sequences each, aligned one after the other by one call of a kernel.

A search compares one query with many targets, so its kernels spread targets over the lanes. Here
each pair has a query of its own: its rows are spread over the lanes, as in
`swdual.backends._striped`. A pair is filled twice. The first time tells the score. The second time
keeps lines, and ends in the first column that has the score. Then `walk_lines` goes back.

Pairs that are too large, or whose score needs more than 16 bits, are left to `Tracer`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.lines import walk_lines
from swdual.alignment.long import NOT_FORBIDDEN
from swdual.alignment.plain_scores import score_plain
from swdual.alignment.tile import tally
from swdual.alignment.tracebacks import COLUMNS, Tracebacks, find_positives
from swdual.alignment.tracer import Tracer
from swdual.backends._striped import target_kernel
from swdual.lanes.registers import register_bytes
from swdual.lanes.score_widths import ScoreWidth, allocate_aligned, score_widths
from swdual.runtime.native import native_family
from swdual.runtime.stopping import check_stop
from swdual.sequences.alphabet import CODES, PAD
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence as Query

BITS = 16
"""Bits of a number."""

TILE = 64
"""Columns between two column lines."""

MAX_LINE_BYTES = 16 << 20
"""Most memory for the lines of a pair: 12,000 x 12,000 residues have as many with AVX2."""


@native_family
def pair_kernel(lanes: int) -> Callable[..., int]:
    """Return the kernel that aligns pairs.

    Parameters
    ----------
    lanes
        Numbers of `BITS` bits in a vector.
    """
    LANES = lanes
    fill = target_kernel(BITS, lanes)

    def trace_pairs(
        queries: NDArray[np.uint8],
        query_starts: NDArray[np.int64],
        targets: NDArray[np.uint8],
        target_starts: NDArray[np.int64],
        table: NDArray[np.int64],
        letter_table: NDArray[np.int16],
        positive_pairs: NDArray[np.int64],
        numbers: tuple[int, int, int, int],
        longest: int,
        space: NDArray[np.int64],
        vectors: NDArray[np.int16],
        vector_bytes: NDArray[np.int8],
        score: NDArray[np.int32],
        directions: NDArray[np.uint8],
        forbidden: NDArray[np.int64],
        scores: NDArray[np.int64],
        columns: NDArray[np.int64],
        runs: NDArray[np.uint32],
        run_starts: NDArray[np.int64],
    ) -> int:
        """Align pairs, and count what their alignments consist of.

        Parameters
        ----------
        queries, query_starts, targets, target_starts
            Codes of all queries one after the other, and (pairs + 1,) where each begins; the same
            of the targets.
        table, letter_table
            (32, 32) scores of query codes with target codes; and for each target code those of the
            query codes.
        positive_pairs
            See `tally`.
        numbers
            What stands for score 0, the first and each further gap residue's cost, and the limit.
        longest, space, vectors, vector_bytes, score, directions
            Rows of the longest query in whole vectors, and work space for it: see `_WorkSpace`.
        forbidden
            See `walk_lines`.
        scores
            (pairs,) receives the scores; -1 where the numbers, or the lines, are too small.
        columns
            (9, pairs) receives the numbers of the alignments: see `COLUMNS`.
        runs, run_starts
            Receives the operations, first to last, and (pairs + 1,) where those of each pair begin.
        """
        zero, first_gap, next_gap, limit = numbers
        # As `_WorkSpace` draws it.
        start, length, end = space[:1], space[1:2], space[2:5]
        start[0] = 0
        striped, rows_of = space[8 : 8 + longest], space[8 + longest : 8 + 2 * longest]
        scratch = space[8 + 2 * longest :]
        lane_best, H = vectors[:LANES], vectors[LANES : LANES + longest]
        E = vectors[LANES + longest : LANES + 2 * longest]
        profile = vectors[LANES + 2 * longest : LANES + (2 + CODES) * longest]
        lines = vectors[LANES + (2 + CODES) * longest :]
        line_bytes = vector_bytes[(LANES + (2 + CODES) * longest) * (BITS // 8) :]
        filled = 0
        for k in range(len(scores)):
            run_starts[k] = filled
            query = queries[query_starts[k] : query_starts[k + 1]]
            target = targets[target_starts[k] : target_starts[k + 1]]
            rows = -(-len(query) // LANES)
            size = rows * LANES
            row_size = len(target) * 2 * LANES
            if size == 0 or row_size == 0:
                scores[k] = 0
                continue
            if row_size + len(target) // TILE * 2 * size > len(lines):
                scores[k] = -1
                continue
            for i in range(size):
                striped[i] = PAD
            for i in range(len(query)):
                striped[i % rows * LANES + i // rows] = query[i]
                rows_of[i] = query[i]
            length[0] = len(target)
            kept_rows, kept_columns = lines[:row_size], lines[row_size:]
            fill(
                target,
                start,
                length,
                start,
                striped[:size],
                letter_table,
                CODES,
                (zero, first_gap, next_gap, limit),
                profile,
                (0, size),
                H[:size],
                E[:size],
                lane_best,
                score,
                0,
                kept_rows,
                kept_columns,
                end,
            )
            scores[k] = score[0]
            if scores[k] <= 0:
                continue
            # The profile is there already: no rows are looked up.
            fill(
                target,
                start,
                length,
                start,
                striped[:0],
                letter_table,
                CODES,
                (zero, first_gap, next_gap, zero + scores[k] - 1),
                profile,
                (0, size),
                H[:size],
                E[:size],
                lane_best,
                score,
                TILE,
                kept_rows,
                kept_columns,
                end,
            )
            row, column, count = walk_lines(
                rows_of[: len(query)],
                target,
                table,
                (zero, first_gap, next_gap),
                (1, BITS // 8, LANES, rows, TILE, 0, 0, 0),
                line_bytes[: row_size * (BITS // 8)],
                line_bytes[row_size * (BITS // 8) :],
                forbidden,
                end[0],
                end[1],
                scratch,
                directions,
                runs[filled:],
            )
            for n in range(count // 2):  # the walk found the last operation first
                a, b = filled + n, filled + count - 1 - n
                runs[a], runs[b] = runs[b], runs[a]
            filled += count
            columns[0, k], columns[1, k] = row, end[0] + 1
            columns[2, k], columns[3, k] = column, end[1] + 1
            run_starts[k + 1] = filled
            tally(
                query,
                target,
                start,
                columns[:, k : k + 1],
                run_starts[k : k + 2],
                runs,
                positive_pairs,
                1,
            )
        run_starts[len(scores)] = filled
        return filled

    return trace_pairs


class TracedPairs(NamedTuple):
    """(pairs,) scores, and the alignments; where a score is 0 the alignment is empty."""

    scores: NDArray[np.int64]
    tracebacks: Tracebacks


class _WorkSpace(NamedTuple):
    """Work space of a thread for pairs of up to so many residues.

    ::

        space    | 0 | length | end: 3 | - | striped query | query | scratch of `walk_lines` |
        vectors  | best of lanes | H | E | profile: 32 letters | lines |

    Parameters
    ----------
    longest, widest
        Rows of queries in whole vectors, and residues of targets.
    arrays
        `longest` and the arrays, in the kernel's order.
    """

    longest: int
    widest: int
    arrays: tuple[int | NDArray[Any], ...]

    @classmethod
    def allocate(cls, longest: int, widest: int, width: ScoreWidth) -> Self:
        """Return work space for queries of `longest` residues and targets of `widest`."""
        lanes, kind = width.lanes, width.kind
        rows = -(-longest // lanes)
        size = rows * lanes
        lines = widest * 2 * lanes + widest // TILE * 2 * size
        lines = min(lines, MAX_LINE_BYTES // kind.itemsize)
        vectors = allocate_aligned(lanes + (2 + CODES) * size + lines, kind)
        arrays = (
            size,
            np.empty(8 + 2 * size + 2 * (rows + TILE), np.int64),
            vectors,
            vectors.view(np.int8),
            np.empty(1, np.int32),
            np.empty(rows * TILE, np.uint8),
        )
        return cls(size, widest, arrays)


class PairTracer:
    """Aligns pairs under one scoring scheme; threads may call it at the same time.

    Parameters
    ----------
    scheme
        Substitution matrix and gap penalties.
    """

    def __init__(self, scheme: ScoringScheme) -> None:
        self._scheme = scheme
        widths = score_widths(scheme, register_bytes())
        self._width = next((width for width in widths if width.bits == BITS), None)
        if self._width is not None:
            table = np.full((CODES, CODES), self._width.table[0, PAD])
            table[: len(self._width.table)] = self._width.table
            table[PAD] = self._width.table[0, PAD]
            self._table = table
            self._letter_table = table.T.astype(np.int16).ravel()
        self._positive_pairs = find_positives(scheme.matrix)
        self._thread = threading.local()

    def __call__(self, queries: Sequence[bytes], targets: Sequence[bytes]) -> TracedPairs:
        """Return the best alignment of each query with its target.

        Parameters
        ----------
        queries, targets
            (pairs,) residue codes.

        Raises
        ------
        EngineError
            If a score is above 2**31 - 1.
        """
        check_stop()
        traced = self._trace(queries, targets)
        left = np.flatnonzero(traced.scores < 0)
        if not len(left):
            return traced
        parts, tracer = [traced.tracebacks], Tracer(self._scheme)
        for k in left.tolist():
            scores = score_plain(queries[k], [targets[k]], self._scheme, check_stop)
            traced.scores[k] = scores[0]
            query = Query("", queries[k], self._scheme.matrix.alphabet)
            parts.append(tracer(query, [targets[k]], scores, np.ones(1, np.int8), check_stop))
        order = np.arange(len(queries))
        order[left] = len(queries) + np.arange(len(left))
        return traced._replace(tracebacks=Tracebacks.concatenate(parts).take(order))

    def _trace(self, queries: Sequence[bytes], targets: Sequence[bytes]) -> TracedPairs:
        """Return the alignments; the scores of pairs that are left to `Tracer` are -1."""
        count, width = len(queries), self._width
        scores = np.full(count, -1, np.int64)
        columns = np.zeros((len(COLUMNS), count), np.int64)
        run_starts = np.zeros(count + 1, np.int64)
        if width is None or not count:
            return TracedPairs(scores, Tracebacks(columns, run_starts, np.empty(0, np.uint32)))
        lengths = np.array([[*map(len, queries)], [*map(len, targets)]], np.int64)
        starts = np.zeros((2, count + 1), np.int64)
        np.cumsum(lengths, axis=1, out=starts[:, 1:])
        longest, widest = lengths.max(axis=1).tolist()
        space = getattr(self._thread, "space", None)
        if space is None or space.longest < longest or space.widest < widest:
            space = self._thread.space = _WorkSpace.allocate(longest, widest, width)
        runs = np.empty(int(starts[:, -1].sum()), np.uint32)
        filled = pair_kernel(width.lanes)(
            np.frombuffer(b"".join(queries), np.uint8),
            starts[0],
            np.frombuffer(b"".join(targets), np.uint8),
            starts[1],
            self._table,
            self._letter_table,
            self._positive_pairs,
            (width.zero, width.first_gap, width.next_gap, width.limit),
            *space.arrays,
            NOT_FORBIDDEN,
            scores,
            columns,
            runs,
            run_starts,
        )
        return TracedPairs(scores, Tracebacks(columns, run_starts, runs[:filled].copy()))
