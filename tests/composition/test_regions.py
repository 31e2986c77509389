"""The letters of translated sequences that count, and what is scored with them."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.composition import LETTERS, Counted, adjusted_matrix, align, counted, encode, masked
from support.compositions import draw, oracle_matrix, oracle_tables
from support.properties import seeds

import swdual
from swdual.alignment.tracer import Tracer
from swdual.composition.adjust import adjust
from swdual.composition.region_finder import RegionFinder
from swdual.composition.regions import MARGIN, WINDOW, Regions, join_windows
from swdual.composition.tables import SCALE, find_tables
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.frames import read_frame
from swdual.sequences.matrices import load
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.translation import translate

SCHEME = ScoringScheme(load("BLOSUM62"), 11, 1)
GAPS = 11, 1
_CODONS = "GCA TGC GAC GAG TTC GGA CAC ATC AAG CTG ATG AAC CCA CAG CGA AGC ACC GTC TGG TAC"
CODONS = dict(zip("ACDEFGHIKLMNPQRSTVWY", _CODONS.split(), strict=True))


def draw_frame(rng, length):
    """Return residues with stop codons, one in twenty, and a place of an alignment."""
    codes = bytearray(draw(rng, length, 5.0))
    for k in np.flatnonzero(rng.random(length) < rng.choice([0.001, 0.01, 0.05])).tolist():
        codes[k] = PROTEIN.letters.index("*")
    start, end = np.sort(rng.integers(0, length + 1, 2)).tolist()
    return bytes(codes), start, end


def columns(*values):
    return [np.array([value]) for value in values]


@pytest.mark.parametrize("seed", seeds(300))
def test_letters_that_count_are_the_oracles(seed):
    rng = np.random.default_rng([5, seed])
    codes, start, end = draw_frame(rng, int(rng.integers(1, 900)))
    protein = draw(rng, 80)
    expected = counted(PROTEIN.decode(codes), start, end)
    for made in (
        Regions.of_query(codes, [protein], *columns(start, end)).rows[0, :3],
        Regions.of_targets(protein, [codes], *columns(start, end)).rows[0, 3:],
    ):
        first, last, length = made.tolist()
        assert Counted(PROTEIN.decode(codes[first:last]), length) == expected
    windows, rows = Regions.of_targets(protein, [codes], *columns(start, end)).cut([codes])
    first, last, length = rows[0, 3:].tolist()
    assert len(windows[0]) == length
    assert Counted(PROTEIN.decode(windows[0][first:last]), length) == expected


def test_windows_and_margins_are_those_of_blast():
    assert (WINDOW, MARGIN) == (200, 20)
    codes = PROTEIN.encode("A" * 300 + "C" * 10 + "D" * 300)
    assert counted(PROTEIN.decode(codes), 300, 310).part == "A" * 200 + "C" * 10 + "D" * 200
    regions = Regions.of_query(codes, [b"\1"], *columns(300, 310))
    assert regions.rows[0].tolist() == [100, 510, 410, 0, 1, 1]


@pytest.mark.parametrize("seed", seeds(100))
def test_windows_that_meet_are_joined(seed):
    """As by adding those that meet until none does."""
    rng = np.random.default_rng([8, seed])
    starts, lengths = rng.integers(0, 1000, 9), rng.integers(1, 150, 9)
    first, *others = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
    expected = first
    for _ in others:
        meeting = [x for x in others if x[0] <= expected[1] and x[1] >= expected[0]]
        expected = min(x[0] for x in [expected, *meeting]), max(x[1] for x in [expected, *meeting])
    assert join_windows(*first, others) == expected


@pytest.mark.parametrize("translated", ["query", "targets"])
@pytest.mark.parametrize(("linker", "is_joined"), [(350, True), (500, False)])
def test_a_second_domain_within_400_letters_counts_too(translated, linker, is_joined):
    rng = np.random.default_rng(9)
    domain = draw(rng, 80)
    long = domain + draw(rng, linker) + domain[:70]
    query, target = (long, domain) if translated == "query" else (domain, long)
    score = np.array([int(SCHEME.matrix.scores[[*domain], [*domain]].sum())])
    found = []
    for find_joined_score, scores in ((None, score), (lambda length: 50, None)):
        finder = RegionFinder(SCHEME, Tracer(SCHEME), translated, find_joined_score)
        regions = finder.find(query, [target], lambda cells: None, scores)
        rows = regions.rows[0].tolist()
        found.append(rows[:3] if translated == "query" else rows[3:])
    alone, together = found
    assert alone == [0, 280, 280]
    assert together == ([0, len(long), len(long)] if is_joined else alone)


@pytest.mark.parametrize("mode", [1, 2, 3])
@pytest.mark.parametrize("seed", seeds(12))
def test_matrices_are_the_oracles(seed, mode):
    """Also where the letters of the query that count change from target to target, and back."""
    rng = np.random.default_rng([6, seed, mode])
    query, start, end = draw_frame(rng, 500)
    targets = [draw(rng, int(n), 10.0) for n in (60, 400, 90)]
    places = np.array([start, end - (end > start), start]), np.array([end, end, end])
    regions = Regions.of_query(query, targets, *places)
    found = adjust(query, targets, find_tables(SCHEME), mode, regions.rows)
    for k, target in enumerate(targets):
        text = PROTEIN.decode(target)
        own = counted(PROTEIN.decode(query), int(places[0][k]), int(places[1][k]))
        parts = own, Counted(text, len(text))
        expected = oracle_matrix("BLOSUM62", query, target, mode, parts)
        known = len(PROTEIN.letters)
        np.testing.assert_array_equal(found.matrices[k][:known, :known], expected)


def make_records(seed):
    """Return relatives of random proteins as genes with flanks full of stops, and the proteins."""
    rng = np.random.default_rng([7, seed])
    genes, proteins = {}, {}
    for number in range(6):
        protein = PROTEIN.decode(draw(rng, int(rng.integers(60, 200)), 8.0))
        proteins[f"p{number}"] = protein
        changed = [x if rng.random() < 0.7 else str(rng.choice([*CODONS])) for x in protein]
        bases = "".join(CODONS[x] for x in changed)
        flanks = ["".join(rng.choice([*"ACGT"], int(n))) for n in rng.integers(0, 900, 2)]
        genes[f"g{number}"] = flanks[0] + bases + flanks[1]
    return genes, proteins


@pytest.mark.parametrize("mode", [1, 2, 3])
@pytest.mark.parametrize("program", ["blastx", "tblastn"])
def test_scores_of_searches_are_the_oracles(program, mode):
    """Plain alignment, letters that count, mask, matrix, alignment: all from definitions."""
    genes, proteins = make_records(mode)
    pair = (genes, proteins) if program == "blastx" else (proteins, genes)
    options = {"comp_based_stats": mode, "mask": "none", "sum_stats": False, "evalue": 1e-6}
    results = swdual.search(*pair, task=program, **options)
    known = [LETTERS.index(letter) for letter in PROTEIN.letters]
    plain = np.full((len(LETTERS), len(LETTERS)), -4)
    plain[np.ix_(known, known)] = SCHEME.matrix.scores[: len(known), : len(known)]
    tables, prices = oracle_tables("BLOSUM62"), [SCALE * price for price in GAPS]
    hits = [hit for result in results for hit in result]
    for hit in hits:
        if program == "blastx":
            query = PROTEIN.decode(read_frame(hit.query, hit.query_frame).codes)
            target = str(hit.target)
        else:
            query = str(hit.query)
            target = PROTEIN.decode(translate(hit.target.codes, hit.target_frame, 1))
        best = align(encode(query), encode(target), plain, *GAPS)
        if program == "blastx":
            target = masked(target)
            parts = counted(query, *best[1:3]), Counted(target, len(target))
        else:
            first = max(0, best.target_start - 200)
            target = masked(target[first : best.target_end + 200])
            own = counted(target, best.target_start - first, best.target_end - first)
            parts = Counted(query, len(query)), own
        matrix = adjusted_matrix(tables, query, target, mode, parts)
        found = align(encode(query), encode(target), matrix, *prices)
        assert hit.score == (found.score + SCALE // 2) // SCALE
    assert len(hits) >= 5
    later = swdual.search(*pair, task=program, align=False, **options)
    for hit, other in zip(hits, (hit for result in later for hit in result), strict=True):
        assert str(hit.alignment) == str(other.alignment)
