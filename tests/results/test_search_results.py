"""What a search returns: sequences of results and hits, columns, and how they are shown."""

from __future__ import annotations

import copy
import inspect
import json
import math
import pickle
import re
from functools import partial
from html.parser import HTMLParser

import numpy as np
import pytest
from support.formats import PLAIN_FIELDS

from swdual.api import search
from swdual.database.database import Database
from swdual.database.makedb import makedb
from swdual.errors import DatabaseError, InputError, OutputError, StatisticsUnavailable
from swdual.hits.fields import DATA, FIELDS, STANDARD, columns
from swdual.hits.hit import Hit
from swdual.hits.query_result import QueryResult
from swdual.results.search_results import SHOWN_HITS, SHOWN_HITS_EACH, SHOWN_QUERIES, SearchResults

QUERIES = [("q1 first query", "MKVLAW"), ("q2", "P"), ("q3", "WWWW")]
TARGETS = [("t1 one", "GGWW"), ("t2 two", "MKVLAW"), ("t3", "MKVLA"), ("t4 four", "MKVLAWGG")]
HOSTILE = '<script>alert("1")</script>&<img/src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def results():
    return search(QUERIES, TARGETS, max_target_seqs=3, stats="none")


@pytest.fixture(scope="module")
def evaluated():
    """Results with E-values: small ones and large ones, and a query without hits."""
    targets = [*TARGETS, ("t5", "MKVLAWGGHERMKVLAWDEF")]
    queries = [*QUERIES, ("q4", "MKVLAWGGHERMKVLAWDEF")]
    return search(queries, targets, evalue=math.inf, comp_based_stats=0)


@pytest.fixture(scope="module")
def both_strands():
    """Results of nucleotides: the second target hits with its other strand."""
    forward, backward = "AAAACCCGGTACGTTAGACC", "GGTCTAACGTACCGGGTTTT"
    targets = {"plus": forward, "minus": f"TT{backward}T", "part": forward[:12]}
    return search({"n": forward}, targets, dbtype="nucl")


def test_results_are_a_sequence_of_the_queries(results):
    """One result a query in their order; indices, negative ones and slices; IndexError beyond."""
    assert len(results) == 3
    assert isinstance(results, SearchResults)
    assert all(isinstance(result, QueryResult) for result in results)
    assert [result.query.id for result in results] == ["q1", "q2", "q3"]
    assert results[-1] is results[2]
    assert [result.number for result in results[1:]] == [1, 2]
    assert list(results[::-1]) == list(reversed(results))
    with pytest.raises(IndexError):
        results[3]


def test_some_queries_have_all_methods_of_results(results, tmp_path):
    """By a slice or a list; tables, files and reports are those of these queries."""
    assert results[:] == results
    for part in (results[2:1:-1], results[["q3"]], results[[2]], results[[-1]]):
        assert isinstance(part, SearchResults)
        assert [*part] == [results[2]]
        assert (part.params, part.stats) == (results.params, results.stats)
        assert part.found == len(results[2])
    assert results[["q3", 0]].query_ids == ["q3", "q1"]
    assert results[[]].query_ids == []
    assert results[5:].scores.tolist() == []
    one = results[["q1"]]
    frame = results.to_pandas()
    assert one.to_pandas().equals(frame[frame["qseqid"] == "q1"].reset_index(drop=True))
    one.write(tmp_path / "one.tsv")
    results.write(tmp_path / "all.tsv")
    rows = (tmp_path / "all.tsv").read_text().splitlines(keepends=True)
    wanted = "".join(row for row in rows if row.startswith("q1\t"))
    assert (tmp_path / "one.tsv").read_text() == wanted
    assert "q1 first query" in one.report().html
    assert "q1 first query" not in results[1:].report().html
    fewer = results.top(1)
    assert fewer[:1].found == results.found  # what was left out is not known by query
    with pytest.raises(IndexError):
        results[[3]]
    with pytest.raises(KeyError):
        results[["q1", "none"]]


