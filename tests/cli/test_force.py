"""Which files outputs replace, for every command that writes one and every kind of target."""

from __future__ import annotations

import os
from typing import NamedTuple

import pytest

import swdual
from swdual.cli import COMMANDS
from swdual.errors import OutputError

TEXT = {
    "script": b"#!/bin/sh\nls -l\n",
    "notes": b"to do today\nread, and write\n",
    "sqlite": b"SQLite format 3\0\x10\0",
    "fastq": b"@r1\nACGT\n+\nIIII\n",
    "fasta": b">mine\nMKVLAW\n",
    "table": b"a\tb\tc\n1\t2\t3\n",
    "database": b"SWDUALDB not complete",
}
"""How files of some kinds begin."""

ALIKE = {
    "search": ("table",),
    "json": (),
    "pairwise": (),
    "gzip": ("table",),
    "trace": (),
    "allpairs": ("table",),
    "cluster": ("table",),
    "representatives": ("fasta",),
    "iterate": ("table",),
    "msa": ("fasta",),
    "out-pssm": (),
    "out-ascii-pssm": (),
    "makedb": ("database",),
    "extract": ("fasta",),
    "mask": ("fasta",),
    "interval": (),
    "bed": ("table",),
    "convert": ("table",),
    "audit": (),
    "audit-tsv": ("table",),
    "align": (),
    "synth": ("fasta",),
    "jobs-out": ("table",),
    "comparison-out": ("table",),
}
"""Which of them an output is of the kind of, where the name does not say it."""


class Writer(NamedTuple):
    """A command that writes a file: the name of the file, its input, and the arguments."""

    out: str
    source: str
    arguments: tuple[str, ...]


FAST = ("--threads", "1", "--stats", "none", "--no-progress")

SIMULATE = ("simulate", "jobs.swf", "--policy", "fcfs", "--no-progress")

WRITERS = {
    "search": Writer("new", "q.fa", ("search", "q.fa", "t.fa", "-o", "new", *FAST)),
    "json": Writer("new", "t.fa", ("search", "q.fa", "t.fa", "-f", "json", "-o", "new", *FAST)),
    "pairwise": Writer("new", "q.fa", ("search", "q.fa", "t.fa", "-f", "0", "-o", "new", *FAST)),
    "gzip": Writer("new.gz", "q.fa", ("search", "q.fa", "t.fa", "-o", "new.gz", *FAST)),
    "trace": Writer("new", "q.fa", ("search", "q.fa", "t.fa", "--trace", "new", *FAST)),
    "gantt": Writer("new.svg", "q.fa", ("search", "q.fa", "t.fa", "--gantt", "new.svg", *FAST)),
    "allpairs": Writer("new", "t.fa", ("allpairs", "t.fa", "-o", "new", *FAST)),
    "cluster": Writer(
        "new", "t.fa", ("cluster", "t.fa", "--min-identity", "50", "-o", "new", *FAST)
    ),
    "representatives": Writer(
        "new",
        "t.fa",
        ("cluster", "t.fa", "--min-identity", "50", "--representatives", "new", *FAST),
    ),
    "iterate": Writer("new", "t.fa", ("iterate", "q1.fa", "t.fa", "-o", "new", "--threads", "1")),
    "msa": Writer("new", "q1.fa", ("msa", "q1.fa", "t.fa", "-o", "new", "--threads", "1")),
    "out-pssm": Writer(
        "new", "q1.fa", ("iterate", "q1.fa", "t.fa", "--out-pssm", "new", "--threads", "1")
    ),
    "out-ascii-pssm": Writer(
        "new", "q1.fa", ("iterate", "q1.fa", "t.fa", "--out-ascii-pssm", "new", "--threads", "1")
    ),
    "makedb": Writer("new", "q.fa", ("makedb", "q.fa", "t.fa", "new", "--no-progress")),
    "makedb-shards": Writer(
        "new", "q.fa", ("makedb", "q.fa", "new", "--shards", "2", "--no-progress")
    ),
    "extract": Writer("new", "ids.txt", ("extract", "t.db", "--ids", "ids.txt", "-o", "new")),
    "mask": Writer("new", "t.fa", ("mask", "t.fa", "-o", "new")),
    "interval": Writer("new", "t.fa", ("mask", "t.fa", "-f", "interval", "-o", "new")),
    "bed": Writer("new", "low.fa", ("mask", "low.fa", "-f", "bed", "-o", "new")),
    "convert": Writer("new", "hits.csv", ("convert", "hits.csv", "new", "--to", "6")),
    "audit": Writer(
        "new", "hits.tsv", ("audit", "hits.tsv", "q.fa", "t.fa", "-o", "new", "--threads", "1")
    ),
    "audit-tsv": Writer(
        "new", "t.fa", ("audit", "hits.tsv", "q.fa", "t.fa", "-f", "tsv", "-o", "new")
    ),
    "align": Writer("new", "q1.fa", ("align", "q1.fa", "t.fa", "-o", "new")),
    "plan": Writer(
        "new.svg",
        "rates.json",
        ("plan", "q.fa", "t.fa", "--rates", "rates.json", "--gantt", "new.svg"),
    ),
    "synth": Writer("new", "", ("synth", "5000", "-o", "new")),
    "jobs-out": Writer("new", "jobs.swf", (*SIMULATE, "--jobs-out", "new")),
    "jobs-parquet": Writer("new.parquet", "jobs.swf", (*SIMULATE, "--jobs-out", "new.parquet")),
    "comparison-out": Writer("new", "jobs.swf", (*SIMULATE, "--comparison-out", "new")),
    "workload-out": Writer("new.csv", "jobs.swf", (*SIMULATE, "--workload-out", "new.csv")),
    "report": Writer("new.html", "jobs.swf", (*SIMULATE, "--report", "new.html")),
    "usage": Writer("new.svg", "jobs.swf", (*SIMULATE, "--usage", "new.svg")),
    "distribution": Writer("new.svg", "jobs.swf", (*SIMULATE, "--distribution", "new.svg")),
    "simulate-gantt": Writer("new.svg", "jobs.swf", (*SIMULATE, "--gantt", "new.svg")),
}

