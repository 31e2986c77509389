"""The alignment of one long pair, in memory that grows with the sequences, not their product.

The matrices are filled once, keeping a few rows and columns; then the rectangles between these
that the alignment passes through are filled again, from its end to its beginning, and likewise
the rectangles in them while they are large. That is at most about an eighth more than filling
them once. A. Driga et al., FastLSA, Algorithmica 45 (2006) 337-375.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tile import DONE, IN_H, fill_tile, find_segment, walk_tile
from swdual.backend import Progress
from swdual.runtime.native import native

PARTS = 24
"""Rows and columns of rectangles that a rectangle is divided into."""

CALL_CELLS = 100_000_000
"""Cells of one call of a kernel: how often a stop is noticed."""

SMALL_CELLS = 1 << 20
"""A rectangle of this many cells, a byte each, is walked through at once."""

NO_GOAL = 1 << 62
"""A goal that no cell has."""

NOT_FORBIDDEN = np.empty((0, 4), np.int64)
"""No rectangles without pairs: see `find_segment`."""


class Borders(NamedTuple):
    """What enters a rectangle: the H up and left of it, H and F from above, H and E from left."""

    corner: int
    above_H: NDArray[np.int64]
    above_F: NDArray[np.int64]
    left_H: NDArray[np.int64]
    left_E: NDArray[np.int64]


class Walk:
    """A walk from the end of an alignment to its beginning: where it stands, and its operations.

    Parameters
    ----------
    query, target
        Rows of the table, and residue codes.
    table
        Scores: see `fill_tile`.
    gap_open, gap_extend
        A gap of k residues costs ``gap_open + k * gap_extend``.
    progress
        Called often; may raise to stop the work.
    forbidden
        Rectangles in which no pair is aligned: see `find_segment`.
    """

    def __init__(
        self,
        query: NDArray[np.int64],
        target: NDArray[np.uint8],
        table: NDArray[np.int64],
        gap_open: int,
        gap_extend: int,
        progress: Progress,
        forbidden: NDArray[np.int64] = NOT_FORBIDDEN,
    ) -> None:
        self._progress = progress
        self._forbidden = forbidden
        self._query, self._target, self._table = query, target, table
        self._numbers = (0, gap_open + gap_extend, gap_extend)
        self.runs = np.empty(len(query) + len(target), np.uint32)
        self.count = 0
        self.row = self.column = -1
        self.state = IN_H
        self.score = 0

    def walk_best(self, goal: int) -> tuple[int, int]:
        """Walk the best alignment, and keep its `score`; return where it ends (exclusive).

        Parameters
        ----------
        goal
            The smallest score. If no cell has it, the result is (0, 0).
        """
        rows, columns = len(self._query), len(self._target)
        zeros = np.zeros(max(rows, columns), np.int64)
        borders = Borders(0, zeros[:columns], zeros[:columns], zeros[:rows], zeros[:rows])
        self.row, self.column = rows - 1, columns - 1
        lines = self._fill(0, 0, borders, goal)
        self.row, self.column = end = lines.end
        self.score = lines.best
        self._walk_between(0, 0, borders, lines)
        return end[0] + 1, end[1] + 1

    def _walk_rectangle(self, top: int, left: int, borders: Borders) -> None:
        """Walk through a rectangle that ends where the walk stands."""
        if (self.row + 1 - top) * (self.column + 1 - left) > SMALL_CELLS:
            self._walk_between(top, left, borders, self._fill(top, left, borders, NO_GOAL))
            return
        query, target = self._query[top : self.row + 1], self._target[left : self.column + 1]
        directions = np.empty(len(query) * len(target), np.uint8)
        fill_tile(
            query,
            target,
            self._table,
            self._numbers,
            NO_GOAL,
            borders.corner,
            borders.above_H[: len(target)].copy(),
            borders.above_F[: len(target)].copy(),
            borders.left_H,
            borders.left_E,
            self._forbidden,
            top,
            left,
            directions,
        )
        row, column, self.state, self.count = walk_tile(
            directions,
            len(target),
            self.row - top,
            self.column - left,
            self.state,
            self.runs,
            self.count,
        )
        self.row, self.column = row + top, column + left

    def _fill(self, top: int, left: int, borders: Borders, goal: int) -> _Lines:
        """Fill a rectangle that ends where the walk stands, keeping lines.

        Parameters
        ----------
        top, left, borders
            Where it begins, and what enters it.
        goal
            The smallest score that is looked for.
        """
        query, target = self._query[top : self.row + 1], self._target[left : self.column + 1]
        steps = -(-len(query) // PARTS), -(-len(target) // PARTS)
        counts = -(-len(query) // steps[0]), -(-len(target) // steps[1])
        rows = np.empty((counts[0], 2, len(target)), np.int64)
        columns = np.empty((counts[1], 2, len(query)), np.int64)
        H, F = borders.above_H[: len(target)].copy(), borders.above_F[: len(target)].copy()
        corner, end = borders.corner, (-1, -1)
        for first, last in self._bands(len(query), len(target), steps[0]):
            self._progress(0)
            here = slice(first, last)
            row, column, best = fill_band(
                query[here],
                target,
                self._table,
                self._numbers,
                goal,
                corner,
                H,
                F,
                borders.left_H[here],
                borders.left_E[here],
                self._forbidden,
                top + first,
                left,
                steps[1],
                columns[:, :, here],
            )
            if last % steps[0] == 0 or last == len(query):
                rows[(last - 1) // steps[0]] = H, F
            corner = int(borders.left_H[here.stop - 1])
            if row >= 0 and (best > goal or end[1] < 0 or column < end[1]):
                goal, end = best, (first + row, column)
        return _Lines(rows, columns, steps, end, goal)

    @staticmethod
    def _bands(rows: int, columns: int, step: int) -> Iterator[tuple[int, int]]:
        """Return bands of rows that are filled at once; a line lies below every `step` rows."""
        max_rows = max(1, CALL_CELLS // columns)
        for line in range(0, rows, step):
            end = min(line + step, rows)
            for first in range(line, end, max_rows):
                yield first, min(first + max_rows, end)

    def _walk_between(self, top: int, left: int, borders: Borders, lines: _Lines) -> None:
        """Walk through the rectangles between the lines of a filled one."""
        while self.state != DONE and self.row >= top and self.column >= left:
            band = (self.row - top) // lines.steps[0]
            strip = (self.column - left) // lines.steps[1]
            y, x = band * lines.steps[0], strip * lines.steps[1]
            above = lines.rows[band - 1] if band else (borders.above_H, borders.above_F)
            beside = lines.columns[strip - 1] if strip else (borders.left_H, borders.left_E)
            if band and strip:
                corner = int(lines.rows[band - 1, 0, x - 1])
            elif band:
                corner = int(borders.left_H[y - 1])
            else:
                corner = int(borders.above_H[x - 1]) if strip else borders.corner
            inner = Borders(corner, above[0][x:], above[1][x:], beside[0][y:], beside[1][y:])
            self._walk_rectangle(top + y, left + x, inner)


class _Lines(NamedTuple):
    """Lines of a filled rectangle, and where the alignment ends in it.

    ``rows[r]`` holds H and F below row ``(r + 1) * steps[0] - 1``, ``columns[c]`` H and E right of
    column ``(c + 1) * steps[1] - 1``; ``end`` is the first of the best cells, or (-1, -1) if none
    reaches the goal, and ``best`` their score.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    steps: tuple[int, int]
    end: tuple[int, int]
    best: int


