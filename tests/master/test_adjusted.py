"""A search with composition-based statistics finds what the oracle finds, however it runs."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from oracles import composition as oracle
from oracles.statistics import finite_size_evalue

import swdual
from swdual.backend import Device
from swdual.errors import InputError, StatisticsUnavailable
from swdual.request import search_parameters
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import SubstitutionMatrix

LETTERS = "ARNDCQEGHILKMFPSTWYV"
FIGURES = json.loads((Path(__file__).parents[1] / "golden" / "blosum62.json").read_text())
"""NCBI's figures of BLOSUM62."""

STANDARD = np.array(FIGURES["standard"])


def random_protein(rng, length, bias=None):
    """Return a protein; a small `bias` makes few letters common."""
    shares = STANDARD if bias is None else rng.dirichlet(np.full(20, bias))
    return "".join(rng.choice([*LETTERS], length, p=shares / shares.sum()))


def relative(rng, protein, kept):
    """Return a protein of which some letters are replaced, and one part is left out."""
    letters = [x if rng.random() < kept else str(rng.choice([*LETTERS])) for x in protein]
    cut = len(letters) // 2
    return "".join(letters[:cut] + letters[cut + 3 :])


@pytest.fixture(scope="module")
def records():
    """Queries and targets: related ones, biased ones, and ones of low complexity."""
    rng = np.random.default_rng(21)
    queries = {
        "plain": random_protein(rng, 120),
        "biased": random_protein(rng, 90, 0.3),
        "repeats": "MKV" + "Q" * 20 + random_protein(rng, 60) + "SGSGSGSGSGSG",
        "rare": random_protein(rng, 30) + "UXBZJO*" + random_protein(rng, 30),
        "short": random_protein(rng, 20),
    }
    targets = {}
    for name, protein in queries.items():
        for number, kept in enumerate((1.0, 0.97, 0.6, 0.4)):
            targets[f"{name}{number}"] = relative(rng, protein, kept)
    for number in range(12):
        targets[f"other{number}"] = random_protein(rng, 40 + 11 * number, 0.4 + number)
    targets["homopolymer"] = "Q" * 60
    targets["few"] = "ACD"
    return queries, targets


def score_in(a, b):
    """Return the plain score of two letters; the figures lack U, O and J."""
    known = FIGURES["score_letters"]
    if a in known and b in known:
        return FIGURES["scores"][known.index(a)][known.index(b)]
    return FIGURES["default_score"]


def expected_hits(queries, targets, mode, evalue):
    """Return the targets of each query that reach an E-value, best first, by the oracle."""
    matrix = {a: {b: score_in(a, b) for b in oracle.LETTERS} for a in oracle.LETTERS}
    tables = oracle.read_tables(FIGURES, matrix, STANDARD)
    with_gaps, without = (
        dict(zip(FIGURES["statistics_columns"], FIGURES[name], strict=True))
        for name in ("gapped_11_1", "ungapped")
    )
    row = tuple(with_gaps[name] for name in ("lambda", "K", "alpha", "alpha_v", "sigma"))
    residues = sum(map(len, targets.values()))
    found = []
    for query in queries.values():
        hits = []
        for number, (name, target) in enumerate(targets.items()):
            unmasked = oracle.is_left_unmasked(query, target, matrix, (11, 1), row[0])
            local = oracle.adjusted_alignment(
                tables, query, target, mode, (11, 1), unmasked=unmasked
            )
            reached = finite_size_evalue(
                local.score / 32,
                len(query),
                len(target),
                residues,
                12,
                row,
                (without["alpha"], without["alpha_v"]),
            )
            score = math.floor(local.score / 32 + 0.5)
            if reached <= evalue and score >= 1:
                hits.append((-local.score, number, name, score, reached, local))
        found.append(sorted(hits, key=lambda hit: hit[:2]))
    return found


