"""Searches for peptides: hits are the oracle's, however the work is cut, and options that make no
sense are refused."""

from __future__ import annotations

import math
import pickle
import random

import numpy as np
import pytest
from oracles import peptides as oracle
from support.properties import in_parts, seeds

from swdual.api import allpairs, search
from swdual.database import build
from swdual.database.database import Database
from swdual.errors import InputError, MemoryLimitError
from swdual.master import occurrences
from swdual.prediction.preview import plan
from swdual.sequences import matrices
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

pytestmark = pytest.mark.usefixtures("no_thread_is_left")

BLOSUM62 = matrices.load("BLOSUM62").scores
TARGETS = {"one": "MKSIINFEKLXXSILNFEKLA", "two": "SIINFDKLAAASIINFEKM", "three": "WWW"}
PEPTIDE = {"ova": "SIINFEKL"}


def blosum(a, b):
    return int(BLOSUM62[PROTEIN.letters.index(a), PROTEIN.letters.index(b)])


def draw(rng, letters="AILXW"):
    def text(longest):
        return "".join(rng.choices(letters, k=rng.randint(1, longest)))

    targets = {f"t{k}": text(rng.choice((5, 60))) for k in range(rng.randint(1, 12))}
    queries = {f"q{k}": text(rng.choice((5, 12))) for k in range(rng.randint(1, 9))}
    return queries, targets


def database_of(targets, alphabet=PROTEIN, block_bytes=64 << 20):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "BLOCK_BYTES", block_bytes)
        batch = batch_of(
            Sequence(title, alphabet.encode(text), alphabet) for title, text in targets.items()
        )
        return Database.from_batches([batch], alphabet, "test")


def list_found(results):
    """Return [(query, target, start, mismatches, score)] in the order of the results."""
    return [
        (
            result.query.id,
            rows.target_ids[k],
            int(rows.tracebacks.column("target_starts")[k]),
            int((rows.tracebacks.column("lengths") - rows.tracebacks.column("identities"))[k]),
            int(rows.scores[k]),
        )
        for result in results
        for rows in [result.per_alignment()]
        for k in range(len(rows))
    ]


def expect(queries, targets, most=0, **options):
    """Return what `list_found` should: hits by their best occurrence, then in input order."""
    expected = []
    for query, peptide in queries.items():
        hits = [
            (target, oracle.rank(oracle.find(peptide, text, **options)))
            for target, text in targets.items()
        ]
        hits = sorted((hit for hit in hits if hit[1]), key=lambda hit: -hit[1][0][2])
        for target, found in hits[: most or None]:
            expected += [(query, target, *each) for each in found]
    return expected


@in_parts
def test_random_searches_find_what_the_definition_says(part, monkeypatch):
    for seed in seeds(300, part):
        rng = random.Random(seed)
        queries, targets = draw(rng)
        shortest = min(map(len, queries.values()))
        limit, equate_il, most = rng.randrange(shortest), rng.random() < 0.5, rng.choice((0, 0, 2))
        monkeypatch.setattr(occurrences, "FIRST_BATCH", rng.choice((1, 2, 512)))
        monkeypatch.setattr(occurrences, "PART_RESIDUES", rng.choice((7, 1 << 20)))
        results = search(
            queries,
            database_of(targets, block_bytes=rng.choice((64, 64 << 20))),
            task="peptide",
            max_mismatches=limit,
            equate_il=equate_il,
            max_target_seqs=most,
            threads=rng.choice((1, 3)),
        )
        expected = expect(queries, targets, most, limit=limit, equate_il=equate_il)
        assert list_found(results) == expected, seed


@in_parts
def test_random_searches_by_score_find_what_the_definition_says(part):
    for seed in seeds(200, part):
        rng = random.Random(seed)
        queries, targets = draw(rng, "AILKXW")
        least, limit = rng.choice((1, 8, 20)), rng.choice((None, 1, 2))
        if limit is not None:
            queries = {name: text for name, text in queries.items() if len(text) > limit}
        results = search(
            queries,
            targets,
            task="peptide",
            max_mismatches=limit,
            min_raw_score=least,
            matrix="BLOSUM62",
        )
        if limit is None and least == 1:
            limit = 0
        expected = expect(queries, targets, limit=limit, score=blosum, least=least)
        assert list_found(results) == expected, seed


