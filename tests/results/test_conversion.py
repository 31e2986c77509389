"""Tables of hits go from format to format, keep what the formats can keep, or are refused."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.formats import PLAIN_FIELDS
from support.properties import examples

import swdual
from swdual.auditing.table import read_hits
from swdual.errors import InputError, OutputError
from swdual.format import Table, print_column
from swdual.formats import jsonl, tabular
from swdual.hits.fields import DATA, FIELDS, STANDARD
from swdual.io.endings import ENDINGS, TEXT_ENDINGS
from swdual.results.checks import RANGES
from swdual.results.conversion import convert

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROOT = Path(__file__).parents[2]

FULL = ("parquet", "jsonl", "arrow", "json")
"""Formats that keep every digit."""

TEXT = ("tsv", "csv")
NAMES = {"tsv": "tabular", "csv": "csv"}

AWKWARD = 'comma, "quoted"; back\\slash é 漢 \U0001f9ec <b>&amp; \u2028 NA'


@pytest.fixture(scope="module")
def results():
    """Hits of proteins with awkward names, and a query that has none."""
    queries = [(f"q1 {AWKWARD}", "MKVLAWGGHERMKVLAWDEF"), ("q2", "P"), ("=q3", "WWGWW")]
    targets = [
        (f"t1 {AWKWARD}", "MKVLAWGGHERMKVLAWDEF"),
        ("t2", "MKVLAWGGRMKVIAWDEF"),
        ('"t3" starts with a quote', "WWWW"),
        ("t4", "AWWGWWC"),
    ]
    return swdual.search(queries, targets, evalue=math.inf)


@pytest.fixture(scope="module")
def folder(results, tmp_path_factory):
    """The results with all fields in every format, as x.parquet and so on."""
    folder = tmp_path_factory.mktemp("tables")
    for suffix in (*FULL, *TEXT):
        fields = " ".join(PLAIN_FIELDS)
        results.write(folder / f"x.{suffix}", f"{NAMES.get(suffix, suffix)} {fields}", header=True)
    return folder


def content(path):
    """Return fields and rows of a table in one of the formats that keep every digit."""
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    elif path.suffix == ".json":
        rows = json.loads(path.read_text())
    elif path.suffix == ".arrow":
        with pyarrow.ipc.open_file(path) as reader:
            rows = reader.read_all().to_pylist()
    else:
        rows = parquet.read_table(path).to_pylist()
    return [list(row.items()) for row in rows]


def sixes(path):
    """Return the rows of a table of text."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as stream:
            return list(csv.reader(stream))
    return [line.split("\t") for line in path.read_bytes().decode().rstrip("\n").split("\n")]


@pytest.mark.parametrize("order", list(itertools.permutations(FULL, 3)), ids="-".join)
def test_a_round_trip_keeps_everything(results, folder, tmp_path, order):
    """Through three formats and back: the same fields, values to the last bit, the same file
    as the search wrote."""
    count = len(results.scores)
    paths = [folder / f"x.{order[0]}", *(tmp_path / f"{k}.{x}" for k, x in enumerate(order))]
    paths.append(tmp_path / f"back.{order[0]}")
    for source, target in itertools.pairwise(paths):
        assert convert(source, target) == count
        assert content(target) == content(folder / "x.jsonl")
    if order[0] in ("json", "jsonl"):
        assert paths[-1].read_bytes() == paths[0].read_bytes()


def test_the_tables_hold_what_the_results_hold(results, folder):
    """What the last test compares is not empty: every field of every hit."""
    rows = results.to_arrow(list(PLAIN_FIELDS)).to_pylist()
    assert len(rows) > 4
    assert content(folder / "x.jsonl") == [list(row.items()) for row in rows]


@pytest.mark.parametrize("after", TEXT)
@pytest.mark.parametrize("before", FULL)
def test_text_has_the_printed_digits(folder, tmp_path, before, after):
    """What the search would have written as text, letter by letter; the file, too."""
    target = tmp_path / f"y.{after}"
    assert convert(folder / f"x.{before}", target, header=True) > 0
    assert target.read_bytes() == (folder / f"x.{after}").read_bytes()


