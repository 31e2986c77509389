"""Scores of a query with targets that have a matrix each: in 16 bits, then in 32 where needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.backends._striped import stripe_query, striped_kernel
from swdual.composition.sequences import join_targets, prepare_query
from swdual.errors import EngineError
from swdual.lanes.registers import TABLE_BYTES, register_bytes
from swdual.lanes.score_widths import allocate_aligned
from swdual.runtime.native import native_family
from swdual.sequences.alphabet import CODES

ZERO = -(1 << 30)
"""What stands for score 0 in 32 bits: below is room for one gap, above for scores beyond 2**31."""

MAX_GAP_PRICE = 1 << 30
"""A gap that costs more is forbidden: it costs this, and scores are limited to it."""

MAX_SCORE = 1 << 31


class Width(NamedTuple):
    """Numbers of one width, and the scores that they stand for.

    Parameters
    ----------
    bits
        Bits of a number.
    prices
        What stands for score 0, the first and each further gap residue's cost.
    limit
        The largest score that is exact.
    floor
        A smaller score of a pair is cut to this.
    """

    bits: int
    prices: tuple[int, int, int]
    limit: int
    floor: int

    def work_space(
        self, size: int, lanes: int, columns: int = 0
    ) -> list[NDArray[np.signedinteger]]:
        """Return H, E, the profile and one vector for `striped_kernel`, and score tables.

        Parameters
        ----------
        size
            Codes of the query in striped order.
        lanes
            Numbers in a vector.
        columns
            Columns of H but the first.
        """
        kind = np.dtype(f"i{self.bits // 8}")
        numbers = ((columns + 1) * size, size, CODES * size, lanes)
        tables = [allocate_aligned(CODES * TABLE_BYTES, np.dtype(np.int8)) for _ in range(2)]
        return [*(allocate_aligned(n, kind) for n in numbers), *tables]


def find_widths(
    query: NDArray[np.uint8],
    residues: NDArray[np.uint8],
    matrices: NDArray[np.int32],
    gap_open: int,
    gap_extend: int,
) -> Iterator[Width]:
    """Return the widths that can hold at least some scores, narrowest first.

    Parameters
    ----------
    query, residues
        Codes of the query and of all targets.
    matrices, gap_open, gap_extend
        See `rescore`.
    """
    # 16 bits: see `score_widths` of `swdual.lanes.score_widths`. Scores of codes that neither
    # sequence has do not count; a pair with `PAD`, below the query's last row, is cut.
    price = gap_open + gap_extend
    used = matrices[:, : query.max(initial=0) + 1, : residues.max(initial=0) + 1]
    largest = max(int(used.max(initial=0)), 1)
    lowest, highest = -(1 << 15), (1 << 15) - 1
    forbidding = -(-(highest - lowest - largest) // 2)
    first = min(price, forbidding)
    zero = lowest + max(first, min(-int(used.min(initial=0)), forbidding))
    limit = highest - largest - zero
    if limit >= largest:
        yield Width(16, (zero, first, min(gap_extend, first)), limit, lowest - zero)
    limit = MAX_SCORE if price <= MAX_GAP_PRICE else MAX_GAP_PRICE
    first = min(price, MAX_GAP_PRICE)
    yield Width(32, (ZERO, first, min(gap_extend, first)), limit, ZERO)


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
        32-bit numbers in a vector, a power of two; by default one register's full.

    Returns
    -------
    (targets,) scores.

    Raises
    ------
    EngineError
        If a score is above 2**31, or gaps are forbidden and it is above `MAX_GAP_PRICE`.
    """
    letters = prepare_query(query)
    residues, starts, lengths = join_targets(targets)
    scores = np.zeros(len(targets), np.int64)
    left = np.arange(len(targets) if len(query) else 0)
    limit = 0
    for width in find_widths(letters, residues, matrices, gap_open, gap_extend):
        if len(left) == 0:
            break
        count = count_lanes(width.bits, lanes)
        codes = stripe_query(letters.astype(np.int64), count)
        rescore_kernel(width.bits, count)(
            residues,
            starts,
            lengths,
            left,
            codes,
            matrices,
            width.prices,
            width.limit,
            width.floor,
            *width.work_space(len(codes), count),
            scores,
        )
        limit = width.limit
        left = left[scores[left] > limit]
    if len(left):
        raise EngineError(f"the adjusted score of target {left[0]} is above {limit:,}")
    return scores


