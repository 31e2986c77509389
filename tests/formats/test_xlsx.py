"""Workbooks for Excel: what the hits say, in cells of the right kind, always the same bytes."""

from __future__ import annotations

import io
import math
import re
import sys
import tempfile
import zipfile
from xml.etree import ElementTree

import pytest

import swdual
from swdual.errors import InputError, OutputError
from swdual.formats import xlsx
from swdual.results.conversion import convert

pytest.importorskip("xlsxwriter")

SPACE = {"x": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
AWKWARD = '=1+1 http://x.org <b>&amp; "quoted" é 漢 \U0001f9ec \x1b[31m'


@pytest.fixture(scope="module")
def results():
    queries = [(f"q1 {AWKWARD}", "MKVLAWGGHE"), ("q2", "P")]
    targets = [(f"t1 {AWKWARD}", "MKVLAWGGHE"), ("=t2", "MKVLAW"), ("+t3", "WGGHE")]
    return swdual.search(queries, targets, evalue=math.inf)


def cells(path):
    """Return the rows of a workbook: numbers, texts, and None for an empty cell."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert not any("sharedStrings" in name for name in archive.namelist())
        sheet = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
    assert sheet.find(".//x:f", SPACE) is None
    assert sheet.find(".//x:hyperlink", SPACE) is None
    rows = []
    for row in sheet.iterfind(".//x:row", SPACE):
        values = {}
        for cell in row:
            column = re.sub(r"\d", "", cell.get("r"))
            text = cell.find(".//x:t", SPACE)
            value = cell.find("x:v", SPACE)
            values[column] = float(value.text) if text is None else text.text
        rows.append(
            [values.get(chr(ord("A") + k)) for k in range(len(rows[0]) if rows else len(row))]
        )
    return rows


def test_every_hit_is_a_row_below_the_names(results, tmp_path):
    """Numbers in full, and texts as they are but for control characters."""
    names = ["qseqid", "sseqid", "score", "evalue", "pident", "stitle"]
    results.write(tmp_path / "x.xlsx", " ".join(["xlsx", *names]))
    first, *rows = cells(tmp_path / "x.xlsx")
    assert first == names
    expected = [
        [
            *(hit.query.id, hit.id, hit.score, pytest.approx(hit.evalue, rel=1e-14)),
            *(100 * hit.alignment.identity, hit.title.replace("\x1b", "?")),
        ]
        for result in results
        for hit in result
    ]
    assert rows == expected


def test_the_name_says_the_format(results, tmp_path):
    results.write(tmp_path / "x.xlsx")
    assert cells(tmp_path / "x.xlsx")[0] == list(xlsx.FIELDS)
    with pytest.raises(InputError, match="the name ends in \\.xlsx, but the format is tabular"):
        results.write(tmp_path / "y.xlsx", "6")
    with pytest.raises(InputError, match="format xlsx compresses already"):
        results.write(tmp_path / "y.xlsx.gz")


def test_the_same_hits_give_the_same_bytes(results, tmp_path):
    for name in ("x.xlsx", "other.xlsx"):
        results.write(tmp_path / name)
    assert (tmp_path / "x.xlsx").read_bytes() == (tmp_path / "other.xlsx").read_bytes()


def test_missing_values_are_empty_cells(tmp_path):
    """Without statistics there are no E-values."""
    results = swdual.search("MKVLAW", {"t": "MKVLAW"}, stats="none")
    results.write(tmp_path / "x.xlsx", "xlsx evalue score bitscore sseqid")
    assert cells(tmp_path / "x.xlsx")[1] == [None, results.scores[0], None, "t"]


def test_no_hits_are_a_row_of_names(tmp_path):
    swdual.search("P", {"t": "W"}).write(tmp_path / "x.xlsx", "xlsx sseqid score")
    assert cells(tmp_path / "x.xlsx") == [["sseqid", "score"]]


def test_a_table_is_converted(results, tmp_path):
    results.write(tmp_path / "y.xlsx", f"xlsx {' '.join(xlsx.FIELDS)}")
    results.write(tmp_path / "z.jsonl", f"jsonl {' '.join(xlsx.FIELDS)}")
    assert convert(tmp_path / "z.jsonl", tmp_path / "z.xlsx") == len(results.scores)
    assert (tmp_path / "z.xlsx").read_bytes() == (tmp_path / "y.xlsx").read_bytes()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("MAX_ROWS", 1, "there are more than 1 hits, which is all that Excel can hold; write .csv"),
        ("MAX_LETTERS", 3, "a cell of Excel holds 3; write .csv or .parquet"),
    ],
)
def test_what_excel_cannot_hold_is_refused(results, tmp_path, monkeypatch, name, value, words):
    """Not cut; and no file is left, nor a temporary one."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    monkeypatch.setattr(xlsx, name, value)
    with pytest.raises(InputError, match=re.escape(words)):
        results.write(tmp_path / "x.xlsx")
    assert [path.name for path in tmp_path.rglob("*")] == ["scratch"]


def test_without_xlsxwriter_the_command_that_installs_it_is_named(results, tmp_path, monkeypatch):
    """Before anything is searched."""
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)

    def searching():
        raise AssertionError
        yield

    hint = r"this needs XlsxWriter: pip install '?(xlsxwriter|XlsxWriter|\.\[excel)"
    with pytest.raises(InputError, match=hint):
        xlsx.write(searching(), io.BytesIO(), xlsx.FIELDS, header=False)


def test_a_full_temporary_folder_is_named(results, tmp_path, monkeypatch):
    import xlsxwriter

    close = xlsxwriter.Workbook.close

    def full(self):
        close(self)
        raise xlsxwriter.exceptions.FileCreateError("No space left on device")

    monkeypatch.setattr(xlsxwriter.Workbook, "close", full)
    with pytest.raises(OutputError, match="cannot be written: No space left on device"):
        results.write(tmp_path / "x.xlsx")
    assert list(tmp_path.iterdir()) == []
