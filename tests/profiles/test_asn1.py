"""PSI-BLAST's checkpoint files are read as psiblast wrote them, and psiblast reads ours."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest
from support.profile_tables import GOLDEN, sequences

from swdual.errors import InputError
from swdual.profiles import Profile, read_profile
from swdual.profiles.position_scores import UNSCORED
from swdual.sequences.alphabet import PROTEIN

NUMBER = re.compile(r"-?\d+")
CASES = ("brief", "odd")


@cache
def recorded(name):
    """Return a checkpoint file of psiblast."""
    return gzip.decompress((GOLDEN / f"profile_{name}.asn.gz").read_bytes()).decode()


@pytest.fixture
def file(tmp_path):
    """Write a checkpoint file, with something replaced in it; return its path."""

    def write(old="", new="", count=1, name="brief"):
        text = recorded(name)
        assert old in text
        path = tmp_path / "x.asn"
        path.write_text(text.replace(old, new, count) if old else text)
        return path

    return write


@pytest.mark.parametrize("name", CASES)
def test_what_psiblast_wrote_is_read(file, name):
    """Every score and every frequency, position by position and letter by letter."""
    text = recorded(name)
    profile = read_profile(file(name=name))
    letters = "-ABCDEFGHIKLMNPQRSTVWXYZU*OJ"
    scores = text[text.index("scores {") + 8 : text.index("lambda {")]
    found = np.array([int(n) for n in NUMBER.findall(scores)]).reshape(-1, 28)
    for place, row in enumerate(found):
        for letter, score in zip(letters[1:], row[1:], strict=True):
            assert profile.scores[place, PROTEIN.letters.index(letter)] == score
    ratios = text[text.index("freqRatios {") + 12 : text.index("finalData {")]
    parts = re.findall(r"\{ (-?\d+), 10, (-?\d+) \}", ratios)
    values = np.array([float(f"{m}e{e}") for m, e in parts]).reshape(-1, 28)
    for k, letter in enumerate(PROTEIN.letters):
        assert (profile.frequencies[:, k] == values[:, letters.index(letter)]).all()
    assert len(profile) == len(found) == int(re.search(r"numColumns (\d+)", text)[1])
    assert profile.id == name
    assert PROTEIN.decode(profile.codes) == sequences("queries")[name].replace("O", "X")
    assert (profile.matrix, profile.gap_open, profile.gap_extend) == ("BLOSUM62", 11, 1)
    assert profile.gapped.lambda_ == 0.267


def test_codes_without_a_letter_have_the_smallest_score(file):
    """As in a substitution matrix: nothing aligns with them."""
    profile = read_profile(file())
    letters = profile.scores[:, : len(PROTEIN.letters)]
    assert (profile.scores[:, len(PROTEIN.letters) :] == letters[letters > UNSCORED].min()).all()


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_is_read_again(file, tmp_path, name):
    """Every field, to the last digit."""
    one = read_profile(file(name=name))
    one.write(tmp_path / "y.asn")
    other = read_profile(tmp_path / "y.asn")
    assert np.array_equal(one.scores, other.scores)
    assert np.array_equal(one.frequencies, other.frequencies)
    for field in ("title", "codes", "gapped", "ungapped", "matrix", "gap_open", "gap_extend"):
        assert getattr(one, field) == getattr(other, field)


def test_psiblast_reads_what_is_written(file, tmp_path):
    """It writes the same ASCII table from our file as from its own."""
    if not shutil.which("psiblast"):
        pytest.skip("no psiblast")
    profile = read_profile(file())
    profile.write(tmp_path / "y.asn")
    (tmp_path / "q.fasta").write_text(f">q\n{PROTEIN.decode(profile.codes)}\n")
    for name in ("x", "y"):
        subprocess.run(
            [
                *("psiblast", "-in_pssm", f"{name}.asn", "-subject", "q.fasta"),
                *("-comp_based_stats", "1", "-outfmt", "6", "-out", f"{name}.tsv"),
            ],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
    assert (tmp_path / "x.tsv").read_text() == (tmp_path / "y.tsv").read_text() != ""


def test_a_title_may_hold_anything(file, tmp_path):
    """Quotation marks are doubled; what VisibleString lacks becomes #, as in psiblast."""
    profile = read_profile(file())
    title = 'a "b" } , é' + "x" * 100
    Profile(
        title, profile.codes, profile.scores, None, None, profile.gapped, profile.ungapped
    ).write(tmp_path / "y.asn")
    assert read_profile(tmp_path / "y.asn").title == title.replace("é", "#")


