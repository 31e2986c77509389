"""The joint probabilities of residue pairs that suit two compositions.

Of all probabilities x with the wanted marginals and relative entropy, those nearest to a matrix's
own q: with the least sum of x ln(x / q). Yu and Altschul 2005 (Bioinformatics 21, 902-911), section
2.2; the relative entropy is fixed as in Altschul et al. 2005 (FEBS Journal 272, 5101-5109).

Newton's method is run for `LANES` pairs of sequences at once, each in a lane of vectors. A lane
whose pair is done takes the next pair, so that lanes need not wait for one another.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from swdual.composition.logarithm import take_logarithms
from swdual.composition.tables import AMINO_ACIDS
from swdual.runtime.native import native, native_family

RELATIVE_ENTROPY = 0.44
"""Nats in an aligned pair of residues, for every matrix: about that of BLOSUM62."""

MAX_RESIDUAL = 1e-8
MAX_ITERATIONS = 2000
DAMPING = 0.95
"""A step that would make a probability negative goes 95 % of the way to where one is zero."""

PAIRS = AMINO_ACIDS * AMINO_ACIDS

LANES = 8
"""Pairs of sequences at once: a register of AVX-512, two of AVX2. All machines have as many, and so
the same results."""

# Where each array of vectors begins in the work space: number k of a lane is at
# (array + k) * LANES + lane. COLUMN_GRADIENTS follows the rows of X as one more: see `step_kernel`.
X = 0
COLUMN_GRADIENTS = X + PAIRS
GRADIENT, RESIDUAL, FACTORS, SYSTEM = range(COLUMN_GRADIENTS + AMINO_ACIDS, 5 * PAIRS, PAIRS)
_VECTORS = range(SYSTEM + PAIRS, SYSTEM + 2 * PAIRS, AMINO_ACIDS)
ROW, COLUMN, LOG_ROW, LOG_COLUMN, Z_ROW, Z_COLUMN = _VECTORS[:6]
SUMS, COLUMN_RESIDUALS, ROW_SUMS, ROW_RESIDUALS, RIGHT, STEP_COLUMN = _VECTORS[6:12]
ETA, R_ENTROPY, SQUARE = range(_VECTORS[12], _VECTORS[12] + 3)
SPARE = SQUARE + 1

WORK_SIZE = (SPARE + 2 * AMINO_ACIDS) * LANES
"""Numbers in the work space."""

RUNNING = -2
"""The state of a lane that needs more iterations: see `find_state`."""


@native
def place_pair(
    lane: int,
    joint: NDArray[np.float64],
    rows: NDArray[np.float64],
    columns: NDArray[np.float64],
    work: NDArray[np.float64],
    bits: NDArray[np.int64],
) -> None:
    """Give a lane a pair of sequences to begin with.

    Parameters
    ----------
    lane
        The lane.
    joint
        (400,) the matrix's own probabilities, row by row.
    rows, columns
        (20,) the wanted marginals, positive.
    work, bits
        Work space of `WORK_SIZE` numbers, aligned to 64 bytes: the same memory as float64 and as
        int64.
    """
    for k in range(PAIRS):
        work[(X + k) * LANES + lane] = joint[k]
    work[ETA * LANES + lane] = 0.0
    first = SPARE * LANES
    spare, spare_bits = work[first : first + AMINO_ACIDS], bits[first : first + AMINO_ACIDS]
    logs = work[first + AMINO_ACIDS : first + 2 * AMINO_ACIDS]
    for part in range(2):
        wanted = rows if part == 0 else columns
        take_logarithms(wanted, spare, spare_bits, logs)
        for k in range(AMINO_ACIDS):
            work[(ROW + part * AMINO_ACIDS + k) * LANES + lane] = wanted[k]
            work[(LOG_ROW + part * AMINO_ACIDS + k) * LANES + lane] = logs[k]
            work[(Z_ROW + part * AMINO_ACIDS + k) * LANES + lane] = 0.0


@native
def find_state(lane: int, iteration: int, work: NDArray[np.float64]) -> int:
    """Return the iterations that a lane needed, -1 if there is no solution, or `RUNNING`.

    Parameters
    ----------
    lane
        The lane; what `residual_kernel` wrote for it counts.
    iteration
        Steps of this pair so far.
    work
        See `place_pair`.
    """
    # Elimination has no pivoting: the system is positive definite while eta < 1.
    if iteration > 0:
        for k in range(AMINO_ACIDS):
            if not work[(SYSTEM + k * (AMINO_ACIDS + 1)) * LANES + lane] > 0.0:
                return -1
    square = work[SQUARE * LANES + lane]
    if not square > MAX_RESIDUAL * MAX_RESIDUAL:
        return iteration if work[ETA * LANES + lane] < 1.0 and square >= 0.0 else -1
    return -1 if iteration == MAX_ITERATIONS else RUNNING


# Newton's method on the Lagrangian. The constraints are 20 column sums, 19 row sums (the first
# follows from the others) and the relative entropy, with multipliers z_column, z_row and eta.
# With s = ln(q / (row column)), l = ln(x / q), and the gradients
#     g0 = l + 1 of the objective,   g1 = l + s + 1 of the relative entropy,
# the residuals are
#     r_x = -g0 + eta g1 + z_column + z_row
#     r_column = column - sum x,   r_row = row - sum x,   r_entropy = 0.44 - sum x (l + s)
# and a step is, with d = x / (1 - eta) and J the Jacobian of the constraints,
#     (J d J') dz = r_z - J d r_x,   dx = d (r_x + J' dz).
# In J d J' the part of the column sums is diagonal. It is eliminated; what remains are 20
# equations, multiplied by (1 - eta) so that d becomes x: 19 for rows 1 to 19, then the entropy.


@native_family
def residual_kernel(lanes: int) -> Callable[..., None]:
    """Return the kernel that computes the residuals, and their sums over rows and columns.

    Parameters
    ----------
    lanes
        `LANES`.
    """
    from swdual.lanes.doubles import splat
    from swdual.lanes.vector import load, store

    def find_residuals(
        log_q: NDArray[np.float64], work: NDArray[np.float64], bits: NDArray[np.int64]
    ) -> None:
        # log_q: (400,) logarithms of the matrix's own probabilities, the same in all lanes.
        at = SPARE * lanes
        size = AMINO_ACIDS * lanes
        zero, one = splat(0.0, lanes), splat(1.0, lanes)
        for j in range(AMINO_ACIDS):
            store(work, (SUMS + j) * lanes, zero)
            store(work, (COLUMN_RESIDUALS + j) * lanes, zero)
            store(work, (COLUMN_GRADIENTS + j) * lanes, zero)
        eta = load(work, ETA * lanes, lanes)
        entropy = square = tilt = tilted_residual = zero
        for i in range(AMINO_ACIDS):
            first = (GRADIENT + i * AMINO_ACIDS) * lanes
            take_logarithms(
                work[(X + i * AMINO_ACIDS) * lanes :],
                work[at : at + size],
                bits[at : at + size],
                work[first : first + size],
            )
            z, log_p = (
                load(work, (Z_ROW + i) * lanes, lanes),
                load(work, (LOG_ROW + i) * lanes, lanes),
            )
            row_sum = row_residual = moment = zero
            for j in range(AMINO_ACIDS):
                k = i * AMINO_ACIDS + j
                x, log_x = (
                    load(work, (X + k) * lanes, lanes),
                    load(work, (GRADIENT + k) * lanes, lanes),
                )
                information = log_x - log_p - load(work, (LOG_COLUMN + j) * lanes, lanes)
                gradient = information + one
                change = log_x - splat(log_q[k], lanes) + one
                residual = eta * gradient - change + load(work, (Z_COLUMN + j) * lanes, lanes) + z
                store(work, (GRADIENT + k) * lanes, gradient)
                store(work, (RESIDUAL + k) * lanes, residual)
                term, weighted = x * gradient, x * residual
                row_sum += x
                row_residual += weighted
                moment += term
                entropy += x * information
                square += residual * residual
                tilt += term * gradient
                tilted_residual += term * residual
                store(work, (SUMS + j) * lanes, load(work, (SUMS + j) * lanes, lanes) + x)
                at_j = (COLUMN_RESIDUALS + j) * lanes
                store(work, at_j, load(work, at_j, lanes) + weighted)
                at_j = (COLUMN_GRADIENTS + j) * lanes
                store(work, at_j, load(work, at_j, lanes) + term)
            store(work, (ROW_SUMS + i) * lanes, row_sum)
            store(work, (ROW_RESIDUALS + i) * lanes, row_residual)
            # The equation of a row has its moment as the coefficient of eta.
            if i > 0:
                store(work, (SYSTEM + i * AMINO_ACIDS - 1) * lanes, moment)
        store(work, (SYSTEM + PAIRS - 1) * lanes, tilt)
        store(work, (RIGHT + AMINO_ACIDS - 1) * lanes, tilted_residual)
        r_entropy = splat(RELATIVE_ENTROPY, lanes) - entropy
        square += r_entropy * r_entropy
        for j in range(AMINO_ACIDS):
            miss = load(work, (COLUMN + j) * lanes, lanes) - load(work, (SUMS + j) * lanes, lanes)
            square += miss * miss
        for i in range(1, AMINO_ACIDS):
            miss = load(work, (ROW + i) * lanes, lanes) - load(work, (ROW_SUMS + i) * lanes, lanes)
            square += miss * miss
        store(work, R_ENTROPY * lanes, r_entropy)
        store(work, SQUARE * lanes, square)

    return find_residuals


@native_family
def step_kernel(lanes: int) -> Callable[..., None]:
    """Return the kernel that makes a step of every lane, from the residuals.

    Parameters
    ----------
    lanes
        `LANES`.
    """
    from swdual.lanes.doubles import splat
    from swdual.lanes.vector import load, maximum, store

    def step(work: NDArray[np.float64]) -> None:
        zero, one, damping = splat(0.0, lanes), splat(1.0, lanes), splat(DAMPING, lanes)
        eta = load(work, ETA * lanes, lanes)
        slack = one - eta
        last = AMINO_ACIDS - 1
        # Row k of the 20 equations has the coefficients T[k, j] of the column sums: those of rows
        # 1 to 19 are x, which COLUMN_GRADIENTS follows as that of the entropy.
        rows = X + AMINO_ACIDS
        # Right sides, and the symmetric system, of which only the upper triangle is computed.
        for i in range(last):
            miss = load(work, (ROW + i + 1) * lanes, lanes)
            miss -= load(work, (ROW_SUMS + i + 1) * lanes, lanes)
            right = slack * miss - load(work, (ROW_RESIDUALS + i + 1) * lanes, lanes)
            store(work, (RIGHT + i) * lanes, right)
        right = slack * load(work, R_ENTROPY * lanes, lanes)
        right -= load(work, (RIGHT + last) * lanes, lanes)
        store(work, (RIGHT + last) * lanes, right)
        for j in range(AMINO_ACIDS):
            sums = load(work, (SUMS + j) * lanes, lanes)
            inverse = one / sums
            r_column = load(work, (COLUMN + j) * lanes, lanes) - sums
            right = slack * r_column - load(work, (COLUMN_RESIDUALS + j) * lanes, lanes)
            store(work, (COLUMN_RESIDUALS + j) * lanes, right)
            for i in range(AMINO_ACIDS):
                factor = load(work, (rows + i * AMINO_ACIDS + j) * lanes, lanes) * inverse
                store(work, (FACTORS + i * AMINO_ACIDS + j) * lanes, factor)
        for i in range(AMINO_ACIDS):
            factors = (FACTORS + i * AMINO_ACIDS) * lanes
            total = load(work, (RIGHT + i) * lanes, lanes)
            for j in range(AMINO_ACIDS):
                share = load(work, (COLUMN_RESIDUALS + j) * lanes, lanes)
                total -= load(work, factors + j * lanes, lanes) * share
            store(work, (RIGHT + i) * lanes, total)
            # Four columns at a time, to load each factor only once.
            for k in range(i // 4 * 4, AMINO_ACIDS, 4):
                a = b = c = d = zero
                first = (rows + k * AMINO_ACIDS) * lanes
                second, third, fourth = (
                    first + AMINO_ACIDS * lanes,
                    first + 2 * AMINO_ACIDS * lanes,
                    first + 3 * AMINO_ACIDS * lanes,
                )
                for j in range(0, AMINO_ACIDS * lanes, lanes):
                    factor = load(work, factors + j, lanes)
                    a += factor * load(work, first + j, lanes)
                    b += factor * load(work, second + j, lanes)
                    c += factor * load(work, third + j, lanes)
                    d += factor * load(work, fourth + j, lanes)
                at = (SYSTEM + i * AMINO_ACIDS + k) * lanes
                if k + 4 == AMINO_ACIDS:
                    d -= load(work, at + 3 * lanes, lanes)
                store(work, at, zero - a)
                store(work, at + lanes, zero - b)
                store(work, at + 2 * lanes, zero - c)
                store(work, at + 3 * lanes, zero - d)
            if i < last:
                at = (SYSTEM + i * (AMINO_ACIDS + 1)) * lanes
                diagonal = load(work, (ROW_SUMS + i + 1) * lanes, lanes)
                store(work, at, diagonal + load(work, at, lanes))
        # Elimination.
        for k in range(AMINO_ACIDS):
            pivots = (SYSTEM + k * AMINO_ACIDS) * lanes
            inverse = one / load(work, pivots + k * lanes, lanes)
            right = load(work, (RIGHT + k) * lanes, lanes)
            for i in range(k + 1, AMINO_ACIDS):
                factor = load(work, pivots + i * lanes, lanes) * inverse
                at = (RIGHT + i) * lanes
                store(work, at, load(work, at, lanes) - factor * right)
                at = (SYSTEM + i * AMINO_ACIDS) * lanes
                for j in range(i * lanes, AMINO_ACIDS * lanes, lanes):
                    value = load(work, at + j, lanes) - factor * load(work, pivots + j, lanes)
                    store(work, at + j, value)
        for k in range(last, -1, -1):
            at = (SYSTEM + k * AMINO_ACIDS) * lanes
            value = load(work, (RIGHT + k) * lanes, lanes)
            for j in range(k + 1, AMINO_ACIDS):
                value -= load(work, at + j * lanes, lanes) * load(work, (RIGHT + j) * lanes, lanes)
            store(work, (RIGHT + k) * lanes, value / load(work, at + k * lanes, lanes))
        # The step of x, and how far it may go.
        step_eta = load(work, (RIGHT + last) * lanes, lanes)
        for j in range(AMINO_ACIDS):
            total = load(work, (COLUMN_RESIDUALS + j) * lanes, lanes)
            for i in range(AMINO_ACIDS):
                step_row = load(work, (RIGHT + i) * lanes, lanes)
                total -= load(work, (rows + i * AMINO_ACIDS + j) * lanes, lanes) * step_row
            store(work, (STEP_COLUMN + j) * lanes, total / load(work, (SUMS + j) * lanes, lanes))
        inverse = one / slack
        most = damping
        for i in range(AMINO_ACIDS):
            step_row = zero
            if i > 0:
                step_row = load(work, (RIGHT + i - 1) * lanes, lanes)
            for j in range(AMINO_ACIDS):
                k = i * AMINO_ACIDS + j
                total = load(work, (RESIDUAL + k) * lanes, lanes)
                total = total + load(work, (STEP_COLUMN + j) * lanes, lanes) + step_row
                total += step_eta * load(work, (GRADIENT + k) * lanes, lanes)
                change = inverse * total
                most = maximum(most, zero - change)
                store(work, (RESIDUAL + k) * lanes, load(work, (X + k) * lanes, lanes) * change)
        length = damping / most
        for k in range(PAIRS):
            x = load(work, (X + k) * lanes, lanes)
            store(work, (X + k) * lanes, x + length * load(work, (RESIDUAL + k) * lanes, lanes))
        for k in range(last):
            at = (Z_ROW + k + 1) * lanes
            step_row = load(work, (RIGHT + k) * lanes, lanes)
            store(work, at, load(work, at, lanes) + length * step_row)
        for k in range(AMINO_ACIDS):
            at = (Z_COLUMN + k) * lanes
            step_column = load(work, (STEP_COLUMN + k) * lanes, lanes)
            store(work, at, load(work, at, lanes) + length * step_column)
        store(work, ETA * lanes, eta + length * step_eta)

    return step


find_residuals = residual_kernel(LANES)
step = step_kernel(LANES)
