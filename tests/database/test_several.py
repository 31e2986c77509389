"""Several databases in one search are that of all their files."""

from __future__ import annotations

import json

import pytest
from support.other_databases import diamond_file

import swdual
from swdual.database.reader import list_files

FIELDS = ["-f", "6 std stitle", "-e", "1e6"]

FIRST, SECOND = ">t1 one\nMKVLAWGGHERMKV\n>same\nGGGGWW\n", ">same\nACDEFGHIKLMN\n>t3\nMKVLAW\n"


@pytest.fixture
def files(here):
    (here / "a.fa").write_text(FIRST)
    (here / "b.fa").write_text(SECOND)
    (here / "both.fa").write_text(FIRST + SECOND)
    (here / "two words.fa").write_text(FIRST)
    return here


@pytest.mark.parametrize("command", ["search", "iterate"])
@pytest.mark.parametrize(
    "words",
    [
        ["q.fa", "a.fa b.fa"],
        ["-query", "q.fa", "-db", " a.fa  b.fa"],
        ["q.fa", "'two words.fa' b.fa"],
    ],
    ids=" ".join,
)
def test_hits_are_those_of_one_file_of_all(run, files, words, command):
    """In the same order, with the same E-values; the whole statistics are of both."""
    found, expected = (run(command, *each, *FIELDS) for each in (words, ["q.fa", "both.fa"]))
    assert found.out == expected.out != ""
    assert found.code == 0


@pytest.mark.parametrize("name", ["d", "d.dmnd"])
def test_a_database_of_another_program_is_joined_too(run, files, name):
    """By each of its names, before a FASTA file and behind it."""
    records = [line.split("\n") for line in SECOND.split(">")[1:]]
    (files / "d.dmnd").write_bytes(diamond_file([(title, text) for title, text, _ in records]))
    expected = run("search", "q.fa", "both.fa", *FIELDS).out
    assert run("search", "q.fa", f"a.fa {name}", *FIELDS).out == expected != ""
    (files / "turned.fa").write_text(SECOND + FIRST)
    expected = run("search", "q.fa", "turned.fa", *FIELDS).out
    assert run("search", "q.fa", f"{name} a.fa", *FIELDS).out == expected


def test_a_name_with_blanks_is_one_file_if_it_exists(run, files):
    """Even if its words are files, too."""
    expected = run("search", "q.fa", "a.fa", *FIELDS).out
    assert run("search", "q.fa", "two words.fa", *FIELDS).out == expected != ""
    (files / "a.fa b.fa").write_text(SECOND)
    expected = run("search", "q.fa", "b.fa", *FIELDS).out
    assert run("search", "q.fa", "a.fa b.fa", *FIELDS).out == expected != ""


def test_python_takes_a_list_of_paths_too(files):
    """A list of texts are sequences, as ever."""
    expected = swdual.search("MKVLAWGGHER", files / "both.fa", evalue=1e6)
    for source in ([files / "a.fa", files / "b.fa"], (files / "a.fa", files / "b.fa"), "a.fa b.fa"):
        found = swdual.search("MKVLAWGGHER", source, evalue=1e6)
        assert [(hit.id, hit.evalue, hit.ordinal) for hit in found[0]] == [
            (hit.id, hit.evalue, hit.ordinal) for hit in expected[0]
        ]
        assert found[0].targets.residues == expected[0].targets.residues
    assert list_files(["MKV", "GGG"]) == list_files({"t": "MKV"}) == []
    assert len(swdual.search("MKVLAWGGHER", ["MKVLAWGGHER", "GGGG"])[0].targets) == 2


def test_a_plan_is_of_all_of_them(run, files):
    """With as many residues; other commands say how to join the files."""
    rates = ["--cpus", "1", "--gpus", "0", "--rates", '{"cpu": 40}', "--json"]
    plans = [run("plan", "q.fa", db, *rates).out for db in ("a.fa b.fa", "both.fa")]
    one, other = map(json.loads, plans)
    assert one["cells"] == other["cells"] > 0


def test_hits_of_all_of_them_are_audited(run, files):
    for name in ("b.fa", "both.fa"):  # an audit needs each identifier once
        text = (files / name).read_text().replace("same\nACD", "other\nACD")
        (files / name).write_text(text)
    run("search", "q.fa", "both.fa", *FIELDS[2:], "-o", "hits.tsv")
    found = [run("audit", "hits.tsv", "q.fa", db, "--json") for db in ("a.fa b.fa", "both.fa")]
    assert found[0].code == 0
    assert json.loads(found[0].out)["measures"] == json.loads(found[1].out)["measures"]


def test_a_search_of_several_goes_on_after_an_interruption(run, files, monkeypatch):
    from swdual.master.checkpoint import Checkpoint

    keep = Checkpoint.keep

    def kept(self, *arguments):
        keep(self, *arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "keep", kept)
        assert run("search", "q.fa", "a.fa b.fa", *FIELDS, "-o", "hits.tsv").code == 130
    assert run("search", "q.fa", "a.fa b.fa", *FIELDS, "-o", "hits.tsv", "--resume").code == 0
    expected = run("search", "q.fa", "both.fa", *FIELDS).out
    assert (files / "hits.tsv").read_text() == expected


def test_what_cannot_be_joined_is_refused(run, refuses, files):
    run("makedb", "a.fa", "a.db")
    for db, code, told in (
        ("a.db b.fa", 1, "a.db: is a database of swdual, which is searched by itself; join the"),
        ("b.fa none.db", 2, "none.db: cannot be opened"),
        ("none.fa other.fa", 2, "none.fa other.fa: cannot be opened"),
        ("a.fa 'b.fa", 2, "a.fa 'b.fa: cannot be opened"),
    ):
        refuses(code, [told], "search", "q.fa", db)
    (files / "a.txt").write_text(FIRST)
    refuses(6, ["is also an input"], "search", "q.fa", "a.txt b.fa", "-o", "a.txt", "--force")
