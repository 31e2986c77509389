"""Match emissions of HMMER3's models become profiles."""

from __future__ import annotations

import math
import shutil
import subprocess

import numpy as np
import pytest

from swdual.errors import InputError
from swdual.profiles import read_profile
from swdual.sequences.alphabet import PROTEIN

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
CONSENSUS = "MKVLAWGGHERW"


def model(composition=True):
    """Return a model: 0.81 for the consensus of each position, 0.01 for the others."""
    other, own = f"{-math.log(0.01):.5f}", f"{-math.log(0.81):.5f}"
    transitions = "          0.01000 4.00000 4.00000 0.60000 0.80000 0.50000 0.70000"
    insertions = "          " + "  ".join([other] * 20)
    lines = [
        *("HMMER3/f [3.3.2 | Nov 2020]", "NAME  sample", "DESC  of a test"),
        *(f"LENG  {len(CONSENSUS)}", "ALPH  amino", "RF    no"),
        "HMM          " + "        ".join(LETTERS),
        "            m->m     m->i     m->d     i->m     i->i     d->m     d->d",
    ]
    if composition:
        lines.append("  COMPO   " + "  ".join([other] * 20))
    lines += [insertions, transitions]
    for number, letter in enumerate(CONSENSUS, start=1):
        cells = "  ".join(own if each == letter else other for each in LETTERS)
        lines += [
            f"{number:>7}   {cells}  {number} {letter.lower()} - - -",
            insertions,
            transitions,
        ]
    return "\n".join([*lines, "//", ""])


@pytest.mark.parametrize("composition", [True, False])
def test_emissions_are_the_frequencies(tmp_path, composition):
    """The query is the consensus; there are no observations."""
    (tmp_path / "x").write_text(model(composition))
    profile = read_profile(tmp_path / "x")
    assert PROTEIN.decode(profile.codes) == CONSENSUS
    assert (profile.id, profile.title) == ("sample", "sample of a test")
    codes = np.frombuffer(profile.codes, np.uint8)
    places = np.arange(len(codes))
    np.testing.assert_allclose(profile.frequencies[places, codes], 0.81, 1e-4)
    np.testing.assert_allclose(profile.frequencies[:, :20].sum(axis=1), 1.0, 1e-3)
    assert (profile.scores[places, codes] == profile.scores[:, :20].max(axis=1)).all()
    assert profile.observations is None
    assert profile.ungapped.lambda_ == pytest.approx(0.3176, rel=0.02)


def test_an_emission_may_be_impossible(tmp_path):
    """A star stands for the probability 0."""
    text = model().replace(f"  {-math.log(0.01):.5f}  1 m", "  *  1 m")
    (tmp_path / "x").write_text(text)
    profile = read_profile(tmp_path / "x")
    assert profile.frequencies[0, PROTEIN.letters.index("Y")] == 0.0


def test_a_model_of_hmmbuild_is_read(tmp_path):
    """What hmmbuild wrote now."""
    if not shutil.which("hmmbuild"):
        pytest.skip("no hmmbuild")
    rows = ("MKVLAWGGHERMKV", "MKILAWGGHDRMKV", "LKVIAFGGYERMRV")
    (tmp_path / "x.fa").write_text("".join(f">s{k}\n{row}\n" for k, row in enumerate(rows)))
    command = ["hmmbuild", "--amino", "-n", "small", "x.hmm", "x.fa"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    profile = read_profile(tmp_path / "x.hmm")
    assert (profile.id, PROTEIN.decode(profile.codes)) == ("small", rows[0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ALPH  amino", "ALPH  DNA", "a model of DNA; only models of proteins"),
        ("LENG  12", "LENG  13", "expected the emissions of position 13"),
        ("LENG  12", "LENG  11", "the model goes on beyond its length"),
        ("LENG  12", "LENG  x", "there is no length"),
        ("      3   ", "      4   ", "expected the emissions of position 3"),
        ("      3   ", "      3   -", "is not the negative logarithm of a probability"),
        ("      3   ", "      3   x", "is not the negative logarithm of a probability"),
        ("//\n", "//\nHMMER3/f\n", "several models; take one out with hmmfetch"),
        ("HMM          A", "HMM          B", "no line of the 20 amino acids"),
    ],
)
def test_damaged_models_are_refused(tmp_path, old, new, message):
    """With the file and the cause."""
    text = model()
    assert old in text
    (tmp_path / "x").write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=message) as caught:
        read_profile(tmp_path / "x")
    assert str(tmp_path / "x") in str(caught.value)