@pytest.mark.parametrize("after", [*FULL, *TEXT])
@pytest.mark.parametrize("before", TEXT)
def test_text_keeps_the_printed_digits(folder, tmp_path, before, after):
    """Read from text, numbers are what the text says, and are printed so again."""
    target, back = tmp_path / f"y.{after}", tmp_path / f"z.{before}"
    convert(folder / f"x.{before}", target)
    names, *texts = sixes(folder / f"x.{before}")
    if after in FULL:
        rows = content(target)
        assert [[name for name, _ in row] for row in rows] == [names] * len(texts)
        for row, strings in zip(rows, texts, strict=True):
            for (name, value), text in zip(row, strings, strict=True):
                kind = FIELDS[name].kind
                read = {"text": str, "whole": int, "real": float}[kind]
                missing = text in ("NA", "N/A") and kind == "real"
                assert value == (None if missing else read(text)), name
    convert(target, back)
    assert back.read_bytes() == (folder / f"x.{before}").read_bytes()


def test_more_rows_than_a_chunk_are_kept(tmp_path):
    """25,000 rows, all in their order."""
    count = 25_000
    text = "".join(f"q{k}\t{k}\t{k / 7!r}\n" for k in range(count))
    (tmp_path / "a.tsv").write_text("qseqid\tscore\tevalue\n" + text)
    paths = [tmp_path / f"{name}" for name in ("a.tsv", "b.parquet", "c.jsonl", "d.arrow")]
    for source, target in itertools.pairwise(paths):
        assert convert(source, target) == count
    rows = content(paths[-1])
    assert rows == [[("qseqid", f"q{k}"), ("score", k), ("evalue", k / 7)] for k in range(count)]


@examples(60)
@given(data=st.data())
def test_any_table_survives(tmp_path_factory, data):
    """Any fields in any order, any text, any number: exact through the three, and text through
    the others as it is printed."""
    tmp_path = tmp_path_factory.mktemp("any")
    names = data.draw(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, unique=True))
    letters = st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n")

    def values(name):
        least, most = RANGES.get(name, (None, None))
        if FIELDS[name].kind == "text":
            return st.text(letters, max_size=12)
        if FIELDS[name].kind == "whole":
            least, most = -(2**63) if least is None else least, most or math.inf
            return st.integers(int(least), int(min(most, 2**63 - 1)))
        if most == 100:  # up to 1 it could be a fraction
            return st.floats(1, 100, exclude_min=True) | st.just(math.nan)
        bounds = {"min_value": least, "max_value": None if most == math.inf else most}
        return st.floats(**bounds, allow_nan=False, allow_infinity=False) | st.just(math.nan)

    rows = data.draw(st.lists(st.tuples(*map(values, names)), min_size=1, max_size=5))
    columns = [list(column) for column in zip(*rows, strict=True)]
    first = tmp_path / "0.jsonl"
    with first.open("wb") as stream:
        jsonl.write_table(Table(tuple(names), iter([columns])), stream, header=False)
    expected = [
        [
            (name, None if isinstance(x, float) and math.isnan(x) else x)
            for name, x in zip(names, row, strict=True)
        ]
        for row in rows
    ]
    assert content(first) == expected
    for source, target in itertools.pairwise(["0.jsonl", "1.parquet", "2.arrow", "3.jsonl"]):
        assert convert(tmp_path / source, tmp_path / target) == len(rows)
        assert content(tmp_path / target) == expected
    convert(tmp_path / "2.arrow", tmp_path / "4.csv", header=True)
    texts = [print_column(name, column) for name, column in zip(names, columns, strict=True)]
    assert sixes(tmp_path / "4.csv") == [names, *map(list, zip(*texts, strict=True))]


def test_a_tab_in_a_name_becomes_a_space(tmp_path):
    """In tables of text only: the others keep it."""
    (tmp_path / "x.jsonl").write_text('{"qtitle": "a\\tb", "score": 1}\n')
    convert(tmp_path / "x.jsonl", tmp_path / "x.tsv", header=True)
    assert (tmp_path / "x.tsv").read_text() == "qtitle\tscore\na b\t1\n"
    convert(tmp_path / "x.jsonl", tmp_path / "x.csv", header=True)
    assert sixes(tmp_path / "x.csv") == [["qtitle", "score"], ["a\tb", "1"]]


@pytest.mark.parametrize("suffix", TEXT)
def test_names_of_fields_are_written_where_they_are_needed(tmp_path, suffix):
    """By default in .csv, and unless they are BLAST's twelve; asked for or refused, as asked."""
    (tmp_path / "x.jsonl").write_text('{"qseqid": "q", "score": 1}\n')
    target = tmp_path / f"y.{suffix}"
    for header, lines in ((None, 2), (True, 2), (False, 1)):
        convert(tmp_path / "x.jsonl", target, header=header, force=True)
        assert len(sixes(target)) == lines
    row = dict.fromkeys(STANDARD, 1) | {"qseqid": "q", "sseqid": "s", "pident": 50}
    (tmp_path / "x.jsonl").write_text(json.dumps(row) + "\n")
    for header, lines in ((None, 2 if suffix == "csv" else 1), (True, 2), (False, 1)):
        convert(tmp_path / "x.jsonl", target, header=header, force=True)
        assert len(sixes(target)) == lines
        back = tmp_path / "back.jsonl"
        convert(target, back, force=True)
        assert content(back) == content(tmp_path / "x.jsonl")


