"""Biopython's objects hold what the hits hold, in Biopython's places and kinds."""

from __future__ import annotations

import io

import numpy as np
import pytest
from Bio import SearchIO

import swdual
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN

FIELDS = "qseqid sseqid score evalue bitscore nident positive gaps length qstart qend sstart send"


def searched(kind, **options):
    """Return results with gaps and, of bases, with hits on both strands."""
    letters = {"prot": PROTEIN.letters[:20], "nucl": "ACGT"}[kind]
    rng = np.random.default_rng(5)
    query = "".join(rng.choice(list(letters), 60))
    targets = [
        ("t1 the same", query),
        ("t2\ta tab before this", query[:20] + query[25:50]),
        ("t3", f"{query[30:]}{query[:10]}"),
    ]
    if kind == "nucl":
        turned = NUCLEOTIDE.decode(NUCLEOTIDE.reverse_complement(NUCLEOTIDE.encode(query)))
        targets.append(("t4 the other strand", turned[5:30] + turned[34:] + "AC"))
    queries = [("q1 a query, described", query), ("q2", letters[0])]
    return swdual.search(queries, targets, dbtype=kind, **options)


KINDS = pytest.mark.parametrize("kind", ["prot", "nucl"])


@KINDS
def test_objects_hold_what_the_hits_hold(kind):
    """Query, hits in their order, one HSP of one fragment each: places 0-based and half-open."""
    results = searched(kind)
    bases = kind == "nucl"
    found = results.to_searchio()
    assert [each.id for each in found] == ["q1", "q2"]
    assert len(found[1]) == 0
    whole, result = found[0], results[0]
    assert (whole.seq_len, whole.description) == (60, "a query, described")
    assert (whole.program, whole.version) == ("swdual", swdual.__version__)
    assert len(whole) == len(result) == (4 if bases else 3)
    for theirs, ours in zip(whole, result, strict=True):
        alignment = ours.alignment
        assert (theirs.id, theirs.query_id) == (ours.id, "q1")
        assert theirs.seq_len == ours.target_length
        (pair,) = theirs
        (fragment,) = pair
        assert (pair.evalue, pair.bitscore, pair.bitscore_raw) == (
            ours.evalue,
            ours.bits,
            ours.score,
        )
        assert pair.query_range == (alignment.query_start, alignment.query_end)
        assert pair.hit_range == (alignment.target_start, alignment.target_end)
        assert (pair.query_strand, pair.hit_strand) == (bases, bases * ours.strand)
        assert (pair.ident_num, pair.pos_num) == (alignment.identities, alignment.positives)
        assert (pair.gap_num, pair.aln_span) == (alignment.gaps, alignment.length)
        top, middle, bottom = alignment.rows
        assert (str(fragment.query.seq), str(fragment.hit.seq)) == (top, bottom)
        assert fragment.aln_annotation["similarity"] == middle
        assert fragment.molecule_type == ("DNA" if bases else "protein")
    assert {hit[0].hit_strand for hit in whole} == ({1, -1} if bases else {0})


@KINDS
def test_objects_are_those_that_biopython_reads_in_our_table(kind):
    """BLAST's format 6, read by Biopython: the same hits at the same places."""
    results = searched(kind)
    stream = io.StringIO(tabular(results[0]))
    read = SearchIO.read(stream, "blast-tab", fields=FIELDS.split())
    whole = results[0].to_searchio()
    assert (read.id, read.hit_keys) == (whole.id, whole.hit_keys)
    for theirs, ours in zip(read.hsps, whole.hsps, strict=True):
        for name in ("query_range", "hit_range", "aln_span", "ident_num", "pos_num", "gap_num"):
            assert getattr(theirs, name) == getattr(ours, name), name
        assert float(theirs.bitscore_raw) == ours.bitscore_raw
        assert theirs.evalue == pytest.approx(ours.evalue, rel=0.05)
        assert theirs.bitscore == pytest.approx(ours.bitscore, abs=1)
        if kind == "nucl":
            assert (theirs.query_strand, theirs.hit_strand) == (ours.query_strand, ours.hit_strand)


def tabular(result):
    from swdual.format import parse_format

    kept = []

    class Stream:
        def write(self, data):
            kept.append(bytes(data))

    chosen, fields = parse_format(f"6 {FIELDS}")
    chosen.write([result], Stream(), fields, header=False)
    return b"".join(kept).decode()


@KINDS
def test_biopython_writes_the_objects(kind):
    """As a BLAST table, in which our places stand."""
    results = searched(kind)
    stream = io.StringIO()
    fields = ["qseqid", "sseqid", "qstart", "qend", "sstart", "send"]
    SearchIO.write(results[0].to_searchio(), stream, "blast-tab", fields=fields)
    rows = [line.split("\t") for line in stream.getvalue().splitlines()]
    table = results.to_pandas(fields).astype(str).values.tolist()
    assert rows == table


def test_objects_without_statistics_have_none():
    """Neither an E-value nor bits."""
    (pair,) = searched("prot", stats="none").to_searchio()[0][0]
    assert (pair.evalue, pair.bitscore) == (None, None)
    assert pair.bitscore_raw > 0


def test_targets_with_the_same_identifier_stay_apart():
    """Biopython's results are keyed by identifier: two targets of one are still two hits, or two
    HSPs of one hit, and nothing is lost."""
    targets = [("a one", "MKVLAWGGHERMKV"), ("a two", "MKVLAWGGHERMK"), ("b", "MKVLAWGGHE")]
    found = swdual.search(("q", "MKVLAWGGHERMKV"), targets, stats="none")[0].to_searchio()
    assert len(found.hsps) == 3


def test_a_hit_without_an_alignment_is_no_error():
    """Score 0: there is nothing to show, whether as a hit without HSPs or with an empty one."""
    results = swdual.search(("q", "WWW"), {"t": "PPP"}, min_raw_score=0, stats="none")
    assert [each.id for each in results.to_searchio()] == ["q"]


def test_descriptions_are_what_follows_the_identifier():
    """After a space or a tab."""
    found = searched("prot").to_searchio()[0]
    assert [hit.description for hit in found] == ["the same", "a tab before this", ""]
