"""Searches with profiles print what psiblast printed: see golden/README.md."""

from __future__ import annotations

import gzip
from functools import cache

import numpy as np
import pytest
from support.profile_tables import (
    GOLDEN,
    Row,
    by_case,
    make_profile,
    options_of,
    sequences,
)

from swdual.api import search
from swdual.database.database import Database
from swdual.profiles import Profile, read_profile
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.sequences.records import as_sequences
from swdual.sequences.sequence import batch_of
from swdual.statistics.karlin_altschul import KarlinAltschul

FIELDS = ("sseqid", "score", "bitscore", "evalue", "qstart", "qend", "sstart", "send", "btop")

CASES = [case for (case,) in by_case("profile_searches.tsv.gz")]

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

TIED = {("polyq", "short2"), ("ordinary_threshold", "ordinary10")}
"""Case and target with another alignment than psiblast's that scores the same."""


@cache
def targets() -> Database:
    """Return the targets of all cases."""
    return Database.from_batches(
        [batch_of(as_sequences(sequences("targets"), PROTEIN))], PROTEIN, "targets"
    )


def profile_of(case: str) -> Profile:
    """Return the profile that psiblast made in the first round of a case."""
    rows = by_case("profile_scores.tsv.gz")[case, "1"]
    (whole,) = by_case("profile_statistics.tsv.gz")[case, "1"]
    options = options_of(case)
    scores = np.full((len(rows), CODES), -32768, np.int32)
    for code, letter in enumerate(PROTEIN.letters):
        scores[:, code] = [int(row[letter]) for row in rows]
    gapped, ungapped = (
        KarlinAltschul(*(float(whole[f"{name}{kind}"]) for name in ("lambda", "kappa", "h")))
        for kind in ("", "Ungapped")
    )
    return Profile(
        case,
        PROTEIN.encode("".join(row["letter"] for row in rows)),
        scores,
        None,
        None,
        gapped,
        ungapped,
        options.get("matrix", "BLOSUM62"),
        int(options.get("gapopen", 11)),
        int(options.get("gapextend", 1)),
    )


def search_with(profile: Profile, folder) -> dict[str, Row]:
    """Return what swdual prints for a profile, by target."""
    results = search(
        profile,
        targets(),
        gap_open=profile.gap_open,
        gap_extend=profile.gap_extend,
        max_target_seqs=0,
    )
    results.write(folder / "ours.tsv", f"6 {' '.join(FIELDS)}")
    lines = (folder / "ours.tsv").read_text().splitlines()
    rows = (dict(zip(FIELDS, line.split("\t"), strict=True)) for line in lines)
    return {row["sseqid"]: row for row in rows}


def search_case(case: str, folder) -> dict[str, Row]:
    """Return what swdual prints for the scores of a case, by target."""
    return search_with(profile_of(case), folder)


def recorded(case: str, exact: str, mode: str = "0") -> list[Row]:
    """Return the best row of each target in a mode of composition-based statistics."""
    rows = (
        row
        for row in by_case("profile_searches.tsv.gz")[(case,)]
        if (row["mode"], row["exact"]) == (mode, exact)
    )
    return [*{row["sseqid"]: row for row in reversed([*rows])}.values()]


@pytest.mark.sample(6)
@pytest.mark.parametrize("case", CASES)
def test_scores_bits_and_evalues_are_psiblasts(case, tmp_path):
    """All, but of seven alignments that its heuristic ends too early."""
    ours, rows = search_case(case, tmp_path), recorded(case, "no")
    assert rows
    for row in rows:
        mine = ours[row["sseqid"]]
        if (case, row["sseqid"]) in HEURISTIC:
            assert int(mine["score"]) > int(row["score"])
            continue
        for name in ("score", "bitscore", "evalue"):
            assert mine[name] == row[name], (name, row)


@pytest.mark.sample(6)
@pytest.mark.parametrize("case", CASES)
def test_exact_alignments_are_psiblasts(case, tmp_path):
    """Where psiblast aligns by Smith-Waterman: score, place and path.

    Its bits and E-values have K of another profile then: of the one before it is scaled. No
    position scores the odd letters, so gaps of both sequences lie side by side there: in any order.
    """
    ours, rows = search_case(case, tmp_path), recorded(case, "yes")
    names = ["score", "qstart", "qend", "sstart", "send"]
    if not case.startswith("odd"):
        names.append("btop")
    assert rows
    for row in rows:
        mine = ours[row["sseqid"]]
        if (case, row["sseqid"]) in TIED:
            assert mine["score"] == row["score"]
            continue
        assert [mine[name] for name in names] == [row[name] for name in names]


@pytest.mark.sample(6)
@pytest.mark.parametrize("case", CASES)
def test_adjusted_hits_are_psiblasts(case, tmp_path):
    """With composition-based statistics of mode 1: scores, bits, E-values, places and paths."""
    ours, rows = search_with(make_profile(case, "1"), tmp_path), recorded(case, "yes", "1")
    assert rows
    for row in rows:
        assert {name: ours[row["sseqid"]][name] for name in FIELDS} == {
            name: row[name] for name in FIELDS
        }


@pytest.mark.parametrize("case", ["odd", "brief"])
def test_a_file_of_psiblast_is_searched_as_its_scores(case, tmp_path):
    path = tmp_path / "profile.asn"
    path.write_bytes(gzip.decompress((GOLDEN / f"profile_{case}.asn.gz").read_bytes()))
    found, expected = (
        [
            (hit.id, hit.score, hit.evalue)
            for hit in search(profile, targets(), comp_based_stats=0)[0]
        ]
        for profile in (read_profile(path), profile_of(case))
    )
    assert found == expected
    assert len(found) > 3
