"""Tables as BLAST, DIAMOND, MMseqs2 and ssearch36 wrote them: converted, audited, reported."""

from __future__ import annotations

import json
import re

import pytest
from support.golden_tables import GOLDEN

import swdual
from swdual.auditing.table import read_hits
from swdual.errors import InputError
from swdual.formats._report_table import group_rows
from swdual.results.conversion import convert, open_table

FOREIGN = GOLDEN / "foreign"
QUERIES, TARGETS = FOREIGN / "queries.fasta", FOREIGN / "targets.fasta"

STD = "qseqid sseqid pident length mismatch gapopen qstart qend sstart send evalue bitscore"
MMSEQS = (
    "query target fident pident alnlen mismatch gapopen qstart qend tstart tend evalue bits "
    "qcov tcov qlen tlen cigar qframe empty theader"
)
DIAMOND = (
    "qseqid sseqid pident length mismatch qlen slen evalue bitscore approx_pident qcovhsp cigar "
    "qtitle stitle"
)
GI = "qgi sgi sallgi sallacc qcovus stitle"

TABLES = {
    "blastp_6.txt": (None, STD),
    "blastp_7.txt": (None, STD),
    "blastp_10.csv": (None, STD),
    "blastp_6_more.txt": ("6 std qcovs qlen slen stitle", f"{STD} qcovs qlen slen stitle"),
    "blastp_7_more.txt": (None, f"{STD} {GI}"),
    "diamond.m8": (None, STD),
    "diamond_simple.tsv": (None, STD),
    "diamond_verbose.tsv": (None, STD),
    "diamond_unal.m8": (None, STD),
    "diamond_unal_simple.tsv": (None, STD),
    "diamond_unal_more.tsv": (None, DIAMOND),
    "mmseqs_0.m8": (None, STD),
    "mmseqs_0_more.m8": (f"6 {MMSEQS}", MMSEQS),
    "mmseqs_2.m8": ("6 std qlen slen", f"{STD} qlen slen"),
    "mmseqs_4.tsv": (None, STD),
    "mmseqs_4_more.tsv": (None, MMSEQS),
    "ssearch_8.m8": (None, STD),
    "ssearch_8C.txt": (None, STD),
    "ssearch_8CC.txt": (None, f"{STD} aln_code"),
    "ssearch_8CBL.txt": (None, f"qseqid qlen sseqid slen {STD[14:]} btop"),
}
"""Each table, what `before` has to say, and the columns that it has."""

OURS = {
    **{"query": "qseqid", "target": "sseqid", "alnlen": "length", "bits": "bitscore"},
    **{"tstart": "sstart", "tend": "send", "tlen": "slen", "theader": "stitle"},
    **{"qcov": "qcovhsp", "tcov": "scovhsp"},
}
NO_FIELD = ("approx_pident", "fident", "qframe", "empty", "aln_code")


def rows_of(name):
    """Return the rows of a table as the file has them, by our names; without those of no hit."""
    gap = "," if name.endswith(".csv") else "\t"
    columns = TABLES[name][1].split()
    rows = [line.split(gap) for line in (FOREIGN / name).read_text().splitlines()]
    rows = [row for row in rows if row[0] in ("query1", "query2", "orphan") and row[1] != "*"]
    assert rows
    return [
        {OURS.get(column, column): text for column, text in zip(columns, row, strict=True)}
        for row in rows
    ]


def converted(source, tmp_path, before=None):
    convert(source, tmp_path / "x.jsonl", before=before, force=True)
    return [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]


def test_every_recorded_table_is_tried():
    assert {path.name for path in FOREIGN.iterdir() if path.suffix != ".fasta"} == {
        *TABLES,
        "blastn_coverage.txt",
    }


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_another_program_keeps_what_it_says(name, tmp_path):
    """Every value of every row, with percentages where MMseqs2 has fractions."""
    found = converted(FOREIGN / name, tmp_path, TABLES[name][0])
    expected = rows_of(name)
    assert len(found) == len(expected)
    fractions = name.startswith("mmseqs") and "more" not in name
    for ours, theirs in zip(found, expected, strict=True):
        assert {*ours} == {*theirs} - {*NO_FIELD}
        for field, value in ours.items():
            text = theirs[field]
            if isinstance(value, str):
                assert value == text
            elif text == "N/A":
                assert value is None
            else:
                scaled = field in ("qcovhsp", "scovhsp") and name.startswith("mmseqs")
                scaled |= field == "pident" and fractions
                assert value == pytest.approx(float(text) * (100 if scaled else 1)), field
        own = ours["sseqid"] == "self"
        assert ours["pident"] == 100 if own else 20 < ours["pident"] < 70


