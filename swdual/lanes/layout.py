"""How targets are laid into lanes: how many lanes, and which targets are scored one by one.

It is chosen by what the kernels take, in units of one register of cells: see `estimate_costs`.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.database.blocks import Block
from swdual.lanes.pack import Pack, allocate_bytes, count_columns, pack
from swdual.lanes.registers import COLUMNS, register_bytes
from swdual.lanes.score_widths import FRAMESHIFT, ScoreWidth

MANY_BATCHES = 32
"""Batches beyond which a few lanes that idle beside the longest targets do not matter."""

MAX_SPARE = 8
"""Arrays of packs that are gone: at most one a worker, as each makes its next."""

GIVEN_UP = 1.3
"""Cost, relative to the least so far, at which scoring more targets one by one is not tried."""

TWO_REGISTERS = 1.8
TARGET_COLUMN, TARGET_VECTOR = 40.0, 1.5
"""Time of two registers of cells, and where one target is scored, of a column and of each vector.

All in units of one register of cells by itself: on a 2-core EPYC (Zen 5) 0.78 ns.
"""


def find_sparse(packed: Pack, bits: int, rows: int) -> NDArray[np.bool_]:
    """Return which batches have so few targets that each is sooner scored by itself.

    Parameters
    ----------
    packed
        The batches.
    bits
        Bits of a score.
    rows
        Residues of the query.
    """
    together, alone = _costs(packed, bits, rows)
    return alone < together


class LaneLayout(NamedTuple):
    """How targets are laid out: see `pack`."""

    lanes: int
    alone: int
    long_targets: bool = False


def choose_layout(lengths: NDArray[np.integer], rows: int, width: ScoreWidth) -> LaneLayout:
    """Return the lanes for some targets, and how many of them are scored one by one.

    Beside the longest targets lanes idle, and with few targets more lanes do. Half as many lanes
    are tried where these fill a register.

    Parameters
    ----------
    lengths
        (targets,) residues, descending.
    rows
        Residues of the query.
    width
        The numbers.
    """
    if width.source == FRAMESHIFT:
        return LaneLayout(width.lanes, 0, long_targets=True)  # none is scored by itself
    if width.is_profile_per_target:
        return LaneLayout(width.lanes, len(lengths))
    if len(lengths) > MANY_BATCHES * width.lanes:
        return LaneLayout(width.lanes, 0)
    whole, bits = lengths.astype(np.int64), width.bits
    fills_two = width.lanes * bits // 8 > register_bytes()
    choices = (width.lanes, width.lanes // 2)[: 1 + fills_two]
    costs = [(*_find_alone(whole, rows, lanes, bits), lanes) for lanes in choices]
    _, alone, lanes = min(costs, key=lambda cost: cost[0])
    return LaneLayout(lanes, alone)


def count_alone(lengths: NDArray[np.int64], rows: int, width: ScoreWidth) -> int:
    """Return how many of the longest targets to score one by one, as lanes idle beside them.

    Parameters
    ----------
    lengths
        (targets,) residues, descending.
    rows
        Residues of the query.
    width
        The numbers.
    """
    return _find_alone(lengths, rows, width.lanes, width.bits)[1]


def _find_alone(lengths: NDArray[np.int64], rows: int, lanes: int, bits: int) -> tuple[float, int]:
    """Return the least cost of some targets, and how many are scored one by one then."""
    column, residue = estimate_costs(rows, lanes, bits)
    least, best = math.inf, 0
    alone = 0
    while alone <= len(lengths):
        together = float(count_columns(lengths[alone:], lanes, residue / column))
        cost = residue * float(lengths[:alone].sum()) + column * together
        if cost < least:
            least, best = cost, alone
        elif cost > GIVEN_UP * least:
            break
        alone = max(1, 2 * alone)
    return least, best


def lay_out(
    block: Block,
    targets: NDArray[np.int64],
    layout: LaneLayout,
    allocate: Callable[[int], NDArray[np.uint8]] = allocate_bytes,
) -> Pack:
    """Return targets of a block in a layout.

    Parameters
    ----------
    block, targets, allocate
        As for `pack`.
    layout
        What `choose_layout` returned.
    """
    lanes, alone, long_targets = layout
    return pack(block, targets, lanes, alone=alone, long_targets=long_targets, allocate=allocate)


class BufferPool:
    """Memory of packs that are gone, for those to come: the system clears each new page.

    A queue needs no lock, which a pack that ends while its thread holds it would wait for.
    """

    def __init__(self) -> None:
        self._spare: deque[NDArray[np.uint8]] = deque(maxlen=MAX_SPARE)

    def take(self, size: int) -> NDArray[np.uint8]:
        """Return an array of so many bytes: a part of a spare one that is less than twice as long.

        Parameters
        ----------
        size
            Its length.
        """
        with suppress(IndexError):  # another thread may have taken the last
            while self._spare:
                buffer = self._spare.popleft()
                if size <= len(buffer) <= 2 * size:
                    return buffer[:size]
        return np.empty(size, np.uint8)

    def take_back(self, packed: Pack) -> None:
        """Keep the memory of a pack when nobody uses the pack any more.

        Parameters
        ----------
        packed
            The pack, whose codes are an array that `take` returned.
        """
        codes = packed.codes
        buffer = codes if codes.base is None else codes.base
        weakref.finalize(packed, self._spare.append, buffer).atexit = False


def _costs(packed: Pack, bits: int, rows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cost of each batch side by side, and one by one (see `TARGET_COLUMN`)."""
    column, residue = estimate_costs(rows, packed.lanes, bits)
    columns = np.diff(packed.batch_starts).astype(np.float64) * COLUMNS * packed.lanes
    columns[columns == 0] = np.inf
    return columns * column, packed.batch_residues.astype(np.float64) * residue


def estimate_costs(rows: int, lanes: int, bits: int) -> tuple[float, float]:
    """Return the costs of a column of one lane, and of a residue of a target scored by itself.

    Parameters
    ----------
    rows
        Residues of the query.
    lanes
        Lanes where targets are scored side by side.
    bits
        Bits of a score.
    """
    registers = lanes * bits / 8 / register_bytes()
    cells = 1.0 if registers <= 1 else TWO_REGISTERS * registers / 2
    vectors = -(-rows // min(lanes, register_bytes() * 8 // bits))
    return rows * cells / lanes, TARGET_COLUMN + TARGET_VECTOR * vectors
