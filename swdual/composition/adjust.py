"""Composition-adjusted matrices of a query with many targets, as NCBI's BLAST computes them.

Mode 1 scales the matrix (Schaffer et al. 2001, Nucleic Acids Research 29, 2994-3005). Mode 3
optimises it (`swdual.composition.optimize`). Mode 2 chooses between both by the compositions
(Altschul et al. 2005, FEBS Journal 272, 5101-5109). All scores are integers in units of 1 / 32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.composition.choice import is_scaled_in_mode_2
from swdual.composition.logarithm import take_logarithms
from swdual.composition.optimize import (
    LANES,
    PAIRS,
    RUNNING,
    WORK_SIZE,
    find_residuals,
    find_state,
    place_pair,
    step,
)
from swdual.composition.regions import list_whole
from swdual.composition.sequences import join_targets
from swdual.composition.tables import AMINO_ACIDS, SCALE, CompositionTables
from swdual.lanes.score_widths import allocate_aligned
from swdual.runtime.native import native
from swdual.sequences.alphabet import CODES, PROTEIN

CYS, ASP, ASN, GLN, GLU, ILE, LEU, X, STOP, SEC, PYL = PROTEIN.encode("CDNQEILX*UO")
LETTERS = len(PROTEIN.letters)

PAIRED = X
"""Codes below this have frequencies: the 20 amino acids, then B, J and Z, a sum of two each."""

SCALING = 1
"""The mode that scales all matrices."""

UNADJUSTED, SCALED, OPTIMIZED = 0, 1, 2
"""Kinds of matrices: the start matrix itself, where a sequence has no amino acid; scaled;
optimised."""

MIN_RATIO = 0.5
"""A matrix is scaled by at least this, also where its expected score is not negative."""

MAX_X_SCORE = -1.0
"""The largest score of X with anything, in units of 1 / 32."""

PSEUDOCOUNTS = 20
"""Letters with the matrix's own frequencies that are added to the letters of a sequence."""

MAX_STEPS = 100
"""Newton steps to the scale of a matrix; some ten are needed."""

# Where each array begins in the work space, behind that of Newton's method. Each lane has its pair:
# which target, steps so far, and the frequencies of the two sequences. `COUNTED` has the part of
# the query whose letters were counted last (first, last), and how many letters counted.
RATIOS = WORK_SIZE
SPARE = RATIOS + PAIRED * PAIRED
LOG_JOINT = SPARE + PAIRED * PAIRED
QUERY, TARGET, LOGS, ROWS = range(LOG_JOINT + PAIRS, LOG_JOINT + PAIRS + 4 * CODES, CODES)
COLUMNS = ROWS + LANES * CODES
TARGETS, STEPS = range(COLUMNS + LANES * CODES, COLUMNS + LANES * CODES + 2 * LANES, LANES)
COUNTED = STEPS + LANES
HISTOGRAM = COUNTED + LANES

IDLE = -1
"""The target of a lane that has none."""


class AdjustedMatrices(NamedTuple):
    """Matrices of a query with several targets.

    Parameters
    ----------
    matrices
        (targets, 32, 32) int32 scores of query codes (rows) with target codes (columns), in units
        of ``1 / SCALE``.
    kinds
        (targets,) int8 `UNADJUSTED`, `SCALED` or `OPTIMIZED`.
    ratios
        (targets,) float64 factors of scaled matrices, 1 for others.
    """

    matrices: NDArray[np.int32]
    kinds: NDArray[np.int8]
    ratios: NDArray[np.float64]


