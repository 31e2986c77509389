"""The fast backend for CPUs: SIMD lanes of 8-bit numbers, wider only for targets that need it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from swdual.backend import (
    KEPT_BYTES,
    TARGET_COST,
    TOO_LARGE,
    Progress,
    ScoreCutoffs,
    wants_bounds,
)
from swdual.backends._gotoh import score_kernel
from swdual.backends._striped import StripedQuery, target_kernel
from swdual.database.database import Database
from swdual.errors import EngineError
from swdual.lanes.layout import (
    MANY_BATCHES,
    BufferPool,
    LaneLayout,
    choose_layout,
    find_sparse,
    lay_out,
)
from swdual.lanes.pack import Pack, make_block
from swdual.lanes.registers import COLUMNS, instruction_set, register_bytes, register_count
from swdual.lanes.score_widths import (
    FRAMESHIFT,
    MATRIX,
    MATRIX_WITH_OFFSETS,
    OFFSET_ROWS,
    PER_TARGET,
    ScoreWidth,
    allocate_aligned,
    find_bound,
    find_offsets,
    number_rows,
    score_widths,
)
from swdual.sequences.alphabet import CODES
from swdual.sequences.scoring import ScoringScheme

RECENT = 32
"""Vectors that a kernel with frameshifts needs besides: see `swdual.lanes.cell.go_down_frames`."""

CALL_CELLS = 4_000_000_000
"""Cells of one call of a kernel: progress is reported, and stops are noticed, between calls."""

OFFSETS_ON, MIN_OFFSET_ROWS = {"avx2"}, 64
"""Instruction sets on which numbers with offsets are faster, and the shortest query for them."""

MIN_BOUND_BYTES, MIN_BOUND_BATCHES = 250_000_000, 3
"""Least work for upper bounds, in cells times the bytes of their numbers, and fewest batches.

