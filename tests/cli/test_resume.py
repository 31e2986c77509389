"""`--resume`: what was found before a search ended is not searched for again, nor lost."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cli.crash_search import OPTIONS
from fuzz.kills import left_over, torment
from support.genes import random_genes, random_proteins

from swdual.io.journal import Journal
from swdual.master import checkpoint, ranges
from swdual.master.checkpoint import Checkpoint
from swdual.master.completion import ATTRIBUTE
from swdual.master.search import Search

LETTERS = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)


def fasta(path, count, length, seed):
    rng = np.random.default_rng(seed)
    records = (f">s{k}\n".encode() + rng.choice(LETTERS, length).tobytes() for k in range(count))
    path.write_bytes(b"\n".join(records) + b"\n")


@pytest.fixture
def interrupted(run, here, monkeypatch):
    """A search that Ctrl-C ended when one task was kept."""
    keep = Checkpoint.keep

    def kept(self, *arguments):
        keep(self, *arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "keep", kept)
        outcome = run("search", "q.fa", "t.fa", "-o", "hits.tsv")
    assert (here / "hits.tsv.journal").exists()
    return outcome


@pytest.mark.case(number=21)
def test_an_interrupted_search_says_how_to_go_on(interrupted, here):
    """Case 21: exit code 130, and the last line is the remedy."""
    assert interrupted.code == 130
    first, last = interrupted.err.splitlines()
    assert first == "swdual: error: interrupted"
    assert last == (
        "swdual: what was found is kept in hits.tsv.journal; "
        "the same search with --resume goes on from there"
    )
    assert not (here / "hits.tsv").exists()
    assert not (here / ".hits.tsv.part").exists()


@pytest.mark.case(number=21)
@pytest.mark.parametrize("more", [[], ["--threads", "1"], ["--force"]], ids=["same", "1", "force"])
def test_it_goes_on_to_the_same_bytes(interrupted, run, here, more):
    assert run("search", "q.fa", "t.fa", "-o", "hits.tsv", "--resume", *more).code == 0
    assert run("search", "q.fa", "t.fa", "-o", "other.tsv").code == 0
    assert (here / "hits.tsv").read_bytes() == (here / "other.tsv").read_bytes()
    assert left_over(here) == ["hits.tsv", "other.tsv", "q.fa", "scratch", "t.fa"]


@pytest.mark.case(number=21)
@pytest.mark.parametrize(
    "masks",
    [["--mask", "tantan:0.01", "--soft-masking"], ["--db-soft-mask", "tantan:0.01"]],
    ids=["query", "target"],
)
def test_a_search_with_soft_masks_goes_on_to_the_same_bytes(run, here, monkeypatch, masks):
    """Candidates come from the journal; they are scored again."""
    fasta(here / "long.fa", 3, 150, seed=4)
    words = ["search", "long.fa", "long.fa", "-e", "1e6", "-f", "6 std qseq sseq", *masks]
    keep = Checkpoint.keep

    def kept(self, *arguments):
        keep(self, *arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "keep", kept)
        assert run(*words, "-o", "hits.tsv").code == 130
    assert (here / "hits.tsv.journal").exists()
    assert run(*words, "-o", "hits.tsv", "--resume").code == 0
    assert run(*words, "-o", "other.tsv").code == 0
    written = (here / "other.tsv").read_bytes()
    assert (here / "hits.tsv").read_bytes() == written
    assert written.upper() != written


def test_it_goes_on_though_the_file_was_complete(interrupted, run, here):
    """Killed after the output had its name, before the journal was deleted."""
    (here / "hits.tsv").write_text("what the search had written\n")
    assert run("search", "q.fa", "t.fa", "-o", "hits.tsv", "--resume").code == 0
    assert (here / "hits.tsv").read_text().startswith("q1\tt1\t")


def test_it_may_be_written_in_another_format(interrupted, run, here):
    """What was kept does not depend on it."""
    options = ["-o", "hits.tsv", "-f", "6 qseqid sseqid score"]
    assert run("search", "q.fa", "t.fa", *options, "--resume").code == 0
    assert (here / "hits.tsv").read_text().startswith("q1\tt1\t7")


def test_it_is_not_forgotten_unasked(interrupted, refuses):
    words = ["hits.tsv.journal: ", "did not end", "--resume goes on", "--force"]
    refuses(6, words, "search", "q.fa", "t.fa", "-o", "hits.tsv")


def test_force_begins_anew(interrupted, run, here):
    assert run("search", "q.fa", "t.fa", "-o", "hits.tsv", "--force").code == 0
    assert not (here / "hits.tsv.journal").exists()


@pytest.mark.case(number=21)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-e", "0.01"], ["evalue 10.0, not 0.01"]),
        (["--gapopen", "12"], ["gapopen 11, not 12"]),
        (["--subject-cover", "50"], ["min-target-cover 0.0, not 50.0"]),
        (["-seqidlist", "t.fa"], ["target-ids , not 6 identifiers with digest "]),
        (["--mask", "seg"], ["mask none, not seg:12,2.2,2.5"]),
        (
            ["-k", "1", "--min-raw-score", "9"],
            ["max-target-seqs 500, not 1; min-raw-score 1, not 9"],
        ),
    ],
    ids=["evalue", "gaps", "cover", "list", "mask", "both"],
)
def test_the_journal_of_another_search_is_refused(interrupted, refuses, options, words):
    """Naming each difference."""
    words = ["hits.tsv.journal: ", *words, "give what it was begun with", "--force"]
    refuses(6, words, "search", "q.fa", "t.fa", "-o", "hits.tsv", "--resume", *options)


def test_changed_files_are_noticed(interrupted, refuses, here):
    (here / "t.fa").write_text(">t1\nMKVLAWGGHE\n")
    words = ["hits.tsv.journal: ", "database of 3 sequences", "not of 1 sequences"]
    refuses(6, words, "search", "q.fa", "t.fa", "-o", "hits.tsv", "--resume")


def test_a_file_that_is_no_journal_is_never_touched(refuses, here):
    (here / "hits.tsv.journal").write_text("dear diary\n")
    for option in ("--resume", "--force"):
        words = ["hits.tsv.journal: is not a journal of swdual; rename it"]
        refuses(6, words, "search", "q.fa", "t.fa", "-o", "hits.tsv", option)


@pytest.mark.parametrize("out", [[], ["-o", "-"], ["-o", "/dev/null"]], ids=["none", "-", "device"])
def test_only_files_can_be_resumed(refuses, out):
    refuses(1, ["--resume needs the file", "-o FILE"], "search", "q.fa", "t.fa", *out, "--resume")


def test_resume_without_a_journal_begins_at_the_beginning(run, here):
    """So that a job script may always say it."""
    assert run("search", "q.fa", "t.fa", "-o", "hits.tsv", "--resume").code == 0
    assert left_over(here) == ["hits.tsv", "q.fa", "scratch", "t.fa"]


NO_ATTRIBUTES = OSError(errno.ENOTSUP, "Operation not supported")


@pytest.fixture(params=["attribute", "journal"])
def place(request, here, monkeypatch):
    """Where an output's record is kept; the journal has it where files have no attributes."""
    if request.param == "attribute":
        try:
            os.setxattr(here, ATTRIBUTE, b"1")
        except OSError:
            pytest.skip("files have no extended attributes here")
        os.removexattr(here, ATTRIBUTE)
        return request.param

    def refuse(*arguments):
        raise NO_ATTRIBUTES

    monkeypatch.setattr(os, "setxattr", refuse)
    monkeypatch.setattr(os, "getxattr", refuse)
    return request.param