def adjust(
    query: bytes,
    targets: Sequence[bytes],
    tables: CompositionTables,
    mode: int,
    regions: NDArray[np.int64] | None = None,
) -> AdjustedMatrices:
    """Return the matrices of a query with some targets.

    Parameters
    ----------
    query, targets
        Residue codes; masked residues are X.
    tables
        Frequencies behind the matrix.
    mode
        1 scales, 3 optimises, 2 chooses by the compositions.
    regions
        (targets, 6) the parts whose letters count: see `Regions`. By default the whole sequences.
    """
    residues, starts, lengths = join_targets(targets)
    if regions is None:
        regions = list_whole(len(query), lengths)
    count = len(targets)
    adjusted = AdjustedMatrices(
        np.empty((count, CODES, CODES), np.int32),
        np.empty(count, np.int8),
        np.empty(count, np.float64),
    )
    low = int(tables.start[:AMINO_ACIDS, :AMINO_ACIDS].min())
    high = int(tables.start[:AMINO_ACIDS, :AMINO_ACIDS].max())
    bits = allocate_aligned(HISTOGRAM + high - low + 1, np.dtype(np.int64))
    adjust_matrices(
        np.frombuffer(query, np.uint8),
        residues,
        starts,
        regions,
        mode,
        tables.joint.ravel(),
        tables.background,
        tables.scores.ravel(),
        tables.start,
        tables.lambda_,
        (low, high),
        bits.view(np.float64),
        bits,
        *adjusted,
    )
    return adjusted


@native
def count_letters(codes: NDArray[np.uint8], out: NDArray[np.float64]) -> int:
    """Write the fractions of the 20 amino acids; return how many letters they are fractions of.

    Parameters
    ----------
    codes
        Residues. U counts as C; other letters do not count.
    out
        (20,) receives the fractions.
    """
    for k in range(AMINO_ACIDS):
        out[k] = 0.0
    counted = 0
    for code in codes:
        letter = CYS if code == SEC else code
        if letter < AMINO_ACIDS:
            out[letter] += 1.0
            counted += 1
    for k in range(AMINO_ACIDS):
        out[k] /= max(counted, 1)
    return counted


@native
def count_pair(
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    region: NDArray[np.int64],
    work: NDArray[np.float64],
    bits: NDArray[np.int64],
) -> tuple[int, int]:
    """Write the fractions of the amino acids of two sequences; return how many letters count.

    Those of the query are kept for the next target if the same part of the query counts.

    Parameters
    ----------
    query, target
        Residue codes; what follows the target does not matter.
    region
        (6,) the parts whose letters count: see `Regions`.
    work, bits
        See `adjust_matrices`.
    """
    first, last = region[0], region[1]
    if first != bits[COUNTED] or last != bits[COUNTED + 1]:
        bits[COUNTED], bits[COUNTED + 1] = first, last
        bits[COUNTED + 2] = count_letters(query[first:last], work[QUERY : QUERY + CODES])
    counted = count_letters(target[region[3] : region[4]], work[TARGET : TARGET + CODES])
    return bits[COUNTED + 2], counted


