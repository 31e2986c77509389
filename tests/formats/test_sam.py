"""SAM, read back by Bio.Align, and held against the grammar of its specification."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from Bio import Align
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.api import search
from swdual.formats import sam
from swdual.io.output import Output
from swdual.version import __version__

QUERIES = {"q1 one": "MKVLAWGGHERMKVUXOAW", "none": "P", "q3": "GGACDEFGHIKLMNG"}
TARGETS = {"t1 first": "GGMKVLAWGGHERMKVLUXOAWGG", "t2": "ACDEFGHKLMNACDEFGHIKLMN"}
GENE = "ACGTTGCAAGGCTTAACCGGATATCGCGATTAGGCCTTAA"
OTHER_STRAND = GENE[::-1].translate(str.maketrans("ACGT", "TGCA"))
BASES = {"plus": f"TT{GENE[3:]}CCC", "minus": f"A{OTHER_STRAND[:25]}G{OTHER_STRAND[25:36]}"}

# The regular expressions of the specification (SAM v1, section 1.4), and of its tags (1.5).
COLUMNS = (
    r"[!-?A-~]{1,254}",
    r"\d+",
    r"\*|[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*",
    r"\d+",
    r"\d+",
    r"\*|([0-9]+[MIDNSHPX=])+",
    r"\*",
    "0",
    "0",
    r"\*|[A-Za-z=.]+",
    r"\*",
)
TAG = r"[A-Za-z][A-Za-z0-9]:(i:[-+]?\d+|f:[-+]?\d*\.?\d+([eE][-+]?\d+)?)"


def written(results):
    stream = io.BytesIO()
    sam.write(results, Output(stream, "memory"), sam.FIELDS, header=False)
    return stream.getvalue().decode()


def lines(text):
    """Return the columns of each line that is no header, all of them valid."""
    found = [line.split("\t") for line in text.splitlines() if not line.startswith("@")]
    for values in found:
        for pattern, value in zip(COLUMNS, values, strict=False):
            assert re.fullmatch(pattern, value), value
        for value in values[11:]:
            assert re.fullmatch(TAG, value), value
    return found


def check_against_bio_align(results):
    """Compare what Bio.Align read with the alignments, and the sequences with the queries."""
    text = written(results)
    lines(text)
    found = list(Align.parse(io.StringIO(text), "sam"))
    for result in results:
        for hit in result:
            theirs = found.pop(0)
            ours = hit.to_biopython()
            assert np.array_equal(theirs.coordinates, ours.coordinates)
            assert (theirs.target.id, theirs.query.id) == (hit.id, hit.query.id)
            assert (theirs.score, theirs.flag & 0x10) == (hit.score, 0x10 * (hit.strand < 0))
            assert theirs.flag & 0x100 == 0x100 * (hit.rank > 1)
            assert len(theirs.query.seq) == len(hit.query.codes)
            if hit.rank == 1:
                assert theirs.query.seq == ours.query.seq
        if not len(result):
            theirs = found.pop(0)
            assert (theirs.flag, theirs.query.id) == (4, result.query.id)
    assert not found


def test_bio_align_reads_the_alignments_of_proteins():
    """Coordinates, names, scores; U, X and O as they are; a query without hits is unmapped."""
    results = search(QUERIES, TARGETS, evalue=1e6)
    assert [len(result) for result in results] == [2, 0, 2]
    check_against_bio_align(results)


def test_bio_align_reads_the_alignments_of_both_strands():
    """On the other strand the line shows the reverse complement."""
    results = search({"gene": GENE}, BASES, dbtype="nucl")
    assert {hit.strand for hit in results[0]} == {1, -1}
    check_against_bio_align(results)


def test_the_file_looks_as_the_specification_says():
    """Header, soft clips, reverse strand, secondary line and unmapped query."""
    targets = {"far": f"A{OTHER_STRAND[4:25]}G{OTHER_STRAND[25:]}", "near": f"TT{GENE[:30]}"}
    results = search({"gene one": GENE, "none": "N"}, targets, dbtype="nucl")
    assert written(results) == (
        "@HD\tVN:1.6\tSO:unsorted\tGO:query\n"
        "@SQ\tSN:far\tLN:38\n@SQ\tSN:near\tLN:32\n"
        f"@PG\tID:swdual\tPN:swdual\tVN:{__version__}\n"
        f"gene\t16\tfar\t1\t255\t3S22M1D15M\t*\t0\t0\t{OTHER_STRAND}\t*\t"
        "NM:i:1\tAS:i:67\tZB:f:61.6992\tZE:f:9.84109e-16\tZL:i:38\n"
        "gene\t256\tnear\t3\t255\t30M10S\t*\t0\t0\t*\t*\t"
        "NM:i:0\tAS:i:60\tZB:f:55.3874\tZE:f:4.18454e-14\tZL:i:32\n"
        "none\t4\t*\t0\t0\t*\t*\t0\t0\tN\t*\n"
    )


def test_without_queries_there_is_a_header_only():
    """Two lines."""
    assert re.fullmatch(r"@HD\t.*\n@PG\t.*\n", written([]))


def test_without_statistics_the_tags_are_left_out():
    """No E-value, no bits."""
    (values,) = lines(written(search({"q": "MKV"}, {"t": "MKV"}, stats="none")))
    assert values[11:] == ["NM:i:0", "AS:i:14", "ZL:i:3"]


def test_an_empty_alignment_is_unmapped():
    """A score of 0 aligns nothing."""
    results = search({"q": "W"}, {"t": "A"}, min_raw_score=0, stats="none")
    assert len(results[0]) == 1
    assert [values[:6] for values in lines(written(results))] == [["q", "4", "*", "0", "0", "*"]]


@pytest.mark.parametrize(
    ("title", "query_name", "target_name"),
    [
        ("a@b\x1b[2J x", "a%40b%1B[2J", "a@b%1B%5B2J"),
        ("*", "%2A", "%2A"),
        ("=x*=", "=x*=", "%3Dx*="),
        ("é(1),<\\>", "%C3%A9(1),<\\>", "%C3%A9%281%29%2C%3C%5C%3E"),
        ("50%28x", "50%2528x", "50%2528x"),
        ("100%x", "100%x", "100%x"),
        ("long" * 100, ("long" * 100)[:254], "long" * 100),
    ],
)
def test_names_that_sam_forbids_are_made_valid(title, query_name, target_name):
    """Each byte of a forbidden character as in URLs; a query's name has at most 254 characters."""
    (values,) = lines(written(search({title: "MKVLAW"}, {title: "MKVLAW"}, evalue=1e6)))
    assert (values[0], values[2]) == (query_name, target_name)


