"""Scores of a query with targets that have a matrix each: in 16 bits, then in 32 where needed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.backend import TOO_LARGE, Progress
from swdual.backends.simd import estimate_costs, find_sparse, score_pack
from swdual.errors import EngineError
from swdual.lanes.pack import count_columns, make_block, pack
from swdual.lanes.registers import register_bytes
from swdual.lanes.score_widths import ScoreWidth, own_score_widths


def rescore(
    query: NDArray[np.uint8],
    targets: Sequence[bytes],
    matrices: NDArray[np.int32],
    gap_open: int,
    gap_extend: int,
    progress: Progress = lambda cells: None,
    lanes: int | None = None,
) -> NDArray[np.int64]:
    """Return the Smith-Waterman scores of a query with some targets.

    Parameters
    ----------
    query, targets
        Residue codes; masked residues are X.
    matrices
        (targets, 32, 32) scores of query codes with target codes, at most 2**29 in size.
    gap_open, gap_extend
        A gap of k residues costs ``gap_open + k * gap_extend``, in the units of the scores.
    progress
        Called with 0 now and then; may raise to stop the work.
    lanes
        8-bit numbers in a vector, a power of two; by default one register's full.

    Returns
    -------
    (targets,) scores.

    Raises
    ------
    EngineError
        If a score is above 2**31 - 1.
    """
    lengths = np.array([len(codes) for codes in targets], np.int64)
    order = np.argsort(-lengths, kind="stable")
    block = make_block([targets[k] for k in order.tolist()])
    letters = query.astype(np.int64)
    lanes = register_bytes() if lanes is None else lanes
    widths = own_score_widths(query, block.residues, matrices, gap_open, gap_extend, lanes)
    scores = np.zeros(len(targets), np.int64)
    left = np.flatnonzero(lengths[order] > 0) if len(query) else np.empty(0, np.int64)
    for width in widths:
        if len(left) == 0:
            break
        alone = count_alone(lengths[order[left]], len(query), width)
        for part, one_by_one in ((left[:alone], True), (left[alone:], False)):
            if len(part) == 0:
                continue
            progress(0)
            packed = pack(block, part, width.lanes, long_targets=False)
            sparse = find_sparse(packed, width.bits, len(query)) | one_by_one
            numbers = order[part]
            scores[numbers] = score_pack(
                letters, packed, width, sparse, lambda _: progress(0), numbers
            )
        left = left[scores[order[left]] < 0]
    if len(left):
        raise EngineError(TOO_LARGE)
    return scores


def count_alone(lengths: NDArray[np.int64], rows: int, width: ScoreWidth) -> int:
    """Return how many of the longest targets to score one by one, as lanes idle beside them.

    Parameters
    ----------
    lengths
        (targets,) residues, descending.
    rows
        Residues of the query.
    width
        The numbers.
    """
    column, residue = estimate_costs(rows, width.lanes, width.bits)
    best, fewest = math.inf, 0
    alone = 0
    while alone <= len(lengths):
        together = float(count_columns(lengths[alone:], width.lanes, residue / column))
        cost = residue * float(lengths[:alone].sum()) + column * together
        if cost < best:
            best, fewest = cost, alone
        alone = max(1, 2 * alone)
    return fewest
