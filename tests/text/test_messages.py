"""What strangers wrote is shown on one line, and nothing in it acts on who looks on."""

from __future__ import annotations

import pytest

from swdual.auditing.table import read_hits
from swdual.database.id_list import read_id_list
from swdual.errors import DatabaseError, InputError
from swdual.profiles import Profile
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.fasta import read_sequences
from swdual.sequences.records import as_sequences
from swdual.text.messages import quote, sanitize


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("é 漢 \U0001f9ec no-break\xa0space", "é 漢 \U0001f9ec no-break\xa0space"),
        ("tab\there", "tab here"),
        ("line\nfeed\r\n", "line?feed??"),
        ("\x1b[31mred\x1b]0;title\x07", "?[31mred?]0;title?"),
        ("\x9b2J\x85\x7f\x00", "?2J???"),
        ("\u202eright\u2066\u200f", "?right??"),
        ("\u2028\u2029\ufffe\uffff\udce9", "?????"),
    ],
)
def test_what_acts_becomes_a_question_mark(text, shown):
    """Control characters, what turns the direction of text, and what is no character."""
    assert sanitize(text) == shown
    assert sanitize(shown) == shown


def test_tabs_may_be_kept():
    """CSV keeps them: there they divide nothing."""
    assert sanitize("a\tb\x0b", tab="\t") == "a\tb?"


def test_a_long_quotation_is_cut():
    """A message tells about a file and does not repeat it."""
    assert quote("x" * 40) == repr("x" * 40)
    assert quote("\x1b" + "x" * 9999) == repr("\x1b" + "x" * 39 + "...")


@pytest.mark.parametrize("kind", [InputError, DatabaseError])
def test_an_error_is_one_line_without_control_characters(kind):
    """Whoever raises it need not think of what a name may hold."""
    error = kind("no \x1b[2Jgood\nname", file="a\nb\x1b\udce9.fa", line=3)
    assert str(error) == "a?b??.fa:3: no ?[2Jgood?name"
    assert error.message == error.args[0] == "no ?[2Jgood?name"
    assert error.file == "a\nb\x1b\udce9.fa"


def test_identifiers_in_latin_1_are_the_same_wherever_they_stand(tmp_path):
    """In records, tables, lists, alignments and arguments, as they are shown in messages."""
    name, identifier = "caf\u00e9".encode("latin-1"), "caf\u00e9"
    row = b"\t".join([name, *b"t 100 8 0 0 1 8 1 8 1e-5 17".split()])
    comments = b"# BLASTP 2.12.0+\n# Query: " + name + b"\n# Database: d\n# 1 hits found\n"
    files = {
        "x.fa": b">" + name + b" prot\xe9ine\nMKV\n",
        "x.tsv": row + b"\n",
        "x.csv": row.replace(b"\t", b",") + b"\n",
        "x.m9": comments + row + b"\n",
        "x.ids": name + b"\n",
        "x.a3m": b">" + name + b"\nMKV\n",
    }
    for file, content in files.items():
        (tmp_path / file).write_bytes(content)
    assert next(read_sequences(tmp_path / "x.fa")).id == identifier
    for file in ("x.tsv", "x.csv", "x.m9"):
        assert read_hits(tmp_path / file).queries == [identifier], file
    assert read_id_list(tmp_path / "x.ids") == (identifier,)
    assert Profile.from_msa(tmp_path / "x.a3m").title == identifier
    (found,) = as_sequences([(name, "MKV")], PROTEIN)
    assert found.id == identifier
    assert quote(name.decode(errors="surrogateescape")) == f"'{identifier}'"
