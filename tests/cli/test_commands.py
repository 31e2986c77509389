"""The commands at work: inputs and outputs of every kind, numbers at their limits, any place."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import sys
import threading

import pytest
from support.formats import OF_A_RUN

from swdual import registry
from swdual.cli.list import KINDS
from swdual.format import ORGANISMS
from swdual.request import defaults
from swdual.sequences import matrices
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.scoring import PREFERRED_GAPS

SCORES = ("-f", "6 qseqid sseqid score qlen slen", "--stats", "none")
"""A table of all scores: without E-values no hit is left out for its own."""

HITS = "q1\tt1\t77\t20\t14\nq1\tt3\t19\t20\t23\nq1\tt2\t12\t20\t6\n"
needs_bytes = pytest.mark.skipif(sys.platform == "darwin", reason="file names must be UTF-8")


@pytest.fixture
def random_files(here):
    """Files a.fa and b.fa of random proteins, some of them related and some equal."""
    draw = random.Random(7)
    parts = ["".join(draw.choices(PROTEIN.letters[:20], k=40)) for _ in range(6)]
    for name, count in (("a", 4), ("b", 40)):
        text = "".join(
            f">{name}{k}\n{''.join(draw.choices(parts, k=draw.randint(1, 4)))}\n"
            for k in range(count)
        )
        (here / f"{name}.fa").write_text(text)


@pytest.mark.case(number=11)
def test_standard_input_serves_as_any_file(run, here):
    """Queries, targets and the input of makedb may come from standard input."""
    queries, targets = ((here / name).read_bytes() for name in ("q.fa", "t.fa"))
    expected = run("search", "q.fa", "t.fa", *SCORES)
    assert expected.out.startswith(HITS)
    assert run("search", "-", "t.fa", *SCORES, stdin=queries).out == expected.out
    assert run("search", "q.fa", "-", *SCORES, stdin=targets).out == expected.out
    assert run("makedb", "-", "t.db", stdin=targets).code == 0
    found = run("search", "-q", "-", "-d", "t.db", *SCORES, stdin=queries)
    assert found.out == expected.out


def test_several_files_make_one_database(run, here):
    """Files are read in the order in which they are named, standard input among them."""
    text = (here / "q.fa").read_bytes()
    assert run("makedb", "t.fa", "-", "x.db", stdin=text).code == 0
    assert run("makedb", "--in", "t.fa", "--in", "q.fa", "--db", "y.db").code == 0
    for name in ("x.db", "y.db"):
        options = ("-f", "6 snum sseqid", "-k", "0", "--stats", "none")
        outcome = run("search", "q.fa", name, *options)
        assert set(outcome.out.splitlines()) == {"1\tt1", "2\tt2", "3\tt3", "4\tq1", "5\tq2"}


@pytest.mark.case(number=24)
def test_output_goes_to_a_pipe(run, here):
    """A FIFO is written to directly."""
    os.mkfifo(here / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((here / "pipe").read_text()), daemon=True)
    reader.start()
    assert run("search", "q.fa", "t.fa", "-o", "pipe", *SCORES).code == 0
    reader.join(300)
    assert read[0].startswith(HITS)


@pytest.mark.case(number=24)
@pytest.mark.parametrize("role", ["queries", "database", "makedb"])
def test_input_comes_from_a_pipe(spawn, run, here, role):
    """`<(zcat x.fa.gz)` may stand for any file that is read."""
    source = "q.fa" if role == "queries" else "t.fa"
    os.mkfifo(here / "pipe")
    text = (here / source).read_bytes()
    writer = threading.Thread(target=(here / "pipe").write_bytes, args=(text,), daemon=True)
    writer.start()
    arguments = {
        "queries": ("search", "pipe", "t.fa", *SCORES),
        "database": ("search", "q.fa", "pipe", *SCORES),
        "makedb": ("makedb", "pipe", "t.db"),
    }
    outcome = spawn(*arguments[role], timeout=300)
    assert outcome.code == 0, outcome.err
    if role == "makedb":
        outcome = run("search", "q.fa", "t.db", *SCORES)
    assert outcome.out.startswith(HITS)


def test_output_in_a_file_is_that_on_standard_output(run, here):
    """--out changes the place, nothing else."""
    for format_ in registry.available("swdual.formats"):
        if format_ in ORGANISMS:  # t.fa has none
            continue
        shown = run("search", "q.fa", "t.fa", "-f", format_).out
        assert shown
        if format_ in OF_A_RUN:  # it tells the command and the time
            continue
        assert run("search", "q.fa", "t.fa", "-f", format_, "-o", f"x.{format_}").out == ""
        assert (here / f"x.{format_}").read_bytes().decode("utf-8", "surrogateescape") == shown


def test_all_formats_say_the_same(run):
    """Tabular, CSV and JSON Lines hold the same values, whatever is in a header."""
    fields = "qseqid sseqid score qlen slen qtitle stitle qnum snum rank qstart send btop"
    tabular = run("search", "q.fa", "t.fa", "-f", f"6 {fields}", "--header").out
    rows = [line.split("\t") for line in tabular.splitlines()]
    assert rows[0] == fields.split()
    commas = run("search", "q.fa", "t.fa", "-f", f"10 {fields}", "--header").out
    assert list(csv.reader(io.StringIO(commas))) == rows
    lines = run("search", "q.fa", "t.fa", "-f", f"jsonl {fields}").out.splitlines()
    assert [[str(value) for value in json.loads(line).values()] for line in lines] == rows[1:]


def test_underscores_in_options_are_dashes(run):
    """BLAST's spelling is understood."""
    expected = run("search", "q.fa", "t.fa", "--max-target-seqs", "1").out
    assert expected
    assert run("search", "q.fa", "t.fa", "--max_target_seqs", "1").out == expected


