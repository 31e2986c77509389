"""One launch: a query or two against some targets; what is chosen for it, and what it is given.

A launch is a kernel over all pieces, then `q1_s32` over those whose score 16 bits do not hold,
then, where only the best are wanted, `keys`, which gathers them. All of it is queued at once: how
many pieces are to be scored again only the card knows. Where only the best are wanted, a kernel of
bounds comes first and lists what may be among them, which then gets exact scores; or, where that
would be nearly all, the first kernel may be sparse (see ``kernels/README.md``); with several tiles,
`q1_s32` then scores again all that may be among the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.backend import MAX_SCORE, wants_bounds
from swdual.backends.cuda import pieces
from swdual.backends.cuda.card import Buffer, Card, Event, Program
from swdual.backends.cuda.kernels import (
    BORDER_BYTES,
    BOUNDS,
    COLUMNS,
    KERNELS,
    LANES,
    SEARCH,
    WARP,
    Kernel,
    Tile,
    choose,
    first_half,
)
from swdual.backends.cuda.memory import CardRegion, OverBudget, Part, Shelf, pad_size
from swdual.backends.cuda.occupancy import UNCUT, LaunchShape, choose_shape
from swdual.backends.cuda.query import KernelQuery, transpose_scores
from swdual.backends.cuda.slot import Slot
from swdual.sequences.alphabet import ALIGNMENT, PAD
from swdual.sequences.scoring import ScoringScheme

_choose = lru_cache(256)(choose)

MAX_TILE_COLUMNS = max(LANES) * max(COLUMNS)
"""Longer queries need several tiles, whatever tile is chosen."""

UNLIKE = 0.15
"""Part of a pair's cells that may be wasted on the shorter query; with more, each goes alone."""

SPARSE_LOSS = 3
"""Gap extensions by which a sparse fill may see a score too small: up to them all are in doubt."""

SPARSE_PART = 32
"""Part of a launch that a piece to score again may take, which all other groups wait for."""

MANY = 128
"""Where more than one of so many targets reaches a cutoff, it costs more to score them again."""

BOUND_WAVES = 16
"""Fewest targets for each that a card computes side by side, for bounds: what is scored after them
waits for its longest target."""

MAX_LEFT = 1 / 3
"""The largest part of some targets that bounds may leave: with more, the next get exact scores.
Kernels of bounds give up at the same part."""

PATIENCE = 1024
"""Pieces that a kernel of bounds may leave before it looks at the part that it leaves."""

SCORE_BYTES = 4
"""Of a score in the table of a query."""

KEYS = Program("keys.cu", "keys")
KEYS_THREADS, MAX_KEYS_CTAS = 256, 1024


def kernels_on(capability: tuple[int, int], kernels: Mapping[str, Kernel]) -> list[Kernel]:
    """Return those of some kernels that are meant for a compute capability, the quickest first.

    >>> [kernel.name for kernel in kernels_on((9, 0), KERNELS)]
    ['q2_s16', 's2_s16', 'q1_s32']
    """
    number = 10 * capability[0] + capability[1]
    return [
        kernel
        for kernel in kernels.values()
        if kernel.numbers.capabilities[0] <= number < kernel.numbers.capabilities[1]
    ]


class PieceTables(NamedTuple):
    """What a kernel is given about pieces and chunks, and how much work they are.

    The first four are the addresses of starts, lengths, targets and chunks on the card: see
    `SEARCH`. `tables` is the memory that a launch has for itself there, if any.
    """

    starts: int
    lengths: int
    targets: int
    chunks: int
    chunk_count: int
    pieces: int
    longest: int
    max_grid: int
    rows: int
    tables: CardRegion | None


class KernelRun(NamedTuple):
    """A kernel, its grid and threads, its arguments, and its bytes of scratch memory."""

    kernel: Kernel
    tile: Tile
    grid: int
    threads: int
    search: NDArray[np.void]
    scratch: int


