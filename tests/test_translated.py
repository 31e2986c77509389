"""What blastx and tblastn print for translated genes: see golden/README.md."""

from __future__ import annotations

import gzip
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from oracles.smith_waterman import local_score_gotoh

from swdual.api import search
from swdual.sequences.fasta import read_sequences
from swdual.sequences.frames import TranslatedSequence, read_part

ROOT = Path(__file__).parents[1]
GOLDEN, PROTEINS = ROOT / "tests" / "golden", ROOT / "data" / "proteins.fasta"
GENES, PIECES = (GOLDEN / f"translated_{name}.fasta.gz" for name in ("genes", "pieces"))

CASES = {
    "blastx": {},
    "blastx-seg": {"mask": "seg"},
    "blastx-4": {"query_gencode": 4, "strand": "minus"},
    "tblastn": {},
    "tblastn-4": {"db_gencode": 4, "dbsize": 100_000},
}
"""Our options for the commands of the table."""

ADJUSTED = {
    **{f"blastx-mode-{mode}": {"comp_based_stats": mode} for mode in (1, 2, 3)},
    **{f"tblastn-mode-{mode}": {"comp_based_stats": mode} for mode in (1, 2)},
    **{f"{program}-default": {} for program in ("blastx", "tblastn")},
}
"""Our options for the commands with adjusted matrices."""

SAME = ("score", "bitscore", "evalue", "qlen", "slen")
PLACES = ("qstart", "qend", "sstart", "send")


@cache
def read_rows(table):
    """Return the rows of each case."""
    with gzip.open(GOLDEN / f"{table}.tsv.gz", "rt") as stream:
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


def search_by_pair(case, options, folder):
    """Return the printed row and the hit of each pair of a query and a target."""
    results = search(*queries_of(case), max_target_seqs=0, dbtype="auto", **options)
    names = ("qseqid", "sseqid", *SAME, "qframe", "sframe", *PLACES, "length", "qcovs", "nident")
    results.write(folder / "ours.tsv", f"6 {' '.join(names)}")
    lines = (folder / "ours.tsv").read_text().splitlines()
    ours = [dict(zip(names, line.split("\t"), strict=True)) for line in lines]
    hits = [hit for result in results for hit in result]
    return {(row["qseqid"], row["sseqid"]): (row, hit) for row, hit in zip(ours, hits, strict=True)}


@pytest.mark.parametrize("case", ADJUSTED)
def test_adjusted_rows_are_blasts(case, tmp_path):
    """Scores, bits and E-values are those of BLAST, letter by letter, where it found as much.

    BLAST extends seeds. tblastn adjusts the matrix to each of them, also to letters beyond the
    final alignment, and may report another frame: that changes alignments near the limit.
    """
    options = {"mask": "none", "sum_stats": False, **ADJUSTED[case]} if ADJUSTED[case] else {}
    known = search_by_pair(case, options, tmp_path)
    counts = Counter()
    for row in read_rows("translated")[case]:
        significant = " significant" * (float(row["evalue"]) < 0.001)
        mine, _ = known.get((row["qseqid"], row["sseqid"]), ({}, None))
        same = [mine.get(name) for name in SAME] == [row[name] for name in SAME]
        counts[("equal" if same else "other") + significant] += 1
    assert counts["equal significant"] >= (20 if case.startswith("blastx") else 2)
    assert counts["other significant"] <= 0.05 * counts["equal significant"]
    share = 0.95 if case.startswith("blastx") else 0.6
    assert counts["equal"] >= share * (counts["equal"] + counts["other"])


@pytest.mark.parametrize("case", CASES)
def test_rows_are_blasts(case, tmp_path):
    """Each row of BLAST has our score, or a lower one: it extends seeds.

    Where scores are equal, E-values and bits are, letter by letter; and places and counts, or
    BLAST's place is another one as good. In nine of ten rows the places are equal.
    """
    options = {"mask": "none", "comp_based_stats": 0, "sum_stats": False, **CASES[case]}
    known = search_by_pair(case, options, tmp_path)
    equal = same_places = 0
    rows = read_rows("translated")[case]
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