@pytest.mark.parametrize("name", TABLES)
def test_an_audit_reads_the_same_rows_as_a_conversion(name, tmp_path):
    """Names, E-values and bit scores; the hits are those of an exact search."""
    before = TABLES[name][0]
    rows = converted(FOREIGN / name, tmp_path, before)
    table = read_hits(FOREIGN / name, before)
    for field, column in (
        *(("qseqid", table.queries), ("sseqid", table.targets)),
        *(("evalue", table.evalues.tolist()), ("bitscore", table.bits.tolist())),
    ):
        assert column == [row[field] for row in rows]
    lines = (FOREIGN / name).read_text().splitlines()
    for line, row in zip(table.lines, rows, strict=True):
        assert lines[line - 1].startswith(row["qseqid"])
        assert row["sseqid"] in lines[line - 1]


@pytest.fixture(scope="module")
def audit():
    names = list(TABLES)
    return [
        swdual.audit(FOREIGN / name, QUERIES, TARGETS, before=TABLES[name][0], evalue=1e-3)
        for name in names
        if name in ("blastp_7_more.txt", "diamond_unal.m8", "mmseqs_0.m8", "ssearch_8CC.txt")
    ]


def test_an_audit_of_each_program_finds_its_hits(audit):
    """The table of each program lists hits of the exact search and none below its cutoff."""
    for each in audit:
        total = each.summary()[-1]
        assert total["found"] >= 4
        assert each.tables[0].table.run.program.startswith(
            {"b": "BLASTP 2.12", "d": "", "m": "", "s": "SSEARCH 36"}[each.labels[0][0]]
        )


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("blastp_7.txt", ["orphan"]),
        ("ssearch_8CC.txt", ["orphan"]),
        ("diamond_unal.m8", []),  # DIAMOND 2.1.3 lists queries with hits, and not the others
        ("blastp_6.txt", []),
    ],
)
def test_queries_without_hits_are_known_and_reported(name, names, tmp_path):
    with open_table(FOREIGN / name) as table:
        rows = sum(len(chunk[0]) for chunk in table.chunks)
        assert [*table.without_hits] == names
    convert(FOREIGN / name, tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text()
    queries = 2 + len(names)
    assert f"<h1>{rows} hits of {queries} queries</h1>" in text
    assert all(f'"{each}"' in text for each in names)


UNALIGNED = "\t".join(["q2", "*", *["-1"] * 10])
ALIGNED = "q1\tt1\t99.0\t100\t1\t0\t1\t100\t1\t100\t1e-50\t385"


@pytest.mark.parametrize("after", ["csv", "tsv", "json", "jsonl", "parquet", "arrow", "xlsx"])
def test_a_row_without_a_hit_is_no_hit_in_any_format(after, tmp_path, caplog):
    """DIAMOND's `--unal 1`: one hit is written, and the query without is counted."""
    caplog.set_level("INFO", "swdual")
    (tmp_path / "u.m8").write_text(f"{UNALIGNED}\n{ALIGNED}\n")
    assert convert(tmp_path / "u.m8", tmp_path / f"y.{after}") == 1
    assert "u.m8: 1 query has no hits" in caplog.text
    if after != "xlsx":
        (row,) = converted(tmp_path / f"y.{after}", tmp_path)
        assert (row["qseqid"], row["sseqid"], row["evalue"]) == ("q1", "t1", 1e-50)
    table = read_hits(tmp_path / "u.m8")
    assert (table.queries, list(table.lines)) == (["q1"], [2])


def test_a_target_may_be_called_by_an_asterisk(tmp_path):
    """It is a hit if its numbers are those of one."""
    (tmp_path / "x.m8").write_text(ALIGNED.replace("t1", "*") + "\n")
    assert [row["sseqid"] for row in converted(tmp_path / "x.m8", tmp_path)] == ["*"]


CHANGES = {
    "pident": ["-1", "100.1", "nan"],
    "length": ["-1", "1.5", "1_0", "٣", "9" * 30, "9" * 5000],
    "mismatch": ["-1"],
    "gapopen": ["-7"],
    "qstart": ["0", "-1"],
    "qend": ["0"],
    "sstart": ["0"],
    "send": ["-3"],
    "evalue": ["-1", "-1e-300", "inf", "nan", "1e999", "", "1e"],
    "bitscore": ["nan", "-inf", "1e999", "x"],
}


@pytest.mark.parametrize(
    ("field", "text"),
    [(field, text) for field, texts in CHANGES.items() for text in texts],
    ids=lambda value: value[:12],
)
@pytest.mark.parametrize("suffix", ["m8", "csv", "m9", "jsonl"])
def test_a_value_out_of_range_is_refused_with_its_place(field, text, suffix, tmp_path):
    """File, line and field, by conversions and audits alike; nothing is written."""
    names, values = STD.split(), ALIGNED.split("\t")
    values[names.index(field)] = text
    path = tmp_path / f"x.{suffix}"
    line = 2
    if suffix == "m8":
        path.write_text(ALIGNED + "\n" + "\t".join(values) + "\n")
    elif suffix == "csv":
        path.write_text(",".join(ALIGNED.split("\t")) + "\n" + ",".join(values) + "\n")
    elif suffix == "m9":
        rows = ALIGNED + "\n" + "\t".join(values) + "\n"
        path.write_text(f"# BLASTP 2.12.0+\n# Query: q1\n# 2 hits found\n{rows}")
        line = 5
    else:
        texts = [
            ", ".join(
                f'"{name}": ' + (f'"{value}"' if name.endswith("seqid") else value)
                for name, value in zip(names, row, strict=True)
            )
            for row in (ALIGNED.split("\t"), values)
        ]
        path.write_text("".join(f"{{{each}}}\n" for each in texts).replace("nan", "NaN"))
    messages = []
    for read in (lambda: convert(path, tmp_path / "y.csv"), lambda: read_hits(path)):
        with pytest.raises(InputError) as error:
            read()
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert f"x.{suffix}:{line}: " in messages[0]
    if suffix != "jsonl" or text not in ("", "1e", "x", "1_0", "٣", "inf", "-inf", "9" * 5000):
        assert field in messages[0]
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("fields", ["std", "qseqid sseqid qstart qend sstart send"])
def test_empty_alignments_of_our_own_are_read(fields, tmp_path):
    """A score of 0 aligns nothing, from place 1 to 0; on either strand."""
    found = swdual.search({"q": "AAA"}, {"t": "TT"}, dbtype="nucl", min_raw_score=0, stats="none")
    found.write(tmp_path / "x.tsv", f"6 {fields}", header=True)
    assert convert(tmp_path / "x.tsv", tmp_path / "y.tsv", header=True) == len(found.scores) > 0
    assert (tmp_path / "y.tsv").read_text() == (tmp_path / "x.tsv").read_text()


def test_a_value_out_of_range_is_refused_in_files_without_lines(tmp_path):
    """The number of the row tells the place."""
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(
        pyarrow.table({"qseqid": ["q", "q"], "sseqid": ["a", "b"], "evalue": [1.0, -1.0]}),
        tmp_path / "x.parquet",
    )
    with pytest.raises(InputError, match=r"x\.parquet: row 2: evalue is -1\.0, but it must be at"):
        convert(tmp_path / "x.parquet", tmp_path / "y.csv")


@pytest.mark.parametrize(
    ("text", "value"),
    [("e-105", 1e-105), ("E-05", 1e-5), (" 1e-5", 1e-5), ("2e-04 ", 2e-4), ("0.0", 0.0)],
)
def test_numbers_of_old_tables_are_read(text, value, tmp_path):
    """blastall writes no mantissa of 1, and blanks before bit scores."""
    row = ALIGNED.replace("1e-50", text).replace("\t385", "\t 385")
    (tmp_path / "x.m8").write_text(row + "\n")
    (found,) = converted(tmp_path / "x.m8", tmp_path)
    assert (found["evalue"], found["bitscore"]) == (value, 385)
    assert read_hits(tmp_path / "x.m8").evalues.tolist() == [value]


def identities(*rows):
    """Return a table of identities, lengths and mismatches."""
    head = "qseqid\tsseqid\tpident\tlength\tmismatch\n"
    return head + "".join("\t".join(["q", "t", *map(str, row)]) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("1.000", 330, 0), ("1.000", 20, 0)], [100, 100]),
        ([("0.600", 105, 40), ("0.281", 188, 128)], [60, 28.1]),
        ([("0.050", 100, 94)], [5]),
        ([("1.000", 1, 0)], [100]),
        ([("0.000", 3, 3), ("0.000", 5, 5)], [0, 0]),
        ([("0.900", 1000, 991)], [0.9]),  # percentages, as mismatches say
        ([("1.000", 100, 99), ("0.500", 200, 199)], [1, 0.5]),
        ([("0.500", 200, 199), ("35.0", 100, 65)], [0.5, 35]),
    ],
)
def test_identities_of_mmseqs_are_fractions_if_mismatches_say_so(rows, expected, tmp_path):
    (tmp_path / "x.tsv").write_text(identities(*rows))
    found = [row["pident"] for row in converted(tmp_path / "x.tsv", tmp_path)]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    [
        identities(("0.5", 100, 80), ("0.6", 100, 90)),
        "qseqid\tsseqid\tpident\nq\tt\t0.39\n",
        identities(*[("0.9", 100, 10)] * 10_001, ("45.0", 100, 55)),
    ],
    ids=["contradicted", "nothing tells", "later rows differ"],
)
def test_identities_that_may_be_either_are_refused(text, tmp_path):
    """By conversions and audits, with the remedy or the line."""
    (tmp_path / "x.tsv").write_text(text)
    for read in (
        lambda: convert(tmp_path / "x.tsv", tmp_path / "y.csv"),
        lambda: read_hits(tmp_path / "x.tsv"),
    ):
        with pytest.raises(InputError, match=r"x\.tsv:(2: .*fident|10003: .*fractions)"):
            read()