@pytest.mark.parametrize("after", [*FULL, *TEXT])
@pytest.mark.parametrize("before", [*FULL, *TEXT])
def test_empty_tables_stay_empty(tmp_path, before, after):
    """Without a row; Arrow and Parquet still know their fields."""
    results = swdual.search("P", {"t": "W"})
    source, target = tmp_path / f"x.{before}", tmp_path / f"y.{after}"
    results.write(source, f"{NAMES.get(before, before)} qseqid score", header=True)
    assert convert(source, target) == 0
    if after in ("parquet", "arrow") and before not in ("json", "jsonl"):
        table = (
            parquet.read_table(target)
            if after == "parquet"
            else pyarrow.ipc.open_file(target).read_all()
        )
        assert (table.column_names, len(table)) == (["qseqid", "score"], 0)
    if after in TEXT and before not in ("json", "jsonl"):
        assert sixes(target) == [["qseqid", "score"]]
    if after in ("json", "jsonl"):
        assert target.read_bytes() == {"json": b"[]\n", "jsonl": b""}[after]


@pytest.mark.parametrize("suffix", [*TEXT, "jsonl"])
def test_an_empty_file_of_text_is_an_empty_table(tmp_path, suffix):
    """As a search without hits writes it."""
    (tmp_path / f"x.{suffix}").touch()
    assert convert(tmp_path / f"x.{suffix}", tmp_path / "y.parquet") == 0
    names = parquet.read_table(tmp_path / "y.parquet").column_names
    assert names == list(DATA if suffix == "jsonl" else STANDARD)


@pytest.mark.parametrize("suffix", ["tsv", "csv", "json", "jsonl", "arrow", "parquet"])
def test_the_content_tells_the_format_where_no_name_does(folder, tmp_path, monkeypatch, suffix):
    """Of standard input and of a file, compressed or not."""
    convert(folder / f"x.{suffix}", tmp_path / "named.jsonl")
    expected = (tmp_path / "named.jsonl").read_bytes()
    content = (folder / f"x.{suffix}").read_bytes()
    for number, data in enumerate([content, gzip.compress(content)]):
        nameless, target = tmp_path / f"nameless{number}", tmp_path / f"{number}.jsonl"
        nameless.write_bytes(data)
        convert(nameless, target)
        assert target.read_bytes() == expected
        with open(nameless, "rb") as raw:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
            convert("-", target, force=True)
        assert target.read_bytes() == expected


def test_what_a_table_says_of_itself(folder, tmp_path):
    """The release that converted it; the search it came from is known to the search only."""
    convert(folder / "x.parquet", tmp_path / "y.arrow")
    with pyarrow.ipc.open_file(tmp_path / "y.arrow") as reader:
        assert reader.schema.metadata[b"swdual.version"].decode() == swdual.__version__


def test_names_of_mmseqs_are_read(tmp_path):
    """The columns of ``mmseqs easy-search --format-mode 4``; fractions become percentages."""
    (tmp_path / "x.tsv").write_text(
        "query\ttarget\tfident\talnlen\tmismatch\tgapopen\tqstart\tqend\ttstart\ttend\tevalue\t"
        "bits\tqcov\ttheader\n"
        "q1\tt1\t0.391\t64\t39\t0\t3\t66\t10\t73\t1.5E-10\t62\t0.5\tt1 a title\n"
    )
    convert(tmp_path / "x.tsv", tmp_path / "y.jsonl")
    (row,) = map(json.loads, (tmp_path / "y.jsonl").read_text().splitlines())
    assert row == {
        **{"qseqid": "q1", "sseqid": "t1", "pident": 39.1, "length": 64, "mismatch": 39},
        **{"gapopen": 0, "qstart": 3, "qend": 66, "sstart": 10, "send": 73, "evalue": 1.5e-10},
        **{"bitscore": 62.0, "qcovhsp": 50.0, "stitle": "t1 a title"},
    }
    (tmp_path / "bad.tsv").write_text("query\ttarget\tfident\nq\tt\tmany\n")
    with pytest.raises(InputError, match=r"bad.tsv:2: fident is 'many', not a number"):
        convert(tmp_path / "bad.tsv", tmp_path / "z.jsonl")
    assert not (tmp_path / "z.jsonl").exists()


