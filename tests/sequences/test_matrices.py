"""Substitution matrices: NCBI's and others by name, other people's files, and bad files."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from Bio.Align import substitution_matrices

from swdual import align, search
from swdual.errors import InputError, MatrixError
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.matrices import (
    MAX_MATRIX_SCORE,
    SubstitutionMatrix,
    load,
    match_mismatch,
    names,
    source,
)
from swdual.statistics.karlin_altschul import ROBINSON, ungapped

NCBI = Path(__file__).parents[3] / "shared" / "reference" / "ncbi_matrices.json"
LETTERS = "ARNDCQEGHILKMFPSTWYVBZX*"
BLOSUM62 = load("BLOSUM62")
EIGHT = ["BLOSUM45", "BLOSUM50", "BLOSUM62", "BLOSUM80", "BLOSUM90", "PAM30", "PAM70", "PAM250"]
OTHERS = [name for name in names() if name not in EIGHT]
PUBLISHED = Path(__file__).parents[1] / "golden" / "published_matrices.json"
STANDS_FOR = {**{letter: letter for letter in LETTERS[:20]}, "B": "DN", "J": "IL", "Z": "EQ"}


def between(matrix, a, b):
    letters = matrix.alphabet.letters
    return int(matrix.scores[letters.index(a), letters.index(b)])


def blosum62(a, b):
    return between(BLOSUM62, a, b)


def written(letters=LETTERS, score=blosum62):
    """Return a matrix file in NCBI's format."""
    rows = [f"{a}  " + "  ".join(str(score(a, b)) for b in letters) for a in letters]
    return "\n".join(["   " + "  ".join(letters), *rows]) + "\n"


@pytest.mark.parametrize("name", [name for name in EIGHT if name != "BLOSUM80"])
def test_the_amino_acids_score_as_in_ncbi_s_files(name):
    """Biopython carries NCBI's files; but its BLOSUM80 is the one in third-bit units."""
    theirs = substitution_matrices.load(name)
    ours = load(name)
    for a in LETTERS[:20]:
        for b in LETTERS[:20]:
            assert between(ours, a, b) == theirs[a, b]


@pytest.mark.case(number=16)
@pytest.mark.skipif(not NCBI.is_file(), reason="NCBI's tables lie beside the project only")
@pytest.mark.parametrize("name", EIGHT)
def test_all_letters_score_as_in_ncbi_s_tables(name):
    """B, J, Z, X and `*` included; BLOSUM80 in half bits."""
    tables = json.loads(NCBI.read_text())
    ours, theirs = load(name), tables["matrices"][name]["rows"]
    for a, row in zip(tables["letters"], theirs, strict=True):
        assert [between(ours, a, b) for b in tables["letters"]] == row


def test_ncbi_s_matrices_come_first():
    """And each of the others names the paper and a program that holds its values."""
    assert names() == [*EIGHT, *OTHERS]
    assert sorted(json.loads(PUBLISHED.read_text())["matrices"]) == OTHERS
    for name in names():
        assert re.search(r"NCBI|\(\d{4}\)", source(name))


@pytest.mark.parametrize("name", OTHERS)
def test_the_amino_acids_score_as_published(name):
    """The figures that another program holds, rounded to whole numbers where they are decimal."""
    tables = json.loads(PUBLISHED.read_text())
    ours = load(name)
    for i, row in enumerate(tables["matrices"][name]["rows"]):
        for j, figure in enumerate(row):
            nearest = math.copysign(math.floor(abs(figure) + 0.5), figure)
            assert between(ours, tables["letters"][i], tables["letters"][j]) == nearest
            assert between(ours, tables["letters"][j], tables["letters"][i]) == nearest