def test_names_of_mmseqs_may_be_given(tmp_path):
    """They say that values are fractions, which is not guessed then."""
    (tmp_path / "x.m8").write_text("q\tt\t0.39\t0.5\t0.25\n")
    (row,) = converted(tmp_path / "x.m8", tmp_path, "6 query target fident qcov tcov")
    assert row == {
        **{"qseqid": "q", "sseqid": "t", "pident": 39.0, "qcovhsp": 50.0, "scovhsp": 25.0}
    }
    (tmp_path / "x.m8").write_text("q\tt\t1.39\n")
    with pytest.raises(InputError, match=r"x\.m8:1: fident is '1\.39', but it is a fraction"):
        converted(tmp_path / "x.m8", tmp_path, "6 query target fident")


def test_a_column_named_twice_counts_once(tmp_path):
    """In audits and reports, too: also where MMseqs2's fident and pident are the same field."""
    names, values = "query\ttarget\tfident\tevalue\tpident\tquery", "q{0}\tt\t0.5\t{0}\t50.2\tq{0}"
    rows = [values.format(k) for k in range(20_005)]
    (tmp_path / "x.tsv").write_text("\n".join([names, *rows]) + "\n")
    table = read_hits(tmp_path / "x.tsv")
    assert table.queries == [f"q{k}" for k in range(20_005)]
    assert table.evalues.tolist() == list(range(20_005))
    with open_table(tmp_path / "x.tsv") as table:
        groups = list(group_rows(table, 1))
    assert [group.id for group in groups] == [f"q{k}" for k in range(20_005)]
    assert {tuple(group.data["columns"]["pident"]) for group in groups} == {(50.2,)}


