"""Files of multiple alignments, read by other programs' readers."""

from __future__ import annotations

import csv
import gzip
import io
import json

import numpy as np
import pytest
from Bio import AlignIO
from oracles import multiple_alignment as oracle

from swdual import Complex, InputError, MultipleAlignment
from swdual.multiple_alignment.alphafold_input import AlphaFoldInput
from swdual.multiple_alignment.formats._columns import expand_rows
from swdual.profiles.msa import read_msa


def random_alignment(seed, name, length, rows, *organisms):
    """Return a query and random rows with gaps and insertions at any place."""
    rng = np.random.default_rng(seed)
    letters = [*"ACDEFGHIKLMNPQRSTVWY"]
    query = "".join(rng.choice(letters, length))
    found = [query]
    for _ in range(rows):
        row = ""
        for letter in query:
            if rng.random() < 0.1:
                row += "".join(rng.choice(letters, rng.integers(1, 5))).lower()
            row += "-" if rng.random() < 0.3 else letter if rng.random() < 0.5 else "A"
        found.append(row + ("kk" if rng.random() < 0.2 else ""))
    titles = [f"{name} the query", *(f"{name}_{k} row {k}" for k in range(1, rows + 1))]
    known = [*organisms, *[""] * rows][:rows]
    return MultipleAlignment(titles, [row.encode() for row in found], ["", *known])


@pytest.fixture
def one():
    return random_alignment(1, "q", 40, 12)


@pytest.fixture
def two():
    """Two chains, the first of which occurs twice; two organisms have both."""
    first = random_alignment(2, "a", 30, 6, "10", "20", "", "10")
    again = MultipleAlignment(["a2", *first.titles[1:]], first.rows, first.organisms)
    return Complex.of([first, random_alignment(3, "b", 20, 5, "", "20", "10"), again])


def test_a3m_of_one_query(one, tmp_path):
    """Header and row in turn; our own reader has the same columns."""
    path = tmp_path / "q.a3m"
    one.write(path)
    lines = path.read_text().splitlines()
    assert lines[::2] == [f">{title}" for title in one.titles]
    assert lines[1::2] == [row.decode() for row in one.rows]
    msa = read_msa(path)
    assert (msa.title, msa.rows.shape) == (one.titles[0], (12, 40))


def test_a3m_of_a_complex_is_colabfolds(two, tmp_path):
    """Lengths and copies in the first line; in all rows so many columns as the chains have."""
    path = tmp_path / "x.a3m"
    two.write(path)
    head, *lines = path.read_text().splitlines()
    assert head == "#30,20\t2,1"
    a, b = two.chains
    assert lines[:2] == [f">{a.titles[0]}\t{b.titles[0]}", a.query + b.query]
    rows = [oracle.columns_of(row) for row in lines[1::2]]
    assert {len(row) for row in rows} == {50}
    assert two.pairs == [(2, 2), (4, 3)]  # row 4 equals its query more than row 1 does
    paired, alone = oracle.split_as_colabfold(path.read_text())
    for place, chain in enumerate(two.chains):
        assert [name for name, _ in paired[place]] == [
            chain.titles[k] for k in (0, *(pair[place] for pair in two.pairs))
        ]
        # ColabFold makes an alignment of the other rows, too, so it begins with the query.
        others = [0, *two.unpaired[place]]
        assert [name for name, _ in alone[place]] == [chain.titles[k] for k in others]
        columns = [oracle.columns_of(row) for _, row in alone[place]]
        assert columns == [oracle.columns_of(chain.rows[k].decode()) for k in others]


def test_colabfold_gets_an_alignment_of_each_chain_though_all_rows_are_paired(tmp_path):
    one, other = (random_alignment(seed, name, 9, 1, "10") for seed, name in ((4, "a"), (5, "b")))
    Complex.of([one, other]).write(tmp_path / "x.a3m")
    _, alone = oracle.split_as_colabfold((tmp_path / "x.a3m").read_text())
    assert [[row for _, row in each] for each in alone] == [[one.query], [other.query]]


