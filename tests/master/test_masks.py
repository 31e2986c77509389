"""Masks of queries: masked letters score as X or N, and are shown and counted as written."""

from __future__ import annotations

import logging
import pickle
import random

import pytest
from oracles.alignment import gapped, statistics_of
from support.low_complexity import AMINO_ACIDS, BASES, golden_records
from support.masks import golden_masks
from support.traced import oracle, score_in

import swdual
from swdual.errors import InputError
from swdual.request.sources import open_database
from swdual.request.weak_queries import find_low_complexity
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.sequence import Sequence

TABLES = {
    "seg:12,2.2,2.5": ("proteins", "masks_proteins_segmasker.tsv.gz", (12, 2.2, 2.5)),
    "seg:10,1.8,2.1": ("proteins", "masks_proteins_segmasker.tsv.gz", (10, 1.8, 2.1)),
    "tantan:0.9": ("proteins", "masks_proteins_tantan.tsv.gz", (0.9,)),
    "dust:20,64,1": ("nucleotides", "masks_nucleotides_dustmasker.tsv.gz", (20, 64, 1)),
    "tantan:0.5": ("nucleotides", "masks_nucleotides_tantan.tsv.gz", (0.5,)),
}
"""Masks, with the sequences and parameters of the golden tables that have their intervals."""

QUERIES = 8


def relatives(draw, queries, letters):
    """Return two relatives of each query, the second one on the other strand of nucleotides."""
    complements = str.maketrans("ACGT", "TGCA")
    found = {}
    for name, query in queries.items():
        for number in range(2):
            text = "".join(x if draw.random() < 0.8 else draw.choice(letters) for x in query)
            turned = number and letters == BASES
            found[f"{name}_{number}"] = text[::-1].translate(complements) if turned else text
    return found


def write_masked(query, intervals, wildcard):
    """Return a query with the wildcard at masked letters, and with these in lower case."""
    hard = soft = query
    for start, end in intervals:
        hard = hard[:start] + wildcard * (end - start) + hard[end:]
        soft = soft[:start] + soft[start:end].lower() + soft[end:]
    return hard, soft


@pytest.fixture(scope="module", params=TABLES)
def case(request):
    """A mask; queries as written, with X and in lower case by a golden table; and targets."""
    kind, table, parameters = TABLES[request.param]
    masks = golden_masks(table)[parameters]
    records = golden_records(kind)
    # `*` has no lower case; the oracle of alignments is slow.
    usual = (x for x in masks if 60 < len(records[x]) < 300 and "*" not in records[x])
    chosen = sorted(usual, key=lambda name: len(masks[name]))
    queries = {name: records[name] for name in chosen[-QUERIES:]}
    letters, wildcard = (BASES, "N") if kind == "nucleotides" else (AMINO_ACIDS, "X")
    written = {name: write_masked(query, masks[name], wildcard) for name, query in queries.items()}
    hard, soft = ({name: each[k] for name, each in written.items()} for k in range(2))
    targets = relatives(random.Random(3), queries, letters)
    dbtype = "nucl" if kind == "nucleotides" else "prot"
    with open_database(targets, dbtype=dbtype) as database:
        yield request.param, queries, hard, soft, database


def hits_of(results):
    """Return what a search found, without letters of queries and what is counted in them."""
    return [
        [(hit.id, hit.score, hit.evalue, hit.strand, hit.alignment.cigar) for hit in result]
        for result in results
    ]


def test_masked_queries_hit_what_hand_masked_ones_hit(case):
    """The same targets in the same order, with the same scores, E-values and alignments."""
    mask, queries, hard, soft, database = case
    expected = hits_of(swdual.search(hard, database, threads=1))
    found = swdual.search(queries, database, threads=1, mask=mask)
    assert hits_of(found) == expected
    assert sum(map(len, expected)) > QUERIES
    assert expected != hits_of(swdual.search(queries, database, threads=1))
    lower = swdual.search(soft, database, threads=1, lcase_masking=True)
    assert hits_of(lower) == expected
    assert hits_of(swdual.search(soft, database, threads=1)) != expected
    assert [result.query for result in found] == [result.query for result in lower]
    assert [str(result.query) for result in found] == [*soft.values()]
    assert [result.query.codes for result in found] == [
        database.alphabet.encode(letters) for letters in hard.values()
    ]


