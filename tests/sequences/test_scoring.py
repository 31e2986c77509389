"""Gap prices: those that BLAST takes for each matrix, those of others, and those that are none."""

from __future__ import annotations

import pytest

from swdual import search
from swdual.errors import InputError, StatisticsUnavailable
from swdual.sequences import matrices
from swdual.sequences.scoring import MAX_GAP_COST, PREFERRED_GAPS, ScoringScheme

BLAST = {
    "BLOSUM45": (14, 2),
    "BLOSUM50": (13, 2),
    "BLOSUM62": (11, 1),
    "BLOSUM80": (10, 1),
    "BLOSUM90": (10, 1),
    "PAM30": (9, 1),
    "PAM70": (10, 1),
    "PAM250": (15, 2),
}
"""What ``blastp -matrix NAME`` reports as "Gap Penalties" (BLAST+ 2.12.0)."""


@pytest.mark.parametrize("name", BLAST)
def test_each_matrix_takes_the_gap_prices_that_blastp_takes(name):
    """In the table, and in a search that names no prices."""
    assert PREFERRED_GAPS[name] == BLAST[name]
    scheme = search("MKVLAW", {"t": "MKVLAW"}, matrix=name.lower()).params.scheme
    assert (scheme.matrix.name, scheme.gap_open, scheme.gap_extend) == (name, *BLAST[name])


def test_there_is_a_price_for_every_matrix():
    """And for no other."""
    assert [*PREFERRED_GAPS] == matrices.names()
    assert matrices.names()[: len(BLAST)] == [*BLAST]


@pytest.mark.parametrize("name", matrices.names()[len(BLAST) :])
def test_each_other_matrix_has_gap_prices_and_e_values_of_its_own(name):
    """So that a search names nothing but the matrix; `stats` may be named, too."""
    one = "MKVLAWGGHEMKVLAWQRSTPNDYFILVCAGHEKMRW"
    results = search(one, {"t": one}, matrix=name.lower())
    scheme = results.params.scheme
    assert (scheme.matrix.name, scheme.gap_open, scheme.gap_extend) == (name, *PREFERRED_GAPS[name])
    assert results.params.stats == "fit"
    assert 0 < results[0][0].evalue < 1e-3
    assert search(one, {"t": one}, matrix=name, stats="none").params.stats == "none"
    with pytest.raises(StatisticsUnavailable, match=f"{name}.*use `stats='fit'`"):
        search(one, {"t": one}, matrix=name, stats="table")
    with pytest.raises(StatisticsUnavailable, match=f"{name}.*cannot be adjusted"):
        search(one, {"t": one}, matrix=name, comp_based_stats=2)


def test_ncbi_s_matrices_and_files_have_tabled_e_values_by_default(here):
    """A file with other scores is refused, and the message names `fit`."""
    (here / "m").write_text("  A R\nA 4 -1\nR -1 5\n")
    for name in BLAST:
        assert search("MKVLAW", {"t": "MKVLAW"}, matrix=name).params.stats == "table"
    with pytest.raises(StatisticsUnavailable, match="use `stats='fit'`"):
        search("ARAR", {"t": "ARAR"}, matrix="m")


def test_a_price_that_is_given_takes_the_place_of_the_usual_one():
    """One alone leaves the other as it was."""
    targets = {"t": "MKVLAW"}
    for options, expected in (
        ({"gap_open": 12}, (12, 2)),
        ({"gap_extend": 3}, (14, 3)),
        ({"gap_open": 0, "gap_extend": 0}, (0, 0)),
    ):
        found = search("MKVLAW", targets, matrix="BLOSUM45", stats="none", **options)
        scheme = found.params.scheme
        assert (scheme.gap_open, scheme.gap_extend) == expected


def test_other_matrices_take_the_prices_of_blosum62(here):
    """A matrix that NCBI does not know has no prices of its own."""
    (here / "m").write_text("  A R\nA 4 -1\nR -1 5\n")
    scheme = search("ARAR", {"t": "ARAR"}, matrix="m", stats="none").params.scheme
    assert (scheme.gap_open, scheme.gap_extend) == (11, 1)


def test_nucleotides_take_5_and_2(here):
    """Whatever reward and penalty are, and with a matrix file too."""
    (here / "m").write_text("  A C G T\nA 1 -1 -1 -1\nC -1 1 -1 -1\nG -1 -1 1 -1\nT -1 -1 -1 1\n")
    for options in ({}, {"reward": 1, "penalty": -2}, {"matrix": "m"}):
        found = search("ACGT", {"t": "ACGT"}, dbtype="nucl", stats="none", **options)
        scheme = found.params.scheme
        assert (scheme.gap_open, scheme.gap_extend) == (5, 2)


@pytest.mark.parametrize("name", ["gap_open", "gap_extend"])
@pytest.mark.parametrize("price", [-1, -11, MAX_GAP_COST + 1])
def test_prices_beyond_the_limits_are_refused(name, price):
    """The message says which, and how prices are written; the limits themselves are fine."""
    matrix = matrices.load("BLOSUM62")
    with pytest.raises(InputError, match=rf"`{name}` is {price}, .* 11 and 1, not -11 and -1"):
        ScoringScheme(matrix, **{name: price})
    for limit in (0, MAX_GAP_COST):
        assert getattr(ScoringScheme(matrix, **{name: limit}), name) == limit
