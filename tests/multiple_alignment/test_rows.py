"""Hits become rows: those of their alignments, letter by letter."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from Bio import SeqIO
from oracles import multiple_alignment as oracle

import swdual
from swdual.errors import InputError, OutputError
from swdual.multiple_alignment.organisms import find_organism

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"


@pytest.fixture(scope="module")
def results():
    """Return the hits of queries with relatives of many degrees, several alignments of some."""
    queries, targets = GOLDEN / "repeated_queries.fasta", GOLDEN / "repeated_targets.fasta"
    return swdual.search(queries, targets, evalue=1e-3, max_hsps=3)


def test_rows_are_those_of_the_alignments(results):
    """One for each alignment, in the order of the hits."""
    inserted = several = 0
    for result in results:
        alignment = swdual.MultipleAlignment.from_hits(result)
        length = len(result.query)
        hits = [*result.iter_alignments()]
        assert alignment.titles == [result.query.title, *(hit.title for hit in hits)]
        assert alignment.query == str(result.query)
        for row, hit in zip(alignment.rows[1:], hits, strict=True):
            query, _, target = hit.alignment.rows
            expected = oracle.row_of(length, hit.alignment.query_start, query, target)
            assert row.decode() == expected
            inserted += any(letter.islower() for letter in expected)
        for columns, row in zip(alignment.columns, alignment.rows, strict=True):
            assert columns.tobytes().decode() == oracle.columns_of(row.decode())
        several += len(hits) > len(result)
    assert inserted
    assert several


def test_rows_of_several_databases_follow_each_other(results):
    result = results[0]
    other = swdual.search({"other": str(result.query)}, {"t": str(result.query)})[0]
    alignment = swdual.MultipleAlignment.from_hits(result, other)
    count = len([*result.iter_alignments()])
    assert alignment.titles[0] == result.query.title
    assert alignment.titles[count + 1 :] == ["t"]
    assert repr(alignment) == f"<MultipleAlignment {result.query.id!r}: {count + 2} rows, " + (
        f"{len(result.query)} columns>"
    )


def test_stops_and_masked_letters_are_written_as_programs_read_them():
    """``*`` becomes X, lower case of a database becomes upper case."""
    core = "MKVLAWGGHERWCDEFMKTAYIWWHHKR"
    targets = {"t": core[:14] + "*" + core[14:].lower()}
    result = swdual.search({"q": core[:14] + "A" + core[14:]}, targets, evalue=10)[0]
    (_, row) = swdual.MultipleAlignment.from_hits(result).rows
    assert row.decode() == core[:14] + "X" + core[14:]


def test_other_hits_are_refused():
    bases = swdual.search("ACGT" * 20, {"same": "ACGT" * 20}, dbtype="nucl")[0]
    with pytest.raises(InputError, match="of proteins, not of nucleotides"):
        swdual.MultipleAlignment.from_hits(bases)
    translated = swdual.search("ATGAAAGTT" * 9, {"t": "MKV" * 9}, task="blastx")[0]
    with pytest.raises(InputError, match="translated"):
        swdual.MultipleAlignment.from_hits(translated)
    one, two = swdual.search({"a": "MKVLAWGG", "b": "MKVLAWHH"}, {"t": "MKVLAWGG"}, evalue=1e3)
    with pytest.raises(InputError, match="several queries"):
        swdual.MultipleAlignment.from_hits(one, two)


def test_an_existing_file_is_not_replaced(results, tmp_path):
    alignment = swdual.MultipleAlignment.from_hits(results[0])
    path = tmp_path / "x.a3m"
    alignment.write(path)
    with pytest.raises(OutputError, match="exists"):
        alignment.write(path)
    before = path.read_bytes()
    alignment.take([0]).write(path, force=True)
    assert path.read_text() == f">{alignment.titles[0]}\n{alignment.query}\n"
    assert before.startswith(path.read_bytes())


@pytest.mark.parametrize(
    ("title", "taxids", "expected"),
    [
        ("sp|P69905|HBA_HUMAN Hemoglobin OS=Homo sapiens OX=9606 GN=HBA1 PE=1", (), "9606"),
        ("sp|P69905|HBA_HUMAN Hemoglobin", (), "HUMAN"),
        ("tr|A0A2R8Y7C0|A0A2R8Y7C0_PANTR", (), "PANTR"),
        ("gi|122087146|sp|P02232.2|LGB1_VICFA RecName: Full=Leghemoglobin-1", (), "VICFA"),
        ("UniRef90_P69905 Hemoglobin n=12 Tax=Homo TaxID=9604 RepID=HBA_HUMAN", (), "HUMAN"),
        ("UniRef90_UPI0001 Hemoglobin n=12 Tax=Homo TaxID=9604 RepID=UPI0001", (), "9604"),
        ("UniRef90_P69905 Hemoglobin n=12 RepID=HBA_HUMAN", (), "HUMAN"),
        ("seq1 taxid:562", (), "562"),
        ("sp|P69905|HBA_HUMAN OX=9606", (10090,), "10090"),
        ("sp|P69905|HBA_HUMAN OX=9606", (562, 10090), "9606"),
        ("WP_000123.1 MULTISPECIES: permease [Escherichia]", (), ""),
        ("AB_CDE anything BOX=12", (), ""),
        ("", (), ""),
    ],
)
def test_the_organism_of_a_row(title, taxids, expected):
    assert find_organism(title, taxids) == expected


def test_organisms_come_from_the_database(tmp_path):
    """Taxonomy ids of the database go before the header lines."""
    core = "MKVLAWGGHERWCDEFMKTAYIWWHHKR"
    (tmp_path / "t.fa").write_text(f">a OX=1\n{core}\n>b OX=2\n{core[:-1]}\n")
    (tmp_path / "taxa.tsv").write_text("a\t9606\nb\t10090\n")
    database = swdual.makedb(tmp_path / "t.fa", tmp_path / "t.db", taxid_map=tmp_path / "taxa.tsv")
    result = swdual.search({"q": core}, database)[0]
    assert swdual.MultipleAlignment.from_hits(result).organisms == ["", "9606", "10090"]


def test_effective_rows_are_those_of_the_definition(results):
    rng = np.random.default_rng(5)
    for result in results:
        alignment = swdual.MultipleAlignment.from_hits(result)
        some = [0, *(1 + rng.permutation(len(alignment) - 1)[:25])]
        taken = alignment.take(some)
        expected = oracle.effective_rows([oracle.columns_of(row.decode()) for row in taken.rows])
        assert taken.effective_rows == pytest.approx(expected, rel=1e-12)


def test_the_picture_shows_residues_identities_and_depth():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    rows = [b"MKVLAW", b"MK--AW", b"--VRgGW", b"MKVLA-"]
    alignment = swdual.MultipleAlignment(["q", "a", "b", "c"], rows, [""] * 4)
    ax = alignment.plot()
    shown = ax.images[0].get_array().filled(-1)
    assert shown[0].tolist() == [-1, -1, 0.5, 0.5, 0.5, 0.5]
    assert [sorted({*row.tolist()} - {-1}) for row in shown[1:]] == [[1]] * 3
    assert ax.lines[0].get_xydata().tolist() == [
        *([1, 3], [2, 3], [3, 3], [4, 3], [5, 4], [6, 3]),
    ]
    assert alignment.plot(ax=pyplot.subplots()[1]).get_title(loc="center") == "q: 4 rows"
    pyplot.close("all")


def test_titles_have_no_tabs():
    """They separate the chains of a complex."""
    result = swdual.search({"q\tx": "MKVLAWGGHE"}, {"t\ty": "MKVLAWGGHE"}, evalue=1e3)[0]
    assert swdual.MultipleAlignment.from_hits(result).titles == ["q x", "t y"]


def pairs_of(query, row, target):
    """Return the pairs of query and target positions that two aligned texts pair."""
    place, column, pairs = target.find(row.replace("-", "").upper()), 0, set()
    assert place >= 0
    for one, other in zip(query, row, strict=True):
        if "-" not in one + other:
            pairs.add((column, place))
        column += one != "-"
        place += other != "-"
    return pairs


def test_rows_and_columns_are_nearly_those_of_jackhmmer():
    """HMMER 3.3 finds the same targets: see golden/record_jackhmmer.py."""
    recorded = json.loads(gzip.decompress((GOLDEN / "jackhmmer.json.gz").read_bytes()))
    proteins = ROOT / "data" / "proteins.fasta"
    with proteins.open() as lines:
        targets = {record.id: str(record.seq) for record in SeqIO.parse(lines, "fasta")}
    found = swdual.msa(ROOT / "data" / "queries.fasta", proteins)
    assert [alignment.id for alignment in found] == [*recorded]
    for alignment in found:
        ours, theirs = {}, {}
        for title, row in zip(alignment.titles[1:], alignment.rows[1:], strict=True):
            name, text = title.split()[0], row.decode()
            gapped = iter(alignment.query)
            query = "".join("-" if letter.islower() else next(gapped) for letter in text)
            ours.setdefault(name, set()).update(pairs_of(query, text.upper(), targets[name]))
        for name, query, row in recorded[alignment.id]:
            theirs.setdefault(name, set()).update(pairs_of(query, row, targets[name]))
        theirs.pop(alignment.id, None)  # the query itself is no row of ours
        assert ours.keys() == theirs.keys()
        both = sum(len(ours[name] & theirs[name]) for name in ours)
        for pairs in (ours, theirs):
            assert both > 0.9 * sum(map(len, pairs.values()))
