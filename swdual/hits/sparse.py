"""The hits of many queries as a sparse matrix: coordinates and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.hits.query_result import QueryResult
from swdual.sequences.sequence import first_word


class SparseScores(NamedTuple):
    """A number for each hit, at the row of its query and the column of its target.

    Parameters
    ----------
    rows, columns, values
        (entries,) the number of the query, that of the target in the database's input, both from 0,
        and the number of the hit; by row, then by column.
    queries, targets
        The identifiers of all rows and of all columns; empty for targets that were not stored.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[Any]
    queries: list[str]
    targets: list[str]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of queries, and the number of targets."""
        return len(self.queries), len(self.targets)


def collect_scores(
    results: Iterable[QueryResult], values: Callable[[QueryResult], NDArray[Any]]
) -> SparseScores:
    """Return the hits of all queries as a sparse matrix.

    Of all pairs of a database, both entries of a pair have its number; the diagonal is empty.

    Parameters
    ----------
    results
        The hits of each query, in order; consumed one by one.
    values
        Returns the number of each hit of a result.
    """
    rows: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    columns: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    numbers: list[NDArray[Any]] = []
    queries: list[str] = []
    targets: list[str] = []
    symmetric = False
    for result in results:
        if not queries:
            symmetric = result.params.all_pairs
            targets = [first_word(title) for title, _ in result.targets.sizes()]
            if len(targets) < len(result.targets):  # stored results: only of targets that were hit
                targets = [""] * len(result.targets)
        for piece in result.pieces():
            rows.append(np.full(len(piece), len(queries)))
            columns.append(piece.ordinals)
            numbers.append(values(piece))
            for ordinal, name in zip(piece.ordinals.tolist(), piece.target_ids, strict=True):
                targets[ordinal] = name
        queries.append(result.query.id)
    row, column = np.concatenate(rows), np.concatenate(columns)
    value = np.concatenate(numbers) if numbers else np.empty(0, np.int64)
    # A search of all pairs scores each pair once.
    if symmetric:
        row, column = np.concatenate((row, column)), np.concatenate((column, row))
        value = np.concatenate((value, value))
    order = np.lexsort((column, row))
    return SparseScores(row[order], column[order], value[order], queries, targets)
