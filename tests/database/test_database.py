"""The database file: every kind of damage is found, and the message says where."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
import xxhash

from swdual.database import build as building
from swdual.database.database import Database
from swdual.database.layout import (
    HEADER,
    HEADER_BYTES,
    MAGIC,
    MAJOR,
    MAJOR_WITH_SHARDS,
    MINOR,
    checksum,
    pack_header,
    read_manifest,
)
from swdual.database.makedb import makedb
from swdual.database.mapping import MemoryFile
from swdual.database.source import TypedBatches
from swdual.errors import DatabaseError
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

SECTIONS = [
    *(f"{kind}/{n}" for n in range(3) for kind in ("residues", "starts", "lengths", "ordinals")),
    "offsets",
    "names",
]


@pytest.fixture
def path(here, monkeypatch):
    """A database of three blocks."""
    monkeypatch.setattr(building, "BLOCK_BYTES", 16)
    makedb("t.fa", "t.db").close()
    monkeypatch.undo()
    monkeypatch.chdir(here)
    return here / "t.db"


def flip(path, place, bit=0):
    """Flip a bit of a file."""
    data = bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(data)


def patch_header(path, major, minor):
    """Give the file another version number, and the checksum that belongs to it."""
    data = bytearray(path.read_bytes())
    struct.pack_into("<HH", data, len(MAGIC), major, minor)
    data[HEADER_BYTES - 8 : HEADER_BYTES] = xxhash.xxh3_64_digest(data[: HEADER_BYTES - 8])
    path.write_bytes(data)


def sections(path):
    with Database.open(path) as database:
        return {section.name: section for section in database.manifest.sections}


def refused_everywhere(refuses, words):
    """Every command that opens the database fails with 2 and these words."""
    refuses(2, ["t.db: ", *words], "search", "q.fa", "t.db")
    refuses(2, ["t.db: ", *words], "search", "q.fa", "t.db", "-o", "hits.tsv")
    refuses(2, ["t.db: ", *words], "info", "t.db")
    refuses(2, ["t.db: ", *words], "info", "t.db", "--check")


def test_the_sections_are_those_documented(path):
    """Three blocks of four sections, then the names."""
    assert list(sections(path)) == SECTIONS


@pytest.mark.case(number=12)
@pytest.mark.parametrize("end", ["first", "last"])
@pytest.mark.parametrize("name", SECTIONS)
def test_a_flipped_bit_is_found_by_check_and_on_first_touch(refuses, run, here, path, name, end):
    """The section is named; without --check, a search finds it when it gets there."""
    section = sections(path)[name]
    place = section.offset + (0 if end == "first" else section.bytes - 1)
    flip(path, place, bit=3)
    words = ["t.db: ", f"damaged section '{name}'", "checksum", "swdual makedb"]
    refuses(2, words, "info", "t.db", "--check")
    refuses(2, words, "search", "q.fa", "t.db")
    assert run("search", "q.fa", "t.db", "-o", "hits.tsv").code == 2
    assert not (here / "hits.tsv").exists()
    with Database.open(path) as database, pytest.raises(DatabaseError, match=name):
        list(database)
    with pytest.raises(DatabaseError, match=name):
        Database.open(path, check=True)


def test_damage_is_found_every_time(path):
    """A section that failed once is not taken for checked."""
    flip(path, sections(path)["residues/1"].offset)
    with Database.open(path) as database:
        for _ in range(2):
            with pytest.raises(DatabaseError, match="residues/1"):
                database.block(1)
        assert len(database.block(0).lengths) == 1


@pytest.mark.sample(32)
@pytest.mark.case(number=12)
@pytest.mark.parametrize("place", range(HEADER_BYTES))
def test_a_flipped_bit_of_the_header_is_found_at_open(path, place):
    """No bit of the header may change, not even the unused ones."""
    flip(path, place, bit=place % 8)
    with pytest.raises(DatabaseError, match=r"t\.db"):
        Database.open(path)


@pytest.mark.case(number=12)
@pytest.mark.parametrize(
    ("place", "word"),
    [(0, "not a swdual database"), (8, "format"), (20, "header"), (250, "header")],
)
def test_header_damage_is_explained(refuses, path, place, word):
    """Magic, version, numbers and checksum of the header: exit code 2 at once."""
    flip(path, place, bit=1)
    refused_everywhere(refuses, [word])


@pytest.mark.case(number=12)
@pytest.mark.parametrize("place", [0, 30, -1])
def test_a_flipped_bit_of_the_manifest_is_found_at_open(refuses, path, place):
    """The manifest is checked before anything is read from it."""
    offset, size = HEADER.unpack_from(path.read_bytes())[4:6]
    flip(path, offset + place % size)
    refused_everywhere(refuses, ["damaged section 'manifest'"])


@pytest.mark.case(number=12)
def test_a_file_one_byte_short_is_found_at_open(refuses, path):
    """The header knows the size of the file."""
    path.write_bytes(path.read_bytes()[:-1])
    refused_everywhere(refuses, ["truncated"])


@pytest.mark.case(number=12)
@pytest.mark.parametrize("name", SECTIONS)
def test_a_file_that_ends_in_a_section_is_found_at_open(path, name):
    """Wherever the file ends early, it is refused."""
    section = sections(path)[name]
    whole = path.read_bytes()
    for end in (section.offset, section.offset + section.bytes - 1, section.offset + section.bytes):
        path.write_bytes(whole[:end])
        with pytest.raises(DatabaseError, match=r"t\.db: truncated"):
            Database.open(path)


@pytest.mark.case(number=12)
@pytest.mark.parametrize("length", [1, 7, 8, 12, HEADER_BYTES - 1, HEADER_BYTES])
def test_a_file_that_ends_in_the_header_is_found_at_open(refuses, path, length):
    """A few bytes of a header are a truncated database."""
    path.write_bytes(path.read_bytes()[:length])
    refused_everywhere(refuses, ["truncated"])


@pytest.mark.case(number=12)
def test_a_file_with_something_behind_its_end_is_found_at_open(refuses, path):
    """A file that grew is no longer what was written."""
    path.write_bytes(path.read_bytes() + b"\0")
    refused_everywhere(refuses, [" bytes where the header promises "])


@pytest.mark.case(number=12)
def test_an_empty_file_is_no_database(refuses, path):
    """Of an empty file under a database's name, it is said that it is empty."""
    path.write_bytes(b"")
    refused_everywhere(refuses, ["empty", "swdual makedb"])


