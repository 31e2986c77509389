"""Several alignments a hit: as blastp has them, in every form of a result."""

from __future__ import annotations

import csv
import gzip
import math
import pickle
import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support.genes import CODONS

import swdual
from swdual.alignment.tracer import Tracer
from swdual.errors import InputError
from swdual.format import print_bits, print_coverage, print_evalue
from swdual.hits import columns as hit_columns
from swdual.hits.fields import columns
from swdual.sequences.genetic_codes import GENETIC_CODES

pytestmark = pytest.mark.sample("values")

GOLDEN = Path(__file__).parents[1] / "golden"
QUERIES, TARGETS = (GOLDEN / f"repeated_{kind}.fasta" for kind in ("queries", "targets"))
NUMBERS = ("score", "qstart", "qend", "sstart", "send", "nident", "positive", "length")

OTHER_PLACE = "equal score at another place"
ONE_MORE_COLUMN = "lower score: blastp forbids the column behind each alignment, too"
ACROSS = "higher score: aligned across an earlier alignment"


@pytest.fixture(scope="module")
def found():
    """Results with up to five alignments a hit, by mode of composition-based statistics."""
    return {
        mode: swdual.search(
            QUERIES, TARGETS, max_hsps=5, max_target_seqs=0, evalue=10, comp_based_stats=mode
        )
        for mode in (0, 2)
    }


def read_rows(name):
    """Return the rows of a table that blastp printed."""
    with gzip.open(GOLDEN / name, "rt") as stream:
        lines = [line for line in stream if not line.startswith("#")]
    return [*csv.DictReader(lines, delimiter="\t")]


def by_pair(rows, key):
    """Return rows by query and target, in their order."""
    pairs = defaultdict(list)
    for row in rows:
        pairs[key(row)].append(row)
    return pairs


def rows_of(results, fields):
    """Return all rows of a table as dictionaries."""
    return results.to_pandas([*fields]).to_dict("records")


@pytest.mark.parametrize("mode", [0, 2])
def test_alignments_are_those_of_blastp(found, mode):
    """Scores, places, E-values, bit scores; blastp's own ways explain the few others."""
    table = read_rows("repeated_blastp.tsv.gz")
    rows = [row for row in table if row["mode"] == str(mode)]
    fields = ("qseqid", "sseqid", *NUMBERS, "evalue", "bitscore", "qcovs", "qcovhsp", "cigar")
    ours = by_pair(rows_of(found[mode], fields), lambda row: (row["qseqid"], row["sseqid"]))
    theirs = by_pair(rows, lambda row: (row["qseqid"], row["sseqid"]))
    assert set(theirs) <= set(ours)
    equal = 0
    others = Counter()
    for pair, expected in theirs.items():
        for place, row in enumerate(expected):
            own = ours[pair][place]
            if any(own[name] != int(row[name]) for name in NUMBERS[:5]):
                others[_explain(own, row, expected[:place])] += 1
                break  # what follows depends on this one
            equal += 1
            assert print_evalue(own["evalue"]) == row["evalue"]
            assert print_bits(own["bitscore"]) == row["bitscore"]
            assert print_coverage(own["qcovhsp"]) == row["qcovhsp"]
        else:
            if len(expected) == len(ours[pair]):
                assert print_coverage(ours[pair][0]["qcovs"]) == expected[0]["qcovs"]
    assert (
        others
        == {
            0: {OTHER_PLACE: 1, ACROSS: 2, ONE_MORE_COLUMN: 1},
            2: {ACROSS: 1, ONE_MORE_COLUMN: 1},
        }[mode]
    )
    assert equal > 690


def _explain(own, row, earlier):
    """Return why an alignment of blastp is another one than ours.

    Parameters
    ----------
    own, row, earlier
        Our row, that of blastp, and the rows of the pair before these, which are equal.
    """
    i, j = int(own["qstart"]), int(own["sstart"])
    theirs = {name: int(row[name]) for name in NUMBERS}
    boxes = [{name: int(each[name]) for name in NUMBERS} for each in earlier]
    if theirs["score"] == own["score"]:
        return OTHER_PLACE
    if theirs["score"] > own["score"]:
        # Its X-drop alignment, between the ends that Smith-Waterman found, knows no rectangles.
        assert any(
            theirs["qstart"] <= box["qend"]
            and box["qstart"] <= theirs["qend"]
            and theirs["sstart"] <= box["send"]
            and box["sstart"] <= theirs["send"]
            for box in boxes
        )
        return ACROSS
    pairs = _pairs(i, j, [(x, int(n)) for n, x in re.findall(r"(\d+)(\D)", own["cigar"])])
    assert any(
        box["qstart"] <= row <= box["qend"] and column == box["send"] + 1
        for box in boxes
        for row, column in pairs
    )
    return ONE_MORE_COLUMN


