"""Which targets are so like the query that BLAST does not mask them.

Self hits and very close relatives keep their low-complexity regions: there they are no chance
similarity. The test counts identities by a greedy walk over the aligned parts, as NCBI's BLAST
does (src/algo/blast/core/blast_kappa.c). The walk knows where the alignment under the plain matrix
begins and ends, but not its path.

BLAST's alignments at this stage are not the optimal ones. They are extended from seeds in both
directions, and what scores far below the best so far is given up: a long gap or a long masked
region of the query ends them, or makes them take another path. The best of them is tested, so such
extensions are computed here, from seeds in all similar segments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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

MIN_IDENTITY = 0.95
"""More than this share of the shorter part is identical, in BLAST 2.17.0; 0.96 in BLAST 2.12.0."""

MAX_DROP_BITS = 15
"""What is more bits than this below the best so far is given up: blastp's `-xdrop_gap`."""

MAX_SEGMENT_DROP_BITS = 7
"""The same for a segment, which has no gaps: blastp's `-xdrop_ungap`."""

MIN_SEGMENT_BITS = 16
"""The score of a segment that is extended: 41 points of BLOSUM62, as of blastp's gap trigger, which
is 22 bits of ungapped statistics."""

SEGMENT_WORD = 4
"""A segment has so many equal letters side by side."""

MAX_SEGMENTS = 10_000
"""More segments of a pair than these, which only long repeats have, are not extended."""

SEED_WINDOW = 11
"""Pairs of letters of a segment that score best together; the seed is the middle one."""

_NONE = -(1 << 40)
"""The score of a cell that was given up."""

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
    cutoffs = np.full(len(targets), int(min_score * (1 - shift / least)))
    found = score_targets(number_rows(query, profile), targets, narrowest, cutoffs=cutoffs)
    dense: NDArray[np.bool_] = (found < 0) | (found >= cutoffs)
    return dense


def find_max_drop(lambda_: float) -> int:
    """Return by how much the score of a cell may be below the best so far.

    Parameters
    ----------
    lambda_
        Nats in one unit of the score, of alignments with gaps.

    >>> find_max_drop(0.267)
    38
    """
    return int(MAX_DROP_BITS * math.log(2) / lambda_)


class Extension(NamedTuple):
    """An alignment that was extended from a seed: its score, and its bounds as in `COLUMNS`."""

    score: int
    query_start: int
    query_end: int
    target_start: int
    target_end: int

    def has(self, first: int, last: int, diagonal: int) -> bool:
        """Return whether a segment lies within the bounds: see `find_segments`."""
        in_query = self.query_start <= first and last <= self.query_end
        in_target = self.target_start <= first + diagonal and last + diagonal <= self.target_end
        return in_query and in_target


def is_near_identical(query: bytes, target: bytes, found: Extension, lambda_: float) -> bool:
    """Return whether a target is nearly identical to the query.

    Parameters
    ----------
    query, target
        Residue codes; masked letters of the query are X, the target is not masked.
    found
        Their alignment under the plain matrix.
    lambda_
        Nats in one unit of the score, of alignments with gaps.
    """
    score, query_start, query_end, target_start, target_end = found
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
def find_segments(
    rows: NDArray[np.int64],
    target: NDArray[np.uint8],
    diagonals: NDArray[np.int64],
    table: NDArray[np.int64],
    max_drop: int,
    min_score: int,
    out: NDArray[np.int64],
) -> int:
    """Find the segments of some diagonals: alignments without gaps whose score never falls far.

    Parameters
    ----------
    rows, target
        Rows of the table of the query's residues (see `number_rows`), and residue codes.
    diagonals
        The diagonals: column minus row.
    table
        Scores with each code.
    max_drop
        By how much the score may be below the best so far.
    min_score
        The least score of a segment.
    out
        (room, 4) receives the score of each segment, its first row, the row behind its last one,
        and its diagonal.

    Returns
    -------
    How many there are, and at most as many as there is room for.
    """
    count = 0
    for diagonal in diagonals:
        row = max(0, -diagonal)
        end = min(len(rows), len(target) - diagonal)
        score = best = 0
        first = last = row
        while row < end:
            score += table[rows[row], target[row + diagonal]]
            row += 1
            if score > best:
                best, last = score, row
            ended = score <= 0 or score < best - max_drop
            if best >= min_score and (ended or row == end) and count < len(out):
                out[count, 0], out[count, 1] = best, first
                out[count, 2], out[count, 3] = last, diagonal
                count += 1
            if ended:
                score = best = 0
                first = row
    return count


@native
def find_seed(
    rows: NDArray[np.int64],
    target: NDArray[np.uint8],
    first: int,
    last: int,
    diagonal: int,
    table: NDArray[np.int64],
) -> int:
    """Return the row of the middle of the best window of a segment; the first of equal ones counts.

    Parameters
    ----------
    rows, target
        Rows of the table of the query's residues, and residue codes.
    first, last, diagonal
        The segment: see `find_segments`.
    table
        Scores with each code.
    """
    if last - first <= SEED_WINDOW:
        return (first + last) // 2
    window, best, seed = 0, _NONE, first
    for row in range(first, last):
        window += table[rows[row], target[row + diagonal]]
        before = row - SEED_WINDOW
        if before >= first:
            window -= table[rows[before], target[before + diagonal]]
        if before >= first - 1 and window > best:
            best, seed = window, row - SEED_WINDOW // 2
    return seed


