"""What a search returns: sequences of results and hits, columns, and how they are shown."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

from swdual.master.results import SHOWN_ROWS, Hit, QueryResult, SearchResults
from swdual.master.search import search

QUERIES = [("q1 first query", "MKVLAW"), ("q2", "P"), ("q3", "WWWW")]
TARGETS = [("t1 one", "GGWW"), ("t2 two", "MKVLAW"), ("t3", "MKVLA"), ("t4 four", "MKVLAWGG")]
HOSTILE = '<script>alert("1")</script>&<img/src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def results():
    return search(QUERIES, TARGETS, max_target_seqs=3)


def test_results_are_a_sequence_of_the_queries(results):
    """One result a query in their order; indices, negative ones and slices; IndexError beyond."""
    assert len(results) == 3
    assert isinstance(results, SearchResults)
    assert all(isinstance(result, QueryResult) for result in results)
    assert [result.query.id for result in results] == ["q1", "q2", "q3"]
    assert results[-1] is results[2]
    assert [result.number for result in results[1:]] == [1, 2]
    assert results[::-1] == list(reversed(results))
    with pytest.raises(IndexError):
        results[3]


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
    """Query numbers, ranks, scores, ordinals and lengths, in the order of iteration."""
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
        assert "0 hits" in repr(results)
        assert "<table>" in results._repr_html_()


def test_to_pandas_has_a_row_a_hit():
    """Columns are named like the fields of the formats, and hold what the hits hold."""
    pytest.importorskip("pandas")
    results = search(QUERIES, TARGETS, max_target_seqs=3)
    frame = results.to_pandas()
    hits = [hit for result in results for hit in result]
    assert frame.shape == (len(hits), 10)
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


def test_to_pandas_has_the_fields_of_the_formats():
    """What a format can show stands in the frame under the same name."""
    pytest.importorskip("pandas")
    from swdual.format import FIELDS

    results = search(QUERIES, TARGETS)
    frame = results.to_pandas()
    assert set(frame.columns) == set(FIELDS)
    for name, column in FIELDS.items():
        assert frame[name].tolist() == [value for result in results for value in column(result)]


def test_to_pandas_of_nothing_has_no_rows():
    """Neither an empty list of queries nor a query without hits is an error."""
    pytest.importorskip("pandas")
    for results in (search([], TARGETS), search("P", TARGETS)):
        frame = results.to_pandas()
        assert len(frame) == 0
        assert "sseqid" in frame.columns


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
    page = search([(f"{HOSTILE} {HOSTILE}", "MKVLAW")], targets)._repr_html_()
    tags = parsed(page)
    assert tags.tags <= {"p", "table", "thead", "tbody", "tr", "th", "td", "svg", "rect"}
    assert tags.attributes <= {"width", "height", "fill"}
    assert "<script" not in page.lower()
    assert HOSTILE.split(maxsplit=1)[0] in "".join(tags.text)
    assert "javascript:" not in page


def test_html_shows_the_first_rows_and_counts_the_others():
    """A long result is cut, and says how many hits are not shown."""
    targets = [(f"t{k}", "MKVLAW") for k in range(SHOWN_ROWS + 7)]
    page = search("MKVLAW", targets, max_target_seqs=0)._repr_html_()
    parsed(page)
    assert page.count("<tr>") == 1 + SHOWN_ROWS
    assert "and 7 more hits" in page
    assert "more hits" not in search("MKVLAW", targets[:SHOWN_ROWS])._repr_html_()


def test_html_of_a_database_escapes_its_name(results):
    """The table of a database is well-formed, whatever it is called."""
    database = results[0].database
    parsed(database._repr_html_())


def test_each_repr_is_one_short_line():
    """Results, one query's result and a hit show what they are, even if titles are hostile."""
    title = "long\nheader\t" + "x" * 20 + "\r\n more words" * 50
    results = search([(title, "MKVLAW" * 500)], [(title, "MKVLAW" * 400)])
    for shown in (repr(results), repr(results[0]), repr(results[0][0])):
        assert len(shown.splitlines()) == 1
        assert len(shown) < 400
    assert "1 queries, 1 hits" in repr(results) or "1 query, 1 hit" in repr(results)
    assert "1 hit" in repr(results[0])
    assert str(results[0][0].score) in repr(results[0][0])
