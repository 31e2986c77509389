"""Serialization: the result of a task as bytes, for the journal and for the client of a cluster."""

from __future__ import annotations

import struct

import numpy as np

from swdual.database.target_range import Range
from swdual.master.candidates import Candidates, Scored

TASK = b"T"

HEAD = struct.Struct("<cIIIIII")
"""Kind, query, block, first and last target, hits, and filled cells of the histogram, plus 1."""

HIT = np.dtype([("score", "<i4"), ("ordinal", "<u8"), ("length", "<u4"), ("frame", "i1")])
CELL = np.dtype([("cell", "<u4"), ("count", "<u8")])


def serialize(query: int, target_range: Range, scored: Scored) -> bytes:
    """Return the record of a task: one query against one range.

    Parameters
    ----------
    query
        The query's number among all queries.
    target_range
        The targets.
    scored
        The result of the task.
    """
    counts = scored.histogram
    cells = None if counts is None else np.flatnonzero(counts)
    hits = np.empty(len(scored.candidates.scores), HIT)
    for name, column in zip(HIT.names or (), scored.candidates, strict=True):
        hits[name] = column
    filled = np.empty(0 if cells is None else len(cells), CELL)
    if counts is not None:
        filled["cell"], filled["count"] = cells, counts.ravel()[cells]
    # 0 says that there is no histogram; one more than its filled cells, that there is.
    head = (query, *target_range[:3], len(hits), 0 if cells is None else len(cells) + 1)
    return HEAD.pack(TASK, *head) + hits.tobytes() + filled.tobytes()


def read_key(record: bytes) -> tuple[int, tuple[int, int, int]]:
    """Return the query of a record, and its block, first and last target.

    Raises
    ------
    struct.error
        If the record is too short.
    """
    _, query, block, first, last, *_ = HEAD.unpack_from(record)
    return query, (block, first, last)


def deserialize(record: bytes, targets: int, *, fitted: bool) -> Scored:
    """Return the result of a task from its record.

    Parameters
    ----------
    record
        The bytes.
    targets
        How many targets the database has.
    fitted
        Whether statistics are fitted, and a histogram must be there.

    Raises
    ------
    ValueError, IndexError, struct.error
        If such a search cannot have written it.
    """
    *_, hits, cells = HEAD.unpack_from(record)
    rows = np.frombuffer(record, HIT, hits, HEAD.size)
    candidates = Candidates(*(rows[name].astype(np.int64) for name in HIT.names or ()))
    # The journal's checksums find damage; this finds records of another database or program.
    known = (rows["ordinal"] < targets) & (rows["length"] > 0)
    if not (known & (rows["score"] >= 0) & (rows["frame"] != 0) & (abs(rows["frame"]) <= 3)).all():
        raise ValueError("hits that cannot be")
    if (cells > 0) != fitted:
        raise ValueError("a histogram too few or too many")
    if cells == 0:
        return Scored(candidates, None)
    from swdual.statistics.fit import LENGTH_BINS, SCORE_BINS

    filled = np.frombuffer(record, CELL, cells - 1, HEAD.size + rows.nbytes)
    counts = np.zeros(LENGTH_BINS * SCORE_BINS, np.int64)
    counts[filled["cell"]] = filled["count"]
    return Scored(candidates, counts.reshape(LENGTH_BINS, SCORE_BINS))
