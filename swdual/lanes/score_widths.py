"""The score widths: numbers of 8, 16 and 32 bits, and the scores that each can hold."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from swdual.lanes.registers import COLUMNS, TABLE_BYTES
from swdual.sequences.alphabet import CODES, PAD
from swdual.sequences.matrices import MAX_MATRIX_SCORE
from swdual.sequences.scoring import ScoringScheme

MATRIX, PER_TARGET, PROFILE, FRAMESHIFT, MATRIX_WITH_OFFSETS = 0, 1, 2, 3, 4
"""Where the scores of pairs come from: from one matrix, from a matrix for each target, or from the
positions of a profile; or from one matrix, with rows for all frames of a strand, or with `Offsets`.
Kernels are compiled for each, but for those that read where the scores are when they run."""

OFFSET_ROWS, MAX_OFFSET = 16, 40
"""Rows after which offsets begin anew, and the largest offset of a number of 8 bits.

There are offsets of 0, 1, ... ``OFFSET_ROWS + COLUMNS`` gap extensions.
"""


@dataclass(frozen=True)
class Offsets:
    """What `swdual.lanes.cell.go_down_with_offsets` reads instead of the same of `ScoreWidth`.

    Parameters
    ----------
    limit
        The largest number without offset that is exact.
    low, high
        Score tables, with two gap extensions added to each score.
    """

    limit: int
    low: NDArray[np.int8]
    high: NDArray[np.int8]


@dataclass(frozen=True)
class ScoreWidth:
    """One width of numbers, and scores and gap costs in it (see `swdual.lanes.cell`).

    Parameters
    ----------
    bits, lanes
        Bits of a number, and numbers in a vector.
    zero
        The number that stands for score 0.
    first_gap, next_gap
        Costs of a gap's first residue and of each further one.
    limit
        The largest number that is exact: no cell up to it has wrapped.
    table
        Scores of each code that a query may have with the 32 codes, or of each position of a
        profile, cut to what the width can hold.
    low, high
        Lower and upper bytes of the table, each row of 32 written twice.
    source
        Where the scores of pairs come from: `MATRIX`, `PER_TARGET`, `PROFILE` or `FRAMESHIFT`.
    matrices
        Where they are per target: (targets, rows, 32) scores of each row with the target's codes.
        There is a row for each code that a query may have, or for each of its positions; the
        number of rows is a multiple of 32, and the last one stands for no residue. The tables above
        are not used then.
    in_range
        Whether the numbers can hold all scores of `matrices`.
    shift
        Cost of a frameshift; 0 if there are none.
    offsets
        What else to use for queries that are long enough, if offsets are faster.
    is_bound
        Whether the numbers are upper bounds of scores: see `find_bound`.
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
    source: int = MATRIX
    matrices: NDArray[np.signedinteger] | None = None
    in_range: bool = False
    shift: int = 0
    offsets: Offsets | None = None
    is_bound: bool = False

    @property
    def kind(self) -> np.dtype[np.signedinteger]:
        """The type of the numbers."""
        return np.dtype(f"i{self.bits // 8}")

    @property
    def is_profile_per_target(self) -> bool:
        """Whether each target has scores of its own for each position, not only for each code.

        These are not transposed for lanes: that takes too long.
        """
        return self.table_rows != CODES

    @property
    def table_rows(self) -> int:
        """Rows of a table of scores per target; the last one stands for no residue."""
        return CODES if self.matrices is None else self.matrices.shape[1]

    def target_tables(self, targets: NDArray[np.int64]) -> NDArray[np.signedinteger]:
        """Return scores per target as the kernels read them; nothing if there are none.

        Parameters
        ----------
        targets
            Their numbers.

        Returns
        -------
        For each target and each of its 32 codes the scores of all rows.
        """
        if self.matrices is None:
            return np.empty(0, self.kind)
        stored = self.matrices.transpose(0, 2, 1)
        first, last = int(targets[0]), int(targets[-1])
        if (
            self.in_range
            and stored.dtype == self.kind
            and np.array_equal(targets, np.arange(first, last + 1))
        ):
            return stored[first : last + 1].reshape(-1)  # no copy, if each letter's rows adjoin
        if not self.is_profile_per_target:
            tables = np.maximum(self.matrices[targets], self.floor).astype(self.kind)
            return np.ascontiguousarray(tables.transpose(0, 2, 1)).reshape(-1)
        tables = np.empty((len(targets), CODES, self.table_rows), self.kind)
        for k, target in enumerate(targets.tolist()):
            np.maximum(self.matrices[target].T, self.floor, out=tables[k], casting="unsafe")
        return tables.reshape(-1)

    def table_of(self, target: int) -> NDArray[np.int64]:
        """Return the scores of query codes, or positions, with the codes of a target."""
        if self.matrices is None:
            return self.table
        table: NDArray[np.int64] = np.maximum(self.matrices[target], self.floor).astype(np.int64)
        return table

    def tables_of(self, targets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (1 or targets, rows, 32) the scores that all targets have, or each: `table_of`."""
        if self.matrices is None:
            return self.table[np.newaxis]
        return np.stack([self.table_of(k) for k in targets.tolist()])

    @property
    def pad_row(self) -> int:
        """The row of a table of bounds, or of a table per target, that stands for no residue."""
        return (len(self.table) if self.matrices is None else self.table_rows) - 1

    @property
    def forbids(self) -> bool:
        """Whether kernels can forbid a pair: they give it `floor`, or the score of `PAD`."""
        return self.source != PROFILE or self.floor >= -MAX_MATRIX_SCORE

    @property
    def floor(self) -> int:
        """The smallest score that a number can hold: `zero` less it is the lowest number."""
        return -(1 << (self.bits - 1)) - self.zero


def find_offsets(width: ScoreWidth) -> Offsets | None:
    """Return the offsets of numbers of 8 bits; None if they would take too many scores.

    Parameters
    ----------
    width
        The numbers.
    """
    ge = width.next_gap
    largest = int(width.table.max())
    limit = width.limit - (OFFSET_ROWS + COLUMNS) * ge
    if (
        width.bits > 8
        or width.source != MATRIX
        or width.limit - limit > MAX_OFFSET
        or limit - width.zero < largest
    ):
        return None
    return Offsets(limit, *_tables(width.table + 2 * ge))


def find_bound(width: ScoreWidth) -> ScoreWidth | None:
    """Return the numbers of upper bounds: see `swdual.lanes.bound`. None if there are none.

    Parameters
    ----------
    width
        Numbers of exact scores. Tables of bounds have a row more, which stands for no residue.
    """
    if width.source == FRAMESHIFT or width.is_profile_per_target:
        return None
    # The numbers are those of exact scores. A cost that is cut is smaller: a bound still.
    lowest = -(1 << (width.bits - 1))
    next_gap = min(width.next_gap, (width.zero - lowest) // 2)
    bound = replace(width, next_gap=next_gap, offsets=None, is_bound=True)
    if width.source == PER_TARGET:
        return bound
    table = np.vstack([width.table, np.full(CODES, width.floor)])
    low, high = _tables(table)
    return replace(bound, table=table, low=low, high=high)


def number_rows(query: bytes, profile: NDArray[np.int32] | None = None) -> NDArray[np.int64]:
    """Return the row of the score table of each residue of a query: its code, or its position.

    Parameters
    ----------
    query
        Residue codes.
    profile
        (residues, 32) scores of each position, if it has them.
    """
    if profile is None:
        return np.frombuffer(query, np.uint8).astype(np.int64)
    return np.arange(len(profile))


def score_widths(
    scheme: ScoringScheme,
    lanes: int,
    profile: NDArray[np.int32] | None = None,
    *,
    forbids: bool = False,
) -> list[ScoreWidth]:
    """Return the score widths that can hold at least some scores, narrowest first.

    Parameters
    ----------
    scheme
        Substitution matrix and gap penalties.
    lanes
        8-bit numbers in a vector.
    profile
        (positions, 32) scores of each position of a query with each code, instead of the matrix.
    forbids
        Whether `ScoreWidth.floor` must forbid a pair: it is then less than two gaps of a residue.
    """
    if profile is None:
        return [*_matrix_widths(scheme, lanes, forbids)]
    return _find_widths(scheme, lanes, profile, forbids)


@functools.lru_cache(maxsize=16)
def _matrix_widths(scheme: ScoringScheme, lanes: int, forbids: bool) -> list[ScoreWidth]:
    """Return the widths of a matrix: a search asks for them several times."""
    return _find_widths(scheme, lanes, None, forbids)


def _find_widths(
    scheme: ScoringScheme, lanes: int, profile: NDArray[np.int32] | None, forbids: bool
) -> list[ScoreWidth]:
    """Return the score widths that can hold at least some scores: see `score_widths`."""
    # A cost or a negative score that a width cannot hold forbids the gap or the pair. It is cut to
    # `forbidding`: H <= limit = highest - largest, so H - forbidding is at most zero: no gain.
    # `zero` leaves room below for the worst single step (a gap's first residue, or the smallest
    # score); `limit` leaves room above for the best. So no number wraps before it is noticed.
    #
    #     lowest |-- worst step --| zero |====== exact scores ======| limit |-- largest --| highest
    #
    # A pair that scores less than a gap of one residue in each sequence is in no best alignment:
    # these gaps align the same residues with nothing. So smaller scores need no more room.
    matrix = (scheme.matrix.scores if profile is None else profile).astype(np.int64)
    source = MATRIX if profile is None else PROFILE
    if scheme.frameshift:
        source = FRAMESHIFT
    largest = max(int(matrix.max()), 0)
    score_widths = []
    for bits in (8, 16, 32):
        lowest, highest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        forbidding = -(-(highest - lowest - largest) // 2)
        first_gap = min(scheme.gap_open + scheme.gap_extend, forbidding)
        next_gap = min(scheme.gap_extend, first_gap)
        worst = min(forbidding, 2 * first_gap + 1)
        shift = min(scheme.frameshift, forbidding)
        table = np.maximum(matrix, -worst)
        zero = lowest + max(first_gap, worst if forbids else -int(table.min()), shift, 1)
        limit = highest - largest
        if largest > highest or limit - zero < largest:
            continue
        table[:, PAD] = max(lowest - zero, -MAX_MATRIX_SCORE)
        width = bits, lanes * 8 // bits, zero, first_gap, next_gap, limit
        score_widths.append(ScoreWidth(*width, table, *_tables(table), source, shift=shift))
    return score_widths


def score_widths_per_target(
    query: NDArray[np.integer],
    residues: NDArray[np.uint8],
    matrices: NDArray[np.signedinteger],
    gap_open: int,
    gap_extend: int,
    lanes: int,
    extremes: tuple[int, int] | None = None,
    *,
    forbids: bool = False,
) -> list[ScoreWidth]:
    """Return the widths of 16 and 32 bits, where scores are per target.

    Parameters
    ----------
    query, residues
        Rows of the matrices, and codes of all targets.
    matrices
        See `ScoreWidth`; scores of at most 2**29 in size.
    gap_open, gap_extend
        A gap of k residues costs ``gap_open + k * gap_extend``, in the units of the scores.
    lanes
        8-bit numbers in a vector.
    extremes
        Bounds of all scores in `matrices`, if they are known: the smallest, of codes and rows that
        no sequence has, too; and the largest.
    forbids
        As for `score_widths`.
    """
    # As in `score_widths`. Scores of codes that neither sequence has do not count, nor does `PAD`:
    # it costs `floor`, or the smallest score, so that no cell with it exceeds its neighbours.
    if extremes is None:
        residues = residues[residues != PAD]
        used = matrices[:, : query.max(initial=0) + 1, : residues.max(initial=0) + 1]
        smallest, largest = int(used.min(initial=0)), int(used.max(initial=0))
    else:
        smallest, largest = extremes
    largest = max(largest, 1)
    widths = []
    for bits in (16, 32):
        lowest, highest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        forbidding = -(-(highest - lowest - largest) // 2)
        first_gap = min(gap_open + gap_extend, forbidding)
        worst = max(-smallest, 2 * first_gap + 1) if forbids else -smallest
        zero = lowest + max(first_gap, min(worst, forbidding))
        limit = min(highest - largest, zero + (1 << 31) - 1)  # scores are returned in 32 bits
        if limit - zero < largest:
            continue
        width = bits, lanes * 8 // bits, zero, first_gap, min(gap_extend, first_gap), limit
        empty = np.empty(0, np.int8)
        table = np.empty((0, 0), np.int64)
        in_range = extremes is not None and smallest >= lowest - zero
        widths.append(ScoreWidth(*width, table, empty, empty, PER_TARGET, matrices, in_range))
    return widths


def _tables(table: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the lower and the upper bytes of all scores: see `ScoreWidth`."""
    twice = np.tile(table.astype("<i2"), (1, TABLE_BYTES // CODES))
    halves = np.ascontiguousarray(twice).view(np.int8).reshape(*twice.shape, 2)
    low, high = (allocate_aligned(twice.size, np.dtype(np.int8)) for _ in range(2))
    low[:], high[:] = halves[:, :, 0].ravel(), halves[:, :, 1].ravel()
    return low, high


def allocate_aligned(size: int, kind: np.dtype[np.signedinteger]) -> NDArray[np.signedinteger]:
    """Return an uninitialised array that begins on a multiple of 64 bytes.

    Parameters
    ----------
    size
        Number of elements.
    kind
        Their type.
    """
    raw = np.empty(size * kind.itemsize + 64, np.uint8)
    skip = -raw.ctypes.data % 64
    return raw[skip : skip + size * kind.itemsize].view(kind)
