"""Options that take a part of queries: hits are those of the part, places those of the whole."""

from __future__ import annotations

import io
import json
import re

import pytest
from Bio import SearchIO
from support.genes import COMPLEMENTS, random_genes, random_proteins

import swdual
from swdual.errors import InputError

FIELDS = (
    "qseqid sseqid score bitscore evalue pident length qlen qcovhsp qcovs qseq sseq btop "
    "full_qseq sstart send sframe qtitle qnum"
)
FIRST, LAST = 12, 90

PROTEINS = random_proteins(5, 8, longest=120)
GENES = random_genes(6, PROTEINS)
"""Nucleotides, each with its protein in one of six frames."""

CASES = {
    "blastp": (PROTEINS, PROTEINS, {}),
    "blastp, several alignments": (PROTEINS, PROTEINS, {"max_hsps": 3}),
    "blastp, masked": (PROTEINS, PROTEINS, {"mask": "seg:6,2.9,3.4", "comp_based_stats": 0}),
    "blastp, fitted": (PROTEINS, PROTEINS, {"stats": "fit"}),
    "blastn": (GENES, GENES, {"task": "blastn"}),
    "blastn, minus": (GENES, GENES, {"task": "blastn", "strand": "minus"}),
    "blastx": (GENES, PROTEINS, {"task": "blastx"}),
    "blastx, several alignments": (GENES, PROTEINS, {"task": "blastx", "max_hsps": 3}),
    "blastx, frameshifts": (GENES, PROTEINS, {"task": "blastx", "frameshift": 12}),
    "tblastn": (PROTEINS, GENES, {"task": "tblastn"}),
    "tblastx": (GENES, GENES, {"task": "tblastx"}),
}


def frame_of_whole(frame, length):
    """Return the frame that the same bases have in the whole query, from its definition."""
    if frame > 0:  # the first base of a codon is in place frame, frame + 3, ... of the part
        return (frame - 1 + FIRST - 1) % 3 + 1
    return -((-frame - 1 + length - min(length, LAST)) % 3 + 1) if frame else 0


@pytest.mark.parametrize("case", CASES)
def test_the_hits_are_those_of_the_part_and_the_places_those_of_the_whole(case):
    queries, targets, options = CASES[case]
    queries = {name: x for name, x in queries.items() if len(x) > FIRST + 3}
    parts = {name: letters[FIRST - 1 : LAST] for name, letters in queries.items()}
    options = {**options, "evalue": 1e4, "device": "cpu"}
    of_parts = swdual.search(parts, targets, **options)
    found = swdual.search(queries, targets, query_loc=f"{FIRST}-{LAST}", **options)
    shown = (FIELDS, "qstart", "qend", "qframe")
    rows = [table(results, " ".join(shown)) for results in (of_parts, found)]
    assert len(rows[0]) > 20
    translated = options.get("task") in ("blastx", "tblastx")
    for row in rows[0]:
        row["qstart"] += FIRST - 1
        row["qend"] += FIRST - 1
        if translated:
            row["qframe"] = frame_of_whole(row["qframe"], len(queries[row["qseqid"]]))
    assert rows[1] == rows[0]
    for row in rows[1][:200]:
        own = cut(queries[row["qseqid"]], row["qstart"], row["qend"])
        if not translated:
            assert row["qseq"].replace("-", "").upper() == own
        elif not options.get("frameshift"):
            assert len(own) == 3 * len(row["qseq"].replace("-", ""))
            forwards = row["qstart"] <= row["qend"]
            before = row["qstart"] - 1 if forwards else len(queries[row["qseqid"]]) - row["qstart"]
            assert row["qframe"] == (before % 3 + 1) * (1 if forwards else -1)


def cut(letters, first, last):
    """Return a part of a sequence, on the other strand if it ends before it begins."""
    if first <= last:
        return letters[first - 1 : last]
    return letters[last - 1 : first].translate(COMPLEMENTS)[::-1]


def table(results, fields):
    """Return the hits of some results, or their alignments, as mappings."""
    return results.to_arrow(fields).to_pylist()


