"""`--resume`: what was found before a search ended is not searched for again, nor lost."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cli.crash_search import SEARCH
from fuzz.kills import torment

from swdual.master import task
from swdual.master.checkpoint import Checkpoint

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


@pytest.mark.parametrize("more", [[], ["--threads", "1"], ["--force"]], ids=["same", "1", "force"])
def test_it_goes_on_to_the_same_bytes(interrupted, run, here, more):
    assert run("search", "q.fa", "t.fa", "-o", "hits.tsv", "--resume", *more).code == 0
    assert run("search", "q.fa", "t.fa", "-o", "other.tsv").code == 0
    assert (here / "hits.tsv").read_bytes() == (here / "other.tsv").read_bytes()
    assert not (here / "hits.tsv.journal").exists()


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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-e", "0.01"], ["evalue 10.0, not 0.01"]),
        (["--gapopen", "12"], ["gapopen 11, not 12"]),
        (
            ["-k", "1", "--min-raw-score", "9"],
            ["max-target-seqs 500, not 1; min-raw-score 1, not 9"],
        ),
    ],
    ids=["evalue", "gaps", "both"],
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
        words = ["hits.tsv.journal: is in the way: it is no journal; rename it"]
        refuses(6, words, "search", "q.fa", "t.fa", "-o", "hits.tsv", option)


@pytest.mark.parametrize("out", [[], ["-o", "-"], ["-o", "/dev/null"]], ids=["none", "-", "device"])
def test_only_files_can_be_resumed(refuses, out):
    refuses(1, ["--resume needs the file", "-o FILE"], "search", "q.fa", "t.fa", *out, "--resume")


def test_resume_without_a_journal_begins_at_the_beginning(run, here):
    """So that a job script may always say it."""
    assert run("search", "q.fa", "t.fa", "-o", "hits.tsv", "--resume").code == 0
    assert sorted(os.listdir(here)) == ["hits.tsv", "q.fa", "scratch", "t.fa"]


def test_what_is_complete_is_not_searched_again(run, here):
    """As where a job was killed after all was done; what is there stays as it is."""
    (here / "hits.tsv").write_text("all there is\n")
    outcome = run("search", "q.fa", "t.fa", "-o", "hits.tsv", "--resume")
    assert outcome.code == 0
    words = "hits.tsv is complete: nothing to resume; --force searches again"
    assert outcome.err == f"swdual: {words}\n"
    assert (here / "hits.tsv").read_text() == "all there is\n"
    assert run("search", "q.fa", "t.fa", "-o", "hits.tsv", "--resume", "--force").code == 0
    assert (here / "hits.tsv").read_text().startswith("q1\tt1\t")


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
    assert not (here / "hits.tsv.journal").exists()


def begun(here, *options):
    """Begin a long search in a process of its own; return it when it has kept something."""
    fasta(here / "long.fa", 40, 2000, 1)
    fasta(here / "wide.fa", 8000, 400, 2)
    command = [sys.executable, "-m", "swdual", "search", "long.fa", "wide.fa", "-o", "hits.tsv"]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not (here / "hits.tsv.journal").exists() or not (
        (here / "hits.tsv.journal").stat().st_size > 2000
    ):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    return process


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, b"interrupted"), (signal.SIGTERM, 143, b"term")],
)
@pytest.mark.parametrize("times", [1, 2])
def test_a_signal_ends_a_search_in_time(here, number, code, word, times):
    """Case 21: in less than two seconds, with one line and the remedy, however often it comes."""
    process = begun(here)
    sent = time.monotonic()
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.05)
    _, errors = process.communicate(timeout=50)
    assert time.monotonic() - sent < 2
    assert process.returncode == code
    assert b"Traceback" not in errors
    if times == 1:
        assert word in errors
        assert errors.splitlines()[-1].endswith(b"with --resume goes on from there")
    assert (here / "hits.tsv.journal").exists()
    assert not (here / "hits.tsv").exists()


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


def test_kills_at_random_moments_lose_nothing(here):
    """A short run of what ``python tests/fuzz/kills.py`` does for long."""
    fasta(here / "long.fa", 12, 1000, 1)
    fasta(here / "wide.fa", 4000, 400, 2)
    tally = torment(here / "long.fa", here / "wide.fa", 6, 1)
    assert sum(tally.kills.values()) >= 6


def test_a_search_that_dies_at_any_moment_goes_on_to_the_same_bytes(here, run, monkeypatch):
    """Before, in the middle of and after every write of journal and output, and every rename."""
    fasta(here / "many.fa", 4, 400, 1)
    monkeypatch.setattr(task, "SMALLEST_RANGE", 500)
    program = Path(__file__).with_name("crash_search.py")
    tests = os.fspath(program.parents[1])
    done = subprocess.run(
        [sys.executable, program, here / "scratch"],
        check=True,
        capture_output=True,
        text=True,
        timeout=80,
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
            outcome = run(*SEARCH, "-o", out, "--resume")
            assert outcome.code == 0, outcome.err
        assert out.read_bytes() == whole
        assert os.listdir(folder) == ["hits.tsv"]
    assert len(set(kept)) > 10
