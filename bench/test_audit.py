"""The shares that `bench/audit.py` tells, against slow counts; `test_bench.py` runs the script."""

from __future__ import annotations

import gzip
import math
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
from _accuracy import resamples
from audit import (
    BIASES,
    LENGTHS,
    SIGNIFICANT,
    bias_of,
    count_shares,
    describe,
    read_records,
    shares_of,
    take_table,
    tell_shares,
)

import swdual
from swdual.auditing.comparison import label_bins
from swdual.statistics.karlin_altschul import ROBINSON

QUERIES, HITS, EDGES = 7, 60, (0.25, 0.5, 0.75)

LETTERS = "".join(ROBINSON)


def bias(residues: str) -> float:
    """Return the bias by its definition."""
    known = [x for x in residues.upper() if x in ROBINSON]
    total, n = sum(ROBINSON.values()), len(known)
    bits = sum(
        count / n * math.log2(count / n / (ROBINSON[letter] / total))
        for letter, count in Counter(known).items()
    )
    return bits - 19 / (2 * n * math.log(2))


def test_bias_is_that_of_its_definition() -> None:
    """Of random sequences, of one letter, and of letters that do not count."""
    random = np.random.default_rng(3)
    for length in 1, 30, 400:
        residues = "".join(random.choice([*LETTERS, "X", "U", "a", "q"], length)) + "A"
        assert math.isclose(bias_of(residues), bias(residues))
    assert math.isnan(bias_of("XX"))


def test_unbiased_sequences_have_no_bias_whatever_their_length() -> None:
    """The mean over random sequences is about 0, where the relative entropy is 0.03 and more."""
    random = np.random.default_rng(4)
    background = np.array([*ROBINSON.values()]) / sum(ROBINSON.values())
    for length in 100, 400:
        drawn = [random.choice([*LETTERS], length, p=background) for _ in range(200)]
        assert abs(np.mean([bias_of("".join(x)) for x in drawn])) < 0.015


def test_shares_and_their_limits_are_those_of_queries_that_are_drawn_one_by_one() -> None:
    """Each sample is made as a list of hits, and each bin of it counted."""
    random = np.random.default_rng(5)
    queries = random.integers(QUERIES - 1, size=HITS)  # the last query has no hit
    values = random.choice([0.1, 0.25, 0.3, 0.6, 0.75], HITS)
    found = random.random(HITS) < 0.7
    weights = resamples(QUERIES, 50, seed=2)

    def shares(draws: list[int]) -> list[float]:
        hits = [(values[k], found[k]) for q in draws for k in range(HITS) if queries[k] == q]
        bins: list[list[bool]] = [[], [], [], []]
        for value, verdict in hits:
            bins[sum(value >= edge for edge in EDGES)].append(bool(verdict))
        return [sum(x) / len(x) if x else math.nan for x in bins]

    expected = np.array([shares([*np.repeat(np.arange(QUERIES), row)]) for row in weights])
    bins = np.searchsorted(EDGES, values, "right")
    np.testing.assert_allclose(count_shares(queries, bins, found, 4, weights), expected)
    rows = tell_shares(queries, values, found, EDGES, label_bins(EDGES), weights)
    for number, row in enumerate(rows):
        share, low, high = row["share"]
        assert share == pytest.approx(row["found"] / row["hits"], rel=1e-3)
        others = expected[1:, number][~np.isnan(expected[1:, number])]
        assert [low, high] == pytest.approx(np.percentile(others, [2.5, 97.5]), rel=1e-3)
    assert [row["bin"] for row in rows] == [
        "below 0.25",
        "0.25 to 0.5",
        "0.5 to 0.75",
        "0.75 and above",
    ]


def test_a_bin_without_hits_has_no_share() -> None:
    """Of three bins, one has hits; no warning comes of the others."""
    (empty, full, last) = tell_shares(
        np.zeros(2, np.int64),
        np.array([0.3, 0.4]),
        np.array([True, False]),
        (0.25, 0.5),
        label_bins((0.25, 0.5)),
        resamples(3, 20, seed=1),
    )
    assert empty == {"bin": "below 0.25", "hits": 0, "found": 0, "share": [None] * 3}
    assert last["share"] == empty["share"]
    assert full["share"] == [0.5, 0.5, 0.5]