def test_queries_are_chosen_by_a_mask_or_an_array(results):
    """As NumPy's arrays are."""
    for mask in ([True, False, True], [np.True_, np.False_, np.True_]):
        assert results[mask].query_ids == results[np.array(mask)].query_ids == ["q1", "q3"]
    assert results[[False] * 3].query_ids == []
    assert results[np.array([2, 0])].query_ids == ["q3", "q1"]
    assert results[np.array(["q2"])].query_ids == ["q2"]
    assert results[np.array([])].query_ids == []
    assert results[np.int64(1)] is results[1]
    for mask in ([True, False], np.ones(4, bool)):
        with pytest.raises(InputError, match=rf"a mask of {len(mask)} entries does not fit 3 que"):
            results[mask]
    for mixed in (True, [True, 2, 0]):
        with pytest.raises(InputError, match="by its place or identifier, but not by True"):
            results[mixed]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *[
            (name, value, f"`{name}` is {value}, but it must be at least 0")
            for name in ("evalue", "min_score", "min_raw_score", "min_identity", "min_target_cover")
            for value in (-1, math.nan)
            if (name, value) != ("min_raw_score", math.nan)
        ],
        *[
            (name, 200, f"`{name}` is 200, but it is a percentage: at most 100")
            for name in ("min_identity", "min_query_cover", "min_target_cover")
        ],
    ],
)
def test_a_filter_refuses_what_a_search_refuses(results, name, value, message):
    """With the same words, instead of keeping all hits or none."""
    for call in (results.filter, results[0].filter, partial(search, "MKV", {"t": "MKV"})):
        with pytest.raises(InputError, match=message):
            call(**{name: value})


@pytest.mark.parametrize("percent", [-5, 101, math.nan, True, "5"])
def test_hits_within_a_percentage_need_one(results, percent):
    for call in (results.within, results[0].within):
        with pytest.raises(InputError, match=f"`percent` is '?{percent}'?, but it "):
            call(percent)


def test_a_result_says_where_methods_of_results_are(results):
    """Those that a user looks for; pickling and copying look for others."""
    with pytest.raises(AttributeError, match=r"results\[\['q1'\]\]\.to_pandas\(\)"):
        results[0].to_pandas()
    with pytest.raises(AttributeError, match=r"'QueryResult' has no attribute 'nothing'$"):
        results[0].nothing  # noqa: B018
    assert not hasattr(results[0], "write")
    assert copy.copy(results[0]) == results[0]


def test_a_result_is_a_sequence_of_hits(results):
    """Hits best first; indices, negative ones and slices; IndexError beyond."""
    first = results[0]
    assert [(hit.id, hit.score, hit.rank) for hit in first] == [
        ("t2", 33, 1), ("t4", 33, 2), ("t3", 22, 3)
    ]  # fmt: skip
    assert first[-1] == first[2]
    assert first[np.int64(1)] == first[1]
    assert [hit.rank for hit in first[1:]] == [2, 3]
    assert [hit.rank for hit in first[::-2]] == [3, 1]
    assert first[5:] == []
    for beyond in (3, -4):
        with pytest.raises(IndexError):
            first[beyond]
    assert list(results[1]) == []
    with pytest.raises(IndexError):
        results[1][0]


def test_a_hit_tells_of_its_query_and_its_target(results):
    """Identifier, header line, lengths, places and the residues themselves."""
    hit = results[0][0]
    assert isinstance(hit, Hit)
    assert (hit.query.title, hit.query.id) == ("q1 first query", "q1")
    assert (hit.title, hit.id, hit.ordinal, hit.target_length) == ("t2 two", "t2", 1, 6)
    assert hit.target.title == "t2 two"
    assert hit.target.codes == hit.query.codes
    assert {type(value) for value in (hit.score, hit.ordinal, hit.rank, hit.target_length)} == {int}


def test_the_columns_have_one_entry_a_hit(results):
    """Query numbers, ranks, scores, ordinals, lengths, in the order of iteration."""
    hits = [(number, hit) for number, result in enumerate(results) for hit in result]
    columns = {
        "query_numbers": [number for number, _ in hits],
        "ranks": [hit.rank for _, hit in hits],
        "scores": [hit.score for _, hit in hits],
        "ordinals": [hit.ordinal for _, hit in hits],
        "target_lengths": [hit.target_length for _, hit in hits],
    }
    assert len(hits) > 4
    for name, values in columns.items():
        column = getattr(results, name)
        assert column.dtype == np.int64, name
        assert column.tolist() == values


def test_bits_and_e_values_are_columns_too(evaluated, results):
    """One entry a hit; without statistics not-a-number, and None for a hit."""
    hits = [hit for result in evaluated for hit in result]
    assert evaluated.bits.dtype == evaluated.evalues.dtype == np.float64
    assert evaluated.bits.tolist() == [hit.bits for hit in hits]
    assert evaluated.evalues.tolist() == [hit.evalue for hit in hits]
    assert evaluated.stats["method"] == "table"
    assert evaluated.stats["residues"] == 43
    assert np.isnan(results.bits).all()
    assert np.isnan(results.evalues).all()
    assert (results[0][0].bits, results[0][0].evalue) == (None, None)
    assert results.stats == {"method": "none"}


