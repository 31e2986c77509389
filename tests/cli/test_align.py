"""`swdual align`: pairs and files, with the options of a search."""

from __future__ import annotations

import pytest

TABLE = ("-f", "6 qseqid sseqid score qstart qend sstart send cigar")


def test_two_sequences_are_aligned(run):
    """Text on the command line; the names say which is which."""
    outcome = run("align", "MKVLAWGGHE", "PPMKVAWGGHEK", *TABLE)
    assert (outcome.code, outcome.out) == (0, "query\ttarget\t42\t1\t10\t3\t11\t3M1I6M\n")


def test_several_alignments_of_two_sequences_are_shown(run):
    """The best one first; all of them with 0."""
    words = ["align", "MKVLAWGGHE", "MKVLAWPPMKVLAWDDWGGHE", "-f", "6 score qstart sstart"]
    assert run(*words, "--max-hsps", "2").out == "44\t1\t9\n33\t1\t1\n"
    assert run(*words, "--max-hsps", "0").out == "44\t1\t9\n33\t1\t1\n1\t10\t2\n"
    assert run(*words).out == "44\t1\t9\n"


def test_all_of_one_file_are_aligned_with_all_of_the_other(run):
    """However bad an alignment is, it is shown; the best of each query first."""
    rows = [line.split("\t")[:3] for line in run("align", "q.fa", "t.fa", *TABLE).out.splitlines()]
    assert rows == [
        ["q1", "t1", "77"], ["q1", "t3", "19"], ["q1", "t2", "12"],
        ["q2", "t3", "116"], ["q2", "t1", "15"], ["q2", "t2", "13"],
    ]  # fmt: skip


def test_a_file_is_aligned_with_a_sequence(run, here):
    """Either may be a file, or standard input."""
    expected = run("align", "q.fa", "MKVLAW", *TABLE).out
    assert expected.startswith("q1\ttarget\t33\t")
    text = (here / "q.fa").read_bytes()
    assert run("align", "-", "MKVLAW", *TABLE, stdin=text).out == expected


def test_it_says_what_a_search_says(run):
    """The fields of a hit are those of a search without limits, and without adjusted scores."""
    fields = "6 std score cigar btop qseq sseq"
    scheme = ("--matrix", "BLOSUM45", "--gapopen", "13", "--gapextend", "3")
    limits = ("-e", "inf", "-k", "0", "--comp-based-stats", "0")
    found = run("search", "q.fa", "t.fa", *scheme, "-f", fields, *limits)
    assert run("align", "q.fa", "t.fa", *scheme, "--stats", "table", "-f", fields).out == found.out
    assert found.out.count("\n") == 6


def test_any_gap_price_is_possible_and_there_are_no_e_values_by_default(run):
    """Two sequences alone have no E-value, so no scheme needs parameters."""
    outcome = run("align", "MKVLAW", "MKVAW", "--gapopen", "0", "-f", "6 score evalue bitscore")
    assert (outcome.code, outcome.out) == (0, "28\tNA\tNA\n")


def test_bases_are_aligned_on_both_strands(run):
    """--dbtype nucl; the target's places fall where its other strand aligns."""
    outcome = run("align", "AACCCGGTAC", "TTGTACCGGGTT", "--dbtype", "nucl", *TABLE)
    assert (outcome.code, outcome.out) == (0, "query\ttarget\t20\t1\t10\t12\t3\t10M\n")


PAIR_TABLES = {
    "two columns": "MKVLAWGGHE\tPPMKVAWGGHEK\n",
    "four columns": "query_1\tMKVLAWGGHE\ttarget_1\tPPMKVAWGGHEK\r\n",
    "comments": "# query and target\n\nMKVLAWGGHE\tPPMKVAWGGHEK",
}


@pytest.mark.parametrize("text", PAIR_TABLES.values(), ids=PAIR_TABLES)
def test_a_table_of_pairs_is_aligned_line_by_line(run, here, text):
    """Also from standard input; with any number of threads."""
    (here / "pairs.tsv").write_text(text)
    expected = (0, "query_1\ttarget_1\t42\t1\t10\t3\t11\t3M1I6M\n")
    outcome = run("align", "pairs.tsv", *TABLE)
    assert (outcome.code, outcome.out) == expected
    outcome = run("align", "-", *TABLE, "-p", "3", stdin=text.encode())
    assert (outcome.code, outcome.out) == expected


