"""Sequences given as objects: every form means the same, and a bad one is named."""

from __future__ import annotations

import csv
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from Bio.Seq import MutableSeq, Seq
from Bio.SeqRecord import SeqRecord

import swdual
from swdual.errors import InputError
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.records import as_sequences
from swdual.sequences.sequence import Sequence

CODES = PROTEIN.encode("MKV")

Row = namedtuple("Row", "seq id")


@pytest.mark.parametrize(
    "source",
    [
        "MKV",
        "mkv",
        b"MKV",
        Seq("MKV"),
        MutableSeq("MKV"),
        ("a", "MKV"),
        ("a", Seq("MKV")),
        Sequence("a", CODES),
        SeqRecord(Seq("MKV"), id="a"),
        {"a": "MKV"},
        {"a": Seq("MKV")},
        ["MKV"],
        [("a", "MKV")],
        (record for record in [SeqRecord(Seq("MKV"), id="a")]),
        [{"a": "MKV"}],
        [["a", "MKV"]],
        csv.reader(["a,MKV"]),
        (b"a", "MKV"),
        [(b"a", b"MKV")],
        {b"a": "MKV"},
        [Row("MKV", "a")],
    ],
    ids=lambda source: type(source).__name__,
)
def test_every_form_of_a_sequence_is_read(source):
    """Text, bytes, Biopython objects, pairs, mappings and iterables give the same codes."""
    (found,) = as_sequences(source, PROTEIN)
    assert found.codes == CODES
    assert found.id in ("a", "sequence_1")


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_is_read_as_a_file(here, kind):
    """A path, or text that names a file, stands for the records in it."""
    found = list(as_sequences(kind("q.fa"), PROTEIN))
    assert [sequence.title for sequence in found] == ["q1 first query", "q2"]


def test_sequences_without_a_name_are_numbered():
    """Names are sequence_N after the place in the input."""
    found = as_sequences(["MKV", ("b", "MKV"), "MKV", ("", "MKV")], PROTEIN)
    assert [sequence.id for sequence in found] == ["sequence_1", "b", "sequence_3", "sequence_4"]


def test_the_description_of_a_record_is_its_title():
    """Biopython's description is kept when it begins with the identifier."""
    record = SeqRecord(Seq("MKV"), id="a", description="a long story")
    assert next(as_sequences(record, PROTEIN)).title == "a long story"
    record = SeqRecord(Seq("MKV"), id="a", description="other words")
    assert next(as_sequences(record, PROTEIN)).id == "a"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([("bad one", "MK1V")], ["'bad one'", "'1'", "position 3"]),
        ([("a", "M-V")], ["'a'", "'-'", "position 2"]),
        ([("a", "M\u20acV")], ["'a'", "'\u20ac'", "position 2"]),
        ([("a", "")], ["'a'", "empty"]),
        ("no such file.fa", ["no such file.fa", "no such file"]),
        ("", ["empty text"]),
        (17, ["int"]),
        ([17], ["int"]),
        (None, ["no sequences (None)"]),
    ],
)
def test_what_is_no_sequence_is_refused_by_name(source, words):
    """The message names the sequence and what is wrong with it."""
    with pytest.raises(InputError) as caught:
        list(as_sequences(source, PROTEIN))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([{"gene": "alpha", "protein": "MKV"}], "item 1 of the sequences is a dict, {'gene'"),
        (csv.DictReader(["id,seq", "alpha,MKV"]), "item 1 of the sequences is a dict"),
        ({"id": ["alpha"], "sequence": ["MKV"]}, "but this one has id, sequence; give a table"),
        ({"id": "alpha", "Seq": "MKV"}, "but this one has id, Seq; give a table as dict"),
        ({"gene": ["alpha"], "protein": ["MKV"]}, "the sequence of 'gene' is a list"),
        ({"fam": ("MKV", "GGH")}, "the sequence of 'fam' is a tuple"),
        (["MKV", ("alpha", "MKV", "a story")], "item 2 of the sequences is a tuple, "),
        (csv.reader(["alpha,MKV,a story"]), "item 1 of the sequences is a list, "),
        (np.array([["alpha", "MKV"]]), "item 1 of the sequences is a ndarray"),
        ([{"sequence": "MKV"}], "item 1 of the sequences is a dict"),
        ([["MKV"]], "item 1 of the sequences is a list"),
        ([iter(["MKV"])], "item 1 of the sequences is a list_iterator"),
        ([("a", ("b", "MKV"))], "the sequence of 'a' is a tuple"),
    ],
)
def test_rows_of_a_table_and_nested_sequences_are_refused(source, words):
    """Names in them are letters of proteins, too: ALPHA would be searched."""
    with pytest.raises(InputError) as caught:
        list(as_sequences(source, PROTEIN))
    assert words in str(caught.value)
    assert "give a table as dict(zip(names, sequences))" in str(caught.value)


