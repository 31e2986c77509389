"""Every format can be read back, and says what it does not know."""

from __future__ import annotations

import csv
import inspect
import io
import json

import pytest

from swdual import registry
from swdual.errors import InputError
from swdual.format import DEFAULT_FIELDS, FIELDS, NUMBERS, Format, columns, parse_format
from swdual.master.search import search

AWKWARD = 'tab\there, "quoted", comma; back\\slash é 漢 \U0001f9ec <b>&amp;'
QUERIES = [(f"q1 {AWKWARD}", "MKVLAW"), ("q2", "P"), ("q3|x=1 a  b", "WWWW")]
TARGETS = [
    (f"t1 {AWKWARD}", "MKVLAW"),
    ("t2", "GGWW"),
    ('"t3" starts with a quote', "MKVLAWGG"),
    ("t4, comma", "MKVLAW"),
    ("#t5 'single' = + - @", "WW"),
]
ALL_FIELDS = tuple(FIELDS)


@pytest.fixture(scope="module")
def results():
    return search(QUERIES, TARGETS, max_target_seqs=4)


def written(name, results, fields=ALL_FIELDS, header=False):
    stream = io.StringIO(newline="")
    registry.load("swdual.formats", name).write(results, stream, fields, header=header)
    return stream.getvalue()


def expected_rows(results, fields=ALL_FIELDS):
    """Return the values of all hits, taken from the hits one by one."""
    rows = []
    for number, result in enumerate(results, start=1):
        for hit in result:
            row = {
                "qseqid": hit.query.id,
                "sseqid": hit.id,
                "score": hit.score,
                "qlen": len(hit.query.codes),
                "slen": hit.target_length,
                "qtitle": hit.query.title,
                "stitle": hit.title,
                "qnum": number,
                "snum": hit.ordinal + 1,
                "rank": hit.rank,
            }
            rows.append([row[field] for field in fields])
    return rows


def test_the_data_has_awkward_titles_and_a_query_without_hits(results):
    """Tabs, quotes, commas and letters beyond ASCII came through the search unchanged."""
    assert [len(result) for result in results] == [4, 0, 4]
    assert results[0].query.title == QUERIES[0][0]
    assert {title for result in results for title in result.titles} == {t for t, _ in TARGETS}


def test_every_field_has_a_value_for_every_hit(results):
    """The columns of the fields hold what the hits say."""
    rows = [row for result in results for row in zip(*columns(result, ALL_FIELDS), strict=True)]
    assert [list(row) for row in rows] == expected_rows(results)
    assert {type(value) for row in rows for value in row} == {int, str}


@pytest.mark.parametrize("name", registry.available("swdual.formats"))
def test_every_format_has_the_signature_of_the_contract(name):
    """``write(results, stream, fields, *, header)`` in every module, and a docstring."""
    module = registry.load("swdual.formats", name)
    contract = list(inspect.signature(Format.write).parameters.values())[1:]
    found = list(inspect.signature(module.write).parameters.values())
    assert [(p.name, p.kind, p.default) for p in found] == [
        (p.name, p.kind, p.default) for p in contract
    ]
    assert module.__doc__
    assert module.write.__doc__


@pytest.mark.parametrize("name", registry.available("swdual.formats"))
@pytest.mark.parametrize("header", [False, True])
def test_every_format_takes_results_one_by_one(results, name, header):
    """Any iterable of results will do, and nothing is written for an empty one but a header."""
    whole = written(name, results, header=header)
    assert written(name, iter(list(results)), header=header) == whole
    empty = written(name, [], header=header)
    assert whole.startswith(empty)
    assert empty == "" or header
    parts = "".join(written(name, [result]) for result in results)
    assert whole == empty + parts


@pytest.mark.parametrize("name", registry.available("swdual.formats"))
@pytest.mark.parametrize("fields", [("score",), DEFAULT_FIELDS, ("sseqid", "sseqid", "qnum")])
def test_every_format_ends_each_hit_with_one_newline(results, name, fields):
    """One line a hit, Unix line ends, for one field, the usual ones, and one given twice."""
    text = written(name, results, fields)
    assert text.endswith("\n")
    assert "\r" not in text
    assert len(text.split("\n")) - 1 == 8


