"""Tasks: one query against one range of the targets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swdual.database.database import Database

SMALLEST_RANGE = 1 << 18
"""Residues of a range below which lanes would idle."""

TASKS_PER_THREAD = 8
"""Tasks that each thread should have at least, so that they end together."""


class Task(NamedTuple):
    """Query number `query` against targets `first` to `last - 1` of a block."""

    query: int
    block: int
    first: int
    last: int


def make_tasks(lengths: list[int], database: Database, threads: int) -> list[Task]:
    """Return tasks that cover all queries and all targets once.

    The queries of one range follow each other, the longest first, because a worker keeps a range
    ready for the next query.

    Parameters
    ----------
    lengths
        Residues of each query.
    database
        The targets.
    threads
        Workers that will share the tasks.
    """
    wanted = -(-TASKS_PER_THREAD * threads // max(1, len(lengths))) if threads > 1 else 1
    longest_first = sorted(range(len(lengths)), key=lambda query: -lengths[query])
    tasks = []
    for number, info in enumerate(database.manifest.blocks):
        share = -(-wanted * info.residues // database.residues)
        parts = max(1, min(share, info.residues // SMALLEST_RANGE))
        ends = np.cumsum(database.lengths(number), dtype=np.int64)
        borders = np.searchsorted(ends, ends[-1] * np.arange(1, parts) / parts).tolist()
        for first, last in zip([0, *borders], [*borders, info.sequences], strict=True):
            if first < last:
                tasks += [Task(query, number, first, last) for query in longest_first]
    return tasks
