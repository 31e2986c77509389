"""Databases that another process has: metadata, and the blocks that were put into a folder."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.backends import simd
from swdual.database import build as building
from swdual.database.database import Database
from swdual.database.makedb import makedb
from swdual.database.mapping import MemoryFile
from swdual.database.source import TypedBatches
from swdual.errors import DatabaseError, OutputError
from swdual.sequences import matrices
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of

records = st.lists(
    st.tuples(st.integers(1, 90), st.integers(0, 24)).map(
        lambda parts: Sequence(f"{parts[0]} residues", bytes([parts[1]]) * parts[0])
    ),
    min_size=1,
    max_size=40,
)


@pytest.fixture(params=[None, 2], ids=["file", "shards"])
def whole(here, monkeypatch, request):
    """A database of three blocks."""
    monkeypatch.setattr(building, "BLOCK_BYTES", 16)
    with makedb("t.fa", "t.db", shards=request.param) as database:
        monkeypatch.undo()
        monkeypatch.chdir(here)
        yield database


@pytest.fixture
def remote(whole, here):
    """The same database, opened where none of its blocks is."""
    with Database.from_metadata(whole.metadata, "remote t.db", here / "parts") as database:
        yield database


def part(remote, number):
    """Return the file that a block is kept in."""
    return Path("parts", f"{remote.digest}.{number:06}")


def same(one, other):
    """Return whether two blocks are equal."""
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@examples(60)
@given(records, st.sampled_from([64, 400]), st.integers(0, 3))
def test_blocks_that_were_sent_are_the_blocks(sequences, block, shards):
    """All four arrays, the lengths by themselves, and codes by their places."""
    streams = [io.BytesIO() for _ in range(1 + min(shards, len(sequences)))]
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(building, "BLOCK_BYTES", block)
        building.build(
            TypedBatches([batch_of(sequences)], PROTEIN, "t"),
            streams[0],
            scratch=Path(folder),
            shards=streams[1:],
        )
        place = Path(folder, "x.db")
        place.write_bytes(streams[0].getvalue())
        for number, stream in enumerate(streams[1:]):
            Path(folder, f"x.db.{number:03}").write_bytes(stream.getvalue())
        with (
            Database.open(place) as whole,
            Database.from_metadata(whole.metadata, "x", Path(folder, "parts")) as remote,
        ):
            assert remote.manifest == whole.manifest
            assert remote.digest == whole.digest
            assert remote.metadata == whole.metadata
            for number, info in enumerate(whole.manifest.blocks):
                assert whole.has_block(number)
                assert not remote.has_block(number)
                data = whole.block_bytes(number)
                remote.put(number, data)
                assert remote.has_block(number)
                assert same(remote.block(number), whole.block(number))
                assert remote.block_bytes(number) == data
                assert np.array_equal(remote.lengths(number), whole.lengths(number))
                places = range(info.sequences)
                assert remote.codes_at(number, places) == whole.codes_at(number, places)


def test_metadata_hold_no_blocks_and_no_names(whole, remote):
    """What is asked for says what is missing; counts are known."""
    assert (len(remote), remote.residues, remote.alphabet) == (3, 43, PROTEIN)
    assert remote.held_bytes == 0
    assert len(whole.metadata) < 4096
    for use in (remote.block, remote.lengths, remote.block_bytes, lambda x: remote.codes_at(x, [])):
        with pytest.raises(DatabaseError) as failure:
            use(1)
        assert Path(failure.value.file).name == part(remote, 1).name
        assert failure.value.message == "is missing: it is block 1 of remote t.db; copy it here"
    for use in (lambda: remote.headers([0]), lambda: remote[0]):
        with pytest.raises(
            DatabaseError, match="was not sent; use a process that has the database"
        ):
            use()
    with pytest.raises(DatabaseError):
        remote.check()


def test_scores_are_those_of_the_file(whole, remote):
    """A kernel reads a part as it reads the file."""
    scheme = ScoringScheme(matrices.load("BLOSUM62"))
    query = PROTEIN.encode("MKVLAWGGHERMKV")
    remote.put(2, whole.block_bytes(2))
    found = [
        simd.bind(each, scheme)(query, 2, 0, 1, lambda cells: None) for each in (whole, remote)
    ]
    assert found[0].tolist() == found[1].tolist()
    assert found[0][0] > 0


def test_two_processes_share_a_folder(whole, remote):
    """What one has put, the other finds; to put it again does no harm to who is reading it."""
    remote.put(0, whole.block_bytes(0))
    held = remote.block(0)
    code = """