@pytest.mark.parametrize("name", OTHERS)
def test_letters_for_two_amino_acids_score_their_mean_odds(name):
    """B, J and Z: the logarithm of the mean of exp(lambda score), rounded; X and `*` as NCBI's."""
    matrix = load(name)
    slope = ungapped(matrix).lambda_
    for a, first in STANDS_FOR.items():
        for b, second in STANDS_FOR.items():
            pairs = [(x, y) for x in first for y in second]
            weights = [ROBINSON[x] * ROBINSON[y] for x, y in pairs]
            odds = [math.exp(slope * between(matrix, x, y)) for x, y in pairs]
            mean = sum(w * o for w, o in zip(weights, odds, strict=True)) / sum(weights)
            score = math.log(mean) / slope
            assert between(matrix, a, b) == pytest.approx(score, abs=0.5 + 1e-9)
    lowest = min(between(matrix, a, b) for a in LETTERS[:20] for b in LETTERS[:20])
    for letter in [*STANDS_FOR, "X", "U", "O"]:
        assert between(matrix, letter, "*") == between(matrix, "*", letter) == lowest
        assert letter == "U" or between(matrix, letter, "X") == -1
    assert between(matrix, "*", "*") == 1


@pytest.mark.case(number=7)
@pytest.mark.parametrize("name", names())
def test_selenocysteine_is_c_and_pyrrolysine_is_x_in_every_matrix(name):
    """U scores as C and O as X against everything, each other included."""
    scores = load(name).scores
    u, o, c, x = (PROTEIN.letters.index(letter) for letter in "UOCX")
    assert np.array_equal(scores[[u, o]][:, : len(LETTERS)], scores[[c, x]][:, : len(LETTERS)])
    assert np.array_equal(scores, scores.T)
    assert scores[u, o] == scores[c, x]
    assert scores[u, u] == scores[c, c]


@pytest.mark.case(number=16)
def test_a_file_scores_as_the_matrix_of_the_same_values(run, here):
    """BLOSUM62 in a file, with comments before, between and behind the rows, is BLOSUM62."""
    lines = written().splitlines()
    (here / "plain").write_text(written())
    (here / "comments").write_text(
        "\n".join(["#  BLOSUM62", "# by hand", *lines[:6], "# the rest", *lines[6:], "# end"])
        + "\n"
    )
    (here / "crlf").write_text(written(), newline="\r\n")
    (here / "lower").write_text(written().lower())
    (here / "tabs").write_text(written().replace("  ", "\t"))
    (here / "blanks").write_text("\n" + written().replace("\n", "\n\n"))
    options = ("-f", "6 qseqid sseqid score qstart sstart cigar", "--stats", "none")
    builtin = run("search", "q.fa", "t.fa", *options).out
    assert builtin
    for name in ("plain", "comments", "crlf", "lower", "tabs", "blanks"):
        outcome = run("search", "q.fa", "t.fa", "--matrix", name, *options)
        assert (name, outcome.err.count("error"), outcome.out) == (name, 0, builtin)


@pytest.mark.case(number=16)
def test_a_matrix_without_a_star_gives_it_the_smallest_score(run, here):
    """Letters that a file does not list take its smallest score; U and O stay C and X."""
    (here / "m").write_text(written(LETTERS[:-1]))
    matrix = load("m")
    assert {between(matrix, "*", letter) for letter in PROTEIN.letters} == {-4}
    assert between(matrix, "U", "C") == between(matrix, "C", "C") == 9
    options = ("-f", "6 qseqid sseqid score", "--stats", "none")
    builtin = run("search", "q.fa", "t.fa", *options).out
    assert builtin
    assert run("search", "q.fa", "t.fa", "--matrix", "m", *options).out == builtin


@pytest.mark.parametrize("backend", ["simd", "reference"])
def test_an_asymmetric_matrix_reads_rows_as_the_query(run, here, backend):
    """The row is the query's letter and the column the target's."""
    (here / "m").write_text(
        written("ACDE", lambda a, b: 7 if a + b == "AC" else 3 if a + b == "CA" else -5)
    )
    (here / "a.fa").write_text(">a\nAAAA\n")
    (here / "c.fa").write_text(">c\nCCC\n")
    for query, target, score in (("a.fa", "c.fa", 21), ("c.fa", "a.fa", 9)):
        options = ("--matrix", "m", "-f", "6 score", "--backend", backend, "--stats", "none")
        outcome = run("search", query, target, *options)
        assert (outcome.code, outcome.out) == (0, f"{score}\n")