What is done once for the targets that are left takes as long as 40 million cells of 8 bits. In a
small database cutoffs are low, too, so that many are left.
"""

MAX_BOUND_SAMPLE, MAX_LEFT = 4, 0.35
"""Most batches that tell whether bounds are worth it, and the largest part of their cells that may
be left then.
"""


def bind(database: Database, scheme: ScoringScheme, lanes: int | None = None) -> SimdScorer:
    """Return a scorer for this machine.

    Parameters
    ----------
    database, scheme
        What is searched and how.
    lanes
        8-bit numbers a vector holds, a power of two from 16 to 128; by default two registers'
        full, or one where there are only 16 of them.
    """
    if lanes is None:
        lanes = register_bytes() * register_count() // 16
    return SimdScorer(database, scheme, lanes)


@dataclass
class CellCounts:
    """Cells that a scorer has computed.

    Parameters
    ----------
    cells, lane_cells
        Exact ones: those of targets, and those of all lanes with idle ones.
    asked, left
        Those of all targets, and of the targets whose upper bounds did not tell enough.
    """

    cells: int = 0
    lane_cells: int = 0
    asked: int = 0
    left: int = 0


class SimdScorer:
    """Scores with 8-bit numbers, and again with 16 and 32 bits where a score did not fit.

    Targets are scored side by side, one in each lane, and one by one where that leaves too many
    lanes idle.
    """

    def __init__(self, database: Database, scheme: ScoringScheme, lanes: int) -> None:
        self.work = CellCounts()
        self.width = lanes
        self.score_widths = score_widths(scheme, lanes)
        if instruction_set() in OFFSETS_ON and lanes <= register_bytes():
            self.score_widths = [
                replace(width, offsets=find_offsets(width)) for width in self.score_widths
            ]
        self._database = database
        self._scheme = scheme
        self._profile: tuple[NDArray[np.int32], list[ScoreWidth]] | None = None
        self._kept_bytes = KEPT_BYTES
        self._buffers = BufferPool()
        self._packs: dict[tuple[int, int, int, int], Future[Pack]] = {}
        self._lock = threading.Lock()

    @property
    def exact_part(self) -> float:
        """The part of the cells that `best` has computed exactly: see `SelectingScorer`."""
        with self._lock:
            return self.work.left / self.work.asked if self.work.asked else 1.0

    @property
    def is_resident(self) -> bool:
        """Whether the packs of all targets are kept: see `ResidentScorer`."""
        database = self._database
        return database.residues + TARGET_COST * len(database) <= self._kept_bytes

    def memory(self, longest_query: int, max_range_cost: int) -> tuple[int, int]:
        """Return bytes: see `Scorer.memory`. Packs that are kept are counted by `keep`.

        Each caller has H and E of every lane, or those of one target in 32 bits and its query
        profile, in two orders; a range as in the file, laid out, and laid out twice more for wider
        numbers, to compare. A target takes at most four times its cost. Lanes idle beside the
        longest targets.
        """
        rows = max(2 * self.width, 4 * (2 * CODES + 2)) + 16
        idle = min(4 * self.width * self._database.manifest.longest, 64 * max_range_cost)
        return 0, rows * longest_query + 4 * max_range_cost + idle

    def set_cache_bytes(self, max_bytes: int) -> None:
        """Set the maximum size, in bytes, of packs that are kept."""
        self._kept_bytes = max_bytes

    def __call__(
        self,
        query: bytes,
        block: int,
        first: int,
        last: int,
        progress: Progress,
        profile: NDArray[np.int32] | None = None,
    ) -> NDArray[np.int32]:
        """Return the scores: see `Scorer`."""
        rows, widths = number_rows(query, profile), self._find_widths(profile)
        packed = self._pack(block, first, last, widths[0], len(rows))
        scores = self._score(rows, packed, widths[0], progress)
        self._score_again(rows, (block, first, last), widths[1:], scores, progress)
        return scores

    def best(
        self,
        query: bytes,
        block: int,
        first: int,
        last: int,
        cutoffs: ScoreCutoffs,
        progress: Progress,
        profile: NDArray[np.int32] | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the scores that reach their cutoffs, and the numbers of their targets.

        See `SelectingScorer.best`. Upper bounds of the scores come first, where they are worth it.
        """
        rows, widths = number_rows(query, profile), self._find_widths(profile)
        packed = self._pack(block, first, last, widths[0], len(rows))
        lowest = cutoffs.select(packed.lengths)
        sparse = self._sparse(packed, widths[0].bits, len(rows))
        scores = bound_pack(rows, packed, widths[0], sparse, lowest, progress)
        left = packed.residues
        if scores is None:
            scores = self._score(rows, packed, widths[0], progress)
            widths = widths[1:]
        else:
            left = int(packed.lengths[scores < 0].sum())
        with self._lock:
            self.work.asked += packed.residues * len(rows)
            self.work.left += left * len(rows)
        self._score_again(rows, (block, first, last), widths, scores, progress)
        places = np.flatnonzero(scores >= lowest)
        found, places = scores[places], first + places
        order = np.lexsort((self._database.block(block).ordinals[places], -found))
        return found[order], places[order]

    def _score_again(
        self,
        query: NDArray[np.int64],
        target_range: tuple[int, int, int],
        widths: Sequence[ScoreWidth],
        scores: NDArray[np.int32],
        progress: Progress,
    ) -> None:
        """Score targets whose score is -1 with wider numbers, or with exact ones.

        These cells were reported before: `progress(0)` reports none, but lets the search stop.
        """
        for score_width in widths:
            left = np.flatnonzero(scores < 0)
            if len(left) == 0:
                return
            targets = self._database.targets(*target_range)
            layout = self._choose_layout(targets.lengths[left], len(query), score_width)
            again = lay_out(targets, left, layout)
            self._database.release()
            scores[left] = self._score(query, again, score_width, lambda cells: progress(0))
        if scores.min(initial=0) < 0:
            raise EngineError(TOO_LARGE)

    def _find_widths(self, profile: NDArray[np.int32] | None) -> list[ScoreWidth]:
        """Return the score widths of a query; those of the last profile are kept."""
        if profile is None:
            return self.score_widths
        kept = self._profile
        if kept is None or kept[0] is not profile:
            kept = self._profile = profile, score_widths(self._scheme, self.width, profile)
        return kept[1]

    def _pack(self, block: int, first: int, last: int, width: ScoreWidth, rows: int) -> Pack:
        """Return a range of targets interleaved: one thread makes it, others wait for it.

        The layout of a small range depends on the length of the query: on its number of bits here.
        """
        # The thread that puts the future into the dictionary makes the pack; the others find the
        # future there. `pop` and insertion keep the dictionary in the order of last use.
        bits = rows.bit_length() if last - first <= MANY_BATCHES * width.lanes else 0
        key = (block, first, last, bits)
        with self._lock:
            pack_future = self._packs.pop(key, None)
            mine = pack_future is None
            pack_future = Future() if pack_future is None else pack_future
            self._packs[key] = pack_future
        if mine:
            try:
                targets = self._database.targets(block, first, last)
                layout = self._choose_layout(targets.lengths, 3 << bits >> 2, width)
                everything = np.arange(last - first)
                packed = lay_out(targets, everything, layout, self._buffers.take)
                self._buffers.take_back(packed)
                pack_future.set_result(packed)
                del packed
            except BaseException as error:
                with self._lock:
                    del self._packs[key]
                pack_future.set_exception(error)
            self._forget()
            self._database.release()
        return pack_future.result()

    def _choose_layout(
        self, lengths: NDArray[np.integer], rows: int, width: ScoreWidth
    ) -> LaneLayout:
        """Return how targets are laid out: see `choose_layout`."""
        return choose_layout(lengths, rows, width)

    def _forget(self) -> None:
        """Free the packs that were not used for longest, if all are too large."""
        with self._lock:
            ready = [key for key, future in self._packs.items() if future.done()]
            held = sum(self._packs[key].result().bytes for key in ready)
            # The one that was used last stays, however large it is.
            for key in ready[:-1]:
                if held <= self._kept_bytes:
                    break
                held -= self._packs.pop(key).result().bytes

    def _score(
        self, query: NDArray[np.int64], packed: Pack, score_width: ScoreWidth, progress: Progress
    ) -> NDArray[np.int32]:
        """Return (targets,) scores of a pack; -1 where a score does not fit the width."""
        sparse = self._sparse(packed, score_width.bits, len(query))
        if score_width.source == FRAMESHIFT:
            sparse[:] = False
        scores = score_pack(query, packed, score_width, sparse, progress)
        if sparse.any():
            self._database.release()
        columns = int(np.diff(packed.batch_starts)[~sparse].sum()) * COLUMNS * packed.lanes
        lanes = count_target_lanes(packed, score_width)
        alone = int(packed.batch_residues[sparse].sum()) * -(-len(query) // lanes) * lanes
        with self._lock:
            self.work.cells += packed.residues * len(query)
            self.work.lane_cells += columns * len(query) + alone
        return scores

    def _sparse(self, packed: Pack, bits: int, rows: int) -> NDArray[np.bool_]:
        """Return which batches have so few targets that each is sooner scored by itself."""
        return find_sparse(packed, bits, rows)


def score_pack(
    query: NDArray[np.int64],
    packed: Pack,
    score_width: ScoreWidth,
    sparse: NDArray[np.bool_],
    progress: Progress,
    numbers: NDArray[np.int64] | None = None,
) -> NDArray[np.int32]:
    """Return (targets,) scores of a pack; -1 where a score does not fit the width.

    Parameters
    ----------
    query
        Rows of the score table: see `number_rows`.
    packed
        The targets.
    score_width
        Numbers of one width.
    sparse
        (batches,) whether the targets of a batch are scored one by one.
    progress
        Called with the cells done after each call of a kernel.
    numbers
        (targets,) what `score_width` knows the targets by, if scores are per target.
    """
    out = np.empty(len(packed.lengths), np.int32)
    lanes = count_target_lanes(packed, score_width)
    numbers = np.arange(len(packed.lengths)) if numbers is None else numbers
    target_tables = score_width.target_tables(numbers)
    for first, last in _runs(sparse):
        if sparse[first]:
            targets = packed.event_targets[slice(*packed.event_starts[[first, last]])]
            calls = _score_each(query, packed, score_width, target_tables, lanes, targets, out)
        else:
            calls = _score_batches(query, packed, score_width, target_tables, first, last, out)
        for cells in calls:
            progress(cells)
    return out


def bound_pack(
    query: NDArray[np.int64],
    packed: Pack,
    score_width: ScoreWidth,
    sparse: NDArray[np.bool_],
    cutoffs: NDArray[np.int64],
    progress: Progress,
    numbers: NDArray[np.int64] | None = None,
) -> NDArray[np.int32] | None:
    """Return (targets,) upper bounds below their cutoffs, and -1 for the targets that are left.

    Parameters
    ----------
    query, packed, progress, numbers
        See `score_pack`.
    score_width
        Numbers of exact scores.
    sparse
        (batches,) whether the targets of a batch are left without a bound.
    cutoffs
        (targets,) the lowest scores that are asked for.

    Returns
    -------
    None if bounds are not worth it: too many targets of some batches would be left.
    """
    bound, together = find_bound(score_width), np.flatnonzero(~sparse)
    work = packed.residues * len(query) * score_width.bits // 8
    is_small = work < MIN_BOUND_BYTES or len(together) < MIN_BOUND_BATCHES
    pointless = cutoffs.max(initial=0) <= score_width.first_gap or not wants_bounds()
    if bound is None or is_small or pointless:
        return None
    numbers = np.arange(len(packed.lengths)) if numbers is None else numbers
    tables = bound.target_tables(numbers)
    out = np.full(len(packed.lengths), -1, np.int32)
    cells = packed.lengths * len(query)
    done = left = 0
    # The shortest targets come first: where many of them are left, it is soon known.
    count = min(max(len(together) // (4 * MAX_BOUND_SAMPLE), 1), MAX_BOUND_SAMPLE)
    middles = together[((np.arange(count) + 0.5) / count * len(together)).astype(np.int64)]
    sample = np.append(middles, together[-1])[::-1]
    for batch in sample.tolist():
        done += sum(_score_batches(query, packed, bound, tables, batch, batch + 1, out))
        targets = packed.event_targets[slice(*packed.event_starts[[batch, batch + 1]])]
        left += int(cells[targets[(out[targets] < 0) | (out[targets] >= cutoffs[targets])]].sum())
        if left > MAX_LEFT * done:
            return None
        progress(0)
    skipped = sparse.copy()
    skipped[sample] = True
    progress(done + int(packed.batch_residues[sparse].sum()) * len(query))
    for first, last in _runs(skipped):
        if not skipped[first]:
            for some in _score_batches(query, packed, bound, tables, first, last, out):
                progress(some)
    out[out >= cutoffs] = -1
    return out


def score_targets(
    query: NDArray[np.int64],
    targets: Sequence[bytes],
    widths: Sequence[ScoreWidth],
    progress: Progress = lambda cells: None,
    cutoffs: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Return (targets,) Smith-Waterman scores of a query with some targets, without a database.

    Parameters
    ----------
    query, targets
        Rows of the score tables (see `number_rows`), and residue codes.
    widths
        The score widths to use, narrowest first.
    progress
        Called with 0 now and then; may raise to stop the work.
    cutoffs
        (targets,) the lowest scores that are asked for, if not all are.

    Returns
    -------
    (targets,) scores, or upper bounds of them below the cutoffs; -1 where a score fits none of the
    widths.
    """
    lengths = np.array([len(codes) for codes in targets], np.int64)
    order = np.argsort(-lengths, kind="stable")
    block = make_block([targets[k] for k in order.tolist()])
    scores = np.where((lengths > 0) & (len(query) > 0), -1, 0)

    def lay_out_left(width: ScoreWidth) -> tuple[NDArray[np.int64], Pack, NDArray[np.bool_]]:
        """Return the numbers of the targets that are left, these targets, and what is sparse."""
        progress(0)
        left = np.flatnonzero(scores[order] < 0)
        numbers = order[left]
        packed = lay_out(block, left, choose_layout(lengths[numbers], len(query), width))
        return numbers, packed, find_sparse(packed, width.bits, len(query))

    def report(_: int) -> None:
        progress(0)

    for width in widths:
        if (scores >= 0).all():
            break
        numbers, packed, sparse = lay_out_left(width)
        if cutoffs is not None:
            asked, cutoffs = cutoffs[numbers], None
            bounds = bound_pack(query, packed, width, sparse, asked, report, numbers)
            if bounds is not None:
                scores[numbers] = bounds
                if (bounds >= 0).all():
                    break
                numbers, packed, sparse = lay_out_left(width)
        scores[numbers] = score_pack(query, packed, width, sparse, report, numbers)
    return scores


def count_target_lanes(packed: Pack, score_width: ScoreWidth) -> int:
    """Return the numbers in a vector where one target is scored: one register's full at most."""
    return min(packed.lanes, register_bytes() * 8 // score_width.bits)


def _score_batches(
    query: NDArray[np.int64],
    packed: Pack,
    score_width: ScoreWidth,
    target_tables: NDArray[np.signedinteger],
    first: int,
    last: int,
    out: NDArray[np.int32],
) -> Iterator[int]:
    """Score some batches, a target in each lane; yield the cells of each call."""
    lanes, kind = packed.lanes, score_width.kind
    residues = len(query)
    if score_width.is_bound and residues % 2:
        query = np.append(query, score_width.pad_row)
    rows, group = len(query) * lanes, COLUMNS * lanes
    offsets = score_width.offsets if len(query) >= MIN_OFFSET_ROWS else None
    profile = (score_width.table_rows + score_width.is_bound) * group
    more = RECENT * lanes * (score_width.source == FRAMESHIFT)
    scratch = [allocate_aligned(n, kind) for n in (rows + more, rows, profile, lanes, lanes)]
    source = score_width.source
    order = (np.empty(0, np.int64),) * 2
    if source == PER_TARGET:
        source, order = MATRIX, packed.lane_targets
    gaps = score_width.first_gap, score_width.next_gap
    limit = score_width.limit
    tables = score_width.low, score_width.high
    zeros = peaks = np.empty(0, kind)
    if offsets is not None:
        source, limit, tables = MATRIX_WITH_OFFSETS, offsets.limit, (offsets.low, offsets.high)
        extensions = np.arange(OFFSET_ROWS + COLUMNS + 1)
        zeros, peaks = (allocate_aligned(len(extensions) * lanes, kind) for _ in range(2))
        zeros[:] = np.repeat(score_width.zero + extensions * score_width.next_gap, lanes)
    scales = (score_width.zero, *gaps, limit, score_width.shift, OFFSET_ROWS)
    used = np.flatnonzero(np.bincount(query))
    # A call takes as many whole batches as fit into `step` column groups, but at least one.
    step = max(1, CALL_CELLS // max(1, len(query) * group))
    while first < last:
        end = packed.batch_starts[first] + step
        fitting = int(np.searchsorted(packed.batch_starts, end, "right")) - 1
        after = min(last, max(first + 1, fitting))
        score_kernel(score_width.bits, lanes, source, score_width.is_bound)(
            packed.codes,
            packed.batch_starts,
            packed.event_starts,
            packed.event_groups,
            packed.event_lanes,
            packed.event_targets,
            first,
            after,
            query,
            used,
            *tables,
            target_tables,
            score_width.table_rows,
            *order,
            scales,
            *scratch[:3],
            zeros,
            peaks,
            *scratch[3:],
            *np.empty((2, lanes), np.int64),
            out,
        )
        yield int(packed.batch_residues[first:after].sum()) * residues
        first = after


def _score_each(
    query: NDArray[np.int64],
    packed: Pack,
    score_width: ScoreWidth,
    target_tables: NDArray[np.signedinteger],
    lanes: int,
    targets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> Iterator[int]:
    """Score targets one by one; yield the cells of each call."""
    rows = -(-len(query) // lanes) * lanes
    striped = StripedQuery.of(query, score_width, lanes)
    scratch = [allocate_aligned(size, score_width.kind) for size in (rows, rows, lanes)]
    numbers = (score_width.zero, score_width.first_gap, score_width.next_gap, score_width.limit)
    no_lines, no_end = np.empty(0, score_width.kind), np.empty(0, np.int64)
    cells = packed.lengths[targets] * len(query)
    # A new call begins with each target that takes the sum of cells past a multiple of CALL_CELLS.
    calls = np.flatnonzero(np.diff(np.cumsum(cells) // CALL_CELLS)) + 1
    for call_targets, done in zip(np.split(targets, calls), np.split(cells, calls), strict=True):
        target_kernel(score_width.bits, lanes)(
            packed.source,
            packed.starts,
            packed.lengths,
            call_targets,
            striped.rows,
            target_tables,
            score_width.table_rows,
            numbers,
            striped.scores(target_tables),
            striped.strides,
            *scratch,
            out,
            *(0, no_lines, no_lines, no_end),
        )
        yield int(done.sum())


def _runs(flags: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Return first and last + 1 of each run of equal flags."""
    edges = np.flatnonzero(np.diff(flags)) + 1
    return itertools.pairwise([0, *edges.tolist(), len(flags)])
