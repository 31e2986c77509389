"""Bad input to statistics, alignments and schemes: refused with cause and remedy, or searched."""

from __future__ import annotations

import pytest
from support.formats import FIXED, UNALIGNED

POSITIVE = "   A  C  D\nA  4  1  1\nC  1  9  1\nD  1  1  6\n"
NEGATIVE = "   A  C\nA  -4  -1\nC  -1  -9\n"
ASYMMETRIC = """# the rows are the query's
   A  C  D  E  W  K  V  M  L  G  H  R  F
A  4 -3 -3 -3 -4 -3 -2 -2 -2 -1 -3 -3 -3
C -3  9 -4 -4 -3 -4 -2 -2 -2 -4 -4 -4 -3
D -3 -4  6  2 -5 -2 -4 -4 -5 -2 -2 -3 -4
E -3 -4  1  5 -4  0 -3 -3 -4 -3 -1 -1 -4
W -4 -3 -5 -4 11 -4 -4 -2 -3 -3 -3 -4  0
K -3 -4 -2  0 -4  5 -3 -2 -3 -3 -2  2 -4
V -2 -2 -4 -3 -4 -3  4  0  1 -4 -4 -4 -2
M -2 -2 -4 -3 -2 -2  0  5  2 -4 -3 -2 -1
L -2 -2 -5 -4 -3 -3  3  2  4 -5 -4 -3 -1
G -1 -4 -2 -3 -3 -3 -4 -4 -5  6 -3 -3 -4
H -3 -4 -2 -1 -3 -2 -4 -3 -4 -3  8 -1 -2
R -3 -4 -3 -1 -4  2 -4 -2 -3 -3 -1  5 -4
F -3 -3 -4 -4  0 -4 -2 -1 -1 -4 -2 -4  6
"""
SCORES = ["-f", "6 qseqid sseqid score", "-k", "0"]


@pytest.fixture
def matrix(here):
    """Write a matrix file."""

    def write(text):
        (here / "m.txt").write_text(text)
        return ["--matrix", "m.txt"]

    return write


@pytest.mark.case(number=16)
@pytest.mark.parametrize("stats", ["table", "fit"])
@pytest.mark.parametrize(
    ("text", "cause"),
    [(POSITIVE, "expected score is not negative"), (NEGATIVE, "no score is positive")],
    ids=["positive", "negative"],
)
def test_a_matrix_without_a_negative_mean_has_no_e_values(refuses, matrix, text, cause, stats):
    """Case 16: refused with the cause, and with what to do."""
    words = ["m.txt", cause, "E-values are undefined", "--stats none"]
    refuses(1, words, "search", "q.fa", "t.fa", *matrix(text), "--stats", stats)


@pytest.mark.case(number=16)
def test_a_matrix_without_a_negative_mean_is_searched_without_statistics(run, matrix):
    """Scores and alignments are there, E-values and bits are not."""
    outcome = run("search", "q.fa", "t.fa", *matrix(POSITIVE), "--stats", "none", "--gapopen", "1")
    rows = [line.split("\t") for line in outcome.out.splitlines()]
    assert outcome.code == 0
    assert len(rows) == 6
    assert {tuple(row[10:]) for row in rows} == {("NA", "NA")}


@pytest.mark.case(number=16)
@pytest.mark.parametrize("stats", ["fit", "none"])
def test_an_asymmetric_matrix_of_ones_own_is_searched(run, matrix, stats):
    """Case 16: fitted, or without statistics; scores tell row from column."""
    args = ["search", "q.fa", "t.fa", *matrix(ASYMMETRIC), "--stats", stats, *SCORES]
    outcome = run(*args)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("q1\tt1\t")


@pytest.mark.case(number=16)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("   A  C\nA  4\nC  1  9\n", ["m.txt:2:", "1 scores", "2 columns"]),
        ("   A  C\nA  4  0.5\nC  1  9\n", ["m.txt:2:", "not a whole number"]),
        ("   A  C\nA  4  1\n", ["m.txt:", "no row for C"]),
    ],
    ids=["missing column", "fraction", "missing row"],
)
def test_a_damaged_matrix_is_refused(refuses, matrix, text, words):
    """Case 16: with file, line and cause."""
    refuses(1, words, "search", "q.fa", "t.fa", *matrix(text), "--stats", "none")