def test_the_first_alignment_is_that_of_a_search_for_one(found):
    """Hits, their order and their columns do not depend on how many alignments are reported."""
    for mode, results in found.items():
        one = swdual.search(QUERIES, TARGETS, max_target_seqs=0, evalue=10, comp_based_stats=mode)
        for several, single in zip(results, one, strict=True):
            assert several.titles == single.titles
            for name in hit_columns.HIT_COLUMNS:
                assert np.array_equal(getattr(several, name), getattr(single, name)), name
            assert np.array_equal(several.tracebacks.numbers, single.tracebacks.numbers)
            assert single.per_alignment() is single
            assert [len(hit.alignments) for hit in single] == [1] * len(single)


def test_scores_never_rise_and_pass_the_limits(found):
    """Among the alignments of a hit; no more than five, and no two share a pair of residues."""
    for results in found.values():
        for result in results:
            for hit in result:
                each = hit.alignments
                assert each[0] == hit.alignment
                assert len(each) <= 5
                assert all(a.score >= b.score for a, b in pairwise(each))
                assert all(a.evalue <= b.evalue <= 10 for a, b in pairwise(each))
                seen = [_pairs(x.query_start, x.target_start, x.operations) for x in each]
                assert len(set().union(*seen)) == sum(map(len, seen))


def _pairs(i, j, operations):
    """Return the pairs of residues of an alignment that begins at i and j."""
    pairs = set()
    for letter, count in operations:
        if letter == "M":
            pairs |= {(i + k, j + k) for k in range(count)}
        i += count * (letter != "D")
        j += count * (letter != "I")
    return pairs


def same(one, other):
    """Return whether two results have the same alignments, bit by bit."""
    return all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in zip(
            (*one.further[:-1], *one.further.tracebacks),
            (*other.further[:-1], *other.further.tracebacks),
            strict=True,
        )
    )


