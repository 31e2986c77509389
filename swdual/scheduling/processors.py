"""Sets of processors, as ranges: (ranges, 2) arrays of [first, stop), ascending, not adjacent.

A job holds few ranges even if it holds many processors: all functions here take time proportional
to the number of ranges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.runtime.jit import kernel

Ranges = NDArray[np.int64]


def whole(processors: int) -> Ranges:
    """Return the set of all processors of a platform.

    >>> text(whole(4))
    '0-3'
    """
    return np.array([[0, processors]], np.int64)


@kernel
def count(ranges: Ranges) -> int:
    """Return how many processors a set has.

    >>> count(parse("0-3 7"))
    5
    """
    total = 0
    for k in range(len(ranges)):
        total += ranges[k, 1] - ranges[k, 0]
    return total


def lowest(ranges: Ranges, number: int) -> Ranges:
    """Return the lowest processors of a set that has as many.

    Parameters
    ----------
    ranges
        (ranges, 2) the set.
    number
        How many; no more than it has.

    >>> text(lowest(parse("0-3 7 9"), 5))
    '0-3 7'
    """
    return lowest_within(ranges, 0, ranges[-1, 1], number)


@kernel
def lowest_within(ranges: Ranges, first: int, stop: int, number: int) -> Ranges:
    """Return the lowest processors of a set that are in [first, stop), or none if too few are.

    Parameters
    ----------
    ranges
        (ranges, 2) the set.
    first, stop
        Bounds of the processors.
    number
        How many.

    >>> text(lowest_within(parse("0-3 7 9"), 2, 9, 3))
    '2-3 7'
    >>> text(lowest_within(parse("0-3 7 9"), 2, 9, 4))
    ''
    """
    chosen = np.empty((len(ranges), 2), np.int64)
    size = 0
    left = number
    for k in range(len(ranges)):
        begin, end = max(ranges[k, 0], first), min(ranges[k, 1], stop)
        if begin < end:
            end = min(end, begin + left)
            chosen[size, 0] = begin
            chosen[size, 1] = end
            size += 1
            left -= end - begin
            if left == 0:
                return chosen[:size].copy()
    return chosen[:0].copy()


@kernel
def union(one: Ranges, other: Ranges) -> Ranges:
    """Return the processors of two sets that have none in common.

    Parameters
    ----------
    one, other
        (ranges, 2) the sets.

    >>> text(union(parse("0-3 7"), parse("4 9")))
    '0-4 7 9'
    """
    merged = np.empty((len(one) + len(other), 2), np.int64)
    size = i = j = 0
    while i < len(one) or j < len(other):
        if j == len(other) or (i < len(one) and one[i, 0] < other[j, 0]):
            first, stop = one[i, 0], one[i, 1]
            i += 1
        else:
            first, stop = other[j, 0], other[j, 1]
            j += 1
        if size and merged[size - 1, 1] == first:
            merged[size - 1, 1] = stop
        else:
            merged[size, 0] = first
            merged[size, 1] = stop
            size += 1
    return merged[:size].copy()


@kernel
def intersection(one: Ranges, other: Ranges) -> Ranges:
    """Return the processors that two sets have in common.

    Parameters
    ----------
    one, other
        (ranges, 2) the sets.

    >>> text(intersection(parse("0-3 7 9"), parse("2-7")))
    '2-3 7'
    """
    common = np.empty((len(one) + len(other), 2), np.int64)
    size = i = j = 0
    while i < len(one) and j < len(other):
        begin, end = max(one[i, 0], other[j, 0]), min(one[i, 1], other[j, 1])
        if begin < end:
            common[size, 0] = begin
            common[size, 1] = end
            size += 1
        if one[i, 1] < other[j, 1]:
            i += 1
        else:
            j += 1
    return common[:size].copy()


def minus(ranges: Ranges, part: Ranges) -> Ranges | None:
    """Return a set without some of its processors, or None if it does not have them all.

    Parameters
    ----------
    ranges, part
        (ranges, 2) the sets.

    >>> text(minus(parse("0-3 7"), parse("1 7")))
    '0 2-3'
    >>> minus(parse("0-3 7"), parse("6-7")) is None
    True
    """
    left, whole_part = _minus(ranges, part)
    return left if whole_part else None


@kernel
def within(ranges: Ranges, first: int, stop: int) -> Ranges:
    """Return the processors of a set that are in [first, stop).

    Parameters
    ----------
    ranges
        (ranges, 2) the set.
    first, stop
        Bounds of the processors.

    >>> text(within(parse("0-3 7 9"), 2, 9))
    '2-3 7'
    """
    inside = np.empty_like(ranges)
    size = 0
    for k in range(len(ranges)):
        begin, end = max(ranges[k, 0], first), min(ranges[k, 1], stop)
        if begin < end:
            inside[size, 0] = begin
            inside[size, 1] = end
            size += 1
    return inside[:size].copy()


def text(ranges: Ranges) -> str:
    """Return a set as Batsim writes it: ``0-3 7``, both ends included."""
    return " ".join(
        str(first) if stop == first + 1 else f"{first}-{stop - 1}"
        for first, stop in ranges.tolist()
    )


def parse(string: str) -> Ranges:
    """Return the set that a text like ``0-3 7`` means.

    Raises
    ------
    InputError
        If the text is not a set of ranges, or these are not ascending.
    """
    ends: list[tuple[int, int]] = []
    for part in string.split():
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last.isdecimal() or "-" not in part)):
            raise InputError(f"{part!r} is no range of processors; write 0-3 7 or the like")
        stop = int(last or first) + 1
        if stop <= int(first) or (ends and int(first) < ends[-1][1]):
            raise InputError(f"the ranges {string!r} are not ascending; write 0-3 7 or the like")
        if ends and ends[-1][1] == int(first):
            ends[-1] = (ends[-1][0], stop)
        else:
            ends.append((int(first), stop))
    return np.array(ends, np.int64).reshape(-1, 2)


@kernel
def _minus(ranges: Ranges, part: Ranges) -> tuple[Ranges, bool]:
    left = np.empty((len(ranges) + len(part), 2), np.int64)
    size = j = 0
    for i in range(len(ranges)):
        first, stop = ranges[i, 0], ranges[i, 1]
        while j < len(part) and part[j, 0] < stop:
            if part[j, 0] < first or part[j, 1] > stop:
                return left[:0].copy(), False
            if part[j, 0] > first:
                left[size, 0] = first
                left[size, 1] = part[j, 0]
                size += 1
            first = part[j, 1]
            j += 1
        if first < stop:
            left[size, 0] = first
            left[size, 1] = stop
            size += 1
    return left[:size].copy(), j == len(part)
