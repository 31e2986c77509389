"""Case 13: a builder that dies, two at once, and databases that change while they are searched."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from swdual.database import build
from swdual.database.database import Database
from swdual.database.makedb import makedb
from swdual.errors import DatabaseError

pytestmark = pytest.mark.process

MAKEDB = [sys.executable, "-m", "swdual", "makedb"]


@pytest.fixture
def moments(here):
    """The folders in which a builder died, at every moment at which it could; the last did not."""

    def die(before, shards=0):
        program = Path(__file__).parents[1] / "support" / "crash.py"
        done = subprocess.run(
            [sys.executable, program, here / "scratch", before, str(shards)],
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.stderr == ""
        *killed, last = map(int, done.stdout.split())
        assert set(killed) == {-signal.SIGKILL}
        assert last == 0
        return sorted((here / "scratch").iterdir())

    return die


@pytest.mark.case(number=13)
@pytest.mark.parametrize("before", ["none", "old"])
def test_a_builder_that_dies_leaves_the_old_database_or_the_new(moments, here, monkeypatch, before):
    """At whatever moment: the old file intact, or the new one complete, or none if none was there;
    the next build succeeds, and nothing but the database is left."""
    monkeypatch.setattr(build, "BLOCK_BYTES", 16)
    folders = moments(before)
    old = (here / "warm.db").read_bytes() if before == "old" else None
    new = (folders[-1] / "x.db").read_bytes()
    with Database.open(folders[-1] / "x.db", check=True) as database:
        assert [sequence.id for sequence in database] == ["t1", "t2", "t3"]
    found = []
    for folder in folders:
        path = folder / "x.db"
        found.append(path.read_bytes() if path.exists() else None)
        assert set(os.listdir(folder)) <= {"x.db", ".x.db.part"}
        makedb("t.fa", path, force=True).close()
        assert path.read_bytes() == new
        assert os.listdir(folder) == ["x.db"]
    died = found.index(new)
    assert set(found[:died]) == {old}
    assert set(found[died:]) == {new}
    assert 50 < died < len(found) - 1


@pytest.mark.parametrize("before", ["none", "old"])
def test_a_builder_of_shards_that_dies_leaves_nothing_that_is_believed(
    moments, here, monkeypatch, before
):
    """At whatever moment: the old database, the new one, or an error that names the shard; the next
    build succeeds, and nothing but the database is left."""
    monkeypatch.setattr(build, "BLOCK_BYTES", 16)
    folders = moments(before, 3)
    names = ["x.db", "x.db.000", "x.db.001", "x.db.002"]
    new = {name: (folders[-1] / name).read_bytes() for name in names}
    found = []
    for folder in folders:
        path = folder / "x.db"
        found.append(_what_is_there(path))
        left = set(os.listdir(folder))
        assert left <= {*names, *(f".{name}.part" for name in names)}
        makedb("t.fa", path, shards=3, force=True).close()
        assert {name: (folder / name).read_bytes() for name in names} == new
        assert sorted(os.listdir(folder)) == names
    changes = [each for each, before in zip(found, [None, *found], strict=False) if each != before]
    assert changes == (["none", "new"] if before == "none" else ["old", "refused", "new"])
    assert found.index("new") > 50


@pytest.mark.smoke
@pytest.mark.case(number=13)
def test_what_a_killed_builder_leaves_is_reported_and_used_up(run, here):
    """Without a database: exit code 2 and how to build it; what is left of it does not stay."""
    with subprocess.Popen(
        [*MAKEDB, "-", "x.db", "--dbtype", "prot"], stdin=subprocess.PIPE
    ) as process:
        process.stdin.write((here / "t.fa").read_bytes())
        process.stdin.flush()
        _until((here / ".x.db.part").exists)
        process.kill()
    assert (here / ".x.db.part").exists()
    outcome = run("info", "x.db", "--check")
    assert outcome.code == 2
    words = "x.db: cannot be opened (No such file or directory); build it with 'swdual makedb'"
    assert outcome.err == f"swdual: error: {words}\n"
    assert run("makedb", "t.fa", "x.db").code == 0
    assert run("info", "x.db", "--check").code == 0
    assert sorted(os.listdir(here)) == ["q.fa", "scratch", "t.fa", "x.db"]


@pytest.mark.case(number=13)
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_two_builders_do_not_share_a_path(run, here, force):
    """The second is refused with exit code 6 and told who is at it; the first is not disturbed."""
    if force:
        makedb("q.fa", "x.db").close()
    command = [*MAKEDB, "-", "x.db", "--dbtype", "prot", *force]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        _until((here / ".x.db.part").exists)
        time.sleep(0.1)
        outcome = run("makedb", "q.fa", "x.db", *force)
        assert outcome.code == 6
        holder = rf"(process {process.pid} on {re.escape(socket.gethostname())}|another process)"
        words = rf"swdual: error: x\.db: is being written by {holder}; wait for it, or .*\n"
        assert re.fullmatch(words, outcome.err)
        _, err = process.communicate((here / "t.fa").read_bytes(), timeout=300)
        assert process.returncode == 0, err
    with Database.open("x.db", check=True) as database:
        assert [sequence.id for sequence in database] == ["t1", "t2", "t3"]
    assert ".x.db.part" not in os.listdir(here)


# A database that changes while it is searched.


@pytest.fixture
def database(here):
    """A database of several blocks, and queries for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "BLOCK_BYTES", 16)
        makedb("t.fa", "x.db").close()
    return here / "x.db"