def count_lanes(bits: int, lanes: int | None = None) -> int:
    """Return the numbers in a vector: see `rescore`."""
    return (register_bytes() // 4 if lanes is None else lanes) * 32 // bits


@native_family
def profile_kernel(bits: int, lanes: int) -> Callable[..., None]:
    """Return the kernel that writes the scores of a query with the letters of one target.

    Parameters
    ----------
    bits
        Bits of a score: 16 or 32.
    lanes
        Scores in a vector; their bytes are one register.
    """
    from swdual.lanes.vector import scores, store

    BITS, LANES = bits, lanes

    def set_profile(
        target: NDArray[np.uint8],
        query: NDArray[np.uint8],
        matrix: NDArray[np.int32],
        floor: int,
        profile: NDArray[np.signedinteger],
        low: NDArray[np.int8],
        high: NDArray[np.int8],
    ) -> None:
        """Write the profile of one target.

        Parameters
        ----------
        target
            Residue codes.
        query
            What `stripe_query` returned.
        matrix, floor
            (32, 32) scores of query codes with target codes; smaller ones are cut to `floor`.
        profile
            Receives `len(query)` scores for each letter that the target has.
        low, high
            Work space of 16 bits: 32 rows of `TABLE_BYTES` for the bytes of the scores.
        """
        size = len(query)
        present = 0
        for code in target:
            present |= 1 << code
        for letter in range(CODES):
            if not present >> letter & 1:
                continue
            at = letter * size
            if BITS == 16:
                table = letter * TABLE_BYTES
                for k in range(TABLE_BYTES):
                    score = max(int(matrix[k % CODES, letter]), floor)
                    low[table + k] = score & 255
                    high[table + k] = score >> 8
                for v in range(0, size, LANES):
                    row = scores(low, high, table, query, v, BITS, LANES)
                    store(profile, at + v, row)
            else:
                for k in range(size):
                    profile[at + k] = max(int(matrix[query[k], letter]), floor)

    return set_profile


@native_family
def fill_kernel(bits: int, lanes: int) -> Callable[..., tuple[int, int]]:
    """Return the kernel that fills the matrices of one target.

    Parameters
    ----------
    bits
        Bits of a score: 16 or 32.
    lanes
        Scores in a vector; their bytes are one register.
    """
    fill_columns = striped_kernel(bits, lanes)
    set_profile = profile_kernel(bits, lanes)

    def fill_target(
        target: NDArray[np.uint8],
        query: NDArray[np.uint8],
        matrix: NDArray[np.int32],
        prices: tuple[int, int, int],
        floor: int,
        goal: int,
        stops: bool,
        H: NDArray[np.signedinteger],
        step: int,
        E: NDArray[np.signedinteger],
        profile: NDArray[np.signedinteger],
        lane_best: NDArray[np.signedinteger],
        low: NDArray[np.int8],
        high: NDArray[np.int8],
    ) -> tuple[int, int]:
        """Fill the columns of one target; parameters and results are those of `striped_kernel`.

        Parameters
        ----------
        target
            Residue codes.
        query
            What `stripe_query` returned.
        matrix
            (32, 32) scores of query codes with target codes.
        prices, floor
            See `Width`.
        goal, stops, H, step
            See `striped_kernel`.
        E, profile, lane_best, low, high
            Work space: see `Width.work_space`.
        """
        size = len(query)
        set_profile(target, query, matrix, floor, profile, low, high)
        return fill_columns(
            target, 0, len(target), profile, size, prices, goal, stops, H, step, E, lane_best
        )

    return fill_target


@native_family
def rescore_kernel(bits: int, lanes: int) -> Callable[..., None]:
    """Return the kernel that scores targets with a matrix each.

    Parameters
    ----------
    bits
        Bits of a score: 16 or 32.
    lanes
        Scores in a vector; their bytes are one register.
    """
    fill_target = fill_kernel(bits, lanes)

    def rescore_targets(
        residues: NDArray[np.uint8],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        targets: NDArray[np.int64],
        query: NDArray[np.uint8],
        matrices: NDArray[np.int32],
        prices: tuple[int, int, int],
        limit: int,
        floor: int,
        H: NDArray[np.signedinteger],
        E: NDArray[np.signedinteger],
        profile: NDArray[np.signedinteger],
        lane_best: NDArray[np.signedinteger],
        low: NDArray[np.int8],
        high: NDArray[np.int8],
        out: NDArray[np.int64],
    ) -> None:
        """Score a query against some targets.

        Parameters
        ----------
        residues, starts, lengths
            Codes of all targets, and where each begins and how long it is.
        targets
            Numbers of the targets to score.
        query
            What `stripe_query` returned.
        matrices
            (targets, 32, 32) scores of query codes with target codes.
        prices, limit, floor
            See `Width`.
        H, E, profile, lane_best, low, high
            Work space: see `Width.work_space`.
        out
            ``out[targets]`` receive the scores; a larger one than `limit` where the score is.
        """
        # The first column with a number above the limit is the last: no later one may wrap.
        zero = prices[0]
        for target in targets:
            number, _ = fill_target(
                residues[starts[target] : starts[target] + lengths[target]],
                query,
                matrices[target],
                prices,
                floor,
                zero + limit + 1,
                True,
                H,
                0,
                E,
                profile,
                lane_best,
                low,
                high,
            )
            out[target] = number - zero

    return rescore_targets
