"""E-values mean what they say: random sequences find E targets by chance, on average."""

from __future__ import annotations

import math

import numpy as np
import pytest

from swdual import registry
from swdual.database.database import Database
from swdual.errors import StatisticsUnavailable
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import SubstitutionMatrix, load, names
from swdual.sequences.scoring import PREFERRED_GAPS, ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of
from swdual.statistics.fit import fit, histogram
from swdual.statistics.karlin_altschul import background
from swdual.statistics.parameters import gapped
from swdual.statistics.shuffle import shuffle_targets
from swdual.statistics.table import TableStatistics

QUERIES = 150
BLOSUM62 = ScoringScheme(load("BLOSUM62"), 11, 1)


def random_codes(random, length):
    frequencies = background(PROTEIN)
    return random.choice(len(frequencies), size=length, p=frequencies).astype(np.uint8).tobytes()


@pytest.fixture(scope="module")
def database():
    """1000 random proteins of 60 to 1500 residues."""
    random = np.random.default_rng(20)
    lengths = np.exp(random.normal(math.log(250), 0.5, 1000)).clip(60, 1500).astype(int)
    records = [Sequence(f"t{i}", random_codes(random, n)) for i, n in enumerate(lengths)]
    return Database.from_batches([batch_of(records)], PROTEIN, "random")


def scored(scorer, database, query):
    scores = [
        scorer(query, number, 0, len(block.lengths), lambda cells: None)
        for number, block in enumerate(database.blocks())
    ]
    lengths = [block.lengths for block in database.blocks()]
    return np.concatenate(scores).astype(np.int64), np.concatenate(lengths).astype(np.int64)


@pytest.fixture(scope="module")
def searches(database):
    """Scores and lengths of all targets, for each of many random queries of 200 residues."""
    random = np.random.default_rng(21)
    scorer = registry.load("swdual.backends", "simd").bind(database, BLOSUM62)
    return [scored(scorer, database, random_codes(random, 200)) for _ in range(QUERIES)]


def found_below(evaluations, threshold):
    """Return the number of targets with smaller E-values, per query."""
    below = [(e.log_evalues < math.log(threshold)).sum() for e in evaluations]
    return sum(below) / len(below)


def assert_calibrated(evaluations):
    """Counts are Poisson: three deviations, and 15 % for the tables' rounding, may be off."""
    for threshold in (0.1, 1, 10):
        slack = 3 * math.sqrt(threshold / len(evaluations)) + 0.15 * threshold
        assert found_below(evaluations, threshold) == pytest.approx(threshold, abs=slack)


def test_the_table_is_calibrated(database, searches):
    """A random query finds 0.1 targets with E < 0.1, 1 with E < 1 and 10 with E < 10."""
    table = TableStatistics(BLOSUM62, database.residues, len(database))
    assert_calibrated([table.evaluate(scores, 200, lengths) for scores, lengths in searches])


def test_the_fit_is_calibrated(database, searches):
    """So it is where every query's statistics come from its own scores."""
    size = (database.residues, len(database))
    assert_calibrated(
        [
            fit(histogram(scores, lengths), 200, *size, PROTEIN).evaluate(scores, 200, lengths)
            for scores, lengths in searches
        ]
    )


@pytest.mark.parametrize("name", names()[8:])
def test_cheap_gaps_make_fitted_e_values_too_large_but_never_too_small(database, name):
    """The matrices with low gap penalties: 0.25 to 1.2 times as many targets as E says."""
    random = np.random.default_rng(24)
    scheme = ScoringScheme(load(name), *PREFERRED_GAPS[name])
    scorer = registry.load("swdual.backends", "simd").bind(database, scheme)
    size = (database.residues, len(database))
    evaluations = []
    for _ in range(QUERIES):
        scores, lengths = scored(scorer, database, random_codes(random, 200))
        found = fit(histogram(scores, lengths), 200, *size, PROTEIN)
        evaluations.append(found.evaluate(scores, 200, lengths))
    for threshold in (1, 10):
        slack = 3 * math.sqrt(threshold / QUERIES)
        assert 0.25 * threshold < found_below(evaluations, threshold) < 1.2 * threshold + slack


def test_a_matrix_that_nobody_tabled_is_fitted(database):
    """BLOSUM62 in tripled units with asymmetric noise: no table has it, the fit is calibrated."""
    random = np.random.default_rng(22)
    scores = 3 * np.array(load("BLOSUM62").scores) + random.integers(-1, 2, (32, 32))
    scheme = ScoringScheme(SubstitutionMatrix("custom", PROTEIN, scores), 33, 3)
    with pytest.raises(StatisticsUnavailable):
        gapped(scheme)
    scorer = registry.load("swdual.backends", "simd").bind(database, scheme)
    size = (database.residues, len(database))
    evaluations = []
    for _ in range(60):
        columns = scored(scorer, database, random_codes(random, 200))
        found = fit(histogram(*columns), 200, *size, PROTEIN)
        evaluations.append(found.evaluate(columns[0], 200, columns[1]))
    assert_calibrated(evaluations)


def test_shuffled_copies_stand_in_for_the_targets_of_a_small_database(database):
    """A fit to five targets' copies gives the E-values of a fit to a thousand targets."""
    random = np.random.default_rng(23)
    small = Database.from_batches([batch_of([database[i] for i in range(5)])], PROTEIN, "small")
    copies = shuffle_targets(small)
    query = random_codes(random, 200)
    bind = registry.load("swdual.backends", "simd").bind
    columns = scored(bind(small, BLOSUM62), small, query)
    counts = histogram(*columns) + histogram(*scored(bind(copies, BLOSUM62), copies, query))
    assert counts.sum() == 500
    found = fit(counts, 200, small.residues, 5, PROTEIN)
    whole = scored(bind(database, BLOSUM62), database, query)
    reference = fit(histogram(*whole), 200, small.residues, 5, PROTEIN)
    probe = np.array([60, 80]), 200, np.array([250, 250])
    assert found.evaluate(*probe).log_evalues == pytest.approx(
        reference.evaluate(*probe).log_evalues, rel=0.25
    )
