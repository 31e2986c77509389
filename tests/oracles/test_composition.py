"""The composition oracle finds what blastp prints, and solves what its definitions ask for."""

import gzip
import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from . import composition as oracle
from .smith_waterman import local_score_gotoh
from .statistics import finite_size_evalue

ROOT = Path(__file__).parents[2]
GOLDEN, DATA = ROOT / "tests" / "golden", ROOT / "data"
REFERENCE = ROOT.parent / "shared" / "reference"

needs_shared = pytest.mark.skipif(
    not REFERENCE.is_dir(), reason="tables of other matrices lie beside the project only"
)

Row = dict[str, str]
Scores = dict[str, dict[str, int]]
PARTS = 40

# What is published.


@cache
def published(matrix: str) -> Mapping:
    """Return the figures of a matrix: those of BLOSUM62 are here, others beside the project."""
    blosum62 = json.loads((GOLDEN / "blosum62.json").read_text())
    if matrix == "BLOSUM62":
        return blosum62
    entry = json.loads((REFERENCE / "ncbi_composition.json").read_text())["matrices"][matrix]
    scores = json.loads((REFERENCE / "ncbi_matrices.json").read_text())["matrices"][matrix]
    figures = {**entry, "scores": scores["rows"], "default_score": scores["default"]}
    return {**blosum62, **figures}


@cache
def gapped(matrix: str, gap_open: int, gap_extend: int) -> tuple[list[float], list[float]]:
    """Return the rows of statistics with these gaps and without gaps."""
    if matrix == "BLOSUM62":
        return published(matrix)["gapped_11_1"], published(matrix)["ungapped"]
    rows = json.loads((REFERENCE / "karlin_altschul.json").read_text())["protein"][matrix]
    return next(row for row in rows if row[:2] == [gap_open, gap_extend]), rows[0]


@cache
def plain_scores(matrix: str) -> Scores:
    """Return the integer scores of all letters."""
    figures = published(matrix)
    known = figures["score_letters"]
    return {
        a: {
            b: figures["scores"][known.index(a)][known.index(b)]
            if a in known and b in known
            else figures["default_score"]
            for b in oracle.LETTERS
        }
        for a in oracle.LETTERS
    }


@cache
def tables(matrix: str) -> oracle.Tables:
    """Return the oracle's tables of a matrix."""
    figures = published(matrix)
    standard = np.array(figures["standard"])
    return oracle.read_tables(figures, plain_scores(matrix), standard)


# What blastp printed.


def read_fasta(path: Path) -> dict[str, str]:
    """Return the sequences of a FASTA file in upper case, by their identifiers."""
    found: dict[str, str] = {}
    for line in path.read_text().splitlines():
        if line.startswith(">"):
            name = line[1:].split()[0]
            found[name] = ""
        else:
            found[name] += line.upper()
    return found


@cache
def sequences(kind: str) -> dict[str, str]:
    """Return the queries or the targets of the tables."""
    if kind == "letters":
        return read_fasta(GOLDEN / "letters.fasta")
    ours = {"queries": "queries.fasta", "targets": "proteins.fasta"}[kind]
    return read_fasta(DATA / ours) | read_fasta(GOLDEN / f"biased_{kind}.fasta")


@cache
def rows_of(name: str) -> list[Row]:
    """Return the rows of a golden table."""
    with gzip.open(GOLDEN / name, "rt") as stream:
        lines = [line for line in stream.read().splitlines() if not line.startswith("#")]
    names, *rows = (line.split("\t") for line in lines)
    return [dict(zip(names, row, strict=True)) for row in rows]


@cache
def residues(kind: str) -> int:
    return sum(map(len, sequences(kind).values()))


def printed_bits(bits: float) -> str:
    """Return bits as blastp prints them."""
    return str(int(bits)) if bits > 99.9 else f"{bits:.1f}"


def printed_evalue(evalue: float) -> str:
    """Return an E-value as blastp prints it."""
    if evalue < 1e-180:
        return "0.0"
    bounds = ((9e-4, ".2e"), (0.1, ".3f"), (1, ".2f"), (10, ".1f"), (math.inf, ".0f"))
    return format(evalue, next(form for bound, form in bounds if evalue < bound))


