"""Names that strangers chose do nothing to the terminal, the log and whoever reads the output."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from xml.etree import ElementTree

import numpy as np
import pytest
from support.formats import TEXT

from swdual.database.build import build
from swdual.database.database import Database
from swdual.database.source import TypedBatches
from swdual.database.taxids import TaxidSource
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, Taxids, batch_of
from swdual.taxonomy.tree import make_taxonomy

RED = "\x1b[31mred\x9b2J\x07"
TITLES = [
    f"t1{RED} \tone\nt9\t99\u2028\u202eright\x85",
    "t2\x00 <script>alert(1)</script> ]]> &amp; 'x' \"y\"",
    "\x1b]0;title\x07",
]
LETTERS = "MKVLAWGGHERMKVLAWDEF"


def acts(text, allowed="\n\t"):
    """Return the characters that a terminal would obey, or that turn the direction of text."""
    return [
        x
        for x in text
        if x not in allowed
        and (unicodedata.category(x) in ("Cc", "Zl", "Zp", "Cs") or x in "\u202e\u2066\u200f")
    ]


@pytest.fixture
def hostile(here):
    """A database and queries with titles that no FASTA file could have given."""
    batch = batch_of(Sequence(title, PROTEIN.encode(LETTERS)) for title in TITLES)
    batch = batch._replace(taxids=Taxids(np.array([7, 7, 7], np.uint32), np.arange(1, 4)))
    names = (f"root{RED}", f"name{RED}")
    source = TaxidSource(taxonomy=make_taxonomy((1, 7), (1, 1), (RED, RED), names, {7: RED}, {}))
    with (here / "t.db").open("wb") as stream:
        build(TypedBatches([batch], PROTEIN, "x"), stream, scratch=None, taxids=source)
    (here / "h.fa").write_text(f">q{RED} \x0bone\u2028\nMKVLAWGGHERMKV\n")
    return here


@pytest.mark.parametrize("name", ["0", "5", "6", "7", "10", "17", *TEXT])
def test_no_format_of_text_passes_control_characters_on(run, hostile, name):
    """Neither of a query nor of a target."""
    fields = " std staxids sscinames scomnames slineage" if name in ("6", "7", "10") else ""
    outcome = run("search", "h.fa", "t.db", "-f", name + fields)
    assert outcome.code == 0
    assert not acts(outcome.out)
    assert not acts(outcome.err)


@pytest.mark.parametrize(("name", "dialect"), [("6", "excel-tab"), ("10", "excel")])
def test_a_title_adds_no_rows_and_no_columns(run, hostile, name, dialect):
    """Line feeds and tabs of a database's titles, too."""
    text = run("search", "h.fa", "t.db", "-f", f"{name} qseqid stitle sseqid score").out
    rows = (
        [*csv.reader(io.StringIO(text, newline=""), dialect)]
        if name == "10"
        else [line.split("\t") for line in text.split("\n")[:-1]]
    )
    assert [len(row) for row in rows] == [4, 4, 4]
    assert rows[0][2] == "t1?[31mred?2J?"


def test_xml_is_well_formed_and_shows_titles_as_text(run, hostile):
    """XML 1.0 has no way to write a control character, and markup is escaped."""
    tree = ElementTree.fromstring(run("search", "h.fa", "t.db", "-f", "5").out)
    titles = [f"{hit.findtext('Hit_id')} {hit.findtext('Hit_def')}" for hit in tree.iter("Hit")]
    assert "t2? <script>alert(1)</script> ]]> &amp; 'x' \"y\"" in titles
    assert not list(tree.iter("script"))


def test_json_and_arrow_keep_titles_as_they_are(run, hostile):
    """There a control character is data: JSON writes it as an escape."""
    lines = run("search", "h.fa", "t.db", "-f", "jsonl").out.splitlines()
    assert [json.loads(line)["stitle"] for line in lines] == TITLES


def test_sam_has_its_columns_and_names(run, hostile):
    """Eleven columns and tags, a header line for each name."""
    lines = run("search", "h.fa", "t.db", "-f", "17").out.splitlines()
    assert [line for line in lines if line.startswith("@SQ")] == [
        "@SQ\tSN:t1%1B%5B31mred%C2%9B2J%07\tLN:20",
        "@SQ\tSN:t2%00\tLN:20",
        "@SQ\tSN:%1B%5D0;title%07\tLN:20",
    ]
    assert all(len(line.split("\t")) >= 11 for line in lines if not line.startswith("@"))