WRITE_NO_FILE = {"completion", "info", "list", "mcp", "serve"}


@pytest.fixture
def inputs(here):
    """What the commands read."""
    (here / "q1.fa").write_bytes(b">q1\nMKVLAWGGHERMKVLAWDEF\n")
    (here / "ids.txt").write_text("t1\n")
    (here / "rates.json").write_text('{"cpu": 45}')
    (here / "low.fa").write_text(f">t\n{'A' * 40}\n")
    job = "{0} {0} -1 9 2 -1 -1 2 9 -1 1 1 1 -1 1 -1 -1 -1\n"
    (here / "jobs.swf").write_text(f"; MaxProcs: 4\n{job.format(1)}{job.format(2)}")
    row = "q1,t1,100.000,14,0,0,1,14,1,14,1e-05,30.0\n"
    (here / "hits.csv").write_text(row)
    (here / "hits.tsv").write_text(row.replace(",", "\t"))
    swdual.makedb("t.fa", "t.db").close()
    return here


def test_every_command_that_writes_a_file_is_here():
    assert {each.arguments[0] for each in WRITERS.values()} == {*COMMANDS} - WRITE_NO_FILE


@pytest.fixture
def write(inputs, run):
    """Run one of the commands, which must end well, or say these words and change no file."""

    def call(name, *more, refusal="", code=6):
        before = snapshot(inputs)
        outcome = run(*WRITERS[name].arguments, *more)
        assert "internal error" not in outcome.err
        if refusal:
            assert outcome.code == code, outcome.err
            assert refusal in outcome.err
            assert snapshot(inputs) == before
        else:
            assert outcome.code == 0, outcome.err
        assert not [path for path in inputs.rglob("*.part")]

    return call