def test_endings_and_names_say_the_format(folder, tmp_path):
    """Every ending; a name or BLAST's number stands above it."""
    tables = {"tabular", "csv", "json", "jsonl", "arrow", "parquet"}
    others = {"pairwise", "xml", "sam", "paf", "xlsx", "npz", "html"}
    assert set(ENDINGS.values()) == tables | others
    expected = content(folder / "x.jsonl")
    for ending, name in [*ENDINGS.items(), *((ending, "tabular") for ending in TEXT_ENDINGS)]:
        if name not in tables:
            continue
        target = tmp_path / f"y{ending}"
        convert(folder / "x.arrow", target)
        convert(target, tmp_path / "again", before=name, after="jsonl", force=True)
        again = tmp_path / "again.jsonl"
        (tmp_path / "again").rename(again)
        convert(target, tmp_path / "other.jsonl", force=True)
        assert again.read_bytes() == (tmp_path / "other.jsonl").read_bytes()
        assert (content(again) == expected) == (name in FULL)
        assert len(content(again)) == len(expected)
    convert(folder / "x.jsonl", tmp_path / "odd.csv", after="6")
    assert (tmp_path / "odd.csv").read_bytes() == (folder / "x.tsv").read_bytes()
    convert(tmp_path / "odd.csv", tmp_path / "plain.csv", before="6", after="10")
    assert (tmp_path / "plain.csv").read_bytes() == (folder / "x.csv").read_bytes()


