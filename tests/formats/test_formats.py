"""Every table can be read back, and every format says what it does not know."""

from __future__ import annotations

import csv
import inspect
import io
import json
import math

import numpy as np
import pytest
from support.formats import FIXED, FORMATS, OF_A_RUN, UNALIGNED
from support.taxa import TWO_SPECIES, write_dump

from swdual import registry
from swdual.api import search
from swdual.errors import InputError
from swdual.format import (
    NUMBERS,
    Format,
    Table,
    is_format,
    parse_format,
    print_bits,
    print_column,
    print_evalue,
)
from swdual.hits.fields import BLAST_STANDARD, DATA, FIELDS, STANDARD, columns
from swdual.io.output import Output

AWKWARD = 'tab\there, "quoted", comma; back\\slash é 漢 \U0001f9ec <b>&amp;'
QUERIES = [(f"q1 {AWKWARD}", "MKVLAW"), ("q2", "P"), ("q3|x=1 a  b", "WWWW")]
TARGETS = [
    (f"t1 {AWKWARD} OX=9606", "MKVLAW"),
    ("t2 OX=562", "GGWW"),
    ('"t3" starts with a quote', "MKVLAWGG"),
    ("t4, comma", "MKVLAW"),
    ("#t5 'single' = + - @", "WW"),
]
ALL_FIELDS = (
    "qseqid",
    "sseqid",
    "score",
    "qlen",
    "slen",
    *("qtitle", "stitle", "qnum", "snum", "rank"),
)
"""Fields that a hit tells without alignment and statistics, and that every format prints alike."""


LINES = ("tabular", "csv", "jsonl")
"""The formats that have one line a hit and nothing else."""

TABLES = (*LINES, "json", "arrow", "parquet")
"""The formats that are written from tables, and give back what was written."""


@pytest.fixture(scope="module")
def taxonomy(tmp_path_factory):
    return write_dump(TWO_SPECIES, tmp_path_factory.mktemp("formats") / "dump")


@pytest.fixture(scope="module")
def results(taxonomy):
    return search(QUERIES, TARGETS, max_target_seqs=4, stats="none", taxonomy=taxonomy)


@pytest.fixture(scope="module")
def evaluated(taxonomy):
    """The same hits with E-values."""
    return search(QUERIES, TARGETS, max_target_seqs=4, evalue=math.inf, taxonomy=taxonomy)


def written_bytes(name, results, fields=ALL_FIELDS, header=False):
    if name in ("arrow", "parquet"):
        pytest.importorskip("pyarrow")
    if name == "xlsx":
        pytest.importorskip("xlsxwriter")
    stream = io.BytesIO()
    module = registry.load("swdual.formats", name)
    fields = fields if module.FIELDS else ()
    fields = ("score",) if name == "npz" else fields
    module.write(results, Output(stream, "test"), fields, header=header)
    return stream.getvalue()


def written(name, results, fields=ALL_FIELDS, header=False):
    return written_bytes(name, results, fields, header).decode()


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
    kinds = {"text": str, "whole": (int, np.integer)}
    for row in rows:
        for field, value in zip(ALL_FIELDS, row, strict=True):
            assert isinstance(value, kinds[FIELDS[field].kind]), field


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_the_signature_of_the_contract(name):
    """``write(results, stream, fields, *, header)`` in every module, `FIELDS`, and a docstring."""
    module = registry.load("swdual.formats", name)
    contract = list(inspect.signature(Format.write).parameters.values())[1:]
    found = list(inspect.signature(module.write).parameters.values())
    assert [(p.name, p.kind, p.default) for p in found] == [
        (p.name, p.kind, p.default) for p in contract
    ]
    assert module.__doc__
    assert module.write.__doc__
    assert set(module.FIELDS) <= set(FIELDS)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("header", [False, True])
def test_every_format_takes_results_one_by_one(results, evaluated, name, header):
    """Any iterable of results will do, with statistics or without, and also none at all."""
    for found in (results, evaluated):
        whole = written_bytes(name, list(found), header=header)
        assert written_bytes(name, iter(list(found)), header=header) == whole
        if name not in OF_A_RUN:
            assert written_bytes(name, found, header=header) == whole
        empty = written_bytes(name, [], header=header)
        assert empty == written_bytes(name, iter(()), header=header)
        assert len(empty) < len(whole)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("header", [False, True])
def test_a_table_of_text_is_a_header_and_the_rows_of_each_query(results, name, header):
    """Nothing is written for no results but a header, and nothing between two queries."""
    whole = written(name, results, header=header)
    empty = written(name, [], header=header)
    assert whole.startswith(empty)
    assert empty == "" or header
    parts = "".join(written(name, [result]) for result in results)
    assert whole == empty + parts


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("fields", [("score",), STANDARD, ("sseqid", "sseqid", "qnum")])
def test_every_format_of_lines_ends_each_hit_with_one_newline(results, name, fields):
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
    results = search({"q\nx": "MKVLAW"}, {"t1 a\nb\rc\r\nd\te": "MKVLAW"}, stats="none")
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
    results = search("MKVLAW", {title: "MKVLAW"}, stats="none")
    text = written("csv", results, ("stitle", "score"))
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
        text = written(name, results, STANDARD, header=True)
        assert text.split("\n")[0] == separator.join(STANDARD)
        assert text.split("\n", 1)[1] == written(name, results, STANDARD)
    assert written("jsonl", results, header=True) == written("jsonl", results)