def test_coverages_follow_places_or_else_identities(tmp_path):
    """A hit of 300 in a sequence of 30,000 covers 1 %, and a fraction of 1 covers all of it."""
    head = "qseqid\tsseqid\tpident\tlength\tmismatch\tqstart\tqend\tqlen\tqcovhsp\n"
    row = "q\tt\t0.9\t300\t30\t1\t300\t30000\t1\n"
    (tmp_path / "x.tsv").write_text(head + row)
    assert converted(tmp_path / "x.tsv", tmp_path)[0]["qcovhsp"] == 1
    (tmp_path / "x.tsv").write_text(head + row.replace("30000", "300"))
    assert converted(tmp_path / "x.tsv", tmp_path)[0]["qcovhsp"] == 100
    short = identities(("0.9", 100, 10)).replace("mismatch", "mismatch\tqcovhsp")
    (tmp_path / "x.tsv").write_text(short.replace("\t10\n", "\t10\t0.8\n"))
    assert converted(tmp_path / "x.tsv", tmp_path)[0]["qcovhsp"] == 80


def test_the_content_tells_format_7_whatever_the_name(tmp_path):
    """A file of blastp without a hit, called nohit.m9, hits.csv, or nothing at all."""
    text = "# BLASTP 2.12.0+\n# Query: q1\n# Database: db\n# 0 hits found\n"
    for name in ("nohit.m9", "hits.csv", "hits"):
        (tmp_path / name).write_text(text + "# BLAST processed 1 queries\n")
        assert convert(tmp_path / name, tmp_path / "y.csv", force=True) == 0
    (tmp_path / "hits").write_text(ALIGNED.replace("\t", " ") + "\n")
    with pytest.raises(InputError, match=r"hits: neither name nor content tells the format"):
        convert(tmp_path / "hits", tmp_path / "y.csv", force=True)