def test_titles_are_the_header_lines_of_the_hits(results):
    """In the order of the hits."""
    assert results[0].titles == [hit.title for hit in results[0]] == ["t2 two", "t4 four", "t3"]
    assert results[1].titles == []


def test_no_queries_and_no_hits_have_empty_columns():
    """Empty columns are whole numbers too, and everything can still be shown."""
    for results in (search([], TARGETS), search("P", TARGETS)):
        for name in ("query_numbers", "ranks", "scores", "ordinals", "target_lengths"):
            column = getattr(results, name)
            assert (len(column), column.dtype) == (0, np.int64)
        for name in ("bits", "evalues"):
            column = getattr(results, name)
            assert (len(column), column.dtype) == (0, np.float64)
        assert "0 hits" in repr(results)
        parsed(results._repr_html_())


def test_to_pandas_has_a_row_a_hit():
    """Columns are named like the fields of the formats, and hold what the hits hold."""
    pytest.importorskip("pandas")
    results = search(QUERIES, TARGETS, max_target_seqs=3, evalue=math.inf)
    frame = results.to_pandas()
    hits = [hit for result in results for hit in result]
    assert frame.shape == (len(hits), len(DATA))
    assert frame["qseqid"].tolist() == [hit.query.id for hit in hits]
    assert frame["sseqid"].tolist() == [hit.id for hit in hits]
    assert frame["stitle"].tolist() == [hit.title for hit in hits]
    assert frame["qtitle"].tolist() == [hit.query.title for hit in hits]
    assert frame["score"].tolist() == [hit.score for hit in hits]
    assert frame["rank"].tolist() == [hit.rank for hit in hits]
    assert frame["qlen"].tolist() == [len(hit.query.codes) for hit in hits]
    assert frame["slen"].tolist() == [hit.target_length for hit in hits]
    assert frame["qnum"].tolist() == [k + 1 for k in results.query_numbers]
    assert frame["snum"].tolist() == [hit.ordinal + 1 for hit in hits]
    assert frame["evalue"].tolist() == [hit.evalue for hit in hits]
    assert frame["bitscore"].tolist() == [hit.bits for hit in hits]
    assert frame["cigar"].tolist() == [hit.alignment.cigar for hit in hits]
    assert frame["qstart"].tolist() == [hit.alignment.query_start + 1 for hit in hits]
    assert frame["send"].tolist() == [hit.alignment.target_end for hit in hits]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_data_frames_have_the_fields_of_the_formats(evaluated, both_strands, kind):
    """What a format can show stands in the frame under the same name, with its type."""
    pytest.importorskip("pyarrow" if kind == "arrow" else kind)
    for results in (evaluated, both_strands):
        frame = getattr(results, f"to_{kind}")(list(PLAIN_FIELDS))
        names = frame.column_names if kind == "arrow" else list(frame.columns)
        assert names == list(PLAIN_FIELDS)
        parts = [columns(result, names) for result in results]
        for name, column in zip(names, zip(*parts, strict=True), strict=True):
            found = frame[name].to_pylist() if kind == "arrow" else list(frame[name])
            values = [value for part in column for value in part]
            # Nothing is included in this search, and qcovus is for nucleotides.
            if name in ("first_evalue", "qcovus") and all(map(math.isnan, values)):
                assert all(value is None or math.isnan(value) for value in found)
                continue
            assert found == values, name
            expected = {"text": str, "whole": (int, np.integer), "real": float}[FIELDS[name].kind]
            assert all(isinstance(value, expected) for value in found), name
        assert len(frame) == len(results.scores)


def test_data_frames_have_fields_by_name(evaluated):
    """`std` is spelt out as in a format, and an unknown field is refused."""
    pytest.importorskip("pandas")
    frame = evaluated.to_pandas(["std", "stitle"])
    assert list(frame.columns) == [*STANDARD, "stitle"]
    with pytest.raises(InputError, match="did you mean evalue"):
        evaluated.to_pandas(["evalu"])


