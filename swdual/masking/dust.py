"""DUST: runs of nucleotides in which few kinds of triplets occur, as BLAST finds them.

Morgulis, Gertz, Schaeffer and Agarwala 2006 (Journal of Computational Biology 13:1028) define the
symmetric version. A run of l triplets, one at each base, has the score of its pairs of equal
triplets, divided by l - 1. A run is perfect if its score is above a threshold and no run within it
scores higher. The mask is the union of the perfect runs.

N ends a run and is never masked; NCBI's program replaces each N by a base at random. The other
letters for several bases count as A, as there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native
from swdual.sequences.alphabet import NUCLEOTIDE

_BASES = 4
_KINDS = _BASES**3
"""Kinds of triplets."""

_ENDS = 64
"""Triplets that a run may end at: more than the longest run has triplets, and a power of 2."""

_N = NUCLEOTIDE.letters.index("N")

COUNT_WORK = 2 * _KINDS + 3 * _ENDS
"""The length of the work space that `find_dust` needs."""


def find_low_complexity(
    codes: bytes, level: int = 20, window: int = 64, linker: int = 1
) -> NDArray[np.int64]:
    """Return the intervals of low complexity of a nucleotide sequence.

    Parameters
    ----------
    codes
        The sequence.
    level
        Ten times the score that a perfect run exceeds.
    window
        Bases of a run, at most; from 4 to 64.
    linker
        Intervals are joined if fewer bases than this are between them.

    Returns
    -------
    (intervals, 2) first bases, and the bases behind the last ones, from 0: sorted and disjoint.
    """
    bases = np.frombuffer(codes, np.uint8)
    intervals = np.empty((len(bases) // 4 + 1, 2), np.int64)
    work = np.empty(COUNT_WORK, np.int64)
    found = find_dust(bases, (level, window, linker), work, intervals)
    return intervals[:found]


@native
def find_dust(
    codes: NDArray[np.uint8],
    parameters: tuple[int, int, int],
    work: NDArray[np.int64],
    intervals: NDArray[np.int64],
) -> int:
    """Write the intervals of low complexity of a nucleotide sequence; return how many there are.

    Parameters
    ----------
    codes
        The sequence.
    parameters
        `level`, `window` and `linker` of `find_low_complexity`.
    work
        `COUNT_WORK` numbers at least: work space.
    intervals
        (at least len(codes) // 4 + 1, 2) receives the intervals: see `find_low_complexity`.
    """
    level, window, linker = parameters
    longest = window - 2  # triplets of a run
    around = work[:_KINDS]
    counts = work[_KINDS : 2 * _KINDS]
    scores = work[2 * _KINDS : 2 * _KINDS + _ENDS]
    sizes = work[2 * _KINDS + _ENDS : 2 * _KINDS + 2 * _ENDS]
    kinds = work[2 * _KINDS + 2 * _ENDS : 2 * _KINDS + 3 * _ENDS]
    around[:] = 0
    counts[:] = 0
    # Runs that begin at `start` are examined from the last start to the first one. `around` counts
    # the triplets up to the longest run, `pairs` their pairs. At the slot of an end, `scores` and
    # `sizes` have numerator and denominator of the best score above the threshold of all runs
    # from `start` on up to that end; 0 if there is none. It never falls from end to end.
    last = len(codes) - 3
    pairs = 0
    count = 0
    for start in range(last, -1, -1):
        if start + longest <= last:
            kind = kinds[(start + longest) % _ENDS]
            if kind >= 0:
                around[kind] -= 1
                pairs -= around[kind]
        kind = _triplet(codes, start)
        kinds[start % _ENDS] = kind
        scores[start % _ENDS] = 0
        sizes[start % _ENDS] = 1
        if kind < 0:
            continue
        pairs += around[kind]
        around[kind] += 1
        # A run cannot have more pairs than there are, so 10 * pairs > level * (l - 1).
        stop = min(start + longest, start + (10 * pairs - 1) // level + 1, last + 1)
        score = 0
        end = start
        masked = -1
        while end < stop:
            here = end % _ENDS
            kind = kinds[here]
            if kind < 0:
                break
            score += counts[kind]
            counts[kind] += 1
            size = end - start
            if masked >= 0:
                before = (end - 1) % _ENDS
                if scores[before] * sizes[here] > scores[here] * sizes[before]:
                    scores[here] = scores[before]
                    sizes[here] = sizes[before]
            if 10 * score > level * size and score * sizes[here] >= scores[here] * size:
                scores[here] = score
                sizes[here] = size
                masked = end
            end += 1
        for k in range(start, end):
            counts[kinds[k % _ENDS]] = 0
        if masked < 0:
            continue
        while end < min(start + longest, last + 1):
            here = end % _ENDS
            before = (end - 1) % _ENDS
            if scores[before] * sizes[here] > scores[here] * sizes[before]:
                scores[here] = scores[before]
                sizes[here] = sizes[before]
            end += 1
        behind = masked + 3
        while count > 0 and behind + linker > intervals[count - 1, 0]:
            behind = max(behind, intervals[count - 1, 1])
            count -= 1
        intervals[count, 0] = start
        intervals[count, 1] = behind
        count += 1
    for k in range(count // 2):
        other = count - 1 - k
        for side in range(2):
            intervals[k, side], intervals[other, side] = intervals[other, side], intervals[k, side]
    return count


@native
def mark_dust(
    codes: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    parameters: tuple[int, int, int],
    work: NDArray[np.int64],
    intervals: NDArray[np.int64],
    mark: int,
    marked: NDArray[np.uint8],
) -> None:
    """Mark the letters in intervals of low complexity of several nucleotide sequences.

    Parameters
    ----------
    codes, starts, lengths
        Codes of all sequences, and where each begins and how long it is.
    parameters, work, intervals
        See `find_dust`; the work space is enough for the longest sequence.
    mark, marked
        The mark, a power of two, is set in the bytes of `marked` that stand for such letters.
    """
    for k in range(len(lengths)):
        start = starts[k]
        found = find_dust(codes[start : start + lengths[k]], parameters, work, intervals)
        for i in range(found):
            for position in range(start + intervals[i, 0], start + intervals[i, 1]):
                marked[position] |= mark


@native
def _triplet(codes: NDArray[np.uint8], start: int) -> int:
    """Return the kind of the triplet at a base; -1 if it has an N."""
    kind = 0
    for k in range(start, start + 3):
        code = codes[k]
        if code == _N:
            return -1
        kind = kind * _BASES + (code if code < _BASES else 0)
    return kind
