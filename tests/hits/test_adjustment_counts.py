"""Counts of adjusted pairs."""

from __future__ import annotations

from pathlib import Path

import swdual
from swdual.hits.adjustment_counts import AdjustmentCounts
from swdual.request import search_parameters

GOLDEN = Path(__file__).parents[1] / "golden"


def find(**options):
    queries, targets = GOLDEN / "biased_queries.fasta", GOLDEN / "biased_targets.fasta"
    return swdual.search(queries, targets, comp_based_stats=2, max_target_seqs=1000, **options)


def test_totals_are_sums():
    """Of no query, all are 0."""
    assert AdjustmentCounts.total([]) == AdjustmentCounts()
    assert AdjustmentCounts.total([AdjustmentCounts(1, 2), AdjustmentCounts(1, 20)]) == (2, 22)


def test_a_single_pair_is_said_so():
    """With words in the singular."""
    assert AdjustmentCounts(1, 1).describe() == "1 candidate of 1 query adjusted"


def test_counts_are_those_of_candidates(monkeypatch):
    """Each hit was a candidate; where all are adjusted, candidates are all pairs."""
    monkeypatch.setattr(search_parameters, "CANDIDATE_FACTOR", 1e-30)
    usual, complete = find(), find(adjust="all")
    pairs = len(usual) * len(usual[0].targets)
    assert len(usual.scores) <= usual.adjustment_counts.candidates < pairs
    assert complete.adjustment_counts == (len(usual), pairs)
    for result in usual:
        assert result.adjustment_counts.candidates >= len(result)