@pytest.mark.case(number=12)
@pytest.mark.parametrize(
    "content", [b"\x7fELF" + bytes(300), b"just some text\n" * 30, b"SWDUALDX" + bytes(300)]
)
def test_a_foreign_file_is_no_database(refuses, path, content):
    """Another program's file is refused as such."""
    path.write_bytes(content)
    refused_everywhere(refuses, ["not a swdual database, nor a FASTA or FASTQ file"])


@pytest.mark.case(number=12)
@pytest.mark.parametrize("command", [("search", "q.fa"), ("info",)], ids=lambda words: words[0])
def test_a_directory_is_no_database(refuses, here, command):
    """A folder in the place of the database: exit code 2."""
    (here / "folder").mkdir()
    refuses(2, ["folder: ", "directory"], *command, "folder")


@pytest.mark.case(number=12)
@pytest.mark.parametrize("name", ["none.bin", "none.db", "none", "no/such/folder/x.db"])
@pytest.mark.parametrize("command", [("search", "q.fa"), ("info",)], ids=lambda words: words[0])
def test_a_missing_database_is_reported(refuses, name, command):
    """No such file: exit code 2, and how to make one."""
    refuses(2, [f"{name}: ", "No such file", "swdual makedb"], *command, name)


@pytest.mark.case(number=12)
def test_a_newer_major_version_is_refused(refuses, path):
    """The message gives both versions and the remedy."""
    patch_header(path, MAJOR_WITH_SHARDS + 1, 3)
    refused_everywhere(
        refuses,
        [
            f"{MAJOR_WITH_SHARDS + 1}.3",
            f"formats {MAJOR} and {MAJOR_WITH_SHARDS};",
            "swdual makedb",
        ],
    )