def test_data_frames_of_a_search_without_alignments_show_none():
    """What needs an alignment is left out, unless it is asked for by name: then it is found."""
    pytest.importorskip("pandas")
    results = search(QUERIES, TARGETS, align=False, evalue=math.inf)
    names = set(results.to_pandas().columns)
    assert names == {name for name in DATA if not FIELDS[name].traced}
    assert results[0].traced is None
    assert results.to_pandas(["cigar"])["cigar"].tolist()[:2] == ["6M", "6M"]


def test_values_that_are_missing_are_null_in_arrow(results):
    """Without statistics there are no E-values: null, not not-a-number."""
    pytest.importorskip("pyarrow")
    table = results.to_arrow(["evalue", "score"])
    assert table["evalue"].null_count == len(results.scores) == table.num_rows
    assert table["score"].null_count == 0


def test_results_speak_arrow(evaluated):
    """Whoever reads Arrow streams reads them; the metadata says what was asked for."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table(evaluated)
    assert table.equals(evaluated.to_arrow())
    facts = json.loads(table.schema.metadata[b"swdual.search"])
    assert (facts["matrix"], facts["gap_open"], facts["residues"]) == ("BLOSUM62", 11, 43)
    params = evaluated.params
    assert (facts["comp_based_stats"], facts["adjust"]) == (params.comp_based_stats, "candidates")
    assert json.loads(table.schema.metadata[b"swdual.statistics"])["method"] == "table"


def test_to_pandas_of_nothing_has_no_rows():
    """Neither an empty list of queries nor a query without hits is an error."""
    pytest.importorskip("pandas")
    for results in (search([], TARGETS), search("P", TARGETS)):
        frame = results.to_pandas()
        assert len(frame) == 0
        assert "sseqid" in frame.columns
        assert frame["score"].dtype == np.int64
        assert frame["evalue"].dtype == np.float64


class Tags(HTMLParser):
    """Collects the tags, attributes and text of a page, and checks that tags are closed."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = set(), set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(page):
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return tags


def test_html_escapes_hostile_headers_and_has_no_script():
    """Whatever a header says is shown as text: no tag, attribute or script comes from it."""
    targets = [(f"{HOSTILE} {HOSTILE}", "MKVLAW"), ("x' \" onload=1", "MKVLAW")]
    hit = search([(f"{HOSTILE} {HOSTILE}", "MKVLAW")], targets)[0][0]
    assert parsed(hit._repr_html_()).tags <= {"p", "b", "br", "div", "pre", "span"}
    assert "<script" not in hit._repr_html_().lower()
    page = search([(f"{HOSTILE} {HOSTILE}", "MKVLAW")], targets)._repr_html_()
    tags = parsed(page)
    frame = {"p", "b", "div", "span", "table", "thead", "tbody", "tr", "th", "td"}
    assert tags.tags <= frame
    assert tags.attributes <= {"style", "title", "colspan"}
    assert "<script" not in page.lower()
    assert HOSTILE.split(maxsplit=1)[0] in "".join(tags.text)
    assert "javascript:" not in page


def words_in(page):
    """Return the text of a page, its words set apart by single blanks."""
    return " ".join(" ".join(parsed(page).text).split())


def test_html_shows_the_best_hits_of_each_query_and_counts_the_others():
    """A few of many queries, more of a single one; each has a line of its own."""
    targets = [(f"t{k}", "MKVLAW") for k in range(SHOWN_HITS + 7)]
    options = {"max_target_seqs": 0, "evalue": math.inf}
    one = search(("q only", "MKVLAW"), targets, **options)
    for shown in (one, one[0]):
        page = shown._repr_html_()
        assert page.count("<tr>") == 2 + SHOWN_HITS
        assert "q only · 6 residues · best 20 of 27 hits" in words_in(page)
    few = search("MKVLAW", targets[:4], **options)._repr_html_()
    assert few.count("<tr>") == 2 + 4
    assert "· 4 hits" in words_in(few)
    many = search([(f"q{k}", "MKVLAW") for k in range(SHOWN_QUERIES + 2)], targets, **options)
    page = many._repr_html_()
    assert page.count("<tr>") == 1 + SHOWN_QUERIES * (1 + SHOWN_HITS_EACH)
    assert "q0 · 6 residues · best 3 of 27 hits 1 t0" in words_in(page)
    assert words_in(page).endswith("and 2 more queries")
    assert "q20" not in page