def computed(row: Row, mode: int, scoring: tuple[str, int, int], kinds: tuple[str, str]) -> Row:
    """Return what the oracle finds for the pair of a row, printed as blastp does."""
    matrix, *gap = scoring
    query, target = (
        sequences(kind)[row[key]] for kind, key in zip(kinds, ("qseqid", "sseqid"), strict=True)
    )
    with_gaps, without = gapped(*scoring)
    _, _, slope, k, _, alpha, _, _, alpha_v, sigma = with_gaps
    unmasked = bool(oracle.find_segments(target)) and oracle.is_left_unmasked(
        query, target, plain_scores(matrix), tuple(gap), slope
    )
    found = oracle.adjusted_alignment(
        tables(matrix), query, target, mode, tuple(gap), unmasked=unmasked
    )
    points = found.score / oracle.SCALE
    rounded = int(oracle.nearest(np.array(points)))
    evalue = finite_size_evalue(
        points,
        len(query),
        len(target),
        residues(kinds[1]),
        sum(gap),
        (slope, k, alpha, alpha_v, sigma),
        (without[5], without[8]),
    )
    return {
        "score": str(rounded),
        "bitscore": printed_bits((slope * rounded - math.log(k)) / math.log(2)),
        "evalue": printed_evalue(evalue),
        "qstart": str(found.query_start + 1),
        "qend": str(found.query_end),
        "sstart": str(found.target_start + 1),
        "send": str(found.target_end),
    }


def compare(
    rows: list[Row],
    mode: int,
    scoring: tuple[str, int, int] = ("BLOSUM62", 11, 1),
    kinds: tuple[str, str] = ("queries", "targets"),
) -> None:
    """Score, bits, E-value and place of every row are the oracle's, letter by letter."""
    assert rows
    for row in rows:
        found = computed(row, mode, scoring, kinds)
        assert found.items() <= row.items(), (found, row)


@pytest.mark.sample(6)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("mode", [1, 2, 3])
def test_every_pair_of_blastp_has_its_score_bits_evalue_and_place(mode: int, part: int) -> None:
    compare(rows_of(f"adjusted_{mode}_BLOSUM62_11_1.tsv.gz")[part::PARTS], mode)


@needs_shared
@pytest.mark.sample(4)
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize(
    "scoring", [("BLOSUM45", 14, 2), ("BLOSUM50", 13, 2), ("BLOSUM80", 10, 1), ("PAM70", 10, 1)]
)
def test_other_matrices_are_adjusted_as_blastp_does(
    scoring: tuple[str, int, int], part: int
) -> None:
    name = "adjusted_2_{}_{}_{}.tsv.gz".format(*scoring)
    compare(rows_of(name)[part::8], 2, scoring)


@pytest.mark.sample(3)
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("mode", [1, 2, 3])
def test_rare_letters_score_as_in_blastp(mode: int, part: int) -> None:
    rows = [row for row in rows_of("letters_adjusted.tsv.gz") if row["mode"] == str(mode)]
    compare(rows[part::4], mode, kinds=("letters", "letters"))


def test_the_tables_hold_scaled_pairs_and_both_kinds_of_near_relatives() -> None:
    rows = rows_of("adjusted_2_BLOSUM62_11_1.tsv.gz")
    background = tables("BLOSUM62").background
    scaled, unmasked = 0, []
    for row in rows:
        query, target = sequences("queries")[row["qseqid"]], sequences("targets")[row["sseqid"]]
        shares = [oracle.composition(text)[0] for text in (query, target)]
        scaled += oracle.is_scaled(*shares, background, len(query), len(target))
        if int(row["nident"]) > 0.9 * len(query) and oracle.find_segments(target):
            plain = plain_scores("BLOSUM62")
            unmasked.append(oracle.is_left_unmasked(query, target, plain, (11, 1), 0.267))
    assert len(rows) > 300
    assert scaled > 50
    assert sum(unmasked) > 10
    assert len(unmasked) - sum(unmasked) > 5


def test_blastp_by_default_finds_no_more_than_the_optimum() -> None:
    best: dict[tuple[str, str], int] = {}
    for row in rows_of("adjusted_2_BLOSUM62_11_1.tsv.gz"):
        best[row["qseqid"], row["sseqid"]] = int(row["score"])
    scores: dict[tuple[str, str], int] = {}
    for row in rows_of("adjusted_default.tsv.gz"):
        pair = row["qseqid"], row["sseqid"]
        scores[pair] = max(int(row["score"]), scores.get(pair, 0))
    assert scores.keys() <= best.keys()
    assert all(score <= best[pair] for pair, score in scores.items())
    assert sum(score == best[pair] for pair, score in scores.items()) > 0.9 * len(scores)


# The definitions.


def random_shares(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(20, 2.0))