def test_blasts_names_of_options_are_understood(run, here):
    """One dash and BLAST's words mean what our own options mean; the help does not show them."""
    words = "-matrix BLOSUM50 -gapopen 13 -gapextend 2 -evalue 1 -max_target_seqs 2 -dbsize 500"
    theirs = f"search -query q.fa -db t.fa -outfmt 10 -num_threads 2 -out x.csv {words}"
    assert run(*theirs.split()).code == 0
    words = "--matrix BLOSUM50 --gapopen 13 --gapextend 2 -e 1 -k 2 --dbsize 500"
    ours = run(*f"search -q q.fa -d t.fa -f 10 -p 2 {words}".split()).out
    assert ours.count("\n") == 2
    assert (here / "x.csv").read_text() == ours
    assert not re.search(r"(?m)^ *-.*, -num", run("search", "--help").out.partition("Input:")[2])


def test_the_default_output_is_blasts_twelve_columns(run):
    """Names, identity, lengths, places and statistics, in BLAST's order; --header names them."""
    header, *lines = run("search", "q.fa", "t.fa", "--header").out.splitlines()
    assert header.split("\t") == [
        "qseqid", "sseqid", "pident", "length", "mismatch", "gapopen",
        "qstart", "qend", "sstart", "send", "evalue", "bitscore",
    ]  # fmt: skip
    assert [line.split("\t")[:10] for line in lines[:2]] == [
        ["q1", "t1", "100.000", "14", "0", "0", "1", "14", "1", "14"],
        ["q1", "t3", "80.000", "5", "1", "0", "16", "20", "1", "5"],
    ]
    assert run("search", "q.fa", "t.fa", "-f", "6 std").out.splitlines() == lines


@pytest.mark.parametrize("limit", ["0", "1e-12", "0.2", "10", "inf"])
def test_hits_beyond_the_largest_e_value_are_left_out(run, limit):
    """What remains is what has a small enough E-value among all hits; the default is 10."""
    everything = run("search", "q.fa", "t.fa", "-f", "jsonl", "-e", "inf").out.splitlines()
    assert len(everything) == 6
    found = run("search", "q.fa", "t.fa", "-f", "jsonl", "--evalue", limit)
    kept = [line for line in everything if json.loads(line)["evalue"] <= float(limit)]
    ranks = [(json.loads(line)["qnum"], json.loads(line)["rank"]) for line in kept]
    assert (found.code, found.out.splitlines()) == (0, kept)
    assert ranks == sorted(ranks)
    if limit == "10":
        assert run("search", "q.fa", "t.fa", "-f", "jsonl").out == found.out


def test_hits_below_the_smallest_bit_score_are_left_out(run):
    """The limit is inclusive, as the limits of scores and E-values are."""
    everything = run("search", "q.fa", "t.fa", "-f", "jsonl qseqid sseqid bitscore").out
    bits = sorted(json.loads(line)["bitscore"] for line in everything.splitlines())
    for bar in (bits[2], bits[2] * (1 + 1e-12)):
        options = ("-f", "jsonl qseqid sseqid bitscore", "--min-score", repr(bar))
        kept = [line for line in everything.splitlines() if json.loads(line)["bitscore"] >= bar]
        assert run("search", "q.fa", "t.fa", *options).out.splitlines() == kept
        assert len(kept) < len(bits)