def test_tabular_splits_at_tabs(results):
    """Read by its tabs each line has all fields; a tab in a header line became a space."""
    lines = written("tabular", results).split("\n")[:-1]
    rows = [line.split("\t") for line in lines]
    assert rows == [
        [str(value).replace("\t", " ") for value in row] for row in expected_rows(results)
    ]


def test_tabular_keeps_line_breaks_out_of_its_lines():
    """A header line with any line break, which a dict may hold, stays one line."""
    results = search({"q\nx": "MKVLAW"}, {"t1 a\nb\rc\r\nd\te": "MKVLAW"})
    text = written("tabular", results)
    assert text.count("\n") == 1
    assert "\r" not in text
    assert text.rstrip("\n").split("\t")[ALL_FIELDS.index("stitle")] == "t1 a b c  d e"


def test_tabular_is_read_back_by_the_csv_module(results):
    """With the dialect that reads tab-separated files as they are."""
    text = written("tabular", results, header=True)
    reader = csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)
    rows = list(reader)
    assert tuple(reader.fieldnames) == ALL_FIELDS
    assert [row["score"] for row in rows] == [
        str(score) for (score,) in expected_rows(results, ("score",))
    ]


def test_csv_is_read_back_by_the_csv_module(results):
    """Every value, whatever commas, quotes and tabs it has."""
    text = written("csv", results, header=True)
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert tuple(header) == ALL_FIELDS
    assert rows == [[str(value) for value in row] for row in expected_rows(results)]


@pytest.mark.parametrize("title", ["t1 a\nb", "t1 a\rb", "t1 a\r\nb"])
def test_csv_has_one_line_a_hit(title):
    """A header line with line breaks, which a dict may hold, is kept with spaces for them."""
    text = written("csv", search("MKVLAW", {title: "MKVLAW"}), ("stitle", "score"))
    shown = title.replace("\r", " ").replace("\n", " ")
    assert list(csv.reader(io.StringIO(text, newline=""), strict=True)) == [[shown, "33"]]


def test_jsonl_is_read_back_by_the_json_module(results):
    """One object a line with the fields in order; numbers are numbers, text is text."""
    lines = written("jsonl", results).split("\n")[:-1]
    objects = [json.loads(line) for line in lines]
    assert [list(found) for found in objects] == [list(ALL_FIELDS)] * 8
    assert [list(found.values()) for found in objects] == expected_rows(results)


def test_the_header_names_the_fields_where_a_format_has_one(results):
    """One line more in tabular and csv; JSON names its fields anyway."""
    for name, separator in (("tabular", "\t"), ("csv", ",")):
        text = written(name, results, DEFAULT_FIELDS, header=True)
        assert text.split("\n")[0] == separator.join(DEFAULT_FIELDS)
        assert text.split("\n", 1)[1] == written(name, results, DEFAULT_FIELDS)
    assert written("jsonl", results, header=True) == written("jsonl", results)


def test_a_format_is_chosen_by_name_or_by_blasts_number():
    """6 is tabular, 10 is csv, and fields follow the name."""
    for number, name in NUMBERS.items():
        assert parse_format(number) == parse_format(name)
        assert parse_format(f" {number}  rank   score ")[1] == ("rank", "score")
    for name in registry.available("swdual.formats"):
        module, fields = parse_format(name)
        assert module is registry.load("swdual.formats", name)
        assert fields == DEFAULT_FIELDS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tabula", "unknown format 'tabula'; did you mean tabular[?]"),
        ("json", "unknown format 'json'; did you mean jsonl[?]"),
        ("7", "unknown format '7'"),
        ("", "unknown format ''"),
        ("   ", "unknown format ''"),
        ("_x", "unknown format '_x'"),
        ("6 scor", "unknown field 'scor'; did you mean score[?]"),
        ("csv qseqid seqid", "unknown field 'seqid'; did you mean .*sseqid.*[?]"),
        ("6 evalu", "unknown field 'evalu'"),
        ("6 qseqid,score", "unknown field 'qseqid,score'"),
    ],
)
def test_an_unknown_format_or_field_names_the_nearest(text, message):
    """The error says what is unknown, what may have been meant, and what there is."""
    with pytest.raises(InputError, match=message) as caught:
        parse_format(text)
    assert "There are: " in str(caught.value)
