"""A search with composition-based statistics prints what blastp printed: see golden/README.md."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import swdual
from swdual.format import print_bits, print_evalue
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.fasta import read_sequences

ROOT = Path(__file__).parents[2]
GOLDEN, DATA = ROOT / "tests" / "golden", ROOT / "data"

TABLES = [
    *((mode, "BLOSUM62", 11, 1) for mode in (1, 2, 3)),
    (2, "BLOSUM45", 14, 2),
    (2, "BLOSUM50", 13, 2),
    (2, "BLOSUM80", 10, 1),
    (2, "PAM70", 10, 1),
]

SCORES = ("score", "bitscore", "evalue")
PLACES = ("qstart", "qend", "sstart", "send", "nident", "positive", "length")


def read_rows(name):
    """Return the rows of a table that blastp printed."""
    with gzip.open(GOLDEN / name, "rt") as stream:
        lines = [line for line in stream if not line.startswith("#")]
    return [*csv.DictReader(lines, delimiter="\t")]


@cache
def read_sample(kind):
    """Return the sequences of data/ and those of a biased composition."""
    files = (DATA / {"queries": "queries.fasta", "targets": "proteins.fasta"}[kind],)
    return [
        sequence
        for file in (*files, GOLDEN / f"biased_{kind}.fasta")
        for sequence in read_sequences(file, PROTEIN)
    ]


def index_hits(results):
    """Return all hits by the identifiers of query and target."""
    return {(hit.query.id, hit.id): hit for result in results for hit in result}


def describe(hit):
    """Return the columns of a hit as blastp prints them."""
    return {
        "score": str(hit.score),
        "bitscore": print_bits(hit.bits).strip(),
        "evalue": print_evalue(hit.evalue),
        "nident": str(hit.identities),
        "positive": str(hit.positives),
        "length": str(hit.length),
        "qstart": str(hit.query_start + 1),
        "qend": str(hit.query_end),
        "sstart": str(hit.target_start + 1),
        "send": str(hit.target_end),
    }


def compare(rows, hits):
    """Return in how many rows the score, bits or E-value differ, and each of the other columns."""
    found = Counter()
    for row in rows:
        ours = describe(hits[row["qseqid"], row["sseqid"]])
        found["score"] += any(ours[name] != row[name] for name in SCORES)
        found.update(name for name in PLACES if ours[name] != row[name])
    return found


@pytest.mark.parametrize(("mode", "matrix", "gap_open", "gap_extend"), TABLES)
def test_scores_and_alignments_are_those_of_blastp(mode, matrix, gap_open, gap_extend):
    """Of every pair that blastp printed, to the last digit; of few alignments there are several."""
    rows = read_rows(f"adjusted_{mode}_{matrix}_{gap_open}_{gap_extend}.tsv.gz")
    results = swdual.search(
        read_sample("queries"),
        read_sample("targets"),
        matrix=matrix,
        gap_open=gap_open,
        gap_extend=gap_extend,
        comp_based_stats=mode,
        evalue=200.0,
        max_target_seqs=5000,
    )
    found = compare(rows, index_hits(results))
    assert len(rows) > 150
    assert found["score"] == 0
    assert all(found[name] <= 0.005 * len(rows) for name in PLACES)


def test_rare_letters_score_as_in_blastp():
    """B, J, Z, X, U, O and `*`."""
    rows = read_rows("letters_adjusted.tsv.gz")
    letters = GOLDEN / "letters.fasta"
    for mode in (1, 2, 3):
        results = swdual.search(letters, letters, comp_based_stats=mode, adjust="all")
        hits = index_hits(results)
        own = [row for row in rows if row["mode"] == str(mode)]
        assert len(own) > 50
        assert compare(own, hits).total() == 0


def test_masked_queries_score_as_in_blastp():
    """Also those whose alignments BLAST splits at masked regions."""
    rows = read_rows("masked_adjusted.tsv.gz")
    for mode in (1, 2, 3):
        results = swdual.search(
            GOLDEN / "biased_queries.fasta",
            GOLDEN / "biased_targets.fasta",
            comp_based_stats=mode,
            mask="seg",
            max_target_seqs=5000,
        )
        own = [row for row in rows if row["mode"] == str(mode)]
        assert len(own) > 150
        assert compare(own, index_hits(results)).total() == 0


def test_most_of_what_blastp_prints_by_default_is_the_same():
    """Its heuristic alignments score at most as much: see docs/statistics.md."""
    rows = read_rows("adjusted_default.tsv.gz")
    results = swdual.search(
        read_sample("queries"), read_sample("targets"), comp_based_stats=2, max_target_seqs=5000
    )
    hits = index_hits(results)
    same = [row for row in rows if (row["qseqid"], row["sseqid"]) in hits]
    assert len(same) >= 0.97 * len(rows)
    found = compare(same, hits)
    assert found["score"] <= 0.05 * len(rows)
    for row in same:
        assert hits[row["qseqid"], row["sseqid"]].score >= int(row["score"])