@pytest.mark.parametrize("seq", [None, Seq(None, length=4)], ids=["none", "undefined"])
def test_a_record_without_a_sequence_is_refused(seq):
    """NONE is a protein, too."""
    with pytest.raises(InputError, match=r"^record 'x' has no sequence; leave it out"):
        list(as_sequences([SeqRecord(seq, id="x")], PROTEIN))


def test_a_pair_with_a_name_of_bytes_is_a_database_of_one_sequence():
    """Its name is no sequence."""
    results = swdual.search("MKVLAWGGHERW", (b"MKVLAWGGHERWM", "MKVLAWGGHERW"))
    assert [(hit.id, hit.target_length) for hit in results[0]] == [("MKVLAWGGHERWM", 12)]


def test_a_missing_path_is_refused_by_name(here):
    """A path object that names no file is not taken for a sequence."""
    with pytest.raises(InputError, match=r"MKV: cannot be opened"):
        list(as_sequences(Path("MKV"), PROTEIN))


@pytest.mark.parametrize(
    ("on_invalid", "expected"), [("replace", ["MXV", "MKV"]), ("skip", ["MKV"])]
)
def test_invalid_letters_are_replaced_or_left_out_on_request(on_invalid, expected):
    """As in a file, a bad letter becomes X, or its record is left out."""
    found = as_sequences([("a", "M~V"), ("b", "MKV")], PROTEIN, on_invalid=on_invalid)
    assert [PROTEIN.decode(sequence.codes) for sequence in found] == expected


def test_u_is_t_in_nucleotides():
    """RNA and DNA are the same letters."""
    rna, dna = as_sequences(["ACGU", "ACGT"], NUCLEOTIDE)
    assert rna.codes == dna.codes


@pytest.mark.parametrize("make", [list, dict, lambda: iter([])], ids=["list", "dict", "iterator"])
def test_a_search_of_no_queries_has_no_results(make, caplog):
    """An empty iterable is a search with nothing in it, of which a warning tells."""
    results = swdual.search(make(), {"t": "MKV"})
    assert len(results) == 0
    assert results.scores.tolist() == []
    assert [each.message for each in caplog.records if each.levelname == "WARNING"] == [
        "there are no queries"
    ]


def test_queries_that_share_an_identifier_are_warned_of_once(caplog):
    """Names are cut at a blank."""
    letters = "MKVLAWGGHERWCDEFMKTAYIAKQR"
    swdual.search({"sample 1": letters, "sample 2": letters, "b": letters}, {"t": letters})
    (said,) = [each.message for each in caplog.records if each.levelname == "WARNING"]
    assert said == (
        "1 query repeats the identifier of an earlier one, such as sample; an identifier ends at "
        "the first blank"
    )
    caplog.clear()
    swdual.allpairs([("sample 1", letters), ("sample 2", letters)])
    assert not [each for each in caplog.records if "query repeats" in each.message]


def test_codes_of_a_sequence_must_be_letters():
    """A Sequence whose codes lie outside the alphabet is refused, not searched."""
    wrong = Sequence("wrong", np.array([200, 3], np.uint8).tobytes())
    with pytest.raises(InputError, match="wrong"):
        list(as_sequences(wrong, PROTEIN))


