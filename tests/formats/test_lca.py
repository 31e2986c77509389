"""The format lca has one line a query, with its lowest common ancestor."""

from __future__ import annotations

import pytest
from support.taxa import TWO_SPECIES, write_dump

QUERIES = ">a x\nMKVLAWGGHERMKV\n>b\nACDEFGHIKLMNPQRSTVWY\n>c\nPPPPP\n>d\nGGGGWWNNNN\n"
TARGETS = (
    ">t1 OX=9606\nMKVLAWGGHERMKV\n>t2 OX=562\nMKVLAWGGHERMKI\n>t3 OX=562\nACDEFGHIKLMNPQRSTVWYACD\n"
    ">t4 OX=9606\nACDEFGHIKLM\n>t5 OX=3\nGGGGWWNNNN\n"
)

LINES = [
    "a\t1\tno rank\troot\tNA\t2\t1.98e-05",
    "b\t562\tspecies\tEscherichia coli\tBacteria; Escherichia coli\t1\t2.57e-09",
    "c\t0\tno rank\tunclassified\tNA\t0\tNA",
    "d\t0\tno rank\tunclassified\tNA\t0\tNA",
]
HEADER = "qseqid\ttaxid\trank\tname\tlineage\thits\tevalue"


@pytest.fixture
def files(here):
    (here / "q.fa").write_text(QUERIES)
    (here / "t.fa").write_text(TARGETS)
    write_dump(TWO_SPECIES, here / "dump")


def taxa(out):
    return [tuple(line.split("\t")[k] for k in (0, 1, 5)) for line in out.splitlines()]


@pytest.mark.usefixtures("files")
def test_each_query_has_a_line(run):
    """By its name and by DIAMOND's number; organisms that are not in the tree do not count."""
    out = run("search", "q.fa", "t.fa", "--taxonomy", "dump", "-f", "lca", "--header").out
    head, *lines = out.splitlines()
    assert head == HEADER
    assert [line.split("\t")[:6] for line in lines] == [line.split("\t")[:6] for line in LINES]
    numbers = [float(line.split("\t")[6]) for line in lines[:2]]
    assert all(0 < number < 1e-3 for number in numbers)
    again = run("search", "q.fa", "t.fa", "--taxonomy", "dump", "-f", "102", "-o", "x.tsv")
    assert again.code == 0, again.err


@pytest.mark.usefixtures("files")
def test_the_option_top_says_which_hits_count(run):
    """By default those within 10 %, and all of these."""
    words = ["search", "q.fa", "t.fa", "--taxonomy", "dump", "-f", "lca", "-e", "1e6"]
    assert taxa(run(*words).out)[1] == ("b", "562", "1")
    assert taxa(run(*words, "--top", "100").out)[1][:2] == ("b", "1")
    assert taxa(run(*words, "--top", "0").out)[0] == ("a", "9606", "1")
    assert taxa(run(*words, "--taxids", "2").out)[0] == ("a", "562", "1")


@pytest.mark.usefixtures("files")
def test_a_database_without_taxonomy_is_refused_before_the_search(run):
    outcome = run("search", "q.fa", "t.fa", "-f", "lca", "-o", "x.tsv")
    assert outcome.code == 1
    assert "t.fa has no taxonomy: give NCBI's taxdump as --taxonomy" in outcome.err
    assert "hits of" not in outcome.err


@pytest.mark.usefixtures("files")
def test_a_database_keeps_its_taxonomy(run):
    """A search of it needs nothing else."""
    assert run("makedb", "t.fa", "t.db", "--taxonomy", "dump").code == 0
    words = ["-f", "lca", "-e", "10"]
    there = run("search", "q.fa", "t.db", *words).out
    assert there == run("search", "q.fa", "t.fa", "--taxonomy", "dump", *words).out
    assert "\nd\t0\tno rank\tunclassified\t" in there