@pytest.mark.parametrize(
    ("source", "target", "options", "words"),
    [
        ("x.tsv", "y.foo", {}, "y.foo: the name does not tell the format; give `after=csv`"),
        ("x.tsv", "y.tsv", {"before": "tabulr"}, "unknown format 'tabulr'; did you mean tabular"),
        ("x.tsv", "y.tsv", {"after": "11"}, "lacks BLAST's format 11; take json"),
        ("x.tsv", "y.tsv", {"before": "5"}, "format xml cannot be converted; these can: arrow"),
        ("x.tsv", "y.tsv", {"after": "0"}, "format pairwise cannot be converted"),
        ("x.tsv", "y.tsv", {"before": "sam"}, "format sam cannot be converted"),
        ("x.tsv", "y.tsv", {"after": "paf"}, "format paf cannot be converted"),
        (
            "x.tsv",
            "y.tsv",
            {"after": "commented"},
            "format commented cannot be",
        ),
        ("none.tsv", "y.tsv", {}, "none.tsv: cannot be opened: No such file"),
        ("x.xlsx", "y.tsv", {}, "format xlsx cannot be converted"),
        ("x.xls", "y.tsv", {}, "x.xls: swdual does not read old Excel workbooks"),
        ("x.tsv", "y.pdf", {}, "y.pdf: swdual does not write PDF files; known endings: .tsv"),
        ("x.tsv", "y.parquet.gz", {}, "format parquet compresses already"),
        ("x.tsv", "y.parquet", {"after": "6"}, "name ends in .parquet, but the format is tabular"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, source, target, options, words):
    """The message says why, and nothing is written."""
    (tmp_path / "x.tsv").write_text("qseqid\tscore\nq\t1\n")
    with pytest.raises(InputError, match=re.escape(words)):
        convert(tmp_path / source, tmp_path / target, **options)
    assert os.listdir(tmp_path) == ["x.tsv"]


def test_a_file_is_not_replaced_unasked(tmp_path):
    """Nor with `force` if the table is damaged, or is read."""
    (tmp_path / "x.tsv").write_text("qseqid\tscore\nq\t1\nq\tx\n")
    (tmp_path / "y.tsv").write_text("precious")
    with pytest.raises(OutputError, match="exists; use `force=True`"):
        convert(tmp_path / "x.tsv", tmp_path / "y.tsv")
    with pytest.raises(InputError, match=r"x\.tsv:3: "):
        convert(tmp_path / "x.tsv", tmp_path / "y.tsv", force=True)
    assert (tmp_path / "y.tsv").read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["x.tsv", "y.tsv"]
    (tmp_path / "y.tsv").write_text("qseqid\tevalue\nq\t1e-5\n")
    with pytest.raises(OutputError, match="is also an input"):
        convert(tmp_path / "y.tsv", tmp_path / "y.tsv", force=True)
    assert (tmp_path / "y.tsv").read_text() == "qseqid\tevalue\nq\t1e-5\n"


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize("suffix", [*TEXT, "json", "jsonl"])
def test_compressed_tables_are_written_and_read(folder, tmp_path, suffix, compression):
    """By name, and with the name of the format; the content is that of the plain file."""
    convert(folder / "x.arrow", tmp_path / f"plain.{suffix}")
    packed = tmp_path / f"y.{suffix}.{compression}"
    convert(folder / "x.arrow", packed)
    assert packed.stat().st_size < (tmp_path / f"plain.{suffix}").stat().st_size
    convert(packed, tmp_path / f"back.{suffix}")
    back = (tmp_path / f"back.{suffix}").read_bytes()
    assert back == (tmp_path / f"plain.{suffix}").read_bytes()
    convert(folder / "x.arrow", tmp_path / f"odd.{compression}", after=NAMES.get(suffix, suffix))
    assert (tmp_path / f"odd.{compression}").read_bytes() == packed.read_bytes()


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz", "zst"])
def test_a_damaged_compressed_table_is_refused(folder, tmp_path, compression):
    """Wherever it is cut short, whether much or little can still be read; nothing is written."""
    whole = tmp_path / f"x.jsonl.{compression}"
    convert(folder / "x.arrow", whole)
    data = whole.read_bytes()
    for size in (len(data) // 4, len(data) * 3 // 4, len(data) - 1):
        whole.write_bytes(data[:size])
        with pytest.raises(
            InputError, match=r"truncated \w+ stream .* copy or download the file again"
        ):
            convert(whole, tmp_path / "y.tsv")
        assert os.listdir(tmp_path) == [whole.name]


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_a_compressed_arrow_file_can_still_be_read(folder, tmp_path, name):
    """It is never written, but somebody may have compressed one."""
    with gzip.open(tmp_path / f"{name}.gz", "wb") as stream:
        stream.write((folder / name).read_bytes())
    convert(tmp_path / f"{name}.gz", tmp_path / "y.jsonl")
    assert (tmp_path / "y.jsonl").read_bytes() == (folder / "x.jsonl").read_bytes()


HEAD = "qseqid\tscore\tevalue\n"
TOO_LARGE = "9" * 30


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.tsv", HEAD + "q\t1\t2\nq\t1\n", "x.tsv:3: 2 values, but there are 3 fields"),
        ("x.tsv", HEAD + "q\t1\t2\t3\n", "x.tsv:2: 4 values"),
        ("x.tsv", HEAD + "q\t1.5\t2\n", "x.tsv:2: score is '1.5', not a number"),
        ("x.tsv", HEAD + "q\tNA\t2\n", "x.tsv:2: score is 'NA'"),
        ("x.tsv", HEAD + "q\t1\t\n", "x.tsv:2: evalue is ''"),
        ("x.tsv", "q\t1\t2\n", "x.tsv:1: 3 values, but BLAST"),
        ("x.csv", "qseqid,score\nq,1\nq\n", "x.csv:3: 1 value, but"),
        ("x.csv", 'qseqid,score\n"q,1\n', "x.csv:2: 1 value, but"),
        ("x.jsonl", '{"score": 1}\n\n{"score": \n', "x.jsonl:3: not JSON"),
        ("x.jsonl", '{"score": 1}\n[1]\n', "x.jsonl:2: expected an object"),
        ("x.jsonl", '{"score": 1}\n{"score": 1, "rank": 1}\n', "x.jsonl:2: the fields"),
        ("x.jsonl", '{"score": 1, "rank": 1}\n{"score": 1}\n', "x.jsonl:2: the fields"),
        ("x.jsonl", '{"score": 1}\n{"score": null}\n', "x.jsonl:2: score is None"),
        ("x.jsonl", '{"qseqid": null}\n', "x.jsonl:1: qseqid is None"),
        ("x.jsonl", '{"evalue": "1"}\n', "x.jsonl:1: evalue is '1'"),
        ("x.jsonl", '{"score": 1.0}\n', "x.jsonl:1: score is 1.0"),
        ("x.jsonl", '{"scores": 1}\n', "unknown field 'scores'; did you mean score"),
        ("x.tsv", HEAD + "\nq\t1\t2\n\nq\t1\n", "x.tsv:5: "),
        ("x.csv", "qseqid,score\n\nq,1\n\nq\n", "x.csv:5: "),
        ("x.csv", 'qseqid,score\n"a\nb",1\nq\n', "x.csv:4: "),
        ("x.tsv", HEAD + f"q\t{TOO_LARGE}\t2\n", "x.tsv:2: score is"),
        ("x.jsonl", f'{{"score": {TOO_LARGE}}}\n', "x.jsonl:1: score is"),
        ("x.jsonl", f'{{"evalue": 1{"0" * 400}}}\n', "x.jsonl:1: evalue is"),
        ("x.jsonl", '{"qseqid": "\\ud800"}\n', "x.jsonl:1: "),
        ("x.jsonl", "[" * 100_000 + "\n", "x.jsonl:1: not JSON"),
        ("x.json", '[{"score": 1}\n', "x.json: not JSON"),
        ("x.json", '{"score":\n1}\n', "x.json: expected an array of objects"),
        ("x.json", "[1]\n", "x.json: expected an array of objects"),
        ("x.json", '[{"score": 1}, {"score": "1"}]\n', "x.json, object 2: score is '1'"),
        ("x.json", '[{"score": 1}, {"rank": 1}]\n', "x.json, object 2: the fields"),
        ("x.json", "[" * 100_000 + "\n", "x.json: not JSON"),
    ],
)
@pytest.mark.parametrize("after", ["parquet"])
def test_damaged_text_is_refused_with_its_line(tmp_path, name, text, words, after):
    """File, line and cause; no output is left."""
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=re.escape(words)):
        convert(tmp_path / name, tmp_path / f"y.{after}")
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_a_file_cut_short_is_refused(folder, tmp_path, suffix):
    """Wherever it ends; the file is named."""
    whole = (folder / f"x.{suffix}").read_bytes()
    source = tmp_path / f"x.{suffix}"
    for size in (0, 1, 4, 12, len(whole) // 2, len(whole) - 8, len(whole) - 1):
        source.write_bytes(whole[:size])
        with pytest.raises(InputError, match=rf"x\.{suffix}: not an? (Arrow|Parquet) file"):
            convert(source, tmp_path / "y.jsonl")
        assert os.listdir(tmp_path) == [source.name]


DAMAGING = """
import sys
from swdual.results.conversion import convert
from swdual.errors import InputError

source, target, step = sys.argv[1:]
whole = open(source, "rb").read()
for place in range(8, len(whole), max(1, len(whole) // int(step))):
    damaged = bytearray(whole)
    damaged[place] ^= 0xFF
    with open(source, "wb") as stream:
        stream.write(damaged)
    try:
        convert(source, target, force=True)
    except InputError:
        pass
    except Exception as error:
        sys.exit(f"byte {place}: {error!r}")
"""


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_a_damaged_file_is_refused_or_read(folder, tmp_path, suffix):
    """Each of some bytes turned over: either a table is read, or it is refused as an input."""
    (tmp_path / f"x.{suffix}").write_bytes((folder / f"x.{suffix}").read_bytes())
    done = python("-c", DAMAGING, f"x.{suffix}", "y.jsonl", "300", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def python(*arguments, **options):
    """Run Python in a process of its own, so that a crash of a library is not ours."""
    environment = {**os.environ, "PYTHONPATH": os.fspath(ROOT)}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, check=False, timeout=300, **options
    )


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"score": [1.5]}, "score"),
        ({"score": ["1"]}, "score"),
        ({"evalue": ["1"]}, "evalue"),
        ({"qseqid": [1]}, "qseqid"),
        ({"score": [None, 1]}, "score"),
        ({"qseqid": [None, "q"]}, "qseqid"),
    ],
)
@pytest.mark.parametrize("after", ["tsv", "jsonl", "arrow"])
def test_columns_of_other_types_are_refused(tmp_path, columns, words, after):
    """As in JSON Lines: texts are texts, whole numbers whole numbers, and none is missing."""
    parquet.write_table(pyarrow.table(columns), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=re.escape(words)):
        convert(tmp_path / "x.parquet", tmp_path / f"y.{after}")