def test_an_empty_sequence_of_codes_is_refused():
    """A Sequence without residues is refused as empty text is."""
    with pytest.raises(InputError, match="empty"):
        list(as_sequences(Sequence("none", b""), PROTEIN))


def test_bytes_and_records_within_a_mapping_or_a_pair_are_residues():
    """A value may be anything that is one sequence by itself."""
    inner = Sequence("w", PROTEIN.encode("MKV"))
    for source in ({"a": b"MKV"}, [("a", b"MKV")], {"a": inner}, [("a", inner)], {"a": "MKV"}):
        assert list(as_sequences(source, PROTEIN)) == [Sequence("a", PROTEIN.encode("MKV"))]


def test_an_unknown_treatment_of_invalid_letters_is_refused():
    """A misspelt `on_invalid` is not taken for another."""
    with pytest.raises(InputError, match="'raise'"):
        list(as_sequences({"a": "MK1"}, PROTEIN, on_invalid="raise"))


def test_a_sequence_is_text():
    """`str` and `letters` give the residues, `len` counts them; a repr is one short line."""
    sequence = Sequence("s1 a story", PROTEIN.encode("MKVLAWUO*" * 10))
    assert str(sequence) == sequence.letters == "MKVLAWUO*" * 10
    assert len(sequence) == 90
    assert repr(sequence) == "<Sequence 's1': 90 residues, MKVLAWUO*MKVLAWUO*MK...>"
    assert repr(Sequence("s2", PROTEIN.encode("MKV"))) == "<Sequence 's2': 3 residues, MKV>"
    assert str(Sequence("n", NUCLEOTIDE.encode("acgu"), NUCLEOTIDE)) == "ACGT"


@pytest.mark.parametrize("width", [1, 7, 60, 90, 91])
def test_a_sequence_as_fasta_is_read_back(tmp_path, width):
    """Lines have `width` letters, the last one may have fewer; the header line is whole."""
    sequence = Sequence("s1 a story", PROTEIN.encode("MKVLAWUO*" * 10))
    header, *lines = sequence.to_fasta(width).splitlines()
    assert header == ">s1 a story"
    assert {len(line) for line in lines[:-1]} <= {width}
    assert 1 <= len(lines[-1]) <= width
    (tmp_path / "s.fa").write_text(sequence.to_fasta(width))
    assert list(as_sequences(tmp_path / "s.fa", PROTEIN)) == [sequence]


def test_a_sequence_of_another_alphabet_is_read_by_its_letters():
    """Codes of nucleotides do not stand for amino acids."""
    bases = Sequence("n", NUCLEOTIDE.encode("ACGT"), NUCLEOTIDE)
    (found,) = as_sequences(bases, PROTEIN)
    assert (str(found), found.alphabet) == ("ACGT", PROTEIN)
    with pytest.raises(InputError, match="'L' at position 1"):
        list(as_sequences(Sequence("p", PROTEIN.encode("LAW")), NUCLEOTIDE))


@pytest.mark.parametrize("form", [list, dict])
def test_blanks_and_numbers_of_lines_in_texts_are_what_they_are_in_files(form, caplog):
    """Blanks are nothing; digits are refused, or left out with a warning."""
    records = form([("a", "MKV LAW\n GGH\n"), ("b", "1 MKV~ 4\n5 LAW 7")])
    for on_invalid in ("error", "skip"):
        found = as_sequences(records, PROTEIN, on_invalid=on_invalid)
        assert next(found).letters == "MKVLAWGGH"
        if on_invalid == "error":
            with pytest.raises(InputError, match="'b': '1' at position 1 is not a letter"):
                next(found)
        else:
            assert not [*found]
    with caplog.at_level("WARNING", "swdual"):
        letters = [each.letters for each in as_sequences(records, PROTEIN, on_invalid="replace")]
    assert letters == ["MKVLAWGGH", "MKVXLAW"]
    assert caplog.messages == ["4 digits among the residues left out"]
