"""BLAST's format 7: read back by Biopython's two readers, and by `read_table`."""

from __future__ import annotations

import io
import math
import warnings

import numpy as np
import pytest
from Bio import Align, SearchIO
from support.formats import PLAIN_FIELDS

from swdual.api import search
from swdual.errors import InputError
from swdual.formats import commented, tabular
from swdual.hits.fields import BLAST_STANDARD, FIELDS, STANDARD
from swdual.io.output import Output
from swdual.version import __version__

QUERIES = {"q1 one query": "MKVLAWGGHERMKVUXOAW", "none": "P", "q3": "ACDEFGHIKLMN"}
TARGETS = {"t1 first": "GGMKVLAWGGHERMKVLUXOAWGG", "t2": "ACDEFGHKLMNACDEFGHIKLMN"}
GENE = "ACGTTGCAAGGCTTAACCGGATATCGCGATTAGGCCTTAA"
OTHER_STRAND = GENE[::-1].translate(str.maketrans("ACGT", "TGCA"))
COMPLETE = ("qseqid", "sseqid", "qlen", "slen", "score", "qstart", "qend", "sstart", "send", "btop")


def written(results, fields=BLAST_STANDARD):
    stream = io.BytesIO()
    commented.write(results, Output(stream, "memory"), fields, header=False)
    return stream.getvalue().decode()


def table(text):
    found = commented.read_table(io.BytesIO(text.encode()), "hits.txt")
    return found.fields, [row for chunk in found.chunks for row in zip(*chunk, strict=True)]


@pytest.fixture(scope="module")
def proteins():
    return search(QUERIES, TARGETS, evalue=1e6, comp_based_stats=0)


@pytest.fixture(scope="module")
def bases():
    targets = {"plus": f"TT{GENE}CCC", "minus": f"A{OTHER_STRAND}"}
    return search({"gene": GENE}, targets, dbtype="nucl")


def test_searchio_reads_what_was_found(proteins):
    """Queries, with hits and without, titles, coordinates and numbers."""
    found = list(SearchIO.parse(io.StringIO(written(proteins)), "blast-tab", comments=True))
    assert [each.id for each in found] == ["q1", "none", "q3"]
    assert found[0].description == "one query"
    assert (found[0].program, found[0].version) == ("blastp", f"swdual-{__version__}")
    assert found[0].target == proteins[0].targets.name
    for each, result in zip(found, proteins, strict=True):
        assert [hit.accession_version for hit in each] == [hit.id for hit in result]
        for theirs, hit in zip(each, result, strict=True):
            alignment = hit.alignment
            assert theirs[0].query_range == (alignment.query_start, alignment.query_end)
            assert theirs[0].hit_range == (alignment.target_start, alignment.target_end)
            assert theirs[0].mismatch_num == alignment.mismatches
            assert theirs[0].evalue == pytest.approx(hit.evalue, rel=0.1)


def test_searchio_indexes_each_query(proteins, tmp_path):
    """The index ends a query where the first line comes again, and the last at the last line."""
    path = tmp_path / "hits.txt"
    path.write_text(written(proteins))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        index = SearchIO.index(str(path), "blast-tab", comments=True)
        assert {name: len(index[name]) for name in index} == {
            result.query.id: len(result) for result in proteins
        }
        index.close()


def test_bio_align_reads_the_alignments(proteins):
    """With BTOP the coordinates are those of our own alignments, letters U, X and O included."""
    found = list(Align.parse(io.StringIO(written(proteins, COMPLETE)), "tabular"))
    hits = [hit for result in proteins for hit in result]
    for theirs, hit in zip(found, hits, strict=True):
        assert np.array_equal(theirs.coordinates, hit.to_biopython().coordinates)
        assert (theirs.query.id, theirs.target.id) == (hit.query.id, hit.id)
        assert theirs.score == hit.score


def test_the_other_strand_has_falling_places(bases):
    """BLAST's way: from the larger place to the smaller one."""
    found = list(SearchIO.parse(io.StringIO(written(bases)), "blast-tab", comments=True))
    assert found[0].program == "blastn"
    assert [(hit.accession_version, hit[0].hit_strand) for hit in found[0]] == [
        ("plus", 1),
        ("minus", -1),
    ]
    assert [hit[0].hit_range for hit in found[0]] == [(2, 42), (1, 41)]
    assert "\t41\t2\t" in written(bases)


