"""The tables of NCBI's matrices: found by the values of a matrix, and consistent."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.compositions import NCBI_NAMES

from swdual.composition.tables import FORBIDDEN, SCALE, find_tables
from swdual.errors import StatisticsUnavailable
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.sequences.matrices import SubstitutionMatrix, load, match_mismatch
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.karlin_altschul import background

NCBI = Path(__file__).parents[3] / "shared" / "reference" / "ncbi_composition.json"


@pytest.mark.parametrize("name", NCBI_NAMES)
def test_the_tables_of_a_matrix_agree_with_each_other(name):
    """Probabilities add up, and ratios, rounded at the matrix's own scale, are its scores."""
    matrix = load(name)
    tables = find_tables(ScoringScheme(matrix, 9, 2))
    assert (tables.name, tables.gap_open, tables.gap_extend) == (name, 9 * SCALE, 2 * SCALE)
    assert tables.joint.sum() == pytest.approx(1)
    np.testing.assert_allclose(tables.joint.sum(axis=1), tables.background)
    residues = np.s_[:20, :20]
    ratios = tables.joint / np.outer(tables.background, tables.background)
    ours = np.exp(tables.scores[residues] * tables.lambda_ / SCALE)
    np.testing.assert_allclose(ratios, ours, rtol=0.2)
    shares = background(PROTEIN)[:20]
    expected = shares @ np.exp(tables.lambda_ * matrix.scores[residues].astype(float)) @ shares
    assert expected == pytest.approx(1)
    assert np.abs(tables.start[residues] / SCALE - matrix.scores[residues]).max() < 1.6


def test_the_start_matrix_covers_all_codes():
    """Letters have scores, other codes none; halves would go away from zero."""
    start = find_tables(ScoringScheme(load("BLOSUM62"))).start
    letters = len(PROTEIN.letters)
    assert start.shape == (CODES, CODES)
    assert (start[letters:] == FORBIDDEN).all()
    assert (start[:, letters:] == FORBIDDEN).all()
    assert (start[:letters, :letters] == start[:letters, :letters].T).all()
    stop = PROTEIN.letters.index("*")
    assert start[stop, stop] > 0 > start[stop, 0] > FORBIDDEN


def test_a_matrix_is_known_by_its_values():
    """Neither the name counts, nor the scores of letters that are no amino acids."""
    scores = load("PAM70").scores.copy()
    scores[23, :] = -7
    named = SubstitutionMatrix("BLOSUM62", PROTEIN, scores)
    assert find_tables(ScoringScheme(named)).name == "PAM70"
    scores[0, 1] += 1
    with pytest.raises(StatisticsUnavailable, match=r"matrix BLOSUM62: .*BLOSUM45, .*PAM250"):
        find_tables(ScoringScheme(SubstitutionMatrix("BLOSUM62", PROTEIN, scores)))


def test_bases_have_no_tables():
    """A matrix of bases is refused."""
    with pytest.raises(StatisticsUnavailable, match="no tabled residue frequencies"):
        find_tables(ScoringScheme(match_mismatch(2, -3), 5, 2))


def test_the_tables_are_ncbis():
    """Each figure is that of the published tables, in the order of our codes."""
    if not NCBI.is_file():
        pytest.skip(f"no {NCBI}")
    published = json.loads(NCBI.read_text())
    assert published["joint_letters"] == PROTEIN.letters[:20]
    places = [published["ratio_letters"].index(letter) for letter in PROTEIN.letters]
    for name, entry in published["matrices"].items():
        tables = find_tables(ScoringScheme(load(name)))
        assert tables.joint.tolist() == entry["joint"]
        np.testing.assert_allclose(tables.background, entry["background"], rtol=1e-13)
        ratios = np.array(entry["ratios"])[np.ix_(places, places)]
        np.testing.assert_allclose(
            tables.scores, np.log(ratios) * SCALE / tables.lambda_, rtol=1e-12, atol=1e-12
        )
