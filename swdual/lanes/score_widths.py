"""The score widths: numbers of 8, 16 and 32 bits, and which scores each can hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swdual.lanes.registers import TABLE_BYTES
from swdual.sequences.alphabet import CODES, PAD
from swdual.sequences.matrices import MAX_MATRIX_SCORE
from swdual.sequences.scoring import ScoringScheme


@dataclass(frozen=True)
class ScoreWidth:
    """One width of numbers: how scores and prices look in it (see `cell` for the terms).

    `low` and `high` hold the bytes of the scores of each query letter with all target letters,
    `target_low` and `target_high` of each target letter with all query letters.
    """

    bits: int
    lanes: int
    zero: int
    first_gap: int
    next_gap: int
    limit: int
    table: NDArray[np.int64]
    low: NDArray[np.int8]
    high: NDArray[np.int8]
    target_low: NDArray[np.int8]
    target_high: NDArray[np.int8]


def score_widths(scheme: ScoringScheme, lanes: int) -> list[ScoreWidth]:
    """Return the widths of numbers that can hold at least some scores, narrowest first.

    A price or a negative score beyond what the width can hold is as good as forbidden, and is cut
    to the smallest number that is: no H above zero survives it.
    """
    matrix = scheme.matrix.scores.astype(np.int64)
    largest = max(int(matrix.max()), 0)
    score_widths = []
    for bits in (8, 16, 32):
        lowest, highest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        forbidding = -(-(highest - lowest - largest) // 2)
        first_gap = min(scheme.gap_open + scheme.gap_extend, forbidding)
        next_gap = min(scheme.gap_extend, first_gap)
        table = np.maximum(matrix, -forbidding)
        zero = lowest + max(first_gap, -int(table.min()), 1)
        limit = highest - largest
        if largest > highest or limit - zero < largest:
            continue
        table[:, PAD] = table[PAD] = max(lowest - zero, -MAX_MATRIX_SCORE)
        wide = lanes * 8 // bits
        tables = (*_tables(table), *_tables(table.T))
        score_widths.append(
            ScoreWidth(bits, wide, zero, first_gap, next_gap, limit, table, *tables)
        )
    return score_widths


def _tables(table: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the lower and the upper bytes of all scores, each row of 32 written twice."""
    twice = np.tile(table.astype("<i2"), (1, TABLE_BYTES // CODES))
    halves = np.ascontiguousarray(twice).view(np.int8).reshape(*twice.shape, 2)
    low, high = (aligned(twice.size, np.dtype(np.int8)) for _ in range(2))
    low[:], high[:] = halves[:, :, 0].ravel(), halves[:, :, 1].ravel()
    return low, high


def aligned(size: int, kind: np.dtype[np.signedinteger]) -> NDArray[np.signedinteger]:
    """Return an uninitialised array that begins on a multiple of 64 bytes."""
    raw = np.empty(size * kind.itemsize + 64, np.uint8)
    skip = -raw.ctypes.data % 64
    return raw[skip : skip + size * kind.itemsize].view(kind)
