"""Data frames, Arrow tables and files hold the same values, and the same gaps in them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from support.formats import PLAIN_FIELDS

import swdual
from swdual.hits.fields import DATA, FIELDS, columns
from swdual.sequences.alphabet import PROTEIN

pytestmark = pytest.mark.sample("values")

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

AWKWARD = 'tab\there, "quoted", comma; back\\slash é 漢 \U0001f9ec'


@pytest.fixture(scope="module")
def cases():
    """Results with E-values, without, with an empty alignment, without hits, without queries."""
    rng = np.random.default_rng(2)
    parts = ["".join(rng.choice(list(PROTEIN.letters[:20]), 30)) for _ in range(4)]
    queries = [(f"q{k} {AWKWARD}", parts[k] + parts[k + 1]) for k in range(3)] + [("none", "P")]
    targets = [(f"t{k} {AWKWARD}", "".join(rng.choice(parts, 2))) for k in range(12)]
    return {
        "usual": swdual.search(queries, targets),
        "no statistics": swdual.search(queries, targets, stats="none"),
        "empty alignment": swdual.search("W", {"t": "P"}, stats="none", min_raw_score=0),
        "no hits": swdual.search("P", {"t": "W"}),
        "no queries": swdual.search([], {"t": "W"}),
    }


CASES = pytest.mark.parametrize(
    "case", ["usual", "no statistics", "empty alignment", "no hits", "no queries"]
)
CHOICES = pytest.mark.parametrize(
    "fields", [None, PLAIN_FIELDS, ("evalue", "qseqid")], ids=["default", "all", "two"]
)


def nothing(value):
    """Return whether a value is not-a-number or missing."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def rows_of(results, fields):
    """Return the rows of a table, None where there is no value."""
    rows = []
    for result in results:
        for row in zip(*columns(result, fields), strict=True):
            plain = [getattr(value, "item", lambda value=value: value)() for value in row]
            rows.append([None if nothing(x) else x for x in plain])
    return rows


TABLES = {
    "arrow": lambda results, fields: results.to_arrow(fields).to_pylist(),
    "polars": lambda results, fields: results.to_polars(fields).to_dicts(),
    "pandas": lambda results, fields: [
        {name: None if nothing(x) else x for name, x in row.items()}
        for row in results.to_pandas(fields).to_dict("records")
    ],
}


@pytest.mark.parametrize("kind", TABLES)
@CHOICES
@CASES
def test_every_kind_of_table_has_the_same_rows(cases, case, fields, kind):
    """The values of the fields, hit by hit; None, null or not-a-number where there is none."""
    results = cases[case]
    names = fields or DATA
    expected = rows_of(results, names)
    found = TABLES[kind](results, fields)
    assert [list(row.values()) for row in found] == expected
    assert all(list(row) == list(names) for row in found)


@CHOICES
def test_types_do_not_depend_on_the_rows(cases, fields):
    """Texts, 64-bit whole and real numbers, of many hits and of none."""
    names = fields or DATA
    kinds = [FIELDS[name].kind for name in names]
    for results in cases.values():
        arrow = {"text": "string", "whole": "int64", "real": "double"}
        assert [str(x) for x in results.to_arrow(fields).schema.types] == [arrow[k] for k in kinds]
        frame = {"text": "object", "whole": "int64", "real": "float64"}
        assert [str(x) for x in results.to_pandas(fields).dtypes] == [frame[k] for k in kinds]
        rust = {"text": "String", "whole": "Int64", "real": "Float64"}
        assert [str(x) for x in results.to_polars(fields).dtypes] == [rust[k] for k in kinds]


@CASES
def test_whoever_speaks_arrow_can_take_the_results(cases, case):
    """pyarrow and pandas, by the protocol alone."""
    results = cases[case]
    table = results.to_arrow()
    assert pyarrow.table(results).equals(table)
    assert pyarrow.RecordBatchReader.from_stream(results).read_all().equals(table)
    if hasattr(pandas.DataFrame, "from_arrow"):
        frame = pandas.DataFrame.from_arrow(results)
        ours = results.to_pandas()
        assert list(frame) == list(ours)
        for name in ours:
            theirs = [None if nothing(x) else x for x in frame[name].tolist()]
            assert theirs == [None if nothing(x) else x for x in ours[name].tolist()]


@CASES
def test_polars_can_take_the_results(cases, case):
    """By the protocol alone, as the docstring of it says."""
    results = cases[case]
    assert polars.DataFrame(results).equals(results.to_polars())


