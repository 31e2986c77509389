"""MMseqs2 databases: what they hold is what their FASTA file holds."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import other_databases as other
from support.properties import examples

import swdual
from swdual.database.database import Database
from swdual.database.reader import open_other
from swdual.errors import DatabaseError, InputError

SAMPLES = Path(__file__).parents[3] / "data" / "proteins.fasta"
RECORDS = [
    (0, "t1 one", "MKVLAWGGHERMKV"),
    (5, "sp|P1|N_X two\tof caf\xe9", "ggGGWW*BZXUOJ"),
    (2, "t3", "ACDEFGHIKLMNPQRSTVWY" * 9),
]

needs_mmseqs = pytest.mark.skipif(shutil.which("mmseqs") is None, reason="needs mmseqs")


def records_of(path, **options):
    with Database.from_fasta(path, **options) as database:
        return [(record.title, str(record)) for record in database]


def shown(records):
    return [(title, letters.upper()) for _, title, letters in records]


@pytest.mark.parametrize("compressed", [False, True])
def test_records_are_those_that_were_written(tmp_path, compressed):
    """In the order of the index; headers are found by their keys."""
    files = other.mmseqs_files(RECORDS, compressed=compressed)
    files["_h.index"] = b"\n".join(reversed(files["_h.index"].splitlines()))
    path = other.write_files(tmp_path / "db", files)
    assert records_of(path) == shown(RECORDS)
    facts = open_other(path).facts()
    assert facts["sequences"] == 3
    assert facts["residues"] == sum(len(letters) for *_, letters in RECORDS)
    assert facts["longest"] == 180
    assert facts["format"] == "MMseqs2 database" + (", compressed" if compressed else "")


@given(
    records=st.lists(
        st.tuples(st.text("ab \u00e9\t|", max_size=80), st.text("ACGTNRYacgtu", max_size=200)),
        min_size=1,
        max_size=9,
    ).filter(lambda records: any(letters for _, letters in records)),
    compressed=st.booleans(),
)
@examples(40)
def test_any_records_come_back(tmp_path_factory, records, compressed):
    """Nucleotides: U as T, records without a name or without residues as those of FASTA."""
    folder = tmp_path_factory.mktemp("mmseqs")
    keyed = [(k, title, letters) for k, (title, letters) in enumerate(records)]
    files = other.mmseqs_files(keyed, kind=1, compressed=compressed)
    path = other.write_files(folder / "db", files)
    fasta = folder / "db.fa"
    fasta.write_text("".join(f">{title}\n{letters}\n" for title, letters in records))
    assert records_of(path) == records_of(fasta, dbtype="nucl")


def test_letters_in_lower_case_are_a_mask(tmp_path):
    """As those of a FASTA file."""
    path = other.write_files(tmp_path / "db", other.mmseqs_files(RECORDS))
    with swdual.makedb(path, tmp_path / "x.db", mask="lcase") as database:
        assert str(database.masked("lcase")[1]) == "ggGGWW*BZXUOJ"
        assert str(database[1]) == "GGGGWW*BZXUOJ"


def test_invalid_letters_are_treated_as_in_fasta_files(tmp_path):
    """Refused with the record, replaced, or their record skipped."""
    records = [(0, "good", "MKV"), (1, "bad one", "MK-V"), (2, "", "GG"), (3, "empty", "")]
    path = other.write_files(tmp_path / "db", other.mmseqs_files(records))
    with pytest.raises(InputError, match=r"db: record 'bad one': gap character '-'"):
        Database.open(path)
    found = records_of(path, on_invalid="replace")
    assert found == [("good", "MKV"), ("bad one", "MKXV"), ("sequence_3", "GG")]
    assert records_of(path, on_invalid="skip") == [("good", "MKV"), ("sequence_3", "GG")]


def test_commands_take_the_database(here, run):
    """The table of a search is that of the FASTA file, byte by byte."""
    other.write_files(here / "db", other.mmseqs_files(RECORDS, compressed=True))
    text = "".join(f">{title}\n{letters}\n" for _, title, letters in RECORDS)
    (here / "d.fa").write_text(text)
    found = [run("search", "q.fa", name, "--evalue", "1e6").out for name in ("d.fa", "db")]
    assert found[0] == found[1]
    assert found[0]
    assert run("extract", "db", "t3", "--width", "200").out == text[text.index(">t3") :]
    assert run("makedb", "db", "d.fa", "x.db").code == 0
    assert "sequences   6" in run("info", "x.db").out


DAMAGE = {
    "line": ({".index": b"0 0 3\n"}, r"db\.index: is damaged: line 1 is not a key"),
    "long number": ({".index": b"0\t" + b"9" * 19 + b"\t3\n"}, r"db\.index: is damaged: line 1"),
    "behind the end": ({".index": b"0\t190\t90\n"}, r"db\.index: is damaged: line 1 names what"),
    "far behind": ({".index": b"0\t999999999999\t2\n"}, r"db\.index: .* line 1 names what"),
    "no length": ({".index": b"0\t0\t0\n"}, r"db\.index: is damaged: line 1 names what"),
    "overlap": ({".index": b"0\t0\t16\n5\t9\t7\n"}, r"db\.index: .* line 1 overlaps"),
    "same place": ({".index": b"0\t0\t200\n" * 90}, r"db\.index: .* overlaps"),
    "same key": ({".index": b"0\t0\t16\n0\t16\t15\n"}, r"db\.index: .* a key is there twice"),
    "no header": ({".index": b"7\t0\t16\n"}, r"db_h\.index: .* some sequences have no header"),
    "headers cut": ({"_h": b"t1 one\n\0"}, r"db_h\.index: is damaged: line 2 names what"),
    "no headers": ({"_h": None}, r"db_h: cannot be opened"),
    "no data": ({"": None}, r"db: cannot be opened"),
    "empty": ({".index": b""}, r"db\.index: is empty"),
    "type": ({".dbtype": b"\2\0\0\0"}, r"db: is an MMseqs2 database of type 2, but"),
    "bits": ({".dbtype": b"\0\0\2\0"}, r"db: is an MMseqs2 database of type 131072, but"),
    "GPUs": ({".dbtype": b"\0\0\x08\0"}, r"db: is padded for GPUs .* of"),
    "short type": ({".dbtype": b"\0"}, r"db\.dbtype: is damaged: it must have 4 bytes"),
}
"""Files that take the place of those of a database, and what the error says."""


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_databases_are_refused(tmp_path, name):
    """With the file and the cause."""
    files, message = DAMAGE[name]
    kept = other.mmseqs_files(RECORDS) | files
    kept = {ending: data for ending, data in kept.items() if data is not None}
    path = other.write_files(tmp_path / "db", kept)
    with pytest.raises(DatabaseError, match=message):
        Database.open(path)


def other_digits(text):
    """Yield a text with one digit changed, for each digit and each change."""
    for place, letter in enumerate(text):
        if letter in b"0123456789":
            for digit in b"0123456789".replace(bytes([letter]), b""):
                yield text[:place] + bytes([digit]) + text[place + 1 :]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("ending", [".index", "_h.index"])
def test_a_wrong_digit_of_an_index_is_never_read_silently(tmp_path, ending, compressed):
    """It is refused, when the database is opened or read; or it changes nothing."""
    records = [(k, f"t{k} title", "MKVLAWDEFG"[: 3 + k % 8] * (1 + k)) for k in range(6)]
    files = other.mmseqs_files(records, compressed=compressed)
    path = other.write_files(tmp_path / "db", files)
    expected = records_of(path)
    refused = 0
    for text in other_digits(files[ending]):
        Path(f"{path}{ending}").write_bytes(text)
        try:
            assert sorted(records_of(path)) == sorted(expected), text
        except DatabaseError:
            refused += 1
    assert refused > 90


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-2], r"an entry at [0-9]+ reaches behind the end"),
        (lambda data: data.replace(b"\x28\xb5", b"\x28\xb4"), r"an entry at [0-9]+ cannot be"),
        (lambda data: data.replace(b"\x16\0\0\0", b"\xff\xff\xff\xff"), r"reaches behind the end"),
    ],
)
def test_damaged_compression_is_refused(tmp_path, change, message):
    """Entries that end early, that are none, and that claim to be large."""
    files = other.mmseqs_files([(0, "t", "MKVLA" * 40)], compressed=True)
    size = files[""][:4]
    files[""] = change(files[""].replace(size, b"\x16\0\0\0", 1) if b"\x16" in size else files[""])
    path = other.write_files(tmp_path / "db", files)
    if files == other.mmseqs_files([(0, "t", "MKVLA" * 40)], compressed=True):
        pytest.skip("zstd packs this into another size")
    with pytest.raises(DatabaseError, match=message):
        Database.open(path)


def test_an_entry_unpacks_to_no_more_than_its_index_says(tmp_path):
    """A few bytes of zstd may stand for any number."""
    files = other.mmseqs_files([(0, "t", "A" * 10_000_000)], compressed=True)
    files[".index"] = b"0\t0\t50\n"
    path = other.write_files(tmp_path / "db", files)
    with pytest.raises(DatabaseError, match="is longer than its index says"):
        Database.open(path)


def sample(folder):
    rng = random.Random(1)
    text = SAMPLES.read_text()
    text = text[: text.index(">syn000200")]
    text += (
        ">odd one\tof two\nMKVlawUOJBZX*\n>last\n" + "".join(rng.choices("ACDEFGH", k=99)) + "\n"
    )
    path = folder / "s.fa"
    path.write_text(text)
    return path


@needs_mmseqs
@pytest.mark.parametrize(
    "options",
    [(), ("--compressed", "1"), ("--shuffle", "0"), ("--createdb-mode", "1")],
    ids=["plain", "compressed", "in-order", "linked"],
)
def test_records_are_those_of_convert2fasta(tmp_path, options):
    """Also of a part that createsubdb makes, and of a FASTA file that the database links to."""
    fasta = sample(tmp_path)
    if "--createdb-mode" in options:
        lines = fasta.read_text().split(">")[1:]
        records = [record.split("\n", 1) for record in lines]
        fasta.write_text("".join(f">{t}\n{''.join(x.split())}\n" for t, x in records))

    def mmseqs(*words):
        subprocess.run(
            ["mmseqs", *map(str, words)], check=True, capture_output=True, timeout=120, cwd=tmp_path
        )

    mmseqs("createdb", fasta, "db", *options)
    mmseqs("convert2fasta", "db", "out.fa")
    assert records_of(tmp_path / "db") == records_of(tmp_path / "out.fa")
    assert sorted(records_of(tmp_path / "db")) == sorted(records_of(fasta))
    if not options:
        (tmp_path / "keys").write_text("1\n3\n150\n")
        mmseqs("createsubdb", "keys", "db", "part")
        mmseqs("convert2fasta", "part", "part.fa")
        assert os.path.islink(tmp_path / "part_h")
        assert records_of(tmp_path / "part") == records_of(tmp_path / "part.fa")
        assert len(records_of(tmp_path / "part")) == 3


@needs_mmseqs
@pytest.mark.parametrize("options", [(), ("--compressed", "1")], ids=["plain", "compressed"])
@pytest.mark.parametrize("mode", ["0", "1"], ids=["copied", "soft-linked"])
def test_a_part_that_createsubdb_makes_is_read(tmp_path, options, mode):
    """With its own data, or an index of the data of the whole."""
    fasta = sample(tmp_path)

    def mmseqs(*words):
        subprocess.run(
            ["mmseqs", *map(str, words)], check=True, capture_output=True, timeout=120, cwd=tmp_path
        )

    mmseqs("createdb", fasta, "db", *options)
    (tmp_path / "keys").write_text("7\n3\n12\n")
    mmseqs("createsubdb", "keys", "db", "part", "--subdb-mode", mode)
    mmseqs("convert2fasta", "part", "out.fa")
    found = records_of(tmp_path / "part")
    assert found == records_of(tmp_path / "out.fa")
    assert len(found) == 3