SEARCHED = ["search", "q.fa", "t.fa", "-o", "hits.tsv", "--resume"]


@pytest.mark.parametrize("more", [[], ["--threads", "1"], ["--verify", "1"]], ids=" ".join)
def test_what_is_complete_is_not_searched_again(place, run, here, monkeypatch, more):
    """As where a job script is run again; what is there stays as it is, and nobody computes."""
    assert run(*SEARCHED).code == 0
    files = {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()}
    assert set(files) == {
        "q.fa",
        "t.fa",
        "hits.tsv",
        *(["hits.tsv.journal"] * (place == "journal")),
    }
    with monkeypatch.context() as patch:
        patch.setattr(Search, "prepare", None)
        outcome = run(*SEARCHED, *more)
    assert outcome.code == 0
    words = "hits.tsv is complete: nothing to resume; --force searches again"
    assert outcome.err == f"swdual: {words}\n"
    assert {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()} == files


def test_a_plain_search_is_known_to_be_complete(place, run, here):
    """Though --resume comes only later; without attributes, nothing is left beside the output."""
    assert run(*SEARCHED[:-1]).code == 0
    assert sorted(os.listdir(here)) == ["hits.tsv", "q.fa", "scratch", "t.fa"]
    outcome = run(*SEARCHED)
    if place == "attribute":
        assert outcome.code == 0
        assert "is complete" in outcome.err
    else:
        assert outcome.code == 6
        assert "nothing tells which search wrote it" in outcome.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-e", "0.01"], "evalue 10.0, not 0.01"),
        (["-k", "3", "--top", "20"], "max-target-seqs 500, not 3; top none, not 20.0"),
        (["--min-identity", "30"], "min-identity 0.0, not 30.0"),
        (["--max-hsps", "3"], "max-hsps 1, not 3"),
        (["--mask", "seg"], "mask none, not seg:12,2.2,2.5"),
        (["--lcase-masking"], "lcase-masking False, not True"),
        (["--soft-masking"], "soft-masking False, not True"),
        (["--db-hard-mask", "seg"], "db-hard-mask none, not seg:12,2.2,2.5"),
        (["--db-soft-mask", "tantan"], "db-soft-mask none, not tantan:0.5"),
        (["-f", "7"], "format tabular, not commented"),
        (["-f", "6 qseqid score"], "not qseqid score"),
        (["--header"], "header no, not yes"),
        (["-q", "t.fa", "-d", "t.fa"], "queries 2 with digest "),
        (["-q", "q.fa", "-d", "q.fa"], "database of 3 sequences with digest "),
        (["-q", "n.fa", "-d", "n.fa", "--dbtype", "nucl"], "matrix BLOSUM62 with digest "),
    ],
)
def test_the_output_of_another_search_is_not_called_complete(
    place, run, refuses, here, options, words
):
    """The difference is named, and the output is not touched."""
    (here / "n.fa").write_text(">n\nACGTACGTACGTACGTACGT\n")
    assert run(*SEARCHED).code == 0
    arguments = ["search", "-o", "hits.tsv", "--resume"] + (
        [] if "-q" in options else ["q.fa", "t.fa"]
    )
    said = ["hits.tsv: is the output of a search with ", words, "--force searches again"]
    refuses(6, said, *arguments, *options)
    assert run(*arguments, *options, "--force").code == 0
    assert "is complete" in run(*arguments, *options).err