@native
def fill_band(
    query: NDArray[np.int64],
    target: NDArray[np.uint8],
    table: NDArray[np.int64],
    numbers: tuple[int, int, int],
    goal: int,
    corner: int,
    H: NDArray[np.int64],
    F: NDArray[np.int64],
    left_H: NDArray[np.int64],
    left_E: NDArray[np.int64],
    forbidden: NDArray[np.int64],
    top: int,
    left: int,
    step: int,
    columns: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Fill a rectangle, and keep H and E of every `step` columns.

    Parameters
    ----------
    query, target, table, numbers, corner, H, F, left_H, left_E, forbidden, top, left
        As for `fill_tile`.
    goal
        The smallest H that is looked for.
    step
        Columns from one line to the next.
    columns
        (lines, 2, rows) receives H and E right of the last column of each strip.

    Returns
    -------
    Row and column of the best H (in the first column that has it, the first row), or (-1, -1) if
    none reaches the goal; and this H, or the goal.
    """
    # As in `fill_tile`, but a row is filled strip by strip, each `step` columns wide. The goal
    # rises with the best H. Only the largest H of a strip is compared with it: a strip with a
    # smaller maximum does not hold it, and hardly any strip is looked through.
    zero, gx, ge = numbers
    goal_row = goal_column = -1
    above_left = corner
    for i in range(len(query)):
        scores = table[query[i]]
        diagonal = above_left
        above_left = left_H[i]
        e = left_E[i]
        j = 0
        for strip in range(columns.shape[0]):
            last = min((strip + 1) * step, len(target))
            best = zero
            while j < last:
                stop, inside = find_segment(forbidden, top + i, left + j, left + last)
                stop -= left
                while j < stop:
                    f = F[j]
                    pair = zero if inside else diagonal + scores[target[j]]
                    h = max(pair, zero, max(e, f) - gx)
                    diagonal = H[j]
                    e = max(e - ge, h)
                    H[j] = h
                    F[j] = max(f - ge, h)
                    best = max(best, h)
                    j += 1
            columns[strip, 0, i] = H[last - 1]
            columns[strip, 1, i] = e
            if best > goal:
                goal, goal_column = best, -1
            if best == goal:
                for k in range(strip * step, last):
                    if H[k] == goal and (goal_column < 0 or k < goal_column):
                        goal_row, goal_column = i, k
    return goal_row, goal_column, goal