def test_sequences_at_the_same_place_of_two_files_are_aligned(run, here):
    """--pairs: the lines that all with all have of these pairs, E-values aside."""
    fields = ("-f", "6 std score cigar btop qseq sseq")
    (here / "t2.fa").write_text("".join((here / "t.fa").read_text().partition(">t3")[:1]))
    every = run("align", "q.fa", "t2.fa", *fields).out.splitlines()
    chosen = [line for line in every if line.split("\t")[:2] in (["q1", "t1"], ["q2", "t2"])]
    assert run("align", "q.fa", "t2.fa", "--pairs", *fields).out.splitlines() == chosen
    assert len(chosen) == 2


def test_pairs_have_the_statistics_of_a_database_of_one_target(run):
    """And as many alignments as asked for."""
    fields = ("-f", "6 score bitscore evalue sstart", "--stats", "table", "--max-hsps", "2")
    one = run("align", "MKVLAWGGHE", "MKVLAWPPMKVLAWDDWGGHE", *fields).out
    pairs = run("align", "-", *fields, stdin=b"MKVLAWGGHE\tMKVLAWPPMKVLAWDDWGGHE\n").out
    assert pairs == one
    assert pairs.count("\n") == 2


@pytest.mark.parametrize("format_", ["0", "7", "5", "jsonl", "sam", "paf", "csv"])
def test_pairs_are_written_in_any_format(run, here, format_):
    """Each as the result of a query."""
    (here / "pairs.tsv").write_text("a\tMKVLAW\tb\tMKVLAW\nc\tMKVLAWGG\td\tMKVAWGG\n")
    outcome = run("align", "pairs.tsv", "-f", format_)
    assert outcome.code == 0, outcome.err
    assert all(name in outcome.out for name in "abcd")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("MKV\n", ["pairs.tsv:1: ", "1 column"]),
        ("MKV\tMKV\na\tMKV\tMKV\n", ["pairs.tsv:2: ", "3 columns"]),
        ("MKV\t\n", ["pairs.tsv:1: ", "the target has no letters"]),
        ("MKV\tMKV\n\nMKV\tMK1\n", ["pairs.tsv:3: ", "'1' at position 3", "--on-invalid replace"]),
        ("a\tACGT1\tb\tACGT\n", ["pairs.tsv:1: ", "the query has '1' at position 5"]),
    ],
)
def test_a_table_that_has_no_pairs_is_refused(refuses, here, text, words):
    """With the line and what it should have."""
    (here / "pairs.tsv").write_text(text)
    refuses(1, words, "align", "pairs.tsv", *TABLE)


def test_files_of_unlike_numbers_of_sequences_are_no_pairs(refuses):
    """The shorter one is named."""
    refuses(1, ["q.fa", "2 sequences", "t.fa", "more"], "align", "q.fa", "t.fa", "--pairs", *TABLE)


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["Missing argument", "table of pairs"], ["MKV"]),
        (["standard input"], ["-", "-"]),
        (["none.fa", "No such file"], ["none.fa", "MKV"]),
        (["No such file"], ["MKV", "none.fa"]),
        (["lacks BLAST's format 9"], ["MKV", "MKV", "-f", "9"]),
        (["--gapopen is -1"], ["MKV", "MKV", "--gapopen", "-1"]),
        (["5/1", "--stats none"], ["MKV", "MKV", "--gapopen", "5", "--stats", "table"]),
    ],
)
def test_what_cannot_be_aligned_is_refused(refuses, words, arguments):
    """Exit code 1 or 2 as in a search, one message, nothing written."""
    code = 2 if arguments[-1] == "none.fa" else 1
    refuses(code, words, "align", *arguments, *([] if "-f" in arguments else TABLE))


def test_a_nonempty_file_is_replaced_only_by_force(refuses, run, here):
    """The output of align is guarded as that of a search."""
    (here / "old").write_text("precious")
    refuses(6, ["old: ", "exists", "--force"], "align", "MKV", "MKV", *TABLE, "-o", "old")
    assert run("align", "MKV", "MKV", *TABLE, "-o", "old", "--force").code == 0
    assert (here / "old").read_text() == "query\ttarget\t14\t1\t3\t1\t3\t3M\n"
