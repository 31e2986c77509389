"""Long queries against few targets: the tile and the windows that are done soonest.

A group computes a piece tile by tile, so no more groups work than there are pieces. With few
pieces, many lanes help: the same warps go through fewer tiles. Shorter windows help although they
overlap more, as long as groups would be idle otherwise: the time is that of one window.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.backends.cuda.kernels import (
    BORDER_BYTES,
    BORDER_COLUMNS,
    FULL_RATE_WARPS,
    PIECE_ROWS,
    ROW_COLUMNS,
    WARP,
    Kernel,
    Tile,
)
from swdual.backends.cuda.pieces import compute_window

UNCUT = int(np.iinfo(np.uint32).max)
"""The window where no target is cut."""


class LaunchShape(NamedTuple):
    """A tile, and by how much windows overlap and how long they are, in residues."""

    tile: Tile
    span: int
    window: int


def predict_cost(
    kernel: Kernel,
    shape: LaunchShape,
    query_length: int,
    lengths: NDArray[np.uint32],
    ctas: int,
    border_bytes: int,
) -> float:
    """Return how long a launch in several tiles takes, in columns of a warp by itself.

    Parameters
    ----------
    kernel, shape
        The kernel; its tile and windows.
    query_length
        Residues; of two queries, those of the longer.
    lengths
        Of the targets, descending.
    ctas
        How many run at the same time.
    border_bytes
        Bytes of scratch memory for borders.
    """
    (lanes, columns, threads), span, window = shape
    residues = lengths.astype(np.int64)
    counts = np.where(residues > window, -(-(residues - span) // max(window - span, 1)), 1)
    pieces = int(counts.sum())
    rows = int(residues.sum()) + (pieces - len(residues)) * span
    longest = min(int(residues[0]), window)
    room = border_bytes // (BORDER_BYTES * kernel.border_rows(shape.tile, 1, longest))
    groups = min(-(-pieces // kernel.targets), ctas * (threads // lanes), max(room, 1))
    warps = -(-(-(-groups // ctas) * lanes) // WARP)
    tiles = -(-query_length // (lanes * columns))
    row = columns + ROW_COLUMNS + BORDER_COLUMNS
    time = max(max(longest, lanes) + PIECE_ROWS, rows / (groups * kernel.targets))
    return tiles * row * time * max(1.0, warps / FULL_RATE_WARPS)


def choose_shape(
    kernel: Kernel,
    tiles: Iterable[Tile],
    query_length: int,
    span: int | None,
    lengths: NDArray[np.uint32],
    ctas: int,
    border_bytes: int,
) -> LaunchShape:
    """Return the tile and the windows with which a launch in several tiles is done soonest.

    Parameters
    ----------
    tiles
        Those to choose from.
    span
        Residues of a target that an alignment can cover; None for any number.
    kernel, query_length, lengths, ctas, border_bytes
        See `predict_cost`.
    """
    residues, longest = lengths.astype(np.int64), int(lengths[0])
    shapes = []
    for tile in tiles:
        shapes.append(LaunchShape(tile, 0, UNCUT))
        if span is not None:
            groups = ctas * (tile.threads // tile.lanes) * kernel.targets
            # A piece for every second group, which is about as fast as one for each.
            step = 2 * int((residues - span).clip(0).sum()) // groups + 1
            windows = compute_window(span, int(residues.sum()) // groups), span + step
            shapes += [LaunchShape(tile, span, size) for size in windows if size < longest]

    def cost(shape: LaunchShape) -> float:
        return predict_cost(kernel, shape, query_length, lengths, ctas, border_bytes)

    return min(shapes, key=cost)