import sys
from pathlib import Path
from swdual.database.database import Database
with Database.open("t.db") as whole:
    other = Database.from_metadata(whole.metadata, "other", Path("parts"))
    assert [other.has_block(number) for number in range(3)] == [True, False, False]
    for number in (0, 1):
        other.put(number, whole.block_bytes(number))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
    assert [remote.has_block(number) for number in range(3)] == [True, True, False]
    assert same(held, whole.block(0))
    for number in (0, 1):
        assert same(remote.block(number), whole.block(number))
    assert sorted(os.listdir("parts")) == [part(remote, k).name for k in (0, 1)]


def test_databases_share_a_folder(whole, remote, here):
    """Their parts have other names."""
    with makedb("q.fa", "q.db") as other:
        beside = Database.from_metadata(other.metadata, "q", here / "parts")
        remote.put(0, whole.block_bytes(0))
        assert not beside.has_block(0)
        beside.put(0, other.block_bytes(0))
        assert same(beside.block(0), other.block(0))
        assert same(remote.block(0), whole.block(0))


@pytest.mark.parametrize("change", ["bit", "short", "other block", "nothing"])
def test_a_block_that_comes_damaged_is_not_kept(whole, remote, change):
    """The message says to send it again."""
    data = bytearray(whole.block_bytes(1))
    data[0] ^= 1
    bad = {"bit": data, "short": data[:20], "nothing": b"", "other block": whole.block_bytes(0)}
    words = r"remote t\.db: section 'residues/1' arrived damaged .*; send it again"
    with pytest.raises(DatabaseError, match=words):
        remote.put(1, bad[change])
    assert not remote.has_block(1)
    assert not Path("parts").exists() or not os.listdir("parts")


def test_a_damaged_block_is_not_sent(here):
    """Its checksums are verified where it is."""
    with makedb("t.fa", "t.db") as database:
        place = database.manifest.sections[0].offset
    data = bytearray(Path("t.db").read_bytes())
    data[place] ^= 1
    Path("t.db").write_bytes(data)
    with Database.open("t.db") as database, pytest.raises(DatabaseError, match="damaged section"):
        database.block_bytes(0)


def test_a_part_that_was_damaged_is_refused_until_it_is_put_again(whole, remote):
    """A flipped bit is found by the checksum, and the remedy is to remove the file."""
    remote.put(1, whole.block_bytes(1))
    data = bytearray(part(remote, 1).read_bytes())
    data[3] ^= 1
    part(remote, 1).write_bytes(data)
    assert remote.has_block(1)
    words = r"0001: damaged section 'residues/1' \(checksum mismatch\); remove it"
    for _ in range(2):
        with pytest.raises(DatabaseError, match=words):
            remote.block(1)
    remote.put(1, whole.block_bytes(1))
    assert same(remote.block(1), whole.block(1))


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "is empty; copy it here again"), (100, "has another size than its block; remove it")],
)
def test_a_part_of_another_size_is_none(whole, remote, size, words):
    """It is to be put again."""
    remote.put(1, whole.block_bytes(1))
    os.truncate(part(remote, 1), size)
    assert not remote.has_block(1)
    with pytest.raises(DatabaseError, match=words):
        remote.block(1)
    remote.put(1, whole.block_bytes(1))
    assert same(remote.block(1), whole.block(1))