@pytest.mark.parametrize("case", ["blastx", "tblastn", "blastx-default", "tblastn-default"])
def test_linked_rows_are_blasts(case, tmp_path):
    """With sum statistics: the E-value of each alignment of BLAST that is one of ours.

    The E-values of alignments that are linked may be smaller, since all are found that can be
    linked. They may be larger where our best alignment has a higher score than BLAST's, and takes
    the place of pieces that would be linked. In a few rows tblastn takes the length of another
    frame, which has a residue more or less.
    """
    names = ("qseqid", "sseqid", *SAME[:3], "qframe", "sframe", *PLACES)
    queries, targets = PIECES, PROTEINS
    program, _, is_default = case.partition("-")
    if program == "tblastn":
        queries = [(each.id, str(each)) for each in [*read_sequences(PROTEINS)][::12]]
        targets = PIECES
    options = {} if is_default else {"comp_based_stats": 0, "mask": "none"}
    options |= {"task": program, "max_hsps": 0, "max_target_seqs": 0}
    results = search(queries, targets, dbtype="auto", **options)
    results.write(tmp_path / "ours.tsv", f"6 {' '.join(names)}")
    ours = {}
    for line in (tmp_path / "ours.tsv").read_text().splitlines():
        row = dict(zip(names, line.split("\t"), strict=True))
        ours.setdefault((row["qseqid"], row["sseqid"]), []).append(row)
    rows = read_rows("translated_pieces")[case]
    counts = Counter()
    for row in rows:
        mine = ours.get((row["qseqid"], row["sseqid"]), [])
        assert is_default or float(mine[0]["score"]) >= float(row["score"])
        same = [each for each in mine if all(each[x] == row[x] for x in ("score", *PLACES))]
        if not same:
            counts["another alignment"] += 1
            continue
        evalues = [each["evalue"] for each in mine]
        linked = " linked" * (evalues.count(same[0]["evalue"]) > 1)
        if same[0]["evalue"] == row["evalue"]:
            counts[f"equal{linked}"] += 1
        elif float(same[0]["evalue"]) < float(row["evalue"]):
            counts[f"smaller{linked}"] += 1
        else:
            counts["larger"] += 1
    assert sum(counts.values()) == len(rows)
    more = 0.02 if is_default else 0.0  # where BLAST adjusts the matrix to another seed
    assert counts["equal"] + counts["equal linked"] >= (0.85 - more) * len(rows)
    assert counts["equal linked"] >= (5 if case == "tblastn-default" else 40)
    assert counts["larger"] + counts["another alignment"] <= (0.1 + more) * len(rows)
    assert counts["smaller"] <= (0.01 + 2 * more) * len(rows)


def test_evalues_do_not_depend_on_the_reported_alignments():
    """Nor on the number of threads."""
    genes = [(each.id, str(each)) for each in [*read_sequences(PIECES)][:4]]
    every = search(genes, PROTEINS, task="blastx", max_hsps=0, threads=1)
    best = search(genes, PROTEINS, task="blastx", threads=2)
    for one, other in zip(every, best, strict=True):
        assert [hit.id for hit in one] == [hit.id for hit in other]
        for hit, alone in zip(one, other, strict=True):
            assert hit.score == alone.score
            assert hit.evalue == alone.evalue


def test_sum_statistics_divide_the_evalue_of_a_single_alignment_by_0_9():
    options = {"max_target_seqs": 0, "align": False, "max_hsps": 0, "comp_based_stats": 0}
    genes = [(each.id, str(each)) for each in [*read_sequences(GENES)][:6]]
    without, with_sums = (
        {
            (hit.query.id, hit.id): hit
            for result in search(genes, PROTEINS, task="blastx", sum_stats=sums, **options)
            for hit in result
        }
        for sums in (False, True)
    )
    alone = [pair for pair in with_sums if len(with_sums[pair].alignments) == 1]
    assert len(alone) > 20
    for pair in alone:
        if with_sums[pair].score == without[pair].score:
            assert with_sums[pair].evalue == pytest.approx(without[pair].evalue / 0.9)
