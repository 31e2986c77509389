"""The oracle of profiles finds what psiblast printed: see golden/README.md."""

from __future__ import annotations

import gzip
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from oracles import profiles as oracle
from oracles.composition import LETTERS, RESIDUES, nearest
from support.profile_tables import (
    GOLDEN,
    INCLUSION,
    Row,
    alignment,
    by_case,
    figures,
    figures_of,
    included_rows,
    options_of,
    residues,
    sequences,
    table,
)

PROFILES = sorted(by_case("profile_scores.tsv.gz"))
ROUNDS = [(case, number) for case, number in PROFILES if not case.startswith("alignment_")]
SEARCHES = [
    ((case,), mode, exact)
    for (case,) in by_case("profile_searches.tsv.gz")
    for mode, exact in (("0", "no"), ("0", "yes"), ("1", "yes"))
]

HEURISTIC = {
    ("long", "long13"),
    ("biased", "polyq12"),
    ("polyq", "biased5"),
    ("polyq", "short5"),
    ("polyq", "syn001811"),
    ("short", "short6"),
    ("short", "collagen4"),
}
"""Case and target whose best alignment psiblast misses where it extends seeds."""


def query_of(case: str) -> str:
    """Return what a case searches for: a query, or the word alignment and a name."""
    return next(row["query"] for row in table("profile_cases.tsv") if row["case"] == case)


@cache
def profile_of(case: str, number: str) -> oracle.Profile:
    """Return the oracle's profile after a round of a case."""
    options, known = options_of(case), figures_of(case)
    rows, query = included_rows(case, number), query_of(case)
    if not query.startswith("alignment "):
        pseudocount = float(options.get("pseudocount", 0))
        return oracle.make_profile(sequences("queries")[query], rows, known, pseudocount)
    master = int(options.get("msa_master_idx", 1)) - 1
    first = oracle.alignment_rows(alignment(query.split()[1]), master)[0]
    counts = "ignore_msa_master" not in options
    return oracle.profile_of_rows([first, *rows], known, query_counts=counts)


def printed_bits(bits: float) -> str:
    """Return bits as psiblast prints them."""
    return str(int(bits)) if bits > 99.9 else f"{bits:.1f}"


def printed_evalue(evalue: float) -> str:
    """Return an E-value as psiblast prints it."""
    for limit, form in ((1e-180, "0.0"), (9e-4, "{:.2e}"), (0.1, "{:.3f}"), (1, "{:.2f}")):
        if evalue < limit:
            return form.format(evalue)
    return f"{evalue:.1f}" if evalue < 10 else f"{evalue:.0f}"


def first_rows(rows: list[Row]) -> list[Row]:
    """Return the first row of each target: its best alignment."""
    return [*{row["sseqid"]: row for row in reversed(rows)}.values()]


def check_search(case: str, number: str, rows: list[Row], mode: int, rescored: bool) -> None:
    """Compare score, bits and E-value of each target with the oracle's."""
    assert rows
    profile, known = profile_of(case, number), figures_of(case)
    start = oracle.search_start(profile, known)
    for row in first_rows(rows):
        found = oracle.search_target(
            profile,
            start,
            sequences("targets")[row["sseqid"]],
            residues(),
            known,
            composition_mode=mode,
            rescored=rescored,
        )
        score = int(nearest(np.float64(found.score)))
        if (case, row["sseqid"]) in HEURISTIC and not rescored:
            assert score > int(row["score"])
            continue
        assert (score, printed_bits(found.bits), printed_evalue(found.evalue)) == (
            int(row["score"]),
            row["bitscore"],
            row["evalue"],
        ), row


@pytest.mark.parametrize(("case", "number"), PROFILES)
def test_profile(case: str, number: str) -> None:
    """All scores are equal, and so are the figures of the whole profile to nine digits.

    psiblast prints 15 digits of lambda, but Newton's method ends at a step of 1e-5 there.
    """
    profile = profile_of(case, number)
    rows = by_case("profile_scores.tsv.gz")[case, number]
    assert profile.query == "".join(row["letter"] for row in rows)
    expected = [[int(row[letter]) for letter in LETTERS] for row in rows]
    np.testing.assert_array_equal(profile.scores, expected)
    (whole,) = by_case("profile_statistics.tsv.gz")[case, number]
    assert float(whole["lambda"]) == figures_of(case).gapped[0]
    found = (*profile.statistics, profile.k)
    names = ("lambdaUngapped", "kappaUngapped", "hUngapped", "kappa")
    assert found == pytest.approx([float(whole[name]) for name in names], rel=1e-9)


