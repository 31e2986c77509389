"""Rows of a multiple alignment in a3m, from the alignments of hits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracebacks import QUERY_ONLY, TARGET_ONLY, Tracebacks
from swdual.sequences.alphabet import PROTEIN, raise_case

GAP = ord("-")

_LETTERS = np.frombuffer(PROTEIN.decoding.replace(b"*", b"X"), np.uint8)
"""The letter of each code. Programs that read a3m know no stops."""

_LOWER = ord("a") - ord("A")


def make_rows(length: int, traced: Tracebacks, targets: Sequence[bytes]) -> Iterator[bytes]:
    """Yield each alignment of a query as a row.

    Upper case is aligned with the query, lower case are insertions, ``-`` stands for gaps and where
    the alignment does not reach::

        query    MKV--LAW
        target    RVGGL-
        row      -RVggL--

    Parameters
    ----------
    length
        Residues of the query without the stops at its end, which get no column.
    traced
        The alignments.
    targets
        Residue codes of the target of each.
    """
    first, last, start, _ = traced.numbers[:4]
    for k, target in enumerate(targets):
        runs = traced.runs_of(k)
        operations = np.repeat(runs & 15, runs >> 4)
        columns = first[k] + np.cumsum(operations != TARGET_ONLY)
        if columns[-1] > length:
            operations = operations[: np.searchsorted(columns, length) + (first[k] < length)]
        row = np.full(len(operations), GAP, np.uint8)
        has_letter = operations != QUERY_ONLY
        count = int(np.count_nonzero(has_letter))
        codes = raise_case(target[start[k] : start[k] + count])
        row[has_letter] = _LETTERS[np.frombuffer(codes, np.uint8)]
        row[operations == TARGET_ONLY] += _LOWER
        before, behind = min(int(first[k]), length), max(length - int(last[k]), 0)
        yield b"-" * before + row.tobytes() + b"-" * behind


def match_columns(rows: Sequence[bytes]) -> NDArray[np.uint8]:
    """Return (rows, L) the letters of rows in the columns of the query, without insertions."""
    lower = bytes(range(ord("a"), ord("z") + 1))
    letters = b"".join(rows).translate(None, lower)
    return np.frombuffer(letters, np.uint8).reshape(len(rows), -1)