def test_changed_queries_and_targets_are_noticed(place, run, refuses, here):
    """The names of the files are the same, not what is in them."""
    assert run(*SEARCHED).code == 0
    (here / "t.fa").write_text(">t1\nMKVLAWGGHE\n")
    refuses(6, ["database of 3 sequences", "not of 1 sequences"], *SEARCHED)


@pytest.mark.parametrize("content", [b"", b"some", b"more than there was" * 100], ids=len)
def test_an_output_that_was_changed_is_not_called_complete(place, run, refuses, here, content):
    """Cut short, or written by an editor that keeps the file."""
    assert run(*SEARCHED).code == 0
    with (here / "hits.tsv").open("r+b") as stream:
        stream.truncate()
        stream.write(content)
    refuses(6, ["hits.tsv: was changed since the search wrote it; --force"], *SEARCHED)


@pytest.mark.parametrize("origin", ["program", "release", "copy"])
def test_an_output_of_unknown_origin_is_not_called_complete(place, run, refuses, here, origin):
    """What another program or an older release wrote, or a copy, says nothing of its search."""
    if origin == "copy":
        assert run(*SEARCHED).code == 0
        content = (here / "hits.tsv").read_bytes()
        for path in (here / "hits.tsv", here / "hits.tsv.journal"):
            path.unlink(missing_ok=True)
        (here / "hits.tsv").write_bytes(content)
    elif origin == "program":
        (here / "hits.tsv").write_text("all there is\n")
    else:
        if place == "journal":
            pytest.skip("without attributes there is nothing to be changed")
        assert run(*SEARCHED).code == 0
        os.setxattr(here / "hits.tsv", ATTRIBUTE, b"[not what this release writes")
    words = ["hits.tsv: exists, but nothing tells which search wrote it", "--force searches again"]
    refuses(6, words, *SEARCHED)
    assert run(*SEARCHED, "--force").code == 0
    assert (here / "hits.tsv").read_text().startswith("q1\tt1\t")