def test_missing_values_are_null_in_arrow(cases):
    """Without statistics: bits and E-values, all of them, and nothing else."""
    table = cases["no statistics"].to_arrow()
    missing = {name for name in table.column_names if table[name].null_count}
    assert missing == {"bitscore", "evalue", "log10_evalue"}
    assert all(table[name].null_count == len(table) for name in missing)
    table = cases["empty alignment"].to_arrow(PLAIN_FIELDS)
    missing = {name for name in table.column_names if table[name].null_count}
    assert missing == {
        *("bitscore", "evalue", "first_evalue", "log10_evalue", "pident", "ppos")
    } | {"qcovus"}


def test_columns_that_need_alignments_are_left_out_where_there_are_none():
    """By default; asked for, they are found."""
    options = {"stats": "none", "align": False}
    results = swdual.search("MKVLAW", {"t": "MKVLAW"}, **options)
    names = results.to_arrow().column_names
    assert names == [name for name in DATA if not FIELDS[name].traced]
    assert list(results.to_pandas()) == list(results.to_polars().columns) == names
    assert results.to_arrow(["cigar"])["cigar"].to_pylist() == ["6M"]


def test_standard_fields_can_be_named_together(cases):
    """`std` stands for BLAST's twelve."""
    names = cases["usual"].to_arrow(["std", "score"]).column_names
    assert (len(names), names[0], names[-1]) == (13, "qseqid", "score")


def test_an_unknown_field_is_refused(cases):
    """Whatever the table."""
    for make in ("to_arrow", "to_pandas", "to_polars"):
        with pytest.raises(swdual.InputError, match="did you mean score"):
            getattr(cases["usual"], make)(["scores"])


def test_arrow_tells_where_it_comes_from(cases):
    """Release, scheme, database and statistics are in the metadata, as JSON."""
    facts = cases["usual"].to_arrow().schema.metadata
    search, statistics = (
        json.loads(facts[f"swdual.{name}".encode()]) for name in ("search", "statistics")
    )
    assert facts[b"swdual.version"].decode() == swdual.__version__
    assert search == {
        "matrix": "BLOSUM62",
        "gap_open": 11,
        "gap_extend": 1,
        "query_gencode": None,
        "db_gencode": None,
        "database": "sequences in memory",
        "sequences": 12,
        "residues": 720,
        "taxids": None,
        "not_taxids": None,
        "target_ids": None,
        "not_target_ids": None,
        "comp_based_stats": 2,
        "adjust": "candidates",
    }
    assert (statistics["method"], statistics["residues"]) == ("table", 720)
    facts = cases["no statistics"].to_arrow().schema.metadata
    assert json.loads(facts[b"swdual.statistics"]) == {"method": "none"}


@pytest.mark.parametrize("case", ["no statistics", "empty alignment"])
def test_missing_values_in_files(cases, case, tmp_path):
    """NA in tables of text, null in JSON Lines, Arrow and Parquet."""
    import csv

    import pyarrow.parquet

    results = cases[case]
    names = ["qseqid", "pident", "evalue", "bitscore", "log10_evalue", "score"]
    for outfmt in ("6", "csv", "jsonl", "arrow", "parquet"):
        results.write(tmp_path / outfmt, " ".join([outfmt, *names]), header=False)
    empty = case == "empty alignment"
    missing = {"evalue", "bitscore", "log10_evalue", *(["pident"] if empty else [])}
    texts = [line.split("\t") for line in (tmp_path / "6").read_text().splitlines()]
    with (tmp_path / "csv").open(newline="") as stream:
        assert list(csv.reader(stream)) == texts
    objects = [json.loads(line) for line in (tmp_path / "jsonl").read_text().splitlines()]
    with pyarrow.ipc.open_file(tmp_path / "arrow") as reader:
        assert reader.read_all().to_pylist() == objects
    assert pyarrow.parquet.read_table(tmp_path / "parquet").to_pylist() == objects
    assert len(texts) == len(objects) == len(results.scores) > 0
    for row, told in zip(texts, objects, strict=True):
        for name, text in zip(names, row, strict=True):
            assert (text == "NA") == (told[name] is None) == (name in missing)


def test_infinity_is_no_missing_value():
    """An E-value bar of infinity is one, and every E-value is a number."""
    results = swdual.search("MKV", {"t": "GGMKVGG"}, evalue=math.inf)
    (value,) = results.to_arrow(["evalue"])["evalue"].to_pylist()
    assert value is not None
    assert value > 0
