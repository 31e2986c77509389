"""Queries that can hardly find anything are named in a warning."""

from __future__ import annotations

import logging
import random

import numpy as np
import pytest

import swdual
from swdual.request.sources import open_database
from swdual.sequences.alphabet import PROTEIN

DRAW = random.Random(11)
LETTERS = PROTEIN.letters[:20]
TARGETS = {f"t{k}": "".join(DRAW.choices(LETTERS, k=400)) for k in range(200)}
PEPTIDE = "SIINFEKL"


@pytest.fixture(scope="module")
def database():
    """Two hundred proteins."""
    with open_database(TARGETS) as opened:
        yield opened


def warnings_of(caplog, *arguments, **options):
    """Search, and return what was warned of."""
    caplog.clear()
    with caplog.at_level(logging.WARNING, "swdual"):
        swdual.search(*arguments, threads=1, dbsize=10**9, **options)
    return [record.getMessage() for record in caplog.records]


def test_a_short_peptide_is_named_with_the_remedies(caplog, database):
    """All are counted, three are named; a usual query is not among them."""
    queries = {f"p{k}": PEPTIDE for k in range(5)} | {"long": TARGETS["t1"]}
    (said,) = warnings_of(caplog, queries, database)
    assert said.startswith("5 queries are so short")
    assert "p0, p1, p2, ...;" in said
    assert "`task='blastp-short'`" in said
    assert "larger `evalue`" in said


@pytest.mark.parametrize(
    "options", [{"evalue": 1e9}, {"stats": "none"}, {"stats": "fit"}, {"evalue": np.inf}]
)
def test_where_it_can_find_something_nothing_is_said(caplog, database, options):
    """Or where there are no E-values that are known before."""
    options = {"dbsize": None} | options if options.get("stats") == "none" else options
    caplog.clear()
    with caplog.at_level(logging.WARNING, "swdual"):
        swdual.search({"p": PEPTIDE}, database, threads=1, **options)
    assert not caplog.records


def test_unknown_letters_score_nothing(caplog, database):
    """However many there are."""
    (said,) = warnings_of(caplog, {"x": "X" * 2000}, database)
    assert said.startswith("1 query is so short, or has so many unknown letters,")


def test_the_task_for_short_queries_is_not_its_own_remedy(caplog, database):
    """Then only a larger E-value is left."""
    (said,) = warnings_of(caplog, {"p": "SII"}, database, task="blastp-short")
    assert "task" not in said


def test_tasks_are_sets_of_defaults(database):
    """What is given replaces them."""
    same = {"matrix": "PAM30", "gap_open": 9, "gap_extend": 1}
    query = {"q": TARGETS["t5"][40:70]}
    short = swdual.search(query, database, task="blastp-short", threads=1)
    assert short == swdual.search(query, database, threads=1, **same)
    assert short[0][0].id == "t5"
    named = swdual.search(query, database, task="blastp-short", matrix="BLOSUM62", threads=1)
    assert named == swdual.search(query, database, threads=1)
    sensitive = swdual.search(query, database, task="sensitive", threads=1)
    assert sensitive == swdual.search(
        query, database, matrix="PFASUM43", gap_open=10, gap_extend=2, stats="fit", threads=1
    )
    bases = {"b": "ACGTTGCAACGGTACGATCGAT" * 4}
    assert swdual.search("ACGTTGCAACG", bases, task="blastn-short", threads=1) == swdual.search(
        "ACGTTGCAACG", bases, reward=1, penalty=-3, gap_open=5, gap_extend=2, threads=1
    )


GENE = "ATGAAAGTTCTGGCTTGGATTGGCCGTGAACATTGTCCATAT" * 3
WITHOUT_CODON = {"one": "A", "long": GENE, "two": "AC"}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strand": "minus"},
        {"soft_masking": True},
        {"frameshift": 15},
        {"stats": "none", "max_hsps": 0},
        {"evalue": np.inf, "max_hsps": 0},
        {"task": "tblastx"},
    ],
)
def test_a_query_without_a_codon_has_no_hits_and_stops_no_other(caplog, options):
    """Its place is kept, and a warning names it, with the cause alone."""
    options = {"task": "blastx", "threads": 1} | options
    targets = {"t": "MKVLAWIGREHCPY" * 3, "x": "XXX"}
    if options["task"] == "tblastx":
        targets = {"t": GENE, "x": "N"}
    with caplog.at_level(logging.WARNING, "swdual"):
        results = swdual.search(WITHOUT_CODON, targets, **options)
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith("2 queries have fewer bases than a codon and no hits: one, two")
    assert [result.query.id for result in results] == ["one", "long", "two"]
    assert [len(result) > 0 for result in results] == [False, True, False]
    alone = swdual.search({"long": GENE}, targets, **options)
    hits = [[(hit.id, hit.score, hit.evalue) for hit in each] for each in (results[1], alone[0])]
    assert hits[0] == hits[1]


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize(
    ("query", "target", "options"),
    [
        ("Q" * 40, TARGETS, {"mask": "seg"}),
        ("mkvlaw", TARGETS, {"lcase_masking": True}),
        ("A" * 40, {"b": GENE}, {"mask": "dust", "task": "blastn"}),
        ("GCT" * 40, TARGETS, {"task": "blastx"}),
        ("Q" * 40, {"b": GENE}, {"task": "tblastn", "stats": "none"}),
    ],
)
def test_a_query_that_is_masked_throughout_is_named_with_the_cause(
    caplog, tmp_path, query, target, options, soft
):
    """Whatever masks it: it is not called short, and the remedy is to mask less."""
    path = tmp_path / "q.fa"
    path.write_text(f">masked\n{query}\n")
    with caplog.at_level(logging.WARNING, "swdual"):
        (result,) = swdual.search(path, target, threads=1, soft_masking=soft, **options)
    assert not len(result)
    said = [record.getMessage() for record in caplog.records]
    remedy = "leave out `lcase_masking`" if "lcase_masking" in options else "use `mask='none'`"
    assert said == [
        "all letters of 1 query are masked, which leaves nothing to find targets by: masked; "
        + remedy
    ]