def test_a_search_for_peptides_without_more_is_for_exact_matches():
    found = list_found(search(PEPTIDE, TARGETS, task="peptide"))
    assert found == [("ova", "one", 2, 0, 8)]


def test_all_occurrences_in_a_target_are_reported():
    result = search(PEPTIDE, TARGETS, task="peptide", max_mismatches=1)[0]
    assert [hit.id for hit in result] == ["one", "two"]
    rows = result.per_alignment()
    assert rows.target_ids == ["one", "one", "two", "two"]
    assert rows.tracebacks.column("target_starts").tolist() == [2, 12, 0, 11]
    assert [rows.tracebacks.cigar(k) for k in range(4)] == ["8M"] * 4
    assert str(result[1].alignment).split("\n")[1].strip() == "SIINF KL"


def test_i_and_l_have_the_same_mass():
    result = search(PEPTIDE, TARGETS, task="peptide", equate_il=True)[0]
    rows = result.per_alignment()
    assert rows.tracebacks.column("target_starts").tolist() == [2, 12]
    assert rows.scores.tolist() == [8, 8]


@pytest.mark.parametrize("matrix", [None, "BLOSUM62"])
@in_parts
def test_e_values_are_the_expected_numbers_of_chance_matches(part, matrix):
    for seed in seeds(25, part):
        rng = random.Random(seed)
        _, targets = draw(rng, "ALW")
        queries = {"q": "".join(rng.choices("ALW", k=rng.randint(2, 5)))}
        score = blosum if matrix else lambda a, b: int(oracle.equal(a, b, equate_il=False))
        results = search(
            queries,
            targets,
            task="peptide",
            max_mismatches=1,
            stats="composition",
            matrix=matrix,
            evalue=1e9,
        )
        rows = results[0].per_alignment()
        for k in range(len(rows)):
            expected = oracle.expect(queries["q"], targets.values(), int(rows.scores[k]), score)
            assert rows.evalues[k] == pytest.approx(expected, rel=1e-12), seed
            places = sum(max(0, len(x) - len(queries["q"]) + 1) for x in targets.values())
            assert rows.bits[k] == pytest.approx(math.log2(places / expected), abs=1e-9)


def test_e_values_limit_each_occurrence_and_follow_the_size_of_the_database():
    options = {"task": "peptide", "max_mismatches": 3, "stats": "composition", "evalue": 1e9}
    rows = search(PEPTIDE, TARGETS, **options)[0].per_alignment()
    assert len(set(rows.evalues.tolist())) > 1
    options["evalue"] = float(rows.evalues.min()) * 1.01
    fewer = search(PEPTIDE, TARGETS, **options)[0].per_alignment()
    assert fewer.scores.tolist() == [8]
    residues = sum(map(len, TARGETS.values()))
    options |= {"evalue": 1e9, "dbsize": 10 * residues}
    larger = search(PEPTIDE, TARGETS, **options)[0].per_alignment()
    assert larger.evalues == pytest.approx(10 * rows.evalues)


def test_e_values_of_long_peptides_are_numbers():
    rng = random.Random(1)
    text = "".join(rng.choices("ARNDCQEGHILKMFPSTWYV", k=600))
    result = search({"q": text}, {"t": text}, task="peptide", stats="composition")[0]
    assert np.isfinite(result.log_evalues).all()
    assert np.isfinite(result.bits).all()


def test_filters_of_the_best_apply():
    options = {"task": "peptide", "max_mismatches": 3}
    assert [len(x) for x in search(PEPTIDE, TARGETS, **options, top=0)] == [1]
    assert [len(x) for x in search(PEPTIDE, TARGETS, **options, max_target_seqs=1)] == [1]


def test_some_targets_are_searched_as_if_they_were_the_database():
    chosen = search(PEPTIDE, TARGETS, task="peptide", max_mismatches=1, target_ids=["two", "three"])
    alone = {name: TARGETS[name] for name in ("two", "three")}
    assert list_found(chosen) == list_found(
        search(PEPTIDE, alone, task="peptide", max_mismatches=1)
    )
    assert chosen[0].ordinals.tolist() == [1]