def test_one_name_of_each_column_whatever_the_file(tmp_path):
    """A search and a conversion name the twelve alike in every format; both sets are read."""
    found = swdual.search("MKVLAWGGHERMKVLAWDEF", {"t": "MKVLAWGGHERMKVLAWDEF"})
    found.write(tmp_path / "x.csv")
    head, row = (tmp_path / "x.csv").read_text().splitlines()
    assert head == STD.replace(" ", ",")
    for suffix in ("json", "jsonl", "parquet", "arrow", "txt"):
        found.write(tmp_path / f"x.{suffix}", "7 std" if suffix == "txt" else None)
        convert(tmp_path / f"x.{suffix}", tmp_path / "y.csv", force=True)
        names = (tmp_path / "y.csv").read_text().splitlines()[0].split(",")
        assert names[:2] == STD.split()[:2]
    (tmp_path / "old.csv").write_text(
        re.sub("qseqid,sseqid", "qaccver,saccver", head) + "\n" + row + "\n"
    )
    convert(tmp_path / "old.csv", tmp_path / "new.tsv")
    assert (tmp_path / "new.tsv").read_text() == row.replace(",", "\t") + "\n"
    assert list(found.to_pandas())[:2] == list(found.to_pandas("7 std"))[:2] == STD.split()[:2]
    assert "# Fields: query acc.ver, subject acc.ver, " in (tmp_path / "x.txt").read_text()


def test_names_behind_a_hash_are_names(tmp_path):
    """Else they would be a hit, where all columns are text."""
    (tmp_path / "t.tsv").write_text("#qseqid\tsseqid\tstitle\na\tb\tt\n")
    for names in (None, "6 qseqid sseqid stitle"):
        assert convert(tmp_path / "t.tsv", tmp_path / "t.jsonl", before=names, force=True) == 1
        assert '"qseqid": "a"' in (tmp_path / "t.jsonl").read_text()


@pytest.mark.parametrize("rows", ["", "MKV\n"])
def test_a_name_in_a_command_line_is_refused_with_its_line(rows, tmp_path):
    """Also where there is no hit."""
    table = tmp_path / "x.tsv"
    table.write_text(f"# DIAMOND v2\n# Invocation: diamond blastp -f 6 qseq000\n{rows}")
    with pytest.raises(InputError, match=r"x\.tsv:2: unknown field 'qseq000'; did you mean qseq\?"):
        convert(table, tmp_path / "x.json")


NAMED = "qseqid{0}sseqid{0}evalue\n{1}q{1}{0}t{0}1.5e-20\n"
TWELVE = "q{0}t{0}98{2}5{0}8{0}0{0}0{0}1{0}8{0}1{0}8{0}1{2}5e-20{0}17{2}7\n"
SEPARATORS = {
    ";": ("semicolons", "with tabs between the columns"),
    "|": ("bars", "with tabs between the columns"),
    " ": ("spaces", "with tabs between the columns"),
    ",": ("commas", "`before=10`"),
    "\t": ("tabs", "`before=6`"),
}


