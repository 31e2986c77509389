"""The optimised joint probabilities meet the conditions of an optimum (Karush, Kuhn, Tucker)."""

from __future__ import annotations

import numpy as np
import pytest
from support.compositions import NCBI_NAMES

from swdual.composition.optimize import RELATIVE_ENTROPY, WORK_SIZE, optimize_joint
from swdual.composition.tables import find_tables
from swdual.sequences.matrices import load
from swdual.sequences.scoring import ScoringScheme


def optimum(joint, rows, columns):
    """Return the number of iterations and the joint probabilities."""
    work = np.full(WORK_SIZE, np.nan)
    iterations = optimize_joint(joint.ravel(), rows, columns, work, work.view(np.int64))
    return iterations, work[:400].reshape(20, 20)


def margins(rng, background, concentration):
    """Return frequencies near those of a matrix; the smaller the concentration, the less near."""
    return 0.9 * rng.dirichlet(concentration * background) + 0.1 * background


@pytest.mark.parametrize("name", NCBI_NAMES)
@pytest.mark.parametrize("concentration", [1000.0, 100.0, 20.0])
def test_the_optimum_meets_its_constraints_and_conditions(name, concentration):
    """Margins and relative entropy are as wanted, and the gradient is a sum of multipliers."""
    tables = find_tables(ScoringScheme(load(name)))
    rng = np.random.default_rng(7)
    for _ in range(5):
        rows = margins(rng, tables.background, concentration)
        columns = margins(rng, tables.background, concentration)
        iterations, x = optimum(tables.joint, rows, columns)
        assert 1 <= iterations <= 30
        assert (x > 0).all()
        np.testing.assert_allclose(x.sum(axis=1), rows, atol=1e-8)
        np.testing.assert_allclose(x.sum(axis=0), columns, atol=1e-8)
        information = np.log(x / np.outer(rows, columns))
        assert (x * information).sum() == pytest.approx(RELATIVE_ENTROPY, abs=1e-8)
        # ln(x / q) is a part eta < 1 of the information, plus one number a row and a column.
        change = doubly_centred(np.log(x / tables.joint)).ravel()
        direction = doubly_centred(information).ravel()
        eta = change @ direction / (direction @ direction)
        assert eta < 1
        np.testing.assert_allclose(change, eta * direction, atol=1e-6)


def doubly_centred(matrix):
    """Return a matrix without its part that is a sum of row and column numbers."""
    rows = matrix.mean(axis=1, keepdims=True)
    return matrix - rows - matrix.mean(axis=0) + rows.mean()


def test_no_feasible_point_near_a_change_is_nearer():
    """Other probabilities with these margins and this entropy lie farther from the matrix's."""
    tables = find_tables(ScoringScheme(load("BLOSUM62")))
    rng = np.random.default_rng(3)
    rows, columns = (margins(rng, tables.background, 50.0) for _ in range(2))
    _, x = optimum(tables.joint, rows, columns)
    distance = (x * np.log(x / tables.joint)).sum()
    information = np.log(x / np.outer(rows, columns))
    for _ in range(50):
        step = doubly_centred(x * doubly_centred(rng.normal(size=(20, 20))))
        # Orthogonal to the gradient of the entropy: the step leaves it as it is, to first order.
        direction = doubly_centred(information)
        step -= direction * (step * information).sum() / (direction * information).sum()
        step *= 0.1 * (x / np.abs(step)).min()
        moved = x + step
        nearer = (moved * np.log(moved / tables.joint)).sum()
        entropy = (moved * np.log(moved / np.outer(rows, columns))).sum()
        # Second order: the entropy grows, which the multiplier accounts for.
        change = doubly_centred(np.log(x / tables.joint)).ravel()
        eta = change @ direction.ravel() / (direction.ravel() @ direction.ravel())
        assert nearer - eta * (entropy - RELATIVE_ENTROPY) > distance


def test_impossible_margins_have_no_optimum():
    """Two sequences of nearly one letter cannot hold 0.44 nats a pair."""
    tables = find_tables(ScoringScheme(load("BLOSUM62")))
    margin = np.full(20, 1e-6)
    margin[0] = 1 - 19e-6
    iterations, _ = optimum(tables.joint, margin, margin)
    assert iterations == -1
