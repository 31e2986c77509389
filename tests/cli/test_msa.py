"""`swdual msa`: multiple alignments in files and folders, for one query, several, or a complex."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from Bio import AlignIO

import swdual
from swdual import Complex
from swdual.multiple_alignment.filters import RowFilters

QUERIES = """>mine of a family
MKVLAWGGHERWCDEFMKTAYIAKQR
>sp|P1|OTHER_HUMAN a name with signs
PWYHHFDECCKWWRNNPYTEDHKLVMF
"""
FAMILY = """>near1 OX=1
MKVLAWGGHERWCDEFMKTAYIAKQR
>near2 OX=2
MKVLSWGGHERWADEFMRTAYIAKNR
>near3 OX=3
MRVLAYGGHDRWCEEFMKTSYIVKQR
>far
GGGGGGGGGGGGGGGGGGGGGGGGGGG
>kin1 OX=1
PWYHHFDECCKWWRNNPYTEDHKLVMY
>kin2 OX=3
PWYHHFDQCCKWWRNDPYTEDHKLVMF
"""
MORE = """>more1 OX=4
MKVLAWGGHERWCDEFLKTAYIAKQR
>more2 OX=1
MKVLAWGGHERWCDEFMKTAYIAKQK
"""


@pytest.fixture
def family(here):
    """One query and two in ``one.fa`` and ``two.fa``, databases in ``f.fa`` and ``more.fa``."""
    (here / "one.fa").write_text("".join(QUERIES.splitlines(keepends=True)[:2]))
    (here / "two.fa").write_text(QUERIES)
    (here / "f.fa").write_text(FAMILY)
    (here / "more.fa").write_text(MORE)
    return here


def names(text):
    """Return the identifiers of rows of a3m."""
    return [line[1:].split()[0] for line in text.splitlines() if line.startswith(">")]


def test_one_query_goes_to_standard_output(run, family):
    """Rows are the hits of the last round, without those that equal an earlier row."""
    outcome = run("msa", "one.fa", "f.fa")
    assert outcome.code == 0, outcome.err
    *_, last = swdual.iterate(family / "one.fa", family / "f.fa", inclusion=1e-3, evalue=1e-3)
    expected = swdual.MultipleAlignment.from_hits(last.results[0]).filter(RowFilters())
    assert (
        names(outcome.out)
        == ["mine", "near3", "near2"]
        == [title.split()[0] for title in expected.titles]
    )
    assert outcome.out.splitlines()[1::2] == [row.decode() for row in expected.rows]
    assert "swdual: mine: 3 rows with the query (2 effective), median depth 3" in outcome.err
    assert "round 2, mine: 3 hits, 3 included, 0 new, 0 lost; converged" in outcome.err


def test_databases_follow_each_other(run, family):
    """Each is searched with the query; equal rows of a later one are left out."""
    outcome = run("msa", "one.fa", "f.fa", "more.fa")
    assert names(outcome.out) == ["mine", "near3", "near2", "more1", "more2"]
    other = run("msa", "one.fa", "more.fa", "f.fa")
    assert names(other.out) == ["mine", "more1", "more2", "near3", "near2"]
    (found,) = swdual.msa("one.fa", "f.fa", "more.fa")
    assert [row.decode() for row in found.rows] == outcome.out.splitlines()[1::2]


def test_several_queries_go_to_a_folder(run, family):
    outcome = run("msa", "two.fa", "f.fa", "-o", "out/", "-f", "stockholm")
    assert outcome.code == 0, outcome.err
    assert sorted(os.listdir("out")) == ["mine.sto", "sp_P1_OTHER_HUMAN.sto"]
    records = AlignIO.read("out/sp_P1_OTHER_HUMAN.sto", "stockholm")
    assert [record.id for record in records] == ["sp|P1|OTHER_HUMAN", "kin1", "kin2"]
    again = run("msa", "two.fa", "f.fa", "-o", "out", "-f", "stockholm")
    assert again.code == 6
    assert "out/mine.sto: exists; use --force" in again.err
    assert run("msa", "two.fa", "f.fa", "-o", "out/", "-f", "stockholm", "--force").code == 0


def test_chains_of_a_complex_are_paired(run, family):
    """By the organisms of header lines; in all formats."""
    outcome = run("msa", "two.fa", "f.fa", "--complex", "-o", "x.a3m")
    assert outcome.code == 0, outcome.err
    lines = (family / "x.a3m").read_text().splitlines()
    assert lines[0] == "#26,27\t1,1"
    paired = [line.split("\t") for line in lines[1::2] if "\t" in line]
    assert [[name.split()[0].lstrip(">") for name in pair] for pair in paired] == [
        ["mine", "sp|P1|OTHER_HUMAN"],
        ["near3", "kin2"],
        ["near1", "kin1"],  # near1 equals its query, but is the partner of kin1
    ]
    assert "mine + sp|P1|OTHER_HUMAN: 2 paired rows of 2 organisms" in outcome.err
    alignments = swdual.msa("two.fa", "f.fa")
    Complex.of(alignments).write("y.a3m")
    assert (family / "y.a3m").read_bytes() == (family / "x.a3m").read_bytes()
    assert run("msa", "two.fa", "f.fa", "--complex", "-o", "x.csv").code == 0
    assert {"x_mine.csv", "x_sp_P1_OTHER_HUMAN.csv"} <= {*os.listdir(".")}
    done = run("msa", "two.fa", "f.fa", "--complex", "-o", "x.csv", "--resume")
    assert done.code == 0
    assert "x_mine.csv, x_sp_P1_OTHER_HUMAN.csv are complete: nothing to resume" in done.err
    folder = run("msa", "two.fa", "f.fa", "--complex", "-f", "boltz", "-o", "out/")
    assert "written: out/two_mine.csv, out/two_sp_P1_OTHER_HUMAN.csv" in folder.err
    refused = run("msa", "two.fa", "f.fa", "--complex", "-o", "x.csv")
    assert refused.code == 6
    assert "x_mine.csv: exists" in refused.err
    assert "round" not in refused.err  # before the search


def test_an_input_of_alphafold_gets_its_alignments(run, family):
    sequences = QUERIES.splitlines()[1::2]
    entities = [
        {"protein": {"id": ["A", "B"], "sequence": sequences[0]}},
        {"ligand": {"id": "L", "ccdCodes": ["ATP"]}},
        {"protein": {"id": "C", "sequence": sequences[1]}},
    ]
    job = {"name": "x", "modelSeeds": [1], "sequences": entities, "dialect": "alphafold3"}
    (family / "job.json").write_text(json.dumps({**job, "version": 3}))
    outcome = run("msa", "job.json", "f.fa", "-o", "filled.json")
    assert outcome.code == 0, outcome.err
    filled = json.loads((family / "filled.json").read_text())
    assert filled["version"] == 3
    assert filled["sequences"][1] == entities[1]
    first, other = (filled["sequences"][k]["protein"] for k in (0, 2))
    assert (first["id"], first["pairedMsa"]) == (["A", "B"], "")
    assert names(first["unpairedMsa"]) == ["A", "near3", "near1", "near2"]
    assert names(other["unpairedMsa"]) == ["C", "kin2", "kin1"]
    assert run("msa", "job.json", "f.fa", "-o", "filled.a3m").code == 0
    assert (family / "filled.a3m").read_text().startswith("#26,27\t2,1\n>A")
    assert run("msa", "job.json", "f.fa", "-o", "filled/").code == 0
    assert (family / "filled" / "job.json").read_bytes() == (family / "filled.json").read_bytes()
    part = run("msa", "job.json", "f.fa", "-o", "part.json", "--query-loc", "2-20")
    assert part.code == 1
    assert "leave out --query-loc" in part.err
    refused = run("msa", "job.json", "f.fa", "-o", "job.json", "--force")
    assert refused.code == 6
    assert "is also an input" in refused.err


def test_chains_without_organisms_are_not_paired(run, family):
    """A warning says so; equal names have files of their own."""
    (family / "bare.fa").write_text(re.sub(" OX=[0-9]", "", FAMILY))
    (family / "same.fa").write_text(re.sub(">.*", ">q", QUERIES))
    outcome = run("msa", "same.fa", "bare.fa", "--complex", "-o", "x.csv")
    assert outcome.code == 0
    assert "warning: q + q: no rows are paired, because no header tells" in outcome.err
    texts = [(family / name).read_text() for name in ("x_q.csv", "x_q.2.csv")]
    assert [text.splitlines()[1] for text in texts] == [
        f"0,{sequence}" for sequence in QUERIES.splitlines()[1::2]
    ]


def test_a_stop_at_the_end_gets_no_column(run, family):
    """Nor does it in rows whose alignment goes over it."""
    for name in ("one", "f"):
        text = (family / f"{name}.fa").read_text()
        (family / f"{name}_stop.fa").write_text(re.sub("([A-Z])\n", "\\1*\n", text))
    plain = run("msa", "one.fa", "f.fa")
    assert run("msa", "one_stop.fa", "f.fa").out == plain.out
    assert run("msa", "one_stop.fa", "f_stop.fa").out == plain.out


def test_all_databases_are_checked_before_the_first_is_searched(run, family):
    (family / "nt.fa").write_text(">n\n" + "ACGT" * 30 + "\n")
    outcome = run("msa", "one.fa", "f.fa", "nt.fa", "-o", "x.a3m")
    assert outcome.code == 1
    assert "nt.fa" in outcome.err
    assert "round" not in outcome.err
    assert not [name for name in os.listdir(".") if name.startswith("x.a3m")]


def test_another_input_of_alphafold_is_another_search(run, family):
    """Its proteins may be the same ones: the output has all of the input."""
    protein = {"protein": {"id": "A", "sequence": QUERIES.splitlines()[1]}}
    job = {"name": "x", "modelSeeds": [1], "sequences": [protein], "dialect": "alphafold3"}
    (family / "job.json").write_text(json.dumps(job))
    arguments = ["msa", "job.json", "f.fa", "-o", "o.json", "--resume"]
    assert run(*arguments).code == 0
    assert "nothing to resume" in run(*arguments).err
    (family / "job.json").write_text(json.dumps({**job, "modelSeeds": [2]}))
    other = run(*arguments)
    assert (other.code, "input" in other.err) == (6, True)
    for ids, sequence in (([], "MKV"), ([1], "MKV"), ("A", "MKV*"), ("A", "MK V")):
        wrong = {"protein": {"id": ids, "sequence": sequence}}
        (family / "wrong.json").write_text(json.dumps({**job, "sequences": [wrong]}))
        refused = run("msa", "wrong.json", "f.fa")
        assert refused.code == 1
        assert "wrong.json: is no input of AlphaFold 3" in refused.err


def test_files_for_each_chain_need_a_name(refuses, run, family):
    words = ["boltz has a file for each chain: name the output"]
    refuses(1, words, "msa", "two.fa", "f.fa", "--complex", "-f", "boltz")
    assert [name for name in os.listdir(".") if "mine" in name] == []
    (family / "-").write_text("a file of this name is no standard output")
    assert names(run("msa", "one.fa", "f.fa").out)[0] == "mine"


def test_an_output_without_ending_is_replaced(run, family):
    """A complex in a3m begins with its lengths."""
    arguments = ["msa", "two.fa", "f.fa", "--complex", "-o", "cx", "--force"]
    assert run(*arguments).code == 0
    assert run(*arguments).code == 0
    (family / "cx").write_text("#!/bin/sh\n>cx\n")
    assert run(*arguments).code == 6


def test_a_query_of_stops_has_no_hits(run, family):
    """Others have; and a folder of the user stays, though an error leaves it empty."""
    (family / "stops.fa").write_text(QUERIES + ">none\n**\n")
    assert run("msa", "stops.fa", "f.fa", "-o", "out/").code == 0
    assert (family / "out" / "none.a3m").read_text() == ">none\nXX\n"
    assert (family / "out" / "mine.a3m").read_text() == run("msa", "one.fa", "f.fa").out
    os.mkdir("mine")
    assert run("msa", "two.fa", "gone.fa", "-o", "mine").code == 2
    assert os.listdir("mine") == []


@pytest.mark.process
def test_standard_input_can_be_given_with_resume(family):
    command = [sys.executable, "-m", "swdual", "msa", "-", "f.fa", "-o", "x.a3m", "--resume"]
    for _ in range(2):
        done = subprocess.run(
            command, input=QUERIES[:45], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert "x.a3m is complete" in done.stderr


def test_equal_names_have_files_of_their_own(run, family):
    records = zip(("a", "a", "a.2"), QUERIES.splitlines()[1::2] * 2, strict=False)
    (family / "same.fa").write_text("".join(f">{name}\n{text}\n" for name, text in records))
    assert run("msa", "same.fa", "f.fa", "-o", "out/").code == 0
    assert sorted(os.listdir("out")) == ["a.2.2.a3m", "a.2.a3m", "a.a3m"]


def test_a_complete_folder_is_not_made_again(run, family):
    """All files must be there, and of this search."""
    arguments = ["msa", "two.fa", "f.fa", "-o", "out/", "--resume"]
    assert run(*arguments).code == 0
    again = run(*arguments)
    assert (again.code, "nothing to resume" in again.err) == (0, True)
    assert run(*arguments, "--depth", "1").code == 6
    os.remove("out/mine.a3m")
    assert run(*arguments).code == 6


def test_rows_are_filtered(run, family):
    """With hhfilter's names, too."""
    assert names(run("msa", "one.fa", "f.fa", "--depth", "1").out) == ["mine", "near3"]
    few = run("msa", "one.fa", "f.fa", "-id", "80")
    assert names(few.out) == names(run("msa", "one.fa", "f.fa", "--row-identity", "80").out)
    assert len(names(few.out)) == 2
    assert names(run("msa", "one.fa", "f.fa", "-qid", "90").out) == ["mine"]
    assert run("msa", "one.fa", "f.fa", "-cov", "101").code == 1
    said = run("msa", "one.fa", "f.fa", "--coverage", "0.8").err
    assert (
        "--coverage is 0.8 %; it is a percentage, so that 80 stands for a fraction of 0.8" in said
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["one.fa"], 1, ["Name a file of queries and one database or several."]),
        (["two.fa", "f.fa"], 1, ["There are 2 queries: name a folder with -o", "--complex"]),
        (["two.fa", "f.fa", "-o", "x.a3m"], 1, ["There are 2 queries"]),
        (["one.fa", "f.fa", "-o", "x.pdb"], 1, ["x.pdb: no format", ".a3m", ".sto"]),
        (["one.fa", "f.fa", "-f", "a2m"], 1, ["a3m"]),
        (["one.fa", "gone.fa"], 2, ["gone.fa"]),
        (["one.fa", "gone.fa", "-o", "new/"], 2, ["gone.fa"]),
        (["one.fa", "f.fa", "-o", "new/x.a3m"], 6, ["error: new/x.a3m: cannot be written"]),
        (["gone.json", "f.fa"], 1, ["error: gone.json: cannot be opened"]),
        (["one.fa", "f.fa", "--stats", "none"], 1, ["--stats none"]),
        (["q.fa", "f.fa", "--iterations", "-1"], 1, ["--iterations"]),
    ],
)
def test_mistakes_are_told(refuses, family, arguments, code, words):
    refuses(code, words, "msa", *arguments)


