"""The optimised joint probabilities meet the conditions of an optimum (Karush, Kuhn, Tucker)."""

from __future__ import annotations

import numpy as np
import pytest
from support.compositions import NCBI_NAMES

from swdual.composition import optimize
from swdual.composition.optimize import (
    LANES,
    RELATIVE_ENTROPY,
    RUNNING,
    WORK_SIZE,
    find_residuals,
    find_state,
    place_pair,
    step,
)
from swdual.composition.tables import find_tables
from swdual.lanes.score_widths import allocate_aligned
from swdual.sequences.matrices import load
from swdual.sequences.scoring import ScoringScheme


def optimum(joint, rows, columns):
    """Return the number of iterations and the joint probabilities."""
    [(iterations, x)] = optima(joint, [(rows, columns)])
    return iterations, x


def optima(joint, pairs):
    """Return the same for pairs of marginals, at most one a lane; other lanes hold no numbers."""
    bits = allocate_aligned(WORK_SIZE, np.dtype(np.int64))
    work = bits.view(np.float64)
    work[:] = np.nan
    for lane, (rows, columns) in enumerate(pairs):
        place_pair(lane, joint.ravel(), rows, columns, work, bits)
    found = {}
    for iteration in range(optimize.MAX_ITERATIONS + 1):
        find_residuals(np.log(joint.ravel()), work, bits)
        for lane in set(range(len(pairs))) - set(found):
            state = find_state(lane, iteration, work)
            if state != RUNNING:
                found[lane] = state, work[lane : 400 * LANES : LANES].reshape(20, 20).copy()
        if len(found) == len(pairs):
            break
        step(work)
    return [found[lane] for lane in range(len(pairs))]


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


def test_lanes_do_not_touch_one_another():
    """Pairs give the same bits alone and beside others, in whichever lane, solvable or not."""
    tables = find_tables(ScoringScheme(load("BLOSUM62")))
    rng = np.random.default_rng(11)
    impossible = np.full(20, 1e-6)
    impossible[0] = 1 - 19e-6
    pairs = [
        [margins(rng, tables.background, c) for _ in range(2)]
        for c in (1000.0, 10.0, 300.0, 3.0, 100.0, 30.0, 20.0)
    ]
    pairs.insert(3, [impossible, impossible])
    assert len(pairs) == LANES
    together = optima(tables.joint, pairs)
    assert len({iterations for iterations, _ in together}) > 2
    for (iterations, x), pair in zip(together, pairs, strict=True):
        alone, expected = optimum(tables.joint, *pair)
        assert alone == iterations
        if alone >= 0:
            np.testing.assert_array_equal(x, expected)
