"""`swdual allpairs` and `swdual cluster`: outputs, `--resume`, and what is refused."""

from __future__ import annotations

import os

import numpy as np
import pytest

import swdual
from swdual.master import ranges
from swdual.master.checkpoint import Checkpoint

LETTERS = list("ACDEFGHIKLMNPQRSTVWY")


@pytest.fixture
def family(here):
    """A file of two families, with an equal pair."""
    rng = np.random.default_rng(2)
    texts = ["".join(rng.choice(LETTERS, 90)) for _ in range(2)]
    lines = []
    for k in range(12):
        text = texts[k % 2][: 90 - 3 * (k % 5)]
        text = "".join(str(rng.choice(LETTERS)) if rng.random() < 0.1 else c for c in text)
        lines.append(f">s{k} number {k}\n{text}\n")
    lines.append(lines[4].replace("s4 number 4", "copy"))
    (here / "f.fa").write_text("".join(lines))
    return here


def test_pairs_are_written_as_python_finds_them(run, family):
    """A table, and the same from a database file with several blocks."""
    fields = "6 qseqid sseqid score relscore evalue pident cigar"
    outcome = run("allpairs", "f.fa", "-f", fields)
    assert outcome.code == 0, outcome.err
    found = swdual.allpairs(family / "f.fa")
    rows = [line.split("\t")[:3] for line in outcome.out.splitlines()]
    assert rows == [[r.query.id, hit.id, str(hit.score)] for r in found for hit in r]
    assert len(rows) > 30
    assert outcome.err.startswith(f"swdual: {len(rows)} pairs of 13 proteins")
    run("makedb", "f.fa", "f.db")
    assert run("allpairs", "f.db", "-f", fields).out == outcome.out


@pytest.mark.parametrize("name", ["x.parquet", "x.npz", "x.json"])
def test_the_name_of_the_output_selects_the_format(run, family, name):
    assert run("allpairs", "f.fa", "-o", name, "--quiet").err == ""
    assert (family / name).stat().st_size > 100


COMMANDS = {
    "allpairs": ("allpairs", "f.fa", "-f", "6 std score"),
    "plain": ("allpairs", "f.fa", "--comp-based-stats", "0", "-e", "1e3"),
    "cluster": ("cluster", "f.fa", "--min-identity", "50"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.parametrize("tasks", [1, 9, 20])
def test_interrupted_commands_go_on_to_the_same_bytes(run, family, monkeypatch, words, tasks):
    """After some tasks, with other threads; complete, nothing is left to do."""
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 300)
    keep, kept = Checkpoint.keep, []

    def interrupt(self, *arguments):
        keep(self, *arguments)
        kept.append(arguments)
        if len(kept) == tasks:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "keep", interrupt)
        assert run(*words, "-o", "x.tsv", "--threads", "2").code == 130
    outcome = run(*words, "-o", "x.tsv", "--resume", "--threads", "1")
    assert outcome.code == 0, outcome.err
    assert run(*words, "-o", "y.tsv").code == 0
    assert (family / "x.tsv").read_bytes() == (family / "y.tsv").read_bytes()
    assert "is complete" in run(*words, "-o", "x.tsv", "--resume").err


def test_the_output_of_other_rules_is_not_complete(run, family):
    """The message names what differs. Nor do all pairs go on from a search."""
    words = ["cluster", "f.fa", "--min-identity", "50", "-o", "x.tsv", "--quiet"]
    assert run(*words).code == 0
    outcome = run(*words, "--linkage", "single", "--resume")
    assert outcome.code == 6
    assert "linkage greedy" in outcome.err
    assert run("search", "f.fa", "f.fa", "-k", "0", "-o", "y.tsv", "--quiet").code == 0
    outcome = run("allpairs", "f.fa", "-o", "y.tsv", "--resume")
    assert outcome.code == 6
    assert "all-pairs" in outcome.err


def test_representatives_are_written_as_fasta(run, family):
    """In the order of the clusters, each with its whole header."""
    outcome = run("cluster", "f.fa", "--min-identity", "50", "--representatives", "r.fa")
    assert outcome.code == 0, outcome.err
    names = list(dict.fromkeys(line.split("\t")[0] for line in outcome.out.splitlines()))
    text = (family / "r.fa").read_text()
    assert [line[1:].split()[0] for line in text.splitlines() if line[0] == ">"] == names
    assert len(names) == 2
    assert "2 clusters, the largest of 7 sequences" in outcome.err
    found = swdual.find_clusters(family / "f.fa", min_identity=50)
    assert outcome.out == "".join(f"{each[0]}\t{name}\n" for each in found for name in each)


REFUSED = {
    "one": (("allpairs", "one.fa"), "one.fa holds one sequence; pairs need at least two"),
    "one cluster": (("cluster", "one.fa", "--min-identity", "50"), "holds one sequence"),
    "mixed": (("allpairs", "mixed.fa"), "'gene' looks like nucleotides; compare them separately"),
    "fit": (("allpairs", "f.fa", "--stats", "fit"), "--stats fit needs the scores"),
    "range": (("cluster", "f.fa", "--min-identity", "101"), "101.0 is not in the range"),
    "fraction": (("cluster", "f.fa", "--min-identity", "0.9"), "--min-identity is 0.9 %"),
    "coverage": (
        ("cluster", "f.fa", "--min-identity", "9", "--coverage", "0.8"),
        "--coverage is 0.8 %",
    ),
    "no identity": (("cluster", "f.fa"), "Missing option '--min-identity'"),
    "top": (("allpairs", "f.fa", "--top", "3"), "No such option"),
    "field": (("allpairs", "f.fa", "-f", "npz qseqid"), "one number for each hit"),
    "one file": (
        ("cluster", "f.fa", "--min-identity", "9", "-o", "x", "--representatives", "x"),
        "Only one output can go to x",
    ),
}


@pytest.mark.parametrize(("words", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_is_refused_in_one_line(run, family, words, message):
    (family / "one.fa").write_text(">a\nMKVLAW\n")
    (family / "mixed.fa").write_text(f">a\n{'MKVLAW' * 90}\n>gene\n{'GATTACA' * 9}\n")
    outcome = run(*words)
    assert outcome.code == 1
    assert message in outcome.err.splitlines()[-1]
    assert outcome.out == ""
    assert not os.path.exists("x")