def test_a_larger_database_size_raises_e_values_and_nothing_else(run):
    """E-values are proportional to the residues of the database; scores and bits stay."""
    fields = ("-f", "jsonl qseqid sseqid score bitscore evalue", "-e", "inf")
    sizes = {
        size: [
            json.loads(line)
            for line in run("search", "q.fa", "t.fa", *fields, "--dbsize", size).out.splitlines()
        ]
        for size in ("43", "4300")
    }
    default = run("search", "q.fa", "t.fa", *fields).out.splitlines()
    assert [json.loads(line) for line in default] == sizes["43"]
    for small, large in zip(*sizes.values(), strict=True):
        assert large.pop("evalue") == pytest.approx(100 * small.pop("evalue"))
        assert large == small


def test_alignments_are_found_only_where_the_output_shows_them(run, monkeypatch):
    """Scores and E-values need none; --align all finds them nevertheless."""
    from swdual.alignment.tracer import Tracer

    calls = []
    trace = Tracer.__call__
    monkeypatch.setattr(Tracer, "__call__", lambda *x: calls.append(1) or trace(*x))
    for options, found in (
        (("-f", "6 qseqid sseqid score evalue bitscore stitle"), False),
        (("-f", "6 qseqid score", "--align", "none"), False),
        (("-f", "6 qseqid score", "--align", "all"), True),
        (("-f", "6 qseqid score qstart"), True),
        ((), True),
    ):
        command = "search", "q.fa", "t.fa", "--comp-based-stats", "0", *options
        assert run(*command).code == 0
        assert bool(calls) == found, options
        calls.clear()


@pytest.mark.case(number=17)
@pytest.mark.parametrize("options", [("fit", "-e", "inf"), ("none",)], ids=lambda words: words[0])
def test_schemes_without_tabled_parameters_are_searched_on_request(run, refuses, options):
    """NCBI has nothing for 5/1: refused by default; fitted or without E-values it works."""
    scheme = ("search", "q.fa", "t.fa", "--gapopen", "5", "-f", "6 qseqid sseqid score evalue")
    refuses(1, ["BLOSUM62", "5/1", "11/1", "--stats fit", "--stats none"], *scheme)
    outcome = run(*scheme, "--stats", *options)
    rows = [line.split("\t") for line in outcome.out.splitlines()]
    assert (outcome.code, len(rows)) == (0, 6)
    assert {value == "NA" for *_, value in rows} == {options[0] == "none"}


def test_both_strands_of_a_nucleotide_query_are_searched(run, here):
    """The better strand is kept; places on the other one fall, as BLAST's do."""
    forward, backward = "AAAACCCGGTACGTTAGACC", "GGTCTAACGTACCGGGTTTT"
    (here / "n.fa").write_text(f">n\n{forward}\n")
    (here / "m.fa").write_text(f">same\n{forward}\n>other\nTT{backward}T\n")
    options = ("--dbtype", "nucl", "-f", "6 sseqid score qstart qend sstart send sstrand")
    lines = ["same\t40\t1\t20\t1\t20\tplus\n", "other\t40\t1\t20\t22\t3\tminus\n"]
    for strand, expected in (
        ((), lines),
        (("--strand", "both"), lines),
        (("--strand", "plus", "-k", "1"), lines[:1]),
        (("--strand", "minus", "-k", "1"), lines[1:]),
    ):
        outcome = run("search", "n.fa", "m.fa", *options, *strand)
        assert (outcome.code, outcome.out) == (0, "".join(expected))


def test_a_matrix_takes_the_gap_prices_that_blast_takes(run):
    """BLOSUM45 means 14/2 unless other prices are given."""
    fields = ("-f", "6 qseqid sseqid score evalue", "-e", "inf")
    default = run("search", "q.fa", "t.fa", "--matrix", "BLOSUM45", *fields)
    prices = ("--gapopen", "14", "--gapextend", "2")
    said = run("search", "q.fa", "t.fa", "--matrix", "BLOSUM45", *prices, *fields)
    assert default.code == said.code == 0
    assert default.out == said.out != ""


