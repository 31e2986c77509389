"""The tabled parameters: found by the values of a matrix, refused with what there is instead."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from swdual.errors import StatisticsUnavailable
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.matrices import SubstitutionMatrix, load, match_mismatch, names
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.karlin_altschul import ungapped
from swdual.statistics.parameters import _ncbi, gapped

PREFERRED = [
    ("BLOSUM62", 11, 1, (0.267, 0.041, 0.14, 1.9, -30, 42.6028, 43.6362), (0.7916, 4.96466)),
    ("BLOSUM45", 14, 2, (0.195, 0.032, 0.10, 1.9, -36, 60.7362, 61.1023), (0.9113, 9.61106)),
    ("BLOSUM50", 13, 2, (0.193, 0.035, 0.12, 1.6, -32, 42.0595, 42.4716), (0.6895, 5.38831)),
    ("BLOSUM80", 10, 1, (0.299, 0.071, 0.27, 1.1, -14, 13.8338, 14.5334), (0.5222, 1.91813)),
    ("BLOSUM90", 10, 1, (0.290, 0.075, 0.28, 1.04, -15, 11.4839, 12.2698), (0.4434, 1.37776)),
    ("PAM30", 9, 1, (0.294, 0.11, 0.61, 0.48, -6, 2.46392, 3.18615), (0.1938, 0.161818)),
    ("PAM70", 10, 1, (0.291, 0.091, 0.41, 0.71, -9, 6.00297, 6.71657), (0.3250, 0.633439)),
    ("PAM250", 15, 2, (0.191, 0.031, 0.087, 2.2, -44, 67.2567, 67.5585), (0.98, 11.7543)),
]
"""Rows of NCBI blast_stat.c, copied from the source and not from the package's table."""


class Supported(NamedTuple):
    """A matrix, or "reward/penalty", its tabled gap penalties, and those from which on all are."""

    name: str
    gaps: list[tuple[int, int]]
    from_gaps: tuple[int, int] | None


def supported():
    """Return the scoring schemes with tabled parameters, proteins' matrices first."""
    return [
        Supported(
            name,
            [tuple(row[:2]) for row in entry["gapped"]],
            entry.get("ungapped_from") and tuple(entry["ungapped_from"][:2]),
        )
        for kind in ("protein", "nucleotide")
        for name, entry in _ncbi()[kind].items()
    ]


def nucleotides(reward, penalty, gap_open, gap_extend):
    return gapped(ScoringScheme(match_mismatch(reward, penalty), gap_open, gap_extend))


@pytest.mark.parametrize(("name", "gap_open", "gap_extend", "row", "without"), PREFERRED)
def test_the_preferred_gap_prices_have_ncbi_s_row(name, gap_open, gap_extend, row, without):
    """And the finite-size terms that follow from it and the row without gaps."""
    found = gapped(ScoringScheme(load(name), gap_open, gap_extend))
    size = found.finite_size
    assert (found.lambda_, found.K, found.H, found.alpha, found.beta) == row[:5]
    assert (size.a, size.alpha, size.sigma) == (row[3], *row[5:])
    twice = 2 * (gap_open + gap_extend)
    assert size.b == pytest.approx(twice * (without[0] - row[3]))
    assert size.beta == pytest.approx(twice * (without[1] - row[5]))
    assert size.tau == pytest.approx(twice * (without[1] - row[6]))


@pytest.mark.parametrize("name", _ncbi()["protein"])
def test_the_tabled_values_without_gaps_are_those_of_the_matrix(name):
    """Lambda, K and H in the table round what the scores themselves give."""
    gap_open, gap_extend = next(entry.gaps[0] for entry in supported() if entry.name == name)
    tabled = gapped(ScoringScheme(load(name), gap_open, gap_extend)).ungapped
    computed = ungapped(load(name))
    assert tabled.lambda_ == pytest.approx(computed.lambda_, rel=3e-4)
    assert pytest.approx(computed.K, rel=5e-3) == tabled.K
    assert pytest.approx(computed.H, rel=1e-3) == tabled.H


def test_everything_that_is_listed_is_served():
    """NCBI's eight matrices and twelve nucleotide systems, each with all its gap prices."""
    listed = supported()
    assert [entry.name for entry in listed[:8]] == names()[:8]
    assert len(listed) == 20
    assert sum(len(entry.gaps) for entry in listed[:8]) == 88
    assert sum(len(entry.gaps) for entry in listed[8:]) == 52
    for entry in listed:
        if entry.from_gaps is None:
            matrix = load(entry.name)
        else:
            reward, penalty = map(int, entry.name.split("/"))
            matrix = match_mismatch(reward, penalty)
        for gap_open, gap_extend in entry.gaps:
            found = gapped(ScoringScheme(matrix, gap_open, gap_extend))
            assert found.lambda_ <= found.ungapped.lambda_ * 1.02
            assert (found.finite_size is None) == (entry.from_gaps is not None)


