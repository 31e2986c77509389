"""DIAMOND databases: what they hold is what `diamond getseq` prints."""

from __future__ import annotations

import shutil
import struct
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
    ("t1 one", "MKVLAwgghERMKV"),
    ("sp|P1|N_X two\tof caf\xe9", "GGGGWW"),
    ("t3", "ACDEFGHIKLMNPQRSTVWYBJZX*"),
]

needs_diamond = pytest.mark.skipif(shutil.which("diamond") is None, reason="needs diamond")


def records_of(path, **options):
    with Database.from_fasta(path, **options) as database:
        return [(record.title, str(record)) for record in database]


@pytest.mark.parametrize("version", [2, 3])
def test_records_are_those_that_were_written(tmp_path, version):
    """By the name of the file, and without its ending, as DIAMOND takes it."""
    path = tmp_path / "db.dmnd"
    path.write_bytes(other.diamond_file(RECORDS, version=version))
    expected = [(title, letters.upper()) for title, letters in RECORDS]
    assert records_of(path) == expected
    assert records_of(tmp_path / "db") == expected
    facts = open_other(path).facts()
    assert facts["format"] == f"DIAMOND database of version {version}, build 157"
    assert (facts["sequences"], facts["residues"], facts["longest"]) == (3, 45, 25)


@given(
    records=st.lists(
        st.tuples(
            st.text("ab \u00e9\t|", max_size=80), st.text("ARNDCQEGHILKMFPSTWYVBJZX*", min_size=1)
        ),
        min_size=1,
        max_size=9,
    )
)
@examples(40)
def test_any_records_come_back(tmp_path_factory, records):
    """A record without a name has its number."""
    path = tmp_path_factory.mktemp("diamond") / "db.dmnd"
    path.write_bytes(other.diamond_file(records))
    expected = [
        (title.strip(" \t") or f"sequence_{number}", letters)
        for number, (title, letters) in enumerate(records, start=1)
    ]
    assert records_of(path) == expected


def test_masked_letters_are_letters_in_lower_case(tmp_path):
    """As getseq prints them."""
    path = tmp_path / "db.dmnd"
    path.write_bytes(other.diamond_file(RECORDS))
    with swdual.makedb(path, tmp_path / "x.db", mask="lcase") as database:
        assert str(database.masked("lcase")[0]) == RECORDS[0][1]
    assert Database.open(path).masks == ()


def test_commands_take_the_database(here, run):
    """The table of a search is that of the FASTA file, byte by byte."""
    (here / "db.dmnd").write_bytes(other.diamond_file(RECORDS))
    (here / "d.fa").write_text("".join(f">{title}\n{letters}\n" for title, letters in RECORDS))
    found = [
        run("search", "q.fa", name, "--evalue", "1e6").out for name in ("d.fa", "db", "db.dmnd")
    ]
    assert found[0] == found[1] == found[2]
    assert found[0]
    assert run("extract", "db.dmnd", "P1").out == ">sp|P1|N_X two\tof caf\xe9\nGGGGWW\n"
    assert run("search", "q.fa", "db", "--dbtype", "nucl").code == 1
    with pytest.raises(InputError, match="holds proteins, but nucleotides are wanted"):
        Database.from_fasta("db", dbtype="nucl")


SOUND = other.diamond_file(RECORDS)
INDEX = struct.unpack_from("<Q", SOUND, 32)[0]


def _number(place, value, size=8):
    return SOUND[:place] + value.to_bytes(size, "little") + SOUND[place + size :]


DAMAGE = {
    "cut": (SOUND[:-1], "there is no room for 3 sequences"),
    "cut in its header": (SOUND[:20], "it ends in its header"),
    "other version": (_number(12, 9, 4), r"is of format version 9, but 2 and 3"),
    "not complete": (_number(16, 0), "there is no room for 0 sequences"),
    "too many": (_number(16, 2**60), "there is no room for 1,152,921,504,606,846,976"),
    "letters": (_number(24, 7), "it counts 7 letters, its index 45"),
    "index elsewhere": (_number(32, 2**63), "there is no room"),
    "not in order": (_number(INDEX, 300), "the places of records are not in order"),
    "before the records": (_number(INDEX, 8), "the places of records are not in order"),
    "far behind": (_number(INDEX + 16, 2**63 - 1), "the places of records are not in order"),
    "no letters": (
        _number(INDEX + 8, 0, 4)[:24] + (31).to_bytes(8, "little") + _number(INDEX + 8, 0, 4)[32:],
        "there is a record without letters",
    ),
    "shifted": (_number(INDEX, 97), "no letter, in record 0 or after it"),
    "marks": (_number(96, 0, 1), "records do not lie as the index says, from 0 on"),
    "letter": (_number(97, 30, 1), "no letter, in record 0 or after it"),
}
"""Damaged files, and what the error says."""


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_databases_are_refused(tmp_path, name):
    """With the file and the cause."""
    data, message = DAMAGE[name]
    (tmp_path / "db.dmnd").write_bytes(data)
    with pytest.raises(DatabaseError, match=rf"db\.dmnd: .*{message}"):
        Database.open(tmp_path / "db")


@needs_diamond
def test_records_are_those_of_getseq(tmp_path):
    """With the letters that makedb masked."""
    text = SAMPLES.read_text()
    text = text[: text.index(">syn000200")]
    text += ">odd one\tof two\nMKVAWUOJBZX*\n>repeats\n" + "MKVQ" * 4 + "AQAQAQAQAQ" * 9 + "\n"
    (tmp_path / "s.fa").write_text(text)

    def diamond(*words):
        return subprocess.run(
            ["diamond", *words], check=True, capture_output=True, timeout=120, cwd=tmp_path
        ).stdout

    diamond("makedb", "--in", "s.fa", "--db", "db", "--threads", "1")
    (tmp_path / "out.fa").write_bytes(diamond("getseq", "--db", "db"))
    databases = [
        swdual.makedb(tmp_path / name, tmp_path / f"{name}.db", mask="lcase", title="same")
        for name in ("db.dmnd", "out.fa")
    ]
    contents = [(tmp_path / f"{name}.db").read_bytes() for name in ("db.dmnd", "out.fa")]
    assert contents[0] == contents[1]
    masked = str(databases[0].masked("lcase")["repeats"])
    assert masked != masked.upper()
    for database in databases:
        database.close()
