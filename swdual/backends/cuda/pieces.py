"""Targets in pieces and chunks, as a GPU likes them; pure functions of lengths.

A *piece* is a target, or a window of one that is so long that it would be computed long after all
others. A *chunk* is as many pieces as a CTA takes at a time. A *stretch* is as many targets of a
block as lie on the card together.

Windows are exact. An optimal alignment pairs at most the m residues of the query. Its gaps leave
out d residues of the target, each at `gap_next` or more, and its score, the sum of its pairs less
its gaps, is at least 1. If no query could score more than S, then d <= (S - 1) // gap_next, and the
alignment lies within m + d residues of the target, the *span*. Windows that overlap by the span
hold every alignment, and none of them scores more than the whole target.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.sequences.alphabet import ALIGNMENT

SPANS_A_WINDOW = 4
"""A window is at least so many spans long, so that overlaps cost less than windows gain.

Where targets are few, `occupancy` also takes shorter ones.
"""

STEPS_AN_OCTAVE = 8
"""Spans are rounded up to so many sizes between a power of two and the next, to be few."""

CHUNKS_A_CTA = 64
"""About how many chunks a CTA takes: with more it waits for more beginnings, with fewer all wait
longer for the last."""

MAX_CHUNK_ROWS = 1024
"""Rows of a group in one chunk beyond which chunks of many short pieces gain nothing."""

MANY_WAVES = 8
"""So many full chunks for each CTA even out what the last ones leave idle."""


class Pieces(NamedTuple):
    """Windows of targets by descending length: start (in 16 bytes), residues, number of target."""

    starts: NDArray[np.uint32]
    lengths: NDArray[np.uint32]
    targets: NDArray[np.uint32]


class Chunks(NamedTuple):
    """Chunk c is the pieces ``edges[c]`` to ``edges[c + 1] - 1``; none takes more scratch rows."""

    edges: NDArray[np.uint32]
    rows: int


def compute_span(length: int, most: int, gap_next: int) -> int | None:
    """Return how many residues of a target an optimal alignment can cover; None for any number.

    Parameters
    ----------
    length
        Residues of the query.
    most
        The sum over its residues of the best that each can score, where that is positive.
    gap_next
        The cost of each residue of a gap after the first, the least that any of them costs.

    >>> compute_span(350, 2100, 1)
    2449
    """
    if gap_next == 0:
        return None
    return length + max(0, most - 1) // gap_next


def round_up(number: int) -> int:
    """Return the next of a few numbers, at most an eighth larger.

    >>> [round_up(number) for number in (7, 16, 17, 2449)]
    [7, 16, 18, 2560]
    """
    step = 1 << max(0, number.bit_length() - STEPS_AN_OCTAVE.bit_length())
    return -(-number // step) * step


def compute_window(span: int, share: int) -> int:
    """Return how long a window should be.

    Long windows cost ``span / window`` for overlaps, short ones ``window / (2 * share)`` for groups
    that wait for the last; the sum is smallest at the root.

    Parameters
    ----------
    span
        By how many residues windows overlap.
    share
        Rows that each group would have if all had alike.
    """
    return round_up(max(SPANS_A_WINDOW * span, isqrt(2 * span * share)))


def cut(starts: NDArray[np.uint32], lengths: NDArray[np.uint32], span: int, window: int) -> Pieces:
    """Return targets in pieces: those longer than a window in several, which overlap by the span.

    Parameters
    ----------
    starts, lengths
        Of the targets, by descending length; starts in units of 16 bytes.
    span, window
        In residues; the window is the longer.
    """
    long = int(np.searchsorted(-lengths.astype(np.int64), -window))
    numbers = np.arange(len(lengths), dtype=np.uint32)
    if long == 0:
        return Pieces(starts, lengths, numbers)
    residues = lengths[:long].astype(np.int64)
    new = residues - span
    counts = -(-new // (window - span))
    stride = -(-new // counts)
    stride = -(-stride // ALIGNMENT) * ALIGNMENT
    counts = -(-new // stride)
    target = np.repeat(np.arange(long), counts)
    index = np.arange(len(target)) - np.repeat(np.cumsum(counts) - counts, counts)
    offset = index * stride[target]
    size = np.minimum(stride[target] + span, residues[target] - offset)
    found = Pieces(
        np.concatenate([starts[target] + offset // ALIGNMENT, starts[long:]]).astype(np.uint32),
        np.concatenate([size, lengths[long:]]).astype(np.uint32),
        np.concatenate([numbers[target], numbers[long:]]),
    )
    order = np.argsort(-found.lengths.astype(np.int64), kind="stable")
    return Pieces(*(column[order] for column in found))


def chunk(
    lengths: NDArray[np.uint32],
    granule: int,
    each: int,
    ctas: int,
    area: Callable[[Any], Any],
    most_rows: int,
) -> Chunks:
    """Return pieces in chunks.

    The size of a chunk depends on its first piece, the longest, and never falls from one chunk to
    the next: the chunks of one size are computed together.

    Parameters
    ----------
    lengths
        Of the pieces, descending.
    granule
        Pieces that a CTA computes side by side.
    each
        Pieces that a group computes side by side: all chunks but the last hold a multiple.
    ctas
        How many take chunks.
    area
        Rows of scratch that a group takes for pieces of a length; also of an array of lengths. More
        for longer ones.
    most_rows
        Rows of scratch that a chunk may take, if it has more than `each` pieces.
    """
    count = len(lengths)
    waves = -(-count // (ctas * granule))
    unit = granule if waves > MANY_WAVES else -(-count // (ctas * waves * each)) * each
    share = int(lengths.sum(dtype=np.int64)) // (ctas * granule)
    wanted = min(share // CHUNKS_A_CTA, MAX_CHUNK_ROWS)
    heads = _starts_of_runs(lengths)  # the first piece of each length
    longest = lengths[heads].astype(np.int64)
    sizes = np.minimum(
        unit * np.maximum(1, wanted // longest), each * np.maximum(1, most_rows // area(longest))
    )
    changes = _starts_of_runs(sizes)
    ends = [*heads[changes[1:]].tolist(), count]  # where chunks of the next size begin, or none
    runs, first = [], 0
    for size, end in zip(sizes[changes].tolist(), ends, strict=True):
        runs.append(np.arange(first, end, size))  # none, if a larger chunk before reaches the end
        first += size * len(runs[-1])
    edges = np.append(np.concatenate(runs), count)
    groups = -(-np.diff(edges) // each)
    rows = int((area(lengths[edges[:-1]].astype(np.int64)) * groups).max())
    return Chunks(edges.astype(np.uint32), rows)


def _starts_of_runs(numbers: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return where each run of equal numbers begins.

    >>> _starts_of_runs(np.array([7, 7, 5, 9, 9])).tolist()
    [0, 2, 3]
    """
    return np.append(0, np.flatnonzero(numbers[1:] != numbers[:-1]) + 1)


def cut_stretches(lengths: NDArray[np.uint32], most_bytes: int) -> list[tuple[int, int]]:
    """Return ``(first, last)`` of as few stretches of targets as possible.

    A longer target is a stretch by itself.

    Parameters
    ----------
    lengths
        (targets,) residues, descending.
    most_bytes
        Maximum size of a stretch, in bytes.
    """
    ends = np.cumsum(-(-lengths.astype(np.int64) // ALIGNMENT) * ALIGNMENT)
    found, first = [], 0
    while first < len(lengths):
        begin = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, begin + most_bytes, "right")))
        found.append((first, last))
        first = last
    return found
