"""Audits: several tables, cut lists, samples, and what is written of them."""

from __future__ import annotations

import io
import json
import re

import pytest

import swdual
from swdual.auditing.audit import label_tables
from swdual.auditing.findings import COLUMNS
from swdual.errors import InputError
from swdual.io.output import Output

FAMILY = "MKVLAWGGHERWCDEFMKTAYIAKQRQISFVKSHFSRQ"
TARGETS = {
    "all": FAMILY,
    "most": FAMILY[:30],
    "half": FAMILY[:20],
    "part": FAMILY[:5],
    "other": "GGGGGGGGGGGGGGGG",
}
QUERIES = {"q": FAMILY, "far": "PPPPPPPPPPPP"}

HOSTILE = "</script><img/src=x/onerror=window.attacked=1>\"'${x}&lt;b&gt;é"


@pytest.fixture(scope="module")
def exact():
    """The exact hits of the first query: name, E-value and bit score, best first."""
    found = swdual.search(QUERIES, TARGETS, evalue=10, comp_based_stats=0)
    return [(hit.id, hit.evalue, hit.bits) for hit in found["q"]]


def write(path, rows):
    lines = ["qseqid\tsseqid\tevalue\tbitscore", *("\t".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def audit(*tables, queries=QUERIES, targets=TARGETS, **options):
    return swdual.audit(tables, queries, targets, **{"comp_based_stats": 0, "evalue": 10} | options)


def total(found, table=0):
    size = len(found.bins)
    row = found.summary()[(table + 1) * size - 1]
    return row["found"], row["missed"], row["unlisted"]


def test_the_family_has_four_hits(exact):
    assert [name for name, _, _ in exact] == ["all", "most", "half", "part"]


@pytest.mark.parametrize(
    ("kept", "options", "expected"),
    [
        ([], {}, (0, 4, 0)),
        ([0, 1, 2, 3], {}, (4, 0, 0)),
        ([0, 1], {}, (2, 2, 0)),
        ([0, 1], {"max_target_seqs": 2}, (2, 0, 2)),  # cut behind the best two
        ([0, 1], {"max_target_seqs": 3}, (2, 2, 0)),  # not cut: the list is shorter
        ([0, 2], {"max_target_seqs": 2}, (2, 1, 1)),  # "most" is better than the end of the list
        ([3], {"max_target_seqs": 1}, (1, 3, 0)),
        ([], {"max_target_seqs": 1}, (0, 4, 0)),  # an empty list was not cut
    ],
)
def test_a_hit_below_the_end_of_a_cut_list_is_unlisted(tmp_path, exact, kept, options, expected):
    table = write(tmp_path / "x.tsv", [("q", *exact[k]) for k in kept])
    assert total(audit(table, **options)) == expected


def test_limits_that_headers_tell_are_those_of_the_lists(tmp_path, exact):
    """DIAMOND without options: E-values up to 0.001, 25 targets."""
    head = "# DIAMOND v2\n# Invocation: diamond blastp -f 6 qseqid sseqid evalue bitscore {}\n"
    rows = "".join(f"q\t{name}\t{evalue}\t{bits}\n" for name, evalue, bits in exact[:1])
    table = tmp_path / "x.tsv"
    for options, expected in (
        ("", (1, 2, 1)),  # the last hit has a larger E-value than 0.001
        ("-e 10", (1, 3, 0)),
        ("-e 10 -k 1", (1, 0, 3)),
        ("-e 10 --top 10", (1, 0, 3)),
    ):
        table.write_text(head.format(options) + rows)
        assert total(audit(table)) == expected, options
    assert exact[2][1] < 0.001 < exact[3][1]
    assert swdual.audit(table, QUERIES, TARGETS).cutoff == 10
    table.write_text(head.format("") + rows)
    assert swdual.audit(table, QUERIES, TARGETS).cutoff == 0.001


def test_tables_are_told_side_by_side(tmp_path, exact):
    rows = [("q", *hit) for hit in exact]
    found = audit(write(tmp_path / "a.tsv", rows), write(tmp_path / "b.tsv", rows[:1]))
    assert found.labels == ["a.tsv", "b.tsv"]
    assert (total(found), total(found, 1)) == ((4, 0, 0), (1, 3, 0))
    assert re.search(r"(?m)^all +4 +4 of 4, 100\.0 % +1 of 4, 25\.0 %$", str(found))
    columns = found.columns()
    assert tuple(columns) == COLUMNS
    assert columns["verdict"] == ["found"] * 5 + ["missed"] * 3
    assert columns["listed_evalue"] == [each[1] for each in exact] + [exact[0][1]] + [None] * 3


def test_pairs_above_the_cutoff_are_extra_with_their_exact_values(tmp_path, exact):
    name, evalue, bits = exact[3]
    assert evalue > 1e-3
    table = write(tmp_path / "x.tsv", [("q", name, 1e-9, 60.0), ("q", "other", 1e-9, 60.0)])
    found = audit(table, evalue=1e-3)
    extra = found.tables[0].comparison.extra
    assert found.measures()[0]["extra"] == 2
    columns = found.columns()
    assert columns["verdict"] == ["missed"] * 3 + ["extra"] * 2
    at = columns["target"].index(name, 3)
    assert columns["evalue"][at] == pytest.approx(evalue)
    assert columns["bits"][at] == pytest.approx(bits)
    assert len(extra) == 2


def test_a_pair_that_is_listed_twice_counts_once(tmp_path, exact):
    name, evalue, bits = exact[1]
    rows = [("q", name, 1.0, 12.0), ("q", name, evalue, bits), ("q", *exact[0])]
    found = audit(write(tmp_path / "x.tsv", rows))
    measures = found.measures()[0]
    assert total(found) == (2, 2, 0)
    assert (measures["lower"], measures["higher"]) == (0, 0)
    assert (measures["disorder"], measures["comparable"]) == (1, 1)
    assert measures["tops"] == {"same": 0, "other": 1, "none": 0}


def test_a_query_without_hits_has_no_top(tmp_path):
    found = audit(write(tmp_path / "x.tsv", []))
    assert found.measures()[0]["tops"] == {"same": 0, "other": 0, "none": 1}
    assert "2 of 2 queries have no row" in found.tables[0].remarks[0]


def test_a_sample_of_all_is_the_whole(tmp_path, exact):
    table = write(tmp_path / "x.tsv", [("q", *hit) for hit in exact[:3]])
    whole = audit(table).summary()
    for options in ({"sample": 2}, {"sample_pairs": 10}):
        rows = audit(table, **options).summary()
        for row in rows:
            assert row.pop("low") == row.pop("high") == row["share"]
        assert rows == whole


def test_a_sample_is_drawn_by_its_seed(tmp_path, exact):
    table = write(tmp_path / "x.tsv", [("q", *hit) for hit in exact])
    queries = QUERIES | {f"q{k}": FAMILY[k:] for k in range(8)}
    drawn = [audit(table, queries=queries, sample=3, seed=k).queries.tolist() for k in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert all(len(numbers) == 3 for numbers in drawn)
    found = audit(table, queries=queries, sample_pairs=20, seed=5)
    assert 0 < len(found.truth) < 20
    assert "20 random pairs of 50, seed 5" in str(found)
    assert found.measures()[0]["tops"] is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sample": 3}, "`sample` is 3, but there are 2 queries"),
        ({"sample": 0}, "`sample` is 0"),
        ({"sample_pairs": 11}, "`sample_pairs` is 11, but there are 10 pairs"),
        ({"sample": 1, "sample_pairs": 1}, "exclude each other"),
        ({"evalue": 0}, "`evalue` is 0"),
        ({"stats": "none"}, "`stats='none'`"),
        ({"sample_pairs": 1, "stats": "fit"}, "use `sample`"),
        ({"max_target_seqs": "x"}, "`max_target_seqs` is 'x'"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, options, words):
    table = write(tmp_path / "x.tsv", [])
    with pytest.raises(InputError) as error:
        audit(table, **options)
    assert words in str(error.value)


def test_options_that_an_audit_sets_itself_are_refused(tmp_path):
    with pytest.raises(TypeError, match="no option 'top'"):
        audit(write(tmp_path / "x.tsv", []), top=3)
    with pytest.raises(InputError, match="no table"):
        audit()


def test_headers_that_contradict_each_other_are_refused(tmp_path):
    for name, matrix in (("a", "BLOSUM45"), ("b", "BLOSUM80")):
        (tmp_path / f"{name}.tsv").write_text(
            f"# DIAMOND v2\n# Invocation: diamond blastp --matrix {matrix}\n"
        )
    tables = [tmp_path / "a.tsv", tmp_path / "b.tsv"]
    with pytest.raises(InputError, match="different values of `matrix`: BLOSUM45, BLOSUM80"):
        audit(*tables)
    assert "BLOSUM45" in audit(tables[0]).facts["scoring"]
    assert "PAM70" in audit(*tables, matrix="PAM70").facts["scoring"]


def test_remarks_say_what_a_table_without_header_may_hide(tmp_path, exact):
    queries = {f"q{k}": FAMILY for k in range(4)}
    rows = [(f"q{k}", *hit) for k in range(4) for hit in exact[:2]]
    remarks = " ".join(audit(write(tmp_path / "x.tsv", rows), queries=queries).tables[0].remarks)
    assert "4 lists have 2 targets" in remarks
    assert "--max-target-seqs 2" in remarks
    assert "give it as --evalue" in remarks


def test_nucleotides_are_audited_too(tmp_path):
    gene = "ACGTTGCATGCCATGCAATCGGCTAAGCTTACGGATCCATTGCAGT"
    table = write(tmp_path / "x.tsv", [("g", "same", 1e-20, 80.0)])
    found = swdual.audit(table, {"g": gene}, {"same": gene, "near": gene[:40], "no": "A" * 50})
    assert total(found) == (1, 1, 0)


def page_of(found, outfmt):
    stream = io.BytesIO()
    found.write(Output(stream, "memory"), outfmt)
    return stream.getvalue().decode()


@pytest.fixture
def hostile(tmp_path):
    """An audit whose names and header are hostile."""
    table = tmp_path / "'${x}<b>.tsv"
    table.write_text(
        f"# DIAMOND v2 {HOSTILE}\n# Invocation: diamond blastp -f 6 qseqid sseqid --x {HOSTILE}\n"
        f"{HOSTILE}\t{HOSTILE}2\n"
    )
    targets = [(f"{HOSTILE}{k} \x1b[31m", FAMILY[:20]) for k in (1, 2)]
    return audit(table, queries=[(HOSTILE, FAMILY)], targets=targets, evalue=1)


def test_hostile_names_are_text_everywhere(hostile):
    assert total(hostile) == (1, 1, 0)
    page = page_of(hostile, "html")
    assert "<img" not in page
    assert page.count("<script") == 2
    assert "<img" not in hostile._repr_html_()
    for outfmt in ("text", "tsv", "json"):
        assert "\x1b" not in page_of(hostile, outfmt)
    data = json.loads(re.search(r'id="data-hits">(.*?)</script>', page)[1])
    assert data["columns"]["query"] == [HOSTILE]


def test_every_format_tells_the_same(tmp_path, exact):
    table = write(tmp_path / "x.tsv", [("q", *exact[0]), ("q", *exact[2])])
    found = audit(table)
    told = json.loads(page_of(found, "json"))
    assert told["evalues"] == found.summary()
    assert told["measures"] == found.measures()
    assert (told["truth"]["hits"], told["tables"][0]["table"]) == (4, "x.tsv")
    head, *lines = page_of(found, "tsv").splitlines()
    assert head.split("\t") == [*COLUMNS]
    assert [line.split("\t")[3] for line in lines] == found.columns()["verdict"]
    assert lines[1].split("\t")[-1] == "NA"
    for text in (page_of(found, "html"), found._repr_html_(), page_of(found, "text")):
        assert "2 of 4, 50.0 %" in text
    path = tmp_path / "audit.html"
    found.report(path)
    assert path.read_text() == page_of(found, "html")


def test_hits_become_data_frames(tmp_path, exact):
    pytest.importorskip("pandas")
    found = audit(write(tmp_path / "x.tsv", [("q", *exact[0])]))
    frame = found.to_pandas()
    assert frame["verdict"].tolist() == ["found", "missed", "missed", "missed"]
    pytest.importorskip("pyarrow")
    assert found.to_arrow().to_pydict() == found.columns()


def test_labels_of_the_same_name_are_paths():
    assert label_tables(["a/x", "b/x"]) == ["a/x", "b/x"]