def test_a_part_that_is_cut_short_while_it_is_used_is_noticed(whole, remote):
    """As a database's file is; one that is removed goes on being read."""
    for number in (0, 1):
        remote.put(number, whole.block_bytes(number))
        remote.block(number)
    os.truncate(part(remote, 0), 100)
    part(remote, 1).unlink()
    with pytest.raises(DatabaseError, match="was truncated while it was in use: 100 bytes"):
        remote.block(0)
    assert same(remote.block(1), whole.block(1))
    remote.release()
    assert same(remote.block(1), whole.block(1))


def test_blocks_of_missing_shards_are_taken_from_the_folder(here):
    """What a database has is read from its shards, the rest from parts, names from itself."""
    makedb("t.fa", "t.db", shards=3).close()
    shutil.copytree(".", "elsewhere")
    Path("elsewhere", "t.db.001").unlink()
    with (
        Database.open("t.db") as whole,
        Database.open("elsewhere/t.db", folder=here / "parts") as some,
    ):
        assert some.digest == whole.digest
        assert [some.has_block(number) for number in range(3)] == [True, False, True]
        with pytest.raises(DatabaseError, match=r"elsewhere/t\.db\.001: is missing"):
            some.block(1)
        some.put(1, whole.block_bytes(1))
        assert all(some.has_block(number) for number in range(3))
        assert list(some) == list(whole)
        for number in range(3):
            assert same(some.block(number), whole.block(number))
            assert some.block_bytes(number) == whole.block_bytes(number)
        some.check()


def test_what_cannot_be_kept_is_an_error_of_output(whole, remote):
    """Exit code 6: the folder is a file."""
    Path("parts").write_text("mine")
    with pytest.raises(OutputError, match=r"000001: cannot be written: "):
        remote.put(1, whole.block_bytes(1))
    assert Path("parts").read_text() == "mine"


def test_a_disk_that_is_full_keeps_nothing(whole, remote, monkeypatch):
    """What was written of the block is removed."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError, match="cannot be written: No space left on device"):
        remote.put(1, whole.block_bytes(1))
    assert os.listdir("parts") == []


def test_a_closed_database_opens_no_parts(whole, remote):
    """Neither those that it had open nor others."""
    for number in (0, 1):
        remote.put(number, whole.block_bytes(number))
    remote.block(0)
    remote.close()
    for number in (0, 1):
        with pytest.raises(DatabaseError, match="is closed"):
            remote.block(number)


@pytest.mark.parametrize("place", [0, 8, 20, 40, 252, 300, -1])
def test_damaged_metadata_are_refused(whole, here, place):
    """It has the checksums of a file."""
    data = bytearray(whole.metadata)
    data[place] ^= 1
    with pytest.raises(DatabaseError, match="remote"):
        Database.from_metadata(bytes(data), "remote", here / "parts")
    with pytest.raises(DatabaseError, match="remote"):
        Database.from_metadata(whole.metadata[:-1], "remote", here / "parts")


def test_digests_differ_where_content_or_layout_does(here, monkeypatch):
    """Equal files have equal ones; another cut of the same targets is another database."""

    def digest(*arguments, **options):
        with makedb(*arguments, **options, title="t", force=True) as database:
            return database.digest

    first = digest("t.fa", "t.db")
    assert digest("t.fa", "again.db") == first
    shards = digest("t.fa", "t.db", shards=1)
    monkeypatch.setattr(building, "BLOCK_BYTES", 16)
    assert len({first, shards, digest("t.fa", "t.db"), digest("q.fa", "q.db")}) == 4


def test_a_database_in_memory_sends_its_blocks(here):
    """As a file does."""
    batch = batch_of([Sequence("a", PROTEIN.encode("MKVLAW")), Sequence("b", bytes(40))])
    memory = Database.from_batches([batch], PROTEIN, "memory")
    remote = Database.from_metadata(memory.metadata, "remote", here / "parts")
    remote.put(0, memory.block_bytes(0))
    assert same(remote.block(0), memory.block(0))
    assert isinstance(memory._main, MemoryFile)
    assert memory.held_bytes > 0