@pytest.mark.parametrize("text", [NAMED, TWELVE, "\ufeff" + NAMED.replace("\n", "\r\n")])
@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_a_table_with_another_separator_is_named_with_the_remedy(tmp_path, name, separator, text):
    """Such as the CSV of Excel where numbers have decimal commas."""
    own, number = {"x.csv": (",", 10), "x.tsv": ("\t", 6)}[name]
    if separator == own:
        return
    mark = "," if separator == ";" else "."
    (tmp_path / name).write_bytes(text.format(separator, "", mark).encode())
    called, remedy = SEPARATORS[separator]
    words = rf"{name}:1: the columns are separated by {called}.*{re.escape(remedy)}"
    for read in (lambda: convert(tmp_path / name, tmp_path / "y.jsonl"),
                 lambda: convert(tmp_path / name, tmp_path / "y.html"),
                 lambda: read_hits(tmp_path / name, f"{number} std score")):  # fmt: skip
        with pytest.raises(InputError, match=words):
            read()


def test_other_separators_within_values_are_none(tmp_path):
    """Titles have blanks, and lists of taxonomy ids have semicolons."""
    (tmp_path / "x.tsv").write_text("q\tsome kind of protein, perhaps\t9606;10090;7227;562\n")
    with pytest.raises(InputError, match=r"x\.tsv:1: 3 values, but BLAST's standard fields"):
        convert(tmp_path / "x.tsv", tmp_path / "y.jsonl")
    assert convert(tmp_path / "x.tsv", tmp_path / "y.csv", before="6 qseqid stitle staxids") == 1


def test_decimal_commas_are_named(tmp_path):
    """As spreadsheets write them in many languages."""
    (tmp_path / "x.tsv").write_text("qseqid\tevalue\nq\t1,5e-20\n")
    words = r"x\.tsv:2: evalue is '1,5e-20', not a number; write decimal points"
    with pytest.raises(InputError, match=words):
        convert(tmp_path / "x.tsv", tmp_path / "y.jsonl")


def test_the_line_that_names_excels_separator_is_named(tmp_path):
    """It is none of the table."""
    for separator in ",;":
        (tmp_path / "x.csv").write_text(f"sep={separator}\nqseqid{separator}score\nq{separator}1\n")
        with pytest.raises(InputError, match=r"x\.csv:1: .*'sep=.' is Excel's: delete this line"):
            convert(tmp_path / "x.csv", tmp_path / "y.jsonl")


@pytest.mark.parametrize(
    ("names", "unknown"),
    [
        ("qseqid pident evaluee", r"'evaluee'; did you mean evalue"),
        ("Query Subject evalue", r"'Query'; did you mean query"),
        (
            "query subject length mismatch gapopen qstart qend sstart send evalue bits x",
            "'subject'",
        ),
    ],
)
def test_an_unknown_name_in_the_first_line_is_named(tmp_path, names, unknown):
    """It is no row, whatever the number of columns."""
    numbers = "\t".join("1" for _ in names.split())
    (tmp_path / "x.tsv").write_text("\t".join(names.split()) + f"\n{numbers}\n")
    for read in (lambda: convert(tmp_path / "x.tsv", tmp_path / "y.csv"),
                 lambda: read_hits(tmp_path / "x.tsv")):  # fmt: skip
        with pytest.raises(InputError, match=rf"x\.tsv:1: unknown field {unknown}"):
            read()


def test_a_comment_may_name_columns_as_options_do(tmp_path, caplog):
    """With our names, and with others, which are named."""
    comments = (
        "# BLASTP 2.12.0+\n# Query: q\n# Database: d\n# Fields: qseqid, sseqid, foo, evalue\n"
    )
    (tmp_path / "x.tsv").write_text(comments + "# 1 hits found\nq\tt\t3\t1e-5\n")
    assert convert(tmp_path / "x.tsv", tmp_path / "y.csv") == 1
    assert (tmp_path / "y.csv").read_text() == "qseqid,sseqid,evalue\nq,t,1.00e-05\n"
    assert "no field for the column 'foo'" in caplog.text