GENE = (
    "GTCATCCAGGACTGGCAGGTGGTGGTGGTCTGGAAGAACGTCTGGGTCTGATTGAAGTTCAAGCTCCGATTCTGTCTCGTGTTGGTGATGGTACC"
    "CAAGATAATCTGTCTGGTGCTGAAAAAGCTGTTCAAGTTAAAGTTAAAGCTCTGCCGGATGCTCAATTTGAAGTTGTTCATTCTCTGGCTAAATG"
    "GATATTCAGGTCATCCGTAGACA"
)
PROTEIN = "GGGGLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVVHSLAKW"
LONGER = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVVHSLAKWKRQT"
BLAST = {
    ("protein", "31-60", "blastp"): """
q1 t1 100.000 30 0 0 31 60 13 42 1.91e-20 60.5 30 100
""",
    ("protein", "12-90", "blastp"): """
q1 t1 100.000 54 0 0 23 76 5 58 4.14e-39 109 69 78
""",
    ("gene", "32-150", "blastx"): """
g t1 100.000 39 0 0 33 149 6 44 1.05e-26 77.0 119 98 3
r t1 100.000 39 0 0 148 32 17 55 5.45e-28 80.1 119 98 -3
""",
    ("gene", "33-148", "blastx"): """
g t1 100.000 38 0 0 33 146 6 43 4.76e-26 75.1 116 98 3
r t1 100.000 38 0 0 148 35 17 54 2.45e-27 78.6 116 98 -3
""",
    ("gene", "32-150", "blastn"): """
g m 100.000 119 0 0 32 150 2 120 1.82e-61 215 119 100
r m 100.000 119 0 0 32 150 152 34 1.82e-61 215 119 100
""",
}
"""What BLAST+ 2.12.0 prints with ``-query_loc``; blastx with ``-seg no``, blastn with ``-dust no``.

Of the second, `qlen` is 79 and `qcovs` 68 there: BLAST counts letters that the query does not have.
"""


@pytest.fixture
def files(here):
    backwards = GENE.translate(COMPLEMENTS)[::-1]
    (here / "protein").write_text(f">q1\n{LONGER}\n>short\nMKTAY\n")
    (here / "gene").write_text(f">g\n{GENE}\n>r\n{backwards}\n")
    (here / "blastp").write_text(f">t1\n{PROTEIN}\n")
    (here / "blastx").write_text(f">t1\n{PROTEIN}\n")
    (here / "blastn").write_text(f">m\n{GENE[30:200]}\n")
    return here


@pytest.mark.parametrize("case", BLAST)
@pytest.mark.usefixtures("files")
def test_rows_are_those_of_blast(run, case):
    query, part, task = case
    fields = f"6 std qlen qcovs{' qframe' * (task == 'blastx')}"
    words = ("-task", task, "--mask", "none", "-query_loc", part, "-outfmt", fields)
    outcome = run("search", "-query", query, "-db", task, *words)
    assert outcome.out.replace("\t", " ") == BLAST[case].lstrip()
    left_out = "-query_loc is '{}', but 1 query ends before letter {}; left out: short\n"
    if query == "protein":
        assert left_out.format(part, part.partition("-")[0]) in outcome.err


@pytest.mark.usefixtures("files")
def test_all_formats_tell_places_of_the_whole_query(run):
    def written(form, query="protein", db="blastp", part="31-60"):
        return run("search", query, db, "--query-loc", part, "-f", form).out

    paf = written("paf").split("\t")
    assert paf[:4] == ["q1", str(len(LONGER)), "30", "60"]
    pairwise = written("0")
    assert f"\nLength={len(LONGER)}\n" in pairwise
    assert re.search(r"Query  31 +EVQ[A-Z]+  60\n", pairwise)
    (hsp,) = next(SearchIO.parse(io.StringIO(written("xml")), "blast-xml"))[0]
    assert (hsp.query_start, hsp.query_end) == (30, 60)
    lines = written("sam", "gene", "blastn", "32-150").splitlines()
    reads = [line.split("\t") for line in lines if not line.startswith("@")]
    assert [read[5] for read in reads] == ["31H119M63H", "63H119M31H"]
    assert {len(read[9]) for read in reads} == {119}
    lines = written("sam", "gene", "blastn", "20-").splitlines()
    assert lines[-2].split("\t")[5] == "19H11S170M13S"
    assert re.search(r"Query  149 +[A-Z]+  33\n", written("0", "gene", "blastx", "32-150")) is None
    assert " Frame = -3\n" in written("0", "gene", "blastx", "32-150")


def test_objects_tell_places_of_the_whole_query(tmp_path):
    results = swdual.search({"q1": LONGER}, {"t1": PROTEIN}, query_loc="23-", device="cpu")
    hit = results[0][0]
    assert (hit.query_start, hit.query_end) == (22, 76)
    alignment = hit.alignment
    assert (alignment.query_start, alignment.query_end) == (22, 76)
    assert LONGER[22:76] == alignment.rows[0] == PROTEIN[4:]
    assert next(alignment.lines())[:2] == (23, 76)
    assert hit.query_coverage == alignment.query_coverage == 54 / 58
    assert str(results[0].query) == LONGER[22:]
    (hsp,) = results[0].to_searchio()[0]
    assert (hsp.query_start, hsp.query_end) == (22, 76)
    assert str(alignment.to_biopython()[1]) == alignment.rows[0]
    assert results.to_pandas().qstart.tolist() == [23]
    swdual.MultipleAlignment.from_hits(results[0]).write(tmp_path / "x.a3m")
    lines = (tmp_path / "x.a3m").read_text().splitlines()
    assert lines[1::2] == [LONGER[22:], f"{PROTEIN[4:]}----"]


