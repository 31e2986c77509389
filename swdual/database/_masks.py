"""From marks of letters in a database to intervals, and back: kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native


def collect_intervals(
    residues: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64], mark: int
) -> NDArray[np.uint32]:
    """Return the intervals of marked letters in a block.

    For the parameters see `write_intervals`.

    Returns
    -------
    (intervals, 3) as `Database.intervals` returns them.
    """
    count = write_intervals(residues, starts, lengths, mark, np.empty((0, 3), np.uint32))
    intervals = np.empty((count, 3), np.uint32)
    write_intervals(residues, starts, lengths, mark, intervals)
    return intervals


@native
def write_intervals(
    residues: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    mark: int,
    intervals: NDArray[np.uint32],
) -> int:
    """Write the intervals of marked letters; return how many there are.

    Parameters
    ----------
    residues
        The codes of a block, with marks.
    starts, lengths
        (targets,) where each target begins, in codes, and how long it is.
    mark
        A power of two: the bit of marked letters.
    intervals
        (room, 3) receives number of the target, first letter and the letter behind the last one, of
        as many intervals as there is room for.
    """
    count = 0
    for target in range(len(lengths)):
        start = starts[target]
        end = start + lengths[target]
        position = start
        while position < end:
            if not residues[position] & mark:
                position += 1
                continue
            first = position
            while position < end and residues[position] & mark:
                position += 1
            if count < len(intervals):
                intervals[count, 0] = target
                intervals[count, 1] = first - start
                intervals[count, 2] = position - start
            count += 1
    return count


@native
def fill_intervals(
    residues: NDArray[np.uint8],
    starts: NDArray[np.int64],
    intervals: NDArray[np.uint32],
    first: int,
    code: int,
) -> None:
    """Write a code to all letters of some intervals.

    Parameters
    ----------
    residues, starts
        Codes, and where each target begins in them.
    intervals
        (intervals, 3) number of the target, first letter, and the letter behind the last one.
    first
        The number of the target that begins at ``starts[0]``.
    code
        The code.
    """
    for k in range(len(intervals)):
        start = starts[np.int64(intervals[k, 0]) - first]
        for position in range(start + np.int64(intervals[k, 1]), start + np.int64(intervals[k, 2])):
            residues[position] = code