@pytest.mark.case(number=17)
def test_gap_prices_without_parameters_are_refused_with_those_that_have_some(refuses):
    """Case 17: BLOSUM62 with 5/1; every supported pair is listed, and `fit` is offered."""
    words = ["BLOSUM62", "5/1", "11/1", "9/2", "--stats fit", "--stats none"]
    refuses(1, words, "search", "q.fa", "t.fa", "--gapopen", "5", "--gapextend", "1")


@pytest.mark.case(number=18)
@pytest.mark.parametrize(
    "prices", [(0, 0), (0, 1), (1, 9), (2**28, 1), (2**28, 2**28)], ids=lambda x: f"{x[0]}/{x[1]}"
)
def test_any_gap_prices_are_searched_and_aligned(run, prices):
    """Case 18: free gaps, dear openings, extensions dearer than openings, no gaps at all."""
    gaps = ["--gapopen", str(prices[0]), "--gapextend", str(prices[1])]
    outcome = run("search", "q.fa", "t.fa", *gaps, "--stats", "none", "-f", "6 std score cigar")
    assert outcome.code == 0, outcome.err
    rows = [line.split("\t") for line in outcome.out.splitlines()]
    assert len(rows) == 6
    assert all(("I" in row[13] or "D" in row[13]) == (int(row[5]) > 0) for row in rows)
    if prices[0] == 2**28:
        assert {row[5] for row in rows} == {"0"}


@pytest.mark.case(number=18)
@pytest.mark.parametrize("option", ["--gapopen", "--gapextend"])
def test_a_negative_gap_price_is_refused(refuses, option):
    """Case 18: prices are subtracted."""
    refuses(1, ["-1", "positive numbers", "subtracted"], "search", "q.fa", "t.fa", option, "-1")


@pytest.mark.parametrize("field", ["pident", "qstart", "btop", "cigar", "sseq", "qcovhsp"])
def test_a_field_of_the_alignment_is_refused_without_alignments(refuses, field):
    """With a table that would do."""
    words = ["--align none", "qseqid sseqid score"]
    refuses(1, words, "search", "q.fa", "t.fa", "-f", f"6 qseqid {field}", "--align", "none")


@pytest.mark.parametrize("outfmt", ["0", "5", "6", *sorted({*FIXED} - {*UNALIGNED})])
def test_a_format_of_alignments_is_refused_without_them(refuses, outfmt):
    """Whether its layout is fixed or BLAST's twelve columns are meant."""
    refuses(1, ["--align none"], "search", "q.fa", "t.fa", "-f", outfmt, "--align", "none")


@pytest.mark.case(number=19)
@pytest.mark.parametrize("k", ["0", "1", "2", "5", "9", "100"])
def test_equal_scores_come_in_the_order_of_the_database(run, here, k):
    """Case 19: all scores equal, for any number of hits."""
    (here / "same.fa").write_text("".join(f">s{n}\nACDEFGHIKLMNPQRSTVWY\n" for n in range(9)))
    outcome = run("search", "q.fa", "same.fa", "-k", k, "-f", "6 qseqid sseqid snum")
    found = [line.split("\t") for line in outcome.out.splitlines() if line.startswith("q2")]
    assert [int(row[2]) for row in found] == list(range(1, min(int(k) or 9, 9) + 1))


@pytest.mark.case(number=7)
@pytest.mark.parametrize("letters", ["U", "O", "J", "B", "Z", "X", "*", "acgtn"])
def test_rare_and_small_letters_are_read_and_shown(run, here, letters):
    """Case 7: a sequence of them aligns with itself as it was written, in capitals."""
    text = f"MKVLAWGGHERMKV{letters}WDEFACDHIK"
    (here / "r.fa").write_text(f">r\n{text}\n")
    outcome = run("search", "r.fa", "r.fa", "-f", "6 qseq sseq")
    assert outcome.out.split() == [text.upper()] * 2


@pytest.mark.sample(1)
@pytest.mark.case(number=15)
@pytest.mark.parametrize("length", [1, 2, 50_000])
def test_targets_much_longer_or_shorter_than_the_query_are_aligned(run, here, length):
    """Case 15: one residue against many, and the other way round."""
    (here / "long.fa").write_text(f">long\n{'ACDEFGHIKL' * 5000}W\n")
    (here / "short.fa").write_text(f">short\n{('W' * length)[:length]}\n")
    for pair in (("long.fa", "short.fa"), ("short.fa", "long.fa")):
        outcome = run("search", *pair, "--stats", "none", "-f", "6 score length qstart sstart")
        score, columns, *starts = map(int, outcome.out.split())
        assert (score, columns) == (11, 1)
        assert sorted(starts) in ([1, 50_001], [50_001, 50_001], [1, 1])