def test_another_release_is_another_search(place, run, refuses, monkeypatch):
    """Its output may differ."""
    assert run(*SEARCHED).code == 0
    monkeypatch.setattr(checkpoint, "__version__", "99.1")
    refuses(6, ["release ", ", not 99.1"], *SEARCHED)


@pytest.mark.parametrize("word", [["--resume"], [], ["--force"]], ids=["resume", "plain", "force"])
def test_a_record_without_its_output_is_forgotten(place, run, here, word):
    """As where the output was deleted: the search begins, whatever was said."""
    assert run(*SEARCHED).code == 0
    whole = (here / "hits.tsv").read_bytes()
    (here / "hits.tsv").unlink()
    assert run(*SEARCHED[:-1], *word).code == 0
    assert (here / "hits.tsv").read_bytes() == whole


def test_a_compressed_output_is_known_too(place, run, here):
    assert run("search", "q.fa", "t.fa", "-o", "hits.csv.gz", "--resume").code == 0
    whole = (here / "hits.csv.gz").read_bytes()
    assert "is complete" in run("search", "q.fa", "t.fa", "-o", "hits.csv.gz", "--resume").err
    assert run("search", "q.fa", "t.fa", "-o", "hits.csv.gz", "--force").code == 0
    assert (here / "hits.csv.gz").read_bytes() == whole


def test_a_search_that_runs_is_not_called_complete(place, run, here):
    """Its journal is held by another process, and an older output is still there."""
    assert run(*SEARCHED).code == 0
    held = Journal(here / "hits.tsv.journal")
    try:
        outcome = run(*SEARCHED)
    finally:
        held.close()
    assert outcome.code == 6
    assert "hits.tsv.journal: is being written by process" in outcome.err


@pytest.mark.process
@pytest.mark.smoke(1)
@pytest.mark.case(number=24)
@pytest.mark.parametrize("room", [0, 200, 1500])
def test_a_full_disk_ends_with_the_file_and_the_remedy(spawn, here, room):
    """Case 24: whether the journal or the output has no room; then it goes on to the same bytes."""
    fasta(here / "many.fa", 60, 80, 1)
    search = ["search", "many.fa", "many.fa", "--stats", "none", "-k", "20"]
    assert spawn(*search, "-o", "whole.tsv").code == 0

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    outcome = spawn(*search, "-o", "hits.tsv", preexec_fn=little_room)
    assert outcome.code == 6
    assert "hits.tsv" in outcome.err.splitlines()[0]
    assert "cannot be written: File too large" in outcome.err
    assert not (here / "hits.tsv").exists()
    assert not (here / ".hits.tsv.part").exists()
    if (here / "hits.tsv.journal").exists():
        assert "--resume" in outcome.err.splitlines()[-1]
    assert spawn(*search, "-o", "hits.tsv", "--resume").code == 0
    assert (here / "hits.tsv").read_bytes() == (here / "whole.tsv").read_bytes()
    assert "hits.tsv.journal" not in left_over(here)


def begun(here, *options):
    """Begin a search of a minute in a process of its own; return it when it has kept something."""
    fasta(here / "long.fa", 160, 2000, 1)
    fasta(here / "wide.fa", 8000, 400, 2)
    command = [sys.executable, "-m", "swdual", "search", "long.fa", "wide.fa", "-o", "hits.tsv"]
    command += ["--threads", "2"]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE)
    until = time.monotonic() + 300
    while not (here / "hits.tsv.journal").exists() or not (
        (here / "hits.tsv.journal").stat().st_size > 2000
    ):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    return process


@pytest.mark.process
@pytest.mark.smoke(1)
@pytest.mark.case(number=21)
@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, b"interrupted"), (signal.SIGTERM, 143, b"term")],
)
@pytest.mark.parametrize("times", [1, 2])
def test_a_signal_ends_a_search_in_time(here, number, code, word, times):
    """Case 21: long before its end, with one line and the remedy, however often it comes."""
    process = begun(here)
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.05)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == code
    assert b"Traceback" not in errors
    if times == 1:
        assert word in errors
        assert errors.splitlines()[-1].endswith(b"with --resume goes on from there")
    assert (here / "hits.tsv.journal").exists()
    assert not (here / "hits.tsv").exists()


