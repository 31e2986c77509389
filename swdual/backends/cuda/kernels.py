"""The CUDA kernels as the host sees them: names, tiles, limits, and the structure they are given.

The kernels are in the folder ``kernels``, whose README tells the recurrence and the layouts. A
kernel is a template: a group of `lanes` threads holds a tile of ``lanes * columns`` query columns
in registers, and the residues of a target pass through it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from swdual.sequences.alphabet import CODES

SEARCH = np.dtype(
    [
        ("residues", "u8"),
        ("piece_starts", "u8"),
        ("piece_lengths", "u8"),
        ("piece_targets", "u8"),
        ("chunks", "u8"),
        ("queries", "u8", 2),
        ("tables", "u8", 2),
        ("scores", "u8", 2),
        ("rescue", "u8", 2),
        ("rescue_count", "u8"),
        ("next", "u8"),
        ("border", "u8"),
        ("list", "u8"),
        ("list_count", "u8"),
        ("chunk_count", "u4"),
        ("border_rows", "u4"),
        ("query_lengths", "u4", 2),
        ("gap_first", "i4"),
        ("gap_next", "i4"),
        ("limit", "i4"),
        ("cutoff", "i4"),
        ("sparse_words", "u4"),
        ("patience", "u4"),
        ("halved", "u4"),
        ("cutoff_counts", "u4", 2),
        ("cutoffs", "u8", 2),
    ],
    align=True,
)
"""The structure `Search` of ``kernels/search.cuh``; pointers are addresses on the device."""

BORDER_BYTES = 8
"""Bytes of one row of the border."""

ROW_COLUMNS, BORDER_COLUMNS = 2, 2
"""What a row costs besides its columns, and with several tiles for its border and for barriers."""

PIECE_ROWS = 8
"""What a piece costs besides its rows, in rows: a word of PAD, what fills its last word, and what
is done between two pieces. Counted by ``python -m kernels.sass_counts``."""

WARP = 32
"""Threads of a warp."""

FULL_RATE_WARPS = 8
"""So many warps of a multiprocessor compute as fast as one by itself: a warp waits for its own
results about half of the time, and four warps can compute at once."""

LANES = (8, 16, 32)
COLUMNS, BOUND_COLUMNS = range(16, 33, 2), range(8, 33, 2)
"""Query columns of a lane: those of kernels of bounds, too, for halves of short queries."""


class Tile(NamedTuple):
    """Lanes of a group, query columns of a lane, and threads of a CTA."""

    lanes: int
    columns: int
    threads: int


@dataclass(frozen=True)
class Numbers:
    """What the numbers of a kernel can hold.

    Parameters
    ----------
    lowest, highest
        The whole numbers that they hold.
    capabilities
        Compute capabilities for which they are meant, ten times: from the first, below the second.
    sparse
        Whether kernels look less often at the best score where only those that reach a cutoff are
        wanted.
    immediate
        Whether gap costs are constants of an instance: operands that take no registers.
    """

    lowest: int
    highest: int
    capabilities: tuple[int, int]
    sparse: bool = False
    immediate: bool = False


S16 = Numbers(-(1 << 15), (1 << 15) - 1, (90, 1000), sparse=True, immediate=True)
HALF = Numbers(-(1 << 11), 1 << 11, (75, 90))
S32 = Numbers(-(1 << 30), (1 << 31) - 1, (75, 1000), immediate=True)


@dataclass(frozen=True)
class Kernel:
    """One kernel: `queries` queries in a launch, `targets` targets side by side in a group.

    Parameters
    ----------
    threads
        From each compute capability on, numbers of threads of a CTA, and the most columns of a lane
        for which their registers are enough: 80 of each of 768 threads, 96 of 640, 128 of 512, 168
        of 384. The more threads, the fewer clocks pass in which none of a scheduler's can go on.
    is_bound
        Whether it finds upper bounds of scores, and lists the pieces that may reach their cutoffs.
        Such a kernel computes one query as two, its halves.
    """

    name: str
    numbers: Numbers
    queries: int
    targets: int
    threads: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    is_bound: bool = False

    @property
    def rows(self) -> int:
        """Rows that a lane does at a time, and by which it is behind the lane before."""
        return 2 if self.is_bound else 1

    @property
    def file(self) -> str:
        """The name of its source in the folder of kernels."""
        return f"{self.name}.cu"

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """The tiles; on later devices than the first they may differ in their threads."""
        return self.tiles_on(self.numbers.capabilities[0])

    def tiles_on(self, capability: int) -> tuple[Tile, ...]:
        """Return the tiles for devices of a compute capability.

        >>> KERNELS["s2_s16"].tiles_on(90)[4:6]
        (Tile(lanes=8, columns=24, threads=512), Tile(lanes=8, columns=26, threads=384))
        """
        choices = [choices for least, choices in self.threads if least <= capability][-1]
        tiles = []
        for lanes in LANES:
            for columns in BOUND_COLUMNS if self.is_bound else COLUMNS:
                threads = next((threads for threads, most in choices if columns <= most), None)
                if threads is not None:
                    tiles.append(Tile(lanes, columns, threads))
        return tuple(tiles)

    def expression(self, tile: Tile, gap_first: int = 0, gap_next: int = 0) -> str:
        """Return the name of an instance.

        Parameters
        ----------
        tile
            The tile.
        gap_first, gap_next
            Costs of a gap's first residue and of each further one. Where the numbers have no
            immediates, or the first is 0, the instance is one for any costs, those in `SEARCH`.

        Examples
        --------
        >>> KERNELS["q2_s16"].expression(Tile(16, 28, 512))
        'q2_s16<16, 28, 512>'
        >>> KERNELS["q2_s16"].expression(Tile(16, 28, 512), 12, 1)
        'q2_s16<16, 28, 512, 12, 1>'
        """
        constant = self.numbers.immediate and gap_first
        values = (*tile, gap_first, gap_next) if constant else tile
        return f"{self.name}<{', '.join(map(str, values))}>"

    def shared_bytes(self, tile: Tile, query_length: int) -> int:
        """Return the dynamic shared memory of a CTA.

        It holds the query profile of a tile, or of two if the query has several, and the state of
        the CTA, its threads and its warps (`SharedState` in ``kernels/work.cuh``).

        Parameters
        ----------
        tile
            The tile.
        query_length
            Residues; of two queries, those of the longer.

        >>> [KERNELS["q2_s16"].shared_bytes(Tile(16, 28, 512), length) for length in (448, 449)]
        [59604, 116948]
        """
        profile = 4 * CODES * (tile.columns - 4 * (self.targets - 1)) * tile.lanes
        state = 20 + 4 * (1 + self.is_bound) * tile.threads + 12 * tile.threads // WARP
        return profile * (1 + (query_length > tile.lanes * tile.columns)) + state

    def longest(self, lengths: Sequence[int]) -> int:
        """Return the residues that the longer of its two queries has: of one, those of a half.

        Parameters
        ----------
        lengths
            Of one query, or of two.

        >>> BOUNDS["bound_s16"].longest([401]), KERNELS["s2_s16"].longest([401])
        (201, 401)
        """
        if self.is_bound and len(lengths) == 1:
            return lengths[0] - first_half(lengths[0])
        return max(lengths)

    def border_rows(self, tile: Tile, pieces: int, longest: int) -> int:
        """Return the border rows that a CTA needs for a chunk.

        Parameters
        ----------
        tile
            The tile.
        pieces
            Pieces in the chunk.
        longest
            Residues of the longest of them.

        >>> KERNELS["q2_s16"].border_rows(Tile(16, 28, 512), 3, 9)
        123
        """
        areas = -(-pieces // self.targets)
        return areas * (-(-longest // 4) * 4 + tile.lanes * self.rows + 12 + self.rows)

    def limit(self, largest: int) -> int:
        """Return the score from which on a piece is rescued, if no pair of residues scores more.

        A score below it cannot leave the numbers in one step, and the first one above can be held.
        """
        return self.numbers.highest - max(largest, 0)

    def holds(self, largest: int, gap_first: int, gap_next: int) -> bool:
        """Return whether such scores and gap costs leave room for any score below the limit.

        Scores below what the numbers hold do no harm: they are cut, and still forbid the pair.

        Parameters
        ----------
        largest
            The largest score of a pair of residues.
        gap_first, gap_next
            Costs of a gap's first residue and of each further one.
        """
        largest = max(largest, 0)
        lost = 2 * max(gap_first, gap_next) if self.is_bound else gap_first + gap_next
        return (
            lost <= -self.numbers.lowest
            and largest + gap_first <= self.numbers.highest
            and largest < self.limit(largest)
        )


def first_half(length: int) -> int:
    """Return the residues of the first half of a query: an even number.

    >>> [first_half(length) for length in (1, 3, 4, 7, 400)]
    [0, 0, 2, 2, 200]
    """
    return length // 4 * 2


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("q2_s16", S16, 2, 1, (
            (90, ((768, 16), (640, 20), (512, 32))),
            (100, ((512, 28), (384, 32))),
            (120, ((512, 24), (384, 32))),
        )),
        Kernel("s2_s16", S16, 1, 2, (
            (90, ((512, 24), (384, 32))),
            (100, ((512, 20), (384, 32))),
            (120, ((512, 20), (384, 28))),
        )),
        Kernel("q2_h2", HALF, 2, 1, ((75, ((512, 26), (384, 32))),)),
        Kernel("s2_h2", HALF, 1, 2, ((75, ((512, 22), (384, 32))),)),
        Kernel("q1_s32", S32, 1, 1, (
            (75, ((512, 24), (384, 32))),
            (120, ((512, 20), (384, 28))),
        )),
    )
}  # fmt: skip
"""The kernels of exact scores by name."""

BOUNDS = {
    kernel.name: kernel
    for kernel in (
        Kernel("bound_s16", S16, 2, 1, ((90, ((640, 18), (512, 32))),), is_bound=True),
        Kernel("bound_h2", HALF, 2, 1, ((75, ((640, 20), (512, 32))),), is_bound=True),
    )
}
"""The kernels of upper bounds by name."""


def choose(
    kernel: Kernel,
    capability: int,
    query_length: int,
    mean_length: float,
    shared_bytes: int,
    *,
    share: float = math.inf,
    alone: bool = False,
) -> Tile:
    """Return the tile with which a query is done soonest.

    A query is padded to whole tiles. A target comes right behind the one before; alone, it waits
    until its last residue has passed all lanes of the group. In several tiles, a CTA takes as many
    targets at a time as it has groups: the fewer these are, the less CTAs wait for each other.
    Where there are fewer targets than groups, many lanes help: the same warps go through fewer
    tiles.

    Parameters
    ----------
    kernel
        The kernel.
    capability
        Compute capability of the device, ten times: 90 for 9.0.
    query_length
        Residues; of two queries, those of the longer.
    mean_length
        Residues of a target, on average.
    shared_bytes
        Shared memory that a CTA can have there.
    share
        Targets for each multiprocessor.
    alone
        Choose by the time of one target by itself, not of many side by side.

    Examples
    --------
    >>> choose(KERNELS["q2_s16"], 90, 448, 350, 232_448)
    Tile(lanes=16, columns=28, threads=512)
    >>> choose(KERNELS["q2_s16"], 90, 2000, 350, 232_448, share=4)
    Tile(lanes=32, columns=22, threads=512)
    >>> choose(KERNELS["q1_s32"], 90, 448, 350, 232_448, alone=True)
    Tile(lanes=32, columns=16, threads=512)
    """

    def cost(tile: Tile) -> tuple[float, int]:
        tiles = max(-(-query_length // (tile.lanes * tile.columns)), 1)
        row = tile.columns + ROW_COLUMNS + (BORDER_COLUMNS if tiles > 1 else 0)
        behind = tile.lanes * kernel.rows
        if alone:
            return tiles * row * (mean_length + behind + PIECE_ROWS), tiles
        side_by_side = min(share, tile.threads // tile.lanes * kernel.targets)
        warps = side_by_side / kernel.targets * tile.lanes / WARP
        each = (max(mean_length, behind) + PIECE_ROWS) * max(warps / FULL_RATE_WARPS, 1)
        return tiles * row * each / side_by_side * (1 + (tiles > 1) / (2 * tile.lanes)), tiles

    fitting = (
        tile
        for tile in kernel.tiles_on(capability)
        if kernel.shared_bytes(tile, query_length) <= shared_bytes
    )
    return min(fitting, key=cost)


def sources() -> Path:
    """Return the folder of the kernels' sources: the package's, or that of a checkout."""
    package = Path(__file__).parents[2]
    installed = package / "kernels"
    return installed if installed.is_dir() else package.parent / "kernels"