def test_list_names_all_that_can_be_chosen(run):
    """Backends, formats with BLAST's numbers, matrices, and every field with its meaning."""
    from swdual.hits.fields import FIELDS

    shown = run("list").out
    for name in (*registry.available("swdual.formats"), *registry.available("swdual.backends")):
        assert name in shown
    for name, field in FIELDS.items():
        assert re.search(rf"(?m)^  {name} +{re.escape(field.meaning)}$", shown)
    assert "6 (tabular)" in shown
    assert "PAM250" in shown


@pytest.mark.parametrize("kind", [(), *((kind,) for kind in KINDS)])
def test_lists_fit_the_terminal(run, monkeypatch, kind):
    """No word is cut, and none is lost: a narrow terminal has the words of a wide one."""
    wide = run("list", *kind).out
    monkeypatch.setenv("COLUMNS", "60")
    narrow = run("list", *kind).out
    assert narrow.split() == wide.split()
    assert max(map(len, narrow.splitlines())) <= 60


def test_matrices_are_listed_with_gap_penalties_and_source(run):
    """The source stands below all matrices that it is of."""
    shown = " ".join(run("list", "matrices").out.split())
    for name in matrices.names():
        gap_open, gap_extend = PREFERRED_GAPS[name]
        about = f"{name} gap opening {gap_open}, gap extension {gap_extend} "
        rest = shown.partition(about)[2]
        assert f"from {matrices.source(name)}" in rest


def test_messages_go_where_they_are_sent(run, here):
    """--quiet silences standard error, --log keeps a copy; neither touches the hits."""
    loud = run("search", "q.fa", "t.fa", "--log", "log")
    quiet = run("search", "q.fa", "t.fa", "--quiet")
    assert quiet.out == loud.out
    assert quiet.err == ""
    assert re.fullmatch(r"swdual: 4 hits of 2 queries in 3 proteins, .+ m?s\n", loud.err)
    log = (here / "log").read_text()
    assert "4 hits of 2 queries in 3 proteins" in log
    assert "plan (" in log


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("list",), ("search", "-h")])
def test_help_is_given(run, arguments):
    """Help, version and lists go to standard output and succeed."""
    outcome = run(*arguments)
    assert outcome.code == 0
    assert outcome.out
    assert outcome.err == ""


def test_one_process_may_run_one_command_after_another(run):
    """No command leaves anything behind that the next one stumbles over."""
    for _ in range(2):
        for arguments in (("list",), ("--help",), ("search", "q.fa", "t.fa"), ("synth", "100")):
            assert run(*arguments).code == 0


def test_a_synthetic_database_is_searched(run):
    """synth, makedb, info and search work hand in hand."""
    assert run("synth", "20k", "--seed", "3", "-o", "s.fa").code == 0
    assert run("synth", "20k", "--seed", "3", "--queries", "2", "-o", "r.fa").code == 0
    assert run("makedb", "s.fa", "s.db", "--title", "synthetic").code == 0
    facts = json.loads(run("info", "s.db", "--json", "--check").out)
    assert facts["title"] == "synthetic"
    assert facts["residues"] == sum(facts["letters"].values()) >= 20_000
    best = run("search", "r.fa", "s.db", "-k", "1", "-f", "6 qtitle sseqid").out.splitlines()
    for line in best:
        title, target = line.split("\t")
        assert f"parent={target}" in title
    assert len(best) == 2


# Case 9 and 19: which hits, and in which order.


@pytest.mark.case(number=9)
def test_repeated_identifiers_are_kept_with_a_warning(run, here):
    """Both records are hits, told apart by their place; the warning counts them."""
    (here / "x.fa").write_text(">a\nMKVLAW\n>b\nMM\n>a again\nMKVLAW\n>a\nMKVLAW\n")
    outcome = run("makedb", "x.fa", "x.db")
    assert outcome.code == 0
    assert "warning: " in outcome.err
    assert "2 records repeat the identifier" in outcome.err
    for database in ("x.db", "x.fa"):
        options = ("-k", "3", "-f", "6 qnum sseqid snum rank", "--stats", "none")
        found = run("search", "x.fa", database, *options).out
        assert found.startswith("1\ta\t1\t1\n1\ta\t3\t2\n1\ta\t4\t3\n2\t")