@pytest.fixture
def meanwhile(monkeypatch):
    """Have something happen when the first query of a search has been answered."""
    from swdual.master.search import Search

    results = Search.results

    def set_up(happens):
        def disturbed(self):
            answers = results(self)
            yield next(answers)
            happens()
            yield from answers

        monkeypatch.setattr(Search, "results", disturbed)
        monkeypatch.setattr("swdual.master.setup.MAX_BATCH_QUERIES", 1)

    return set_up


SEARCH = ("search", "q.fa", "x.db", "-o", "hits.tsv")


@pytest.mark.smoke(1)
@pytest.mark.case(number=13)
@pytest.mark.parametrize("way", ["makedb", "rename", "unlink"])
def test_a_search_goes_on_in_the_file_that_it_opened(run, here, database, meanwhile, way):
    """Replaced by another, or removed: the output is that of the database at the start."""
    expected = run("search", "q.fa", "x.db").out
    assert expected.count("\n") > 2
    makedb("q.fa", "other.db").close()
    meanwhile(
        {
            "makedb": lambda: makedb("q.fa", "x.db", force=True).close(),
            "rename": lambda: os.replace("other.db", "x.db"),
            "unlink": lambda: os.unlink("x.db"),
        }[way]
    )
    assert run(*SEARCH).code == 0
    assert (here / "hits.tsv").read_text() == expected


@pytest.mark.smoke(1)
@pytest.mark.case(number=13)
@pytest.mark.parametrize("left", [0, 100, 4096, "half", "all but one"])
def test_a_database_that_is_cut_short_ends_the_search(run, here, database, meanwhile, left):
    """Exit code 2; file, bytes and remedy; no output."""
    size = database.stat().st_size
    left = {"half": size // 2, "all but one": size - 1}.get(left, left)
    meanwhile(lambda: os.truncate("x.db", left))
    outcome = run(*SEARCH)
    assert outcome.code == 2
    assert outcome.err.splitlines()[0] == (
        f"swdual: error: x.db: was truncated while it was in use: {left} bytes of {size} are left; "
        "copy it or build it again with 'swdual makedb'"
    )
    assert not (here / "hits.tsv").exists()


@pytest.mark.smoke(1)
@pytest.mark.case(number=13)
@pytest.mark.parametrize("name", ["residues/0", "starts/1", "ordinals/2", "names"])
def test_a_bit_that_flips_during_a_search_ends_it(run, here, database, meanwhile, name):
    """Exit code 2; file, section and remedy: what was verified is so again once it was written."""
    with Database.open("x.db") as opened:
        place = {section.name: section.offset for section in opened.manifest.sections}[name]

    def flip():
        _wait_for_the_clock(database)
        with open("x.db", "r+b") as file:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 4]))

    meanwhile(flip)
    outcome = run(*SEARCH)
    assert outcome.code == 2
    assert outcome.err.splitlines()[0] == (
        "swdual: error: x.db: was changed while it was in use: "
        f"damaged section {name!r} (checksum mismatch); "
        "copy it or build it again with 'swdual makedb'"
    )
    assert not (here / "hits.tsv").exists()


@pytest.mark.case(number=13)
@pytest.mark.parametrize("way", ["touched", "written anew", "copied over"])
def test_a_database_that_is_still_the_same_goes_on_being_searched(
    run, here, database, meanwhile, way
):
    """Its times, or its bytes by the same bytes: it is verified again, and nothing is wrong."""
    expected = run("search", "q.fa", "x.db").out
    shutil.copy("x.db", "copy.db")

    def happens():
        _wait_for_the_clock(database)
        if way == "touched":
            os.utime("x.db")
        else:
            Path("x.db").write_bytes(Path("copy.db").read_bytes())

    meanwhile(happens)
    assert run(*SEARCH).code == 0
    assert (here / "hits.tsv").read_text() == expected


@pytest.mark.case(number=13)
def test_scores_of_a_file_that_changed_meanwhile_are_not_accepted(here, database, monkeypatch):
    """The change comes while a kernel is at work: what it computes is not believed.

    Nobody else is at work: the system ends a process that reads what is being cut off.
    """
    import swdual
    from swdual.backends import simd

    best = simd.SimdScorer.best

    def disturbed(self, *arguments):
        found = best(self, *arguments)
        os.truncate("x.db", 4096)
        return found

    monkeypatch.setattr(simd.SimdScorer, "best", disturbed)
    with Database.open("x.db") as opened, pytest.raises(DatabaseError, match="was truncated"):
        swdual.search("MKVLAW", opened, threads=1)


def _what_is_there(path):
    """Return which database opens and is whole, or whether one is refused because of its shards."""
    if not path.exists():
        return "none"
    try:
        with Database.open(path, check=True) as database:
            return {"q1": "old", "t1": "new"}[database[0].id]
    except DatabaseError as error:
        return "refused" if f"{path}.0" in error.file and "shard" in error.message else str(error)


def _until(condition):
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def _wait_for_the_clock(path):
    """Wait until what is written now has another time than what is there."""
    before, probe = path.stat().st_mtime_ns, path.with_suffix(".probe")
    _until(lambda: probe.write_bytes(b"") or probe.stat().st_mtime_ns > before)
    probe.unlink()
