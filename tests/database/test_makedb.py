"""Databases from Python: what they are built from, and the options."""

from __future__ import annotations

import inspect
import os
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

import swdual
from swdual.database import source
from swdual.database.makedb import MakedbKeywords, MakedbOptions, makedb
from swdual.errors import InputError
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.sequence import Sequence

TARGETS = {"one first": "MKVLAWGGH", "two": "GGGGWWMKVL", "three": "ACDEFGHIKLMNPQRSTVWY"}
BASES = {"n1": "ACGTACGTNN" * 9, "n2": "GATTACA" * 30}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fasta(targets):
    return "".join(f">{title}\n{letters}\n" for title, letters in targets.items())


def from_file(targets):
    """Return the bytes of the database of a file with these targets."""
    Path("x.fa").write_text(fasta(targets))
    makedb("x.fa", "x.db", title="t").close()
    return Path("x.db").read_bytes()


@pytest.mark.parametrize("targets", [TARGETS, BASES], ids=["proteins", "nucleotides"])
@pytest.mark.parametrize(
    "made_of",
    [
        dict,
        lambda targets: [*targets.items()],
        lambda targets: iter(targets.items()),
        lambda targets: [{title: letters} for title, letters in targets.items()],
        lambda targets: [(title, letters.encode()) for title, letters in targets.items()],
        lambda targets: [
            Sequence(title, alphabet.encode(letters), alphabet)
            for alphabet in [NUCLEOTIDE if targets is BASES else PROTEIN]
            for title, letters in targets.items()
        ],
    ],
    ids=["dict", "pairs", "iterator", "dicts", "bytes", "sequences"],
)
def test_sequences_in_memory_give_the_database_of_a_file(place, targets, made_of):
    """Byte for byte, whatever the objects; "auto" finds nucleotides among them."""
    with makedb(made_of(targets), "y.db", title="t") as database:
        assert database.alphabet is (NUCLEOTIDE if targets is BASES else PROTEIN)
        assert [each.title for each in database] == [*targets]
    assert Path("y.db").read_bytes() == from_file(targets)


def test_records_of_biopython_are_taken(place):
    """A list of records, and a single one, which is no list of letters."""
    pytest.importorskip("Bio")
    from Bio.Seq import Seq
    from Bio.SeqRecord import SeqRecord

    records = [
        SeqRecord(Seq(letters), title.split()[0], description=title)
        for title, letters in TARGETS.items()
    ]
    makedb(records, "y.db", title="t").close()
    assert Path("y.db").read_bytes() == from_file(TARGETS)
    with makedb(records[0], "one.db") as one, makedb(records[0].seq, "bare.db") as bare:
        assert [each.title for each in one] == ["one first"]
        assert [each.title for each in bare] == ["target_1"]
        assert one[0].codes == bare[0].codes


def test_sequences_come_in_batches(place, monkeypatch):
    """So that any number of them takes little memory; the database is the same."""
    whole = from_file(TARGETS)
    monkeypatch.setattr(source, "CHUNK_BYTES", 10)
    read = []
    makedb(TARGETS, "y.db", title="t", progress=read.append).close()
    assert read == [9, 10, 20]
    assert Path("y.db").read_bytes() == whole


def test_a_database_of_sequences_is_found_in(place):
    """And is called what it is made of."""
    with makedb({"name": "MKVLAWGGH"}, "y.db") as database:
        assert database.manifest.title == "sequences in memory"
        assert [hit.id for hit in swdual.search("MKVLAWGGH", database)[0]] == ["name"]


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([], "no input: name at least one FASTA file"),
        ({}, "the database has no sequences"),
        (17, "expected sequences, found int"),
        (["x.fa", {"a": "MKV"}], "dict among files: give either files or sequences in memory"),
        ({"a": "MK7"}, "sequence 'a': '7' at position 3"),
        ({"a": ""}, "sequence 'a' is empty"),
        ("MKV", "MKV: cannot be opened"),
        (["MKV", "MKL"], "MKV: cannot be opened"),
    ],
)
def test_what_is_no_input_is_refused(place, sources, message):
    """Text is a path; no database appears."""
    with pytest.raises(InputError) as error:
        makedb(sources, "y.db")
    assert message in str(error.value)
    assert os.listdir(place) == []


def test_invalid_letters_are_treated_as_asked(place):
    targets = {"good": "MKV", "bad": "M!V"}
    with makedb(targets, "y.db", on_invalid="replace") as database:
        assert database[1].letters == "MXV"
    with makedb(targets, "y.db", on_invalid="skip", force=True) as database:
        assert [each.title for each in database] == ["good"]


def test_help_shows_every_option():
    """Its name and what it means; type checkers know the same names and types."""
    names = [each.name for each in fields(MakedbOptions)]
    assert [*inspect.signature(swdual.makedb).parameters] == ["sources", "path", *names]
    page = inspect.getdoc(swdual.makedb)
    assert all(f"\n{name}\n    " in page for name in names)
    assert page.count("Parameters\n") == page.count("Raises\n") == 1
    assert get_type_hints(MakedbKeywords) == get_type_hints(MakedbOptions)


def test_a_wrong_option_is_named(place):
    """With the nearest that there is."""
    with pytest.raises(TypeError, match=r"makedb\(\) has no option 'shard'; did you mean shards"):
        makedb(TARGETS, "y.db", shard=2)
    with pytest.raises(InputError, match="0 shards, but there may be 1 to"):
        makedb(TARGETS, "y.db", shards=0)