@pytest.mark.parametrize("backend", ["simd", "reference"])
def test_a_matrix_of_positive_scores_is_searched(run, here, backend):
    """Without statistics nothing forbids it: the alignment is then global."""
    (here / "m").write_text(written(score=lambda a, b: 5 if a == b else 1))
    (here / "x.fa").write_text(">x\nMKVLAWGG\n")
    (here / "y.fa").write_text(">y\nMKVCCWGG\n")
    arguments = ("--matrix", "m", "-f", "6 score", "--backend", backend)
    outcome = run("search", "x.fa", "y.fa", *arguments, "--stats", "none")
    assert (outcome.code, outcome.out) == (0, "32\n")


@pytest.mark.parametrize("score", [0, -1])
def test_a_matrix_without_positive_scores_finds_nothing(run, here, score):
    """No alignment scores above zero, which is a result and no error."""
    (here / "m").write_text(written(score=lambda a, b: score))
    outcome = run("search", "q.fa", "t.fa", "--matrix", "m", "--stats", "none")
    assert (outcome.code, outcome.out) == (0, "")


def test_scores_up_to_the_limit_are_exact(run, here):
    """The largest score that a file may hold is added up exactly by every backend."""
    (here / "m").write_text(
        written("ACDE", lambda a, b: MAX_MATRIX_SCORE if a == b else -MAX_MATRIX_SCORE)
    )
    (here / "x.fa").write_text(">x\n" + "ACDE" * 10 + "\n")
    for backend in ("simd", "reference"):
        options = ("--matrix", "m", "-f", "6 score", "--backend", backend, "--stats", "none")
        outcome = run("search", "x.fa", "x.fa", *options)
        assert outcome.out == f"{40 * MAX_MATRIX_SCORE}\n"


def changed(number, change):
    """Return a matrix file with one line changed."""
    lines = written().splitlines()
    lines[number] = change(lines[number])
    return "\n".join(line for line in lines if line) + "\n"


C_OR_LINE = r"\bC\b|:6:"
"""The row of cysteine, by its letter or its line."""

BAD = {
    "empty": ("", "not a substitution matrix"),
    "only a comment": ("# nothing\n", "not a substitution matrix"),
    "only a header": (written().splitlines()[0] + "\n", "not a substitution matrix"),
    "a FASTA file": (">a\nMKV\n", "not a substitution matrix"),
    "a missing value": (changed(5, lambda line: line.rsplit(None, 1)[0]), C_OR_LINE),
    "a value too many": (changed(5, lambda line: line + " 7"), C_OR_LINE),
    "a missing column": (changed(0, lambda line: line.rsplit(None, 1)[0]), r"\*|:[12]:"),
    "a missing row": (changed(5, lambda line: ""), C_OR_LINE),
    "a row without a column": (written() + "J " + "1 " * 24 + "\n", r"\bJ\b|:26:"),
    "a repeated column": (written("ACDEA"), r"\bA\b"),
    "a name of two letters": (written().replace("\nA", "\nAB"), r"\bAB\b|:2:"),
    "columns of two letters": (written().replace("A", "AB"), r"\bAB\b|:1:"),
    "a letter that is none": (written("ACD@", lambda a, b: 1), "@"),
    "a word": (changed(5, lambda line: line.replace(" 9", " x")), r"\bx\b"),
    "a fraction": (changed(5, lambda line: line.replace(" 9", " 9.5")), "whole number"),
    "no number": (changed(5, lambda line: line.replace(" 9", " nan")), "whole number"),
    "infinity": (changed(5, lambda line: line.replace(" 9", " inf")), "whole number"),
    "a score too large": (changed(5, lambda line: line.replace(" 9", " 32768")), "32767"),
    "a score too small": (changed(5, lambda line: line.replace(" 9", " -32768")), "32767"),
    "bytes": (bytes(range(256)).decode("latin-1"), "not a substitution matrix"),
}


