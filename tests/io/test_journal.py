"""Journals: what was written whole is there again, whatever else is in the file."""

from __future__ import annotations

import errno
import os
import sys

import pytest

from swdual.errors import OutputError
from swdual.io import journal as module
from swdual.io.journal import HEAD, MAGIC, Journal

RECORDS = [b"first", b"", bytes(range(40)), b"last"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.journal"


def written(path, records=RECORDS):
    journal = Journal(path)
    for record in records:
        journal.append(record)
    journal.close()
    return path.read_bytes()


def read(path):
    journal = Journal(path)
    records = [journal[k] for k in range(len(journal))]
    journal.close()
    return records


def test_records_are_there_again_and_more_can_follow(path):
    written(path)
    assert read(path) == RECORDS
    written(path, [b"more"])
    assert read(path) == [*RECORDS, b"more"]


def test_a_file_cut_anywhere_holds_the_records_before(path):
    """Whatever a full disk or a killed writer leaves: whole records, and room for others."""
    data = written(path)
    ends = [len(MAGIC)]
    for record in RECORDS:
        ends.append(ends[-1] + HEAD.size + len(record))
    assert ends[-1] == len(data)
    cuts = {cut for end in ends for cut in (end - 1, end, end + 1, end + HEAD.size)}
    for cut in sorted(cuts | set(range(len(MAGIC)))):
        path.write_bytes(data[:cut])
        whole = sum(end <= cut for end in ends[1:])
        assert read(path) == RECORDS[:whole]
        written(path, [b"next"])
        assert read(path) == [*RECORDS[:whole], b"next"]


def test_a_changed_byte_ends_what_is_believed(path):
    data = written(path)
    for place in range(len(MAGIC), len(data)):
        changed = bytearray(data)
        changed[place] ^= 0x40
        path.write_bytes(changed)
        found = read(path)
        assert found == RECORDS[: len(found)]
        assert len(found) < len(RECORDS)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b">query\nMKV\n", "is not a journal of swdual; rename it"),
        (b"swdual journal 9\n", "another release"),
    ],
)
def test_another_file_is_refused_and_left_as_it_is(path, content, words):
    path.write_bytes(content)
    with pytest.raises(OutputError, match=words) as error:
        Journal(path)
    assert str(path) in str(error.value)
    assert path.read_bytes() == content


def test_only_one_writes(path):
    first = Journal(path)
    holder = f"process {os.getpid()} on " if sys.platform == "linux" else "another process"
    with pytest.raises(OutputError, match=f"is being written by {holder}"):
        Journal(path)
    first.close()
    Journal(path).close()


def test_a_removed_journal_is_gone(path):
    journal = Journal(path)
    journal.append(b"something")
    journal.remove()
    assert not path.exists()


def test_records_are_stored_for_good_now_and_then(path, monkeypatch):
    """At once where no second may be lost, and never more often than asked otherwise."""
    synced = []
    monkeypatch.setattr(module.os, "fsync", synced.append)
    for seconds, expected in ((-1.0, len(RECORDS)), (3600.0, 0)):
        monkeypatch.setattr(module, "SYNC_SECONDS", seconds)
        synced.clear()
        written(path)
        assert len(synced) == expected


@pytest.mark.parametrize("room", [0, 3, 30])
def test_a_full_disk_loses_nothing_that_was_whole(path, monkeypatch, room):
    """A write that fails after some bytes; later the disk has room again."""
    journal = Journal(path)
    journal.append(b"whole")
    real = os.pwrite
    left = [room]

    def full(file, data, place):
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = real(file, data[: left[0]], place)
        left[0] -= count
        return count

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "pwrite", full)
        with pytest.raises(OutputError, match="No space left on device"):
            journal.append(b"x" * 100)
    journal.append(b"after")
    journal.close()
    assert read(path) == [b"whole", b"after"]
