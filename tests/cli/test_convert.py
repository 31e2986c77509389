"""`swdual convert`: tables from one format to another."""

from __future__ import annotations

import itertools
import json

import pytest

ENDINGS = ("tsv", "csv", "jsonl", "arrow", "parquet")
FULL = ("jsonl", "arrow", "parquet")
"""The formats that keep every digit."""

ALL = "std score qlen slen log10_evalue rank qtitle stitle cigar btop"


@pytest.fixture
def tables(run, here):
    """The hits of one search in every format, x.tsv to x.parquet; only .jsonl has E-values so."""
    names = {"tsv": "6", "csv": "10"}
    for ending in ENDINGS:
        if ending in ("arrow", "parquet"):
            pytest.importorskip("pyarrow")
        options = ("--header", "-f", f"{names.get(ending, ending)} {ALL}", "-o", f"x.{ending}")
        assert run("search", "q.fa", "t.fa", *options).code == 0
    return here


@pytest.mark.parametrize(("before", "after"), [*itertools.product(FULL, ENDINGS)])
def test_a_converted_table_is_the_one_that_the_search_would_have_written(
    tables, run, before, after
):
    """From every format that keeps all digits to every format: equal texts, or equal values."""
    outcome = run("convert", f"x.{before}", f"y.{after}", "--header")
    assert outcome.code == 0, outcome.err
    assert "4 hits" in outcome.err
    if after in ("arrow", "parquet"):
        run("convert", f"x.{after}", "x2.jsonl")
        run("convert", f"y.{after}", "y2.jsonl")
        assert (tables / "y2.jsonl").read_text() == (tables / "x2.jsonl").read_text() != ""
    else:
        assert (tables / f"y.{after}").read_text() == (tables / f"x.{after}").read_text()


@pytest.mark.parametrize(("before", "after"), [*itertools.product(ENDINGS, ("tsv", "csv"))])
def test_tables_of_text_come_back_as_they_were(tables, run, before, after):
    """What text shows of a number is the same after it was read as a number and printed again."""
    assert run("convert", f"x.{before}", f"y.{after}", "--header").code == 0
    assert (tables / f"y.{after}").read_text() == (tables / f"x.{after}").read_text()


def test_a_table_without_a_header_has_the_twelve_columns(run, here):
    """As BLAST writes them; other fields need their names in the first line."""
    assert run("search", "q.fa", "t.fa", "-o", "x.tsv").code == 0
    assert run("convert", "x.tsv", "y.jsonl").code == 0
    first = json.loads((here / "y.jsonl").read_text().splitlines()[0])
    assert (first["sseqid"], first["pident"], first["send"]) == ("t1", 100.0, 14)
    assert run("convert", "y.jsonl", "z.tsv").code == 0
    assert (here / "z.tsv").read_text() == (here / "x.tsv").read_text()


def test_standard_input_and_output_serve_as_files(tables, run):
    """The format of the output must be said, by name or by BLAST's number."""
    text = (tables / "x.jsonl").read_bytes()
    outcome = run("convert", "-", "-", "--from", "jsonl", "--to", "10", "--header", stdin=text)
    assert (outcome.code, outcome.out) == (0, (tables / "x.csv").read_text())


def test_values_that_are_missing_stay_missing(run, here):
    """A table without E-values has NA in text and null in JSON."""
    options = ("--stats", "none", "-f", "jsonl qseqid evalue bitscore", "-o", "x.jsonl")
    assert run("search", "q.fa", "t.fa", *options).code == 0
    assert run("convert", "x.jsonl", "x.tsv", "--header").code == 0
    assert (here / "x.tsv").read_text().splitlines()[1] == "q1\tNA\tNA"
    assert run("convert", "x.tsv", "y.jsonl").code == 0
    assert (here / "y.jsonl").read_text() == (here / "x.jsonl").read_text()


HEAD = "qseqid\tscore\tevalue\n"