def test_the_comments_are_blasts():
    """As in BLAST's own files, but for the version; no fields where there are no rows."""
    queries = {"q one": "MKVLAWGGHE", "none": "P"}
    results = search(queries, {"t": "MKVLAWGGHE"}, comp_based_stats=0)
    assert written(results) == (
        f"# BLASTP swdual-{__version__}\n"
        "# Query: q one\n"
        "# Database: sequences in memory\n"
        "# Fields: query acc.ver, subject acc.ver, % identity, alignment length, mismatches, "
        "gap opens, q. start, q. end, s. start, s. end, evalue, bit score\n"
        "# 1 hits found\n"
        "q\tt\t100.000\t10\t0\t0\t1\t10\t1\t10\t1.41e-08\t26.9\n"
        f"# BLASTP swdual-{__version__}\n"
        "# Query: none\n"
        "# Database: sequences in memory\n"
        "# 0 hits found\n"
        "# BLAST processed 2 queries\n"
    )


def test_without_queries_there_is_the_last_line_only():
    """The number of queries is none."""
    assert written([]) == "# BLAST processed 0 queries\n"
    assert table(written([])) == (STANDARD, [])


def test_the_fields_have_the_names_that_blast_gives_them():
    """From blastp 2.12: ``-outfmt "7 qseqid ... qcovus"``, for the fields that swdual has."""
    blast = {
        **{"qseqid": "query id", "qacc": "query acc.", "qaccver": "query acc.ver"},
        **{"qlen": "query length", "sseqid": "subject id", "sacc": "subject acc."},
        **{"saccver": "subject acc.ver", "slen": "subject length", "qstart": "q. start"},
        **{"qend": "q. end", "sstart": "s. start", "send": "s. end", "qseq": "query seq"},
        **{"sseq": "subject seq", "evalue": "evalue", "bitscore": "bit score", "score": "score"},
        **{"length": "alignment length", "pident": "% identity", "nident": "identical"},
        **{"mismatch": "mismatches", "positive": "positives", "gapopen": "gap opens"},
        **{"gaps": "gaps", "ppos": "% positives", "qframe": "query frame"},
        **{"sframe": "sbjct frame", "btop": "BTOP", "stitle": "subject title"},
        **{"sstrand": "subject strand", "qcovs": "% query coverage per subject"},
        **{"qcovhsp": "% query coverage per hsp"},
    }
    assert commented.NAMES.items() >= blast.items()


def test_every_field_has_a_name_of_its_own():
    """So that a table can be read back; none holds the comma that parts them."""
    assert set(commented.NAMES) == set(FIELDS)
    assert len(set(commented.NAMES.values())) == len(FIELDS)
    assert not any(", " in name for name in commented.NAMES.values())


def test_every_field_survives_the_way_there_and_back(proteins):
    """Rows are those of the tabular format, and what is read is what it says."""
    fields = PLAIN_FIELDS
    text = written(proteins, fields)
    rows = [line for line in text.splitlines() if not line.startswith("# ")]
    stream = io.BytesIO()
    tabular.write(proteins, Output(stream, "memory"), fields, header=True)
    plain = stream.getvalue().decode().splitlines()
    assert rows == plain[1:]
    known = tabular.read_table(io.BytesIO(stream.getvalue()), "hits.tsv")
    expected = [row for chunk in known.chunks for row in zip(*chunk, strict=True)]
    fields, rows = table(text)
    assert fields == known.fields
    for ours, theirs in zip(rows, expected, strict=True):
        assert list(map(str, ours)) == list(map(str, theirs))  # not-a-number, too


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_tables_of_blastall_are_read(line_end):
    """Its -m 9 has other names, no number of hits, and an E-value without its mantissa."""
    head = (
        "# BLASTP 2.2.26 [Sep-21-2011]\n# Query: {}\n# Database: db\n"
        "# Fields: Query id, Subject id, % identity, alignment length, mismatches, gap openings, "
        "q. start, q. end, s. start, s. end, e-value, bit score\n"
    )
    row = "{}\tt1\t99.00\t100\t1\t0\t1\t100\t1\t100\te-105\t 385\n"
    text = "".join(head.format(name) + row.format(name) * 2 for name in ("q1", "q2"))
    fields, rows = table(text.replace("\n", line_end))
    assert fields == STANDARD
    assert [row[0] for row in rows] == ["q1", "q1", "q2", "q2"]
    assert {row[-2:] for row in rows} == {(1e-105, 385.0)}


def test_names_that_begin_like_a_comment_are_rows():
    """The comment says how many rows follow, so a row may begin with anything."""
    results = search({"#": "MKVLAWGGHE", "#2 x": "MKVLAWGGHE"}, {"# y": "MKVLAWGGHE"})
    fields, rows = table(written(results, ("stitle", "qseqid")))
    assert (fields, rows) == (("stitle", "qseqid"), [("# y", "#"), ("# y", "#2")])


