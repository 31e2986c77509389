"""PAF, read back by a parser of its own: twelve columns, and tags."""

from __future__ import annotations

import io
import re

import pytest

from swdual.api import search
from swdual.formats import paf
from swdual.io.output import Output

QUERIES = {"q1 one": "MKVLAWGGHERMKVUXOAW", "none": "P", "q3": "ACDEFGHIKLMN"}
TARGETS = {"t1 first": "GGMKVLAWGGHERMKVLUXOAWGG", "t2": "ACDEFGHKLMNACDEFGHKLMN"}
GENE = "ACGTTGCAAGGCTTAACCGGATATCGCGATTAGGCCTTAA"
OTHER_STRAND = GENE[::-1].translate(str.maketrans("ACGT", "TGCA"))
BASES = {"plus": f"TT{GENE}CCC", "minus": f"A{OTHER_STRAND[:25]}G{OTHER_STRAND[25:]}"}


def written(results):
    stream = io.BytesIO()
    paf.write(results, Output(stream, "memory"), paf.FIELDS, header=False)
    return stream.getvalue().decode()


def rows(text):
    """Return the twelve columns and a dictionary of the tags of each line."""
    names = (
        *("query", "query_length", "query_start", "query_end", "strand"),
        *("target", "target_length", "target_start", "target_end"),
        *("matches", "columns", "quality"),
    )
    found = []
    for line in text.splitlines():
        values = line.split("\t")
        row = dict(zip(names, values, strict=False))
        row.update({x: int(row[x]) for x in row if x not in ("query", "strand", "target")})
        for tag in values[12:]:
            name, kind, value = tag.split(":", 2)
            row[name] = {"i": int, "f": float, "Z": str}[kind](value)
        found.append(row)
    return found


def rebuilt(row, query, target):
    """Return the aligned rows, told along the target by places, strand and CIGAR."""
    if row["strand"] == "-":
        query = query[::-1].translate(str.maketrans("ACGT", "TGCA"))
        i = row["query_length"] - row["query_end"]
    else:
        i = row["query_start"]
    j = row["target_start"]
    top, bottom = "", ""
    for count, letter in re.findall(r"(\d+)([MID])", row["cg"]):
        n = int(count)
        top += "-" * n if letter == "D" else query[i : i + n]
        bottom += "-" * n if letter == "I" else target[j : j + n]
        i += n * (letter != "D")
        j += n * (letter != "I")
    assert j == row["target_end"]
    return top, bottom


def turned(row):
    return row[::-1].translate(str.maketrans("ACGT", "TGCA"))


@pytest.mark.parametrize("dbtype", ["prot", "nucl"])
def test_paf_has_the_places_and_rows_of_the_alignments(dbtype):
    """Columns, tags and CIGAR give back what was aligned, on both strands."""
    queries, targets = (QUERIES, TARGETS) if dbtype == "prot" else ({"gene": GENE}, BASES)
    results = search(queries, targets, dbtype=dbtype, evalue=1e6)
    hits = [hit for result in results for hit in result]
    found = rows(written(results))
    letters = {name.split()[0]: text for name, text in {**queries, **targets}.items()}
    for row, hit in zip(found, hits, strict=True):
        alignment = hit.alignment
        assert (row["query"], row["target"]) == (hit.query.id, hit.id)
        assert row["query_length"] == len(hit.query.codes)
        assert row["target_length"] == hit.target_length == row["ZL"]
        assert (row["query_start"], row["query_end"]) == (
            alignment.query_start,
            alignment.query_end,
        )
        assert (row["target_start"], row["target_end"]) == (
            alignment.target_start,
            alignment.target_end,
        )
        assert row["strand"] == ("+" if hit.strand > 0 else "-")
        assert (row["matches"], row["columns"]) == (alignment.identities, alignment.length)
        assert (row["quality"], row["AS"]) == (255, hit.score)
        assert row["NM"] == alignment.mismatches + alignment.gaps
        assert row["ZE"] == pytest.approx(hit.evalue, rel=1e-5)
        assert row["ZB"] == pytest.approx(hit.bits, rel=1e-5)
        top, bottom = rebuilt(row, letters[row["query"]], letters[row["target"]])
        query, _, target = alignment.rows
        expected = (query, target) if hit.strand > 0 else (turned(query), turned(target))
        assert (top, bottom) == expected
    assert {row["strand"] for row in found} == ({"+"} if dbtype == "prot" else {"+", "-"})


def test_a_line_looks_like_minimap2s():
    """Twelve columns, then tags, the CIGAR last."""
    targets = {"chr1": f"A{OTHER_STRAND[:25]}G{OTHER_STRAND[25:]}"}
    text = written(search({"gene one": GENE}, targets, dbtype="nucl"))
    assert text == (
        "gene\t40\t0\t40\t-\tchr1\t42\t1\t42\t40\t41\t255\t"
        "NM:i:1\tAS:i:73\tZB:f:67.1093\tZE:f:1.51985e-17\tZL:i:42\tcg:Z:25M1D15M\n"
    )


def test_without_statistics_the_tags_are_left_out():
    """No E-value, no bits."""
    (row,) = rows(written(search({"q": "MKV"}, {"t": "MKV"}, stats="none")))
    assert {"ZE", "ZB"}.isdisjoint(row)
    assert row["AS"] == 14


def test_nothing_found_is_nothing_written():
    """Neither without queries, nor without hits, nor for an alignment that is empty."""
    assert written([]) == ""
    assert written(search({"q": "P"}, {"t": "W"})) == ""
    assert written(search({"q": "W"}, {"t": "A"}, min_raw_score=0, stats="none")) == ""


def test_hostile_names_stay_in_their_column():
    """Control characters become '?'; letters of all scripts stay."""
    text = written(search({"q\x1b[2Jé漢 x\ty": "MKVLAW"}, {"t\x07": "MKVLAW"}, evalue=1e6))
    assert text.split("\t")[0] == "q?[2Jé漢"
    assert text.split("\t")[5] == "t?"
    assert text.count("\n") == 1


def test_results_are_written_one_by_one():
    """A query's lines stand in the output before the next query is asked for."""
    stream = io.BytesIO()
    results = search(QUERIES, TARGETS, evalue=1e6)

    def iter_hits():
        lines = 0
        for result in results:
            assert stream.getvalue().count(b"\n") == lines
            yield result
            lines += len(result)

    paf.write(iter_hits(), Output(stream, "memory"), paf.FIELDS, header=True)
    assert stream.getvalue().decode() == written(results)
