"""Which targets are so like the query that BLAST does not mask them.

Self hits and very close relatives keep their low-complexity regions: there they are no chance
similarity. The test counts identities by a greedy walk over the aligned parts, as NCBI's BLAST
does (src/algo/blast/core/blast_kappa.c). The walk knows where the alignment under the plain matrix
begins and ends, but not its path.

BLAST's alignments at this stage end where the score falls far below the best so far, as at a long
masked region of the query. So the best part of the alignment without such a fall is tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracebacks import PAIR, QUERY_ONLY
from swdual.backends.simd import score_targets
from swdual.composition.sequences import prepare_query
from swdual.lanes.registers import register_bytes, register_count
from swdual.lanes.score_widths import number_rows, score_widths
from swdual.runtime.native import native
from swdual.sequences.matrices import SubstitutionMatrix
from swdual.sequences.scoring import ScoringScheme

MIN_SPAN = 50
"""An alignment of a longer query covers at least this many letters of the target, less one."""

MIN_BITS = 1.74
"""Bits of score for each letter of the shorter part."""

MIN_IDENTITY = 0.96
"""More than this share of the shorter part is identical, in BLAST 2.12.0."""

MAX_DROP_BITS = 15
"""An alignment ends where its score is more bits than this below the best so far: blastp's
`-xdrop_gap`."""

MAX_BREAK = 7
"""Letters that a walk may pass over at a break."""

WORD = 8
"""Letters of the words from which a walk starts between the ends."""

SHIFT = 0.7
"""`find_dense` lowers scores by at most this share of what a nearly identical letter scores."""


def find_min_score(
    query: bytes,
    scheme: ScoringScheme,
    lambda_: float,
    profile: NDArray[np.int32] | None = None,
) -> int:
    """Return a score below which no target is nearly identical to a query.

    Parameters
    ----------
    query
        Residue codes.
    scheme
        The plain matrix and the gap penalties.
    lambda_
        Nats in one unit of the score, of alignments with gaps.
    profile
        (residues, 32) scores of each position of the query, instead of the matrix.
    """
    # Let q and t be the residues of both that are aligned; t is at least `span`. The score is at
    # least `least` for each of the fewer ones: at least least * span, unless q < span. Then it is
    # at most the best sum of q consecutive letters of the query less the cost of a gap of t - q
    # residues, and this bound reaches least * q only from some q on.
    least = MIN_BITS * math.log(2) / lambda_
    span = max(1, min(len(query), MIN_SPAN) - 1)
    table = scheme.matrix.scores if profile is None else profile
    best = table.max(axis=1)[number_rows(query, profile)].astype(np.int64)
    sums = np.concatenate(([0], np.cumsum(best)))
    for count in range(1, span):
        bound = int((sums[count:] - sums[:-count]).max())
        if bound - scheme.gap_open - scheme.gap_extend * (span - count) >= least * count:
            return math.ceil(least * count)
    return math.ceil(least * span)


def find_dense(
    query: bytes,
    targets: Sequence[bytes],
    min_score: int,
    scheme: ScoringScheme,
    lambda_: float,
    profile: NDArray[np.int32] | None = None,
) -> NDArray[np.bool_]:
    """Return which targets score enough in few letters to be nearly identical; (targets,) bool.

    One pass over the targets tells it, which is far less work than their alignments. All targets
    that are nearly identical are among them.

    Parameters
    ----------
    query, targets
        Residue codes, not masked.
    min_score
        The result of `find_min_score`.
    scheme
        The plain matrix and the gap penalties.
    lambda_
        Nats in one unit of the score, of alignments with gaps.
    profile
        (residues, 32) scores of each position of the query, instead of the matrix.
    """
    # A part of an alignment with score s and p pairs scores s - c * p if the scores of all pairs
    # are less by c. If it is nearly identical, p is at most s / least, and s at least `min_score`:
    # so some alignment scores at least min_score * (1 - c / least). Few others do: only pairs of
    # equal letters still have positive scores.
    least = MIN_BITS * math.log(2) / lambda_
    shift = int(SHIFT * least)
    lowered = None if profile is None else profile - np.int32(shift)
    if profile is None:
        matrix = scheme.matrix
        matrix = SubstitutionMatrix("lowered", matrix.alphabet, matrix.scores - np.int16(shift))
        scheme = ScoringScheme(matrix, scheme.gap_open, scheme.gap_extend)
    narrowest = score_widths(scheme, register_bytes() * register_count() // 16, lowered)[:1]
    found = score_targets(number_rows(query, profile), targets, narrowest)
    dense: NDArray[np.bool_] = (found < 0) | (found >= int(min_score * (1 - shift / least)))
    return dense


def find_max_drop(lambda_: float) -> int:
    """Return by how much the score of an alignment may be below the best so far.

    Parameters
    ----------
    lambda_
        Nats in one unit of the score, of alignments with gaps.

    >>> find_max_drop(0.267)
    38
    """
    return int(MAX_DROP_BITS * math.log(2) / lambda_)


def is_near_identical(
    query: bytes, target: bytes, numbers: NDArray[np.int64], score: int, lambda_: float
) -> bool:
    """Return whether a target is nearly identical to the query.

    Parameters
    ----------
    query, target
        Residue codes; masked letters of the query are X, the target is not masked.
    numbers
        The bounds of their alignment under the plain matrix, or of the best part of it: the first
        four of `swdual.alignment.tracebacks.COLUMNS`; more may follow.
    score
        The score between these bounds.
    lambda_
        Nats in one unit of the score, of alignments with gaps.
    """
    query_start, query_end, target_start, target_end = numbers[:4].tolist()
    shorter = min(query_end - query_start, target_end - target_start)
    if shorter == 0 or target_end - target_start + 1 < min(len(query), MIN_SPAN):
        return False
    if score / shorter < MIN_BITS * math.log(2) / lambda_:
        return False
    identities = count_identities(
        prepare_query(query)[query_start:query_end],
        np.frombuffer(target, np.uint8)[target_start:target_end],
    )
    return bool(identities / shorter > MIN_IDENTITY)


@native
def find_best_part(
    rows: NDArray[np.int64],
    target: NDArray[np.uint8],
    numbers: NDArray[np.int64],
    operations: NDArray[np.uint32],
    table: NDArray[np.int64],
    gap_open: int,
    gap_extend: int,
    max_drop: int,
    out: NDArray[np.int64],
) -> int:
    """Return the best part of an alignment in which the score never falls far.

    Parameters
    ----------
    rows, target
        Rows of the table of the query's residues (see `number_rows`), and residue codes.
    numbers, operations
        The alignment: see `Tracebacks`.
    table, gap_open, gap_extend
        Scores with each code, and gap penalties.
    max_drop
        See `find_max_drop`.
    out
        (4,) receives the bounds of the part: see `COLUMNS`.

    Returns
    -------
    The score of the part; of equal ones the first counts.
    """
    # `score` is that of the columns since the part began. A part begins anew where that is at most
    # 0, and behind a fall; it ends where it is best.
    row, column = int(numbers[0]), int(numbers[2])
    first_row, first_column = row, column
    out[0], out[1], out[2], out[3] = row, row, column, column
    part = score = best = 0
    for run in operations:
        operation, count = run & 15, int(run >> 4)
        for _ in range(count if operation == PAIR else 1):
            if operation == PAIR:
                score += table[rows[row], target[column]]
                row += 1
                column += 1
            else:
                score -= gap_open + count * gap_extend
                if operation == QUERY_ONLY:
                    row += count
                else:
                    column += count
            if score > best:
                best = score
                if best > part:
                    part = best
                    out[0], out[1], out[2], out[3] = first_row, row, first_column, column
            elif score <= 0 or score < best - max_drop:
                score = best = 0
                first_row, first_column = row, column
    return part


@native
def extend_walk(
    query: NDArray[np.uint8],
    query_start: int,
    query_length: int,
    target: NDArray[np.uint8],
    target_start: int,
    target_length: int,
    step: int,
) -> tuple[int, int, int]:
    """Walk along two sequences for as long as breaks can be bridged.

    A break is bridged by the smallest n such that two letters match behind n letters of both, else
    of the query, else of the target.

    Parameters
    ----------
    query, query_start, query_length
        Residues, the first of them, and how many there are.
    target, target_start, target_length
        Likewise.
    step
        1 forwards, -1 backwards.

    Returns
    -------
    Identities, and the letters of the query and of the target that the walk took.
    """
    identities = i = j = 0
    while True:
        while i < query_length and j < target_length:
            if query[query_start + step * i] != target[target_start + step * j]:
                break
            identities += 1
            i += 1
            j += 1
        bridged = False
        for n in range(1, MAX_BREAK + 1):
            if i + n + 1 >= query_length or j + n + 1 >= target_length:
                break
            for kind in range(3):
                a = query_start + step * (i if kind == 2 else i + n)
                b = target_start + step * (j if kind == 1 else j + n)
                if query[a] == target[b] and query[a + step] == target[b + step]:
                    i += 2 if kind == 2 else n + 2
                    j += 2 if kind == 1 else n + 2
                    bridged = True
                    break
            if bridged:
                break
        if not bridged:
            return identities, i, j
        identities += 2


@native
def count_identities(query: NDArray[np.uint8], target: NDArray[np.uint8]) -> int:
    """Return the identities that walks find: from the left, the right, and words in between.

    Parameters
    ----------
    query, target
        The aligned parts.
    """
    # A walk backwards does not take the first letter of what is left: that is NCBI's rule. In
    # between, the words that begin with the last possible letter are not looked for, either.
    rows, columns = len(query), len(target)
    identities, i, j = extend_walk(query, 0, rows, target, 0, columns, 1)
    if i >= rows or j >= columns:
        return identities
    found, k, m = extend_walk(
        query, rows - 1, rows - i - 1, target, columns - 1, columns - j - 1, -1
    )
    identities += found
    rows -= k
    columns -= m
    start = j
    while start < columns - WORD:
        word = i
        while word < rows - WORD:
            same = 0
            while same < WORD and query[word + same] == target[start + same]:
                same += 1
            if same == WORD:
                break
            word += 1
        if word >= rows - WORD:
            start += 1
            continue
        if word > i and start > j:
            found, _, _ = extend_walk(
                query, word - 1, word - i - 1, target, start - 1, start - j - 1, -1
            )
            identities += found
        i, j = word + WORD, start + WORD
        found, k, m = extend_walk(query, i, rows - i, target, j, columns - j, 1)
        identities += WORD + found
        i += k
        j += m
        start = j
    return identities