def test_a_format_is_chosen_by_name_or_by_blasts_number():
    """6 is tabular, 10 is csv, and fields follow the name; `std` stands for BLAST's twelve."""
    assert NUMBERS == {
        **{"0": "pairwise", "5": "xml", "6": "tabular", "7": "commented"},
        **{"10": "csv", "17": "sam"},
    }
    assert parse_format("TABULAR qseqid,score").fields == ("qseqid", "score")
    for other, name in {**NUMBERS, "tsv": "tabular", "TSV": "tabular"}.items():
        assert parse_format(other) == parse_format(name)
        assert is_format(other)
    for name in FORMATS:
        module, fields = parse_format(name)
        assert module is registry.load("swdual.formats", name)
        assert fields == module.FIELDS
    for name in ("6", "7", "10", *TABLES):
        assert parse_format(f" {name}  rank   score ")[1] == ("rank", "score")
        standard = BLAST_STANDARD if name in ("7", "commented") else STANDARD
        assert parse_format(f"{name} qlen std slen")[1] == ("qlen", *standard, "slen")
    assert parse_format("6")[1] == parse_format("10")[1] == STANDARD
    assert parse_format("7")[1] == BLAST_STANDARD
    for name in ("jsonl", "arrow", "parquet"):
        assert parse_format(name)[1] == DATA


@pytest.mark.parametrize("name", ["0", "5", *FIXED])
def test_a_format_of_fixed_layout_takes_no_fields(name):
    """Fields given to it are refused, not overlooked."""
    assert parse_format(name)[1] == ()
    with pytest.raises(InputError, match=f"format {name} has no fields to choose, but rank score"):
        parse_format(f"{name} rank score")


def test_a_format_says_whether_it_needs_alignments():
    """Formats of a fixed layout do, tables where a field does."""
    aligned = sorted({*FIXED} - {*UNALIGNED})
    for text in ("0", "5", *aligned, "6", "7", "csv", "jsonl", "6 score qstart", "arrow btop"):
        assert parse_format(text).needs_alignment, text
    for text in (
        *UNALIGNED,
        "6 score",
        "csv qseqid sseqid evalue bitscore",
        "jsonl stitle slen snum",
    ):
        assert not parse_format(text).needs_alignment, text


@pytest.mark.parametrize("number", range(19))
def test_every_format_of_blast_is_known_or_has_a_substitute(number):
    """Each number of its manual; what is named instead is a format of ours."""
    if str(number) in NUMBERS:
        return
    for text in (str(number), f"{number} std"):
        with pytest.raises(InputError, match=f"lacks BLAST's format {number}; take ") as error:
            parse_format(text)
        assert is_format(error.value.message.partition("take ")[2].split()[0].strip(","))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tabula", "unknown format 'tabula'; did you mean tabular[?]"),
        ("jsn", "unknown format 'jsn'; did you mean json.*[?]"),
        ("19", "unknown format '19'"),
        ("", "unknown format ''"),
        ("   ", "unknown format ''"),
        ("_x", "unknown format '_x'"),
        ("6 scor", "unknown field 'scor'; did you mean score.*[?]"),
        ("csv qseqid seqid", "unknown field 'seqid'; did you mean .*sseqid.*[?]"),
        ("6 evalu", "unknown field 'evalu'; did you mean .*evalue.*[?]"),
        ("6 colour", "unknown field 'colour'"),
        ("6 stdd", "unknown field 'stdd'; did you mean .*std.*[?]"),
        ("6 qseqid,scor", "unknown field 'scor'; did you mean .*score.*[?]"),
    ],
)
def test_an_unknown_format_or_field_names_the_nearest(text, message):
    """The error says what is unknown, what may have been meant, and what there is."""
    with pytest.raises(InputError, match=message) as caught:
        parse_format(text)
    assert "There are: " in str(caught.value)


def test_e_values_are_printed_as_blast_prints_them():
    """NCBI's ranges (align_format_util.cpp): 0.0, then three digits, then fewer, then none."""
    printed_as = {
        0.0: "0.0", 9.9e-181: "0.0", 1e-180: "1.00e-180", 3.14159e-20: "3.14e-20",
        9.996e-20: "1.00e-19", 0.00089: "8.90e-04", 0.0009: "0.001", 0.0123: "0.012",
        0.0999: "0.100", 0.1: "0.10", 0.999: "1.00", 1.0: "1.0", 2.55: "2.5", 9.99: "10.0",
        10.0: "10", 1234.5: "1234", 1e6: "1000000",
    }  # fmt: skip
    assert {value: print_evalue(value) for value in printed_as} == printed_as