def test_rows_may_come_first(file):
    """A file with byRow TRUE has the same matrix, turned."""
    expected = read_profile(file())
    text = recorded("brief")

    def turn(match):
        values = re.findall(r"\{[^{}]*\}|-?\d+", match[2])
        turned = [values[k::28] for k in range(28)]
        return match[1] + ", ".join(value for row in turned for value in row) + "}"

    for name in ("freqRatios", "scores"):
        text = re.sub(rf"({name} \{{)((?:\s*\{{[^{{}}]*\}},?|\s*-?\d+,?)*)\s*\}}", turn, text)
    path = file()
    path.write_text(text.replace("byRow FALSE", "byRow TRUE"))
    found = read_profile(path)
    assert np.array_equal(found.scores, expected.scores)
    assert np.array_equal(found.frequencies, expected.frequencies)


def test_scores_are_computed_where_there_are_none(file):
    """They follow from the frequencies."""
    expected = read_profile(file())
    text = recorded("brief")
    start = text.index("    finalData")
    path = file()
    path.write_text(text[:start].rstrip().rstrip(",") + "\n  }," + text[text.index("  params") :])
    found = read_profile(path)
    assert np.array_equal(found.scores, expected.scores)
    assert pytest.approx(expected.gapped.K, rel=1e-14) == found.gapped.K


def test_scaled_scores_are_computed_from_the_frequencies(file):
    """Those of the file are so many times as large, as in the databases of rpsblast."""
    expected = read_profile(file())
    text = recorded("brief")
    start, end = text.index("scores {"), text.index("lambda {")
    scaled = NUMBER.sub(lambda n: n[0] if n[0] == "-32768" else f"{n[0]}00", text[start:end])
    path = file()
    path.write_text(f"{text[:start]}{scaled}scalingFactor 100,\n      {text[end:]}")
    assert np.array_equal(read_profile(path).scores, expected.scores)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("isProtein TRUE", "isProtein FALSE", "PSSM of nucleotides"),
        ("numRows 28", "numRows 4", "a PSSM of 4 letters"),
        ("numColumns 28", "numColumns 29", "28 residues, but there are 29 columns"),
        ("        -32768,\n", "", "scores has 783 numbers; expected 28 x 28"),
        ("        -32768,\n", "        -32769,\n", "scores must be whole numbers within"),
        ("lambda { 267, 10, -3 }", "lambda { 267, 2, -3 }", "lambda is not a number in base 10"),
        ("lambda { 267, 10, -3 }", "lambda { 267, 10, 999 }", "lambda is not positive"),
        ("lambda { 267, 10, -3 }", "lambda { 0, 10, 0 }", "lambda is not positive"),
        ("freqRatios {\n        { 0,", "freqRatios {\n        { -1,", "freqRatios has a negative"),
        (
            "freqRatios {\n        { 0, 10, 0 }",
            "freqRatios {\n        { 1, 10, 999 }",
            "a number is too large",
        ),
        ("      kappa {", "      cappa {", "there is no pssm finalData kappa"),
        ("scores {", "scores { x", "x.asn:"),
        ("byRow FALSE,", "byRow FALSE", ":7: not a PSSM of PSI-BLAST: expected ','"),
        ("numRows 28", "numRows ?", ":4: not a PSSM of PSI-BLAST: unexpected '?"),
        ("ncbistdaa '10", "ncbistdaa '0", "odd number of hexadecimal digits"),
        ("ncbistdaa '10", "ncbistdaa 'FF", "the query has the letter '?'"),
        ("PssmWithParameters ::=", "PssmWithParameters =", ":1: not a PSSM"),
        ("},\n        {", "},\n\x1e{", "unexpected"),
        ("        -32768,\n", "        -99999999999999999999,\n", "a number is too large"),
    ],
)
def test_damaged_files_are_refused(file, old, new, message):
    """The message names the file, the line where it is known, and what is wrong."""
    path = file(old, new)
    with pytest.raises(InputError) as caught:
        read_profile(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_without_scores_and_frequencies_is_refused(file):
    """Nothing is left to compute scores from."""
    path = file("freqRatios {", "resFreqsPerPos {")
    text = path.read_text().replace("      scores {", "      stores {")
    path.write_text(text)
    with pytest.raises(InputError, match="there are no scores, and no frequencies"):
        read_profile(path)


@pytest.mark.parametrize("kept", range(0, 2000, 97))
def test_a_file_that_was_cut_is_refused(file, kept):
    """Wherever it ends."""
    path = file()
    path.write_text(path.read_text()[:kept])
    with pytest.raises(InputError):
        read_profile(path)


def test_braces_without_end_are_refused(tmp_path):
    """Deep nesting is no crash."""
    (tmp_path / "x").write_text("PssmWithParameters ::= " + "{" * 100_000)
    with pytest.raises(InputError, match="nested too deeply"):
        read_profile(tmp_path / "x")