def test_threads_change_nothing(run, family):
    outputs = {run("msa", "one.fa", "f.fa", "more.fa", "--threads", str(n)).out for n in (1, 2, 5)}
    assert len(outputs) == 1


def test_a_complete_output_is_not_made_again(run, family):
    arguments = ["msa", "one.fa", "f.fa", "more.fa", "-o", "x.a3m", "--resume"]
    assert run(*arguments).code == 0
    again = run(*arguments)
    assert again.code == 0
    assert "x.a3m is complete: nothing to resume" in again.err
    other = run(*arguments, "--depth", "1")
    assert other.code == 6
    assert "depth" in other.err


@pytest.mark.process
def test_a_killed_search_goes_on_to_the_same_bytes(family):
    """Killed in the search of the second database; the rounds of the first are not done again."""
    database = swdual.makedb(family / "f.fa", family / "f.db")
    del database
    targets = "".join(
        f">t{k} OX={k}\n{'MKVLAWGGHERWCDEFMKTAYIAKQR' * 40}{'ACDEFGHIKLMNPQRSTVWY' * (k % 7)}\n"
        for k in range(3000)
    )
    (family / "big.fa").write_text(targets)
    command = [sys.executable, "-m", "swdual", "msa", "one.fa", "f.db", "big.fa", "-o", "x.a3m"]
    whole = [*command[:-1], "whole.a3m"]
    subprocess.run(whole, check=True, capture_output=True)
    process = subprocess.Popen([*command, "--resume"], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "round 2" in line and "converged" in line:
            break
    journal = family / "x.a3m.journal"
    before = journal.stat().st_size
    while process.poll() is None and journal.exists() and journal.stat().st_size == before:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (family / "x.a3m").read_bytes() == (family / "whole.a3m").read_bytes()
    assert not journal.exists()