def test_a_matrix_is_known_by_its_values_not_its_name():
    """A file with BLOSUM62's scores is BLOSUM62; other scores under that name are nobody's."""
    real = load("BLOSUM62")
    copy = SubstitutionMatrix("my/file", PROTEIN, np.array(real.scores))
    assert gapped(ScoringScheme(copy)) == gapped(ScoringScheme(real))
    changed = np.array(real.scores)
    changed[0, 1] += 1
    with pytest.raises(StatisticsUnavailable, match="no tabled E-value parameters for its scores"):
        gapped(ScoringScheme(SubstitutionMatrix("BLOSUM62", PROTEIN, changed)))


def test_letters_that_never_occur_by_chance_do_not_make_another_matrix():
    """NCBI's own file of BLOSUM62 has no J: the statistics know nothing of J either."""
    scores = np.array(load("BLOSUM62").scores)
    scores[20:] = scores[:, 20:] = -4
    assert gapped(ScoringScheme(SubstitutionMatrix("file", PROTEIN, scores))).lambda_ == 0.267


@pytest.mark.parametrize(
    ("name", "gap_open", "gap_extend", "listed"),
    [("BLOSUM62", 11, 3, "11/2, 10/2"), ("BLOSUM62", 12, 0, "11/1"), ("PAM30", 11, 1, "9/1")],
)
def test_a_refused_gap_price_comes_with_the_tabled_ones(name, gap_open, gap_extend, listed):
    """And with the other kinds of statistics."""
    with pytest.raises(StatisticsUnavailable) as caught:
        gapped(ScoringScheme(load(name), gap_open, gap_extend))
    message = str(caught.value)
    for words in (name, f"{gap_open}/{gap_extend}", listed, "stats='fit'", "stats='none'"):
        assert words in message


def test_an_unknown_matrix_is_refused_with_the_known_ones():
    """Proteins and nucleotides alike."""
    odd = SubstitutionMatrix("odd.txt", PROTEIN, np.array(load("BLOSUM62").scores) * 2)
    for matrix, known in ((odd, "BLOSUM62"), (match_mismatch(7, -9), "1/-3")):
        with pytest.raises(StatisticsUnavailable) as caught:
            gapped(ScoringScheme(matrix, 11, 1))
        for words in (matrix.name, known, "stats='fit'", "stats='none'"):
            assert words in str(caught.value)


def test_bases_that_mismatch_unevenly_are_no_reward_and_penalty():
    """A transition matrix is refused although its first cells look like 1/-3."""
    scores = np.array(match_mismatch(1, -3).scores)
    scores[0, 2] = scores[2, 0] = -1
    with pytest.raises(StatisticsUnavailable, match="no tabled"):
        gapped(ScoringScheme(SubstitutionMatrix("transitions", NUCLEOTIDE, scores), 5, 2))


def test_multiples_of_a_nucleotide_system_are_that_system():
    """2/-4 with gaps of 4/4 is 1/-2 with 2/2 in half units: only lambda and alpha know."""
    one, two = nucleotides(1, -2, 2, 2), nucleotides(2, -4, 4, 4)
    assert (two.lambda_, two.alpha) == (one.lambda_ / 2, one.alpha / 2)
    assert (two.K, two.H, two.beta) == (one.K, one.H, one.beta)
    with pytest.raises(StatisticsUnavailable, match="4/4, 2/4, 0/4, 6/2, 4/2, 2/2"):
        nucleotides(2, -4, 1, 1)


def test_gaps_too_dear_to_pay_have_the_values_without_gaps():
    """blastn's 1/-3 with 5/2: computed, because the table's figures are rounded."""
    found = nucleotides(1, -3, 5, 2)
    assert (found.lambda_, found.K, found.H) == pytest.approx((1.37406, 0.71061, 1.30725), abs=2e-5)
    assert found.alpha / found.lambda_ == pytest.approx(1 / found.H)
    assert found.beta == 0
    assert nucleotides(2, -3, 6, 4).beta == -2
    assert nucleotides(4, -6, 12, 8).beta == 0
    assert nucleotides(1, -3, 2, 2).lambda_ == 1.37


@pytest.mark.parametrize("gaps", [(0, 0), (1, 0), (5, 1), (0, 5)])
def test_free_and_untabled_nucleotide_gaps_are_refused(gaps):
    """0/0 is blastn's name for linear gaps; here it means gaps that cost nothing."""
    with pytest.raises(StatisticsUnavailable, match="all from 2/2 up"):
        nucleotides(1, -3, *gaps)


def test_even_scores_are_asked_for_where_blastn_does():
    """Of 2/-7, 2/-5, 2/-3 and 3/-4, and of nothing else."""
    rounded = set()
    for entry in supported()[8:]:
        reward, penalty = map(int, entry.name.split("/"))
        if nucleotides(reward, penalty, *entry.gaps[0]).even_scores:
            rounded.add(entry.name)
    assert rounded == {"2/-7", "2/-5", "2/-3", "3/-4"}