@pytest.mark.case(number=9)
def test_the_warning_about_repeated_identifiers_names_the_file(run, here):
    """Who builds several databases in a row knows which one is meant."""
    (here / "x.fa").write_text(">a\nMKVLAW\n>a\nMKVLAW\n")
    warnings = [w for w in run("makedb", "x.fa", "x.db").err.splitlines() if "warning" in w]
    assert "x." in warnings[0]


@pytest.mark.case(number=19)
@pytest.mark.parametrize("limit", [1, 3, 7, 8, 100, 0])
@pytest.mark.parametrize("threads", [1, 3])
def test_ties_are_broken_by_the_order_of_the_input(run, here, limit, threads):
    """Equal scores come in input order, at any limit; 0 gives all."""
    lengths = [12, 6, 20, 6, 9, 6, 30, 7]
    text = "".join(f">t{k}\nMKVLAW{'G' * (n - 6)}\n" for k, n in enumerate(lengths, start=1))
    (here / "x.fa").write_text(text)
    (here / "y.fa").write_text(">y\nMKVLAW\n")
    fields = ("-f", "6 snum score rank", "--stats", "none")
    options = (*fields, "-k", str(limit), "--threads", str(threads))
    outcome = run("search", "y.fa", "x.fa", *options)
    kept = limit or len(lengths)
    expected = [f"{k}\t33\t{k}\n" for k in range(1, len(lengths) + 1)][:kept]
    assert (outcome.code, outcome.out) == (0, "".join(expected))


@pytest.mark.case(number=28)
def test_hits_below_the_smallest_score_are_left_out(run):
    """The limit itself is still a hit; a query without hits is no error."""
    files = ("search", "q.fa", "t.fa", "-f", "6 score", "--stats", "none")
    scores = run(*files, "--min-raw-score", "19").out.split()
    assert min(map(int, scores)) == 19
    assert run(*files, "--min-raw-score", "20").out.count("\n") < len(scores)
    nothing = run(*files, "--min-raw-score", "1000", "-o", "none.tsv")
    assert nothing.code == 0


@pytest.mark.case(number=20)
def test_threads_and_the_form_of_the_database_change_nothing(run, random_files):
    """One thread or many, FASTA or database: the output is the same to the byte."""
    assert run("makedb", "b.fa", "b.db").code == 0
    options = ("-f", "6 qseqid snum score rank", "--stats", "none")
    outputs = {
        run("search", "a.fa", database, "-p", str(threads), *options).out
        for database in ("b.fa", "b.db")
        for threads in (1, 2, 5)
    }
    assert len(outputs) == 1
    assert outputs.pop().count("\n") == 160


# Case 17 and 18: gap prices; 14: numbers of every width; 15: lengths.


@pytest.mark.sample(4)
@pytest.mark.case(number=18)
@pytest.mark.parametrize(
    ("gapopen", "gapextend"),
    [(11, 1), (5, 1), (0, 0), (0, 1), (1, 0), (11, 0), (1, 9), (200, 1), (2**28, 1), (0, 2**28)],
)
def test_any_gap_price_is_searched_as_the_definition_says(run, random_files, gapopen, gapextend):
    """Cheap, free, dear or forbidden gaps: the fast backend equals the slow definition."""
    options = (
        "--gapopen",
        str(gapopen),
        "--gapextend",
        str(gapextend),
        "-f",
        "6 qseqid snum score",
        "--stats",
        "none",
    )
    fast = run("search", "a.fa", "b.fa", *options)
    slow = run("search", "a.fa", "b.fa", "--backend", "reference", *options)
    assert fast.code == slow.code == 0
    assert fast.out
    assert fast.out == slow.out


@pytest.mark.case(number=14)
def test_scores_around_the_limits_of_all_widths_are_exact(run, here):
    """Just below, at and above the limits of 8 and 16 bits, all in one batch of targets.

    With 100 for D and 1 for E, a run of d Ds and e Es scores 100 d + e against a longer one.
    """
    (here / "m").write_text("   D  E  F\nD  100 -90 -90\nE  -90 1 -90\nF  -90 -90 -90\n")
    limits = (127, 128, 255, 256, 32767, 32768, 65535, 65536)
    wanted = sorted({limit + near for limit in limits for near in (-101, -2, -1, 0, 1, 2, 101)})
    text = "".join(f">{n}\n{'D' * (n // 100)}{'E' * (n % 100)}\n" for n in wanted)
    (here / "x.fa").write_text(text)
    (here / "y.fa").write_text(f">y\n{'D' * 660}{'E' * 100}\n>z\n{'F' * 30}\n")
    options = ("--matrix", "m", "-k", "0", "-f", "6 sseqid score", "--stats", "none")
    outcome = run("search", "y.fa", "x.fa", *options)
    assert outcome.code == 0
    assert outcome.out.splitlines() == [f"{n}\t{n}" for n in reversed(wanted)]


