"""SEG: segments of proteins in which few kinds of letters occur, as BLAST finds them.

Wootton and Federhen 1993 (Computers and Chemistry 17:149) define the complexity of a window, and
Wootton and Federhen 1996 (Methods in Enzymology 266:554) the method of two passes: windows of low
entropy trigger a segment, which is then trimmed to its least probable part.

Only the 20 amino acids count. All other letters (B, J, Z, X, U, O and `*`) are void: a window with
more than two of them has no entropy. Two roundings of NCBI's program decide about ties, so they
are kept: logarithms of factorials have six decimals, and a window in which exactly ten letters
count has its own table of logarithms.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native

MAX_VOID = 2
"""Letters that do not count, at most, in a window that has an entropy."""

MAX_TRIM = 50
"""Letters that are trimmed off a segment, at most."""

AMINO_ACIDS = 20
"""The letters that count: codes 0 to 19 of proteins."""

_LOG_TENTHS = (
    *(-2.30258509, -1.60943791, -1.203982804, -0.91629073, -0.6931478),
    *(-0.510825623, -0.356674944, -0.22314355, -0.105360515, 0.0),
)
"""ln(k / 10) for k from 1 to 10, as NCBI's blast_seg.c has them: -0.6931478 is no misprint here."""

_MAX_TABLE = 10_000
"""NCBI tabulates ln(n!) up to here, and takes Stirling's formula beyond."""

_LOG_LETTERS = 2.9957322735539909

_NEAR = 1e-5
"""Numbers that differ by less are computed once more in NCBI's order of operations."""

_HIGH, _LOW, _TRIGGER, _MASKED = 0, 1, 2, 4
"""Of a window: its entropy is above `hicut` or undefined, up to `hicut`, up to `locut`. Of a
letter, added to this: it is masked."""


@functools.cache
def log_factorials() -> NDArray[np.float64]:
    """Return ln(n!) for n from 0 to 10,000, to six decimals."""
    exact = [math.lgamma(n + 1) for n in range(_MAX_TABLE + 1)]
    return np.round(np.array(exact), 6)


@functools.cache
def entropy_terms(window: int) -> NDArray[np.float64]:
    """Return the terms that the entropy of a window consists of.

    Parameters
    ----------
    window
        Its letters.

    Returns
    -------
    (4, window + 1) numbers of bits. At [v, c], for v up to 2: c * log2(c / n), where n letters
    count as v are void. At [3, c]: c * log2(c).
    """
    terms = np.zeros((MAX_VOID + 2, window + 1))
    terms[MAX_VOID + 1, 1:] = [c * math.log2(c) for c in range(1, window + 1)]
    for void in range(min(MAX_VOID, window) + 1):
        total = window - void
        for count in range(1, total + 1):
            log = _LOG_TENTHS[count - 1] if total == 10 else math.log(count / total)
            terms[void, count] = count * log / math.log(2)
    return terms


def count_work(length: int) -> int:
    """Return the length of the work space that `find_seg` needs for a sequence."""
    return 2 * length + 3 * AMINO_ACIDS + 1


