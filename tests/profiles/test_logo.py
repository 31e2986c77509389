"""Sequence logos: heights by their definition and psiblast's information, and what is drawn."""

from __future__ import annotations

import gzip
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from support.profile_tables import GOLDEN, figures, included_rows, sequences

from swdual.errors import InputError, OutputError
from swdual.profiles import Profile
from swdual.sequences.alphabet import PROTEIN

pytest.importorskip("matplotlib")

from swdual.profiles.logo import COLOURS, LOW, PALE, draw_logo, letter_heights

RESIDUES = "ARNDCQEGHILKMFPSTWYV"
CONSENSUS = "MKVLAWGGHERWCDEFMKTAYIAKQRNDPS"


def sample(length, rows=6, unaligned=0):
    """Return a profile; no row is aligned with its last positions."""
    random = np.random.default_rng(length)
    query = "".join(random.choice([*RESIDUES], length))
    made = []
    for _ in range(rows):
        row = np.array([*query])
        changed = np.flatnonzero(random.random(length) < np.linspace(0.1, 0.9, length))
        row[changed] = random.choice([*RESIDUES], len(changed))
        made.append("".join(row)[: length - unaligned].ljust(length))
    return Profile.from_alignments(query, made, title="mine of a family")


def background():
    """Return the frequencies of the 20 amino acids in proteins."""
    standard = figures("BLOSUM62", (11, 1)).standard
    return np.array([standard["-ABCDEFGHIKLMNPQRSTVWXYZU*OJ".index(a)] for a in RESIDUES])


@pytest.mark.parametrize("case", ["odd", "brief"])
def test_heights_add_up_to_psiblasts_information(case):
    """To the two digits of its ASCII PSSMs, where it has frequencies."""
    profile = Profile.from_alignments(sequences("queries")[case], included_rows(case, "1"))
    text = gzip.decompress((GOLDEN / f"profile_{case}.pssm.gz").read_bytes()).decode()
    lines = [line.split() for line in text.splitlines() if line[:5].strip().isdigit()]
    printed = np.array([float(words[-2]) for words in lines])
    known = profile.frequencies.any(axis=1)
    assert known.sum() > 20
    found = letter_heights(profile).sum(axis=1)
    assert found[known] == pytest.approx(printed[known], abs=0.00501)
    assert (printed[~known] == 0).all()


def test_heights_are_shares_of_the_information():
    """Letter by letter, from frequencies, and from scores where there are none."""
    profile, standard = sample(40, unaligned=10), background()
    alone = replace(profile, frequencies=None, observations=None)
    heights, implied = letter_heights(profile), letter_heights(alone)
    for place in range(40):
        given = profile.frequencies[place, :20]
        slope, scores = profile.ungapped.lambda_, profile.scores[place, :20]
        weights = [b * math.exp(slope * s) for b, s in zip(standard, scores, strict=True)]
        from_scores = [weight / sum(weights) for weight in weights]
        for found, shares in (
            (implied, from_scores),
            (heights, given if place < 30 else from_scores),
        ):
            bits = sum(f * math.log2(f / b) for f, b in zip(shares, standard, strict=True))
            expected = [f / sum(shares) * bits for f in shares]
            assert found[place] == pytest.approx(expected, rel=1e-9)
    assert np.corrcoef(implied[:30].ravel(), heights[:30].ravel())[0, 1] > 0.95
    assert heights[30:] == pytest.approx(implied[30:])


def test_x_has_next_to_no_letters():
    """Its scores are nearly all the same."""
    profile = Profile.from_alignments("MKVLXWMKVLAW", ["MRVLAWMRILAW"])
    assert letter_heights(profile)[4].sum() < 0.02


def patches(chart):
    """Return colour, opacity and (n, 2) points of the outlines of each letter of a chart."""
    from matplotlib.colors import to_hex

    return [
        (
            to_hex(patch.get_facecolor()),
            patch.get_alpha(),
            np.concatenate(patch.get_path().to_polygons()),
        )
        for patch in chart.patches
    ]


def test_letters_are_stacked_to_their_heights():
    """The highest on top, of its colour; those that are too low are one bar."""
    profile = sample(40, unaligned=10)
    heights = letter_heights(profile)
    (chart,) = draw_logo(profile).axes
    drawn = patches(chart)
    assert {colour for colour, _, _ in drawn} <= {*COLOURS.values(), LOW}
    for place in range(40):
        here = []
        for colour, alpha, vertices in drawn:
            inside = vertices[np.abs(vertices[:, 0] - place - 1) < 0.5]
            if len(inside):
                here.append((inside[:, 1].max(), colour, alpha))
        top, colour, _ = max(here)
        assert top == pytest.approx(heights[place].sum(), abs=1e-3)
        if heights[place].max() > 0.2:
            assert colour == COLOURS[RESIDUES[heights[place].argmax()]]
        assert {alpha for _, _, alpha in here} == {PALE if place >= 30 else None}
    alone = replace(profile, frequencies=None, observations=None)
    assert {alpha for _, alpha, _ in patches(draw_logo(alone).axes[0])} == {None}


@pytest.mark.parametrize(
    ("length", "rows", "width"),
    [(1, 1, 1), (30, 1, 30), (60, 1, 60), (150, 3, 50), (154, 4, 40), (1000, 10, 100)],
)
def test_long_logos_have_several_rows(length, rows, width):
    """Each with the query's residues, and every tenth number, below its positions."""
    profile = sample(length)
    charts = draw_logo(profile).axes
    assert len(charts) == rows
    named = "1 position" if length == 1 else f"{length:,} positions"
    assert charts[0].get_title("left") == f"mine: {named}"
    assert charts[-1].get_xlabel() == "residue of the query, and position"
    assert len({chart.get_ylim() for chart in charts}) == 1
    letters = [text.get_text() for chart in charts for text in chart.texts]
    assert "".join(letters) == PROTEIN.decode(profile.codes)
    for row, chart in enumerate(charts):
        first, last = row * width, min(length, (row + 1) * width)
        assert chart.get_xlim() == (first + 0.5, first + width + 0.5)
        ends = [vertices[:, 0] for _, _, vertices in patches(chart)]
        assert first + 0.5 <= min(map(min, ends))
        assert max(map(max, ends)) <= last + 0.5
        numbers = chart.get_xticks().tolist()
        assert numbers == [x for x in range(first + 1, last + 1) if x % 10 == 0 or x == 1]


def test_a_profile_plots_itself(tmp_path):
    """Into files, always the same bytes; without a path it is a figure, also in notebooks."""
    profile = sample(30)
    for name, opening in (("x.png", b"\x89PNG"), ("x.svg", b"<?xml"), ("x.pdf", b"%PDF")):
        assert profile.plot(tmp_path / name) is None
        first = (tmp_path / name).read_bytes()
        assert first.startswith(opening)
        profile.plot(tmp_path / name, force=True)
        assert (tmp_path / name).read_bytes() == first
    with pytest.raises(OutputError, match="exists"):
        profile.plot(tmp_path / "x.png")
    with pytest.raises(InputError, match=r"must end in \.svg"):
        profile.plot(tmp_path / "x.jpg")
    assert profile.plot()._repr_png_()[0].startswith(b"\x89PNG")


def test_without_matplotlib_the_error_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install '?matplotlib"):
        sample(30).plot()


def test_a_logo_touches_no_window():
    """In a fresh interpreter pyplot is not even loaded."""
    code = (
        "import sys; from swdual.profiles import Profile;"
        f"Profile.from_alignments({CONSENSUS!r}, []).plot();"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