@pytest.mark.case(number=13)
def test_a_second_search_with_the_same_output_is_refused(here, run):
    """Case 13: it says who writes; the first is not disturbed."""
    process = begun(here)
    try:
        outcome = run("search", "q.fa", "t.fa", "-o", "hits.tsv", "--force")
        assert outcome.code == 6
        assert f"hits.tsv: is being written by process {process.pid} on " in outcome.err
        assert "wait for it, or write to another file" in outcome.err
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


@pytest.mark.process
@pytest.mark.case(number=21)
def test_kills_at_random_moments_lose_nothing(here):
    """A short run of what ``python tests/fuzz/kills.py`` does for long."""
    fasta(here / "long.fa", 12, 1000, 1)
    fasta(here / "wide.fa", 4000, 400, 2)
    tally = torment(here / "long.fa", here / "wide.fa", 6, 1)
    assert sum(tally.kills.values()) >= 6


@pytest.mark.process
@pytest.mark.parametrize("name", ["search", "iterate"])
def test_a_search_that_dies_at_any_moment_goes_on_to_the_same_bytes(here, run, monkeypatch, name):
    """Before, in the middle of and after every write of journal and output, and every rename."""
    fasta(here / "many.fa", 4 if name == "search" else 2, 400, 1)
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 500)
    program = Path(__file__).with_name("crash_search.py")
    tests = os.fspath(program.parents[1])
    done = subprocess.run(
        [sys.executable, program, here / "scratch", name],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")]),
        },
    )
    *killed, last = map(int, done.stdout.split())
    assert set(killed) == {-signal.SIGKILL}
    assert last == 0, done.stderr
    whole = (here / "hits.tsv").read_bytes()
    kept = []
    for folder in sorted((here / "scratch").iterdir()):
        out = folder / "hits.tsv"
        assert not out.exists() or out.read_bytes() == whole
        assert set(os.listdir(folder)) <= {"hits.tsv", "hits.tsv.journal", ".hits.tsv.part"}
        journal = folder / "hits.tsv.journal"
        kept.append(journal.stat().st_size if journal.exists() else 0)
        if kept[-1] or not out.exists():
            outcome = run(name, "many.fa", "many.fa", *OPTIONS[name], "-o", out, "--resume")
            assert outcome.code == 0, outcome.err
        assert out.read_bytes() == whole
        assert left_over(folder) == ["hits.tsv"]
    assert len(set(kept)) > 10


FAMILY = """>near1
MKVLAWGGHERWCDEFMKTAYIAKQR
>near2
MKVLSWGGHERWADEFMRTAYIAKNR
>near3
MRVLAYGGHDRWCEEFMKTSYIVKQR
>near4
MRILSYAGHDRWAEEYMKSSYIVRQR
>far
GGGGGGGGGGGGGGGGGGGGGGGGGGG
"""
ROUNDS = ["iterate", "two.fa", "f.fa", "--inclusion", "1e-12", "-f", "6 qseqid sseqid score round"]
ROUNDS += ["--each-round", "--iterations", "3", "--out-pssm", "p.asn", "--save-each-pssm"]
ROUNDS += ["--comp-based-stats", "0"]


@pytest.fixture
def family(here, monkeypatch):
    """Two queries, one with relatives in ``f.fa``; several tasks in each of three rounds."""
    (here / "f.fa").write_text(FAMILY)
    fasta(here / "two.fa", 1, 60, 1)
    with (here / "two.fa").open("a") as stream:
        stream.write(">mine\nMKVLAWGGHERWCDEFMKTAYIAKQR\n")
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 30)
    return here


def interrupt(monkeypatch, run, tasks, *words):
    """Run a command that Ctrl-C ends when so many tasks were kept; return whether it was ended."""
    keep, left = Checkpoint.keep, [tasks]

    def kept(self, *arguments):
        keep(self, *arguments)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "keep", kept)
        outcome = run(*words)
    assert outcome.code in (0, 130), outcome.err
    return outcome.code == 130


