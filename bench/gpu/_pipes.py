"""The model of a multiprocessor of compute capability 9.0 by which kernels are predicted.

Each of its four schedulers issues one instruction of a warp a clock, to a pipe that is then busy
for two: the one of maxima, or one of two for products, of which one alone does whole numbers. Its
registers are in two banks, those of even and of odd numbers, each of which delivers one a clock.
All four schedulers share the pipe to shared memory, which does 128 bytes, or a shuffle, a clock. A
loop takes as long as its busiest pipe, as its issue, or as the registers that it reads, if it reads
as many from both banks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.backends.cuda.kernels import Kernel, Tile

CAPABILITIES = range(90, 120)
"""Compute capabilities, ten times, whose kernels hold these instructions."""

SCHEDULERS, WARP = 4, 32

WAVEFRONT = 4
"""Clocks of a scheduler for 128 bytes of shared memory, because four schedulers wait for them."""

REGISTER = "register"
"""What is counted beside instructions: registers that they read."""

PIPES: tuple[tuple[int, frozenset[str]], ...] = (
    (1, frozenset(["maximum"])),
    (1, frozenset(["product"])),
    (2, frozenset(["product", "half"])),
    (1, frozenset(["shuffle", "quad"])),
    (2, frozenset([REGISTER])),
)
"""Numbers of pipes, or of banks, and the kinds of instructions that have no others."""

BUSY = {
    **{"maximum": 2, "product": 2, "half": 2, "shuffle": WAVEFRONT, "quad": 4 * WAVEFRONT},
    REGISTER: 1,
}
"""Clocks that a pipe is busy with an instruction; a `quad` loads four words for each lane."""


def clocks(counts: Mapping[str, float]) -> float:
    """Return the clocks of a scheduler that so many instructions of each kind take.

    >>> clocks({"maximum": 7, "product": 4}), clocks({"product": 1, "half": 4, "other": 1})
    (14.0, 6.0)
    >>> clocks({"maximum": 1, "product": 1, "register": 5})
    2.5
    """
    pipes = (
        sum(BUSY[kind] * counts.get(kind, 0) for kind in kinds) / number for number, kinds in PIPES
    )
    issued = sum(number for kind, number in counts.items() if kind != REGISTER)
    return float(max(*pipes, issued))


class Loop(NamedTuple):
    """Instructions of a kernel's loop over rows: for each column of a lane, and for each row."""

    column: Mapping[str, float]
    row: Mapping[str, float]

    def counts(self, columns: int) -> dict[str, float]:
        """Return the instructions of one row."""
        return {
            kind: columns * self.column.get(kind, 0) + self.row.get(kind, 0)
            for kind in {**self.column, **self.row}
        }


LOOPS = {
    "q2_s16": Loop(
        {"maximum": 3.5, "product": 2, "quad": 1 / 4, "register": 11.8},
        {"maximum": 2, "product": 6, "shuffle": 2, "other": 1, "register": 14.7},
    ),
    "s2_s16": Loop(
        {"maximum": 3.5, "product": 3, "quad": 1 / 2, "register": 13.7},
        {"maximum": 11.5, "product": 1, "quad": -2, "shuffle": 2, "other": 1.5, "register": 21.9},
    ),
    "q2_h2": Loop(
        {"maximum": 3.5, "half": 4, "quad": 1 / 4},
        {"maximum": 4.5, "product": 5, "shuffle": 2, "other": 1},
    ),
    "s2_h2": Loop(
        {"maximum": 4.1, "product": 0.4, "half": 4, "quad": 1 / 2},
        {"maximum": 6, "product": 6, "quad": -2, "shuffle": 2, "other": 2},
    ),
    "q1_s32": Loop(
        {"maximum": 4.5, "product": 1, "quad": 1 / 4, "register": 11.5},
        {"maximum": 2, "product": 4.5, "shuffle": 2, "other": 1, "register": 17.4},
    ),
    "bound_s16": Loop(
        {"maximum": 1.9, "product": 1.57, "quad": 1 / 4, "register": 7.7},
        {"maximum": 2.4, "product": 4, "shuffle": 1.5, "other": 0.9, "register": 16},
    ),
    "bound_h2": Loop(
        {"maximum": 1.9, "half": 1.75, "quad": 1 / 4},
        {"maximum": 2.7, "product": 5, "shuffle": 1.5, "other": 0.9},
    ),
}
"""What the compiler makes of the kernels, for queries in one tile; test_gpu.py counts it again.

Registers are counted of the kernels that are meant for these cards.
"""

BETWEEN = 2
"""Rows that take as long as what is done between two pieces: ``python -m kernels.sass_counts``."""

SPARSE_SAVING = 3 / 8
"""Maxima that each column saves in a loop that looks at the best in every fourth row only; each of
them reads three registers."""


def counts_of(kernel: Kernel, columns: int, *, sparse: bool = False) -> Counter[str]:
    """Return a kernel's instructions of one row, where all scores are wanted, or only the best."""
    counts = Counter(LOOPS[kernel.name].counts(columns))
    if sparse and kernel.numbers.sparse and not kernel.is_bound:
        counts.subtract({"maximum": SPARSE_SAVING * columns, REGISTER: 3 * SPARSE_SAVING * columns})
    return counts


def seconds(
    kernel: Kernel,
    tile: Tile,
    query_length: int,
    lengths: NDArray[np.uint32],
    processors: int,
    hertz: float,
    *,
    sparse: bool = False,
) -> float:
    """Return how long a launch takes if no multiprocessor ever waits.

    Parameters
    ----------
    kernel, tile
        What computes.
    query_length
        Residues; of two queries, those of the longer.
    lengths
        Of the targets.
    processors, hertz
        Multiprocessors, and their clock.
    sparse
        Whether only the best scores are wanted.
    """
    tiles = -(-query_length // (tile.lanes * tile.columns))
    ramp = tile.lanes * kernel.rows // 4 + 2
    steps = np.maximum(-(-lengths.astype(np.int64) // 4) + 1, ramp)
    rows = float((4 * steps + BETWEEN).sum()) * tile.lanes / WARP / kernel.targets * tiles
    row = clocks(counts_of(kernel, tile.columns, sparse=sparse))
    return rows * row / (SCHEDULERS * processors * hertz)