@pytest.mark.parametrize("suffix", ["arrow", "parquet", "json", "jsonl", "tsv", "csv"])
def test_columns_that_are_no_fields_are_left_out(tmp_path, caplog, suffix):
    """With one warning; a table of nothing else is refused, and the nearest field is named."""
    for names, name in ((["qseqid", "sseqid", "note", "scores"], "x"), (["scores"], "y")):
        table = pyarrow.table({each: ["a"] for each in names})
        path = tmp_path / f"{name}.{suffix}"
        if suffix == "parquet":
            parquet.write_table(table, path)
        elif suffix == "arrow":
            with pyarrow.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
        elif suffix in ("json", "jsonl"):
            path.write_text(json.dumps(table.to_pylist()).strip("[]" if suffix == "jsonl" else ""))
        else:
            gap = {"tsv": "\t", "csv": ","}[suffix]
            path.write_text(gap.join(names) + "\n" + gap.join("a" for _ in names) + "\n")
    convert(tmp_path / f"x.{suffix}", tmp_path / "z.jsonl")
    assert content(tmp_path / "z.jsonl") == [[("qseqid", "a"), ("sseqid", "a")]]
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert f"x.{suffix}" in record.message
    assert "swdual has no field for the columns 'note', 'scores': left out" in record.message
    if suffix not in TEXT:  # there it may be a value
        with pytest.raises(InputError, match="unknown field 'scores'; did you mean score"):
            convert(tmp_path / f"y.{suffix}", tmp_path / "y.tsv")


