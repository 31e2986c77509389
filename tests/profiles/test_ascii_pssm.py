"""ASCII PSSMs are psiblast's, byte for byte."""

from __future__ import annotations

import numpy as np
import pytest
from support.profiles import CASES, recorded, same_digits

from swdual.errors import InputError, OutputError
from swdual.profiles import Profile, read_profile
from swdual.profiles.position_scores import UNSCORED
from swdual.sequences.alphabet import PROTEIN


@pytest.fixture
def profile(tmp_path):
    """Return a profile that psiblast wrote."""

    def read(name):
        (tmp_path / "x.asn").write_text(recorded(name).asn1)
        return read_profile(tmp_path / "x.asn")

    return read


@pytest.mark.parametrize("name", CASES)
def test_the_table_is_psiblasts(profile, tmp_path, name):
    """The one that psiblast makes of the same checkpoint file."""
    profile(name).write(tmp_path / "x.pssm")
    assert (tmp_path / "x.pssm").read_text() == recorded(name).table


@pytest.mark.parametrize("name", CASES)
def test_the_table_is_read(profile, tmp_path, name):
    """The scores of the amino acids, X and the stop; statistics are computed from them."""
    expected = profile(name)
    (tmp_path / "x.pssm").write_text(recorded(name).table)
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


def test_a_table_without_weights_has_scores_only(profile, tmp_path):
    """It is read again, and written again, without change."""
    full = profile("query1")
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
        ("   A   R", "   A   A", "expected a line of the 20 amino acids"),
        (" 0.2670", " 0.9990", "no substitution matrix has the gapped lambda 0.999"),
        (" 0.2670", " x", "lambda is not a number"),
        ("    1 E", "    1 ?", "a position has no residue"),
        ("    1 E   ", "    1 E  x ", "scores must be whole numbers"),
    ],
)
def test_damaged_tables_are_refused(tmp_path, old, new, message):
    """With the file, the line and the cause."""
    text = recorded("query1").table
    assert old in text
    (tmp_path / "x").write_text(text.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_profile(tmp_path / "x")
    assert message in str(caught.value)
    assert str(tmp_path / "x") in str(caught.value)


def test_a_table_that_was_cut_is_refused(tmp_path):
    """In the head, or in the middle of a position."""
    lines = recorded("query1").table.splitlines()
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
    assert same_digits(found.gapped.K, profile.gapped.K)


def test_what_is_no_profile_is_refused(profile, tmp_path):
    """Nor is a format that does not exist written, or a file replaced that is there."""
    (tmp_path / "x").write_text(">q\nMKV\n")
    with pytest.raises(InputError, match=r"not a profile; expected ASN\.1 text"):
        read_profile(tmp_path / "x")
    with pytest.raises(InputError, match="cannot be read"):
        read_profile(tmp_path / "none")
    found = profile("query1")
    with pytest.raises(InputError, match="unknown format of profiles 'txt'"):
        found.write(tmp_path / "x.txt")
    found.write(tmp_path / "y", "pssm")
    with pytest.raises(OutputError, match="exists"):
        found.write(tmp_path / "y", "pssm")
    found.write(tmp_path / "y", "asn", force=True)
    assert np.array_equal(read_profile(tmp_path / "y").scores, found.scores)