OPTIONS = {
    "adjusted": {},
    "scaled": {"comp_based_stats": 1},
    "plain": {"comp_based_stats": 0},
    "fitted": {"stats": "fit", "evalue": 1e-3},
    "no statistics": {"stats": "none", "min_raw_score": 60},
    "bit score": {"min_score": 40},
    "soft mask": {"mask": "tantan:0.01", "soft_masking": True, "comp_based_stats": 0},
    "targets": {"db_hard_mask": "tantan:0.01"},
    "filters": {"min_identity": 40, "min_query_cover": 8},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_alignments_found_late_are_the_same(options, monkeypatch):
    """When they are first used, in pieces, after pickling, and by any number of threads."""
    common = {"max_hsps": 4, **options}
    now = swdual.search(QUERIES, TARGETS, **common, threads=2)
    assert all(result.traced_further is not None for result in now if len(result))
    assert sum(len(result.further.scores) for result in now) > 50
    late = swdual.search(QUERIES, TARGETS, **common, align=False, threads=1)
    monkeypatch.setattr(hit_columns, "MAX_PIECE_WEIGHT", 5000)
    for one, other in zip(now, late, strict=True):
        assert same(one, other)
        assert same(one, pickle.loads(pickle.dumps(other)))
        bare = replace(one, traced=None, traced_further=None)
        assert same(one, pickle.loads(pickle.dumps(bare)))


@pytest.mark.parametrize(
    "limits",
    [
        {"min_identity": 60.0, "min_query_cover": 25.0},
        {"min_identity": 60.0, "min_target_cover": 25.0},
    ],
    ids=["query", "target"],
)
def test_filters_decide_by_the_best_alignment_and_hide_others(found, limits):
    """During the search, where others do not count, and afterwards."""
    during = swdual.search(
        QUERIES, TARGETS, max_hsps=0, max_target_seqs=0, evalue=10, comp_based_stats=0, **limits
    )
    whole = swdual.search(
        QUERIES, TARGETS, max_hsps=0, max_target_seqs=0, evalue=10, comp_based_stats=0
    )
    after = whole.filter(**limits)
    assert sum(len(result) for result in after) < sum(len(result) for result in whole)
    hidden = 0
    for one, other, all_hits in zip(during, after, whole, strict=True):
        assert one.titles == other.titles
        assert same(one, other)
        for hit in other:
            both = len(hit.alignments), len(all_hits[hit.id].alignments)
            hidden += both[0] < both[1]
            for alignment in hit.alignments:
                assert alignment.identity >= 0.6
                assert 100 * alignment.query_coverage >= limits.get("min_query_cover", 0)
                assert 100 * alignment.target_coverage >= limits.get("min_target_cover", 0)
    assert hidden > 5
    strict = found[0].filter(evalue=1e-6)
    assert all(x.evalue <= 1e-6 for result in strict for hit in result for x in hit.alignments)
    assert any(len(hit.alignments) > 1 for result in strict for hit in result)


def test_rows_of_alignments_keep_the_rank_of_their_hit(found):
    """And the order: hits as they are, alignments as they were found."""
    for result in found[2]:
        rows = result.per_alignment()
        expected = [
            (hit.rank, hit.id, each.score, each.query_start, each.cigar)
            for hit in result
            for each in hit.alignments
        ]
        assert expected == [
            (row.rank, row.id, row.score, row.query_start, row.alignment.cigar) for row in rows
        ]
        assert rows.per_alignment() is rows
        assert [row.alignments for row in rows] == [[row.alignment] for row in rows]
        assert [*columns(rows, ["rank"])[0]] == [rank for rank, *_ in expected]


def test_coverage_by_target_counts_the_union_of_all_alignments(found):
    """`qcovs` of all rows of a hit, and of the hit itself; `qcovhsp` is of each alignment."""
    overlapping = 0
    for result in found[0]:
        length = len(result.query.codes)
        rows = result.per_alignment()
        by_row = dict(zip(rows.ranks.tolist(), columns(rows, ["qcovs"])[0], strict=True))
        by_hit = columns(result, ["qcovs"])[0]
        for hit, percent in zip(result, by_hit, strict=True):
            covered = set()
            for each in hit.alignments:
                covered |= {*range(each.query_start, each.query_end)}
            assert percent == by_row[hit.rank] == 100 * len(covered) / length
            spans = sum(each.query_end - each.query_start for each in hit.alignments)
            overlapping += spans > len(covered)
    assert overlapping > 10


def test_subsets_and_the_best_hits_keep_their_alignments(found):
    """`top`, `within`, and pieces."""
    result = found[0][6]
    for smaller in (result.top(3), result.within(60), result.subset(np.array([4, 0, 2]))):
        for hit in smaller:
            assert hit.alignments == result[hit.id].alignments


def test_biopython_groups_the_alignments_of_a_hit(found):
    """One hit with several HSPs."""
    pytest.importorskip("Bio")
    result = found[2][0]
    for hit, other in zip(result, result.to_searchio(), strict=True):
        assert [x.bitscore_raw for x in other.hsps] == [x.score for x in hit.alignments]
        assert [x.evalue for x in other.hsps] == [x.evalue for x in hit.alignments]
        assert [x.query_start for x in other.hsps] == [x.query_start for x in hit.alignments]


def test_a_notebook_shows_all_alignments_of_a_hit(found):
    """Below each other, with their numbers."""
    hit = max(found[2][6], key=lambda hit: len(hit.alignments))
    page = hit._repr_html_()
    for alignment in hit.alignments:
        assert f"{alignment.identities:,} of {alignment.length:,}" in page
        assert f"{alignment.bits:.1f}" in page
    one = found[2][6].per_alignment()[0]._repr_html_()
    assert page.startswith(one)


def test_formats_group_or_list_the_alignments(found, tmp_path):
    """Blocks under one title, HSPs with numbers, secondary lines; rows of tables."""
    results = found[2]
    hits = sum(len(result) for result in results)
    count = sum(len(hit.alignments) for result in results for hit in result)
    assert count > hits + 300

    def write(name, outfmt):
        results.write(tmp_path / name, outfmt)
        return (tmp_path / name).read_text()

    pairwise_text = write("0.txt", "0")
    assert pairwise_text.count("\n>") == hits
    assert pairwise_text.count(" Score = ") == count
    xml = write("5.xml", "5")
    assert (xml.count("<Hit>"), xml.count("<Hsp>")) == (hits, count)
    first = results[0][0].alignments
    for number, alignment in enumerate(first, start=1):
        part = xml.split("<Hsp>")[number]
        assert f"<Hsp_num>{number}</Hsp_num>" in part
        assert f"<Hsp_score>{alignment.score}</Hsp_score>" in part
        assert f"<Hsp_query-from>{alignment.query_start + 1}</Hsp_query-from>" in part
    assert write("6.tsv", "6 sseqid").count("\n") == count
    commented = write("7.tsv", "7 qseqid rank")
    said = sum(int(x.split()[1]) for x in commented.splitlines() if x.endswith("hits found"))
    assert said == count
    flags = [line.split("\t")[1] for line in write("x.sam", "sam").splitlines() if line[0] != "@"]
    assert (flags.count("0"), flags.count("256")) == (len(results), count - len(results))
    assert write("x.paf", "paf").count("\n") == count
    assert write("x.jsonl", "jsonl").count("\n") == count
    assert len(results.to_pandas("qseqid")) == count


@pytest.mark.parametrize("value", [-1, "two", math.nan])
def test_a_wrong_number_of_alignments_is_refused(value):
    """The error names the option."""
    with pytest.raises(InputError, match="`max_hsps` is"):
        swdual.search("MKVLAW", {"t": "MKVLAW"}, max_hsps=value)


def test_a_target_that_repeats_the_query_has_an_alignment_for_each_copy():
    """All copies with `max_hsps=0`, the first ones with another number."""
    query = "MKVLAWGGHEWWCP"
    results = swdual.search(query, {"t": query * 4}, stats="none", max_hsps=0, min_raw_score=50)
    found = [(x.target_start, x.score) for x in results[0][0].alignments]
    assert found == [(14 * k, found[0][1]) for k in range(4)]
    two = swdual.search(query, {"t": query * 4}, stats="none", max_hsps=2, min_raw_score=50)
    assert [x.target_start for x in two[0][0].alignments] == [0, 14]


def test_frames_of_targets_of_nearly_equal_lengths_are_aligned_apart(monkeypatch):
    """The order of targets by length is another in another frame, and kernels need it.

    Each target by itself is the oracle.
    """
    query = "MKVLAWGGHERWCDEFMKTA"
    rng = np.random.default_rng(3)
    gene = "".join(CODONS[GENETIC_CODES[1].index(letter)] for letter in query)

    def drawn(count):
        return "".join(rng.choice([*"ACGT"], count))

    targets = {f"t{k}": drawn(k % 7) + gene + drawn(30 + k) + gene for k in range(60)}
    orders, trace_around = [], Tracer.trace_around

    def watched(self, pairs, *arguments):
        orders.append(np.diff(pairs.targets.lengths.astype(np.int64)).max(initial=0))
        return trace_around(self, pairs, *arguments)

    monkeypatch.setattr(Tracer, "trace_around", watched)
    options = {"task": "tblastn", "stats": "none", "min_raw_score": 20, "mask": "none"}
    options |= {"max_hsps": 0}
    (together,) = swdual.search(query, targets, max_target_seqs=0, **options)
    assert len(together) == len(targets)
    assert max(orders) == 0
    for hit in together:
        (alone,) = swdual.search(query, {hit.id: targets[hit.id]}, **options)[0]
        assert [str(x) for x in hit.alignments] == [str(x) for x in alone.alignments]
        assert len(hit.alignments) > 1


def test_coverages_by_several_alignments_are_those_of_blastn():
    """`qcovs`, and `qcovus`, for which parts of the target count once, on both strands."""
    folder = GOLDEN / "foreign"
    found = swdual.search(
        *(folder / "coverage_query.fasta", folder / "coverage_targets.fasta"),
        **{"max_hsps": 0, "evalue": 1e-5, "task": "blastn", "mask": "none"},
    )
    fields = "qaccver saccver qstart qend sstart send qcovs qcovus"
    rows = [
        "\t".join(map(str, row[:-2])) + f"\t{print_coverage(row[-2])}\t{print_coverage(row[-1])}"
        for result in found
        for row in zip(*columns(result.per_alignment(), fields.split()), strict=True)
    ]
    assert rows == (folder / "blastn_coverage.txt").read_text().splitlines()
    hits = [round(value) for value in columns(found[0], ["qcovus"])[0]]
    assert hits == [52, 54, 32]