def test_identities_are_counted_in_the_letters_as_written(case):
    """By the oracle, which is given the whole query; in rows masked letters are in lower case."""
    mask, queries, _, soft, database = case
    options = {"threads": 1, "mask": mask, "max_target_seqs": 1, "comp_based_stats": 0}
    found = swdual.search(queries, database, **options)
    late = swdual.search(queries, database, align=False, **options)
    lower = 0
    for result, query in zip(found, queries.values(), strict=True):
        for k, hit in enumerate(result):
            alignment, alphabet = hit.alignment, database.alphabet
            assert alignment == late[result.number][k].alignment
            score, numbers, operations = oracle(
                result.query.codes, hit.target.codes, result.params.scheme, hit.strand
            )
            assert (score, alignment.cigar) == (
                hit.score,
                "".join(f"{count}{letter}" for letter, count in operations),
            )
            ours, theirs = alphabet.encode(query), hit.target.codes
            start = numbers[0]
            if hit.strand < 0:
                theirs = alphabet.reverse_complement(theirs)
            rows = gapped(
                query,
                alphabet.decode(theirs),
                operations,
                start,
                numbers[2] if hit.strand > 0 else len(theirs) - numbers[3],
            )
            counts = statistics_of(*rows, score_in(result.params.scheme))
            assert alignment.identities == counts.identities
            assert alignment.positives == counts.positives
            top, middle, bottom = alignment.rows
            assert (top.upper(), bottom) == rows
            assert top.replace("-", "") == soft[result.query.id][start : numbers[1]]
            assert len(middle) - middle.count(" ") >= alignment.identities
            assert alignment.btop.upper() == alignment.btop
            assert bytes(ours) == result.query.unmasked
            lower += top != top.upper()
    assert lower > 0


def test_a_mask_composes_with_lower_case():
    """What either of them masks is masked, and both leave `*` as it is."""
    query = "mkvLWDEFGHIK" + "A" * 30 + "NQRST*VWYc*d"
    targets = {"t": query}
    (result,) = swdual.search({"q": query}, targets, mask="seg", lcase_masking=True, threads=1)
    assert str(result.query) == "mkvLWDEFGHIK" + "a" * 30 + "NQRST*VWYc*d"
    assert result.query.to_fasta(60).splitlines()[1] == str(result.query)
    assert PROTEIN.decode(result.query.codes) == "XXXLWDEFGHIK" + "X" * 30 + "NQRST*VWYX*X"
    assert pickle.loads(pickle.dumps(result)) == result
    again = swdual.search(result.query, targets, threads=1)
    assert str(again[0].query) == query.upper()
    again = swdual.search(result.query, targets, lcase_masking=True, threads=1)
    assert again[0].query == result.query


def test_what_no_mask_finds_is_not_masked():
    """Then the query is as without a mask."""
    (result,) = swdual.search("MKVLAWGGHE", {"t": "MKVLAWGGHE"}, mask="seg", threads=1)
    assert result.query == Sequence("query_1", PROTEIN.encode("MKVLAWGGHE"))


def test_adjusted_scores_are_those_of_the_masked_query(case):
    """Composition-based statistics see X at masked letters."""
    mask, queries, hard, _, database = case
    if database.alphabet is NUCLEOTIDE:
        pytest.skip("nucleotides have no composition-based statistics")
    options = {"comp_based_stats": 2, "max_target_seqs": 2, "threads": 1}
    found = swdual.search(queries, database, mask=mask, **options)
    expected = swdual.search(hard, database, **options)
    assert hits_of(found) == hits_of(expected)
    late = swdual.search(queries, database, mask=mask, align=False, **options)
    more = 0
    for result, other, again in zip(found, expected, late, strict=True):
        assert [hit.alignment for hit in result] == [hit.alignment for hit in again]
        more += sum(x.identities > y.identities for x, y in zip(result, other, strict=True))
    assert more > 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mask": "sge"}, r"`mask`: unknown method 'sge'"),
        ({"mask": "seg:12"}, r"`mask` is 'seg:12', but seg takes window, locut, hicut"),
        ({"mask": "seg:12,2.5,2.2"}, r"locut \(2.5\) may not be above hicut \(2.2\)"),
        ({"mask": "tantan:2"}, "threshold of tantan is a number from 0 to 1"),
        ({"mask": 3}, "`mask` is 3, but it must be text"),
        ({"mask": "dust"}, "dust masks nucleotides, and these are proteins; use none, seg"),
    ],
)
def test_impossible_masks_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        swdual.search("MKVLAW", {"t": "MKVLAW"}, **options)


