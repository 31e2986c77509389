"""`align` and `align_pairs`: the alignments that a search finds, one or any number of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord

import swdual
from swdual.errors import InputError, StatisticsUnavailable
from swdual.master import pair
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN, Alphabet
from swdual.sequences.sequence import Sequence


def drawn(alphabet: Alphabet, count, seed, longest=80):
    """Return pairs of texts that have pieces in common."""
    rng = np.random.default_rng(seed)
    letters = 20 if alphabet is PROTEIN else 4
    texts = [
        alphabet.decode(rng.integers(0, letters, rng.integers(9, longest), np.uint8).tobytes())
        for _ in range(2 * count)
    ]
    return [(a, b[:5] + a[3:30] + b[5:]) for a, b in zip(texts[::2], texts[1::2], strict=True)]


def searched(query, target, **options):
    """Return the alignment that a search of the one in the other finds."""
    plain = {"comp_based_stats": 0, "evalue": 1e300, "threads": 1}
    return swdual.search([("q", query)], [("t", target)], **plain, **options)[0][0].alignment


def facts(found):
    """Return all numbers of an alignment."""
    places = found.query_start, found.query_end, found.target_start, found.target_end
    counts = found.length, found.identities, found.positives, found.gap_openings, found.gaps
    return found.score, found.cigar, found.query_frame, found.target_frame, *places, *counts


OPTIONS = {
    "proteins": (PROTEIN, {}),
    "scheme": (PROTEIN, {"matrix": "BLOSUM80", "gap_open": 9, "gap_extend": 2}),
    "task": (PROTEIN, {"task": "blastp-short"}),
    "bases": (NUCLEOTIDE, {}),
    "minus": (NUCLEOTIDE, {"strand": "minus", "reward": 1, "penalty": -2}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_alignments_and_statistics_are_those_of_a_search(name):
    """Of the better strand; one pair, and many."""
    alphabet, options = OPTIONS[name]
    dbtype = alphabet.name
    pairs = drawn(alphabet, 12, len(name))
    pairs += [(a, str(Seq(b).reverse_complement())) for a, b in pairs if alphabet is NUCLEOTIDE]
    many = [*swdual.align_pairs(pairs, dbtype=dbtype, stats="table", **options)]
    for (query, target), found in zip(pairs, many, strict=True):
        expected = searched(query, target, dbtype=dbtype, **options)
        assert facts(found) == facts(expected)
        assert found.rows == expected.rows
        assert found.bits == pytest.approx(expected.bits)
        assert found.evalue == pytest.approx(expected.evalue)
        one = swdual.align(query, target, dbtype=dbtype, **options)
        assert (facts(one), one.bits, one.evalue) == (facts(expected), None, None)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads_yields_the_same_in_order(threads, monkeypatch):
    """Also with chunks of a few pairs, and of one that has many cells."""
    pairs = drawn(PROTEIN, 90, 3)
    expected = [facts(swdual.align(*each)) for each in pairs]
    assert [facts(x) for x in swdual.align_pairs(pairs, threads=threads)] == expected
    monkeypatch.setattr(pair, "MAX_PAIRS", 3)
    monkeypatch.setattr(pair, "MAX_CELLS", 5000)
    assert [facts(x) for x in swdual.align_pairs(iter(pairs), threads=threads)] == expected


@pytest.mark.parametrize("threads", [1, 3])
def test_pairs_are_read_as_they_are_needed(threads):
    """The first alignment leaves before the pairs of later calls are read; there may be no end."""
    read = itertools.count()
    endless = ((next(read), each)[1] for each in itertools.cycle(drawn(PROTEIN, 5, 4)))
    found = swdual.align_pairs(endless, threads=threads)
    assert next(found).score > 0
    ahead = pair.FIRST_PAIRS + (0 if threads == 1 else 2 * threads * pair.MAX_PAIRS)
    assert next(read) <= ahead
    found.close()


def test_sequences_may_be_of_any_kind_and_keep_their_names():
    """Unnamed ones are numbered; text is never a file."""
    record = SeqRecord(Seq("MKVLAW"), id="r", description="r of mine")
    sides = ["MKVLAW", ("n", "MKVLAW"), record, Sequence("s", PROTEIN.encode("MKVLAW")), b"MKVLAW"]
    found = [*swdual.align_pairs([(each, each) for each in sides])]
    assert [each.query.id for each in found] == ["query_1", "n", "r", "s", "query_5"]
    assert [each.target.id for each in found] == ["target_1", "n", "r", "s", "target_5"]
    assert {each.score for each in found} == {33}
    assert [*swdual.align_pairs([])] == []


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("MKV", r"pair 2 is str, but it must have a query and a target"),
        (7, r"pair 2 is int"),
        (("MKV",), r"pair 2 has 1 items"),
        (("MKV", None), r"pair 2 has no target \(None\)"),
        (("MKV", "MK1"), r"'target_2'.*'1' at position 3"),
        (("MKV", ""), "empty"),
        (("MKV", {"a": "MKV", "b": "MKV"}), "item 2 of the sequences is a dict"),
    ],
)
def test_what_is_no_pair_is_named(item, message):
    """By its number from 1."""
    found = swdual.align_pairs([("MKV", "MKV"), item], threads=1)
    with pytest.raises(InputError, match=message):
        list(found)


def test_unknown_options_and_missing_parameters_are_told_at_once():
    """Before the first pair is asked for."""
    with pytest.raises(InputError, match="gap_open"):
        swdual.align_pairs([], gap_opn=2)
    with pytest.raises(InputError, match=r"`stats` is 'fit'"):
        swdual.align("MKV", "MKV", stats="fit")
    for task in ("blastx", "tblastn"):
        with pytest.raises(InputError, match=rf"`task='{task}'` translates.*`search`"):
            swdual.align("MKV", "MKV", task=task)
    with pytest.raises(StatisticsUnavailable, match="5/1"):
        swdual.align("MKVLAW", "MKVLAW", stats="table", gap_open=5)
    assert swdual.align("MKVLAW", "MKVLAW", gap_open=5).score == 33


def test_options_are_not_taken_for_those_of_the_call_before(tmp_path):
    """What is kept between calls depends on all options; a matrix file is read each time."""
    path = tmp_path / "mine.mat"
    for score in (3, 5):
        path.write_text(f"   A  C\nA  {score} -1\nC -1  {score}\n")
        assert swdual.align("AAAA", "AAAA", matrix=path, dbtype="prot").score == 4 * score
        assert swdual.align("AAAA", "AAAA", matrix=str(path), dbtype="prot").score == 4 * score
    scores = [swdual.align("MKVLAWMKVLAW", "MKVLAWKVLAW", gap_open=x).score for x in (1, 11, 1)]
    assert scores[0] == scores[2] > scores[1]
