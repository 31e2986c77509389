"""Composition-adjusted scores of a profile's positions with many targets, as PSI-BLAST's.

Mode 1 scales all scores of a target by one ratio (Schaffer et al. 2001, Nucleic Acids Research 29,
2994-3005). All scores are integers in units of 1 / 32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.backends._striped import number_striped
from swdual.composition.adjust import (
    CYS,
    HISTOGRAM,
    LETTERS,
    MAX_X_SCORE,
    PYL,
    SCALED,
    SEC,
    STOP,
    TARGET,
    UNADJUSTED,
    X,
    count_letters,
    find_ratio,
    round_half_away,
)
from swdual.composition.sequences import join_targets
from swdual.composition.tables import AMINO_ACIDS, FORBIDDEN, SCALE
from swdual.lanes.registers import register_bytes
from swdual.runtime.native import native
from swdual.sequences.alphabet import CODES

TABLE_BYTES = 16 << 20
"""Tables that are computed together take at most this, or are one."""


@dataclass(frozen=True, eq=False)
class PositionTables:
    """What the adjusted scores of a profile are computed from.

    Parameters
    ----------
    plain
        (L, 32) int32 scores of each position with each code, not adjusted.
    scores
        (L, 32) ``SCALE / lambda_ * ln(frequency ratio)``, not rounded; `FORBIDDEN` where a position
        does not score a letter.
    start
        (L, 32) int32 scores for targets without amino acids, in units of ``1 / SCALE``.
    lambda_
        Nats in one unit of the profile's scores before they were scaled, without gaps.
    """

    plain: NDArray[np.int32]
    scores: NDArray[np.float64]
    start: NDArray[np.int32]
    lambda_: float

    def __eq__(self, other: object) -> bool:
        """Return whether all scores are equal."""
        return isinstance(other, PositionTables) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("plain", "scores", "start", "lambda_")
        )

    def __hash__(self) -> int:
        return hash(self.lambda_)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(L,) the row of each position in adjusted tables, which are in the order of a kernel."""
        return number_striped(len(self.start), register_bytes() // 2)

    @cached_property
    def columns(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """`scores` and `start` by letters and rows; 0 in rows without position."""
        size = int(self.rows.max(initial=-1)) + 1
        scores, start = np.zeros((LETTERS, size)), np.zeros((LETTERS, size), np.int32)
        scores[:, self.rows] = self.scores[:, :LETTERS].T
        start[:, self.rows] = self.start[:, :LETTERS].T
        return scores, start

    @cached_property
    def shares(self) -> tuple[int, NDArray[np.float64]]:
        """The smallest score of an amino acid in `start`, at most 0; and (20, scores) the share of
        positions that score an amino acid so, for each score from the smallest to the largest."""
        scores = self.start[:, :AMINO_ACIDS]
        known = scores != FORBIDDEN
        low, high = (int(f(scores[known], initial=0)) for f in (np.min, np.max))
        shares = np.zeros((AMINO_ACIDS, high - low + 1))
        for letter in range(AMINO_ACIDS):
            counted = np.bincount(scores[known[:, letter], letter] - low, minlength=high - low + 1)
            shares[letter] = counted / len(scores)
        return low, shares

    @cached_property
    def kind(self) -> np.dtype[np.signedinteger]:
        """The type of adjusted scores: int16, unless a score is too large for it."""
        known = np.where(self.scores == FORBIDDEN, 0.0, self.scores)
        largest = max(-float(known.min(initial=0)), self.max_score)
        return np.dtype(np.int16 if largest < -FORBIDDEN - 1 else np.int32)

    @cached_property
    def max_score(self) -> int:
        """No adjusted score is larger: ratios are at most 1."""
        return max(math.ceil(float(self.scores.max(initial=0))), int(self.start.max(initial=0)))

    @property
    def targets_at_once(self) -> int:
        """Number of targets whose tables take at most `TABLE_BYTES`, at least 1."""
        return max(1, TABLE_BYTES // _find_table_bytes(len(self.start)))


def find_max_table_bytes(positions: int) -> int:
    """Return the bytes of all tables that are computed together, for a profile so long."""
    return max(TABLE_BYTES, _find_table_bytes(positions))


def _find_table_bytes(positions: int) -> int:
    return 4 * CODES * _count_rows(positions)


def _count_rows(positions: int) -> int:
    lanes = max(register_bytes() // 2, CODES)
    return (-(-positions // lanes) * lanes // CODES + 1) * CODES


class AdjustedTables(NamedTuple):
    """Scores of a profile with several targets.

    Parameters
    ----------
    tables
        (targets, rows, 32) int16 or int32 scores of positions with target codes, in units of
        ``1 / SCALE``. A multiple of 32 rows; `PositionTables.rows` says which each position has.
        Those without position, among them the last, have the lowest score. All rows of a code are
        next to each other in memory, as the kernels read them.
    kinds
        (targets,) int8 `UNADJUSTED` or `SCALED`.
    ratios
        (targets,) float64 factors of scaled scores, 1 for others.
    """

    tables: NDArray[np.signedinteger]
    kinds: NDArray[np.int8]
    ratios: NDArray[np.float64]


def find_ratios(
    positions: PositionTables, targets: Sequence[bytes]
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Return what is done to the scores of a profile for some targets.

    Parameters
    ----------
    positions
        The profile.
    targets
        Residue codes; masked residues are X.

    Returns
    -------
    `AdjustedTables.kinds`, and `AdjustedTables.ratios`.
    """
    kinds, ratios = np.empty(len(targets), np.int8), np.empty(len(targets), np.float64)
    low, shares = positions.shares
    work = np.zeros(HISTOGRAM + shares.shape[1])
    measure_ratios(
        *join_targets(targets),
        positions.lambda_ / SCALE,
        low,
        shares,
        work,
        work.view(np.int64),
        kinds,
        ratios,
    )
    return kinds, ratios


def adjust_positions(
    positions: PositionTables, targets: Sequence[bytes], lowest: int = FORBIDDEN
) -> AdjustedTables:
    """Return the scores of a profile with some targets.

    Parameters
    ----------
    positions
        The profile.
    targets
        Residue codes; masked residues are X.
    lowest
        Lower scores are raised to this.
    """
    count, length = len(targets), len(positions.start)
    tables = np.empty((count, CODES, _count_rows(length)), positions.kind)
    columns = positions.columns
    kinds, ratios = find_ratios(positions, targets)
    work = np.zeros(AMINO_ACIDS + columns[0].shape[1])
    scale_positions(*join_targets(targets), *columns, kinds, ratios, lowest, work, tables)
    # Rows are spread over the lanes and filled up; `rows` says where each position is. Nothing in a
    # best alignment meets the rows that fill up, nor codes beyond the letters.
    unused = np.ones(tables.shape[2], np.bool_)
    unused[positions.rows] = False
    tables[:, LETTERS:] = lowest
    tables[:, :, unused] = lowest
    return AdjustedTables(tables.transpose(0, 2, 1), kinds, ratios)


@native
def measure_ratios(
    residues: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    lambda_: float,
    low: int,
    shares: NDArray[np.float64],
    work: NDArray[np.float64],
    bits: NDArray[np.int64],
    kinds: NDArray[np.int8],
    ratios: NDArray[np.float64],
) -> None:
    """Compute by what the scores of a profile are multiplied for some targets.

    Parameters
    ----------
    residues, starts, lengths
        Codes of all targets, and where each begins and how long it is.
    lambda_
        Nats in one unit of `PositionTables.start`.
    low, shares
        See `PositionTables.shares`.
    work, bits
        Work space, the same memory as float64 and as int64: `HISTOGRAM` numbers, and one for each
        score.
    kinds, ratios
        Receive the results: see `AdjustedTables`.
    """
    size = shares.shape[1]
    fractions = work[TARGET : TARGET + AMINO_ACIDS]
    histogram = work[HISTOGRAM : HISTOGRAM + size]
    for target in range(len(starts)):
        codes = residues[starts[target] : starts[target] + lengths[target]]
        kinds[target] = UNADJUSTED
        ratios[target] = 1.0
        if count_letters(codes, fractions) > 0:
            histogram[:] = 0.0
            for letter in range(AMINO_ACIDS):
                for k in range(size):
                    histogram[k] += fractions[letter] * shares[letter, k]
            kinds[target] = SCALED
            ratios[target] = find_ratio(histogram, low, lambda_, work, bits)


@native
def scale_positions(
    residues: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    scores: NDArray[np.float64],
    start: NDArray[np.int32],
    kinds: NDArray[np.int8],
    ratios: NDArray[np.float64],
    lowest: int,
    work: NDArray[np.float64],
    tables: NDArray[np.signedinteger],
) -> None:
    """Compute the scores of a profile with some targets.

    Parameters
    ----------
    residues, starts, lengths
        Codes of all targets, and where each begins and how long it is.
    scores, start
        See `PositionTables.columns`.
    kinds, ratios
        What `measure_ratios` computed.
    lowest
        See `adjust_positions`.
    work
        Work space: a number for each amino acid, and one for each position.
    tables
        (targets, 32, rows) receives the scores of each code with the positions.
    """
    positions = start.shape[1]
    fractions, averages = work[:AMINO_ACIDS], work[AMINO_ACIDS:]
    for target in range(len(starts)):
        table, ratio = tables[target], ratios[target]
        if kinds[target] == UNADJUSTED:
            for letter in range(LETTERS):
                for p in range(positions):
                    table[letter, p] = max(start[letter, p], lowest)
            continue
        count_letters(residues[starts[target] : starts[target] + lengths[target]], fractions)
        averages[:] = 0.0
        for letter in range(LETTERS):
            weight = fractions[letter] if letter < AMINO_ACIDS else 0.0
            for p in range(positions):
                known = scores[letter, p] != FORBIDDEN
                scaled = ratio * scores[letter, p] if known else 0.0
                averages[p] += weight * scaled
                table[letter, p] = max(round_half_away(scaled), lowest) if known else lowest
        # X scores as the average amino acid of the target does, U as C, and O as X.
        for p in range(positions):
            table[X, p] = max(round_half_away(min(averages[p], MAX_X_SCORE)), lowest)
            table[PYL, p] = table[X, p]
            table[SEC, p] = table[CYS, p]
            table[STOP, p] = max(start[STOP, p], lowest)