def snapshot(folder):
    """Return all files and what they hold, and where links lead."""
    return {
        path: os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("name", WRITERS)
def test_without_force_nothing_is_replaced(write, inputs, name):
    """Neither a file, an empty one, nor the file that a link leads to; a link alone is followed."""
    out, source = inputs / WRITERS[name].out, WRITERS[name].source
    for content in (TEXT["fasta"], b""):
        out.write_bytes(content)
        write(name, refusal=f"{out.name}: exists; use --force to replace it")
    (inputs / "other").mkdir()
    target = inputs / "other" / out.name
    out.unlink()
    out.symlink_to(target)
    target.write_bytes(b"")
    write(name, refusal=f"{out.name}: exists; use --force to replace it")
    target.unlink()
    write(name)
    assert out.is_symlink()
    assert target.stat().st_size
    if source:
        out.unlink()
        out.symlink_to(source)
        write(name, refusal="also an input")


@pytest.mark.parametrize("name", WRITERS)
def test_force_replaces_outputs_and_what_is_empty(write, inputs, name):
    """The same bytes appear again; also behind a link, which stays one."""
    out = inputs / WRITERS[name].out
    write(name)
    content = out.read_bytes()
    assert content
    write(name, "--force")
    out.write_bytes(b"")
    write(name, "--force")
    repeats = name not in ("trace", "gantt", "plan", "report")  # these tell times, or the command
    assert not repeats or out.read_bytes() == content
    (inputs / "other").mkdir()
    kept = inputs / "other" / "kept"
    out.rename(kept)
    out.symlink_to(kept)
    write(name, "--force")
    assert out.is_symlink()
    assert not repeats or kept.read_bytes() == content


@pytest.mark.parametrize("name", ALIKE)
def test_force_replaces_no_other_kind_of_file(write, inputs, name):
    """What a user has under a name that tells nothing, directly or behind a link."""
    out = inputs / WRITERS[name].out
    for kind, content in TEXT.items():
        if kind not in ALIKE[name]:
            out.write_bytes(content)
            write(name, "--force", refusal=f"{out.name}: exists and is not ")
            out.rename(inputs / "kept")
            out.symlink_to("kept")
            write(name, "--force", refusal=f"{out.name}: exists and is not ")
            out.unlink()
    if ALIKE[name]:
        out.write_bytes(TEXT[ALIKE[name][0]])
        write(name, "--force")


@pytest.mark.parametrize("name", [name for name, each in WRITERS.items() if each.source])
def test_force_replaces_no_input(write, inputs, name):
    """Whatever it is called, and through links."""
    out, source = inputs / WRITERS[name].out, WRITERS[name].source
    words = "is also an input"
    out.symlink_to(source)
    write(name, "--force", refusal=words)
    out.unlink()
    out.symlink_to("between")
    (inputs / "between").symlink_to(inputs / source)
    write(name, "--force", refusal=words)
    (inputs / "between").unlink()
    out.unlink()
    os.link(inputs / source, out)
    write(name, "--force", refusal=words)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "force"])
def test_folders_and_links_in_a_circle_are_errors(write, inputs, name, force):
    out = inputs / WRITERS[name].out
    out.symlink_to("again")
    (inputs / "again").symlink_to(out.name)
    write(name, *force, refusal="Too many levels of symbolic links")
    out.unlink()
    out.mkdir()
    by_click = name in (
        *("representatives", "out-pssm", "out-ascii-pssm", "synth"),
        *("extract", "mask", "interval", "bed"),
    )
    words = "folder" if WRITERS[name].arguments[0] == "simulate" else "irectory"
    if name == "msa":  # it writes files into it
        return
    write(name, *force, refusal=words, code=1 if by_click else 6)


def test_a_glob_of_fasta_files_makes_no_database_of_the_last_one(inputs, run):
    """`swdual makedb *.fa --force`: the last word is the database."""
    before = snapshot(inputs)
    outcome = run("makedb", "q.fa", "t.fa", "--force")
    assert outcome.code == 6
    assert "t.fa: exists and is not a database of swdual" in outcome.err
    assert snapshot(inputs) == before


def test_shards_replace_shards_only(inputs, run):
    """The files beside the database, too."""
    (inputs / "new.001").write_bytes(TEXT["fasta"])
    outcome = run("makedb", "q.fa", "new", "--shards", "2", "--force")
    assert outcome.code == 6
    assert "new.001: exists and is not a shard" in outcome.err
    assert (inputs / "new.001").read_bytes() == TEXT["fasta"]
    assert not (inputs / "new").exists()


def simulate_jobs():
    """Return a schedule of the trace."""
    from swdual.scheduling import read_swf, simulate
    from swdual.scheduling.platform import Platform

    return simulate(read_swf("jobs.swf"), Platform(4), "fcfs")


def write_trace(path, **how):
    """Write a trace."""
    from swdual.scheduling import read_swf, write_swf

    write_swf(read_swf("jobs.swf"), path, **how)


def write_alignment(path, **how):
    """Write the hits of a query."""
    swdual.MultipleAlignment.from_hits(swdual.search("q.fa", "t.fa")[0]).write(path, **how)


def convert_table(path, **how):
    """Convert a table."""
    from swdual.results.conversion import convert

    convert("hits.csv", path, after="6", **how)


