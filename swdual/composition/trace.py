"""Alignments of a query with targets that have a matrix each.

The alignment is the one that `swdual.alignment` names. The kernel of `swdual.composition.rescore`
finds where it ends, then the first column where one as good begins; at last it fills the columns
between these, and keeps them. Every step of the way back follows from H alone: a gap of k residues
is optimal where the H at its other end exceeds this H by its price.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.long import Walk
from swdual.alignment.tile import tally
from swdual.alignment.tracebacks import COLUMNS, PAIR, QUERY_ONLY, TARGET_ONLY, Tracebacks
from swdual.backend import Progress
from swdual.backends._striped import stripe_query
from swdual.composition.rescore import Width, count_lanes, fill_kernel, find_widths
from swdual.composition.sequences import join_targets, prepare_query
from swdual.composition.tables import SCALE
from swdual.errors import EngineError
from swdual.runtime.native import native
from swdual.sequences.scoring import ScoringScheme

MAX_KEPT_BYTES = 1 << 24
"""Size of the columns kept for the way back; an alignment that needs more is found by `Walk`."""


def trace(
    query: bytes,
    targets: Sequence[bytes],
    unmasked: Sequence[bytes],
    matrices: NDArray[np.int32],
    scores: NDArray[np.int64],
    scheme: ScoringScheme,
    progress: Progress = lambda cells: None,
    unmasked_query: bytes | None = None,
) -> Tracebacks:
    """Return the alignments of a query with some targets.

    Identities and positives are counted as BLAST does: with the letters of the sequences as they
    were before they were masked, and with the plain matrix.

    Parameters
    ----------
    query, targets
        Residue codes; masked residues are X.
    unmasked
        The targets without masking.
    matrices
        (targets, 32, 32) scores of query codes with target codes, in units of ``1 / SCALE``.
    scores
        (targets,) what `rescore` returned; where one is 0 the alignment is empty.
    scheme
        The plain matrix, and gap penalties in its units.
    progress
        Called with 0 now and then; may raise to stop the work.
    unmasked_query
        The query without masking; by default `query`.

    Raises
    ------
    EngineError
        If the best alignment of a target has another score than given.
    """
    numbers = np.zeros((len(COLUMNS), len(targets)), np.int64)
    runs: list[NDArray[np.uint32]] = [np.empty(0, np.uint32)] * len(targets)
    letters = prepare_query(query)
    prices = SCALE * scheme.gap_open, SCALE * scheme.gap_extend
    left = np.flatnonzero(scores > 0)
    progress(0)
    for width in find_widths(letters, join_targets(targets)[0], matrices, *prices):
        fitting = left[scores[left] <= width.limit]
        left = left[scores[left] > width.limit]
        if len(fitting) == 0:
            continue
        aligner = _Aligner(letters, width)
        for k in fitting.tolist():
            progress(0)
            target, score = np.frombuffer(targets[k], np.uint8), int(scores[k])
            box = aligner.find_box(target, matrices[k], score)
            rows, first, last = box
            if rows == 0:
                raise _score_error(k, score)
            walked = aligner.walk_box(target, matrices[k], score, box)
            if walked is None:
                table = matrices[k].astype(np.int64)
                walk = Walk(letters[:rows], target[first:last], table, *prices, progress)
                walk.walk_best(score)
                operations = walk.runs[: walk.count][::-1].copy()
                walked = walk.row + 1, first + walk.column + 1, operations
            query_start, target_start, runs[k] = walked
            if len(runs[k]) == 0:
                raise _score_error(k, score)
            numbers[:4, k] = query_start, rows, target_start, last
    if len(left):
        raise _score_error(int(left[0]), int(scores[left[0]]))
    plain = scheme.matrix.scores.astype(np.int64)
    codes = np.frombuffer(query if unmasked_query is None else unmasked_query, np.uint8)
    for k, operations in enumerate(runs):
        letters = np.frombuffer(unmasked[k], np.uint8)
        here, there = codes[numbers[0, k] :], letters[numbers[2, k] :]
        numbers[4:, k] = tally(here, there, operations, plain)
    return Tracebacks.of(numbers, runs)


def _score_error(k: int, score: int) -> EngineError:
    return EngineError(f"the best alignment of target {k} does not have the score {score}")


class _Aligner:
    """Aligns one query with targets, in numbers of one width.

    Parameters
    ----------
    query
        Residue codes.
    width
        The numbers; they can hold the scores of the targets.
    """

    def __init__(self, query: NDArray[np.uint8], width: Width) -> None:
        self._query = query
        self._width = width
        self._lanes = count_lanes(width.bits)
        size = -(-len(query) // self._lanes) * self._lanes
        self._striped = self._stripe(query)
        columns = MAX_KEPT_BYTES * 8 // (width.bits * size)
        self._space = width.work_space(size, self._lanes, columns)

    def _stripe(self, query: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return stripe_query(query.astype(np.int64), self._lanes)

    def find_box(
        self, target: NDArray[np.uint8], matrix: NDArray[np.int32], score: int
    ) -> tuple[int, int, int]:
        """Return a rectangle that holds the alignment, and all others of this score that end there.

        The result is the rows (from the query's first), the first column, and the last column
        (exclusive) of the rectangle; the alignment ends in its last row and column. It is
        (0, 0, 0) if the best alignment has another score.
        """
        # The alignment ends in the first column that holds the score, in the first such row of it.
        # Within the rows and columns up to there, all alignments of this score end in that cell.
        # So the matrices of both prefixes, reversed, hold the score where one of them begins: the
        # last such column is the first where any begins.
        number, last = self._fill(target, self._striped, matrix, score, stops=True)
        if number != score:
            return 0, 0, 0
        column = self._space[0][: len(self._striped)].reshape(-1, self._lanes).T.ravel()
        rows = int(np.argmax(column[: len(self._query)] == score + self._width.prices[0])) + 1
        backwards = self._stripe(self._query[:rows][::-1])
        _, columns = self._fill(target[:last][::-1].copy(), backwards, matrix, score, stops=False)
        return rows, last - columns, last

    def walk_box(
        self,
        target: NDArray[np.uint8],
        matrix: NDArray[np.int32],
        score: int,
        box: tuple[int, int, int],
    ) -> tuple[int, int, NDArray[np.uint32]] | None:
        """Return where the alignment begins in the query and in the target, and its operations.

        Parameters
        ----------
        target, matrix, score
            As for `find_box`.
        box
            The result of `find_box`. The result is None if it does not fit `MAX_KEPT_BYTES`.
        """
        # Why the path is that of the whole matrices: H in the box is nowhere above the whole H.
        # Take a cell on some alignment of the best score that ends at this end. The alignment that
        # scores the whole H of this cell, continued to this end, has the best score too. So it
        # begins in the box, and both H are equal. All cells of the path are of this kind, and so
        # is the cell that a test of `walk_columns` names if it holds, with either H: the same
        # tests hold with both. Left of the box such a cell has H 0, as the column of zeros says.
        rows, first, last = box
        striped = self._stripe(self._query[:rows])
        inner = target[first:last]
        if (len(inner) + 1) * len(striped) > len(self._space[0]):
            return None
        self._fill(inner, striped, matrix, score, stops=True, step=len(striped))
        runs = np.empty(rows + len(inner), np.uint32)
        row, column, count = walk_columns(
            self._space[0],
            self._lanes,
            len(striped),
            self._query[:rows],
            inner,
            matrix,
            self._width.prices,
            score + self._width.prices[0],
            runs,
        )
        return row, first + column, runs[:count][::-1].copy()

    def _fill(
        self,
        target: NDArray[np.uint8],
        striped: NDArray[np.uint8],
        matrix: NDArray[np.int32],
        score: int,
        stops: bool,
        step: int = 0,
    ) -> tuple[int, int]:
        """Return the best score, and the last column (from 1) that reaches the given one."""
        H, E, profile, lane_best, low, high = self._space
        zero = self._width.prices[0]
        number, column = fill_kernel(self._width.bits, self._lanes)(
            target,
            striped,
            matrix,
            self._width.prices,
            self._width.floor,
            zero + score,
            stops,
            H,
            step,
            E,
            profile,
            lane_best,
            low,
            high,
        )
        return number - zero, column


@native
def walk_columns(
    H: NDArray[np.signedinteger],
    lanes: int,
    size: int,
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    matrix: NDArray[np.int32],
    numbers: tuple[int, int, int],
    goal: int,
    runs: NDArray[np.uint32],
) -> tuple[int, int, int]:
    """Walk back from the last row and column to the beginning of the alignment.

    Parameters
    ----------
    H, lanes, size
        Columns in striped order, the first of zeros, as `striped_kernel` fills them with the step
        `size`; lanes of a vector.
    query, target, matrix
        Residues of the rows and of the columns but the first, and their scores.
    numbers
        What stands for score 0, the first and each further gap residue's cost.
    goal
        The number that stands in the last row and column: the largest.
    runs
        Receives the operations, last first: see `Tracebacks`.

    Returns
    -------
    Where the parts of the query and of the target begin, and the number of operations: 0 if the
    columns hold no alignment of this score.
    """
    # Tests in the order of the rule: a pair, a gap in the query, a gap in the target; the shortest
    # gap first. A longer gap than `(goal - h) / ge` would need an H above the goal.
    zero, gx, ge = numbers
    rows = size // lanes
    row, column = len(query) - 1, len(target)
    count = 0
    h = goal
    while h > zero:
        diagonal = zero
        if row > 0:
            above = row - 1
            diagonal = int(H[(column - 1) * size + above % rows * lanes + above // rows])
        kind, length = PAIR, 0
        if diagonal + matrix[query[row], target[column - 1]] == h:
            length = 1
            h = diagonal
        else:
            at = row % rows * lanes + row // rows
            higher = h + gx
            k = 1
            while length == 0 and k < column and higher <= goal:
                if H[(column - k) * size + at] == higher:
                    kind, length = TARGET_ONLY, k
                else:
                    higher += ge
                    k += 1
            if length == 0:
                higher = h + gx
                k = 1
            while length == 0 and k <= row and higher <= goal:
                above = row - k
                if H[column * size + above % rows * lanes + above // rows] == higher:
                    kind, length = QUERY_ONLY, k
                else:
                    higher += ge
                    k += 1
            if length == 0:
                return 0, 0, 0
            h = higher
        if kind != TARGET_ONLY:
            row -= length
        if kind != QUERY_ONLY:
            column -= length
        if count > 0 and runs[count - 1] & 15 == kind:
            runs[count - 1] += length << 4
        else:
            runs[count] = length << 4 | kind
            count += 1
    return row + 1, column, count