def test_targets_that_differ_have_different_names():
    """Those that share an identifier have one line, with the greatest length."""
    targets = [("A*02(x)", "MKVLA"), ("A*02[x]", "MKVLAW"), ("d", "MKV"), ("d", "MKVLAWG")]
    text = written(search({"q": "MKVLAWG"}, targets, evalue=1e6))
    found = re.findall(r"@SQ\tSN:(\S+)\tLN:([0-9]+)", text)
    assert found == [("A*02%28x%29", "5"), ("A*02%5Bx%5D", "6"), ("d", "7")]


def test_a_stop_is_shown_as_x():
    """SAM has no letter for it."""
    (values,) = lines(written(search({"q": "MKVLAW*AW"}, {"t": "MKVLAW*AW"}, evalue=1e6)))
    assert values[9] == "MKVLAWXAW"


def test_results_are_written_one_by_one():
    """A query's lines stand in the output before the next query is asked for."""
    stream = io.BytesIO()
    results = search(QUERIES, TARGETS, evalue=1e6)

    def iter_hits():
        count = 0
        for result in results:
            assert stream.getvalue().count(b"\n") == count
            yield result
            count += 0 if count else 2 + len(TARGETS)
            count += max(1, len(result))

    sam.write(iter_hits(), Output(stream, "memory"), sam.FIELDS, header=True)
    assert stream.getvalue().decode() == written(results)


@examples(40)
@given(
    st.text("ACGTN", min_size=1, max_size=60), st.lists(st.text("ACGTR", min_size=1), max_size=3)
)
def test_random_bases_survive_the_way_through_bio_align(query, targets):
    """On both strands, with clips and gaps."""
    named = {"t": GENE, **{f"t{k}": text for k, text in enumerate(targets)}}
    check_against_bio_align(search({"q": query}, named, dbtype="nucl", stats="none", threads=1))


def test_the_program_line_describes_composition_based_statistics():
    """In its field DS; a program that reads SAM hands it on."""
    text = written(search(QUERIES, TARGETS, comp_based_stats=2))
    line = next(line for line in text.splitlines() if line.startswith("@PG"))
    about = "composition-based statistics: mode 2, candidates adjusted"
    assert line.split("\t")[1:] == ["ID:swdual", "PN:swdual", f"VN:{__version__}", f"DS:{about}"]
    plain = written(search(QUERIES, TARGETS, comp_based_stats=0))
    assert f"VN:{__version__}\n" in plain
