"""Score cutoffs: no hit is below that of its length, and they are no lower than they must be."""

from __future__ import annotations

import math

import numpy as np
import pytest

import swdual
from swdual.backends import simd
from swdual.composition.tables import SCALE
from swdual.master.context import CUTOFF_MARGIN
from swdual.sequences import matrices
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.table import TableStatistics

LENGTHS = [*range(1, 130), *range(130, 900, 11), 2000, 6000]
QUERIES = {"protein": (5, 40, 300), "nucleotide": (30, 300)}
SCHEMES = {
    "protein": (matrices.load("BLOSUM62"), 11, 1),
    "nucleotide": (matrices.match_mismatch(2, -3), 5, 2),
}


def random_sequences(name, lengths):
    rng = np.random.default_rng(1)
    letters = list("ACDEFGHIKLMNPQRSTVWY" if name == "protein" else "ACGT")
    return {f"s{n}": "".join(rng.choice(letters, n)) for n in lengths}


@pytest.fixture
def asked(monkeypatch):
    """The cutoffs with which scorers, and the adjuster, are asked: by the length of the query."""
    found = {"plain": {}, "adjusted": {}}
    best = simd.SimdScorer.best
    adjusted = swdual.master.context.SearchContext.adjusted_cutoffs

    def spy(self, query, block, first, last, cutoffs, progress, profile=None):
        found["plain"][len(query)] = cutoffs
        return best(self, query, block, first, last, cutoffs, progress, profile)

    def spy_adjusted(self, query):
        found["adjusted"][len(query.codes)] = adjusted(self, query)
        return found["adjusted"][len(query.codes)]

    monkeypatch.setattr(simd.SimdScorer, "best", spy)
    monkeypatch.setattr(swdual.master.context.SearchContext, "adjusted_cutoffs", spy_adjusted)
    return found


@pytest.mark.parametrize("evalue", [1e-30, 1e-3, 10.0, 1e5])
@pytest.mark.parametrize("name", QUERIES)
def test_cutoffs_are_the_lowest_scores_that_reach_the_limit(asked, name, evalue):
    """Of all lengths: never above, and three lower at most."""
    targets = random_sequences(name, LENGTHS)
    queries = random_sequences(name, QUERIES[name])
    matrix, gap_open, gap_extend = SCHEMES[name]
    swdual.search(queries, targets, evalue=evalue)
    scheme = ScoringScheme(matrix, gap_open, gap_extend)
    statistics = TableStatistics(scheme, sum(LENGTHS), len(LENGTHS))
    lengths = np.array(LENGTHS)
    first = max(10 * evalue, 1.0) if name == "protein" else evalue
    for kind, limit, scale in (("plain", first, 1), ("adjusted", evalue, SCALE)):
        assert set(asked[kind]) <= set(QUERIES[name])
        for query_length, cutoffs in asked[kind].items():
            found = cutoffs.select(lengths)
            below, above = (
                statistics.evaluate(scores / scale, query_length, lengths).log_evalues
                for scores in (found - 1, found + 3 * scale)
            )
            is_lowest = found <= scale // 2  # any score will do
            assert ((below > math.log(limit)) | is_lowest).all()
            assert (above <= math.log(limit) + CUTOFF_MARGIN).all()
    assert set(asked["plain"]) == set(QUERIES[name])


@pytest.mark.parametrize("options", [{"stats": "none"}, {"adjust": "all"}, {"evalue": math.inf}])
def test_without_a_limit_there_is_no_cutoff(asked, options):
    targets = random_sequences("protein", range(20, 60))
    swdual.search(random_sequences("protein", [50]), targets, **options)
    assert [cutoffs.lowest for cutoffs in asked["plain"].values()] in ([0], [1])


@pytest.mark.parametrize("options", [{}, {"comp_based_stats": 0}, {"min_raw_score": 45}])
def test_no_cutoff_is_below_the_smallest_score_of_a_hit(asked, options):
    targets = random_sequences("protein", range(20, 60))
    swdual.search(random_sequences("protein", [50]), targets, evalue=1e4, **options)
    least = options.get("min_raw_score", 1)
    plain, adjusted = asked["plain"][50].lowest, asked["adjusted"]
    if options.get("comp_based_stats") == 0:
        assert plain >= least
        assert not adjusted
    else:
        assert adjusted[50].lowest >= SCALE * least - SCALE // 2