@pytest.mark.exhaustive
@pytest.mark.case(number=14)
def test_a_score_beyond_32_bits_is_refused_not_wrong(refuses, here):
    """Exit code 3 and the remedy, instead of a number that is none."""
    (here / "m").write_text("   D  E\nD  32767 -32767\nE  -32767 32767\n")
    (here / "x.fa").write_text(">x\n" + "D" * 65_600 + "\n")
    options = ("--matrix", "m", "--stats", "none", "--align", "none", "-f", "6 sseqid score")
    refuses(3, ["2**31", "smaller scores"], "search", "x.fa", "x.fa", *options)


@pytest.mark.case(number=15)
@pytest.mark.parametrize("backend", ["simd", "reference"])
def test_the_shortest_sequences_are_searched(run, here, backend):
    """One residue against one, and against many."""
    (here / "x.fa").write_text(">x\nW\n")
    (here / "y.fa").write_text(">short\nW\n>long\n" + "P" * 3000 + "W\n>none\nA\n")
    options = ("--backend", backend, "--stats", "none")
    outcome = run("search", "x.fa", "y.fa", *options, "-f", "6 sseqid score")
    assert (outcome.code, outcome.out) == (0, "short\t11\nlong\t11\n")
    outcome = run("search", "y.fa", "x.fa", *options, "-f", "6 qseqid score")
    assert (outcome.code, outcome.out) == (0, "short\t11\nlong\t11\n")


@pytest.mark.case(number=15)
def test_a_query_of_100_000_residues_is_searched(run, here):
    """Against a piece of it, its first residue, and a target that shares nothing with it."""
    draw = random.Random(9)
    query = "".join(draw.choices("ACDEFGHIKLMNPQRSTVWY", k=100_000))
    piece = query[70_000:70_300]
    (here / "x.fa").write_text(f">x\n{query}\n")
    (here / "y.fa").write_text(f">piece\n{piece}\n>one\n{query[0]}\n>none\n*\n")
    (here / "p.fa").write_text(f">p\n{piece}\n")
    options = ("-f", "6 sseqid score", "--stats", "none", "-k", "1", "--backend", "reference")
    alone = run("search", "p.fa", "p.fa", *options).out.split()
    fields = ("-f", "6 sseqid score qstart qend cigar", "--stats", "none")
    outcome = run("search", "x.fa", "y.fa", *fields)
    assert outcome.code == 0, outcome.err
    rows = [line.split("\t") for line in outcome.out.splitlines()]
    assert rows[0] == ["piece", alone[1], "70001", "70300", "300M"]
    assert [row[0] for row in rows] == ["piece", "one"]
    assert run("search", "y.fa", "x.fa", *fields).out.splitlines()[0].startswith("x\t" + alone[1])


# Case 30: any place.


@pytest.mark.process
@pytest.mark.case(number=30)
def test_unwritable_homes_and_caches_do_not_matter(spawn):
    """Without a home or a cache folder kernels are compiled for the one run."""
    nowhere = {
        "HOME": "/nonexistent",
        "XDG_CACHE_HOME": "/dev/null/x",
        "SWDUAL_CACHE_DIR": "/dev/null/y",
        "TMPDIR": "/dev/null/z",
    }
    outcome = spawn("search", "q.fa", "t.fa", *SCORES, env=nowhere)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith(HITS)