def test_traces_and_drawings_hold_identifiers_as_text(run, hostile):
    """Chrome's trace is JSON in ASCII; SVG has no markup of a stranger's."""
    (hostile / "h.fa").write_text(f">q<script>{RED}\nMKVLAWGGHERMKV\n")
    run("search", "h.fa", "t.db", "-o", "o.tsv", "--trace", "t.json", "--gantt", "g.svg")
    text = (hostile / "t.json").read_text()
    assert not acts(text)
    assert any("<script>" in event["name"] for event in json.loads(text)["traceEvents"])
    drawing = (hostile / "g.svg").read_text()
    assert "<script>" not in drawing
    ElementTree.fromstring(drawing)


def test_info_shows_title_and_writer_on_a_line_each(run, hostile):
    """They are what someone wrote into the file."""
    batch = batch_of([Sequence("a", PROTEIN.encode("MKV"))])
    database = Database.from_batches([batch], PROTEIN, f"{RED}\nsequences   9")
    (hostile / "x.db").write_bytes(bytes(database._main.data))
    shown = run("info", "x.db").out
    assert not acts(shown)
    assert shown.count("\nsequences ") == 1
    assert not acts(run("info", "x.db", "--json").out)


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", f"q{RED}.fa", "t.db"),
        ("search", "q.fa", f"t{RED}.db"),
        ("search", "q.fa", "t.db", f"x{RED}"),
        ("search", "q.fa", "t.db", f"--{RED}"),
        ("search", "q.fa", "t.db", "-k", RED),
        ("search", "q.fa", "t.db", "--matrix", RED),
        ("search", "q.fa", "t.db", "-f", RED),
        ("search", "q.fa", "t.db", "-o", f"none{RED}/x"),
        ("simulate", f"t{RED}.swf"),
        ("simulate", "t.swf", "--platform", f"{RED}.toml"),
        (f"search{RED}",),
    ],
)
def test_messages_quote_arguments_without_control_characters(run, hostile, arguments):
    """File names may come from a shell's pattern, and from whoever sent the files."""
    outcome = run(*arguments)
    assert outcome.code in (1, 2, 6)
    assert outcome.err.strip()
    assert not acts(outcome.err)


def test_messages_quote_files_without_control_characters(run, hostile):
    """Identifiers of empty records, letters that are none, words of a trace."""
    (hostile / "e.fa").write_text(f">{RED}\n>b\nMKV\n")
    outcome = run("search", "e.fa", "t.db")
    assert "1 empty record left out (?[31mred?2J?)" in outcome.err
    (hostile / "b.fa").write_bytes(b">b\nMK\x1bV\n")
    bad = run("search", "b.fa", "t.db")
    (hostile / "t.swf").write_bytes(b"1 \x1b[31m" + b" 1" * 16)
    trace = run("simulate", "t.swf", "--processors", "4")
    for each in (outcome, bad, trace):
        assert not acts(each.err)


def test_a_log_has_a_line_a_message(run, hostile):
    """Nothing that a message quotes begins another."""
    (hostile / "e.fa").write_text(f">{RED}\u2028\n>b\nMKV\n")
    name = "e\n2026-01-01 00:00:00,000 ERROR forged.fa"
    (hostile / name).write_bytes((hostile / "e.fa").read_bytes())
    run("search", name, "t.db", "--log", "log", "-o", "o.tsv")
    lines = (hostile / "log").read_text().split("\n")
    assert any("forged.fa: 1 empty record " in line for line in lines)
    assert not any(line.startswith("2026-01-01") for line in lines)
    assert not acts("\n".join(lines))


def test_a_log_on_a_full_disk_is_lost_without_the_search(run, hostile):
    """Found by fuzzing: exit code 6 and the reason, but all hits."""
    outcome = run("search", "h.fa", "t.db", "--log", "/dev/full")
    assert outcome.code == 6
    assert "/dev/full: cannot be written: No space left on device" in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == run("search", "h.fa", "t.db").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "h.fa", "t.db", "--cpus", "99999999999999999999"),
        ("plan", "h.fa", "t.db", "--gpus", "1000000000", "--cpus", "1"),
    ],
)
def test_absurd_numbers_of_workers_are_refused(run, hostile, arguments):
    """Found by fuzzing: a list of so many does not fit into memory."""
    outcome = run(*arguments)
    assert outcome.code == 1
    assert "1e+20, but it must be" in outcome.err or "1000000000" in outcome.err


def test_an_absurd_number_of_threads_is_that_of_the_processors(run, hostile):
    """With a warning; found by fuzzing too."""
    outcome = run("search", "h.fa", "t.db", "-p", "99999999999999999999")
    assert outcome.code == 0
    assert "warning" in outcome.err
    assert "the number of CPUs that this process may use" in outcome.err
    assert outcome.out == run("search", "h.fa", "t.db").out
