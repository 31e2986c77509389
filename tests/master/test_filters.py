"""Identity, query cover and `top`: the best hits of those that pass, whoever finds them and how."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import swdual
from swdual.errors import InputError
from swdual.hits import columns, query_result
from swdual.hits.columns import score_cutoff
from swdual.master import merge, ranges
from swdual.master.context import SearchContext
from swdual.request import inputs
from swdual.request.comparison import Comparison

pytestmark = pytest.mark.sample("values")

LETTERS = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
STATS = {
    "table": {"evalue": 1e3},
    "fit": {"stats": "fit", "evalue": 1e3},
    "none": {"stats": "none"},
}

FILTERS = {
    "identity": {"min_identity": 60.0},
    "cover": {"min_query_cover": 70.0},
    "both": {"min_identity": 45.5, "min_query_cover": 33.3},
    "target": {"min_target_cover": 80.0},
    "all three": {"min_identity": 45.5, "min_query_cover": 33.3, "min_target_cover": 60.0},
    "everything": {"min_identity": 0.1, "min_query_cover": 0.1, "min_target_cover": 0.1},
    "nothing": {"min_identity": 100.0, "min_query_cover": 100.0},
}


@pytest.fixture(scope="module")
def pair():
    """Queries, and targets that are like them in part and to some degree, some of them twice."""
    rng = np.random.default_rng(5)
    queries = {f"q{k}": "".join(rng.choice(LETTERS, 60 + 30 * k)) for k in range(3)}
    targets = {}
    for name, query in queries.items():
        for number in range(60):
            letters = np.array(list(query))
            first, last = sorted(rng.integers(0, len(letters) + 1, 2))
            changed = rng.random(len(letters)) < rng.random() * 0.7
            letters[changed] = rng.choice(LETTERS, int(changed.sum()))
            related = "".join(letters[first:last]) + "".join(rng.choice(LETTERS, 20))
            targets[f"{name}_{number}"] = related
            if number % 5 == 0:
                targets[f"{name}_{number}_again"] = related
    return queries, targets


@pytest.fixture(scope="module")
def everything(pair):
    """All hits for each kind of statistics, with nothing left out."""
    return {
        stats: swdual.search(*pair, max_target_seqs=0, **options)
        for stats, options in STATS.items()
    }


def lines(results):
    """Return what identifies each hit of each query, in order, with its place."""
    return [[(hit.rank, hit.id, hit.score) for hit in result] for result in results]


def expected(results, count, min_identity=0.0, min_query_cover=0.0, min_target_cover=0.0, top=None):
    """Return the same for all hits, chosen one by one by the definitions."""
    chosen = []
    for result in results:
        passing = [
            hit
            for hit in result
            if 100 * hit.alignment.identity >= min_identity
            and 100 * (hit.alignment.query_end - hit.alignment.query_start)
            >= min_query_cover * len(hit.query.codes)
            and 100 * (hit.alignment.target_end - hit.alignment.target_start)
            >= min_target_cover * hit.target_length
        ]
        if top is not None and passing:
            best = max(hit.score for hit in passing)
            passing = [hit for hit in passing if 100 * (best - hit.score) <= top * best]
        passing = passing[: count or None]
        chosen.append([(k, hit.id, hit.score) for k, hit in enumerate(passing, start=1)])
    return chosen


@pytest.mark.parametrize("count", [0, 1, 7])
@pytest.mark.parametrize("stats", STATS)
@pytest.mark.parametrize("name", FILTERS)
def test_the_best_hits_that_pass_are_found(pair, everything, name, stats, count):
    """`max_target_seqs` counts those that pass, not those that were looked at."""
    options = FILTERS[name]
    found = swdual.search(*pair, max_target_seqs=count, **STATS[stats], **options)
    assert lines(found) == expected(everything[stats], count, **options)
    if name not in ("everything", "nothing"):
        kept, whole = (sum(map(len, each)) for each in (found, everything[stats]))
        assert 0 < kept < whole


@dataclass(frozen=True)
class FewMismatches(Comparison):
    """A kind of comparison whose hits have alignments with few mismatches."""

    most: int = 20

    filters_alignments = True

    def accepts(self, column):
        return column("lengths") - column("identities") - column("gaps") <= self.most


@pytest.mark.parametrize("options", [{}, {"align": False}, {"max_hsps": 3}, {"min_identity": 50.0}])
@pytest.mark.parametrize("count", [0, 7])
def test_a_kind_of_comparison_may_choose_hits_by_their_alignments(
    pair, everything, monkeypatch, options, count
):
    """Besides the limits of options, of hits and of their further alignments."""
    monkeypatch.setattr(inputs, "choose_comparison", lambda sources: FewMismatches())
    found = swdual.search(*pair, max_target_seqs=count, **STATS["table"], **options)

    def mismatches(hit):
        alignment = hit.alignment
        return alignment.length - alignment.identities - alignment.gaps

    chosen = [[hit for hit in result if mismatches(hit) <= 20] for result in everything["table"]]
    limit = options.get("min_identity", 0.0)
    assert lines(found) == expected(chosen, count, min_identity=limit)
    assert all(mismatches(row) <= 20 for result in found for row in result.per_alignment())
    assert sum(map(len, chosen)) < sum(map(len, everything["table"]))


@pytest.mark.parametrize("count", [None, 0, 3])
@pytest.mark.parametrize("top", [0, 10, 62.5, 100])
@pytest.mark.parametrize("stats", STATS)
def test_top_keeps_what_is_near_the_best_score(pair, everything, stats, top, count):
    """All hits of equal scores, unless `max_target_seqs` is named too."""
    found = swdual.search(*pair, top=top, max_target_seqs=count, **STATS[stats])
    assert lines(found) == expected(everything[stats], count or 0, top=top)
    assert found.params.max_target_seqs == (count or 0)


@pytest.mark.parametrize("name", ["identity", "both"])
def test_top_counts_from_the_best_hit_that_passes(pair, everything, name):
    options = {**FILTERS[name], "top": 30}
    found = swdual.search(*pair, **STATS["table"], **options)
    assert lines(found) == expected(everything["table"], 0, **options)


def test_equal_best_scores_are_all_kept(pair):
    """`top=0` is all hits that score the most."""
    queries, targets = pair
    twice = {f"{name}_{k}": query for k in range(2) for name, query in queries.items()}
    found = swdual.search(queries, {**targets, **twice}, top=0)
    assert [len(result) for result in found] == [2, 2, 2]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "options", [*FILTERS.values(), {"top": 40}, {"top": 40, "min_identity": 50}]
)
def test_threads_and_ranges_change_nothing(pair, monkeypatch, options):
    """Nor whether alignments are known, are found when asked for, or only some at a time."""
    usual = swdual.search(*pair, max_target_seqs=5, **STATS["table"], **options)
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 100)
    monkeypatch.setattr(merge, "MAX_PARTS", 2)
    for threads in (1, 3):
        more = {**STATS["table"], **options, "threads": threads}
        assert swdual.search(*pair, max_target_seqs=5, **more) == usual
        assert swdual.search(*pair, max_target_seqs=5, align=False, **more) == usual
    monkeypatch.setattr(SearchContext, "aligns_now", lambda self, hits: False)
    monkeypatch.setattr(columns, "MAX_PIECE_WEIGHT", 1500)
    assert swdual.search(*pair, max_target_seqs=5, **STATS["table"], **options) == usual


def test_no_more_alignments_are_found_than_needed(pair, monkeypatch):
    """Where they are found some at a time, the search for more ends with the last that counts."""
    monkeypatch.setattr(SearchContext, "aligns_now", lambda self, hits: False)
    monkeypatch.setattr(columns, "MAX_PIECE_WEIGHT", 1500)
    looked_at = []
    passing = query_result.QueryResult.is_passing

    def counting(self, *bars, **more):
        looked_at.append(len(self))
        return passing(self, *bars, **more)

    monkeypatch.setattr(query_result.QueryResult, "is_passing", counting)
    whole = swdual.search(*pair, min_identity=1, max_target_seqs=0, evalue=math.inf)
    most = sum(looked_at)
    assert most == sum(map(len, whole))
    for options in ({"max_target_seqs": 3}, {"top": 20}):
        looked_at.clear()
        swdual.search(*pair, min_identity=1, evalue=math.inf, **options)
        assert sum(looked_at) < most / 2


@pytest.mark.parametrize("cover", [40, 90])
def test_what_is_covered_of_a_translated_target_is_counted_in_its_nucleotides(cover):
    """On both strands: as the columns sstart, send and slen tell it."""
    rng = np.random.default_rng(8)
    codons = {"A": "GCT", "K": "AAA", "L": "CTG", "W": "TGG", "D": "GAT", "R": "CGT", "F": "TTT"}
    query = "".join(rng.choice([*codons], 60))
    gene = "".join(codons[letter] for letter in query)
    flank = "".join(rng.choice([*"ACGT"], 180))
    minus = gene.translate(str.maketrans("ACGT", "TGCA"))[::-1]
    targets = {"gene": gene, "minus": minus, "long": gene + flank, "long_minus": flank + minus}
    options = {"task": "tblastn", "evalue": 1e-3, "mask": "none"}
    rows = swdual.search(query, targets, **options).to_pandas(["sseqid", "sstart", "send", "slen"])
    covered = (rows["send"] - rows["sstart"]).abs() + 1
    expected = set(rows["sseqid"][100 * covered >= cover * rows["slen"]])
    found = swdual.search(query, targets, min_target_cover=cover, **options)
    assert {hit.id for hit in found[0]} == expected
    assert len(expected) == (4 if cover == 40 else 2)


@pytest.mark.parametrize("strand", ["both", "minus"])
def test_both_strands_of_nucleotides_are_covered(strand):
    """The part of the query that is aligned counts, on whichever strand."""
    complement = str.maketrans("ACGT", "TGCA")
    query = "ACGTTGCAAGGTCATTGCAGGCATTACGGA"
    whole, half = (part.translate(complement)[::-1] for part in (query, query[:15]))
    found = swdual.search(
        query, {"half": half, "whole": whole}, dbtype="nucl", strand=strand, min_query_cover=60
    )
    assert [hit.id for hit in found[0]] == ["whole"]


@pytest.mark.parametrize("name", ["min_identity", "min_query_cover", "min_target_cover", "top"])
@pytest.mark.parametrize("value", [-1, 100.5, math.nan])
def test_what_is_no_percentage_is_refused(pair, name, value):
    with pytest.raises(InputError, match=f"`{name}` is {value}, but"):
        swdual.search(*pair, **{name: value})


def test_the_cutoff_is_exact():
    """The least score that is at most so many percent below the best."""
    for best in range(1, 400):
        for tenths in range(0, 1001, 7):
            least = score_cutoff(best, tenths / 10)
            allowed = [s for s in range(best + 1) if 1000 * (best - s) <= tenths * best]
            assert least == allowed[0]