@pytest.mark.process
@pytest.mark.case(number=30)
def test_a_process_without_a_home_searches(spawn, monkeypatch):
    """Where neither HOME nor another folder is named in the environment."""
    for name in ("HOME", "XDG_CACHE_HOME", "SWDUAL_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    outcome = spawn("search", "q.fa", "t.fa", *SCORES)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith(HITS)


@pytest.mark.case(number=30)
def test_where_no_folder_can_be_written_kernels_live_in_memory(here, monkeypatch):
    """The look-up of the cache folder never fails, it finds none."""
    import tempfile

    from swdual.runtime import cache

    for name in ("SWDUAL_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "/dev/null/x")
    monkeypatch.setattr(tempfile, "tempdir", "/dev/null/x")
    assert cache.cache_folder.__wrapped__() is None
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/dev/null/x"])
    assert cache.cache_folder.__wrapped__() is None


@pytest.mark.case(number=30)
@needs_bytes
@pytest.mark.sample("values")
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("name", [b"\xff\xe9", "t\u00e9".encode(), b" two  words "])
def test_file_names_may_be_any_bytes(spawn, here, name, locale):
    """Input, output, database and title, in any locale."""
    path = {kind: os.fsdecode(name) + kind for kind in (".fa", ".db", ".tsv", ".log")}
    (here / path[".fa"]).write_bytes((here / "t.fa").read_bytes())
    environment = {"LC_ALL": locale, "PYTHONUTF8": "0"}
    built = spawn("makedb", path[".fa"], path[".db"], "--log", path[".log"], env=environment)
    assert built.code == 0, built.err
    arguments = ("search", "q.fa", path[".db"], "-o", path[".tsv"], *SCORES)
    assert spawn(*arguments, env=environment).code == 0
    assert (here / path[".tsv"]).read_text().startswith(HITS)


@needs_bytes
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_info_prints_any_file_name(spawn, run, here, options):
    """A title that is not UTF-8 is shown somehow, and the exit code is 0."""
    name = os.fsdecode(b"\xff\xe9")
    (here / name).write_bytes((here / "t.fa").read_bytes())
    assert run("makedb", name, "x.db").code == 0
    outcome = spawn("info", "x.db", *options, env={"LC_ALL": "C", "PYTHONUTF8": "0"})
    assert outcome.code == 0, outcome.err
    assert "residues" in outcome.out


@pytest.mark.case(number=30)
def test_hits_are_utf_8_in_any_locale(spawn, here):
    """Header lines leave as they came, also where the terminal speaks ASCII."""
    (here / "x.fa").write_bytes(">t\u00e9 \u20ac\nMKVLAW\n".encode())
    environment = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    outcome = spawn("search", "x.fa", "x.fa", "-f", "6 qseqid stitle", env=environment)
    assert (outcome.code, outcome.out) == (0, "t\u00e9\tt\u00e9 \u20ac\n")


def test_blasts_options_that_ask_for_what_is_done_anyway_are_taken(run):
    """One alignment a target, no masking, adjusted scores; `makedb` takes makeblastdb's too."""
    usual = run("search", "q.fa", "t.fa")
    blast = ["-max_hsps", "1", "-seg", "no", "-comp_based_stats", "2", "-task", "blastp"]
    assert run("search", "-query", "q.fa", "-subject", "t.fa", *blast).out == usual.out
    words = ["-in", "t.fa", "-dbtype", "prot", "-parse_seqids", "-out", "t.db", "-title", "T"]
    assert run("makedb", *words).code == 0
    assert run("search", "-db", "t.db", "-query", "q.fa").out == usual.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-max_hsps", "-1"], "Invalid value for '-max_hsps': -1 is not in the range x>=0"),
        (["-evalue", "1_0"], "Invalid value for '-evalue': '1_0' is not a valid number"),
        (["-max_hsps", "two"], "Invalid value for '-max_hsps': 'two' is not a valid whole number"),
        (
            ["--max-hsps", "2", "--align", "none", "-f", "6 score"],
            "--max-hsps needs alignments, but --align none finds none.",
        ),
        (["-word_size", "3"], "-word_size is not supported: an exact search has no word hits"),
        (["-header"], "No such option -header. Did you mean --header?"),
        (["-max_target_seq", "5"], "No such option -max_target_seq. Did you mean"),
        (["-soft_masking=yes"], "-soft_masking yes: the value is true or false"),
    ],
)
def test_a_word_behind_one_dash_is_one_option(refuses, words, message):
    """It is not taken apart into options of one letter, and the message has all of it."""
    refuses(1, [message], "search", "q.fa", "t.fa", *words)


