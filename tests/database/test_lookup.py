"""Records by identifier: every way to find them finds the same, and what is not there is said."""

from __future__ import annotations

import multiprocessing
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

import swdual
from swdual.database import lookup
from swdual.database.database import Database
from swdual.database.id_list import find_identifiers
from swdual.database.lookup import Matches, Names, find_records, is_part, similar_identifiers
from swdual.database.makedb import makedb
from swdual.errors import DatabaseError, InputError, UnknownIdentifier
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

TITLES = (
    "sp|P01008.1|ANT3_HUMAN Antithrombin-III OS=Homo sapiens",
    "gi|5|ref|NP_000479.1| same name NP_000480.1 in the title",
    "plain",
    "sp|Q00001|TWICE_A one",
    "tr|Q00001|TWICE_B two",
    "same first",
    "same second",
    "été|é1 accents",
)


def named(titles, alphabet=PROTEIN):
    """Return a database in memory whose records have these header lines."""
    records = [Sequence(title, bytes([k % 4, k // 4])) for k, title in enumerate(titles)]
    return Database.from_batches([batch_of(records)], alphabet, "named")


def names_of(titles):
    """Return header lines as the lookup reads them."""
    encoded = [title.encode() for title in titles]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.uint64)
    return Names(memoryview(b"".join(encoded)), offsets, lambda: None)


@pytest.fixture(scope="module")
def database():
    return named(TITLES)


def test_a_record_is_had_by_place_and_by_identifier(database):
    """The same record both ways; places may be negative and of NumPy."""
    assert database["plain"] == database[2] == database[np.int64(-6)]
    assert database["plain"].codes == bytes([2, 0])
    assert database["été|é1"].title == TITLES[7]


@pytest.mark.parametrize(
    ("word", "record"),
    [
        ("sp|P01008.1|ANT3_HUMAN", 0),
        ("P01008.1", 0),
        ("P01008", 0),
        ("ANT3_HUMAN", 0),
        ("NP_000479", 1),
        ("TWICE_B", 4),
        ("same", 5),
        ("é1", 7),
    ],
)
def test_a_part_between_bars_is_enough(database, word, record):
    """With or without the version; of records with the same identifier it is the first."""
    assert database.find(word) == record
    assert word in database


@pytest.mark.parametrize(
    ("word", "record"),
    [("ref|NP_1.1|", 0), ("gb|NP_1.1|LOCUS", 0), ("sp|P2|X", None), ("NP_1.1|", None)],
)
def test_bars_around_an_accession_are_passed_over(word, record):
    """As in a column `sseqid` of BLAST; the accession must be the whole identifier."""
    database = named(["NP_1.1 one", "tr|P2|Y two"])
    assert database.lookup([word])[word].best == ([] if record is None else [record])


@pytest.mark.parametrize(
    "word",
    [
        *(
            "P01008.2",
            "P0100",
            "Antithrombin-III",
            "NP_000480",
            "p01008",
            "plain.1",
            "ref|NP_000479.1",
        ),
        *("", " ", "plain same", "sp|P01008"),
    ],
)
def test_what_is_no_identifier_is_not_found(database, word):
    """Neither a beginning nor another version nor a word of the title; it is a KeyError."""
    assert word not in database
    with pytest.raises(UnknownIdentifier, match=re.escape(repr(word))) as caught:
        _ = database[word]
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, InputError)


def test_the_error_names_what_resembles_it(database):
    """Capitals do not matter for that."""
    with pytest.raises(UnknownIdentifier) as caught:
        database.find("ant3")
    assert str(caught.value) == (
        "named: has no record 'ant3'; did you mean sp|P01008.1|ANT3_HUMAN?"
    )


def test_a_part_of_several_identifiers_is_refused_with_their_names(database):
    """Nobody guesses which is meant."""
    assert "Q00001" not in database
    with pytest.raises(UnknownIdentifier) as caught:
        database.find("Q00001")
    assert str(caught.value) == (
        "named: 'Q00001' is part of 2 identifiers: sp|Q00001|TWICE_A, tr|Q00001|TWICE_B; "
        "give the whole identifier"
    )


@pytest.mark.parametrize("record", [1.5, None, b"plain", ("plain",)])
def test_other_types_are_refused(database, record):
    """The message says what names a record."""
    kind = type(record).__name__
    with pytest.raises(TypeError, match=f"whole number or by its identifier, not by {kind}"):
        _ = database[record]


def test_places_beyond_the_end_are_refused(database):
    """As with a list."""
    for place in (len(TITLES), -len(TITLES) - 1):
        with pytest.raises(IndexError):
            _ = database[place]


def test_a_record_itself_can_be_looked_for(database):
    """As in any container."""
    assert database[3] in database
    assert Sequence("plain", b"\x03") not in database
    assert 3 not in database


WORD = st.text("ab1.|", min_size=1, max_size=6)
TITLE = st.tuples(WORD, st.sampled_from(["", " ", " ab", "\tb|a 1", " a.1|b"])).map("".join)
TITLES_OF_RECORD = st.lists(TITLE, min_size=1, max_size=3).map("\x01".join)


def by_definition(words, titles):
    """Return what the lookup should: one record and one word after the other."""
    own = [[each.split()[0] for each in title.split("\x01")] for title in titles]
    exact = {word: [k for k, names in enumerate(own) if word in names] for word in words}
    return {
        word: Matches(
            exact[word],
            [
                k
                for k, names in enumerate(own)
                if k not in exact[word] and any(is_part(word, each) for each in names)
            ],
        )
        for word in words
        if word
    }


@examples(200)
@given(
    st.lists(TITLES_OF_RECORD, min_size=1, max_size=12),
    st.lists(WORD, max_size=8),
    st.integers(1, 40),
)
def test_every_way_finds_what_the_definition_says(titles, words, chunk_bytes):
    """By bytes and by hashes, in pieces of any size; by the identifier of any title."""
    names, expected = names_of(titles), by_definition(words, titles)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "CHUNK_BYTES", chunk_bytes)
        for scans, letters in ((0, 0), (1000, 0)):
            patch.setattr(lookup, "MAX_SCANS", scans)
            patch.setattr(lookup, "MIN_SCAN_LETTERS", letters)
            assert find_records(words, names) == expected


def test_many_identifiers_are_found_in_one_pass():
    """More than are searched for one by one; headers that are not UTF-8 too."""
    titles = [f"sp|Q{k:05}.{k % 3}|NAME_{k} protein {k}" for k in range(500)]
    database = named(titles)
    wanted = [f"Q{k:05}" for k in range(0, 500, 7)]
    assert len(wanted) > lookup.MAX_SCANS
    assert [found.best for found in database.lookup(wanted).values()] == [
        [k] for k in range(0, 500, 7)
    ]
    latin = Names(memoryview(b"caf\xe9 x"), np.array([0, 6], np.uint64), lambda: None)
    assert find_records(["café"], latin)["café"].exact == [0]
    assert find_records(["caf"], latin)["caf"].best == []


def test_a_few_similar_identifiers_are_named():
    """Not all of them, and none for nothing."""
    names = names_of([f"Ident{k} x" for k in range(9)])
    assert similar_identifiers("IDENT", names) == ["Ident0", "Ident1", "Ident2"]
    assert similar_identifiers("dent8", names) == ["Ident8"]
    assert similar_identifiers("x", names) == similar_identifiers("", names) == []


def test_offsets_that_contradict_the_headers_are_no_place_to_look():
    """Nothing is read where no header lies."""
    for offsets in ([0, 9, 4], [0, 2, 90], [7, 2, 4], [(1 << 64) - 9, 2, 4]):
        names = Names(memoryview(b"a bc d"), np.array(offsets, np.uint64), lambda: None)
        for words in (["abcde"], ["a"]):
            with pytest.raises(ValueError, match="offsets"):
                find_records(words, names)


def _described(database):
    """Return what tells databases apart, as another process sees it."""
    return repr(database), database.digest, [str(record) for record in database]


def test_a_file_is_pickled_by_its_path(here):
    """A pickle is small, can be read in another folder, and gives the same records."""
    database = makedb("t.fa", "t.db")
    kept = pickle.dumps(database)
    assert len(kept) < 1000
    (here / "elsewhere").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here / "elsewhere")
        again = pickle.loads(kept)
    assert again.name == str(here / "t.db")
    assert list(again) == list(database)
    assert pickle.loads(pickle.dumps(again)).digest == database.digest