DAMAGED = {
    "a value too few": ("x.tsv", HEAD + "q\t1\t2\nq\t1\n", "x.tsv:3: "),
    "a value too many": ("x.tsv", HEAD + "q\t1\t2\t3\n", "x.tsv:2: "),
    "no whole number": ("x.tsv", HEAD + "q\t1.5\t2\n", "x.tsv:2: score is '1.5'"),
    "no number": ("x.tsv", HEAD + "q\t1\tx\n", "x.tsv:2: evalue is 'x'"),
    "other columns without names": (
        "x.tsv",
        "q\t1\t2\n",
        "x.tsv:1: 3 values, but BLAST's standard fields are 12; name the fields as they were given "
        'to BLAST, such as --from "6 qseqid sseqid pident"',
    ),
    "fourteen columns": ("x.csv", ",".join("q" * 14) + "\n", '--from "10 std qcovs stitle"'),
    "comments": (
        "x.txt",
        "# BLAT 36\n",
        "BLAST's format 7, with comments; use --from 7",
    ),
    "no JSON": ("x.jsonl", '{"score": 1}\n{"score": \n', "x.jsonl:2: not JSON"),
    "no object": ("x.jsonl", "[1]\n", "x.jsonl:1: expected an object"),
    "other fields": ("x.jsonl", '{"score": 1}\n{"rank": 1}\n', "x.jsonl:2: "),
    "another kind": ("x.jsonl", '{"score": "1"}\n', "x.jsonl:1: score is '1'"),
    "a truth for a number": ("x.jsonl", '{"score": true}\n', "x.jsonl:1: score is True"),
    "an unknown field": ("x.jsonl", '{"scor": 1}\n', "unknown field 'scor'"),
    "no Arrow": ("x.arrow", "score\n1\n", "x.arrow: not an Arrow file"),
    "no Parquet": ("x.parquet", "score\n1\n", "x.parquet: not a Parquet file"),
    "an empty Arrow": ("x.arrow", "", "x.arrow: not an Arrow file"),
    "an empty Parquet": ("x.parquet", "", "x.parquet: not a Parquet file"),
}


@pytest.mark.parametrize("fault", DAMAGED)
def test_a_damaged_table_is_refused_with_its_place(refuses, here, fault):
    """Exit code 1, the file and the line where there is one, and no output is left."""
    name, text, words = DAMAGED[fault]
    if name.endswith(("arrow", "parquet")):
        pytest.importorskip("pyarrow")
    (here / name).write_text(text)
    refuses(1, [words], "convert", name, "y.csv")


@pytest.mark.parametrize(
    ("code", "words", "arguments"),
    [
        (1, ["none.tsv: ", "No such file"], ["none.tsv", "y.csv"]),
        (1, ["scratch", "Is a directory"], ["scratch", "y.csv", "--from", "6"]),
        (1, ["y.foo: ", "--to", "parquet"], ["x.tsv", "y.foo"]),
        (1, ["y.foo: ", "--from", "parquet"], ["y.foo", "y.csv"]),
        (1, ["unknown format 'tabulr'", "tabular"], ["x.tsv", "y.csv", "--to", "tabulr"]),
        (6, ["old.csv: ", "exists", "--force"], ["x.tsv", "old.csv"]),
        (6, ["none/y.csv: ", "No such file"], ["x.tsv", "none/y.csv"]),
    ],
)
def test_what_cannot_be_converted_is_refused(refuses, here, code, words, arguments):
    """The file and the cause are named, and no file is changed."""
    (here / "x.tsv").write_text(HEAD + "q\t1\t2\n")
    (here / "y.foo").write_text("no table\n")
    (here / "old.csv").write_text("precious")
    refuses(code, words, "convert", *arguments)


EXTRA = "std qcovs stitle"


@pytest.mark.parametrize("number", ["6", "7", "10"])
def test_fields_are_given_as_to_blast(run, here, number):
    """A table without their names becomes that with their names."""
    for name, options in {"bare": (), "named": ("--header",)}.items():
        options = "-o", f"{name}.{number}", "-f", f"{number} {EXTRA}", *options
        assert run("search", "q.fa", "t.fa", *options).code == 0
    given = "--from", f"{number} {EXTRA}"
    assert run("convert", f"bare.{number}", "x.jsonl", *given).code == 0
    assert run("convert", f"named.{number}", "y.jsonl", *given).code == 0
    rows = [json.loads(line) for line in (here / "x.jsonl").read_text().splitlines()]
    assert (rows[0]["qcovs"], rows[0]["stitle"].split()[0]) == (70, "t1")
    assert (here / "y.jsonl").read_text() == (here / "x.jsonl").read_text()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("7 std", ["the fields are qseqid", "qcovs stitle, but --from names qseqid"]),
        ("json std", ["format json names its fields itself", "tabular, commented, csv"]),
        ("7 std qcovx", ["unknown field 'qcovx'", "qcovs"]),
        ("sdt std", ["unknown format 'sdt'"]),
    ],
)
def test_fields_that_do_not_fit_are_refused(run, refuses, here, given, words):
    """Other fields than the file names, or a format that always names them."""
    assert run("search", "q.fa", "t.fa", "-o", "x.txt", "-f", f"7 {EXTRA}").code == 0
    refuses(1, words, "convert", "x.txt", "y.csv", "--from", given)


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("blanks", "y.csv", "blanks: neither name nor content tells the format; give --from 6,"),
        ("x.tsv", "-", "standard output: the name does not tell the format; give --to csv,"),
    ],
)
def test_what_tells_no_format_says_which_option_does(refuses, here, source, target, words):
    """With a value that is right."""
    (here / "blanks").write_text("q1 t1 98.5\n")
    (here / "x.tsv").write_text("qseqid\tsseqid\nq\tt\n")
    refuses(1, words, "convert", source, target)