def test_the_name_of_the_output_says_its_format(run, here):
    """Unless a format is named."""
    run("search", "q.fa", "t.fa", "-o", "hits.jsonl")
    assert (here / "hits.jsonl").read_text().startswith('{"qseqid"')
    run("search", "q.fa", "t.fa", "-o", "hits.csv", "-f", "6")
    assert "\t" in (here / "hits.csv").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "q.txt", "t.txt", "-o", "t.txt"],
        ["search", "q.txt", "t.txt", "-o", "q.txt"],
        ["align", "q.txt", "t.txt", "-o", "t.txt"],
        ["makedb", "t.txt", "t.txt"],
    ],
    ids=" ".join,
)
def test_no_output_takes_the_place_of_an_input(refuses, here, arguments):
    """Not even with --force."""
    (here / "q.fa").rename(here / "q.txt")
    (here / "t.fa").rename(here / "t.txt")
    refuses(6, ["is also an input"], *arguments, "--force")


def test_hits_are_not_written_to_a_file_of_sequences(refuses):
    """Whoever opens it by its name would find no sequences."""
    words = ["t.fa: swdual does not write sequences here; known endings: .tsv "]
    refuses(1, words, "search", "q.fa", "t.fa", "-o", "t.fa", "--force")


def test_filters_have_the_names_of_blast_too(run):
    """Percentages of identical letters, and of the query that is covered."""
    fields = ["-f", "6 qseqid sseqid pident qcovhsp", "-e", "1e9"]
    every = run("search", "q.fa", "t.fa", *fields).out.splitlines()
    own = run("search", "q.fa", "t.fa", *fields, "--min-identity", "90", "--min-query-cover", "60")
    blast = run("search", "q.fa", "t.fa", *fields, "-perc_identity", "90", "-qcov_hsp_perc", "60")
    assert own.out == blast.out
    rows = [line.split("\t") for line in every]
    passing = [row for row in rows if float(row[2]) >= 90 and float(row[3]) >= 60]
    assert [line.split("\t") for line in own.out.splitlines()] == passing
    assert 0 < len(passing) < len(rows)


def test_filters_have_the_names_of_diamond_too(run):
    """Percentages of identical letters, of the query and of the target."""
    fields = ["-f", "6 qseqid sseqid pident qcovhsp sstart send slen", "-e", "1e9"]
    every = run("search", "q.fa", "t.fa", *fields).out.splitlines()
    own = ["--min-identity", "50", "--min-query-cover", "30", "--min-target-cover", "80"]
    diamond = ["--id", "50", "--query-cover", "30", "--subject-cover=80"]
    found, same = (run("search", "q.fa", "t.fa", *fields, *each).out for each in (own, diamond))
    assert found == same
    rows = [line.split("\t") for line in every]
    passing = [
        [qseqid, sseqid, pident, cover, sstart, send, slen]
        for qseqid, sseqid, pident, cover, sstart, send, slen in rows
        if float(pident) >= 50 and float(cover) >= 30
        if 100 * (int(send) - int(sstart) + 1) >= 80 * int(slen)
    ]
    assert [line.split("\t") for line in found.splitlines()] == passing
    assert 0 < len(passing) < len(rows)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-c", "0.8"], ["-c is not supported: coverage is a percentage", "--min-query-cover 80"]),
        (["--cov-mode", "1"], ["--cov-mode is not supported", "--min-target-cover 80"]),
        (["--min-seq-id", "0.8"], ["--min-seq-id is not", "is --min-identity 80"]),
    ],
)
def test_fractions_of_mmseqs_are_refused_with_the_percentage(refuses, options, words):
    refuses(1, words, "search", "q.fa", "t.fa", *options)


@pytest.mark.parametrize(
    ("options", "same"),
    [(["--top", "100"], ["-k", "0"]), (["--top", "100", "-k", "1"], ["-k", "1"])],
)
def test_top_takes_the_place_of_the_number_of_hits(run, monkeypatch, options, same):
    """Unless both are given: then both hold."""
    monkeypatch.setattr(defaults, "MAX_TARGET_SEQS", 2)
    fields = ["-f", "6 qseqid sseqid score", "-e", "1e9"]
    usual, *others = (
        run("search", "q.fa", "t.fa", *fields, *each).out for each in ([], options, same)
    )
    assert others[0] == others[1] != usual


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--min-identity", "30", "--align", "none"], "--min-identity needs alignments, but"),
        (["--min-identity", "101"], "'--min-identity'"),
        (["-qcov_hsp_perc", "-1"], "'-qcov_hsp_perc'"),
        (["--top", "x"], "'--top'"),
    ],
)
def test_filters_that_cannot_be_are_refused(refuses, options, words):
    refuses(1, [words], "search", "q.fa", "t.fa", "-f", "6 qseqid", *options)