@pytest.mark.parametrize("case", ["ordinary", "odd", "brief"])
def test_frequency_ratios(case: str) -> None:
    """The estimated frequencies are equal, up to the rounding of sums."""
    rows = by_case("profile_ratios.tsv.gz")[case, "1"]
    expected = np.zeros((len(rows), len(LETTERS)))
    for residue in RESIDUES:
        expected[:, LETTERS.index(residue)] = [float(row[residue]) for row in rows]
    np.testing.assert_allclose(profile_of(case, "1").ratios, expected, rtol=1e-13, atol=0)


@pytest.mark.parametrize("case", ["odd", "brief"])
def test_ascii_table(case: str) -> None:
    """The table for people to read is equal, but for the statistics below it."""
    text = gzip.decompress((GOLDEN / f"profile_{case}.pssm.gz").read_bytes()).decode()
    expected = text.splitlines()[2:-6]
    rows, known = included_rows(case, "1"), figures_of(case)
    assert oracle.ascii_lines(sequences("queries")[query_of(case)], rows, known) == expected


@pytest.mark.sample(9)
@pytest.mark.parametrize(("key", "mode", "exact"), SEARCHES)
def test_search(key: tuple[str], mode: str, exact: str) -> None:
    """A search with a profile finds the same scores, bits and E-values."""
    rows = [
        row
        for row in by_case("profile_searches.tsv.gz")[key]
        if (row["mode"], row["exact"]) == (mode, exact)
    ]
    check_search(key[0], "1", rows, int(mode), rescored=exact == "yes")


@pytest.mark.sample(4)
@pytest.mark.parametrize(("case", "number"), [each for each in ROUNDS if each[1] != "1"])
def test_later_round(case: str, number: str) -> None:
    """A round finds what a search with the profile of the round before it finds."""
    rows = by_case("profile_rounds.tsv.gz")[case, number]
    check_search(case, str(int(number) - 1), rows, 1, rescored=True)


@pytest.mark.parametrize("case", sorted({case for case, _ in ROUNDS}))
def test_convergence(case: str) -> None:
    """psiblast stops after a round that includes only targets which the round before included."""
    limit = float(options_of(case).get("inclusion_ethresh", INCLUSION))
    included: list[set[str]] = []
    for number in range(1, sum(each == case for each, _ in ROUNDS) + 1):
        rows = by_case("profile_rounds.tsv.gz")[case, str(number)]
        included.append({row["sseqid"] for row in rows if float(row["evalue"]) < limit})
    repeats = [False, *(later <= earlier for earlier, later in pairwise(included))]
    (row,) = (row for row in table("profile_cases.tsv") if row["case"] == case)
    assert repeats == [False] * (len(repeats) - 1) + [row["converged"] == "yes"]


def test_copies_of_the_query_add_nothing() -> None:
    """The profile of a query and copies of it is the profile of the query alone."""
    known = figures("BLOSUM62", (11, 1))
    query = sequences("queries")["single"]
    alone = oracle.make_profile(query, [], known)
    copies = oracle.make_profile(query, [query, query[:50].ljust(len(query))], known)
    np.testing.assert_array_equal(alone.scores, copies.scores)
    assert not copies.ratios.any()


def test_purge_takes_the_later_row() -> None:
    """Of two rows that are equal in 94 % of their columns the second one is dropped."""
    query, first = "A" * 50, "R" * 50
    second = "R" * 47 + "NNN"
    third = "R" * 46 + "NNNN"
    assert oracle.purged([query, first, second]) == [query, first]
    assert oracle.purged([query, first, third]) == [query, first, third]
    assert oracle.purged([query, first, "X" * 4 + third[4:]]) == [query, first, "X" * 4 + third[4:]]


def test_purge_keeps_what_is_apart() -> None:
    """A stretch that repeats another row is dropped, another stretch of the same row stays."""
    query, first = "A" * 20, "R" * 9 + " " * 11
    second = "R" * 9 + "  " + "NNNN" + " " * 5
    assert oracle.purged([query, first, second]) == [query, first, " " * 11 + "NNNN" + " " * 5]


def test_weights_share_a_column_between_its_letters() -> None:
    """Henikoff and Henikoff: each letter of a column has the same part, rows with it share it."""
    assert oracle.weights_of(("A", "A", "R")) == ([0.25, 0.25, 0.5], [2], 2)
    assert oracle.weights_of(("AX", "A-")) == ([0.5, 0.5], [1, 0], 3)
    assert oracle.weights_of(("AA", "AA", "AA"))[0] == [1 / 3, 1 / 3, 1 / 3]


def test_block_is_what_all_rows_share() -> None:
    """Gaps belong to a block, columns where a row is not aligned do not."""
    rows = ["ACDEFGHIKL", " CD-FGHI  ", "   EFGHIKL", "AC        "]
    assert oracle.block_of(rows, 5) == (3, 7)
    assert oracle.block_of(rows, 1) == (1, 1)
    assert oracle.block_of(rows, 9) == (3, 9)
    assert oracle.block_of(["AC", "A "], 1) is None