def test_results_live_on_without_the_database():
    results = search(PEPTIDE, TARGETS, task="peptide", max_mismatches=2)
    again = pickle.loads(pickle.dumps(results))
    assert list_found(again) == list_found(results)
    assert again.to_pandas(["n_flank", "c_flank"]).equals(results.to_pandas(["n_flank", "c_flank"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": None, "max_mismatches": 1}, "`max_mismatches` is for peptides"),
        ({"task": "blastp", "equate_il": True}, "`equate_il` is for peptides"),
        ({"max_mismatches": 8}, "query ova has 8 letters, and all of them may differ"),
        ({"max_mismatches": -1}, "`max_mismatches`"),
        ({"gap_open": 5}, "compares without gaps; leave out `gap_open`"),
        ({"gap_extend": 5}, "compares without gaps; leave out `gap_extend`"),
        ({"comp_based_stats": 2}, "`comp_based_stats=2` needs"),
        ({"comp_based_stats": 1, "stats": "table"}, "leave out `comp_based_stats`"),
        ({"min_identity": 90}, "limits mismatches by `max_mismatches`; leave out `min_identity`"),
        ({"min_query_cover": 90}, "leave out `min_query_cover`"),
        ({"min_target_cover": 90}, "leave out `min_target_cover`"),
        ({"mask": "seg"}, "`mask='seg"),
        ({"lcase_masking": True}, "leave out `lcase_masking`"),
        ({"soft_masking": True}, "leave out `soft_masking`"),
        ({"db_hard_mask": "seg"}, "`db_hard_mask='seg'`"),
        ({"db_soft_mask": "seg"}, "`db_soft_mask='seg'`"),
        ({"verify": 3}, "leave out `verify`"),
        ({"cluster": "tcp://127.0.0.1:1"}, "leave out `cluster`"),
        ({"backend": "reference"}, "`backend='reference'`"),
        ({"stats": "table"}, "`stats='table'` is of alignments with gaps"),
        ({"stats": "fit"}, "`stats='fit'` is of alignments with gaps"),
        ({"task": None, "stats": "composition"}, "`stats='composition'` is for peptides"),
        ({"evalue": 10}, "`evalue` needs E-values, which peptides have"),
        ({"sum_stats": True}, "`sum_stats=True`"),
        ({"frameshift": 15}, "`frameshift=15`"),
        ({"query_gencode": 1}, "`query_gencode=1`"),
        ({"strand": "plus"}, "`strand`"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message, monkeypatch):
    monkeypatch.setattr("swdual.cluster.connection.connect", lambda address: (None, False))
    with pytest.raises(InputError) as raised:
        search(PEPTIDE, TARGETS, **{"task": "peptide", **options})
    assert message in str(raised.value)


def test_nucleotides_are_no_peptides():
    with pytest.raises(InputError, match="compares proteins, but"):
        search(PEPTIDE, database_of({"t": "ACGT" * 10}, NUCLEOTIDE), task="peptide")


def test_letters_of_bases_are_peptides_here():
    assert list_found(search({"q": "GATTACA"}, {"t": "WWGATTACAWW"}, task="peptide")) == [
        ("q", "t", 2, 0, 7)
    ]


def test_other_searches_have_no_task_of_peptides():
    with pytest.raises(InputError, match="not all pairs of sequences"):
        allpairs(TARGETS, task="peptide")
    with pytest.raises(InputError, match="there is nothing to plan"):
        plan(PEPTIDE, TARGETS, task="peptide")


def test_a_search_can_be_stopped_between_parts(monkeypatch):
    """By what gets the progress, as a server does."""
    monkeypatch.setattr(occurrences, "PART_RESIDUES", 5)
    told = []

    def stop(done, cells):
        told.append((done, cells))
        if len(told) == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        search(PEPTIDE, TARGETS, task="peptide", progress=stop, threads=1)
    cells = 8 * sum(map(len, TARGETS.values()))
    assert told == [(8 * 21, cells), (8 * 40, cells)]


def test_progress_ends_at_all_cells():
    told = []
    queries = {"one": "SIINFEKL", "two": "WWW"}
    search(queries, TARGETS, task="peptide", progress=lambda *counts: told.append(counts))
    cells = 11 * sum(map(len, TARGETS.values()))
    assert told[-1] == (cells, cells)


def test_more_occurrences_than_memory_are_refused(monkeypatch):
    monkeypatch.setattr(occurrences, "OCCURRENCE_BYTES", 1 << 42)
    with pytest.raises(MemoryLimitError, match="fewer mismatches"):
        search(PEPTIDE, TARGETS, task="peptide", max_mismatches=2)
