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
    found = mark_seg(
        letters,
        np.zeros(1, np.int64),
        np.array([length]),
        parameters,
        entropy_terms(window),
        log_factorials(),
        work,
        intervals,
        1,
        np.zeros(length, np.uint8),
    )
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
    if not _grade_windows(codes, (window, locut, hicut), terms, small, levels):
        return 0
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
def mark_seg(
    codes: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    parameters: tuple[int, float, float],
    terms: NDArray[np.float64],
    factorials: NDArray[np.float64],
    work: NDArray[np.int64],
    intervals: NDArray[np.int64],
    mark: int,
    marked: NDArray[np.uint8],
) -> int:
    """Mark the letters in segments of low complexity; return how many the last protein has.

    Parameters
    ----------
    codes, starts, lengths
        Codes of all proteins, and where each begins and how long it is.
    parameters, terms, factorials, work, intervals
        See `find_seg`; the work space is enough for the longest protein.
    mark, marked
        The mark, a power of two, is set in the bytes of `marked` that stand for such letters.
    """
    found = 0
    for k in range(len(lengths)):
        start = starts[k]
        own = codes[start : start + lengths[k]]
        found = find_seg(own, parameters, terms, factorials, work, intervals)
        for i in range(found):
            for position in range(start + intervals[i, 0], start + intervals[i, 1]):
                marked[position] |= mark
    return found


@native
def _grade_windows(
    codes: NDArray[np.uint8],
    parameters: tuple[int, float, float],
    terms: NDArray[np.float64],
    small: NDArray[np.int64],
    levels: NDArray[np.int64],
) -> bool:
    """Write `_HIGH`, `_LOW` or `_TRIGGER` for each window; return whether any is a `_TRIGGER`."""
    # The entropy of N letters is log2(N) - sum(c * log2(c)) / N. The sum is kept up from window to
    # window; near a cut-off the entropy is computed once more, as NCBI does. Most windows count all
    # letters and have a sum well below `enough`: too much entropy.
    window, locut, hicut = parameters
    below = (window + 1) // 2 - 1
    products = terms[MAX_VOID + 1]
    counts = small[:AMINO_ACIDS]
    counts[:] = 0
    levels[:] = _HIGH
    enough = products[window] - (hicut + 2 * _NEAR) * window
    triggers = False
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
        if end < window or void > MAX_VOID or (void == 0 and total < enough):
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
            triggers = triggers or entropy <= locut
    return triggers


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
    # near the smallest one both are computed once more, as NCBI does. The parts of a length come
    # from left to right, those of the next length from right to left, and so on: each differs from
    # the one before by a letter or two.
    #
    #     |---------|      length n: the only part
    #     |<--------|      n - 1: the first letter goes, then a step to the left
    #     |------->|       n - 2: the last letter goes, then steps to the right
    length = len(codes)
    counts = small[:AMINO_ACIDS]
    others = small[AMINO_ACIDS : 2 * AMINO_ACIDS]
    ordered = small[2 * AMINO_ACIDS : 3 * AMINO_ACIDS]
    counts[:] = 0
    counted = 0
    classes[: length + 1] = 0
    for k in range(length):
        if codes[k] < AMINO_ACIDS:
            counts[codes[k]] += 1
            counted += 1
    total = 0.0
    for letter in range(AMINO_ACIDS):
        count = counts[letter]
        classes[count] += 1
        # The number k of a class adds ln(k), so that ln(k!) are added in the end.
        total += _log_factorial(count, factorials)
        total += factorials[classes[count]] - factorials[classes[count] - 1]
    best = exact = 1.0
    is_exact = True
    left = 0
    right = length
    start = 0
    step = -1
    for size in range(length, max(1, length - MAX_TRIM), -1):
        step = -step
        fixed = _log_factorial(AMINO_ACIDS, factorials) + _log_factorial(size, factorials)
        fixed -= size * _LOG_LETTERS
        moves = length - size
        while True:
            value = fixed - total
            if value < best - _NEAR and counted > 0:
                best = value
                is_exact = False
                left = start
                right = start + size
            elif value < best + _NEAR or counted == 0:
                if not is_exact:
                    others[:] = 0
                    for k in range(left, right):
                        if codes[k] < AMINO_ACIDS:
                            others[codes[k]] += 1
                    _sort_counts(others, ordered)
                    exact = _log_probability(ordered, right - left, factorials)
                    is_exact = True
                _sort_counts(counts, ordered)
                probability = _log_probability(ordered, size, factorials)
                same_size = right - left == size
                if probability < exact or (probability == exact and same_size and start < left):
                    best = exact = probability
                    left = start
                    right = start + size
            if moves == 0:
                break
            moves -= 1
            gone = codes[start] if step > 0 else codes[start + size - 1]
            start += step
            code = codes[start + size - 1] if step > 0 else codes[start]
            if gone != code:
                total += _count_letter(gone, -1, counts, classes, factorials)
                total += _count_letter(code, 1, counts, classes, factorials)
                counted += (1 if code < AMINO_ACIDS else 0) - (1 if gone < AMINO_ACIDS else 0)
        if step > 0:  # at the right end: the first letter goes
            gone = codes[start]
            start += 1
        else:
            gone = codes[start + size - 1]
        total += _count_letter(gone, -1, counts, classes, factorials)
        counted -= 1 if gone < AMINO_ACIDS else 0
    return left, right


@native
def _count_letter(
    letter: int,
    change: int,
    counts: NDArray[np.int64],
    classes: NDArray[np.int64],
    factorials: NDArray[np.float64],
) -> float:
    """Count a letter that comes (1) or goes (-1); return what the sum gains."""
    if letter >= AMINO_ACIDS:
        return 0.0
    count = counts[letter]
    counts[letter] = count + change
    return _change(count, count + change, classes, factorials)


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
