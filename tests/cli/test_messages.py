"""What commands say: one closing line, every step under -v, and warnings."""

from __future__ import annotations

import re

import pytest

LINES = [
    r"q\.fa|t\.fa: read as proteins",
    r"database: t\.fa: 3 proteins of 43 residues, longest 23, written by swdual \S+",
    r"queries: 2 queries, 40 residues",
    r"scheme: BLOSUM62, gap open 11, gap extend 1; E-values: table",
    r"workers: 2 x simd \(cpu\)",
    r"GPU: none is used",
    r"rates: not needed for a search this small",
    r"memory: [0-9,]+ MiB of [0-9,]+ MiB \(.+\); batches of at most [0-9,]+ quer",
    r"journal: hits\.tsv\.journal, with 0 tasks done before",
    r"batch: 2 queries, of 2 in all",
    r"plan \(\w+\): \d+ tasks? in \d+ ranges? of targets, predicted \S+ s, lower bound \S+ s",
    r"query q1: 2 hits, aligned",
    r"query q2: 2 hits, aligned",
    r"output: hits\.tsv is written",
    r"4 hits of 2 queries in 3 proteins, ",
    r"\S+ Gcells in \S+ s: \S+ GCUPS \(2 workers\)",
]
SEARCH = ("search", "q.fa", "t.fa", "-o", "hits.tsv", "-p", "2", "--device", "cpu")


def test_every_step_is_told_in_order(run, here):
    """Under -v, and in the file of --log whether it is given or not."""
    said = run(*SEARCH, "-v").err.splitlines()
    usual = run(*SEARCH, "--force", "--log", "log")
    assert re.fullmatch(r"swdual: 4 hits of 2 queries in 3 proteins, .+ m?s\n", usual.err)
    kept = (here / "log").read_text().splitlines()
    for lines in (said, kept):
        left = iter(lines)
        for pattern in LINES:
            assert any(re.search(pattern, line) for line in left), (pattern, lines)
    assert all(line.startswith("swdual: ") for line in said)


def test_makedb_tells_its_steps(run):
    """What it reads, in how much memory, and what came of it."""
    err = run("makedb", "t.fa", "t.db", "-v").err
    for words in ("memory: at most ", "t.fa: read as proteins", "3 proteins, longest 23"):
        assert words in err
    assert re.search(r"swdual: t\.db: 3 proteins, 43 residues, \S+ s\n$", err)


def test_no_hits_are_said_so(run):
    """And nucleotides are called by their name."""
    assert "no hits of 2 queries in 3 proteins" in run("search", "q.fa", "t.fa", "-e", "0").err
    words = ("search", "-", "-d", "n.fa", "--dbtype", "nucl")
    run("synth", "100", "-o", "n.fa")
    outcome = run(*words, stdin=b">a\nACGT\n")
    assert outcome.code == 1
    assert "looks like proteins" in outcome.err


@pytest.mark.parametrize("option", ["-p", "--threads", "-num_threads"])
def test_more_threads_than_cpus_are_reduced(run, option):
    """With a warning that names the option as it was written; the hits are the same."""
    expected = run("search", "q.fa", "t.fa", "-p", "2")
    outcome = run("search", "q.fa", "t.fa", option, "400", "-v")
    assert outcome.out == expected.out
    words = f"warning: {option} was reduced from 400 to 64, the number of CPUs"
    assert words in outcome.err
    assert "(64 workers)" in outcome.err


def test_one_record_is_one_record(run, here):
    """And two are two."""
    (here / "twice.fa").write_text(">a\nMKV\n>a\nMKL\n>b\n\n")
    err = run("makedb", "twice.fa", "x.db").err
    assert "1 record repeats the identifier of an earlier one; both are kept" in err
    assert "1 empty record left out (b)" in err
    (here / "twice.fa").write_text(">a\nMKV\n>a\nMKL\n>a\nMKI\n>b\n\n>c\n\n")
    err = run("makedb", "twice.fa", "y.db").err
    assert "2 records repeat the identifier of an earlier one; all are kept" in err
    assert "2 empty records left out (b, c)" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-f", "6 std staxids"], "t.fa has no taxonomy ids; build it with"),
        (["-f", "6 std sblastnames"], "take sskingdoms or slineage"),
        (
            ["-f", "6 delim=, std"],
            "format 6 separates fields by tabs, format 10 by commas; tr makes",
        ),
        (["-f", "6 std taxa"], "unknown field 'taxa'. There are"),
    ],
)
def test_fields_of_blast_have_an_answer(refuses, arguments, words):
    """Those that swdual does not know."""
    refuses(1, [words], "search", "q.fa", "t.fa", *arguments)


def test_two_databases_of_swdual_are_not_joined(refuses, run):
    """BLAST takes several in one word; the message says how to join these."""
    assert run("makedb", "t.fa", "t.db").code == 0
    words = ["t.db: is a database of swdual", "'swdual makedb FILE... NEW.db'"]
    refuses(1, words, "search", "-query", "q.fa", "-db", "t.db q.fa")


def test_the_last_line_counts_what_was_adjusted(run):
    """For composition-based statistics, and for nothing else."""
    words = ("search", "q.fa", "t.fa", "--comp-based-stats")
    plain, adjusted = run(*words, "0"), run(*words, "2")
    assert "adjusted" not in plain.err
    pattern = (
        r"swdual: \d hits of 2 queries in 3 proteins, 6 candidates of 2 queries adjusted, .+ s\n"
    )
    assert re.fullmatch(pattern, adjusted.err)
    none = run(*words, "2", "--dbsize", str(10**18), "-e", "1e-3")
    assert "0 candidates of 0 queries adjusted" in none.err