def files(folder):
    """Return what is in the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(("mode", "rounds"), [("0", 3), ("2", 2)])
def test_rounds_go_on_to_the_same_bytes_from_every_task(run, family, monkeypatch, mode, rounds):
    """The output and the profiles; what was kept is not searched again."""
    words = [*ROUNDS, "--comp-based-stats", mode, "-o", "hits.tsv"]
    before = files(family)
    assert run(*words).code == 0
    whole = files(family)
    assert {"hits.tsv", "p.asn.1.1", f"p.asn.2.{rounds - 1}"} <= set(whole)
    last = {int(line[-1]) for line in whole["hits.tsv"].decode().splitlines()}
    assert last == {*range(1, rounds + 1)}
    tasks = 0
    while True:
        for name in set(whole) - set(before):
            (family / name).unlink()
        tasks += 1
        if not interrupt(monkeypatch, run, tasks, *words):
            break
        assert (family / "hits.tsv.journal").exists()
        assert not interrupt(monkeypatch, run, 10**6, *words, "--resume")
        assert files(family) == whole
    assert tasks > 6


@pytest.mark.parametrize("tasks", [1, 4, 8])
def test_each_search_of_an_iterated_one_may_be_interrupted(run, family, monkeypatch, tasks):
    """Again and again: each time something is added to the journal."""
    assert run(*ROUNDS, "-o", "whole.tsv", "--force").code == 0
    times = 0
    more = ["--force"]
    while interrupt(monkeypatch, run, tasks, *ROUNDS, "-o", "hits.tsv", *more):
        times, more = times + 1, ["--resume"]
    assert times >= 8 // tasks
    assert (family / "hits.tsv").read_bytes() == (family / "whole.tsv").read_bytes()
    assert "hits.tsv.journal" not in left_over(family)


def test_interrupted_rounds_say_how_to_go_on(run, family, monkeypatch, refuses):
    """With one line; a plain second search is refused, and --force begins anew."""
    keep = Checkpoint.keep

    def kept(self, *arguments):
        keep(self, *arguments)
        if len(self._journal) > 8:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "keep", kept)
        outcome = run(*ROUNDS, "-o", "hits.tsv", "--quiet")
    assert outcome.code == 130
    assert outcome.err.splitlines() == [
        "swdual: error: interrupted",
        "swdual: what was found is kept in hits.tsv.journal; "
        "the same search with --resume goes on from there",
    ]
    for path in family.glob("p.asn*"):
        path.unlink()
    words = ["hits.tsv.journal: ", "did not end", "--resume goes on", "--force"]
    refuses(6, words, *ROUNDS, "-o", "hits.tsv")
    assert run(*ROUNDS, "-o", "hits.tsv", "--force").code == 0
    assert not (family / "hits.tsv.journal").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--inclusion", "1e-3"], "inclusion 1e-12, not 0.001"),
        (["--iterations", "4"], "iterations 3, not 4"),
        (["--pseudocount", "5"], "pseudocount 0, not 5"),
        (["--query-seed"], "query-seed False, not True"),
        (["--min-block-width", "5"], "min-block-width 0, not 5"),
        (["-e", "0.01"], "evalue 10.0, not 0.01"),
        (["-q", "f.fa", "-d", "f.fa"], "queries 2 with digest "),
        (["-q", "two.fa", "-d", "two.fa"], "database of 5 sequences"),
    ],
    ids=[
        "inclusion",
        "iterations",
        "pseudocount",
        "seed",
        "width",
        "evalue",
        "queries",
        "database",
    ],
)
@pytest.mark.parametrize("tasks", [1, 7])
def test_the_journal_of_other_rounds_is_refused(
    run, family, monkeypatch, refuses, options, words, tasks
):
    """As that of another search: each difference is named."""
    assert interrupt(monkeypatch, run, tasks, *ROUNDS, "-o", "hits.tsv")
    arguments = [x for x in ROUNDS if x not in ("two.fa", "f.fa") or "-q" not in options]
    said = ["hits.tsv.journal: is the journal of a search with", words, "give what it was begun"]
    refuses(6, said, *arguments, *options, "-o", "hits.tsv", "--resume")


def test_rounds_and_a_search_do_not_share_a_journal(run, family, monkeypatch, refuses):
    """Either way, the difference is named."""
    search = ["search", "two.fa", "f.fa", "--comp-based-stats", "0", "-o", "hits.tsv"]
    assert interrupt(monkeypatch, run, 1, *ROUNDS, "-o", "hits.tsv")
    refuses(6, ["iterations 3, not none", "inclusion 1e-12"], *search, "--resume")
    assert interrupt(monkeypatch, run, 1, *search, "--force")
    refuses(6, ["iterations none, not 3"], *ROUNDS, "-o", "hits.tsv", "--resume")


def test_complete_rounds_are_not_searched_again(place, run, family, refuses, monkeypatch):
    """Unless they were written otherwise."""
    words = [*ROUNDS, "-o", "hits.tsv", "--resume"]
    assert run(*words).code == 0
    written = files(family)
    with monkeypatch.context() as patch:
        patch.setattr(Search, "prepare", None)
        outcome = run(*words, "--threads", "1")
    assert outcome.err == (
        "swdual: hits.tsv is complete: nothing to resume; --force searches again\n"
    )
    assert files(family) == written
    for options, difference in (
        (["--inclusion", "1e-3"], "inclusion 1e-12, not 0.001"),
        (["--out-ascii-pssm", "p.txt"], "out-ascii-pssm none, not p.txt"),
        (["--save-pssm-after-last-round"], "save-pssm-after-last-round no, not yes"),
    ):
        refuses(6, ["is the output of a search with", difference], *words, *options)
    plain = [word for word in words if word != "--each-round"]
    refuses(6, ["each-round yes, not no"], *plain)


def test_rounds_of_a_multiple_alignment_go_on(run, family, monkeypatch, refuses):
    """With the same one only."""
    (family / "m.fa").write_text("".join(FAMILY.splitlines(keepends=True)[:4]))
    words = ["iterate", "--msa", "m.fa", "f.fa", "-o", "hits.tsv"]
    assert run(*words).code == 0
    whole = (family / "hits.tsv").read_bytes()
    (family / "hits.tsv").unlink()
    assert interrupt(monkeypatch, run, 2, *words)
    difference = ["queries 1 with digest"]
    refuses(6, difference, *words, "--resume", "--msa-master", "2")
    assert run(*words, "--resume").code == 0
    assert (family / "hits.tsv").read_bytes() == whole


@pytest.mark.process
def test_kills_of_rounds_at_random_moments_lose_nothing(here):
    """A short run of what ``python tests/fuzz/kills.py --command iterate`` does for long."""
    fasta(here / "long.fa", 4, 150, 1)
    fasta(here / "wide.fa", 4000, 300, 2)
    with (here / "wide.fa").open("a") as stream:
        stream.write((here / "long.fa").read_text())
    options = ("--out-pssm", "p.asn", "--iterations", "3", "--each-round")
    tally = torment(here / "long.fa", here / "wide.fa", 6, 1, options, "iterate")
    assert sum(tally.kills.values()) >= 6


@pytest.mark.parametrize(
    ("task", "more"), [("blastx", ()), ("blastx", ("-F", "15")), ("tblastn", ())]
)
def test_a_translated_search_goes_on(run, here, monkeypatch, task, more):
    """The frames of what was done are kept, and the output is that of one search."""
    proteins = random_proteins(5, 6)
    genes = random_genes(6, proteins)
    for name, records in (("p.fa", proteins), ("g.fa", genes)):
        (here / name).write_text("".join(f">{k}\n{x}\n" for k, x in records.items()))
    files = ("g.fa", "p.fa") if task == "blastx" else ("p.fa", "g.fa")
    types = ("--dbtype", "prot" if task == "blastx" else "nucl")
    words = ("search", *files, "--task", task, *types, "-e", "1e6", "-f", "6 std frames qseq sseq")
    words += more
    whole = run(*words)
    assert whole.out.count("\n") > 10
    keep, count = Checkpoint.keep, iter(range(3))

    def kept(self, *arguments):
        keep(self, *arguments)
        if next(count) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "keep", kept)
        assert run(*words, "-o", "hits.tsv").code == 130
    assert run(*words, "-o", "hits.tsv", "--resume").code == 0
    assert (here / "hits.tsv").read_text() == whole.out
    other = run(
        *words,
        "-o",
        "hits.tsv",
        "--query-gencode" if task == "blastx" else "--db-gencode",
        "4",
        "--resume",
    )
    assert "gencode" in other.err
