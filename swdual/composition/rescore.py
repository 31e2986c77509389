"""Scores of a query with targets that have a matrix each, in 32-bit lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.backends._striped import stripe_query, striped_kernel
from swdual.composition.sequences import join_targets, prepare_query
from swdual.errors import EngineError
from swdual.lanes.registers import register_bytes
from swdual.lanes.score_widths import allocate_aligned
from swdual.runtime.native import native, native_family
from swdual.sequences.alphabet import CODES

BITS = 32
KIND = np.dtype(np.int32)

ZERO = -(1 << 30)
"""What stands for score 0: below it is room for one gap, above it for scores beyond 2**31."""

MAX_GAP_PRICE = 1 << 30
"""A gap that costs more is forbidden: it costs this, and scores are limited to it."""

MAX_SCORE = 1 << 31

MAX_NUMBER = (1 << 31) - 1
"""The largest number of a lane, as a goal that stops nothing."""


def rescore(
    query: bytes,
    targets: Sequence[bytes],
    matrices: NDArray[np.int32],
    gap_open: int,
    gap_extend: int,
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
    lanes
        Scores in a vector, a power of two; by default one register's full.

    Returns
    -------
    (targets,) scores.

    Raises
    ------
    EngineError
        If a score is above 2**31, or gaps are forbidden and it is above `MAX_GAP_PRICE`.
    """
    lanes = count_lanes(lanes)
    codes = stripe_query(prepare_query(query).astype(np.int64), lanes)
    numbers, limit = price_gaps(gap_open, gap_extend)
    scores = np.zeros(len(targets), np.int64)
    if len(codes):
        rescore_kernel(lanes)(
            *join_targets(targets),
            codes,
            matrices,
            numbers,
            *[allocate_aligned(n, KIND) for n in (len(codes), len(codes))],
            allocate_aligned(CODES * len(codes), KIND),
            allocate_aligned(lanes, KIND),
            scores,
        )
    if scores.max(initial=0) > limit:
        raise EngineError(f"an adjusted score of {int(scores.max()):,} is above {limit:,}")
    return scores


def count_lanes(lanes: int | None) -> int:
    """Return how many scores a vector holds: one register's full, unless it is given."""
    return register_bytes() * 8 // BITS if lanes is None else lanes


def price_gaps(gap_open: int, gap_extend: int) -> tuple[tuple[int, int, int], int]:
    """Return what stands for score 0, a gap's first and further residues; and the score limit."""
    first = gap_open + gap_extend
    limit = MAX_SCORE if first <= MAX_GAP_PRICE else MAX_GAP_PRICE
    first = min(first, MAX_GAP_PRICE)
    return (ZERO, first, min(gap_extend, first)), limit


@native
def set_profile(
    residues: NDArray[np.uint8],
    first: int,
    last: int,
    query: NDArray[np.uint8],
    matrix: NDArray[np.int32],
    profile: NDArray[np.signedinteger],
) -> None:
    """Write the scores of a query with the letters of one target.

    Parameters
    ----------
    residues, first, last
        Codes, and those of them that are the target: from `first` to `last`, `last` excluded.
    query
        What `stripe_query` returned.
    matrix
        (32, 32) scores of query codes with target codes.
    profile
        Receives `len(query)` scores for each letter that the target has.
    """
    size = len(query)
    present = 0
    for position in range(first, last):
        present |= 1 << residues[position]
    for letter in range(CODES):
        if present >> letter & 1:
            at = letter * size
            for k in range(size):
                profile[at + k] = matrix[query[k], letter]


@native_family
def rescore_kernel(lanes: int) -> Callable[..., None]:
    """Return the kernel that scores targets with a matrix each.

    Parameters
    ----------
    lanes
        Scores in a vector; their bytes are one register.
    """
    fill_columns = striped_kernel(BITS, lanes)

    def rescore_targets(
        residues: NDArray[np.uint8],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        query: NDArray[np.uint8],
        matrices: NDArray[np.int32],
        numbers: tuple[int, int, int],
        H: NDArray[np.signedinteger],
        E: NDArray[np.signedinteger],
        profile: NDArray[np.signedinteger],
        lane_best: NDArray[np.signedinteger],
        out: NDArray[np.int64],
    ) -> None:
        """Score a query against some targets.

        Parameters
        ----------
        residues, starts, lengths
            Codes of all targets, and where each begins and how long it is.
        query
            What `stripe_query` returned.
        matrices
            (targets, 32, 32) scores of query codes with target codes.
        numbers
            What stands for score 0, the first and each further gap residue's cost.
        H, E, profile, lane_best
            Work space: len(query) numbers, as many, 32 times as many, one vector.
        out
            (targets,) receives the scores.
        """
        size = len(query)
        for target in range(len(starts)):
            first = starts[target]
            last = first + lengths[target]
            set_profile(residues, first, last, query, matrices[target], profile)
            number, _ = fill_columns(
                residues, first, last, profile, size, numbers, MAX_NUMBER, H, 0, E, lane_best
            )
            out[target] = number - numbers[0]

    return rescore_targets
