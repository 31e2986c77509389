"""`swdual audit` on the command line."""

from __future__ import annotations

import json

import pytest

ROW = "q2\tt3\t1\t1\t1\t1\t1\t1\t1\t1\t1e-6\t48\n"
INPUTS = ("q.fa", "t.fa", "--comp-based-stats", "0", "--dbtype", "prot")


@pytest.fixture
def table(here):
    (here / "x.tsv").write_text(ROW)
    return "x.tsv"


def test_it_prints_text_and_a_line_for_each_table(run, table):
    done = run("audit", table, *INPUTS, "-e", "10")
    assert done.code == 0, done.err
    assert done.out.startswith("Truth: ")
    assert "Hits found, by exact E-value" in done.out
    assert "x.tsv: " in done.err


@pytest.mark.parametrize("arguments", [["--json"], ["-f", "json"], ["-o", "x.json"]])
def test_json(run, here, table, arguments):
    done = run("audit", table, *INPUTS, *arguments)
    text = (here / "x.json").read_text() if "-o" in arguments else done.out
    assert json.loads(text)["evalues"][-1]["found"] == 1


def test_the_name_of_the_output_tells_the_format(run, here, table):
    for name, start in (("a.html", "<!DOCTYPE"), ("a.tsv", "table\tquery"), ("a.txt", "Truth")):
        assert run("audit", table, *INPUTS, "-o", name).code == 0
        assert (here / name).read_text().startswith(start)


def test_a_table_of_other_fields_needs_their_names(run, here, refuses):
    (here / "y.tsv").write_text("q2\tt3\t1e-6\n")
    refuses(1, ["y.tsv:1: 3 values", '--from "6 '], "audit", "y.tsv", *INPUTS)
    fields = ("--from", "6 qseqid sseqid evalue")
    assert run("audit", "y.tsv", *INPUTS, *fields).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x.tsv", "q.fa"], ["Name one or more tables, one file of queries and one database"]),
        (["x.tsv", "-", "-"], ["Only one file can be standard input"]),
        (["x.tsv", *INPUTS, "--json", "-f", "html"], ["--json and --outfmt exclude"]),
        (["x.tsv", *INPUTS, "-o", "x.csv"], ["x.csv: the name does not tell the format; give"]),
        (["x.tsv", *INPUTS, "--sample", "9"], ["--sample is 9, but there are 2 queries"]),
        (["none.tsv", *INPUTS], ["none.tsv: cannot be opened"]),
        (["x.tsv", *INPUTS, "--stats", "none"], ["--stats none"]),
        (["x.tsv", *INPUTS, "-o", "x.tsv", "--force"], ["x.tsv"]),
    ],
)
def test_what_cannot_be_is_refused(refuses, table, arguments, words):
    code = 6 if "--force" in arguments else 1
    refuses(code, words, "audit", *arguments)


def test_an_unknown_target_is_refused_with_file_and_line(refuses, here):
    (here / "x.tsv").write_text(ROW + ROW.replace("t3", "t9"))
    refuses(1, ["x.tsv:2: t.fa has no record 't9'"], "audit", "x.tsv", *INPUTS)