@pytest.mark.parametrize("mode", [1, 2, 3])
def test_hits_are_those_of_the_oracle(records, mode):
    """Each target's score and E-value, and their order; alignments end where the oracle's can."""
    queries, targets = records
    evalue = 50.0
    results = swdual.search(
        queries, targets, comp_based_stats=mode, adjust="all", evalue=evalue, max_target_seqs=0
    )
    for result, expected in zip(
        results, expected_hits(queries, targets, mode, evalue), strict=True
    ):
        assert [hit.id for hit in result] == [hit[2] for hit in expected], result.query.id
        assert [hit.score for hit in result] == [hit[3] for hit in expected]
        assert result.evalues == pytest.approx([hit[4] for hit in expected], rel=1e-6)
        for hit, (*_, local) in zip(result, expected, strict=True):
            if local.score:
                span = hit.query_end - hit.query_start
                assert abs(span - local.query_span) < len(queries[result.query.id])
                assert hit.identities <= min(span, hit.target_end - hit.target_start)


OPTIONS = {
    "one thread": {"threads": 1},
    "two workers": {"device": [Device()] * 2},
    "reference": {"backend": "reference"},
    "other kind": {"device": [Device("gpu", "simd", {"lanes": 16}), Device()]},
    "planner": {"planner": "self_scheduling"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_nothing_depends_on_how_the_search_runs(records, options):
    """Also not the alignments."""
    queries, targets = records
    asked = {"comp_based_stats": 2, "evalue": 100.0}
    base = swdual.search(queries, targets, **asked)
    other = swdual.search(queries, targets, **asked, **options)
    assert list(base) == list(other)
    for one, two in zip(base, other, strict=True):
        assert [hit.alignment for hit in one] == [hit.alignment for hit in two]


def test_late_alignments_are_the_same(records):
    """Those that are computed when they are looked at, and those of a result from a pickle."""
    queries, targets = records
    asked = {"comp_based_stats": 2, "evalue": 100.0}
    now = swdual.search(queries, targets, **asked)
    late = swdual.search(queries, targets, align=False, **asked)
    thawed = pickle.loads(pickle.dumps(swdual.search(queries, targets, align=False, **asked)))
    for one, two, three in zip(now, late, thawed, strict=True):
        assert [hit.alignment for hit in one] == [hit.alignment for hit in two]
        assert [hit.alignment for hit in one] == [hit.alignment for hit in three]


def test_candidates_are_a_part_of_all(records, monkeypatch):
    """With a narrow limit fewer targets are adjusted; their scores are the same."""
    queries, targets = records
    asked = {"comp_based_stats": 3, "evalue": 20.0, "max_target_seqs": 3}
    everything = swdual.search(queries, targets, adjust="all", **asked)
    monkeypatch.setattr(search_parameters, "CANDIDATE_FACTOR", 1e-6)
    monkeypatch.setattr(search_parameters, "CANDIDATE_EVALUE", 0.0)
    few = swdual.search(queries, targets, **asked)
    assert sum(map(len, few)) < sum(map(len, everything))
    for some, all_ in zip(few, everything, strict=True):
        scores = {hit.id: (hit.score, hit.evalue) for hit in all_}
        for hit in some:
            assert scores.get(hit.id, (hit.score, hit.evalue)) == (hit.score, hit.evalue)


def test_a_small_limit_keeps_the_candidates_of_significant_hits():
    """Targets up to a plain E-value of 1 are adjusted, also with a limit far below."""
    file = Path(__file__).parents[1] / "golden" / "biased_proteins.fasta.gz"
    asked = {"max_target_seqs": 0, "align": False}
    plain, wide, narrow = (
        {
            (result.query.id, hit.id): hit.evalue
            for result in swdual.search(file, file, evalue=limit, comp_based_stats=mode, **asked)
            for hit in result
        }
        for limit, mode in ((10.0, 0), (10.0, 2), (0.01, 2))
    )
    expected = {
        pair: evalue
        for pair, evalue in wide.items()
        if evalue <= 0.01 and plain.get(pair, math.inf) <= 1
    }
    assert narrow == expected
    assert any(plain[pair] > 0.1 for pair in expected)


UNLIMITED = {"comp_based_stats": 2, "adjust": "all", "evalue": 1e6, "max_target_seqs": 0}


@pytest.fixture(scope="module")
def everything(records):
    """All hits of all targets."""
    return swdual.search(*records, **UNLIMITED)


def test_equal_scores_are_ordered_by_what_was_rounded(everything):
    """Then by the input."""
    equal = 0
    for result in everything:
        order = np.lexsort((result.ordinals, -result.unrounded))
        assert order.tolist() == list(range(len(result)))
        equal += np.count_nonzero((np.diff(result.scores) == 0) & (np.diff(result.unrounded) < 0))
    assert equal > 10


FILTERS = {
    "evalue": (1e-3, lambda hit, best: hit.evalue <= 1e-3),
    "min_raw_score": (35, lambda hit, best: hit.score >= 35),
    "min_score": (20.0, lambda hit, best: hit.bits >= 20),
    "min_identity": (85.0, lambda hit, best: hit.identity >= 0.85),
    "min_query_cover": (50.0, lambda hit, best: hit.query_coverage >= 0.5),
    "top": (50.0, lambda hit, best: hit.score >= best / 2),
}
"""A value of each filter, and whether a hit passes, given the score of the best one.

Some hits have just this score, and this identity.
"""


@pytest.mark.parametrize("name", FILTERS)
def test_filters_use_adjusted_scores(records, everything, name):
    value, passes = FILTERS[name]
    filtered = swdual.search(*records, **{**UNLIMITED, name: value})
    for some, all_ in zip(filtered, everything, strict=True):
        expected = [hit.id for hit in all_ if passes(hit, all_[0].score)]
        assert [hit.id for hit in some] == expected


def test_the_best_are_those_of_adjusted_scores(records, everything):
    best = swdual.search(*records, **{**UNLIMITED, "max_target_seqs": 2})
    for some, all_ in zip(best, everything, strict=True):
        assert [hit.id for hit in some] == [hit.id for hit in all_][:2]


def test_fields_tell_what_was_done(records):
    """And a resumed or repeated search of another mode is another search."""
    queries, targets = records
    (plain, *_) = swdual.search(queries, targets, comp_based_stats=0)
    frame = swdual.search(queries, targets, comp_based_stats=1).to_pandas(
        ["sseqid", "adjustment", "lambda_ratio"]
    )
    assert set(plain.adjustments.tolist()) == {0}
    assert set(plain.lambda_ratios.tolist()) == {1.0}
    assert {x.partition(",")[0] for x in frame["adjustment"]} == {"scaled"}
    assert frame["lambda_ratio"].between(0.5, 1.0).all()
    assert (frame["lambda_ratio"] < 1).any()
    assert frame["adjustment"].str.endswith("not masked").any()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"comp_based_stats": 4}, InputError, r"`comp_based_stats` is 4, but it must be 0, 1, 2"),
        ({"comp_based_stats": "D"}, InputError, r"`comp_based_stats` is 'D'"),
        ({"adjust": "some"}, InputError, r"`adjust` is 'some', but it must be candidates or all"),
        ({"comp_based_stats": 2, "stats": "fit"}, InputError, r"needs .*`stats='table'`"),
        ({"comp_based_stats": 2, "stats": "none"}, InputError, r"needs .*`stats='table'`"),
        (
            {"comp_based_stats": 1, "dbtype": "nucl"},
            InputError,
            r"is for proteins, but .* nucleotides",
        ),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        swdual.search("ACGTACGTACGT", {"t": "ACGTACGTTACGT"}, **{"dbtype": "prot"} | options)


def test_other_matrices_are_refused():
    """There are no frequencies for them."""
    scores = np.full((32, 32), -3)
    np.fill_diagonal(scores, 4)
    matrix = SubstitutionMatrix("mine", PROTEIN, scores)
    with pytest.raises(StatisticsUnavailable, match=r"mine.*BLOSUM62"):
        swdual.search("MKVLAW", {"t": "MKVLAW"}, matrix=matrix, comp_based_stats=2)
