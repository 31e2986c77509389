"""Options that choose organisms: swdual's own, and BLAST's."""

from __future__ import annotations

import pytest
from support.taxa import TWO_SPECIES, write_dump

TARGETS = ">t1 a\nMKVLAWGGHERMKV\n>t2 b\nMKVLAWGGHERMKI\n>t3 c\nMKVLAWGGHERMKL\n"
MAP = "t1 9606\nt2 562\n"

WAYS = {
    "own": (["--taxids", "9606"], ["t1"]),
    "blast": (["-taxids", "9606"], ["t1"]),
    "several": (["--taxids", "9606,562"], ["t1", "t2"]),
    "file": (["-taxidlist", "ids"], ["t2"]),
    "file and list": (["--taxidlist", "ids", "--taxids", "9606"], ["t1", "t2"]),
    "left out": (["--not-taxids", "562"], ["t1", "t3"]),
    "left out, blast": (["-negative_taxids", "562"], ["t1", "t3"]),
    "left out by file": (["-negative_taxidlist", "ids"], ["t1", "t3"]),
    "both": (["--taxids", "1", "--not-taxids", "2759"], ["t2"]),
    "below": (["--taxids", "2759"], ["t1"]),
}


@pytest.fixture
def words(here, run):
    (here / "t.fa").write_text(TARGETS)
    (here / "map").write_text(MAP)
    (here / "ids").write_text("562\n")
    write_dump(TWO_SPECIES, here / "dump")
    made = run("makedb", "-in", "t.fa", "-out", "t.db", "-taxid_map", "map", "--taxonomy", "dump")
    assert made.code == 0
    assert "map: 1 of 3 records is not in it" in made.err
    return ["q.fa", "t.db", "-e", "1e6", "-f", "6 sseqid evalue"]


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("command", ["search", "iterate"])
def test_organisms_are_chosen_in_every_way(run, words, name, command):
    options, expected = WAYS[name]
    out = run(command, *words, *options).out
    assert sorted({line.split("\t")[0] for line in out.splitlines()}) == expected


def test_e_values_tell_their_search_space(run, words):
    def evalues(*options):
        out = run("search", *words, "--comp-based-stats", "0", *options).out
        return dict(line.split("\t") for line in out.splitlines())

    whole, subset = evalues(), evalues("--taxids", "9606")
    assert evalues("--taxids", "9606", "--search-space", "database") == {"t1": whole["t1"]}
    assert float(subset["t1"]) < float(whole["t1"])


def test_a_commented_table_tells_what_was_chosen(run, words):
    out = run("search", *words[:4], "--taxids", "9606", "-f", "7 sseqid staxid").out
    assert "\n# Taxonomy: targets of 9606; E-values of these targets\n" in out
    assert "\n# Fields: subject id, subject tax id\n" in out


def test_what_is_no_list_is_refused(run, words, here):
    (here / "ids").write_text("562\nx\n")
    for options, told in (
        (["--taxids", "human"], "--taxids has 'human', but a taxonomy id is a whole number"),
        (["-negative_taxids", ""], "-negative_taxids is empty"),
        (["-taxidlist", "ids"], "ids:2: -taxidlist has 'x'"),
        (["-taxidlist", "none"], "none: cannot be read"),
        (["--taxonomy", "ids"], "ids: is no taxdump"),
    ):
        outcome = run("search", *words, *options)
        assert outcome.code == 1
        assert told in outcome.err


def test_a_database_says_what_it_holds(run, words):
    out = run("info", "t.db").out
    assert "taxids      2\n" in out
    assert "taxa        5\n" in out
