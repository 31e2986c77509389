"""Rows of one length: insertions get columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def expand_rows(rows: Sequence[bytes]) -> tuple[list[bytes], bytes]:
    """Return rows with columns for all insertions, and which columns are the query's (``x``).

    Insertions begin at the left of their columns::

        MKV-LAW        MKV..-LAW
        MKVggLLAW      MKVggLLAW
                       xxx..xxxx

    Parameters
    ----------
    rows
        In a3m. Where a row has less, it gets ``.`` in the result.
    """
    parts = [np.frombuffer(row, np.uint8) for row in rows]
    length = sum(byte < ord("a") for byte in rows[0])
    inserted = np.zeros(length + 1, np.int64)
    places: list[tuple[NDArray[np.bool_], NDArray[np.int64]]] = []
    for part in parts:
        is_lower = part >= ord("a")
        # The column of the query in front of which each letter is, or that it is in.
        columns: NDArray[np.int64] = np.cumsum(~is_lower) - ~is_lower
        places.append((is_lower, columns))
        np.maximum(inserted, np.bincount(columns[is_lower], minlength=length + 1), out=inserted)
    starts = np.arange(length + 1) + np.cumsum(inserted) - inserted
    width = int(starts[-1] + inserted[-1])
    expanded = []
    for part, (is_lower, columns) in zip(parts, places, strict=True):
        row = np.full(width, ord("."), np.uint8)
        matched = columns[~is_lower]
        row[starts[matched] + inserted[matched]] = part[~is_lower]
        before = columns[is_lower]
        first = np.searchsorted(before, before)
        row[starts[before] + np.arange(len(before)) - first] = part[is_lower]
        expanded.append(row.tobytes())
    mark = np.full(width, ord("."), np.uint8)
    mark[starts[:-1] + inserted[:-1]] = ord("x")
    return expanded, mark.tobytes()