@native
def extend_gapped(
    rows: NDArray[np.int64],
    row: int,
    row_count: int,
    target: NDArray[np.uint8],
    column: int,
    column_count: int,
    step: int,
    table: NDArray[np.int64],
    gap_open: int,
    gap_extend: int,
    max_drop: int,
    work: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Extend an alignment from a corner; give up cells far below the best so far.

    Parameters
    ----------
    rows, row, row_count
        Rows of the table of the query's residues, the first of them, and how many there are.
    target, column, column_count
        Likewise of the target's residue codes.
    step
        1 forwards, -1 backwards.
    table, gap_open, gap_extend
        Scores with each code, and gap penalties.
    max_drop
        See `find_max_drop`.
    work
        (2, at least column_count + 1) is overwritten.

    Returns
    -------
    The best score, 0 or more, and how many residues of the query and of the target it takes. Of
    equal ones the first counts, row by row.
    """
    # Gotoh's recurrence, from the corner on. In each row, only columns from `first` to `last` have
    # cells that count:
    #
    #         0 . . . column
    #       0 * * *           work[0]: H of the row above, work[1]: F, the best with a gap in
    #       . . * * * *       the target that may go on
    #     row . . * * * *
    score = taken_rows = taken_columns = 0
    first, last = 0, 0
    while last <= column_count and (last == 0 or gap_open + last * gap_extend <= max_drop):
        work[0, last] = -gap_open - last * gap_extend if last else 0
        work[1, last] = _NONE
        last += 1
    for i in range(1, row_count + 1):
        scores = table[rows[row + step * (i - 1)]]
        diagonal = e = _NONE
        begin, end = -1, first
        j = first
        while j <= column_count:
            above = work[0, j] if j < last else _NONE
            f = max(above - gap_open, work[1, j]) - gap_extend if j < last else _NONE
            h = max(e, f)
            if j:
                h = max(h, diagonal + scores[target[column + step * (j - 1)]])
            diagonal = above
            if h < score - max_drop:
                h = f = e = _NONE
                if j >= last:
                    break
            else:
                begin = j if begin < 0 else begin
                end = j + 1
                if h > score:
                    score, taken_rows, taken_columns = h, i, j
                e = max(h - gap_open, e) - gap_extend
            work[0, j], work[1, j] = h, f
            j += 1
        if begin < 0:
            break
        first, last = begin, end
    return score, taken_rows, taken_columns


def find_diagonals(query: NDArray[np.uint8], target: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the diagonals on which two sequences share words of `SEGMENT_WORD` letters, ascending.

    Parameters
    ----------
    query, target
        Residue codes.
    """
    words = []
    for codes in (query, target):
        count = max(0, len(codes) - SEGMENT_WORD + 1)
        word = np.zeros(count, np.int64)
        for k in range(SEGMENT_WORD):
            word = 32 * word + codes[k : k + count]
        words.append(word)
    order = np.argsort(words[0], kind="stable")
    ranked = words[0][order]
    first = np.searchsorted(ranked, words[1])
    counts = np.searchsorted(ranked, words[1], "right") - first
    # Place k of the repeated columns is the k-th record of its word in the query.
    columns = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(columns)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.unique(columns - order[np.repeat(first, counts) + number])


def find_extension(
    query: NDArray[np.uint8],
    rows: NDArray[np.int64],
    target: NDArray[np.uint8],
    scheme: ScoringScheme,
    table: NDArray[np.int64],
    lambda_: float,
) -> Extension | None:
    """Return the best alignment that is extended from a segment; None if there is no segment.

    Segments are extended from the best one on, but for those that lie within an earlier extension.
    Of equal extensions the first counts.

    Parameters
    ----------
    query, rows, target
        Residue codes, rows of the table of the query's residues, and residue codes.
    scheme
        The gap penalties.
    table
        Scores with each code.
    lambda_
        Nats in one unit of the score, of alignments with gaps.
    """
    diagonals = find_diagonals(query, target)
    bit = math.log(2) / lambda_
    found = np.empty((MAX_SEGMENTS, 4), np.int64)
    count = find_segments(
        rows,
        target,
        diagonals,
        table,
        int(MAX_SEGMENT_DROP_BITS * bit),
        int(min(MIN_SEGMENT_BITS, MIN_BITS * min(len(query), MIN_SPAN) / 2) * bit),
        found,
    )
    segments = found[:count]
    work = np.empty((2, len(target) + 1), np.int64)
    settings = table, scheme.gap_open, scheme.gap_extend, find_max_drop(lambda_), work
    extensions: list[Extension] = []
    for _, first, last, diagonal in segments[np.argsort(-segments[:, 0], kind="stable")].tolist():
        if any(extension.has(first, last, diagonal) for extension in extensions):
            continue
        row = find_seed(rows, target, first, last, diagonal, table) + 1
        column = row + diagonal
        left = extend_gapped(rows, row - 1, row, target, column - 1, column, -1, *settings)
        rest = len(rows) - row, len(target) - column
        right = extend_gapped(rows, row, rest[0], target, column, rest[1], 1, *settings)
        extensions.append(
            Extension(
                left[0] + right[0],
                row - left[1],
                row + right[1],
                column - left[2],
                column + right[2],
            )
        )
    return max(extensions, key=lambda extension: extension.score, default=None)


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
