"""Ranges of targets: how a database is cut, and what a range costs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swdual.backend import TARGET_COST
from swdual.database.target_range import Range, TargetLengths
from swdual.lanes.pack import INTRA_SEQUENCE_COST, count_columns

MIN_RANGE_RESIDUES = 1 << 18
"""Min residues of a range: with fewer there is too little to do for each query."""

MANY = 64
"""Targets of a range per lane, from which on almost no lane idles."""

EDGE = 400
"""Columns of all lanes that a range costs in addition: at its end, and where scores overflow.

With 128 lanes, in 2, 4 and 5 ranges the same queries took 6, 12 and 13 % longer than in one of 1.5
million residues, and in 4 ranges 7 % longer than in 2 of 2.5 million (2-core EPYC, Zen 5; many of
their scores overflow). The lanes that idle by layout make up a third of that.
"""


MAX_KNOWN = 10_000
"""Number of ranges of a database beyond which what is kept of it is dropped."""

SMALL_EDGE = 8
"""A small range costs at most this fraction of its residues in addition: one in so many."""


class TaskId(NamedTuple):
    """The key of a scoring task: query number `query` against range number `range_number`."""

    query: int
    range_number: int


class _Known(NamedTuple):
    """What is kept of a database: how it was cut, and the costs of ranges.

    Each search cuts a database alike, and a server plans every query anew.
    """

    cuts: dict[tuple[int | Range | None, ...], list[Range]]
    columns: dict[tuple[Range, int, tuple[int, ...], bytes], NDArray[np.float64]]


_known: WeakKeyDictionary[TargetLengths, _Known] = WeakKeyDictionary()


def _find_known(database: TargetLengths) -> _Known:
    """Return what is kept of a database; nothing after `MAX_KNOWN` ranges."""
    known = _known.get(database)
    if known is None or max(len(known.columns), sum(map(len, known.cuts.values()))) > MAX_KNOWN:
        known = _known[database] = _Known({}, {})
    return known


def cut(
    database: TargetLengths,
    parts: int,
    *,
    shares: int = 1,
    width: int = 1,
    max_range_cost: int | None = None,
    within: Range | None = None,
) -> list[Range]:
    """Return ranges that cover all targets once, large ones first.

    While more than a part is left to each of those who share, half of what is left is cut into
    as many ranges as there are shares; so few ranges are small, and they come last (factoring:
    Hummel, Schonberg and Flynn, Comm. ACM 35 (1992) 90-101).

    Parameters
    ----------
    database
        The targets.
    parts
        How fine: the smallest ranges have one part in so many of the residues, but no fewer than
        `MIN_RANGE_RESIDUES`. A range lies in one block.
    shares
        How many workers share the ranges.
    width
        Targets that are computed side by side. So that none idles, a range holds a multiple of
        them, and enough others to fill up what is left beside its longest: the ranges of the
        longest targets are larger.
    max_range_cost
        What a range of several targets weighs at most: its residues, and `TARGET_COST` for each
        target. By default that does not matter.
    within
        The targets to cut, if not all.
    """
    left = database.residues if within is None else within.residues
    cuts = _find_known(database).cuts
    key = max(left // parts, MIN_RANGE_RESIDUES), shares, width, max_range_cost, within
    ranges = cuts.get(key)
    if ranges is None:
        ranges = cuts[key] = _cut(database, *key)
    return [*ranges]


def _cut(
    database: TargetLengths,
    smallest: int,
    shares: int,
    width: int,
    max_range_cost: int | None,
    within: Range | None,
) -> list[Range]:
    """Return ranges that cover all targets once, of `smallest` residues or more: see `cut`."""
    left = database.residues if within is None else within.residues
    ranges: list[Range] = []
    for number, info in enumerate(database.manifest.blocks):
        if within is not None and number != within.block:
            continue
        lengths = database.lengths(number)
        ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        first, end = (0, info.sequences) if within is None else (within.first, within.last)
        while first < end:
            # Factoring: each round cuts half of what is left into a range for each share, until
            # ranges are as small as `smallest`:
            #
            #     |   1/4   |   1/4   | 1/8 | 1/8 |1/16|1/16|...   2 shares
            if len(ranges) % shares == 0:
                size = max(left // (2 * shares), smallest)
            longest = int(lengths[first])
            wanted = int(ends[first]) + max(size, width * longest)
            targets = int(np.searchsorted(ends, wanted)) - first
            last = min(first + max(1, (targets + width // 2) // width) * width, end)
            # A small rest of the block joins: it would cost an edge (`EDGE`) of its own.
            if ends[end] - ends[last] < size // 2:
                last = end
            if max_range_cost is not None:
                last = min(last, _within(ends, first, max_range_cost))
            ranges.append(Range(number, first, last, int(ends[last] - ends[first]), longest))
            left -= ranges[-1].residues
            first = last
        database.release()
    return ranges


def _within(ends: NDArray[np.int64], first: int, max_range_cost: int) -> int:
    """Return the largest end of a range from target `first` that costs at most `max_range_cost`."""

    def cost(last: int) -> int:
        return int(ends[last] - ends[first]) + TARGET_COST * (last - first)

    return max(first + 1, bisect_right(range(len(ends)), max_range_cost, lo=first, key=cost) - 1)


def restore_ranges(database: TargetLengths, bounds: Sequence[Sequence[int]]) -> list[Range]:
    """Return the ranges that a journal names.

    Parameters
    ----------
    database
        The targets.
    bounds
        Block, first and last of each range, in the order of the database.

    Raises
    ------
    ValueError
        If they do not cover all targets exactly once.
    """
    ranges: list[Range] = []
    left = iter(bounds)
    for number, info in enumerate(database.manifest.blocks):
        lengths = database.lengths(number)
        end = 0
        while end < info.sequences:
            block, first, last = next(left, (-1, -1, -1))
            if (block, first) != (number, end) or not first < last <= info.sequences:
                raise ValueError("ranges that do not cover the targets")
            residues = int(lengths[first:last].sum(dtype=np.int64))
            ranges.append(Range(number, first, last, residues, int(lengths[first])))
            end = last
        database.release()
    if next(left, None) is not None:
        raise ValueError("more ranges than targets")
    return ranges


def compute_columns(
    database: TargetLengths,
    target_range: Range,
    width: int,
    sparse: ArrayLike = INTRA_SEQUENCE_COST,
) -> NDArray[np.float64]:
    """Return the cost of a range in residues, including those of idle lanes.

    The result has the shape of `sparse`, and is read-only.

    Parameters
    ----------
    database
        The targets.
    target_range
        The range.
    width
        Targets that are computed side by side.
    sparse
        Max cost of a residue where there are too few targets, relative to one in full lanes.
    """
    max_cost = np.asarray(sparse, np.float64)
    known = _find_known(database).columns
    key = target_range, width, max_cost.shape, max_cost.tobytes()
    columns = known.get(key)
    if columns is None:
        columns = known[key] = _count_all_columns(database, target_range, width, max_cost)
        columns.setflags(write=False)
    return columns


def _count_all_columns(
    database: TargetLengths, target_range: Range, width: int, max_cost: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the cost of a range: see `compute_columns`."""
    if width == 1:
        return np.full(max_cost.shape, float(target_range.residues))
    # With many targets a lane, lanes are full, unless the longest target takes longer alone.
    if target_range.last - target_range.first > MANY * width:
        columns = np.minimum(width * target_range.longest, max_cost * target_range.residues)
        columns = np.maximum(columns, target_range.residues)
    else:
        lengths = database.lengths(target_range.block)[target_range.first : target_range.last]
        columns = count_columns(lengths.astype(np.int64), width, max_cost)
    return np.asarray(columns + min(width * EDGE, target_range.residues / SMALL_EDGE))


def list_task_ids(lengths: Sequence[int], ranges: Sequence[Range]) -> list[TaskId]:
    """Return the keys of all tasks: every query against every range.

    The queries of one range follow each other, because a worker keeps a range ready for the next
    query; the longest come first, because small tasks at the end even out what was uneven.

    Parameters
    ----------
    lengths
        Residues of each query.
    ranges
        The ranges; only their number matters here.
    """
    longest_first = sorted(range(len(lengths)), key=lambda query: -lengths[query])
    return [TaskId(query, number) for number in range(len(ranges)) for query in longest_first]