LIBRARY = {
    "makedb": lambda path, **how: swdual.makedb({"a": "MKV"}, path, **how).close(),
    "write": lambda path, **how: swdual.search("q.fa", "t.fa").write(path, **how),
    "write_fasta": lambda path, **how: swdual.search("q.fa", "t.fa").write_fasta(path, **how),
    "convert": convert_table,
    "clusters": lambda path, **how: swdual.find_clusters("t.fa", min_identity=9).write(path, **how),
    "profile": lambda path, **how: swdual.Profile.from_msa("t.a3m").write(path, "pssm", **how),
    "a3m": write_alignment,
    "audit": lambda path, **how: swdual.audit("hits.tsv", "q.fa", "t.fa").report(path, **how),
    "jobs": lambda path, **how: simulate_jobs().write_jobs(path, **how),
    "swf": write_trace,
}
"""Functions that write a file."""


@pytest.mark.parametrize("name", [*LIBRARY])
def test_functions_of_the_library_replace_no_other_kind_of_file(inputs, name):
    """As the commands do."""
    (inputs / "t.a3m").write_text(">t1\nMKVLAW\n")
    out, link = inputs / "new", inputs / "link"
    link.symlink_to(out)
    for kind in ("script", "sqlite", "fastq"):
        out.write_bytes(TEXT[kind])
        for path in (out, link):
            with pytest.raises(swdual.OutputError, match="exists; use"):
                LIBRARY[name](path)
            with pytest.raises(swdual.OutputError, match="exists and is not"):
                LIBRARY[name](path, force=True)
            assert out.read_bytes() == TEXT[kind]
    out.write_bytes(b"")
    LIBRARY[name](link, force=True)
    content = out.read_bytes()
    assert content
    LIBRARY[name](link, force=True)
    assert link.is_symlink()
    assert out.read_bytes() == content


def test_a_table_is_not_converted_onto_itself(inputs):
    from swdual.results.conversion import convert

    before = (inputs / "hits.tsv").read_bytes()
    with pytest.raises(swdual.OutputError, match="is also an input"):
        convert("hits.tsv", "hits.tsv", force=True)
    assert (inputs / "hits.tsv").read_bytes() == before


def test_the_part_file_is_beside_the_file_that_a_link_leads_to(inputs, monkeypatch):
    """So that renaming it needs no copy, on whatever file system it is."""
    from swdual.io.file_kind import TABLE
    from swdual.io.output import replace_file

    (inputs / "disk").mkdir()
    (inputs / "hits").symlink_to("disk/hits.tsv")
    with replace_file("hits", TABLE, force=False) as stream:
        stream.write(b"x")
        assert os.listdir(inputs / "disk") == [".hits.tsv.part"]
    assert os.listdir(inputs / "disk") == ["hits.tsv"]


def test_messages_are_appended_to_no_input(run, here):
    """To another file they are, whatever it holds; a link to an input is that input."""
    before = (here / "q.fa").read_bytes()
    (here / "link").symlink_to("q.fa")
    (here / "notes").write_text("mine\n")
    for file in ("q.fa", "link"):
        outcome = run("search", "q.fa", "t.fa", "--log", file)
        assert outcome.code == 6
        assert f"{file}: is also an input or output; append the messages" in outcome.err
        assert (here / "q.fa").read_bytes() == before
    for words in (("search", "q.fa", "t.fa", "-o", "new"), ("makedb", "t.fa", "new")):
        assert run(*words, "--log", "./new").code == 6
        assert not (here / "new").exists()
    assert run("search", "q.fa", "t.fa", "--log", "notes").code == 0
    assert (here / "notes").read_text().startswith("mine\n2")


def test_results_replace_no_file_that_was_searched(here):
    """Neither the queries nor the database, in Python; nor do some of the results."""
    (here / "q.tsv").write_bytes((here / "q.fa").read_bytes())
    files = [here / name for name in ("q.tsv", "t.fa")]
    before = [file.read_bytes() for file in files]
    found = swdual.search("q.tsv", "t.fa")
    for results in (found, found.top(1), found[:1]):
        for file in files:
            with pytest.raises(OutputError, match="is also an input"):
                results.write_fasta(file, force=True)
        with pytest.raises(OutputError, match="is also an input"):
            results.write("q.tsv", force=True)
    assert [file.read_bytes() for file in files] == before