@pytest.mark.parametrize("seed", range(3))
def test_optimised_frequencies_meet_all_constraints_and_are_stationary(seed: int) -> None:
    joint = tables("BLOSUM62").joint
    marginal = joint.sum(axis=0)
    row, column = (
        oracle.with_pseudocounts(random_shares(2 * seed + k), 100, marginal) for k in (0, 1)
    )
    found = oracle.optimise(joint, row, column)
    assert found is not None
    assert (found > 0).all()
    independent = np.outer(row, column)

    def entropy(x: np.ndarray) -> float:
        return float((x * np.log(x / independent)).sum())

    assert np.allclose(found.sum(axis=1), row, atol=1e-8)
    assert np.allclose(found.sum(axis=0), column, atol=1e-8)
    assert entropy(found) == pytest.approx(0.44, abs=1e-8)
    # The distance does not change along steps that keep all sums and, at first order, the entropy.
    rng = np.random.default_rng(seed)
    for _ in range(20):
        moves = np.zeros((2, 20, 20))
        for move in moves:
            rows, columns = (rng.choice(20, 2, replace=False) for _ in range(2))
            move[np.ix_(rows, columns)] = [[1, -1], [-1, 1]]
        by_entropy = (moves * np.log(found / independent)).sum(axis=(1, 2))
        by_distance = (moves * np.log(found / joint)).sum(axis=(1, 2))
        assert np.linalg.det([by_entropy, by_distance]) == pytest.approx(0, abs=1e-6)


def test_the_matrix_is_scaled_by_one_number_within_bounds() -> None:
    table = tables("BLOSUM62")
    start = oracle.start_matrix(table)
    standard = np.array(published("BLOSUM62")["standard"])
    usual = standard / standard.sum()
    ratio = oracle.scaling_ratio(start, usual, usual, table.slope)
    assert 0.97 < ratio < 1
    scores = start[np.ix_(oracle.WITHIN, oracle.WITHIN)] * ratio * table.slope / oracle.SCALE
    assert usual @ np.exp(scores) @ usual == pytest.approx(1)
    rich = np.full(20, 0.02)
    rich[oracle.RESIDUES.index("Q")] = 0.62
    assert oracle.scaling_ratio(start, rich, rich, table.slope) == 0.5
    rare = np.zeros(20)
    rare[oracle.RESIDUES.index("W")] = 1
    other = np.zeros(20)
    other[oracle.RESIDUES.index("G")] = 1
    assert oracle.scaling_ratio(start, rare, other, table.slope) == 1


def test_mode_two_optimises_for_like_lengths_and_for_two_common_letters() -> None:
    background = tables("BLOSUM62").background
    acidic, leucine = background.copy(), background.copy()
    acidic[[oracle.RESIDUES.index(letter) for letter in "DEKS"]] += 0.08
    leucine[[oracle.RESIDUES.index(letter) for letter in "LFIV"]] += 0.08
    acidic, leucine = acidic / acidic.sum(), leucine / leucine.sum()
    assert oracle.is_scaled(acidic, leucine, background, 100, 301)
    assert not oracle.is_scaled(acidic, leucine, background, 100, 300)
    assert not oracle.is_scaled(acidic, acidic, background, 100, 301)
    two = np.full(20, 0.58 / 18)
    two[[oracle.RESIDUES.index(letter) for letter in "DE"]] = 0.21
    assert oracle.is_scaled(two, leucine, background, 50, 301)
    assert not oracle.is_scaled(two, leucine, background, 51, 301)


def test_segments_of_equal_probability_are_decided_as_in_ncbi_tables() -> None:
    sequence = sequences("targets")["histidine16"]
    assert oracle.find_segments(sequence) == [(59, 82), (92, 103)]


def test_a_target_with_more_than_19_identities_in_20_keeps_its_segments() -> None:
    query = sequences("queries")["plain"][:200]
    assert oracle.identity_share(query, query) == 1
    for count in (9, 10, 11):
        letters = list(query)
        for at in range(15, 15 + 17 * count, 17):
            letters[at] = "W" if letters[at] != "W" else "A"
        target = "".join(letters)
        local = oracle.Local(900, 0, 200, 0, 200)
        identical = oracle.is_nearly_identical(query, target, local, 910, 0.267)
        assert identical == (count < 10)
    local = oracle.Local(900, 0, 200, 0, 200)
    assert not oracle.is_nearly_identical(query, query, local, 900, 0.267)
    assert oracle.is_nearly_identical(query, query, local, 904, 0.267)


@pytest.mark.parametrize("seed", range(5))
def test_rows_find_the_optimum_that_anti_diagonals_find(seed: int) -> None:
    rng = np.random.default_rng(seed)
    query, target = (rng.integers(0, 5, size) for size in (70, 90))
    matrix = rng.integers(-6, 7, (5, 5))
    gap_open, gap_extend = (int(price) for price in rng.integers(0, 6, 2))
    found = oracle.align(query, target, matrix, gap_open, gap_extend)
    assert found.score == local_score_gotoh(query, target, matrix, gap_open, gap_extend) > 0
    parts = (
        query[found.query_start : found.query_end],
        target[found.target_start : found.target_end],
    )
    assert local_score_gotoh(*parts, matrix, gap_open, gap_extend) == found.score