def find_low_complexity(
    codes: bytes, window: int = 12, locut: float = 2.2, hicut: float = 2.5
) -> NDArray[np.int64]:
    """Return the segments of low complexity of a protein.

    Parameters
    ----------
    codes
        The protein.
    window
        Letters of a window; a shorter protein has no segments.
    locut, hicut
        Bits of entropy: a window up to `locut` triggers a segment, windows up to `hicut` extend it.
        `locut` is not above `hicut`.

    Returns
    -------
    (segments, 2) first letters, and the letters behind the last ones, from 0: sorted, disjoint,
    and not touching one another.
    """
    letters = np.frombuffer(codes, np.uint8)
    length = len(letters)
    intervals = np.empty(((length + 1) // 2, 2), np.int64)
    work = np.empty(count_work(length), np.int64)
    parameters = (window, float(locut), float(hicut))
    terms = entropy_terms(window)
    found = find_seg(letters, parameters, terms, log_factorials(), work, intervals)
    return intervals[:found]


@native
def find_seg(
    codes: NDArray[np.uint8],
    parameters: tuple[int, float, float],
    terms: NDArray[np.float64],
    factorials: NDArray[np.float64],
    work: NDArray[np.int64],
    intervals: NDArray[np.int64],
) -> int:
    """Write the segments of low complexity of a protein; return how many there are.

    Parameters
    ----------
    codes
        The protein.
    parameters
        `window`, `locut` and `hicut` of `find_low_complexity`.
    terms, factorials
        ``entropy_terms(window)`` and ``log_factorials()``.
    work
        ``count_work(len(codes))`` numbers at least: work space.
    intervals
        (at least (len(codes) + 1) // 2, 2) receives the segments: see `find_low_complexity`.
    """
    window, locut, hicut = parameters
    length = len(codes)
    if window > length:
        return 0
    # A window is known by the index of its letter `below`: `below` letters of it are to the left.
    below = (window + 1) // 2 - 1
    above = window - below
    small = work[: 3 * AMINO_ACIDS]
    levels = work[3 * AMINO_ACIDS : 3 * AMINO_ACIDS + length]
    classes = work[3 * AMINO_ACIDS + length :]
    _grade_windows(codes, (window, locut, hicut), terms, small, levels)
    first = below
    while True:
        trigger, low, left, right, first = _next_segment(
            codes, levels, (below, above, first, length - above), factorials, small, classes
        )
        if trigger < 0:
            break
        for k in range(left, right):
            levels[k] |= _MASKED
        if trigger + above <= left:
            # The trigger was trimmed off. The letters left of the segment are searched as if they
            # were a sequence, but NCBI's list of segments keeps only the last one found there.
            start = end = 0
            while trigger >= 0:
                trigger, _, next_start, next_end, low = _next_segment(
                    codes, levels, (below, above, low, left - above), factorials, small, classes
                )
                if trigger >= 0:
                    start, end = next_start, next_end
            for k in range(start, end):
                levels[k] |= _MASKED
    count = 0
    for k in range(length):
        if levels[k] & _MASKED:
            if k == 0 or not levels[k - 1] & _MASKED:
                intervals[count, 0] = k
                count += 1
            intervals[count - 1, 1] = k + 1
    return count


@native
def _grade_windows(
    codes: NDArray[np.uint8],
    parameters: tuple[int, float, float],
    terms: NDArray[np.float64],
    small: NDArray[np.int64],
    levels: NDArray[np.int64],
) -> None:
    """Write `_HIGH`, `_LOW` or `_TRIGGER` for each window."""
    # The entropy of N letters is log2(N) - sum(c * log2(c)) / N. The sum is kept up from window to
    # window; near a cut-off the entropy is computed once more, as NCBI does.
    window, locut, hicut = parameters
    below = (window + 1) // 2 - 1
    products = terms[MAX_VOID + 1]
    counts = small[:AMINO_ACIDS]
    counts[:] = 0
    levels[:] = _HIGH
    void = 0
    total = 0.0
    for end in range(1, len(codes) + 1):
        if end > window:
            code = codes[end - 1 - window]
            if code < AMINO_ACIDS:
                count = counts[code]
                counts[code] = count - 1
                total += products[count - 1] - products[count]
            else:
                void -= 1
        code = codes[end - 1]
        if code < AMINO_ACIDS:
            count = counts[code]
            counts[code] = count + 1
            total += products[count + 1] - products[count]
        else:
            void += 1
        if end < window or void > MAX_VOID:
            continue
        counted = max(window - void, 1)
        entropy = (products[counted] - total) / counted
        if abs(entropy - locut) < _NEAR or abs(entropy - hicut) < _NEAR:
            _sort_counts(counts, small[AMINO_ACIDS : 2 * AMINO_ACIDS])
            entropy = 0.0
            for k in range(AMINO_ACIDS):
                entropy += terms[void, small[AMINO_ACIDS + k]]
            entropy = abs(entropy / counted)
        if entropy <= hicut:
            levels[end - window + below] = _TRIGGER if entropy <= locut else _LOW


@native
def _next_segment(
    codes: NDArray[np.uint8],
    levels: NDArray[np.int64],
    windows: tuple[int, int, int, int],
    factorials: NDArray[np.float64],
    small: NDArray[np.int64],
    classes: NDArray[np.int64],
) -> tuple[int, int, int, int, int]:
    """Return the next segment among some windows.

    Parameters
    ----------
    codes, levels
        The protein, and what `_grade_windows` wrote.
    windows
        Letters of a window to the left of the one that names it, and the others; the first and the
        last window.
    factorials
        ``log_factorials()``.
    small, classes
        Work space: 60 numbers; one more than the segment has letters.

    Returns
    -------
    The window that triggers the segment (-1 if there is none), the first window of the segment, its
    first letter and the letter behind its last one after trimming, and the window to continue at.
    """
    below, above, first, last = windows
    trigger = first
    while trigger <= last and levels[trigger] & 3 != _TRIGGER:
        trigger += 1
    if trigger > last:
        return -1, 0, 0, 0, 0
    low = high = trigger
    while low > first and levels[low - 1] & 3 != _HIGH:
        low -= 1
    while high < last and levels[high + 1] & 3 != _HIGH:
        high += 1
    start = low - below
    left, right = _trim(codes[start : high + above], factorials, small, classes)
    left += start
    right += start
    return trigger, low, left, right, min(high, right - 1 + below) + 1


@native
def _trim(
    codes: NDArray[np.uint8],
    factorials: NDArray[np.float64],
    small: NDArray[np.int64],
    classes: NDArray[np.int64],
) -> tuple[int, int]:
    """Return where the least probable part of a segment begins and ends.

    Of equally probable parts it is the longest, and of these the first.
    """
    # ln P of a part, apart from what only its length decides, is a sum over the counts of letters
    # and over the classes (how many letters have the same count). It is kept up from part to part;
    # near the smallest one it is computed once more, as NCBI does.
    length = len(codes)
    heads = small[:AMINO_ACIDS]  # the counts of the first `size` letters
    counts = small[AMINO_ACIDS : 2 * AMINO_ACIDS]
    ordered = small[2 * AMINO_ACIDS : 3 * AMINO_ACIDS]
    heads[:] = 0
    counts[:] = 0
    classes[: length + 1] = 0
    for k in range(length):
        if codes[k] < AMINO_ACIDS:
            heads[codes[k]] += 1
    best = 1.0
    left = 0
    right = length
    for size in range(length, max(1, length - MAX_TRIM), -1):
        for letter in range(AMINO_ACIDS):
            classes[counts[letter]] = 0
        fixed = _log_factorial(AMINO_ACIDS, factorials) + _log_factorial(size, factorials)
        fixed -= size * _LOG_LETTERS
        total = 0.0
        for letter in range(AMINO_ACIDS):
            count = heads[letter]
            counts[letter] = count
            classes[count] += 1
            # The number k of a class adds ln(k), so that ln(k!) are added in the end.
            total += _log_factorial(count, factorials)
            total += factorials[classes[count]] - factorials[classes[count] - 1]
        for start in range(length - size + 1):
            if start > 0:
                gone = codes[start - 1]
                code = codes[start + size - 1]
                if gone != code:
                    if gone < AMINO_ACIDS:
                        count = counts[gone]
                        counts[gone] = count - 1
                        total += _change(count, count - 1, classes, factorials)
                    if code < AMINO_ACIDS:
                        count = counts[code]
                        counts[code] = count + 1
                        total += _change(count, count + 1, classes, factorials)
            if fixed - total < best + _NEAR:
                _sort_counts(counts, ordered)
                probability = _log_probability(ordered, size, factorials)
                if probability < best:
                    best = probability
                    left = start
                    right = start + size
        code = codes[size - 1]
        if code < AMINO_ACIDS:
            heads[code] -= 1
    return left, right


@native
def _change(
    count: int, new: int, classes: NDArray[np.int64], factorials: NDArray[np.float64]
) -> float:
    """Move a letter from the class of a count to that of another; return what the sum gains."""
    change: float = _log_factorial(new, factorials) - _log_factorial(count, factorials)
    size = classes[count]
    classes[count] = size - 1
    change += factorials[size - 1] - factorials[size]
    size = classes[new]
    classes[new] = size + 1
    change += factorials[size + 1] - factorials[size]
    return change


@native
def _log_probability(
    ordered: NDArray[np.int64], size: int, factorials: NDArray[np.float64]
) -> float:
    """Return ln P of `size` letters, in NCBI's order of operations.

    Parameters
    ----------
    ordered
        The counts of the amino acids, largest first.
    size
        The letters, with those that do not count.
    factorials
        ``log_factorials()``.
    """
    states: float = factorials[AMINO_ACIDS]
    same = 1
    for k in range(1, AMINO_ACIDS + 1):
        if ordered[0] == 0:
            break  # no letter counts: NCBI leaves out that all letters are in one class
        if k < AMINO_ACIDS and ordered[k] == ordered[k - 1]:
            same += 1
        else:
            states -= factorials[same]
            same = 1
    orders = _log_factorial(size, factorials)
    for k in range(AMINO_ACIDS):
        if ordered[k] > 0:
            orders -= _log_factorial(ordered[k], factorials)
    return states + orders - size * _LOG_LETTERS


@native
def _log_factorial(n: int, factorials: NDArray[np.float64]) -> float:
    """Return ln(n!) as NCBI computes it."""
    if n > _MAX_TABLE:
        return (n + 0.5) * math.log(n) - n + 0.9189385332
    value: float = factorials[n]
    return value


@native
def _sort_counts(counts: NDArray[np.int64], ordered: NDArray[np.int64]) -> None:
    """Write the counts of the amino acids, largest first."""
    for k in range(AMINO_ACIDS):
        count = counts[k]
        at = k
        while at > 0 and ordered[at - 1] < count:
            ordered[at] = ordered[at - 1]
            at -= 1
        ordered[at] = count