@pytest.mark.case(number=16)
@pytest.mark.parametrize("fault", BAD)
def test_a_bad_matrix_file_is_refused(refuses, here, fault):
    """Exit code 1; the file and the cause are named; nothing is written."""
    text, cause = BAD[fault]
    (here / "bad.mat").write_bytes(text.encode("latin-1"))
    outcome = refuses(
        1, ["bad.mat"], "search", "q.fa", "t.fa", "--matrix", "bad.mat", "-o", "hits.tsv"
    )
    assert re.search(cause, outcome.err)
    for inside in ("()", "list index", "pop from", "out of bounds"):
        assert inside not in outcome.err


@pytest.mark.parametrize("kind", ["a folder", "unreadable"])
def test_a_matrix_that_cannot_be_read_is_an_input_error(refuses, here, kind):
    """A folder, or a file whose reading fails, is no fault of the output."""
    (here / "folder").mkdir()
    path = "folder" if kind == "a folder" else "/proc/self/mem"
    outcome = refuses(1, [path], "search", "q.fa", "t.fa", "--matrix", path, "-o", "hits.tsv")
    assert "cannot be written" not in outcome.err


@pytest.mark.case(number=26)
def test_an_unknown_matrix_names_the_nearest(refuses):
    """A name that is neither a matrix nor a file: the message helps."""
    refuses(
        1,
        ["unknown matrix 'BLOSUM63'; did you mean BLOSUM62", "PAM250", "or give a file"],
        *("search", "q.fa", "t.fa", "--matrix", "BLOSUM63"),
    )


def test_matrix_names_may_be_lower_case():
    """blosum62 is BLOSUM62."""
    assert load("blosum62") == BLOSUM62


def test_a_protein_matrix_is_refused_for_nucleotides():
    """BLOSUM62 does not score bases."""
    with pytest.raises(MatrixError, match="nucleotides"):
        load("BLOSUM62", NUCLEOTIDE)


IUPAC = {
    "A": {"A"}, "C": {"C"}, "G": {"G"}, "T": {"T"},
    "R": {"A", "G"}, "Y": {"C", "T"}, "S": {"C", "G"}, "W": {"A", "T"},
    "K": {"G", "T"}, "M": {"A", "C"},
    "B": {"C", "G", "T"}, "D": {"A", "G", "T"}, "H": {"A", "C", "T"}, "V": {"A", "C", "G"},
    "N": {"A", "C", "G", "T"},
}  # fmt: skip
"""What each nucleotide letter may stand for, written down anew."""

SCHEMES = [(2, -3), (1, -2), (1, -3), (1, -1), (1, -4), (3, -4), (4, -5), (5, -4), (2, -7)]


@pytest.mark.parametrize(("reward", "penalty"), SCHEMES)
def test_bases_score_as_blastns(reward, penalty):
    """NCBI's BlastScoreBlkNuclMatrixCreate: two letters that share a base score the mean over
    the bases of the more ambiguous one, of which one matches, rounded by its BLAST_Nint.
    """
    matrix = match_mismatch(reward, penalty)
    assert set(NUCLEOTIDE.letters) == set(IUPAC)
    for a, ours in IUPAC.items():
        for b, theirs in IUPAC.items():
            expected = penalty
            if ours & theirs:
                degeneracy = max(len(ours), len(theirs))
                mean = ((degeneracy - 1) * penalty + reward) / degeneracy
                expected = int(mean + (0.5 if mean >= 0 else -0.5))  # C cuts the fraction off
            assert between(matrix, a, b) == expected, a + b