def test_a_file_that_blast_wrote_is_read():
    """From blastp 2.12, with names that older releases gave."""
    text = (
        "# BLASTP 2.12.0+\r\n"
        "# Query: sp|P02232|LGB1_VICFA Leghemoglobin-1\r\n"
        "# Database: db_p\r\n"
        "# Fields: query id, subject title, evalue, % hsp coverage\r\n"
        "# 1 hits found\r\n"
        "sp|P02232|LGB1_VICFA\tsp|P39676|FHP_YEAST Flavohemoprotein\t3.60e-06\t34\r\n"
        "# BLAST processed 1 queries\r\n"
    )
    fields, rows = table(text)
    assert fields == ("qseqid", "stitle", "evalue", "qcovhsp")
    assert rows == [("sp|P02232|LGB1_VICFA", "sp|P39676|FHP_YEAST Flavohemoprotein", 3.6e-6, 34.0)]


def test_hostile_titles_stay_in_their_line():
    """Tabs become spaces, and no other control character passes."""
    query, target = {"q\tone\x1b[2J\u2028": "MKVLAWGGHE"}, {"t\ttwo\x0b": "MKVLAWGGHE"}
    results = search(query, target, comp_based_stats=0)
    text = written(results, ("qseqid", "stitle", "score"))
    assert "# Query: q one?[2J?\n" in text
    assert text.split("\n")[5].split("\t") == ["q", "t two?", "58"]
    assert text.count("\n") == 7


def test_missing_statistics_are_read_back_as_missing():
    """NA in the file, not-a-number in the table."""
    text = written(search({"q": "MKV"}, {"t": "MKV"}, stats="none"))
    assert "\tNA\tNA\n" in text
    _, rows = table(text)
    assert all(math.isnan(value) for value in rows[0][-2:])


def test_an_empty_alignment_is_a_row():
    """A score of 0 aligns nothing: percentages are missing, numbers are 0."""
    results = search({"q": "W"}, {"t": "A"}, min_raw_score=0, stats="none")
    text = written(results, ("qseqid", "pident", "length", "btop"))
    assert text.split("\n")[5] == "q\tNA\t0\t"


def test_results_are_written_one_by_one(proteins):
    """The first query stands in the output before the second is asked for."""
    stream = io.BytesIO()

    def iter_hits():
        for number, result in enumerate(proteins):
            assert stream.getvalue().count(b" hits found\n") == number
            yield result

    commented.write(iter_hits(), Output(stream, "memory"), BLAST_STANDARD, header=True)
    assert stream.getvalue().decode() == written(proteins)


HEAD = "# BLASTP x\n# Query: q\n# Fields: query id, score\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "# 1 hits found\nq\n", "hits.txt:5: 1 value, but there are 2 fields"),
        (HEAD + "# 1 hits found\nq\t1\t2\n", "hits.txt:5: 3 values, but there are 2 fields"),
        (HEAD + "# 1 hits found\nq\tx\n", "hits.txt:5: score is 'x', not a number"),
        (HEAD + "# 2 hits found\nq\t1\n", "hits.txt:4: '# 2 hits found', but 1 row is missing at"),
        (
            HEAD + "# 3 hits found\nq\t1\n# BLAST processed 1 queries\n",
            "hits.txt:4: '# 3 hits found', but 2 rows are missing before line 6",
        ),
        (HEAD + "# 1 hits found\nq\t1\nq\t2\n", "hits.txt:6: a row too many: line 4 says '# 1"),
        ("q\t1\n", "hits.txt:1: 2 values, but there are 12 fields"),
        ("# Fields: x, y\n# 1 hits found\nq\t1\n", "hits.txt:3: unknown field 'x'"),
        (
            HEAD + "# 1 hits found\nq\t1\n# Fields: score\n# 1 hits found\n7\n",
            "hits.txt:8: the fields are not those of the first rows",
        ),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(text, message):
    """Too few or too many values or rows, no number, an unknown field, other fields."""
    with pytest.raises(InputError) as caught:
        table(text)
    assert message in str(caught.value)


def test_the_mode_of_composition_based_statistics_is_a_comment():
    """Readers pass it over; in mode 0 there is none."""
    results = search(QUERIES, TARGETS, evalue=1e6, comp_based_stats=3, adjust="all")
    text = written(results, COMPLETE)
    line = "# Composition-based statistics: mode 3, all targets adjusted\n"
    assert text.count(f"# Database: {results[0].targets.name}\n{line}") == len(QUERIES)
    assert table(text) == table(text.replace(line, ""))
    searched = list(SearchIO.parse(io.StringIO(written(results)), "blast-tab", comments=True))
    assert [each.id for each in searched] == ["q1", "none", "q3"]
    assert len(list(Align.parse(io.StringIO(text), "tabular"))) == len(results.scores)
    plain = search(QUERIES, TARGETS, evalue=1e6, comp_based_stats=0)
    assert "statistics" not in written(plain)
