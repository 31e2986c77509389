"""Rows of several chains are paired by organism, and joined."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from oracles import multiple_alignment as oracle
from support.properties import examples

from swdual import Complex, MultipleAlignment
from swdual.multiple_alignment.alphafold_input import AlphaFoldInput
from swdual.multiple_alignment.multiple_alignment import ABSENT


def chain(name, query, *organisms):
    """Return an alignment whose rows equal the query, of these organisms."""
    titles = [name, *(f"{name}{k}" for k in range(1, len(organisms) + 1))]
    return MultipleAlignment(titles, [query.encode()] * len(titles), ["", *organisms])


@given(st.lists(st.lists(st.sampled_from(["", "9606", "562", "7227"]), max_size=12), max_size=4))
@examples(100)
def test_pairs_are_the_oracles(organisms):
    chains = [chain(f"c{k}", "MKV" * (k + 1), *each) for k, each in enumerate(organisms)]
    expected = oracle.pairs_of([each.organisms for each in chains])
    found = Complex.of(chains).pairs
    assert [[None if row == ABSENT else row for row in pair] for pair in found] == expected


def test_pairs_of_more_chains_come_first_and_the_best_rows_of_an_organism():
    alignments = Complex.of(
        [
            chain("A", "MKV", "10", "20", "10", "30"),
            chain("B", "GGH", "30", "10", "10"),
            chain("C", "WW", "10", "", "40"),
        ]
    )
    assert alignments.pairs == [(1, 2, 1), (4, 1, ABSENT)]
    assert [alignments.unpaired(place) for place in range(3)] == [[2, 3], [3], [2, 3]]


def test_an_organism_with_too_many_rows_is_not_paired():
    """As in AlphaFold-Multimer: 600 paralogs say nothing about who binds whom."""
    many = ["10"] * 601
    one, other = chain("A", "MKV", *many, "20"), chain("B", "GGH", "10", "20")
    assert Complex.of([one, other]).pairs == [(602, 2)]
    fewer = chain("A", "MKV", *many[:600])
    assert Complex.of([fewer, other]).pairs == [(1, 1)]


def test_equal_chains_are_one_with_copies():
    alignments = Complex.of([chain("A", "MKV", "10"), chain("B", "GG", "10"), chain("C", "MKV")])
    assert alignments.names == [["A", "C"], ["B"]]
    assert [each.id for each in alignments.chains] == ["A", "B"]


def test_names_come_from_the_job():
    """A protein of AlphaFold 3's input has one identifier or several."""
    proteins = [
        {"protein": {"id": ["A", "B"], "sequence": "MKV"}},
        {"protein": {"id": "C", "sequence": "GG"}},
        {"protein": {"id": "D", "sequence": "MKV"}},
        {"ligand": {"id": "L", "ccdCodes": ["ATP"]}},
    ]
    job = AlphaFoldInput({"dialect": "alphafold3", "sequences": proteins})
    assert job.queries() == [("A", "MKV"), ("C", "GG")]
    alignments = Complex.of([chain("A", "MKV"), chain("C", "GG")], job)
    assert alignments.names == [["A", "B", "D"], ["C"]]


def test_rows_are_joined():
    """The queries, the pairs, then the rows of each chain alone."""
    alignments = Complex.of(
        [chain("A", "MKVL", "10", "20", "30"), chain("B", "GGH", "20", "40", "10")]
    )
    assert [(title, row.decode()) for title, row in alignments.joined_rows()] == [
        ("A\tB", "MKVLGGH"),
        ("A2\tB1", "MKVLGGH"),
        ("A1\tB3", "MKVLGGH"),
        ("A3", "MKVL---"),
        ("B2", "----GGH"),
    ]
    assert alignments.pairs == [(2, 1), (1, 3)]