@pytest.mark.case(number=12)
def test_an_older_major_version_is_refused(refuses, path):
    """A format before the first is none that this release reads."""
    patch_header(path, MAJOR - 1, 0)
    refused_everywhere(refuses, [f"{MAJOR - 1}.0", "swdual makedb"])


@pytest.mark.case(number=12)
def test_a_newer_minor_version_is_read(run, path):
    """A newer minor version may only add what old readers can do without."""
    before = run("search", "q.fa", "t.db").out
    patch_header(path, MAJOR, MINOR + 1)
    outcome = run("search", "q.fa", "t.db")
    assert (outcome.code, outcome.out) == (0, before)


def test_info_shows_the_version_of_the_file(run, path):
    """The format is that of the file, not that of the program."""
    patch_header(path, MAJOR, MINOR + 1)
    assert f"{MAJOR}.{MINOR + 1}" in run("info", "t.db").out


def test_a_manifest_with_more_in_it_is_read(run, path):
    """Unknown entries of a newer minor version's manifest are passed over."""
    before = run("search", "q.fa", "t.db").out
    data = path.read_bytes()
    fields = list(HEADER.unpack_from(data))
    manifest = data[fields[4] :].replace(b'{"writer"', b'{"news":[1],"writer"', 1)
    fields[5], fields[6] = len(manifest), fields[4] + len(manifest)
    fields[7] = xxhash.xxh3_128_digest(manifest)
    header = HEADER.pack(*fields).ljust(HEADER_BYTES - 8, b"\0")
    header += xxhash.xxh3_64_digest(header)
    path.write_bytes(header + data[HEADER_BYTES : fields[4]] + manifest)
    patch_header(path, MAJOR, MINOR + 1)
    outcome = run("search", "q.fa", "t.db")
    assert (outcome.code, outcome.out) == (0, before)


def test_a_database_says_what_it_holds(run, path):
    """Counts and letters are those of the input; --check says that all is well."""
    plain, checked = run("info", "t.db"), run("info", "t.db", "--check")
    assert (plain.code, checked.code) == (0, 0)
    assert "sequences   3" in plain.out
    assert "residues    43" in plain.out
    assert "checksums   all right" in checked.out
    assert checked.out.startswith(plain.out)


def test_a_database_and_its_fasta_file_give_the_same_hits(run, path):
    """A database of several blocks, and the file it was made of, indexed in memory."""
    fields = "6 qseqid sseqid score evalue cigar rank stitle snum"
    arguments = ("-f", fields, "-k", "0", "-e", "inf")
    outcome = run("search", "q.fa", "t.db", *arguments)
    assert outcome.code == 0
    assert outcome.out
    assert run("search", "q.fa", "t.fa", *arguments).out == outcome.out


def test_records_come_back_in_input_order(path):
    """database[i] is record i of the input, also from the end."""
    with Database.open(path) as database:
        assert [sequence.title for sequence in database] == ["t1 one", "t2 two", "t3"]
        assert database[-1] == database[2]
        for place in (3, -4):
            with pytest.raises(IndexError):
                database[place]


def test_a_database_whose_lengths_do_not_descend_is_refused():
    """The kernels rely on the order, so a file that was made to break it must not reach them."""
    stream = io.BytesIO()
    batch = batch_of([Sequence("a", bytes(4)), Sequence("b", bytes(12))])
    building.build(TypedBatches([batch], PROTEIN, "t"), stream, scratch=None)
    whole = bytearray(stream.getvalue())
    place = next(x for x in read_manifest(memoryview(whole), "x").sections if x.name == "lengths/0")
    whole[place.offset : place.offset + 8] = np.array([4, 12], "<u4").tobytes()
    start = HEADER.unpack_from(whole)[4]
    right = checksum([bytes(whole[place.offset : place.offset + 8])])
    manifest = bytes(whole[start:]).replace(place.checksum.encode(), right.encode())
    whole[start:] = manifest
    whole[:HEADER_BYTES] = pack_header(start, manifest)
    database = Database(MemoryFile(whole, "x"))
    with pytest.raises(DatabaseError, match="block 0 is inconsistent"):
        database.block(0)