def _proteins() -> list[tuple[str, str]]:
    """Return families of changed proteins of 60 to 500 residues."""
    random = np.random.default_rng(6)
    proteins = []
    for family, length in enumerate([60, 150, 300, 500]):
        ancestor = random.choice([*LETTERS], length)
        for member in range(4):
            kept = random.random(length) < 1 - 0.22 * member
            changed = np.where(kept, ancestor, random.choice([*LETTERS], length))
            proteins.append((f"p{family}{member} of family {family}", "".join(changed)))
    return proteins


@pytest.mark.parametrize("sample", [None, 5])
def test_shares_of_an_audit(tmp_path: Path, sample: int | None) -> None:
    """Every other hit is listed; a sequence's hit with itself does not count."""
    pytest.importorskip("scipy")
    proteins = _proteins()
    queries = proteins[::2]
    options = {"comp_based_stats": 0, "max_target_seqs": 0}
    hits = [
        (result.query.title.split()[0], hit.title.split()[0], hit.evalue)
        for result in swdual.search(queries, proteins, evalue=10, **options)
        for hit in result
    ]
    path = tmp_path / "table.tsv"
    rows = [f"{query}\t{target}\t{evalue}\n" for query, target, evalue in hits[::2]]
    path.write_text("".join(["qseqid\tsseqid\tevalue\n", *rows]))
    found = swdual.audit(
        path, queries, proteins, evalue=10, comp_based_stats=0, max_target_seqs=0, sample=sample
    )
    (shares,) = shares_of(found, describe(proteins), 10)
    chosen = {found.query_ids[k] for k in found.queries}
    assert len(chosen) == (sample or len(queries))
    others = [x for x in hits if x[0] in chosen and x[0] != x[1]]
    listed = {x[:2] for x in hits[::2]}
    residues = {title.split()[0]: text for title, text in proteins}
    assert shares["all"][0]["hits"] == len(others) > 10
    assert sum(row["hits"] for row in shares["evalue"]) == len(others)
    values = {
        "length": ({x: len(text) for x, text in residues.items()}, LENGTHS),
        "bias": ({x: bias(text) for x, text in residues.items()}, BIASES),
    }
    for name, (value, edges) in values.items():
        for part, weak in ("significant", False), ("weak", True):
            counted = [x for x in others if (x[2] > SIGNIFICANT) == weak]
            bins = [sum(value[x[1]] >= edge for edge in edges) for x in counted]
            for number, row in enumerate(shares[name][part]):
                inside = [x for x, k in zip(counted, bins, strict=True) if k == number]
                own = sum(x[:2] in listed for x in inside)
                assert (row["hits"], row["found"]) == (len(inside), own)


def test_a_list_of_pairs_becomes_a_table(tmp_path: Path) -> None:
    """HMMER has no table of twelve columns: its pairs and E-values are written."""
    (tmp_path / "out").write_text("# target\nt1 - q1 - 1e-09 40.1 0.1\nt2 - q1 - 20 4 0\n")
    path = take_table("phmmer --max", tmp_path, ["q1", "t1", "t2"], tmp_path / "0.tsv")
    assert path.read_text() == "qseqid\tsseqid\tevalue\nq1\tt1\t1e-09\n"


def test_sequences_are_read_from_plain_and_packed_files(tmp_path: Path) -> None:
    """Titles are whole, and residues one text."""
    text = ">a one\nACD\nEF\n>b\n\n>c\nG"
    (tmp_path / "plain").write_text(text)
    (tmp_path / "packed").write_bytes(gzip.compress(text.replace("\n", "\r\n").encode()))
    expected = [("a one", "ACDEF"), ("b", ""), ("c", "G")]
    assert read_records(tmp_path / "plain") == expected
    assert read_records(tmp_path / "packed") == expected