def test_aligned_fasta_and_stockholm_have_the_same_columns(one, tmp_path):
    """Biopython reads both; insertions have columns of their own."""
    one.write(tmp_path / "q.afa")
    one.write(tmp_path / "q.sto")
    fasta = AlignIO.read(tmp_path / "q.afa", "fasta")
    stockholm = AlignIO.read(tmp_path / "q.sto", "stockholm")
    assert [record.description for record in fasta] == one.titles
    assert [record.id for record in stockholm] == [title.split()[0] for title in one.titles]
    mark = stockholm.column_annotations["reference_annotation"]
    matched = [k for k, letter in enumerate(mark) if letter == "x"]
    for record, other, columns in zip(fasta, stockholm, one.columns, strict=True):
        assert str(record.seq).replace(".", "-") == str(other.seq).upper().replace(".", "-")
        letters = "".join(str(other.seq)[k] for k in matched)
        assert letters == columns.tobytes().decode()
    assert "#=GS q_3 DE row 3" in (tmp_path / "q.sto").read_text()


def test_stockholm_names_are_unique(tmp_path):
    """Two domains of one target are two rows; names have no blanks."""
    alignment = MultipleAlignment(["q", "t x", "t y", ""], [b"MK"] * 4, [""] * 4)
    alignment.write(tmp_path / "q.sto")
    names = [record.id for record in AlignIO.read(tmp_path / "q.sto", "stockholm")]
    assert names == ["q", "t", "t.2", "-"]
    strange = MultipleAlignment(["q", "#t", "//"], [b"MK"] * 3, [""] * 3)
    strange.write(tmp_path / "s.sto")
    names = [record.id for record in AlignIO.read(tmp_path / "s.sto", "stockholm")]
    assert names == ["q", "_#t", "_//"]


def test_insertions_get_columns(one):
    found, mark = expand_rows(one.rows)
    assert [row.decode() for row in found] == oracle.expand([row.decode() for row in one.rows])
    assert len(mark) == len(found[0])
    assert mark.count(b"x") == 40


def test_pyhmmer_reads_stockholm(one, tmp_path):
    easel = pytest.importorskip("pyhmmer.easel")
    one.write(tmp_path / "q.sto")
    with easel.MSAFile(tmp_path / "q.sto", format="stockholm") as file:
        msa = file.read()
    assert len(msa.sequences) == 13
    assert msa.reference.count("x") == 40


def read_boltz(path):
    """Return the rows of a CSV file as Boltz reads it: keys, sequences without insertions."""
    rows = [*csv.DictReader(io.StringIO(path.read_text()))]
    assert set(rows[0]) == {"key", "sequence"}
    return [(row["key"], oracle.columns_of(row["sequence"])) for row in rows]


def test_boltz_pairs_rows_by_their_keys(two, tmp_path):
    two.write(tmp_path / "x.csv")
    assert {path.name for path in tmp_path.iterdir()} == {"x_a.csv", "x_b.csv"}
    a, b = read_boltz(tmp_path / "x_a.csv"), read_boltz(tmp_path / "x_b.csv")
    assert a[0] == ("0", two.chains[0].query)
    assert b[0] == ("0", two.chains[1].query)
    for key, (row, other) in enumerate(two.pairs, start=1):
        assert (str(key), two.chains[0].columns[row].tobytes().decode()) in a
        assert (str(key), two.chains[1].columns[other].tobytes().decode()) in b
    assert [key for key, _ in a] == ["0", "1", "2", "", "", "", ""]
    assert [key for key, _ in b] == ["0", "1", "2", "", "", ""]


