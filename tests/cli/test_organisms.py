"""Options that choose organisms: swdual's own, and BLAST's."""

from __future__ import annotations

import gzip

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
    "name": (["--taxids", "Homo sapiens"], ["t1"]),
    "names": (["-taxids", "bacteria,human"], ["t1", "t2"]),
    "names and ids": (["--taxids", "Eukaryota, 562"], ["t1", "t2"]),
    "left out by name": (["--not-taxids", "Escherichia coli"], ["t1", "t3"]),
}


@pytest.fixture
def words(here, run):
    (here / "t.fa").write_text(TARGETS)
    (here / "map").write_text(MAP)
    (here / "ids").write_text("562\n")
    dump = write_dump(TWO_SPECIES, here / "dump")
    with open(dump / "names.dmp", "a") as names:
        for taxid in (2, 2759):
            names.write(f"{taxid}\t|\tlife\t|\t\t|\tgenbank common name\t|\n")
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
    assert "\n# Targets: of 9606; E-values of these targets\n" in out
    assert "\n# Fields: subject id, subject tax id\n" in out


LISTS = {
    "plain": (b"t1\nt3\n", ["t1", "t3"]),
    "packed": (gzip.compress(b"t1\nt3"), ["t1", "t3"]),
    "headers, Windows": (b"# kept\r\n>t1 a\r\n\r\n t3 c\r\n", ["t1", "t3"]),
    "unknown": (b"t1\nt9\nt3\n", ["t1", "t3"]),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("command", ["search", "iterate"])
def test_identifiers_are_read_from_a_file(run, words, here, name, command):
    """By swdual's names of the option and by BLAST's; the rest is left out, or only the rest."""
    text, expected = LISTS[name]
    (here / "list").write_bytes(text)
    for options, chosen in (
        (["-seqidlist", "list"], expected),
        (["--target-ids", "list"], expected),
        (["-negative_seqidlist", "list"], ["t2"]),
        (["--not-target-ids", "list"], ["t2"]),
        (["-seqidlist", "list", "-negative_taxids", "9606"], ["t3"]),
    ):
        outcome = run(command, *words, *options)
        assert sorted({line.split("\t")[0] for line in outcome.out.splitlines()}) == chosen
        unknown = f"{options[0]}: 1 of 3 identifiers found no target: t.db has no record 't9'"
        assert (unknown in outcome.err) == (name == "unknown")


def test_what_is_no_list_of_identifiers_is_refused(refuses, words, here):
    (here / "empty").write_text("# none\n")
    sizes = (0).to_bytes(1), (32).to_bytes(8, "little"), (1).to_bytes(8, "little")
    (here / "binary").write_bytes(b"".join(sizes) + b"\x00\x03ids\x00\x00\x00\x00\x02t1")
    (here / "other").write_text("t7\n")
    for file, told in (
        ("none", "none: cannot be opened"),
        ("empty", "empty: holds no identifier; write one a line"),
        ("binary", "binary: is a binary list of blastdb_aliastool; give the text that it was made"),
        ("other", "t.db has no targets of -seqidlist"),
    ):
        refuses(1, [told], "search", *words, "-seqidlist", file)


def test_what_is_no_list_is_refused(run, words, here):
    (here / "ids").write_text("562\nx\n")
    for options, told in (
        (["--taxids", "0"], "--taxids has '0', but a taxonomy id is a whole number"),
        (["--taxids", "Homo sapien"], "but no taxon has this name; did you mean 'Homo sapiens'?"),
        (["-negative_taxids", "Zea"], "-negative_taxids has 'Zea', but no taxon has this name; g"),
        (["-taxids", "life"], "-taxids has 'life', the name of 2 (domain), 2759 (domain); give"),
        (["-negative_taxids", ""], "-negative_taxids is empty"),
        (["-taxidlist", "ids"], "ids:2: -taxidlist has 'x'"),
        (["-taxidlist", "none"], "none: cannot be opened"),
        (["--taxonomy", "ids"], "ids: is no taxdump"),
    ):
        outcome = run("search", *words, *options)
        assert outcome.code == 1
        assert told in outcome.err


def test_a_database_says_what_it_holds(run, words):
    out = run("info", "t.db").out
    assert "taxids      2\n" in out
    assert "taxa        5\n" in out
