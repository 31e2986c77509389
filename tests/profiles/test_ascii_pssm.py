"""ASCII PSSMs are psiblast's, byte for byte."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.profile_tables import GOLDEN, included_rows, sequences

from swdual.errors import InputError, OutputError
from swdual.profiles import Profile, read_profile
from swdual.profiles.position_scores import UNSCORED
from swdual.sequences.alphabet import PROTEIN

CASES = ("brief", "odd")
FOOTER = 6
"""The last lines: there psiblast writes the statistics of the search that it made."""


@cache
def recorded(name):
    """Return a table of psiblast."""
    return gzip.decompress((GOLDEN / f"profile_{name}.pssm.gz").read_bytes()).decode()


@cache
def made(name):
    """Return the profile of the alignments that psiblast made the table from."""
    return Profile.from_alignments(sequences("queries")[name], included_rows(name, "1"), title=name)


@pytest.mark.parametrize("name", CASES)
def test_the_table_is_psiblasts(tmp_path, name):
    """With the statistics of the profile below."""
    profile = made(name)
    profile.write(tmp_path / "x.pssm")
    lines = (tmp_path / "x.pssm").read_text().splitlines()
    assert lines[:-4] == recorded(name).splitlines()[:-FOOTER]
    assert lines[-3:] == [
        "                      K         Lambda",
        f"PSI Ungapped         {profile.ungapped.K:.4f}     {profile.ungapped.lambda_:.4f}",
        f"PSI Gapped           {profile.gapped.K:.4f}     0.2670",
    ]


@pytest.mark.parametrize("name", CASES)
def test_psiblast_makes_the_same_table_of_our_checkpoint_file(tmp_path, name):
    """Byte for byte."""
    if not shutil.which("psiblast"):
        pytest.skip("no psiblast")
    profile = made(name)
    profile.write(tmp_path / "x.asn")
    short = replace(profile, weights=None)
    short.write(tmp_path / "x.pssm")
    (tmp_path / "q.fasta").write_text(f">q\n{PROTEIN.decode(profile.codes)}\n")
    options = "-in_pssm x.asn -subject q.fasta -out_ascii_pssm y.pssm -out y"
    subprocess.run(["psiblast", *options.split()], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "x.pssm").read_text() == (tmp_path / "y.pssm").read_text()


@pytest.mark.parametrize("name", CASES)
def test_the_table_is_read(tmp_path, name):
    """The scores of the amino acids, X and the stop; statistics are computed from them."""
    expected = made(name)
    (tmp_path / "x.pssm").write_text(recorded(name))
    found = read_profile(tmp_path / "x.pssm")
    assert found.codes == expected.codes
    assert found.title == "x.pssm"
    assert (found.scores[:, :20] == expected.scores[:, :20]).all()
    for letter in PROTEIN.encode("X*"):
        assert (found.scores[:, letter] == expected.scores[:, letter]).all()
    for letter in PROTEIN.encode("BJZUO"):
        assert (found.scores[:, letter] == UNSCORED).all()
    assert found.frequencies is None
    assert found.ungapped.lambda_ == pytest.approx(expected.ungapped.lambda_, rel=1e-13)
    assert pytest.approx(expected.gapped.K, rel=1e-13) == found.gapped.K


def test_a_table_without_weights_has_scores_only(tmp_path):
    """It is read again, and written again, without change."""
    full = made("brief")
    short = Profile(full.title, full.codes, full.scores, None, None, full.gapped, full.ungapped)
    short.write(tmp_path / "a.pssm")
    text = (tmp_path / "a.pssm").read_text()
    assert text.startswith("\nLast position-specific scoring matrix computed\n")
    read_profile(tmp_path / "a.pssm").write(tmp_path / "b.pssm")
    assert (tmp_path / "b.pssm").read_text() == text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\n    2 ", "\n    3 ", ":5: not an ASCII PSSM of PSI-BLAST: expected position 2"),
        ("  A  R", "  A  A", "expected a line of the 20 amino acids"),
        (" 0.2670", " 0.9990", "no substitution matrix has the gapped lambda 0.999"),
        (" 0.2670", " x", "lambda is not a number"),
        ("    1 R", "    1 ?", "a position has no residue"),
        ("    1 R   ", "    1 R  x ", "scores must be whole numbers"),
    ],
)
def test_damaged_tables_are_refused(tmp_path, old, new, message):
    """With the file, the line and the cause."""
    text = recorded("brief")
    assert old in text
    (tmp_path / "x").write_text(text.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_profile(tmp_path / "x")
    assert message in str(caught.value)
    assert str(tmp_path / "x") in str(caught.value)


def test_a_table_that_was_cut_is_refused(tmp_path):
    """In the head, or in the middle of a position."""
    lines = recorded("brief").splitlines()
    for text in ("\n".join(lines[:3]), "\n".join([*lines[:8], lines[8][:30]])):
        (tmp_path / "x").write_text(text)
        with pytest.raises(InputError):
            read_profile(tmp_path / "x")


def test_the_matrix_is_told_by_lambda(tmp_path):
    """A table of BLOSUM45 has its gapped lambda."""
    profile = Profile.from_alignments("MKVLAWGGHERMKV", ["MKVIAWGGHDRMRV"], matrix="BLOSUM45")
    profile.write(tmp_path / "x.pssm")
    found = read_profile(tmp_path / "x.pssm")
    assert (found.matrix, found.gap_open, found.gap_extend) == ("BLOSUM45", 14, 2)
    assert pytest.approx(profile.gapped.K, rel=1e-13) == found.gapped.K


def test_what_is_no_profile_is_refused(tmp_path):
    """Nor is a format that does not exist written, or a file replaced that is there."""
    (tmp_path / "x").write_text(">q\nMKV\n")
    with pytest.raises(InputError, match=r"not a profile; expected ASN\.1 text"):
        read_profile(tmp_path / "x")
    with pytest.raises(InputError, match="cannot be opened"):
        read_profile(tmp_path / "none")
    found = made("brief")
    with pytest.raises(InputError, match="unknown format of profiles 'txt'"):
        found.write(tmp_path / "x.txt")
    found.write(tmp_path / "y", "pssm")
    with pytest.raises(OutputError, match="exists"):
        found.write(tmp_path / "y", "pssm")
    found.write(tmp_path / "y", "asn", force=True)
    assert np.array_equal(read_profile(tmp_path / "y").scores, found.scores)
