"""Rows of several chains are paired by organism, and joined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import multiple_alignment as oracle
from support.properties import examples

from swdual import Complex, MultipleAlignment
from swdual.multiple_alignment.alphafold_input import AlphaFoldInput
from swdual.multiple_alignment.filters import RowFilters
from swdual.multiple_alignment.multiple_alignment import ABSENT


def chain(name, query, *organisms, rows=None):
    """Return an alignment of rows of these organisms, which equal the query if none are given."""
    titles = [name, *(f"{name}{k}" for k in range(1, len(organisms) + 1))]
    texts = [query, *(rows or [query] * len(organisms))]
    return MultipleAlignment(titles, [text.encode() for text in texts], ["", *organisms])


ROWS = st.tuples(st.sampled_from(["", "9606", "562", "7227"]), st.integers(0, 3))


@given(st.lists(st.lists(ROWS, max_size=12), max_size=4))
@examples(100)
def test_pairs_are_the_oracles(drawn):
    """Of an organism, the rows that equal their queries most are paired first."""
    chains, known = [], []
    for place, rows in enumerate(drawn):
        query = "MKV" * (place + 1)
        texts = [query[:equal] + "W" * (len(query) - equal) for _, equal in rows]
        chains.append(chain(f"c{place}", query, *(name for name, _ in rows), rows=texts))
        known.append([("", len(query)), *rows])
    expected = oracle.pairs_of(known)
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


def test_filters_make_no_other_pairs():
    """Rows that are like others are left out with their partners; no other row moves up."""
    random = np.random.default_rng(7)
    letters = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)
    chains = []
    for name, length in (("A", 60), ("B", 45)):
        query = random.choice(letters, length)
        rows, organisms = [query.tobytes().decode()], []
        for number in range(120):
            row = query.copy() if number % 3 else np.frombuffer(rows[-1].encode(), np.uint8).copy()
            changed = random.random(length) < random.choice([0, 0.02, 0.2, 0.5])
            row[changed] = random.choice(letters, changed.sum())
            rows.append(row.tobytes().decode())
            organisms.append(str(random.integers(30)))
        chains.append(chain(name, rows[0], *organisms, rows=rows[1:]))
    everything = Complex.of(chains)
    fewer = 0
    for filters in (
        RowFilters(),
        RowFilters(row_identity=80),
        RowFilters(row_identity=95, diff=5),
        RowFilters(depth=7),
    ):
        alignments = [each.filter(filters) for each in chains]
        found = Complex.of(alignments)
        assert {*found.pairs} <= {*everything.pairs}
        fewer += len(found.pairs) < len(everything.pairs)
        for place, each in enumerate(chains):
            paired = {pair[place] for pair in everything.pairs}
            assert not paired & {*found.unpaired(place)}
            alone = [row for row in range(len(each)) if row not in paired]
            few = [alone[k] for k in filters.choose(each.columns[alone])][1:]
            room = max(0, filters.depth - len(found.pairs)) if filters.depth else len(few)
            assert found.unpaired(place) == few[:room]
    assert fewer == 4
    alone = Complex.of([chains[0].filter(RowFilters(row_identity=80))])
    assert len(alone.chains[0]) == len(chains[0].filter(RowFilters(row_identity=80)))


def test_limits_of_single_rows_come_before_pairs():
    """A row of which too little is left has no partner; the next row of its organism has."""
    one = chain("A", "MKVLAWGG", "10", "10", rows=["MKV-----", "MRILAWGG"])
    other = chain("B", "HHEERRTT", "10")
    assert Complex.of([one, other]).pairs == [(2, 1)]  # it equals more of the query
    close = chain("A", "MKVLAWGG", "10", "10", rows=["MKVLAW--", "MRILCWGG"])
    assert Complex.of([close, other]).pairs == [(1, 1)]
    whole = [each.filter(RowFilters(coverage=80)) for each in (close, other)]
    assert Complex.of(whole).pairs == [(2, 1)]


def test_a_complex_tells_of_its_pairs():
    one, other = chain("A", "MKV", "10", "20", "10"), chain("B", "GG", "10", "10", "30")
    assert Complex.of([one, other]).describe() == "2 paired rows of 1 organism"
    strange = [chain("A", "MKV", "", ""), chain("B", "GG", "")]
    said = "no row tells its organism, so that none are paired"
    assert Complex.of(strange).describe() == said


def test_a_complex_is_drawn_with_all_chains():
    """A line is where a chain begins."""
    pytest.importorskip("matplotlib", reason="needs matplotlib")
    from matplotlib.figure import Figure

    found = Complex.of([chain("A", "MKV", "10", "20"), chain("B", "GGHH", "10", "30")])
    ax = found.plot(Figure().subplots())
    shown = ax.images[0].get_array()
    assert shown.shape == (4, 7)
    assert [*ax.lines[1].get_xdata()] == [3.5, 3.5]
    assert ax.get_title() == "A + B: 4 rows"


def test_equal_names_of_chains_are_numbered():
    """Each has a file of its own in Boltz's format."""
    found = Complex.of([chain("q", "MKV"), chain("q", "GG"), chain("q", "MKV")])
    assert found.names == [["q", "q.3"], ["q.2"]]


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
