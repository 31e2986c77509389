"""Rows of several chains are paired by organism, and joined."""

from __future__ import annotations

import itertools

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
        organisms = ["", *(name for name, _ in rows)]
        known.append([*zip(organisms, [query, *texts], strict=True)])
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
    assert alignments.unpaired == [[2, 3], [3], [2, 3]]


def test_an_organism_with_too_many_rows_is_not_paired():
    """As in AlphaFold-Multimer: 600 paralogs say nothing about who binds whom."""
    rows = ["".join(letters) for letters in itertools.product("ACDEFGHI", repeat=4)][:601]
    other = chain("B", "GGH", "10", "20")
    one = chain("A", "AAAA", *["10"] * 601, "20", rows=[*rows, "AAAA"])
    assert Complex.of([one, other]).pairs == [(602, 2)]
    fewer = chain("A", "AAAA", *["10"] * 600, rows=rows[:600])
    assert Complex.of([fewer, other]).pairs == [(1, 1)]


def kept_beside_each_other(rows, filters):
    """Return the indices of the rows that stay, the query's first, by the oracle."""
    first = {}
    for index, row in enumerate(rows):
        first.setdefault(row, index)
    chosen = oracle.keep_diverse([*first], filters.row_identity, filters.diff)
    kept = [[*first.values()][k] for k in chosen]
    return kept[: filters.depth + 1] if filters.depth else kept


@pytest.mark.parametrize(
    "filters",
    [
        RowFilters(),
        RowFilters(row_identity=80),
        RowFilters(row_identity=95, diff=5),
        RowFilters(depth=7),
        RowFilters(depth=60),
    ],
    ids=str,
)
def test_filters_choose_among_pairs(filters):
    """Rows that are like others are left out with their partners; no other row moves up."""
    random = np.random.default_rng(7)
    letters = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)
    chains = []
    for name, length in (("A", 60), ("B", 45), ("C", 20)):
        query = random.choice(letters, length)
        rows, organisms = [query.tobytes().decode()], []
        for number in range(90):
            row = query.copy() if number % 3 else np.frombuffer(rows[-1].encode(), np.uint8).copy()
            changed = random.random(length) < random.choice([0, 0.02, 0.2, 0.5])
            row[changed] = random.choice(letters, changed.sum())
            rows.append(row.tobytes().decode())
            organisms.append(str(random.integers(40)))
        chains.append(chain(name, rows[0], *organisms, rows=rows[1:]))
    pairs = Complex.of(chains).pairs
    assert any(ABSENT in pair for pair in pairs)
    joined = ["".join(each.query for each in chains)]
    joined += [
        "".join(
            "-" * len(each.query) if row == ABSENT else each.rows[row].decode()
            for each, row in zip(chains, pair, strict=True)
        )
        for pair in pairs
    ]
    expected = [pairs[k - 1] for k in kept_beside_each_other(joined, filters)[1:]]
    found = Complex.of([each.filter(filters) for each in chains])
    assert found.pairs == expected == Complex.of(chains, filters=filters).pairs
    assert len(pairs) > len(expected) > 0
    for place, each in enumerate(chains):
        paired = {pair[place] for pair in pairs}
        alone = [row for row in range(len(each)) if row not in paired]
        rows = [each.rows[row].decode() for row in alone]
        kept = [alone[k] for k in kept_beside_each_other(rows, filters)][1:]
        if filters.depth:
            kept = kept[: max(0, filters.depth - len(expected))]
        assert found.unpaired[place] == kept
        used = [pair[place] for pair in expected if pair[place] != ABSENT]
        assert found.rows_of(place).titles == [each.titles[k] for k in (0, *used, *kept)]


def test_a_target_is_paired_once():
    """It may be in two databases, or have two alignments; so may equal rows of an organism."""
    one = chain("A", "MKVL", *["9"] * 5, rows=["MKVL", "MKVA", "MKGG", "MKGG", "MGGG"])
    other = chain("B", "HHEE", *["9"] * 3, rows=["HHEE", "HHEA", "HAAA"])
    one.titles[2] = one.titles[1]
    pairs = Complex.of([one, other]).pairs
    assert pairs == [(1, 1), (3, 2), (5, 3)]
    assert Complex.of([one, other]).unpaired == [[2, 4], []]


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
    one = chain("A", "MKV", "10", "20", "10", rows=["MKV", "MKV", "MKA"])
    other = chain("B", "GG", "10", "10", "30", rows=["GG", "GA", "GG"])
    assert Complex.of([one, other]).describe() == "2 paired rows of 1 organism"
    strange = [chain("A", "MKV", "", ""), chain("B", "GG", "")]
    said = Complex.of(strange).describe()
    assert said.startswith("no rows are paired, because no header tells an organism")


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
