"""Groups queries, so that a group against a range is a share of suitable size."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.database.target_range import Range

TAPER = 0.8
"""Relative size of the largest group above the mean, and of the smallest below it."""

SMALL = 4
"""Upper bound on a small range's shares, relative to its share of the residues."""


class Share(NamedTuple):
    """The queries of group number `group` against range number `range_number`."""

    group: int
    range_number: int


def find_pending(
    compared: NDArray[np.int64], done: Collection[tuple[int, int]] = ()
) -> NDArray[np.bool_]:
    """Return (ranges, queries) whether a pair is still to be compared.

    Parameters
    ----------
    compared
        (queries, ranges) residues that each query is compared with in each range.
    done
        The pairs that need not be compared: number of the query, number of the range.
    """
    left = compared.T > 0
    if done:
        query, range_number = np.array([*done], np.int64).T
        left[range_number, query] = False
    return left


def group_queries(
    seconds: NDArray[np.float64],
    order: NDArray[np.int64],
    ranges: Sequence[Range],
    left: NDArray[np.bool_],
    wanted: float,
) -> tuple[list[NDArray[np.int64]], list[Share]]:
    """Return groups of queries, and the shares.

    Parameters
    ----------
    seconds
        (queries,) seconds of each; only their ratios matter.
    order
        The numbers of the queries, the longest first.
    ranges
        The targets.
    left
        (ranges, queries) whether that is still to be compared.
    wanted
        About how many shares there should be.
    """
    busy = [range_number for range_number, rest in enumerate(left) if rest.any()]
    residues = sum(ranges[range_number].residues for range_number in busy)
    most = math.ceil(wanted / max(1, len(busy)))
    split = cache(partial(_split_queries, order, seconds))
    groups: list[NDArray[np.int64]] = []
    numbers: dict[bytes, int] = {}
    shares = []
    for range_number in busy:
        fair = wanted * ranges[range_number].residues / residues
        for group in split(min(most, 1 << math.ceil(math.log2(max(1.0, SMALL * fair))))):
            some = group[left[range_number][group]]
            if not len(some):
                continue
            number = numbers.setdefault(some.tobytes(), len(groups))
            if number == len(groups):
                groups.append(some)
            shares.append(Share(number, range_number))
    return groups, shares


def _split_queries(
    queries: NDArray[np.int64], seconds: NDArray[np.float64], count: int
) -> list[NDArray[np.int64]]:
    """Return the queries in at most so many groups, the large ones first.

    Their sizes fall evenly from the first to the last (trapezoid self-scheduling: Tzen and Ni,
    IEEE Trans. Parallel and Distributed Systems 4 (1993) 87-98). A group has queries that follow
    each other, and there are large and small groups of long queries as well as of short ones: one
    kind of nodes may get nothing else.
    """
    if count >= len(queries):
        return [queries[k : k + 1] for k in range(len(queries))]
    sizes = np.linspace(1 + TAPER, 1 - TAPER, count)
    mixed = np.empty(count)
    mixed[::2], mixed[1::2] = sizes[: -(-count // 2)], sizes[::-1][: count // 2]
    before = np.cumsum(seconds[queries])
    wanted = np.cumsum(mixed)[:-1] / count * before[-1]
    ends = np.unique(np.searchsorted(before, wanted) + 1)
    groups = [group for group in np.split(queries, ends) if len(group)]
    return sorted(groups, key=lambda group: -seconds[group].sum())