def test_other_programs_tables_are_read(tmp_path):
    """Dictionary-encoded texts, narrow numbers and large strings, as pandas and polars write."""
    table = pyarrow.table(
        {
            "qseqid": pyarrow.array(["q", "q"]).dictionary_encode(),
            "sseqid": pyarrow.array(["a", "b"], pyarrow.large_string()),
            "score": pyarrow.array([5, 6], pyarrow.int16()),
            "evalue": pyarrow.array([0.5, None], pyarrow.float32()),
        }
    )
    parquet.write_table(table, tmp_path / "x.parquet")
    assert convert(tmp_path / "x.parquet", tmp_path / "y.tsv") == 2
    assert (tmp_path / "y.tsv").read_text().splitlines()[1:] == [
        "q\ta\t5\t0.50",
        "q\tb\t6\tNA",
    ]


def test_a_whole_genome_is_a_field_of_csv():
    """full_sseq of 171,823 bases, as written by the search."""
    from io import BytesIO

    from swdual.formats.csv import read_table

    text = f"qseqid,full_sseq\nq,{'ACGT' * 43_000}\n".encode()
    ((_, (letters,)),) = read_table(BytesIO(text), "x.csv").chunks
    assert len(letters) == 172_000


@pytest.mark.parametrize(("suffix", "gap"), [("tsv", "\t"), ("csv", ",")])
def test_a_byte_order_mark_does_not_matter(tmp_path, suffix, gap):
    """Spreadsheets write one."""
    (tmp_path / f"x.{suffix}").write_text(f"\ufeffqseqid{gap}score\r\nq{gap}1\r\n")
    convert(tmp_path / f"x.{suffix}", tmp_path / "y.jsonl")
    assert content(tmp_path / "y.jsonl") == [[("qseqid", "q"), ("score", 1)]]


@pytest.mark.parametrize(("suffix", "gap"), [("tsv", "\t"), ("csv", ",")])
def test_line_ends_of_windows_do_not_matter(tmp_path, suffix, gap):
    """Nor a last line without an end."""
    (tmp_path / f"x.{suffix}").write_bytes(f"qseqid{gap}score\r\nq{gap}1\r\np{gap}2".encode())
    assert convert(tmp_path / f"x.{suffix}", tmp_path / "y.jsonl") == 2
    rows = [[("qseqid", "q"), ("score", 1)], [("qseqid", "p"), ("score", 2)]]
    assert content(tmp_path / "y.jsonl") == rows


def test_an_empty_text_is_a_row(tmp_path):
    """A table of one field, which is empty: BTOP of an empty alignment."""
    with (tmp_path / "x.tsv").open("wb") as stream:
        tabular.write_table(Table(("btop",), iter([[["", "2AC"]]])), stream, header=True)
    assert convert(tmp_path / "x.tsv", tmp_path / "y.jsonl") == 2