def test_html_begins_with_hits_and_seconds():
    """Not with what only developers know."""
    results = search(QUERIES, TARGETS)
    hits, seconds = len(results.scores), results.timing.seconds
    assert words_in(results._repr_html_()).startswith(f"{hits} hits of 3 queries, {seconds:.3g} s")
    assert repr(results) == f"<SearchResults: {hits} hits of 3 queries, {seconds:.3g} s>"
    assert repr(results.timing).startswith(f"<Timing: {seconds:.3g} s, ")


def test_html_says_that_there_are_no_hits(results):
    """Of all queries, or of some: no empty table."""
    nothing = search([("a long title", "P"), ("b", "G")], {"t": "W"})
    for page in (nothing._repr_html_(), nothing[0]._repr_html_()):
        assert "<table" not in page
        said = "a long title · 1 residue · no hits with an E-value of at most 10"
        assert said in words_in(page)
    assert "q2 · 1 residue · no hits q3" in words_in(results._repr_html_())
    assert words_in(search([], TARGETS)._repr_html_()).startswith("0 hits of 0 queries")


def test_html_cells_are_not_wrapped(evaluated):
    """Numbers stand on the right, text on the left; a long title is shown whole by the pointer."""
    long = "a very long title " * 20
    page = search("MKVLAW", [(f"t {long}", "MKVLAW")], evalue=math.inf)._repr_html_()
    tags = Styles()
    tags.feed(page)
    assert long.strip() in tags.titles
    assert {"left", "right"} == {re.search(r"text-align:(\w+)", x)[1] for x in tags.cells}
    assert all("white-space:nowrap" in style for style in tags.cells)
    assert "text-overflow:ellipsis" in page