def test_boltz_has_one_file_for_one_chain(one, tmp_path):
    one.write(tmp_path / "q.csv.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["q.csv.gz"]
    with gzip.open(tmp_path / "q.csv.gz", "rt") as file:
        assert len(file.readlines()) == 14


def read_a3m(text):
    """Return the rows of a3m without insertions, as AlphaFold 3's docs/input.md demands them."""
    lines = text.splitlines()
    assert all(line.startswith(">") for line in lines[::2])
    rows = [oracle.columns_of(line) for line in lines[1::2]]
    assert {len(row) for row in rows} == {len(lines[1])}
    return rows


def test_alphafold_joins_rows_by_their_places(two, tmp_path):
    """Rows of pairs are at equal places; all fields that AlphaFold 3 asks for are there."""
    two.write(tmp_path / "x.json")
    job = json.loads((tmp_path / "x.json").read_text())
    assert (job["dialect"], job["version"], job["modelSeeds"]) == ("alphafold3", 1, [1])
    a, b = (each["protein"] for each in job["sequences"])
    assert (a["id"], b["id"]) == (["A", "B"], "C")
    assert a["pairedMsa"] == b["pairedMsa"] == ""
    rows, others = read_a3m(a["unpairedMsa"]), read_a3m(b["unpairedMsa"])
    assert (rows[0], others[0]) == (a["sequence"], b["sequence"])
    for place, (row, other) in enumerate(two.pairs, start=1):
        assert rows[place] == two.chains[0].columns[row].tobytes().decode()
        assert others[place] == two.chains[1].columns[other].tobytes().decode()
    assert (len(rows), len(others)) == (7, 6)


def test_a_chain_that_is_in_no_pair_has_gaps_there(tmp_path):
    """As docs/input.md shows it: an empty hit keeps the places."""
    chains = [
        random_alignment(k, name, 8, 2, *organisms)
        for k, (name, organisms) in enumerate(
            {"a": ("1", "2"), "b": ("1",), "c": ("", "2")}.items()
        )
    ]
    Complex.of(chains).write(tmp_path / "x.json")
    job = json.loads((tmp_path / "x.json").read_text())
    rows = [read_a3m(each["protein"]["unpairedMsa"]) for each in job["sequences"]]
    assert rows[2][1] == rows[1][2] == "-" * 8
    assert rows[0][1] != "-" * 8 != rows[0][2]


JOB = {
    "name": "mine",
    "modelSeeds": [3, 4],
    "sequences": [
        {"protein": {"id": ["A", "B"], "sequence": "MKVLAW", "description": "kept"}},
        {"dna": {"id": "D", "sequence": "ACGT"}},
        {"protein": {"id": "E", "sequence": "GGHERW", "unpairedMsa": ">x\nGGHERW\n",
                     "pairedMsa": ""}},
    ],
    "bondedAtomPairs": [],
    "dialect": "alphafold3",
    "version": 4,
}  # fmt: skip


def test_a_job_is_filled_and_nothing_else_is_changed(tmp_path):
    job = AlphaFoldInput(JOB)
    alignment = MultipleAlignment(["A", "t"], [b"MKVLAW", b"-KVgL--"], ["", ""])
    Complex.of([alignment], job).write(tmp_path / "x.json")
    filled = json.loads((tmp_path / "x.json").read_text())
    protein = filled["sequences"][0]["protein"]
    assert protein.pop("unpairedMsa") == ">A\nMKVLAW\n>t\n-KVgL--\n"
    assert protein.pop("pairedMsa") == ""
    assert filled == JOB


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is no JSON"),
        ("[]", "jobs of AlphaFold's server"),
        ('{"dialect": "other"}', 'expected an object with "dialect": "alphafold3"'),
        ('"text"', "is no input of AlphaFold 3"),
        ('{"dialect": "alphafold3"}', 'expected "sequences"'),
        ('{"dialect": "alphafold3", "sequences": [{"protein": {"id": "A"}}]}', '"sequence"'),
        ('{"dialect": "alphafold3", "sequences": [3]}', 'expected "sequences"'),
        ('{"dialect": "alphafold3", "sequences": [{"dna": {}}]}', "has no protein without"),
    ],
)
def test_other_json_is_refused(tmp_path, content, words):
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"x\.json") as error:
        AlphaFoldInput.read(path)
    assert words in str(error.value)


def test_formats_are_known_by_name_or_ending(one, tmp_path):
    with pytest.raises(InputError, match=r"known are .*\.a3m"):
        one.write(tmp_path / "x.txt")
    with pytest.raises(InputError, match=r"did you mean .*stockholm"):
        one.write(tmp_path / "x.txt", "stokholm")
    one.write(tmp_path / "x.txt", "stockholm")
    assert (tmp_path / "x.txt").read_text().startswith("# STOCKHOLM 1.0\n")
