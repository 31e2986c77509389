"""Hits become the rows of their alignments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import swdual
from swdual.errors import InputError, StatisticsUnavailable
from swdual.profiles import Profile
from swdual.profiles.rows import place_hits, show_rows

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def result():
    """Return the hits of a query with relatives of many degrees."""
    targets = ROOT / "tests" / "golden" / "biased_targets.fasta"
    queries = ROOT / "tests" / "golden" / "biased_queries.fasta"
    found = swdual.search(queries, targets, evalue=10, max_target_seqs=50, comp_based_stats=2)
    return next(result for result in found if result.query.id == "spotted")


def expected_row(hit, length):
    """Return the row of a hit, letter by letter."""
    query, _, target = hit.alignment.rows
    row = [" "] * length
    at = hit.alignment.query_start
    for a, b in zip(query, target.upper(), strict=True):
        if a != "-":
            row[at] = b
            at += 1
    return "".join(row).replace(" ", "-")


def test_rows_are_those_of_the_alignments(result):
    """In the order of the E-values, up to the limit; insertions are left out."""
    for limit in (0.002, 1e-20, 1.0):
        rows = place_hits(result, limit)
        hits = sorted((hit for hit in result if hit.evalue < limit), key=lambda hit: hit.evalue)
        length = len(result.query.codes)
        assert [*show_rows(rows)] == [expected_row(hit, length) for hit in hits]
    assert len(place_hits(result, 1.0)) >= len(place_hits(result, 0.002)) > 3
    assert any("-" in hit.alignment.rows[0] for hit in result)


def test_a_profile_of_hits_is_that_of_their_rows(result):
    """With the scheme of the search, and the title of the query."""
    rows = place_hits(result, 0.002)
    found = Profile.from_hits(result)
    expected = Profile.from_alignments(result.query.unmasked, rows, title=result.query.title)
    assert np.array_equal(found.scores, expected.scores)
    assert np.array_equal(found.frequencies, expected.frequencies)
    assert (found.title, found.gapped) == (result.query.title, expected.gapped)
    seeded = Profile.from_alignments(result.query.unmasked, rows, query_seed=True)
    assert np.array_equal(Profile.from_hits(result, query_seed=True).scores, seeded.scores)
    assert not np.array_equal(found.scores, seeded.scores)
    fewer = Profile.from_hits(result, inclusion=1e-20)
    assert not np.array_equal(found.frequencies, fewer.frequencies)


def test_without_hits_the_profile_is_that_of_the_query():
    """The search found nothing."""
    found = swdual.search("MKVLAWGGHERMKVLAW", {"other": "GGGG"})[0]
    profile = Profile.from_hits(found)
    assert not profile.frequencies.any()
    assert len(profile) == 17


def test_hits_need_e_values_and_proteins():
    """Others are refused."""
    without = swdual.search("MKVLAWGGHERMKVLAW", {"same": "MKVLAWGGHERMKVLAW"}, stats="none")[0]
    with pytest.raises(StatisticsUnavailable, match="needs E-values of the hits"):
        Profile.from_hits(without)
    bases = swdual.search("ACGT" * 20, {"same": "ACGT" * 20}, dbtype="nucl")[0]
    with pytest.raises(InputError, match="needs hits of proteins"):
        Profile.from_hits(bases)