@native
def add_pseudocounts(
    fractions: NDArray[np.float64],
    counted: int,
    background: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the frequencies of a sequence: its fractions mixed with those of the matrix.

    Parameters
    ----------
    fractions, counted
        What `count_letters` wrote and returned.
    background
        (20,) frequencies of the matrix.
    out
        (23,) receives the frequencies of the amino acids, and their sums for B, J and Z.
    """
    weight = PSEUDOCOUNTS / (counted + PSEUDOCOUNTS)
    for k in range(AMINO_ACIDS):
        out[k] = (1.0 - weight) * fractions[k] + weight * background[k]
    out[AMINO_ACIDS] = out[ASP] + out[ASN]
    out[AMINO_ACIDS + 1] = out[ILE] + out[LEU]
    out[AMINO_ACIDS + 2] = out[GLU] + out[GLN]


@native
def find_ratio(
    histogram: NDArray[np.float64],
    low: int,
    lambda_: float,
    work: NDArray[np.float64],
    bits: NDArray[np.int64],
) -> float:
    """Return by what scores are scaled: at least 0.5, at most 1.

    Parameters
    ----------
    histogram
        Probability of each score of two amino acids, from the smallest to the largest; changed.
    low
        The smallest score.
    lambda_
        Nats in one unit of the scores, for the matrix's own frequencies.
    work, bits
        Work space: see `adjust_matrices`.
    """
    # The root y = exp(lambda) > 1 of sum p(s) y**s = 1, which is convex in y and below 1 between 1
    # and the root. With low the smallest score, the polynomial sum p(s) y**(s - low) - y**-low has
    # the same sign; Newton's method is that of the sum itself, and comes down from the right.
    histogram[-low] -= 1.0
    y, half = exponential(lambda_), exponential(MIN_RATIO * lambda_)
    value, _ = evaluate_polynomial(histogram, y)
    if value <= 0.0:
        return 1.0
    value, _ = evaluate_polynomial(histogram, half)
    if value >= 0.0:
        return MIN_RATIO
    for _ in range(MAX_STEPS):
        value, slope = evaluate_polynomial(histogram, y)
        following = y - value / (slope + low * value / y)
        if not half < following < y:
            break
        y = following
    logs = work[LOGS : LOGS + 1]
    logs[0] = y
    take_logarithms(logs, work[SPARE : SPARE + 1], bits[SPARE : SPARE + 1], logs)
    return min(1.0, max(MIN_RATIO, float(logs[0]) / lambda_))


@native
def exponential(x: float) -> float:
    """Return exp(x) for a small x, at most 0.1."""
    total = term = 1.0
    for k in range(1, 16):
        term *= x / k
        total += term
    return total


@native
def evaluate_polynomial(coefficients: NDArray[np.float64], y: float) -> tuple[float, float]:
    """Return value and derivative of a polynomial, lowest coefficient first."""
    value = slope = 0.0
    for k in range(len(coefficients) - 1, -1, -1):
        slope = slope * y + value
        value = value * y + coefficients[k]
    return value, slope


@native
def write_matrix(
    scores: NDArray[np.float64],
    stride: int,
    factor: float,
    query: NDArray[np.float64],
    target: NDArray[np.float64],
    averages: NDArray[np.float64],
    out: NDArray[np.int32],
) -> None:
    """Round a matrix to integers, with the scores of all letters.

    Parameters
    ----------
    scores, stride
        Scores of the 20 amino acids, B, J and Z, a row of `stride` numbers each.
    factor
        What the scores are multiplied by.
    query, target
        (20,) frequencies of the amino acids, for the scores of X.
    averages
        Work space of 32 numbers.
    out
        (32, 32) receives the scores but those of ``*``.
    """
    # X scores as the average amino acid does, at most MAX_X_SCORE.
    both = 0.0
    for j in range(PAIRED):
        averages[j] = 0.0
    for i in range(PAIRED):
        average = 0.0
        for j in range(PAIRED):
            score = factor * scores[i * stride + j]
            out[i, j] = round_half_away(score)
            if j < AMINO_ACIDS:
                average += score * target[j]
            if i < AMINO_ACIDS:
                averages[j] += score * query[i]
        out[i, X] = round_half_away(min(average, MAX_X_SCORE))
        if i < AMINO_ACIDS:
            both += average * query[i]
    for j in range(PAIRED):
        out[X, j] = round_half_away(min(averages[j], MAX_X_SCORE))
    out[X, X] = round_half_away(min(both, MAX_X_SCORE))
    # U scores as C, and O as X.
    for copy, letter in ((SEC, CYS), (PYL, X)):
        for j in range(LETTERS):
            if j != STOP:
                out[copy, j] = out[letter, j]
        for i in range(LETTERS):
            if i != STOP:
                out[i, copy] = out[i, letter]


@native
def round_half_away(value: float) -> int:
    """Return the nearest integer; halves go away from zero."""
    return int(value + 0.5) if value >= 0.0 else int(value - 0.5)


@native
def adjust_matrices(
    query: NDArray[np.uint8],
    residues: NDArray[np.uint8],
    starts: NDArray[np.int64],
    regions: NDArray[np.int64],
    mode: int,
    joint: NDArray[np.float64],
    background: NDArray[np.float64],
    scores: NDArray[np.float64],
    start: NDArray[np.int32],
    lambda_: float,
    bounds: tuple[int, int],
    work: NDArray[np.float64],
    bits: NDArray[np.int64],
    matrices: NDArray[np.int32],
    kinds: NDArray[np.int8],
    ratios: NDArray[np.float64],
) -> None:
    """Compute the matrices of a query with some targets.

    Parameters
    ----------
    query
        Codes of the query.
    residues, starts
        Codes of all targets, and where each begins.
    regions
        (targets, 6) the parts whose letters count: see `Regions`.
    mode
        1, 2 or 3.
    joint, background, scores, start, lambda_
        See `CompositionTables`; `joint` and `scores` in one dimension.
    bounds
        The smallest and the largest score of two amino acids in `start`.
    work, bits
        Work space, aligned to 64 bytes, the same memory as float64 and as int64: `HISTOGRAM`
        numbers, and one for each score within the bounds.
    matrices, kinds, ratios
        Receive the results: see `AdjustedMatrices`.
    """
    query_fractions, target_fractions = work[QUERY : QUERY + CODES], work[TARGET : TARGET + CODES]
    logs = work[LOGS : LOGS + CODES]
    size = PAIRED * PAIRED
    spare, spare_bits = work[SPARE : SPARE + size], bits[SPARE : SPARE + size]
    log_joint = work[LOG_JOINT : LOG_JOINT + PAIRS]
    take_logarithms(joint, spare, spare_bits, log_joint)
    for lane in range(LANES):
        bits[TARGETS + lane] = IDLE
        place_pair(lane, joint, background, background, work, bits)
    bits[COUNTED] = IDLE
    running = target = 0
    # A lane that is done takes the next target at once, so that all lanes step together:
    #
    #     targets --> count letters --+--> no amino acid ------------------> UNADJUSTED
    #                                 +--> scaled by mode or choice -------> SCALED
    #                                 +--> lane: step, step, ... ----------> OPTIMIZED
    #                                                     `-- no optimum --> SCALED
    while target < len(starts) or running > 0:
        # The next target, if a lane is idle. One whose matrix is scaled needs none.
        if target < len(starts) and running < LANES:
            region, codes = regions[target], residues[starts[target] :]
            query_counted, counted = count_pair(query, codes, region, work, bits)
            ratios[target] = 1.0
            for i in range(CODES):
                for j in range(CODES):
                    matrices[target, i, j] = start[i, j]
            if query_counted == 0 or counted == 0:
                kinds[target] = UNADJUSTED
            elif mode == SCALING or (
                mode == 2
                and is_scaled_in_mode_2(
                    query_fractions,
                    region[2],
                    target_fractions,
                    region[5],
                    background,
                    spare,
                    spare_bits,
                    logs,
                )
            ):
                kinds[target] = SCALED
                ratios[target] = scale_matrix(
                    scores, start, lambda_, bounds, work, bits, matrices[target]
                )
            else:
                lane = 0
                while bits[TARGETS + lane] != IDLE:
                    lane += 1
                bits[TARGETS + lane] = target
                bits[STEPS + lane] = 0
                running += 1
                at = lane * CODES
                rows, columns = work[ROWS + at : ROWS + at + CODES], work[COLUMNS + at :]
                add_pseudocounts(query_fractions, query_counted, background, rows)
                add_pseudocounts(target_fractions, counted, background, columns)
                place_pair(lane, joint, rows, columns, work, bits)
            target += 1
            continue
        find_residuals(log_joint, work, bits)
        for lane in range(LANES):
            done = bits[TARGETS + lane]
            if done == IDLE:
                continue
            state = find_state(lane, bits[STEPS + lane], work)
            bits[STEPS + lane] += 1
            if state == RUNNING:
                continue
            bits[TARGETS + lane] = IDLE
            running -= 1
            if state >= 0:
                kinds[done] = OPTIMIZED
                write_optimized(lane, lambda_, work, bits, matrices[done])
                continue
            # No optimum: scale, by the fractions, which later targets have overwritten.
            kinds[done] = SCALED
            count_pair(query, residues[starts[done] :], regions[done], work, bits)
            ratios[done] = scale_matrix(scores, start, lambda_, bounds, work, bits, matrices[done])
        step(work)


@native
def scale_matrix(
    scores: NDArray[np.float64],
    start: NDArray[np.int32],
    lambda_: float,
    bounds: tuple[int, int],
    work: NDArray[np.float64],
    bits: NDArray[np.int64],
    out: NDArray[np.int32],
) -> float:
    """Write the scaled matrix of two sequences; return by what it is scaled.

    Parameters
    ----------
    scores, start, lambda_, bounds, work, bits
        See `adjust_matrices`. The work space has the fractions of the amino acids.
    out
        (32, 32) receives the scores but those of ``*``.
    """
    query, target = work[QUERY : QUERY + CODES], work[TARGET : TARGET + CODES]
    low, high = bounds
    histogram = work[HISTOGRAM : HISTOGRAM + high - low + 1]
    histogram[:] = 0.0
    for i in range(AMINO_ACIDS):
        for j in range(AMINO_ACIDS):
            histogram[start[i, j] - low] += query[i] * target[j]
    ratio = find_ratio(histogram, low, lambda_ / SCALE, work, bits)
    write_matrix(scores, LETTERS, ratio, query, target, work[LOGS : LOGS + CODES], out)
    return ratio


@native
def write_optimized(
    lane: int,
    lambda_: float,
    work: NDArray[np.float64],
    bits: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the matrix of the joint probabilities that a lane has found.

    Parameters
    ----------
    lane
        The lane.
    lambda_, work, bits
        See `adjust_matrices`.
    out
        (32, 32) receives the scores but those of ``*``.
    """
    size = PAIRED * PAIRED
    ratios, spare = work[RATIOS : RATIOS + size], work[SPARE : SPARE + size]
    at = lane * CODES
    rows, columns = work[ROWS + at : ROWS + at + CODES], work[COLUMNS + at :]
    extend_joint(work[lane:], rows, columns, ratios)
    take_logarithms(ratios, spare, bits[SPARE : SPARE + size], ratios)
    logs = work[LOGS : LOGS + CODES]
    write_matrix(ratios, PAIRED, SCALE / lambda_, rows, columns, logs, out)


@native
def extend_joint(
    joint: NDArray[np.float64],
    rows: NDArray[np.float64],
    columns: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the ratios of joint probabilities to those of chance, with B, J and Z.

    Parameters
    ----------
    joint
        Every `LANES`-th number is a joint probability of amino acids, row by row.
    rows, columns
        (23,) frequencies of the amino acids, B, J and Z.
    out
        (23 * 23,) receives the ratios.
    """
    total = 0.0
    for k in range(PAIRS):
        total += joint[k * LANES]
    for i in range(AMINO_ACIDS):
        at = i * PAIRED
        for j in range(AMINO_ACIDS):
            out[at + j] = joint[(i * AMINO_ACIDS + j) * LANES] / total
        out[at + AMINO_ACIDS] = out[at + ASP] + out[at + ASN]
        out[at + AMINO_ACIDS + 1] = out[at + ILE] + out[at + LEU]
        out[at + AMINO_ACIDS + 2] = out[at + GLU] + out[at + GLN]
    for j in range(PAIRED):
        out[AMINO_ACIDS * PAIRED + j] = out[ASP * PAIRED + j] + out[ASN * PAIRED + j]
        out[(AMINO_ACIDS + 1) * PAIRED + j] = out[ILE * PAIRED + j] + out[LEU * PAIRED + j]
        out[(AMINO_ACIDS + 2) * PAIRED + j] = out[GLU * PAIRED + j] + out[GLN * PAIRED + j]
    for i in range(PAIRED):
        for j in range(PAIRED):
            out[i * PAIRED + j] /= rows[i] * columns[j]
