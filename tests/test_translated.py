"""blastx and tblastn print for translated genes what we print: see golden/README.md."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from oracles.smith_waterman import local_score_gotoh

from swdual.api import search
from swdual.format import print_evalue
from swdual.sequences.fasta import read_sequences
from swdual.sequences.frames import TranslatedSequence, read_part

ROOT = Path(__file__).parents[1]
GOLDEN, PROTEINS = ROOT / "tests" / "golden", ROOT / "data" / "proteins.fasta"
GENES = GOLDEN / "translated_genes.fasta.gz"

CASES = {
    "blastx": {},
    "blastx-seg": {"mask": "seg"},
    "blastx-4": {"query_gencode": 4, "strand": "minus"},
    "tblastn": {},
    "tblastn-4": {"db_gencode": 4, "dbsize": 100_000},
}
"""Our options for the commands of the table."""

SAME = ("score", "bitscore", "evalue", "qlen", "slen")
PLACES = ("qstart", "qend", "sstart", "send")


@cache
def read_rows():
    """Return the rows of each case."""
    with gzip.open(GOLDEN / "translated.tsv.gz", "rt") as stream:
        names, *rows = (line.rstrip("\n").split("\t") for line in stream if line[0] != "#")
    found = {}
    for row in rows:
        found.setdefault(row[0], []).append(dict(zip(names, row, strict=True)))
    return found


def queries_of(case):
    if case.startswith("blastx"):
        return GENES, PROTEINS
    chosen = [*read_sequences(PROTEINS)][::48]
    return [(each.id, str(each)) for each in chosen], GENES


def part_of(sequence, start, end, frame):
    """Return the codes between two of BLAST's places, in a frame."""
    first, last = sorted((start, end))
    return np.frombuffer(read_part(sequence, first - 1, last, frame)[0], np.uint8)


def is_optimal(row, hit):
    """Return whether the parts that BLAST aligned have the score, computed by the oracle."""
    places = [int(row[name]) for name in PLACES]
    query = part_of(hit.query, *places[:2], int(row["qframe"]))
    target = part_of(hit.target, *places[2:], int(row["sframe"]))
    scheme = hit.result.params.scheme
    prices = scheme.gap_open, scheme.gap_extend
    return local_score_gotoh(query, target, scheme.matrix.scores, *prices) >= hit.score


@pytest.mark.parametrize("case", CASES)
def test_rows_are_blasts(case, tmp_path):
    """Each row of BLAST has our score, or a lower one: it extends seeds.

    Where scores are equal, E-values and bits are, letter by letter; and places and counts, or
    BLAST's place is another one as good. In nine of ten rows the places are equal.
    """
    results = search(*queries_of(case), max_target_seqs=0, dbtype="auto", **CASES[case])
    names = ("qseqid", "sseqid", *SAME, "qframe", "sframe", *PLACES, "length", "qcovs", "nident")
    results.write(tmp_path / "ours.tsv", f"6 {' '.join(names)}")
    lines = (tmp_path / "ours.tsv").read_text().splitlines()
    ours = [dict(zip(names, line.split("\t"), strict=True)) for line in lines]
    hits = [hit for result in results for hit in result]
    known = {
        (row["qseqid"], row["sseqid"]): (row, hit) for row, hit in zip(ours, hits, strict=True)
    }
    equal = same_places = 0
    rows = read_rows()[case]
    for row in rows:
        mine, hit = known[row["qseqid"], row["sseqid"]]
        assert isinstance(hit.query if "blastx" in case else hit.target, TranslatedSequence)
        assert int(mine["score"]) >= int(row["score"])
        if mine["score"] != row["score"]:
            continue
        equal += 1
        assert [mine[name] for name in SAME] == [row[name] for name in SAME], row
        if all(mine[name] == row[name] for name in (*PLACES, "qframe", "sframe")):
            same_places += 1
            assert mine["qcovs"] == row["qcovs"]
        else:
            assert is_optimal(row, hit)
    assert equal >= 0.9 * len(rows)
    assert same_places >= 0.9 * equal


def test_sum_statistics_divide_the_evalue_of_a_single_alignment():
    """By 0.9, in blastx's default; E-values of several alignments of a target are joined there."""
    rows = {}
    for row in read_rows()["blastx-sum"]:
        rows.setdefault((row["qseqid"], row["sseqid"]), []).append(row)
    hits = {
        (hit.query.id, hit.id): hit
        for result in search(*queries_of("blastx"), max_target_seqs=0, align=False)
        for hit in result
    }
    compared = 0
    for pair, (row, *others) in rows.items():
        hit = hits.get(pair)
        if hit is None or others or hit.score != int(row["score"]):
            continue
        if hit.query_frame == int(row["qframe"]):
            compared += 1
            assert print_evalue(hit.evalue / 0.9) == row["evalue"]
    assert compared > 300
