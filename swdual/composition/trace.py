"""Alignments of a query with targets that have a matrix each.

The alignment is the one that `swdual.alignment` names. The kernel of `swdual.composition.rescore`
fills the columns again up to the first that holds the score, and keeps them. Every step of the
way back follows from H alone: a gap of k residues is optimal where the H at its other end exceeds
this H by its price.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.long import SMALL_CELLS, Walk
from swdual.alignment.tile import tally
from swdual.alignment.tracebacks import COLUMNS, PAIR, QUERY_ONLY, TARGET_ONLY, Tracebacks
from swdual.backend import Progress
from swdual.backends._striped import stripe_query, striped_kernel
from swdual.composition.rescore import BITS, KIND, count_lanes, price_gaps, set_profile
from swdual.composition.sequences import join_targets, prepare_query
from swdual.composition.tables import SCALE
from swdual.errors import EngineError
from swdual.lanes.score_widths import allocate_aligned
from swdual.runtime.native import native, native_family
from swdual.sequences.alphabet import CODES
from swdual.sequences.scoring import ScoringScheme


def trace(
    query: bytes,
    targets: Sequence[bytes],
    unmasked: Sequence[bytes],
    matrices: NDArray[np.int32],
    scores: NDArray[np.int64],
    scheme: ScoringScheme,
    progress: Progress = lambda cells: None,
    unmasked_query: bytes | None = None,
) -> Tracebacks:
    """Return the alignments of a query with some targets.

    Identities and positives are counted as BLAST does: with the letters of the sequences as they
    were before they were masked, and with the plain matrix.

    Parameters
    ----------
    query, targets
        Residue codes; masked residues are X.
    unmasked
        The targets without masking.
    matrices
        (targets, 32, 32) scores of query codes with target codes, in units of ``1 / SCALE``.
    scores
        (targets,) what `rescore` returned; where one is 0 the alignment is empty.
    scheme
        The plain matrix, and gap penalties in its units.
    progress
        Called with 0 now and then; may raise to stop the work.
    unmasked_query
        The query without masking; by default `query`.

    Raises
    ------
    EngineError
        If the best alignment of a target has another score than given.
    """
    numbers = np.zeros((len(COLUMNS), len(targets)), np.int64)
    runs: list[NDArray[np.uint32]] = [np.empty(0, np.uint32)] * len(targets)
    cells = np.array([len(codes) for codes in targets], np.int64) * len(query)
    small = np.flatnonzero((scores > 0) & (cells <= SMALL_CELLS))
    progress(0)
    if len(small):
        _trace_small(query, targets, matrices, scores, scheme, small, numbers, runs)
    for k in np.flatnonzero((scores > 0) & (cells > SMALL_CELLS)).tolist():
        walk = Walk(
            prepare_query(query),
            np.frombuffer(targets[k], np.uint8),
            matrices[k].astype(np.int64),
            SCALE * scheme.gap_open,
            SCALE * scheme.gap_extend,
            progress,
        )
        query_end, target_end = walk.walk_best(int(scores[k]))
        if query_end == 0:
            raise _score_error(k, scores)
        numbers[:4, k] = walk.row + 1, query_end, walk.column + 1, target_end
        runs[k] = walk.runs[: walk.count][::-1].copy()
    plain = scheme.matrix.scores.astype(np.int64)
    codes = np.frombuffer(query if unmasked_query is None else unmasked_query, np.uint8)
    for k, operations in enumerate(runs):
        letters = np.frombuffer(unmasked[k], np.uint8)
        here, there = codes[numbers[0, k] :], letters[numbers[2, k] :]
        numbers[4:, k] = tally(here, there, operations, plain)
    return Tracebacks.of(numbers, runs)


def _trace_small(
    query: bytes,
    targets: Sequence[bytes],
    matrices: NDArray[np.int32],
    scores: NDArray[np.int64],
    scheme: ScoringScheme,
    chosen: NDArray[np.int64],
    numbers: NDArray[np.int64],
    runs: list[NDArray[np.uint32]],
) -> None:
    """Align the query with the chosen targets, whose columns fit into memory together."""
    lanes = count_lanes(None)
    letters = prepare_query(query)
    codes = stripe_query(letters.astype(np.int64), lanes)
    residues, starts, lengths = join_targets([targets[k] for k in chosen.tolist()])
    prices, _ = price_gaps(SCALE * scheme.gap_open, SCALE * scheme.gap_extend)
    # Each run takes a letter at least. What is not written takes no memory.
    room = int(lengths.sum()) + len(chosen) * len(query)
    buffer = np.empty(room, np.uint32)
    run_starts = np.zeros(len(chosen) + 1, np.int64)
    bounds = np.zeros((4, len(chosen)), np.int64)
    failed = trace_kernel(lanes)(
        residues,
        starts,
        lengths,
        letters,
        codes,
        matrices,
        chosen,
        prices,
        scores,
        allocate_aligned((int(lengths.max()) + 1) * len(codes), KIND),
        allocate_aligned(len(codes), KIND),
        allocate_aligned(CODES * len(codes), KIND),
        allocate_aligned(lanes, KIND),
        bounds,
        run_starts,
        buffer,
    )
    if failed >= 0:
        raise _score_error(failed, scores)
    numbers[:4, chosen] = bounds
    for number, k in enumerate(chosen.tolist()):
        runs[k] = buffer[run_starts[number] : run_starts[number + 1]]


def _score_error(k: int, scores: NDArray[np.int64]) -> EngineError:
    return EngineError(f"the best alignment of target {k} does not have the score {scores[k]}")


@native
def walk_columns(
    H: NDArray[np.signedinteger],
    lanes: int,
    size: int,
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    matrix: NDArray[np.int32],
    numbers: tuple[int, int, int],
    goal: int,
    runs: NDArray[np.uint32],
    count: int,
) -> tuple[int, int, int, int]:
    """Walk back from the first goal in the last column to the beginning of the alignment.

    Parameters
    ----------
    H, lanes, size
        Columns in striped order, the first of zeros, as `striped_kernel` fills them with the step
        `size`; lanes of a vector.
    query, target, matrix
        Residues of the rows and of the columns but the first, and their scores.
    numbers
        What stands for score 0, the first and each further gap residue's cost.
    goal
        The number to begin at.
    runs, count
        Operations, and how many of them there are: further ones are added, last first.

    Returns
    -------
    Beginning and end of the query's part, beginning of the target's, and the new count; the end is
    0 if the walk fails.
    """
    # Tests in the order of the rule: a pair, a gap in the query, a gap in the target; the shortest
    # gap first. A longer gap than `(goal - h) / ge` would need an H above the goal.
    zero, gx, ge = numbers
    rows = size // lanes
    column = len(target)
    row = 0
    while row < len(query) and H[column * size + row % rows * lanes + row // rows] != goal:
        row += 1
    if row == len(query):
        return 0, 0, 0, count
    end = row + 1
    h = goal
    while h > zero:
        diagonal = zero
        if row > 0:
            above = row - 1
            diagonal = int(H[(column - 1) * size + above % rows * lanes + above // rows])
        kind, length = PAIR, 0
        if diagonal + matrix[query[row], target[column - 1]] == h:
            length = 1
            h = diagonal
        else:
            at = row % rows * lanes + row // rows
            higher = h + gx
            k = 1
            while length == 0 and k < column and higher <= goal:
                if H[(column - k) * size + at] == higher:
                    kind, length = TARGET_ONLY, k
                else:
                    higher += ge
                    k += 1
            if length == 0:
                higher = h + gx
                k = 1
            while length == 0 and k <= row and higher <= goal:
                above = row - k
                if H[column * size + above % rows * lanes + above // rows] == higher:
                    kind, length = QUERY_ONLY, k
                else:
                    higher += ge
                    k += 1
            if length == 0:
                return 0, 0, 0, count
            h = higher
        if kind != TARGET_ONLY:
            row -= length
        if kind != QUERY_ONLY:
            column -= length
        if count > 0 and runs[count - 1] & 15 == kind:
            runs[count - 1] += length << 4
        else:
            runs[count] = length << 4 | kind
            count += 1
    return row + 1, end, column, count


@native_family
def trace_kernel(lanes: int) -> Callable[..., int]:
    """Return the kernel that aligns targets with a matrix each.

    Parameters
    ----------
    lanes
        Scores in a vector; their bytes are one register.
    """
    fill_columns = striped_kernel(BITS, lanes)

    def trace_targets(
        residues: NDArray[np.uint8],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        query: NDArray[np.uint8],
        striped: NDArray[np.uint8],
        matrices: NDArray[np.int32],
        chosen: NDArray[np.int64],
        numbers: tuple[int, int, int],
        scores: NDArray[np.int64],
        H: NDArray[np.signedinteger],
        E: NDArray[np.signedinteger],
        profile: NDArray[np.signedinteger],
        lane_best: NDArray[np.signedinteger],
        bounds: NDArray[np.int64],
        run_starts: NDArray[np.int64],
        runs: NDArray[np.uint32],
    ) -> int:
        """Align a query with some targets; return -1, or the first that has another score.

        Parameters
        ----------
        residues, starts, lengths
            Codes of the chosen targets, and where each begins and how long it is.
        query, striped
            Codes of the query, and what `stripe_query` returned for them.
        matrices, chosen, scores
            Matrices and scores of all targets, and which of them are chosen.
        numbers
            What stands for score 0, the first and each further gap residue's cost.
        H, E, profile, lane_best
            Work space: len(striped) numbers for each column of the longest target and one more;
            len(striped) numbers; 32 times as many; one vector.
        bounds
            (4, targets) receives where the query's part begins and ends, and the target's part.
        run_starts, runs
            Receive the operations of the targets, one after the other: see `Tracebacks`.
        """
        size = len(striped)
        used = 0
        for number in range(len(chosen)):
            k = int(chosen[number])
            first = starts[number]
            last = first + lengths[number]
            goal = scores[k] + numbers[0]
            set_profile(residues, first, last, striped, matrices[k], profile)
            best, columns = fill_columns(
                residues, first, last, profile, size, numbers, goal, H, size, E, lane_best
            )
            if best != goal:
                return k
            query_start, query_end, target_start, count = walk_columns(
                H,
                lanes,
                size,
                query,
                residues[first : first + columns],
                matrices[k],
                numbers,
                goal,
                runs[used:],
                0,
            )
            if query_end == 0:
                return k
            for other in range(count // 2):
                mirrored = used + count - 1 - other
                runs[used + other], runs[mirrored] = runs[mirrored], runs[used + other]
            bounds[0, number] = query_start
            bounds[1, number] = query_end
            bounds[2, number] = target_start
            bounds[3, number] = columns
            used += count
            run_starts[number + 1] = used
        return -1

    return trace_targets