@pytest.mark.parametrize("after", ["jsonl", "json", "arrow", "parquet", "tsv", "csv"])
def test_a_field_named_twice_stays_twice_in_text_alone(tmp_path, after):
    """Programs do not read other files whose columns share a name."""
    (tmp_path / "x.csv").write_text("qseqid,score,qseqid\nq,1,q\n")
    convert(tmp_path / "x.csv", tmp_path / f"y.{after}")
    convert(tmp_path / f"y.{after}", tmp_path / "z.csv")
    once, both = "qseqid,score\nq,1\n", "qseqid,score,qseqid\nq,1,q\n"
    assert (tmp_path / "z.csv").read_text() == (both if after in ("tsv", "csv") else once)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "qseqid,evalue,evalue\nq,1e-5,1e-05\np,1e-5,2e-7\n",
         r"x.csv:3: evalue is named twice, for different values: 1e-05 and 2e-07; leave one out"),
        ("x.tsv", "qseqid\tscore\tqseqid\nq\t1\tp\n",
         r"x.tsv:2: qseqid is named twice, for different values: 'q' and 'p'; leave one out"),
        ("x.m8", "query\ttarget\tfident\tpident\nq\tt\t0.391\t93.1\n",
         r"x.m8:2: pident is named twice, for different values: 39.1 and 93.1; leave one out"),
        ("x.jsonl", '{"score": 1, "qseqid": "q"}\n{"score": 1, "qseqid": "q", "score": 2}\n',
         r"x.jsonl:2: not JSON: an object has the name 'score' twice"),
        ("x.json", '[{"score": 1, "score": 1}]', r"x.json: not JSON: an .* 'score' twice"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("after", ["y.csv", "y.jsonl", "y.parquet"])
def test_a_name_for_two_different_columns_is_refused(tmp_path, name, text, message, after):
    """One of them would be lost, or taken for the other."""
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        convert(tmp_path / name, tmp_path / after)
    with pytest.raises(InputError, match=message):
        read_hits(tmp_path / name)


CONTENTS = {
    "jsonl": ('{"qseqid": "q", "score": 1}\n', "is JSON Lines; use `before='jsonl'`"),
    "json": ('[\n{"qseqid": "q", "score": 1}\n]\n', "is JSON; use `before='json'`"),
    "of BLAST": ('{\n"BlastOutput2": [\n', "is JSON of BLAST; write BLAST's format 6"),
    "archive": ("Blast4-archive ::= {\n", "is an archive of BLAST; write BLAST's format 6 with"),
    "pairwise": ("BLASTP 2.12.0+\n\n\nReference: x\n", "is BLAST's format 0, to read; write"),
    "ours": ("swdual 0.9.0\n\n\nReference: x\n", "is BLAST's format 0, to read; write"),
    "FASTA": (">q a\nMKV\n", "is a FASTA file; give a table of hits"),
    "PAF": ("q\t9\t0\t9\t+\tt\t9\t0\t9\t9\t9\t255\n", "is PAF; write BLAST's format 6"),
    "parquet": ("", "is a Parquet file; use `before='parquet'`"),
    "arrow": ("", "is an Arrow file; use `before='arrow'`"),
}


@pytest.mark.parametrize("before", ["a.tsv", "a.csv", "a.jsonl", "a.json", "a.parquet", "a.m8.gz"])
@pytest.mark.parametrize("kind", CONTENTS)
def test_the_content_of_a_renamed_file_is_named(tmp_path, kind, before):
    """Whatever its name says."""
    text, words = CONTENTS[kind]
    content = text.encode()
    if not content:
        (tmp_path / "t.csv").write_text("qseqid,score\nq,1\n")
        convert(tmp_path / "t.csv", tmp_path / f"t.{kind}")
        content = (tmp_path / f"t.{kind}").read_bytes()
    (tmp_path / before).write_bytes(gzip.compress(content) if before.endswith("gz") else content)
    if before == f"a.{kind}":
        assert convert(tmp_path / before, tmp_path / "y.csv") == 1
        return
    for read in (lambda: convert(tmp_path / before, tmp_path / "y.csv"),
                 lambda: read_hits(tmp_path / before)):  # fmt: skip
        with pytest.raises(InputError) as caught:
            read()
        assert caught.value.message.startswith(words)


def test_columns_that_are_named_may_begin_as_those_of_another_format(tmp_path):
    """As PAF does, here."""
    (tmp_path / "x.tsv").write_text("q\t9\t1\t9\t+\tt\n")
    fields = "6 qseqid qlen qstart qend qstrand sseqid"
    assert convert(tmp_path / "x.tsv", tmp_path / "y.csv", before=fields) == 1


def test_the_command_converts(run, here):
    """A search, a table, another table; the number of hits is told."""
    run("search", "q.fa", "t.fa", "-f", "parquet", "-o", "x.parquet")
    outcome = run("convert", "x.parquet", "y.csv", "--header")
    assert (outcome.code, outcome.out) == (0, "")
    assert "hits" in outcome.err
    names, *rows = sixes(here / "y.csv")
    assert names == list(DATA)
    assert rows
    assert run("convert", "y.csv", "-", "--to", "jsonl").out.count("\n") == len(rows)


def test_the_command_refuses_what_is_damaged(refuses, here):
    """With the place, code 1 and no output."""
    (here / "x.jsonl").write_text('{"score": 1}\n{"score": 2.5}\n')
    refuses(1, ["x.jsonl:2: score is 2.5"], "convert", "x.jsonl", "y.csv")
    refuses(1, ["format xml cannot be converted"], "convert", "--to", "5", "x.jsonl", "y.xml")


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_standard_input_may_be_a_pipe(folder, tmp_path, suffix):
    """Of the binary formats too."""
    text = (folder / f"x.{suffix}").read_bytes()
    command = ["-m", "swdual", "convert", "--from", suffix, "-", "y.jsonl"]
    done = python(*command, input=text, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "y.jsonl") == content(folder / "x.jsonl")
