"""A sample of the pairs that are not candidates: what it finds, and what it leaves as it is."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

import swdual
from swdual.errors import InputError
from swdual.formats import tabular
from swdual.io.output import Output
from swdual.master.unadjusted_sample import skip_ordinals
from swdual.request import search_parameters

GOLDEN = Path(__file__).parents[1] / "golden"
QUERIES, TARGETS = GOLDEN / "biased_queries.fasta", GOLDEN / "biased_targets.fasta"


@pytest.fixture(scope="module", autouse=True)
def few_candidates():
    """Many relatives are not candidates, so that adjusting all adds hits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_parameters, "CANDIDATE_FACTOR", 1e-30)
        yield


def find(**options):
    return swdual.search(QUERIES, TARGETS, comp_based_stats=2, max_target_seqs=1000, **options)


def text_of(results):
    stream = io.BytesIO()
    tabular.write(results, Output(stream, "memory"), tabular.FIELDS, header=False)
    return stream.getvalue()


@pytest.fixture(scope="module")
def usual():
    return find()


@pytest.fixture(scope="module")
def complete():
    """The hits where every target is adjusted."""
    return find(adjust="all")


def test_counts_are_those_of_all_pairs(usual, complete):
    """Candidates and others are all pairs; each hit was a candidate."""
    pairs = len(usual) * len(usual[0].targets)
    counts = usual.adjustment_counts
    assert counts.candidates + counts.others == pairs
    assert len(usual.scores) <= counts.candidates < pairs
    assert counts.sampled == counts.found == 0
    assert complete.adjustment_counts == (len(usual), pairs, 0, 0, 0)
    for result in usual:
        assert result.adjustment_counts.candidates >= len(result)


def test_a_sample_of_everything_finds_what_all_adds(usual, complete):
    """No more, no less; and the hits stay the same."""
    sampled = find(adjust_sample=10**6)
    counts = sampled.adjustment_counts
    assert counts.sampled == counts.others == usual.adjustment_counts.others
    assert counts.found == len(complete.scores) - len(usual.scores) > 0
    assert counts.missed[1] == counts.found
    assert text_of(sampled) == text_of(usual)


def test_the_sample_depends_on_nothing_but_the_search(usual):
    """Neither on threads nor on how often it is drawn."""
    found = [find(adjust_sample=500, threads=threads) for threads in (1, 2, 2)]
    assert found[0].adjustment_counts.sampled == 500
    assert len({each.adjustment_counts for each in found}) == 1
    assert [each.adjustment_counts for each in found[0]] == [
        each.adjustment_counts for each in found[1]
    ]
    assert all(text_of(each) == text_of(usual) for each in found)


def test_few_pairs_are_spread_over_the_queries():
    """A query has as many as another, give or take one."""
    shares = [each.adjustment_counts.sampled for each in find(adjust_sample=7)]
    assert sum(shares) == 7
    assert max(shares) == 1


@pytest.mark.parametrize(
    "options", [{"comp_based_stats": 0}, {"comp_based_stats": 1, "adjust": "all"}]
)
def test_nothing_to_sample_is_an_error(options):
    """Without composition-based statistics, or where all are adjusted anyway."""
    with pytest.raises(InputError, match="adjust_sample=3"):
        swdual.search("MKVLAW", {"t": "MKVLAW"}, adjust_sample=3, **options)


def test_skipped_numbers_are_left_out():
    """Every other number, in its order."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        count = int(rng.integers(1, 40))
        skipped = np.flatnonzero(rng.random(count) < 0.4)
        left = np.setdiff1d(np.arange(count), skipped)
        assert skip_ordinals(np.arange(len(left)), skipped).tolist() == left.tolist()
