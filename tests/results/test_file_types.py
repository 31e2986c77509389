"""The format of an output is what its name says, what was asked for, or refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re

import pytest

import swdual
from swdual.errors import InputError
from swdual.format import SYNONYMS
from swdual.hits.fields import DATA, STANDARD
from swdual.io.endings import ENDINGS, OTHER_ENDINGS, TEXT_ENDINGS, detect_format
from swdual.results.file_types import choose_format


@pytest.fixture(scope="module")
def results():
    return swdual.search(
        [("q1", "MKVLAWGGHE")],
        [("t1 a, b", "MKVLAWGGHE"), ("t2", "MKVLAW")],
        evalue=math.inf,
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_name_says_the_format(ending):
    """In any case of letters; the ending of a compression is passed over."""
    for name in (f"a.b{ending}", f"A{ending.upper()}"):
        assert detect_format(name) == choose_format(name).name == ENDINGS[ending]
    if ENDINGS[ending] not in ("arrow", "npz", "parquet", "xlsx"):
        assert choose_format(f"a{ending}.gz").name == ENDINGS[ending]


@pytest.mark.parametrize(
    "name", ["-", "hits", "hits.1", "a.csv/hits", *map("x{}".format, TEXT_ENDINGS)]
)
def test_a_name_that_says_nothing_gives_the_default(name):
    assert detect_format(name) is None
    assert choose_format(name).name == "tabular"
    assert choose_format(name, default="pairwise").name == "pairwise"
    assert choose_format(name, "5").name == "xml"


@pytest.mark.parametrize("ending", OTHER_ENDINGS)
@pytest.mark.parametrize("outfmt", [None, "6", "csv"])
def test_what_is_not_written_is_refused_with_what_is(ending, outfmt):
    """Whatever is asked for: whoever opens it by its name would get something else."""
    words = rf"x{ending}.gz: swdual does not write .*; known endings: \.tsv .* \.txt .*\.gz"
    with pytest.raises(InputError, match=words):
        choose_format(f"x{ending}.gz", outfmt)


@pytest.mark.parametrize(
    ("path", "outfmt", "words"),
    [
        ("x.parquet", "6", "the name ends in .parquet, but the format is tabular; choose a name "
         "that ends in .tsv, or the format parquet"),
        ("x.json", "jsonl", "ends in .json, but the format is jsonl; choose a name that ends in "
         ".jsonl, or the format json"),
        ("x.tsv.gz", "5", "ends in .tsv, but the format is xml; choose a name that ends in .xml"),
        ("x.csv", "0", "ends in .csv, but the format is pairwise"),
        ("x.sam", "7 qseqid", "the format is commented; choose a name that ends in .txt"),
        ("x.txt", "parquet", "ends in .txt, but the format is parquet; choose a name that ends in "
         ".parquet"),
        ("y/x.parquet.gz", None, "compresses already, and programs do not read it compressed "
         "again; write to x.parquet"),
        ("x.zst", "arrow score", "format arrow compresses already"),
    ],
)  # fmt: skip
def test_a_file_that_could_not_be_read_by_its_name_is_refused(path, outfmt, words):
    """The message says both, and what to do."""
    with pytest.raises(InputError, match=re.escape(words)):
        choose_format(path, outfmt)


@pytest.mark.parametrize(
    ("path", "outfmt", "name"),
    [
        ("x.csv", "6", "tabular"),
        ("x.tsv", "7", "commented"),
        ("x.tsv", "10 score", "csv"),
        ("x.txt", "0", "pairwise"),
        ("x.out.gz", "5", "xml"),
        ("x.hits", "parquet", "parquet"),
        ("x.aln", "0", "pairwise"),
        ("x", "PARQUET,score", "parquet"),
    ],
)
def test_what_was_asked_for_stands_above_the_name(path, outfmt, name):
    """Among formats that are read alike, and where the name says none."""
    assert choose_format(path, outfmt).name == name


@pytest.mark.parametrize(
    ("path", "outfmt", "has_header"),
    [
        ("x.csv", None, True),
        ("x.csv.gz", None, True),
        ("-", "csv", True),
        ("-", "CSV qseqid score", True),
        ("x.csv", "10", False),
        ("-", "10 score", False),
        ("x.tsv", None, False),
        ("x.csv", "6", False),
        ("-", None, False),
    ],
)
def test_csv_has_a_header_but_not_by_the_number_of_blast(path, outfmt, has_header):
    """And what was asked for, if anything was."""
    assert choose_format(path, outfmt).header == has_header
    assert choose_format(path, outfmt, True).header
    assert not choose_format(path, outfmt, False).header


def test_numbers_and_fields_are_those_of_the_format():
    assert choose_format("x.json").fields == DATA
    assert choose_format("x.csv").fields == STANDARD
    for other, name in SYNONYMS.items():
        assert choose_format("x", other).name == name
    assert not choose_format("x.tsv", "tsv").header


def test_results_are_written_as_the_name_says(results, tmp_path):
    """Through Python: csv with header, compressed, and as JSON that any program reads."""
    results.write(tmp_path / "x.csv.gz")
    rows = list(
        csv.reader(io.StringIO(gzip.decompress((tmp_path / "x.csv.gz").read_bytes()).decode()))
    )
    assert rows[0] == list(STANDARD)
    assert [row[1] for row in rows[1:]] == ["t1", "t2"]
    results.write(tmp_path / "x.csv", "10")
    assert (tmp_path / "x.csv").read_text().startswith("q1,t1,")
    results.write(tmp_path / "x.json", "json sseqid score stitle")
    expected = [{"sseqid": hit.id, "score": hit.score, "stitle": hit.title} for hit in results[0]]
    assert json.loads((tmp_path / "x.json").read_text()) == expected
    with pytest.raises(InputError, match="does not write old Excel workbooks"):
        results.write(tmp_path / "x.xls")
    with pytest.raises(InputError, match=r"the name ends in \.parquet, but the format is tabular"):
        results.write(tmp_path / "x.parquet", "6")


def test_pandas_reads_what_is_written(results, tmp_path):
    """By the names of the files alone."""
    pandas = pytest.importorskip("pandas")
    for name in ("x.csv", "x.csv.gz", "x.csv.bz2", "x.json", "x.json.xz"):
        results.write(tmp_path / name)
        read = pandas.read_csv if "csv" in name else pandas.read_json
        assert list(read(tmp_path / name)["evalue"]) == pytest.approx(results.evalues, rel=0.01)