def test_bit_scores_are_printed_as_blast_prints_them():
    """One decimal below 99.9, whole and cut off above, with an exponent beyond 99999."""
    printed_as = {
        0.04: "0.0", 31.25: "31.2", 99.9: "99.9", 99.91: "99", 100.99: "100", 99999.0: "99999",
        123456.0: "1.235e+05",
    }  # fmt: skip
    assert {value: print_bits(value) for value in printed_as} == printed_as


def test_what_is_missing_is_shown_as_such(results):
    """Not-a-number is NA in text and null in JSON."""
    fields = ("evalue", "bitscore", "log10_evalue", "score")
    rows = [line.split("\t") for line in written("tabular", results, fields).splitlines()]
    assert [row[:3] for row in rows] == [["NA"] * 3] * 8
    for line in written("jsonl", results, fields).splitlines():
        assert list(json.loads(line).values())[:3] == [None] * 3
    assert print_column("score", [None, 3]) == ["NA", "3"]


def test_json_lines_have_numbers_in_full(evaluated):
    """Every digit of an E-value, unlike in tables for people."""
    lines = [json.loads(line) for line in written("jsonl", evaluated, DATA).splitlines()]
    assert [line["evalue"] for line in lines] == evaluated.evalues.tolist()
    assert [line["bitscore"] for line in lines] == evaluated.bits.tolist()
    assert list(lines[0]) == list(DATA)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("fields", [ALL_FIELDS, DATA, tuple(FIELDS), ("evalue",)])
def test_a_table_is_read_back(evaluated, results, name, fields):
    """Numbers, texts and what is missing; in text a number is as it was printed."""
    for found in (evaluated, results):
        data = written_bytes(name, found, fields, header=True)
        module = registry.load("swdual.formats", name)
        table = module.read_table(io.BytesIO(data), "x")
        assert table.fields == tuple(fields)
        chunks = list(table.chunks)
        rows = [row for chunk in chunks for row in zip(*chunk, strict=True)]
        parts = [columns(result, fields) for result in found]
        expected = [row for part in parts for row in zip(*part, strict=True)]
        assert len(rows) == len(expected) == 8
        for ours, theirs in zip(rows, expected, strict=True):
            for field, a, b in zip(fields, ours, theirs, strict=True):
                if name in ("tabular", "csv"):
                    a, b = print_column(field, [a])[0], print_column(field, [b])[0]
                    b = b.replace("\t", " ") if name == "tabular" else b
                assert a == b or (str(a), str(b)) == ("nan", "nan"), field


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_was_read_is_written_as_it_was(evaluated, name):
    """Reading and writing again changes nothing, however many rows come at once."""
    data = written_bytes(name, evaluated, DATA, header=True)
    module = registry.load("swdual.formats", name)
    table = module.read_table(io.BytesIO(data), "x")
    again = io.BytesIO()
    module.write_table(table, Output(again, "y"), header=True)
    if name in ("arrow", "parquet"):  # which tell more of where the hits came from
        read = [module.read_table(io.BytesIO(x), "x") for x in (data, again.getvalue())]
        first, second = (
            [row for chunk in table.chunks for row in zip(*chunk, strict=True)] for table in read
        )
        assert first == second
    else:
        assert again.getvalue() == data


@pytest.mark.parametrize("name", TABLES)
def test_a_long_table_is_read_back_in_pieces(name):
    """More rows than any format takes at once, in chunks of any size, among them empty ones."""
    sizes = [3, 0, 70_000, 1, 24_000]
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    chunks = [
        [
            [f"q{k}" for k in range(a, a + n)],
            list(range(a, a + n)),
            [k / 7 for k in range(a, a + n)],
        ]
        for a, n in zip(starts, sizes, strict=True)
    ]
    if name in ("arrow", "parquet"):
        pytest.importorskip("pyarrow")
    if name == "xlsx":
        pytest.importorskip("xlsxwriter")
    module = registry.load("swdual.formats", name)
    stream = io.BytesIO()
    fields = ("qseqid", "score", "bitscore")
    module.write_table(Table(fields, iter(chunks)), Output(stream, "x"), header=True)
    table = module.read_table(io.BytesIO(stream.getvalue()), "x")
    read = list(table.chunks)
    assert [x for chunk in read for x in chunk[0]] == [f"q{k}" for k in range(sum(sizes))]
    assert [x for chunk in read for x in chunk[1]] == list(range(sum(sizes)))
    if name not in ("tabular", "csv"):
        assert [x for chunk in read for x in chunk[2]] == [k / 7 for k in range(sum(sizes))]


@pytest.mark.parametrize("name", TABLES)
def test_a_text_of_a_megabyte_is_read_back(name):
    """Header lines and whole sequences may be as long as they like."""
    if name in ("arrow", "parquet"):
        pytest.importorskip("pyarrow")
    if name == "xlsx":
        pytest.importorskip("xlsxwriter")
    module = registry.load("swdual.formats", name)
    stream = io.BytesIO()
    chunk = [["t " + "x" * 1_000_000], [3]]
    module.write_table(Table(("stitle", "score"), iter([chunk])), Output(stream, "x"), header=True)
    table = module.read_table(io.BytesIO(stream.getvalue()), "x")
    assert [[list(column) for column in piece] for piece in table.chunks] == [chunk]