class Styles(HTMLParser):
    """Collects the styles of cells, and what is shown while the pointer is on something."""

    def __init__(self):
        super().__init__()
        self.cells, self.titles = [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag in ("td", "th"):
            self.cells.append(found["style"])
        if "title" in found:
            self.titles.append(found["title"].strip())


def test_html_looks_only_at_the_hits_that_it_shows(monkeypatch):
    """Alignments that nobody found yet are not all found to show a few."""
    from swdual.alignment.tracer import Tracer

    traced = []
    trace = Tracer.__call__

    def counting(self, query, targets, *rest, **more):
        traced.append(len(targets))
        return trace(self, query, targets, *rest, **more)

    monkeypatch.setattr(Tracer, "__call__", counting)
    targets = [(f"t{k}", "MKVLAW") for k in range(100)]
    results = search("MKVLAW", targets, align=False, evalue=math.inf, comp_based_stats=0)
    assert traced == []
    results._repr_html_()
    assert traced == [SHOWN_HITS]


def test_a_result_and_a_hit_are_had_by_identifier():
    """Whole identifiers, parts between bars; the error is a KeyError and names the nearest."""
    targets = [("sp|P01008.1|ANT3_HUMAN title", "MKVLAW"), ("t2", "MKVLA"), ("x|t2|y", "MKV")]
    results = search([("gi|1|first one", "MKVLAW"), ("q2", "WWW")], targets, evalue=math.inf)
    assert results["gi|1|first"] is results["first"] is results[0]
    assert results.query_ids == ["gi|1|first", "q2"]
    assert "q2" in results
    assert results[1] in results
    assert "q3" not in results
    hits = results["first"]
    assert hits["P01008"] == hits["sp|P01008.1|ANT3_HUMAN"] == hits[0]
    assert hits["t2"].id == "t2"
    assert hits.target_ids == [hit.id for hit in hits]
    assert "t2" in hits
    assert hits[0] in hits
    assert "t3" not in hits
    with pytest.raises(KeyError) as caught:
        results["gi|2|first"]
    assert str(caught.value) == "there is no query 'gi|2|first'; did you mean gi|1|first?"
    with pytest.raises(InputError, match="with the identifier 'no'"):
        hits["no"]


def test_a_hit_tells_where_it_aligns():
    """What its alignment tells, without making one."""
    found = search(("q", "AAMKVLAWGGHE"), {"t": "GMKVAWGGHEAA"}, gap_open=5, stats="none")
    hit, alignment = found[0][0], found[0][0].alignment
    names = ("query_start", "query_end", "target_start", "target_end", "length", "identities")
    names += ("positives", "gaps", "identity", "query_coverage", "target_coverage")
    for name in names:
        assert getattr(hit, name) == getattr(alignment, name), name
    assert (hit.query_start, hit.target_start, hit.gaps) == (2, 1, 1)
    nothing = search("W", {"t": "P"}, min_raw_score=0, stats="none")[0][0]
    assert math.isnan(nothing.identity)


def test_a_wrong_name_of_a_limit_is_answered_with_the_right_one(evaluated):
    """For all queries and for one; help shows the names of both."""
    for found in (evaluated, evaluated[0]):
        with pytest.raises(
            TypeError, match=r"filter\(\).*'min_identty'; did you mean min_identity"
        ):
            found.filter(min_identty=30)
        names = [*inspect.signature(found.filter).parameters]
        assert names[:2] == ["evalue", "min_score"]
        assert "min_identity" in names
        assert "Smallest percentage of equal letters" in found.filter.__doc__


def test_fields_may_follow_a_format(evaluated):
    """What `write` takes, `to_pandas` takes as well."""
    pytest.importorskip("pandas")
    for text in ("7 std", "6", "std", "tabular std"):
        assert list(evaluated.to_pandas(text).columns) == list(STANDARD)
    assert list(evaluated.to_pandas("6 qseqid score").columns) == ["qseqid", "score"]
    with pytest.raises(InputError, match="did you mean evalue"):
        evaluated.to_pandas("evalu")


def test_the_sequences_of_hits_are_written_once(tmp_path):
    """In the order of the hits; what two queries hit is written once."""
    targets = [("t1 one", "MKVLAW"), ("t2", "PPPP"), ("t3", "MKVLA")]
    queries = [("a", "MKVLAW"), ("b", "MKVLA")]
    results = search(queries, targets, evalue=math.inf, comp_based_stats=0)
    results.write_fasta(tmp_path / "hits.fa")
    assert (tmp_path / "hits.fa").read_text() == ">t1 one\nMKVLAW\n>t3\nMKVLA\n"
    with pytest.raises(OutputError, match="exists"):
        results.write_fasta(tmp_path / "hits.fa")


def test_letters_of_both_sequences_are_text(evaluated):
    """Also after pickling, when the database is gone."""
    hit = evaluated[0][0]
    for each in (hit, pickle.loads(pickle.dumps(hit))):
        assert str(each.query) == "MKVLAW"
        assert str(each.target) == each.target.letters == "MKVLAW"
        assert len(each.target) == each.target_length


def test_completion_shows_what_users_need(evaluated):
    """Whatever `dir` shows is there, and of the inner parts nothing is shown."""
    shown = dir(evaluated[0])
    assert all(hasattr(evaluated[0], name) for name in shown)
    assert {"query", "scores", "evalues", "filter", "top", "titles"} <= set(shown)
    assert not {"pieces", "before", "traced", "iter_hits", "subset"} & set(shown)


def test_html_shows_hits_without_statistics_and_without_alignment():
    """A target that nothing aligns with is a row too."""
    results = search("WWW", {"none": "PPP"}, min_raw_score=0, stats="none")
    assert results.scores.tolist() == [0]
    assert "none" in "".join(parsed(results._repr_html_()).text)


def test_html_of_a_database_escapes_its_name(results):
    """The table of a database is well-formed, whatever it is called."""
    database = results[0].targets
    parsed(database._repr_html_())


def test_each_repr_is_one_short_line():
    """Results, one query's result and a hit show what they are, even if titles are hostile."""
    title = "long\nheader\t" + "x" * 20 + "\r\n more words" * 50
    results = search([(title, "MKVLAW" * 500)], [(title, "MKVLAW" * 400)])
    for shown in (repr(results), repr(results[0]), repr(results[0][0])):
        assert len(shown.splitlines()) == 1
        assert len(shown) < 400
    assert "1 hit of 1 query" in repr(results)
    assert "1 hit" in repr(results[0])
    assert str(results[0][0].score) in repr(results[0][0])


def test_results_are_equal_if_the_same_was_asked_and_found(evaluated):
    """Time and the moment of alignment do not matter; parameters, queries, order and hits do."""
    targets = [*TARGETS, ("t5", "MKVLAWGGHERMKVLAWDEF")]
    queries = [*QUERIES, ("q4", "MKVLAWGGHERMKVLAWDEF")]
    same = {"evalue": math.inf, "comp_based_stats": 0}
    assert search(queries, targets, **same) == evaluated
    assert search(queries, targets, threads=1, align=False, **same) == evaluated
    assert search(queries, targets, evalue=math.inf) != evaluated
    assert search(queries, targets, matrix="BLOSUM50", **same) != evaluated
    assert search(queries[::-1], targets, **same) != evaluated
    assert search(queries, targets[::-1], **same) != evaluated
    assert search(queries, [*targets[1:], ("t6", "W")], **same) != evaluated
    assert search(queries, [*targets[:-1], ("t5 x", targets[-1][1])], **same) != evaluated
    assert evaluated != "evaluated"
    assert evaluated[0] != 0


def test_results_with_other_e_values_are_not_equal():
    """Equal hits of a larger database mean less: the results differ."""
    hit, other = ("t", "MKVLAWGGHERMKVLAWDEF"), ("p", "P" * 1000)
    small, large = (search("MKVLAWGGHERMKVLAWDEF", x) for x in ([hit], [hit, other]))
    assert small[0].titles == large[0].titles == ["t"]
    assert small.evalues[0] < large.evalues[0]
    assert small != large


@pytest.mark.parametrize("kind", ["results", "evaluated", "both_strands"])
def test_results_can_be_pickled(request, kind):
    """They come back equal, with targets, titles and alignments, but without the database."""
    results = request.getfixturevalue(kind)
    again = pickle.loads(pickle.dumps(results))
    assert again == results
    assert repr([*again.timing.timeline]) == repr([*results.timing.timeline])
    assert repr(again.timing) == repr(results.timing)
    assert again.stats == results.stats
    assert again.scores.tolist() == results.scores.tolist()
    for ours, theirs in zip(results, again, strict=True):
        assert [hit.target for hit in theirs] == [hit.target for hit in ours]
        assert [hit.alignment for hit in theirs] == [hit.alignment for hit in ours]
        assert [hit.evalue for hit in theirs] == [hit.evalue for hit in ours]
        assert (theirs.targets.name, len(theirs.targets)) == (ours.targets.name, len(ours.targets))
        assert theirs.targets.residues == ours.targets.residues
    hit = pickle.loads(pickle.dumps(results[0][0]))
    assert (hit.id, hit.target) == (results[0][0].id, results[0][0].target)


def test_a_pickle_holds_no_target_that_is_no_hit():
    """A pickle of few hits of a large database is small."""
    targets = [("hit", "MKVLAWGGHER"), *((f"t{k}", "P" * 1000) for k in range(200))]
    results = search("MKVLAWGGHER", targets)
    assert [hit.id for hit in results[0]] == ["hit"]
    assert len(pickle.dumps(results)) < 20_000


def test_a_filter_keeps_what_passes_every_bar(evaluated):
    """Each bar alone, and all together; ranks are counted anew, the order stays."""
    hits = evaluated[3]
    assert len(hits) == 5
    bars = {
        "evalue": (1e-3, lambda hit: hit.evalue <= 1e-3),
        "min_score": (14.0, lambda hit: hit.bits >= 14.0),
        "min_raw_score": (22, lambda hit: hit.score >= 22),
        "min_identity": (100, lambda hit: hit.alignment.identity == 1),
        "min_query_cover": (30, lambda hit: hit.alignment.query_coverage >= 0.3),
        "min_target_cover": (100, lambda hit: hit.alignment.target_coverage == 1),
    }
    for name, (bar, passes) in bars.items():
        kept = evaluated.filter(**{name: bar})[3]
        assert [hit.id for hit in kept] == [hit.id for hit in hits if passes(hit)], name
        assert [hit.rank for hit in kept] == list(range(1, len(kept) + 1))
        assert 0 < len(kept) <= len(hits)
    both = evaluated.filter(min_query_cover=30, min_target_cover=100)[3]
    assert {hit.id for hit in both} == {"t2", "t4", "t5"}
    assert evaluated.filter() == evaluated


@pytest.mark.parametrize("percent", [0, 25, 99])
def test_within_keeps_what_is_near_the_best_of_each_query(evaluated, percent):
    """Counted in raw scores, and equal scores stay together; a query without hits stays empty."""
    kept = evaluated.within(percent)
    assert len(kept) == len(evaluated)
    for some, whole in zip(kept, evaluated, strict=True):
        best = max((hit.score for hit in whole), default=0)
        near = [hit.id for hit in whole if 100 * (best - hit.score) <= percent * best]
        assert [hit.id for hit in some] == near
    assert [len(each) for each in evaluated.within(100)] == [len(each) for each in evaluated]


def test_top_keeps_the_first_hits_of_each_query(evaluated):
    """With their alignments; more than there are is all."""
    for count in (0, 1, 2, 100):
        top = evaluated.top(count)
        assert [len(result) for result in top] == [min(count, len(r)) for r in evaluated]
        assert [hit.id for r in top for hit in r] == [h.id for r in evaluated for h in r[:count]]
        assert [hit.alignment for hit in top[0]] == [h.alignment for h in evaluated[0][:count]]
        assert len(top.scores) == sum(map(len, top))


@pytest.mark.parametrize("outfmt", ["6", "6 std qcovhsp", "csv", "jsonl", "10 qseqid score"])
def test_results_are_written_as_the_command_writes_them(run, here, outfmt):
    """The same bytes from Python and from the command line, for the same search."""
    results = search(here / "q.fa", "t.fa")
    results.write(here / "x", outfmt, header=True)
    assert (here / "x").read_text() == run("search", "q.fa", "t.fa", "-f", outfmt, "--header").out
    with pytest.raises(OutputError, match="exists"):
        results.write(here / "x", outfmt)
    results.write(here / "x", outfmt, force=True)
    with pytest.raises(InputError, match="unknown field"):
        results.write(here / "y", "6 scor")
    assert not (here / "y").exists()


def test_alignments_are_the_same_whenever_they_are_found(evaluated, both_strands):
    """During the search or when a hit is first looked at."""
    targets = [*TARGETS, ("t5", "MKVLAWGGHERMKVLAWDEF")]
    queries = [*QUERIES, ("q4", "MKVLAWGGHERMKVLAWDEF")]
    late = search(queries, targets, evalue=math.inf, align=False, comp_based_stats=0)
    assert late[0].traced is None
    assert evaluated[0].traced is not None
    for ours, theirs in zip(late, evaluated, strict=True):
        assert [hit.alignment for hit in ours] == [hit.alignment for hit in theirs]
    forward, backward = "AAAACCCGGTACGTTAGACC", "GGTCTAACGTACCGGGTTTT"
    bases = {"plus": forward, "minus": f"TT{backward}T", "part": forward[:12]}
    late = search({"n": forward}, bases, dbtype="nucl", align=False)
    assert [hit.alignment for hit in late[0]] == [hit.alignment for hit in both_strands[0]]


def test_a_hit_on_the_other_strand_says_so(both_strands):
    """Its strand is -1, its place is on the target as given, and its rows read along the query."""
    hits = {hit.id: hit for hit in both_strands[0]}
    assert [hits[name].strand for name in ("plus", "minus", "part")] == [1, -1, 1]
    found = hits["minus"].alignment
    assert (found.target_start, found.target_end) == (2, 22)
    assert found.rows[0] == found.rows[2] == "AAAACCCGGTACGTTAGACC"


def test_an_error_about_statistics_names_the_schemes_that_there_are():
    """What the caller can do: one of these gap prices, a fit, or no E-values."""
    with pytest.raises(StatisticsUnavailable, match=r"11/1.*fit.*none"):
        search("MKVLAW", TARGETS, gap_open=3)
    assert search("MKVLAW", TARGETS, gap_open=3, stats="none")[0][0].score == 33


def test_scores_are_drawn(evaluated, results):
    """Bit scores, or raw scores without statistics; in the caller's axes or in new ones."""
    mpl = pytest.importorskip("matplotlib")
    mpl.use("agg")
    from matplotlib import pyplot

    drawn = evaluated.plot_scores(3)
    assert drawn.get_xlabel() == "bit score"
    assert "q4" in drawn.get_title()
    few = [line for line in drawn.lines if line.get_marker() == "o"]
    assert len(few) == 1
    assert few[0].get_xdata().tolist() == sorted({*evaluated[3].bits.tolist()})
    assert sum(few[0].get_ydata()) == len(evaluated[3])
    assert drawn.get_yscale() == "linear"
    assert all(tick == int(tick) for tick in drawn.get_yticks())
    assert results.plot_scores(0, ax=drawn) is drawn
    assert drawn.get_xlabel() == "raw score"
    pyplot.close("all")


def test_a_closed_database_is_named_where_it_is_still_needed(here):
    """Tables outlive the ``with`` block, letters of targets do not."""
    makedb("t.fa", "t.db").close()
    with Database.open("t.db") as database:
        found = search("MKVLAWGGHERMKV", database)
    assert found.to_pandas()["sseqid"][0] == "t1"
    assert found[0][0].id == "t1"
    with pytest.raises(DatabaseError, match=r"t\.db: is closed"):
        _ = found[0][0].alignment