class Launcher:
    """Launches under one scheme on one card.

    Parameters
    ----------
    card, shelf
        The card, and what lies on it.
    scheme
        What alignments score.
    """

    def __init__(self, card: Card, shelf: Shelf, scheme: ScoringScheme) -> None:
        self._card = card
        self._shelf = shelf
        self._stream = card.stream()
        self._best = scheme.matrix.scores[:PAD, :PAD].max(axis=1).clip(0).astype(np.int64)
        self._matrix_largest = int(self._best.max())
        self._gap_costs = scheme.gap_open + scheme.gap_extend, scheme.gap_extend
        major, minor = card.capability
        self._capability = 10 * major + minor
        self._kernels = kernels_on(card.capability, KERNELS)
        self._bounds = kernels_on(card.capability, BOUNDS) if wants_bounds() else []
        self._widest = KERNELS["q1_s32"]
        self._matrix = shelf.keep(transpose_scores(scheme.matrix.scores))
        card.prepare(KEYS)
        self._numbers = shelf.keep(np.arange(shelf.max_targets + 1, dtype=np.uint32))
        self._border: Buffer | None = None
        self._prepared: set[tuple[int, int]] = set()
        self._low_cutoff = 0

    def max_score(self, query: KernelQuery, longest: int) -> int:
        """Return an upper bound of the scores of a query.

        Parameters
        ----------
        query
            The query.
        longest
            Residues of the longest target.
        """
        return min(self._sum(query), longest * self._largest(query))

    def _largest(self, query: KernelQuery) -> int:
        """Return the largest score of a pair of residues, at least 0."""
        return self._matrix_largest if query.profile is None else query.largest

    def _sum(self, query: KernelQuery) -> int:
        """Return the sum of the best score of each residue of a query."""
        if query.most is None:
            if query.profile is None:
                query.most = int(self._best[np.frombuffer(query.codes, np.uint8)].sum())
            else:
                query.most = int(query.best.sum())
        return query.most

    def _find_kernel(
        self, queries: Sequence[KernelQuery], kernels: Sequence[Kernel] | None = None
    ) -> Kernel | None:
        """Return the quickest kernel for one query, of which there is one, or for two together."""
        largest = max(self._largest(query) for query in queries)
        usable = (
            kernel
            for kernel in (self._kernels if kernels is None else kernels)
            if (kernel.is_bound or kernel.queries == len(queries))
            and kernel.holds(largest, *self._gap_costs)
        )
        return next(usable, None)

    def _find_bound(
        self, queries: Sequence[KernelQuery], lengths: NDArray[np.uint32]
    ) -> Kernel | None:
        """Return the kernel of bounds for some queries and targets, if they are worth it."""
        kernel = self._find_kernel(queries, self._bounds)
        if kernel is None or any(
            query.cutoffs is None
            or query.cutoffs.lowest <= self._gap_costs[0]
            or query.left > MAX_LEFT
            for query in queries
        ):
            return None
        tile = self._tile(kernel, _longest(kernel, queries), lengths)
        side_by_side = self._card.processors * _granule(kernel, tile, tile.threads)
        return kernel if len(lengths) >= BOUND_WAVES * side_by_side else None

    def suits(self, query: KernelQuery, partner: KernelQuery) -> bool:
        """Return whether two queries in one launch are faster than one after the other.

        Parameters
        ----------
        query, partner
            The two.
        """
        short, long = sorted((len(query), len(partner)))
        alike = long - short <= 2 * UNLIKE * long and (query.cutoffs is None) == (
            partner.cutoffs is None
        )
        return alike and self._find_kernel([query, partner]) is not None

    def prepare(self, queries: Sequence[KernelQuery], part: Part) -> None:
        """Begin to compile the kernels that a launch will probably need, and all of its size.

        Those of long queries, whose launches take long, are compiled when they are launched.

        Parameters
        ----------
        queries, part
            What will be launched.
        """
        size = len(queries), max(len(query) for query in queries)
        if size in self._prepared or size[1] > MAX_TILE_COLUMNS:
            return
        self._prepared.add(size)
        lengths = self._shelf.lengths(part.stretch.block)[part.first : part.last]
        kernel = self._find_bound(queries, lengths)
        if kernel is not None:
            tile = self._tile(kernel, _longest(kernel, queries), lengths)
            self._card.prepare(self.program(kernel, tile))
            queries = queries[:1]
        kernel = self._find_kernel(queries)
        assert kernel is not None
        tile = self._tile(kernel, size[1], lengths)
        self._card.prepare(self.program(kernel, tile))
        limit = kernel.limit(max(self._largest(query) for query in queries))
        has_tiles = size[1] > tile.lanes * tile.columns
        for query in queries:
            overflows = self.max_score(query, int(lengths[0])) >= limit
            if overflows or (kernel.numbers.sparse and has_tiles):
                again = self._rescue_tile(len(query), lengths)
                self._card.prepare(self.program(self._widest, again))

    def launch(self, slot: Slot, queries: Sequence[KernelQuery], part: Part) -> Event:
        """Queue the scoring of a query, or of two, against some targets.

        Keys are fetched if all queries have cutoffs, else all scores.

        Parameters
        ----------
        slot
            Where queries go, and scores come.
        queries
            One, or two that suit each other.
        part
            The targets.

        Returns
        -------
        What comes when the slot holds the scores, or keys.
        """
        shelf = self._shelf
        lengths = shelf.lengths(part.stretch.block)[part.first : part.last]
        cutoffs = [query.cutoffs for query in queries if query.cutoffs is not None]
        all_scores = len(cutoffs) < len(queries)
        kernel = self._find_bound(queries, lengths) or self._find_kernel(queries)
        assert kernel is not None
        shape = self._shape(kernel, queries, lengths)
        tile = shape.tile
        region = shelf.hold(part.stretch)
        work = self._work(kernel, shape, queries, part, region)
        slot.lay_out(
            [query.lay_out() for query in queries],
            len(lengths),
            work.pieces,
            [query.lay_out_cutoffs() for query in queries] if kernel.is_bound else (),
        )
        limit = kernel.limit(max(self._largest(query) for query in queries))
        longest_query = _longest(kernel, queries)
        lowest = None if all_scores else min(each.lowest for each in cutoffs)
        kernel_cutoff, sparse_words = self._find_cutoff(
            kernel, tile, longest_query, lengths, lowest
        )
        search = self._search(slot, queries, work)
        search["residues"] = region.addresses[0]
        search["limit"] = limit
        if kernel.is_bound:
            self._set_bounds(slot, queries, search)
        runs = [self._run(kernel, tile, tile.threads, search, work.max_grid, work.rows)]
        if kernel.is_bound:
            runs += [
                self._again(slot, number, query, search, work, lengths, "left")
                for number, query in enumerate(queries)
            ]
        runs += [
            self._again(slot, number, query, search, work, lengths, "rescue")
            for number, query in enumerate(queries)
            if sparse_words or self.max_score(query, int(lengths[0])) >= limit
        ]
        search["cutoff"], search["sparse_words"] = kernel_cutoff, sparse_words
        border = self._border_of(max(run.scratch for run in runs))
        stream = self._stream
        for resource in (region, work.tables, self._matrix, self._numbers):
            if resource is not None:
                stream.wait(resource.arrived)
        slot.send(stream)
        self._queue(runs, border)
        region.used = stream.record()
        if not all_scores:
            for number, each in enumerate(cutoffs):
                self._gather(slot, number, len(lengths), each.lowest)
        slot.fetch(stream, scores=all_scores)
        return stream.record()

    def _search(
        self, slot: Slot, queries: Sequence[KernelQuery], work: PieceTables
    ) -> NDArray[np.void]:
        """Return what a kernel is given, but the residues and the limit."""
        search = np.zeros((), SEARCH)
        search["piece_starts"], search["piece_lengths"] = work.starts, work.lengths
        search["piece_targets"] = work.targets
        search["chunks"], search["chunk_count"] = work.chunks, work.chunk_count
        search["gap_first"], search["gap_next"] = self._gap_costs
        search["next"] = slot.address("next")
        search["rescue_count"] = slot.address("rescue_count")
        for number, query in enumerate(queries):
            if query.profile is None:
                search["queries"][number] = slot.address("query", number)
                search["tables"][number] = self._matrix.addresses[0]
            else:
                search["tables"][number] = slot.address("query", number)
            search["query_lengths"][number] = len(query)
            search["scores"][number] = slot.address("scores", number)
            search["rescue"][number] = slot.address("rescue", number)
        return search

    def program(self, kernel: Kernel, tile: Tile) -> Program:
        """Return an instance of a kernel for the scheme's gap costs."""
        return Program(kernel.file, kernel.expression(tile, *self._gap_costs))

    def _tile(self, kernel: Kernel, query_length: int, lengths: NDArray[np.uint32]) -> Tile:
        about = self._capability, query_length, float(lengths.mean()), self._card.shared_bytes
        return _choose(kernel, *about, share=len(lengths) / self._card.processors)

    def _rescue_tile(self, query_length: int, lengths: NDArray[np.uint32]) -> Tile:
        """Return the tile for pieces that are scored again: few, so that the longest decides."""
        about = self._capability, query_length, float(lengths.mean()), self._card.shared_bytes
        return _choose(self._widest, *about, alone=True)

    def _shape(
        self, kernel: Kernel, queries: Sequence[KernelQuery], lengths: NDArray[np.uint32]
    ) -> LaunchShape:
        """Return the tile and the windows; where no target is cut, the windows are `UNCUT`."""
        ctas = self._card.processors
        longest_query = _longest(kernel, queries)
        tile = self._tile(kernel, longest_query, lengths)
        groups = ctas * _granule(kernel, tile, tile.threads)
        span = self._span(queries)
        if longest_query > MAX_TILE_COLUMNS and len(lengths) < groups:
            tiles = self._wide_tiles(kernel, tile, longest_query)
            border = self._shelf.border_bytes
            return choose_shape(kernel, tiles, longest_query, span, lengths, ctas, border)
        if span is not None:
            window = pieces.compute_window(span, int(lengths.sum(dtype=np.int64)) // groups)
            if window < lengths[0]:
                return LaunchShape(tile, span, window)
        return LaunchShape(tile, 0, UNCUT)

    def _wide_tiles(self, kernel: Kernel, tile: Tile, query_length: int) -> list[Tile]:
        """Return a tile, and those of a warp a group."""
        wide = [
            other
            for other in kernel.tiles_on(self._capability)
            if other.lanes == WARP
            and kernel.shared_bytes(other, query_length) <= self._card.shared_bytes
        ]
        return [tile, *wide]

    def _span(self, queries: Sequence[KernelQuery]) -> int | None:
        """Return how many residues of a target an alignment can cover; None for any number."""
        spans = [
            pieces.compute_span(len(query), self._sum(query), self._gap_costs[1])
            for query in queries
        ]
        known = [span for span in spans if span is not None]
        return pieces.round_up(max(known)) if len(known) == len(spans) else None

    def learn(self, cutoff: int, found: int, targets: int) -> None:
        """Take note of how many of some targets reach a cutoff: sparse kernels pay if few do."""
        many = found * MANY > targets
        self._low_cutoff = (
            max(self._low_cutoff, cutoff) if many else min(self._low_cutoff, cutoff - 1)
        )

    def _find_cutoff(
        self,
        kernel: Kernel,
        tile: Tile,
        query_length: int,
        lengths: NDArray[np.uint32],
        cutoff: int | None,
    ) -> tuple[int, int]:
        """Return the cutoff for a kernel and the most words of its sparse pieces; 0 for none."""
        low = max(self._low_cutoff, SPARSE_LOSS * self._gap_costs[1])
        if kernel.is_bound or not kernel.numbers.sparse or cutoff is None or cutoff <= low:
            return 0, 0
        words = 0
        if query_length > tile.lanes * tile.columns:
            groups = self._card.processors * _granule(kernel, tile, tile.threads)
            words = int(lengths.sum(dtype=np.int64)) // (4 * SPARSE_PART * groups)
        return min(cutoff, MAX_SCORE), words

    def fetch_scores(self, slot: Slot) -> None:
        """Fetch all scores of a launch that was to fetch keys."""
        slot.fetch(self._stream, scores=True)
        self._stream.record().wait()

    def _work(
        self,
        kernel: Kernel,
        shape: LaunchShape,
        queries: Sequence[KernelQuery],
        part: Part,
        region: CardRegion,
    ) -> PieceTables:
        """Return the pieces and chunks of some targets, which lie in a region.

        Where no target is cut, the pieces are the targets. Where one tile holds the query, warps
        draw pieces, and only their number is read of the chunks: chunks of a piece each will do.
        """
        tile, span, window = shape
        ctas = self._card.processors
        granule = _granule(kernel, tile, tile.threads)
        all_lengths = self._shelf.lengths(part.stretch.block)
        lengths = all_lengths[part.first : part.last]
        whole = window == UNCUT
        one_tile = _longest(kernel, queries) <= tile.lanes * tile.columns
        area = partial(kernel.border_rows, tile, 1)
        most_rows = self._shelf.border_bytes // (BORDER_BYTES * ctas)

        def make() -> tuple[list[NDArray[np.uint32]], tuple[int, ...]]:
            arrays, sizes = [], lengths
            if not whole:
                # The targets of a stretch lie one behind the other, whatever lies between them in
                # the file.
                here = all_lengths[part.stretch.first : part.last]
                words = (here + ALIGNMENT - 1) // ALIGNMENT
                starts = (np.cumsum(words, dtype=np.uint32) - words)[-len(lengths) :]
                arrays = [*pieces.cut(starts, lengths, span, window)]
                sizes = arrays[1]
            count = len(sizes)
            if one_tile:
                chunks = pieces.Chunks(np.array([0, count], np.uint32), 0)
            else:
                chunks = pieces.chunk(sizes, granule, kernel.targets, ctas, area, most_rows)
            about = count, int(sizes[0]), len(chunks.edges) - 1, chunks.rows
            return [*arrays, chunks.edges], about

        offset, numbers = 4 * (part.first - part.stretch.first), self._numbers.addresses[0]
        own = region.addresses[1] + offset, region.addresses[2] + offset, numbers
        if whole and one_tile:
            count, longest, chunk_count, rows = len(lengths), int(lengths[0]), len(lengths), 0
            tables, addresses = None, (*own, numbers)
        else:
            chunking = None if one_tile else (granule, kernel.targets, tile.lanes, most_rows)
            tables = self._shelf.table((part, span, window, chunking), make)
            count, longest, chunk_count, rows = tables.about
            addresses = (*(own if whole else ()), *tables.addresses)
        drawn = WARP // tile.lanes * kernel.targets
        max_grid = -(-count // drawn) if one_tile else chunk_count
        return PieceTables(*addresses, chunk_count, count, longest, max_grid, rows, tables)

    def _set_bounds(
        self, slot: Slot, queries: Sequence[KernelQuery], search: NDArray[np.void]
    ) -> None:
        """Tell a kernel of bounds the cutoffs, and where it lists what may reach them.

        One query becomes two: its halves.
        """
        if len(queries) == 1:
            first = first_half(len(queries[0]))
            search["halved"] = True
            search["query_lengths"] = first, len(queries[0]) - first
            if queries[0].profile is None:
                search["queries"][1] = search["queries"][0] + first
                search["tables"][1] = search["tables"][0]
            else:
                search["tables"][1] = search["tables"][0] + SCORE_BYTES * first
        search["patience"] = PATIENCE
        search["rescue_count"] = slot.address("left_count")
        for number, query in enumerate(queries):
            assert query.cutoffs is not None
            search["rescue"][number] = slot.address("left", number)
            search["cutoffs"][number] = slot.address("cutoffs", number)
            search["cutoff_counts"][number] = len(query.cutoffs.lengths)

    def _again(
        self,
        slot: Slot,
        number: int,
        query: KernelQuery,
        search: NDArray[np.void],
        work: PieceTables,
        lengths: NDArray[np.uint32],
        listed: str,
    ) -> KernelRun:
        """Return the run over the pieces of a query in a list.

        "left" has those that bounds have left, "rescue" those that did not fit 16 bits, or may be
        wanted.

        In several tiles, CTAs are small where pieces are few or borders large, so that many CTAs
        have work.
        """
        if listed == "left":
            found = self._find_kernel([query])
            assert found is not None
            kernel, tile = found, self._tile(found, len(query), lengths)
        else:
            kernel, tile = self._widest, self._rescue_tile(len(query), lengths)
        ctas = self._card.processors
        several = len(query) > MAX_TILE_COLUMNS
        if several and work.pieces < ctas * _granule(kernel, tile, tile.threads):
            tiles, sizes = (
                self._wide_tiles(kernel, tile, len(query)),
                np.minimum(lengths, work.longest),
            )
            border = self._shelf.border_bytes
            tile = choose_shape(kernel, tiles, len(query), None, sizes, ctas, border).tile
        again = search.copy()
        again["halved"] = False
        again["queries"][0] = search["queries"][number]
        again["tables"][0] = search["tables"][number]
        again["scores"][0] = search["scores"][number]
        again["query_lengths"] = len(query), 0
        again["limit"] = kernel.limit(self._largest(query))
        again["list"] = slot.address(listed, number)
        again["list_count"] = slot.address(f"{listed}_count", number)
        again["next"] = slot.address(f"{listed}_next", number)
        again["rescue"] = slot.address("rescue", number), 0
        again["rescue_count"] = slot.address("rescue_count", number)
        threads, room = tile.threads, self._shelf.border_bytes // BORDER_BYTES
        while True:
            granule = _granule(kernel, tile, threads)
            rows = kernel.border_rows(tile, granule, work.longest)
            crowded = several and (rows * ctas > room or granule * ctas > work.pieces)
            if threads == WARP or not (crowded or rows > room):
                break
            threads = max(threads // 2 // WARP, 1) * WARP
        return self._run(kernel, tile, threads, again, -(-work.pieces // granule), rows)

    def _run(
        self,
        kernel: Kernel,
        tile: Tile,
        threads: int,
        search: NDArray[np.void],
        chunks: int,
        rows: int,
    ) -> KernelRun:
        """Return a run of as many CTAs as there are chunks, or room for borders."""
        grid = min(self._card.processors, chunks)
        if search["query_lengths"].max() > tile.lanes * tile.columns:
            max_grid = self._shelf.border_bytes // (BORDER_BYTES * rows)
            if max_grid == 0:
                raise OverBudget(f"a border takes {BORDER_BYTES * rows} bytes")
            grid = min(grid, max_grid)
            search["border_rows"] = rows
            return KernelRun(kernel, tile, grid, threads, search, grid * rows * BORDER_BYTES)
        return KernelRun(kernel, tile, grid, threads, search, 0)

    def _queue(self, runs: Sequence[KernelRun], border: Buffer) -> None:
        """Queue runs, which share scratch memory because they follow one another."""
        for kernel, tile, grid, threads, search, _ in runs:
            search["border"] = border.address
            shared = kernel.shared_bytes(tile, int(search["query_lengths"].max()))
            self._stream.launch(self.program(kernel, tile), grid, threads, shared, [search])

    def _border_of(self, size: int) -> Buffer:
        """Return scratch memory that all launches share."""
        if self._border is None or self._border.size < size:
            if self._border is not None:
                self._card.synchronize()
                self._shelf.budget.free(self._border)
                self._border = None
            self._border = self._shelf.budget.allocate(pad_size(max(size, 1)))
        return self._border

    def _gather(self, slot: Slot, number: int, targets: int, cutoff: int) -> None:
        """Queue the search for scores that reach the score cutoff."""
        arguments = [
            np.uint64(slot.address("scores", number)),
            np.uint64(self._numbers.addresses[0]),
            np.uint32(targets),
            np.int32(min(max(cutoff, 0), MAX_SCORE)),
            np.uint64(slot.address("keys", number)),
            np.uint32(slot.max_keys),
            np.uint64(slot.address("key_count", number)),
        ]
        grid = min(-(-targets // KEYS_THREADS), MAX_KEYS_CTAS)
        self._stream.launch(KEYS, grid, KEYS_THREADS, 0, arguments)


def _longest(kernel: Kernel, queries: Sequence[KernelQuery]) -> int:
    """Return the residues of what a kernel takes for the longer query."""
    return kernel.longest([len(query) for query in queries])


def _granule(kernel: Kernel, tile: Tile, threads: int) -> int:
    """Return how many pieces a CTA computes side by side."""
    return threads // tile.lanes * kernel.targets
