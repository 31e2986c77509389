"""Tables of other programs: what is read of their rows and of their headers."""

from __future__ import annotations

import numpy as np
import pytest

import swdual
from swdual.auditing.table import read_hits
from swdual.errors import InputError

HEAD = """\
# DIAMOND v2.1.3. http://github.com/bbuchfink/diamond
# Invocation: diamond blastp -q {file} -d db --sensitive -k0 -e 0.5 -f 6 qseqid sseqid evalue bitscore --matrix BLOSUM45 --gapopen 13 --gapextend 3 --dbsize 5000 -o out --header
# Fields: Query ID, Subject ID, Expected value, Bit score
"""  # noqa: E501

BLAST = """\
# BLASTP 2.12.0+
# Query: q1 a query
# Database: db
# Fields: query id, subject id, evalue, bit score
# 1 hits found
q1\tt1\t1e-9\t30.5
"""


def written(folder, text, name="x.tsv"):
    path = folder / name
    path.write_text(text)
    return path


def test_the_header_of_diamond_tells_fields_and_options(tmp_path):
    path = written(tmp_path, HEAD.format(file="q.fa") + "q1\tt1\t1e-9\t30.5\n")
    table = read_hits(path)
    assert (table.queries, table.targets) == (["q1"], ["t1"])
    assert (table.evalues.tolist(), table.bits.tolist()) == ([1e-9], [30.5])
    assert list(table.lines) == [4]
    run = table.run
    assert run.program == "DIAMOND v2.1.3 blastp"
    assert run.options == (
        "--sensitive -k0 -e 0.5 --matrix BLOSUM45 --gapopen 13 --gapextend 3 --dbsize 5000"
    )
    assert (run.evalue, run.max_targets, run.cuts_all) == (0.5, 0, False)
    assert run.scoring == {"matrix": "BLOSUM45", "gap_open": 13, "gap_extend": 3, "dbsize": 5000}
    assert "DIAMOND's mode 1" in run.remarks[0]


def test_defaults_of_diamond_are_known(tmp_path):
    head = "# DIAMOND v2.1.3\n# Invocation: diamond blastx -q q -d d --header --top 5\n"
    run = read_hits(written(tmp_path, head)).run
    assert (run.evalue, run.max_targets, run.cuts_all) == (0.001, 25, True)


def test_format_7_of_blast_is_recognised_under_any_name(tmp_path):
    for name in ("x.tsv", "x.txt", "x.out"):
        table = read_hits(written(tmp_path, BLAST, name))
        assert table.run.program == "BLASTP 2.12.0+"
        assert (table.queries, list(table.lines)) == (["q1"], [6])


def test_a_table_without_header_tells_nothing_of_its_run(tmp_path):
    row = "\t".join(["q1", "t1", "50", *"23456789", "1"])
    run = read_hits(written(tmp_path, row + "\n")).run
    assert (run.program, run.evalue, run.max_targets) == ("", None, None)


def test_columns_that_a_table_lacks_are_no_numbers(tmp_path):
    table = read_hits(written(tmp_path, "qseqid\tsseqid\nq1\tt1\n"))
    assert np.isnan([*table.evalues, *table.bits]).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("qseqid\tevalue\nq1\t1\n", "x.tsv: there is no column sseqid"),
        ("sseqid\tevalue\nq1\t1\n", "x.tsv: there is no column qseqid"),
        ("qseqid\tsseqid\tevalue\nq1\tt1\t1\nq1\tt1\n", "x.tsv:3: 2 values"),
        ("qseqid\tsseqid\tevalue\nq1\tt1\tx\n", "x.tsv:2: evalue is 'x'"),
        (
            "qseqid\tsseqid\tevalue\nq1\tt1\t1\nq1\tt2\t-1\n",
            "x.tsv:3: evalue is -1.0, but it must be",
        ),
        ("qseqid\tsseqid\tbitscore\nq1\tt1\tinf\n", "x.tsv:2: bitscore is 'inf', not a number"),
        (
            BLAST.replace("# 1 hits", "# 2 hits"),
            "x.tsv:5: '# 2 hits found', but 1 row is missing at the end",
        ),
    ],
)
def test_a_damaged_table_is_refused_with_file_and_line(tmp_path, text, words):
    with pytest.raises(InputError) as error:
        read_hits(written(tmp_path, text))
    assert words in str(error.value)


TARGETS = {"sp|P1|ONE": "MKVLAWGGHERWCDEF", "sp|P2.3|TWO": "MKVLAWGGHE", "x|P2|y": "GGGWWGGG"}
QUERIES = {"gi|5|sp|Q1.1|AN": "MKVLAWGGHERWCDEF", "q2": "ACDEFGHIKL"}


@pytest.mark.parametrize("name", ["sp|P1|ONE", "P1", "ONE"])
@pytest.mark.parametrize("query", ["gi|5|sp|Q1.1|AN", "Q1.1", "Q1"])
def test_identifiers_may_be_parts_as_other_programs_write_them(tmp_path, query, name):
    path = written(tmp_path, f"qseqid\tsseqid\tevalue\n{query}\t{name}\t1e-9\n")
    found = swdual.audit(path, QUERIES, TARGETS)
    first = found.columns()
    assert (first["query"][0], first["target"][0], first["verdict"][0]) == (
        *("gi|5|sp|Q1.1|AN", "sp|P1|ONE"),
        "found",
    )


@pytest.mark.parametrize(
    ("query", "target", "words"),
    [
        ("q3", "P1", "x.tsv:3: there is no query 'q3'"),
        ("q2", "sp|P1|ON", "x.tsv:3: sequences in memory has no record 'sp|P1|ON'"),
        ("q2", "P2", "x.tsv:3: sequences in memory: 'P2' is part of 2 identifiers"),
        ("q2", "a\x1b[31m\tb", "x.tsv:3: "),
    ],
)
def test_an_unknown_identifier_is_refused_with_file_and_line(tmp_path, query, target, words):
    path = written(tmp_path, f"qseqid\tsseqid\nq2\tP1\n{query}\t{target}\n")
    with pytest.raises(InputError) as error:
        swdual.audit(path, QUERIES, TARGETS)
    assert words in str(error.value)
    assert "\x1b" not in str(error.value)


def test_a_repeated_identifier_is_refused(tmp_path):
    path = written(tmp_path, "qseqid\tsseqid\nq\tt\n")
    for queries, targets in (
        ([("q", "MKV"), ("q", "MKL")], TARGETS | {"t": "MKV"}),
        ({"q": "MKV"}, [("t", "MKV"), ("t", "MKL")]),
    ):
        with pytest.raises(InputError, match=r"x\.tsv:2: '.' names several"):
            swdual.audit(path, queries, targets)