def test_bases_score_as_listed_by_hand():
    """The rows of A, R, B and N in blastn's matrix for 2 and -3, and what follows from them."""
    listed = {
        #     A   C   G   T   R   Y   S   W   K   M   B   D   H   V   N
        "A": (2, -3, -3, -3, -1, -3, -3, -1, -3, -1, -3, -1, -1, -1, -2),
        "C": (-3, 2, -3, -3, -3, -1, -1, -3, -3, -1, -1, -3, -1, -1, -2),
        "R": (-1, -3, -1, -3, -1, -3, -1, -1, -1, -1, -1, -1, -1, -1, -2),
        "B": (-3, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -2),
        "N": (-2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2),
    }
    matrix = match_mismatch(2, -3)
    for a, scores in listed.items():
        assert tuple(between(matrix, a, b) for b in "ACGTRYSWKMBDHVN") == scores, a


@pytest.mark.parametrize(
    ("reward", "penalty"), [(0, -3), (-1, -3), (2, 0), (2, 3), (40_000, -3), (2, -40_000)]
)
def test_an_impossible_reward_or_penalty_is_refused(refuses, run, here, reward, penalty):
    """The reward is positive, the penalty negative, and both fit two bytes."""
    (here / "n.fa").write_text(">n\n" + "ACGTTGCA" * 10 + "\n")
    assert run("makedb", "n.fa", "n.db", "--dbtype", "nucl").code == 0
    refuses(
        1,
        ["reward", "penalty"],
        *("search", "n.fa", "n.db", "--reward", str(reward), "--penalty", str(penalty)),
    )


@pytest.mark.parametrize(
    "scores",
    [np.full((32, 32), 40_000), np.full((25, 25), 1), np.full((32, 32), 1.5)],
    ids=["too large", "wrong shape", "fractions"],
)
def test_a_matrix_made_by_hand_is_checked(scores):
    """Scores that a kernel would misread are refused where they come in."""
    with pytest.raises(MatrixError):
        SubstitutionMatrix("mine", PROTEIN, scores)


def test_a_matrix_of_the_other_alphabet_is_refused():
    """Amino-acid scores say nothing about nucleotides, and the other way round."""
    with pytest.raises(InputError, match="nucl"):
        search("MKV", {"t": "MKV"}, matrix=match_mismatch(2, -3))


@pytest.mark.parametrize("name", ["BLOSUM62", "PAM30", "BLOSUM90"])
def test_a_matrix_of_biopython_scores_as_it_says(name):
    """Letter by letter; it is called as the built-in one with the same scores of amino acids."""
    given = substitution_matrices.load(name)
    made = load(given)
    assert made.name == name
    for a in given.alphabet:
        for b in given.alphabet:
            found = made.scores[PROTEIN.letters.index(a), PROTEIN.letters.index(b)]
            assert found == given[a, b], (a, b)
    assert made.scores[PROTEIN.letters.index("J"), 0] == given.min()


def test_a_matrix_of_biopython_gives_the_statistics_of_the_built_in_one():
    """E-values, default gap penalties and adjustment go by the scores of amino acids."""
    texts = "MKVLAWGGHERWCDEFMKTAY", {"t": "MKVLAWGGHERWCDEFMKTAYIAKQR"}
    for name in ("BLOSUM62", "PAM30"):
        given = substitution_matrices.load(name)
        found, expected = (search(*texts, matrix=each) for each in (given, name))
        assert found[0][0].evalue == expected[0][0].evalue
        assert found.params.scheme.gap_open == expected.params.scheme.gap_open
    bases = substitution_matrices.load("NUC.4.4")
    assert align("ACGTACGT", "ACGTACGT", dbtype="nucl", matrix=bases).score == 40


def test_a_matrix_of_other_numbers_or_things_is_refused():
    """Scores are whole numbers, and a number is no matrix."""
    with pytest.raises(MatrixError, match=r"'2\.4' is not a whole number; scale the matrix first"):
        load(substitution_matrices.load("GONNET1992"))
    for wrong in (3, np.zeros((32, 32)), [["A"]]):
        with pytest.raises(MatrixError, match="must be the name of a matrix, the path of a file"):
            load(wrong)
