"""The joint probabilities of residue pairs that suit two compositions.

Of all probabilities x with the wanted marginals and relative entropy, those nearest to a matrix's
own q: with the least sum of x ln(x / q). Yu and Altschul 2005 (Bioinformatics 21, 902-911), section
2.2; the relative entropy is fixed as in Altschul et al. 2005 (FEBS Journal 272, 5101-5109).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.composition.logarithm import take_logarithms
from swdual.composition.tables import AMINO_ACIDS
from swdual.runtime.native import native

RELATIVE_ENTROPY = 0.44
"""Nats in an aligned pair of residues, for every matrix: about that of BLOSUM62."""

MAX_RESIDUAL = 1e-8
MAX_ITERATIONS = 2000
DAMPING = 0.95
"""A step that would make a probability negative goes 95 % of the way to where one is zero."""

PAIRS = AMINO_ACIDS * AMINO_ACIDS

# Where each array begins in the work space. All are parts of one array, so that LLVM sees that they
# do not overlap, and uses vector instructions.
X, LOG_Q, GRADIENT, RESIDUAL, TERMS, SYSTEM, TILTED, SPARE = range(0, 8 * PAIRS, PAIRS)
_VECTORS = range(8 * PAIRS, 9 * PAIRS, AMINO_ACIDS)
ROW, COLUMN, LOG_ROW, LOG_COLUMN, Z_ROW, Z_COLUMN, SUMS, COLUMN_R, COLUMN_G = _VECTORS[:9]
ENTROPIES, SQUARES, RIGHT, STEP_ROW, STEP_COLUMN, LARGEST, PIVOT_ROW = _VECTORS[9:16]

WORK_SIZE = 9 * PAIRS
"""Numbers in the work space."""


@native
def sum_row(values: NDArray[np.float64], start: int) -> float:
    """Return the sum of the 20 numbers from `start` on."""
    a = b = c = d = 0.0
    for k in range(start, start + AMINO_ACIDS, 4):
        a += values[k]
        b += values[k + 1]
        c += values[k + 2]
        d += values[k + 3]
    return (a + b) + (c + d)


@native
def optimize_joint(
    joint: NDArray[np.float64],
    rows: NDArray[np.float64],
    columns: NDArray[np.float64],
    work: NDArray[np.float64],
    bits: NDArray[np.int64],
) -> int:
    """Find the joint probabilities; return the number of iterations, or -1 if there are none.

    Parameters
    ----------
    joint
        (400,) the matrix's own probabilities, row by row.
    rows, columns
        (20,) the wanted marginals, positive.
    work, bits
        Work space of `WORK_SIZE` numbers: the same memory as float64 and as int64. The first 400
        receive the probabilities, row by row.
    """
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
    # equations for 19 rows and the entropy. Row 0 of the 20 x 20 system stands for the entropy,
    # since the first row of the probabilities has no equation.
    # For two loops that LLVM would unroll before it vectorises them, were their count a constant.
    size = len(rows)
    spare, spare_bits = work[SPARE : SPARE + PAIRS], bits[SPARE : SPARE + PAIRS]
    take_logarithms(joint, spare, spare_bits, work[LOG_Q : LOG_Q + PAIRS])
    take_logarithms(rows, spare, spare_bits, work[LOG_ROW : LOG_ROW + AMINO_ACIDS])
    take_logarithms(columns, spare, spare_bits, work[LOG_COLUMN : LOG_COLUMN + 20])
    for k in range(PAIRS):
        work[X + k] = joint[k]
    for k in range(AMINO_ACIDS):
        work[ROW + k] = rows[k]
        work[COLUMN + k] = columns[k]
        work[Z_ROW + k] = 0.0
        work[Z_COLUMN + k] = 0.0
    eta = 0.0
    for iteration in range(MAX_ITERATIONS + 1):
        take_logarithms(work, spare, spare_bits, work[GRADIENT : GRADIENT + PAIRS])
        # Residuals, and the sums over columns that the equations need.
        for j in range(AMINO_ACIDS):
            work[SUMS + j] = 0.0
            work[COLUMN_R + j] = 0.0
            work[COLUMN_G + j] = 0.0
            work[ENTROPIES + j] = 0.0
            work[SQUARES + j] = 0.0
        for i in range(AMINO_ACIDS):
            at = i * AMINO_ACIDS
            z, log_p = work[Z_ROW + i], work[LOG_ROW + i]
            for j in range(AMINO_ACIDS):
                x, log_x = work[X + at + j], work[GRADIENT + at + j]
                information = log_x - log_p - work[LOG_COLUMN + j]
                gradient = information + 1.0
                change = log_x - work[LOG_Q + at + j] + 1.0
                residual = eta * gradient - change + work[Z_COLUMN + j] + z
                work[GRADIENT + at + j] = gradient
                work[RESIDUAL + at + j] = residual
                work[SUMS + j] += x
                work[COLUMN_R + j] += x * residual
                work[COLUMN_G + j] += x * gradient
                work[ENTROPIES + j] += x * information
                work[SQUARES + j] += residual * residual
        r_entropy = RELATIVE_ENTROPY
        square = 0.0
        for j in range(AMINO_ACIDS):
            r_entropy -= work[ENTROPIES + j]
            square += work[SQUARES + j]
        square += r_entropy * r_entropy
        for j in range(AMINO_ACIDS):
            square += (work[COLUMN + j] - work[SUMS + j]) ** 2
        for i in range(1, AMINO_ACIDS):
            work[STEP_ROW + i] = work[ROW + i] - sum_row(work, X + i * AMINO_ACIDS)
            square += work[STEP_ROW + i] ** 2
        if not square > MAX_RESIDUAL * MAX_RESIDUAL:
            return iteration if eta < 1.0 and square >= 0.0 else -1
        # The equations, multiplied by (1 - eta): d becomes x.
        slack = 1.0 - eta
        for k in range(PAIRS):
            work[SYSTEM + k] = 0.0
            work[TERMS + k] = work[X + k] * work[GRADIENT + k]
        for k in range(AMINO_ACIDS):
            moment = sum_row(work, TERMS + k * AMINO_ACIDS)
            work[SYSTEM + k] = moment
            work[SYSTEM + k * AMINO_ACIDS] = moment
        for k in range(PAIRS):
            work[TILTED + k] = work[TERMS + k] * work[GRADIENT + k]
            work[SPARE + k] = work[TERMS + k] * work[RESIDUAL + k]
            work[TERMS + k] = work[X + k] * work[RESIDUAL + k]
        work[SYSTEM] = 0.0
        work[RIGHT] = slack * r_entropy
        for i in range(AMINO_ACIDS):
            work[SYSTEM] += sum_row(work, TILTED + i * AMINO_ACIDS)
            work[RIGHT] -= sum_row(work, SPARE + i * AMINO_ACIDS)
        for i in range(1, AMINO_ACIDS):
            r_row = work[STEP_ROW + i]
            work[RIGHT + i] = slack * r_row - sum_row(work, TERMS + i * AMINO_ACIDS)
            work[SYSTEM + i * AMINO_ACIDS + i] = work[ROW + i] - r_row
        # Row j of TILTED: the coefficients of column sum j in the 20 equations.
        for j in range(AMINO_ACIDS):
            r_column = work[COLUMN + j] - work[SUMS + j]
            work[COLUMN_R + j] = slack * r_column - work[COLUMN_R + j]
            work[TILTED + j * AMINO_ACIDS] = work[COLUMN_G + j]
            for i in range(1, AMINO_ACIDS):
                work[TILTED + j * AMINO_ACIDS + i] = work[X + i * AMINO_ACIDS + j]
        for j in range(AMINO_ACIDS):
            tilted = TILTED + j * AMINO_ACIDS
            inverse = 1.0 / work[SUMS + j]
            share = work[COLUMN_R + j] * inverse
            for i in range(AMINO_ACIDS):
                work[RIGHT + i] -= work[tilted + i] * share
            for i in range(AMINO_ACIDS):
                work[PIVOT_ROW + i] = work[tilted + i]
            for i in range(AMINO_ACIDS):
                factor = work[PIVOT_ROW + i] * inverse
                for k in range(size):
                    work[SYSTEM + i * AMINO_ACIDS + k] -= factor * work[PIVOT_ROW + k]
        # Elimination without pivoting: the system is positive definite while eta < 1.
        for k in range(AMINO_ACIDS):
            pivot = work[SYSTEM + k * AMINO_ACIDS + k]
            if not pivot > 0.0:
                return -1
            inverse = 1.0 / pivot
            for i in range(AMINO_ACIDS):
                work[PIVOT_ROW + i] = work[SYSTEM + k * AMINO_ACIDS + i]
            for i in range(k + 1, AMINO_ACIDS):
                factor = work[SYSTEM + i * AMINO_ACIDS + k] * inverse
                work[RIGHT + i] -= factor * work[RIGHT + k]
                for j in range(size):
                    work[SYSTEM + i * AMINO_ACIDS + j] -= factor * work[PIVOT_ROW + j]
        for k in range(AMINO_ACIDS - 1, -1, -1):
            value = work[RIGHT + k] / work[SYSTEM + k * AMINO_ACIDS + k]
            work[STEP_ROW + k] = value
            for i in range(AMINO_ACIDS):  # below row k it subtracts from what is no longer needed
                work[RIGHT + i] -= work[SYSTEM + i * AMINO_ACIDS + k] * value
        # The step of x, and how far it may go.
        step_eta = work[STEP_ROW]
        work[STEP_ROW] = 0.0
        for j in range(AMINO_ACIDS):
            work[COLUMN_R + j] -= work[COLUMN_G + j] * step_eta
            work[LARGEST + j] = DAMPING
        for i in range(1, AMINO_ACIDS):
            step = work[STEP_ROW + i]
            for j in range(AMINO_ACIDS):
                work[COLUMN_R + j] -= work[X + i * AMINO_ACIDS + j] * step
        for j in range(AMINO_ACIDS):
            work[STEP_COLUMN + j] = work[COLUMN_R + j] / work[SUMS + j]
        inverse = 1.0 / slack
        for i in range(AMINO_ACIDS):
            at = i * AMINO_ACIDS
            step = work[STEP_ROW + i]
            for j in range(AMINO_ACIDS):
                total = work[RESIDUAL + at + j] + work[STEP_COLUMN + j] + step
                change = inverse * (total + step_eta * work[GRADIENT + at + j])
                work[TERMS + at + j] = work[X + at + j] * change
                work[LARGEST + j] = max(work[LARGEST + j], -change)
        most = DAMPING
        for j in range(AMINO_ACIDS):
            most = max(most, work[LARGEST + j])
        length = DAMPING / most
        for k in range(PAIRS):
            work[X + k] += length * work[TERMS + k]
        for k in range(2 * AMINO_ACIDS):
            work[Z_ROW + k] += length * work[STEP_ROW + k]
        eta += length * step_eta
    return -1