def test_rounds_tell_places_of_the_whole_query():
    """The second round searches with a profile of the part."""
    targets = {"t1": PROTEIN, "t2": PROTEIN[:40]}
    rounds = [*swdual.iterate({"q1": LONGER}, targets, query_loc="23-70")]
    assert len(rounds) == 2
    for each in rounds:
        rows = table(each.results, "sseqid qstart qend qseq first_qstart first_qend")
        assert [row["sseqid"] for row in rows] == ["t1", "t2"]
        assert (rows[0]["first_qstart"], rows[0]["first_qend"]) == (23, 70)
        for row in rows:
            assert cut(LONGER, row["qstart"], row["qend"]) == row["qseq"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("3-2", "`query_loc`: '3-2' is not FIRST-LAST, such as 10-50, or 10- (up to the end)"),
        ("0-2", "`query_loc`: '0-2' is not FIRST-LAST, such as 10-50, or 10- (up to the end)"),
        ("7", "`query_loc`: '7' is not FIRST-LAST, such as 10-50, or 10- (up to the end)"),
        ((3, 4), "`query_loc` is (3, 4), but it must be text, such as '10-50'"),
        ("90-", "`query_loc` is '90-', but 1 query ends before letter 90: q1"),
    ],
)
def test_what_is_no_part_is_refused(value, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        swdual.search({"q1": LONGER}, {"t1": PROTEIN}, query_loc=value)


def test_profiles_and_pairs_have_no_part():
    (last,) = swdual.iterate({"q1": LONGER}, {"t1": PROTEIN}, iterations=1)
    with pytest.raises(InputError, match="takes a part of sequences, not of profiles"):
        swdual.search(last.profiles, {"t1": PROTEIN}, query_loc="3-9")
    with pytest.raises(InputError, match="takes a part of each query"):
        swdual.allpairs({"t1": PROTEIN, "t2": PROTEIN}, query_loc="3-9")


@pytest.mark.parametrize("command", ["search", "iterate"])
def test_another_part_of_the_same_letters_does_not_resume(run, refuses, here, command):
    """Places would be those of the first search."""
    (here / "twice").write_text(f">q\n{PROTEIN}{PROTEIN}\n")
    (here / "part").write_text(f">q\n{PROTEIN}\n")
    (here / "db").write_text(f">t1\n{PROTEIN}\n")
    words, size = (command, "twice", "db", "-o", "x.tsv", "--query-loc"), len(PROTEIN)
    assert run(*words, f"1-{size}").code == 0
    said = f"query-loc 1-{size}, not {size + 1}-{2 * size}"
    refuses(6, [said], *words, f"{size + 1}-{2 * size}", "--resume")
    said = f"query-loc 1-{size}, not none"
    refuses(6, [said], command, "part", "db", "-o", "x.tsv", "--resume")


def test_the_whole_query_tells_its_type():
    """Not a part of few letters, such as the repeats of glycine and alanine in EBNA1."""
    query = LONGER + "GAGGAGGAGGAGGGGAGGAG" * 12 + LONGER
    found = swdual.search({"q": query}, {"t": LONGER}, query_loc="81-320", evalue=1e6)
    assert len(found[0].query) == 240
    with pytest.raises(InputError, match="look like nucleotides"):
        swdual.search({"q": query[80:320]}, {"t": LONGER}, task="blastp")


@pytest.mark.usefixtures("files")
def test_an_audit_and_a_plan_take_the_part(run):
    words = ("protein", "blastp", "--query-loc", "31-60")
    run("search", *words, "-o", "hits.tsv")
    told = json.loads(run("audit", "hits.tsv", *words, "--json").out)
    assert "1 query (letters 31-60)" in run("audit", "hits.tsv", *words).out
    every = told["evalues"][-1]
    assert (every["hits"], every["found"]) == (1, 1)
    plan = run("plan", *words, "--cpus", "1", "--gpus", "0", "--rates", '{"cpu": 1}', "--json").out
    assert json.loads(plan)["cells"] == 30 * len(PROTEIN)