def test_other_processes_can_be_given_a_database(here):
    """Also one that was started afresh, and one in memory."""
    databases = [makedb("t.fa", "t.db"), named(TITLES)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(_described, databases)
    assert [each[1:] for each in found] == [_described(each)[1:] for each in databases]


def test_a_database_in_memory_is_pickled_with_its_records():
    """It has its name and alphabet as well."""
    database = named(["a x", "b"], NUCLEOTIDE)
    again = pickle.loads(pickle.dumps(database))
    assert (again.name, again.alphabet, list(again)) == ("named", NUCLEOTIDE, list(database))
    assert str(again["b"]) == "CA"


def test_shards_are_found_beside_the_path(here):
    """The blocks of the copy come from the same files."""
    database = makedb("t.fa", "t.db", shards=1)
    assert list(pickle.loads(pickle.dumps(database))) == list(database)


def test_a_file_that_is_another_now_is_refused(here):
    """The error names the file and says what to do; so it is where the file is gone."""
    with makedb("t.fa", "t.db") as database:
        kept = pickle.dumps(database)
    makedb("q.fa", "t.db", force=True).close()
    with pytest.raises(DatabaseError, match=r"t\.db: is not the database that was pickled"):
        pickle.loads(kept)
    (here / "t.db").unlink()
    with pytest.raises(DatabaseError, match=r"t\.db: cannot be opened"):
        pickle.loads(kept)


def test_a_closed_database_cannot_be_pickled(here):
    """It says so."""
    database = makedb("t.fa", "t.db")
    database.close()
    with pytest.raises(DatabaseError, match="is closed"):
        pickle.dumps(database)


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\u2009", "\u0085"])
def test_an_identifier_ends_at_a_blank_of_ascii(tmp_path, blank):
    """As in BLAST: what shows an identifier finds the record by it."""
    name = f"m5{blank}a"
    (tmp_path / "x.fa").write_text(f">{name} title\nMKV\n>m5{blank}b\nMKV\n", encoding="utf-8")
    with makedb(tmp_path / "x.fa", tmp_path / "x.db") as database:
        assert [record.id for record in database] == [name, f"m5{blank}b"]
        assert database.find(name) == 0
        assert [*find_identifiers([f"{name} more"])] == [name]
        assert swdual.search("MKV", database, evalue=1e9)[0].titles[0].startswith("m5")