def test_seg_is_refused_for_nucleotides():
    with pytest.raises(InputError, match="seg masks proteins, and these are nucleotides; use none"):
        swdual.search("ACGTTGCA", {"t": "ACGTTGCA" * 9}, dbtype="nucl", mask="seg")


def test_queries_that_look_like_nucleotides_are_refused_though_masked():
    """X at masked letters must not hide what they are."""
    with pytest.raises(InputError, match="the queries look like nucleotides"):
        swdual.search(
            "GATTACA" * 3 + "a" * 60,
            {"t": AMINO_ACIDS},
            task="blastp",
            mask="seg",
            lcase_masking=True,
        )


LOW, PLAIN = "Q" * 60 + "MKVLWDEFGHIK", "MKVLWDEFGHIKNQRSTVWYCDEFHGPLNAIMRTWSVDEKQYHAGF"


def said_of(caplog, queries, targets, **options):
    """Search, and return what was warned of."""
    caplog.clear()
    with caplog.at_level(logging.WARNING, "swdual"):
        swdual.search(queries, targets, threads=1, evalue=1e9, **options)
    return [record.getMessage() for record in caplog.records]


def test_queries_of_low_complexity_are_named_with_the_remedies(caplog):
    """All are counted, three are named; a usual query is not among them."""
    queries = {"plain": PLAIN} | {f"low{k}": LOW for k in range(5)}
    assert said_of(caplog, queries, {"t": PLAIN}) == []
    (said,) = said_of(caplog, queries, {"t": PLAIN}, comp_based_stats=0)
    assert said.startswith("5 queries are of low complexity")
    remedies = "use `mask='seg'`, `db_hard_mask='seg'` or `comp_based_stats=2`"
    assert said.endswith(f"low0, low1, low2, ...; {remedies}")
    bases = {"low": "AT" * 60, "plain": "ACGTTGCATGCATCGATCGATTAGCTAGGATCGGCT"}
    (said,) = said_of(caplog, bases, {"t": bases["plain"] * 3}, dbtype="nucl")
    assert said.startswith("1 query is of low complexity")
    assert said.endswith(": low; use `mask='dust'` or `db_hard_mask='dust'`")


@pytest.mark.parametrize(
    "options",
    [{"mask": "seg"}, {"mask": "tantan"}, {"lcase_masking": True}, {"comp_based_stats": 2}],
    ids=str,
)
def test_nothing_is_said_where_something_is_done_about_it(caplog, options):
    assert said_of(caplog, {"low": LOW}, {"t": PLAIN}, **options) == []


def test_half_of_the_query_is_low_complexity():
    """Counted by hand: 30 letters are masked of 60, and of 61."""
    with open_database({"t": PLAIN}) as database:
        params = swdual.search(PLAIN, database, threads=1, comp_based_stats=0).params
        tail = "MKVLWDEFGHIKNPRSTVWYCDEFHGPLNAIMR"
        for rest, expected in ((30, ["q"]), (31, [])):
            query = Sequence("q", PROTEIN.encode("Q" * 30 + tail[:rest]))
            assert find_low_complexity([query], database, params) == expected


def test_the_mask_is_part_of_the_parameters():
    """With its numbers, however it is spelt."""
    params = swdual.search(
        "MKVLAW", {"t": "MKVLAW"}, mask="seg", lcase_masking=True, threads=1
    ).params
    assert (params.mask, params.lcase_masking) == ("seg:12,2.2,2.5", True)
    assert swdual.search("MKVLAW", {"t": "MKVLAW"}, threads=1).params.mask == "none"
