"""Files appear under their name only when they are complete, compressed as the name says."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import signal
import sys
import threading

import pytest

from swdual.errors import OutputError
from swdual.io.file_kind import TABLE
from swdual.io.output import replace_file, split_compression

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

UNPACK = {
    "gz": gzip.decompress,
    "bz2": bz2.decompress,
    "xz": lzma.decompress,
    "zst": zstd.decompress,
    "GZ": gzip.decompress,
}

CONTENT = b"one line\nanother line\n" * 5000


def fail_within(path, content):
    """Write some bytes, then fail before the file is complete."""
    with replace_file(path, TABLE, force=False, compress=True) as stream:
        stream.write(content)
        raise KeyError


@pytest.mark.parametrize("ending", UNPACK)
def test_the_name_says_the_compression(tmp_path, ending):
    """The content comes back, and the same content gives the same bytes under any name."""
    for name in (f"a.{ending}", f"b.tsv.{ending}"):
        with replace_file(tmp_path / name, TABLE, force=False, compress=True) as stream:
            stream.write(CONTENT[:1000])
            stream.write(CONTENT[1000:])
    packed = (tmp_path / f"a.{ending}").read_bytes()
    assert len(packed) < len(CONTENT) / 10
    assert UNPACK[ending](packed) == CONTENT
    assert packed == (tmp_path / f"b.tsv.{ending}").read_bytes()
    assert sorted(os.listdir(tmp_path)) == [f"a.{ending}", f"b.tsv.{ending}"]


def test_the_bytes_of_gzip_hold_neither_time_nor_name(tmp_path):
    """RFC 1952: no flags, so no name; and a time of zero."""
    with replace_file(tmp_path / "a.gz", TABLE, force=False, compress=True) as stream:
        stream.write(CONTENT)
    head = (tmp_path / "a.gz").read_bytes()[:8]
    assert head == b"\x1f\x8b\x08\x00\x00\x00\x00\x00"


def test_nothing_is_compressed_unasked(tmp_path):
    """Where the caller does not ask for it, or the name does not say it."""
    for name, compress in (("a.gz", False), ("a.tsv", True)):
        with replace_file(tmp_path / name, TABLE, force=False, compress=compress) as stream:
            stream.write(CONTENT)
        assert (tmp_path / name).read_bytes() == CONTENT


@pytest.mark.parametrize("ending", UNPACK)
def test_an_error_leaves_no_file(tmp_path, ending):
    with pytest.raises(KeyError):
        fail_within(tmp_path / f"a.{ending}", CONTENT)
    assert os.listdir(tmp_path) == []


def test_a_pipe_does_not_get_a_complete_stream_after_an_error(tmp_path):
    """Who reads it must notice that something is missing."""
    pipe = tmp_path / "a.gz"
    os.mkfifo(pipe)
    kept = []
    reader = threading.Thread(target=lambda: kept.append(pipe.read_bytes()))
    reader.start()
    with pytest.raises(KeyError):
        fail_within(pipe, os.urandom(100_000))
    reader.join()
    with pytest.raises(EOFError):
        gzip.decompress(kept[0])


def write_and_wait(path, reading):
    """Write a line to a pipe, then do nothing for long after its reader has left."""
    with replace_file(path, TABLE, force=False) as output:
        output.write(b"first\n")
        os.close(reading)
        threading.Event().wait(300)


def test_a_reader_that_leaves_ends_the_block_at_once(tmp_path, monkeypatch):
    """Though nothing is written meanwhile; afterwards SIGPIPE is ignored as before."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading, writing = os.pipe()
    with open(writing, "w") as stream, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        with pytest.raises(BrokenPipeError):
            write_and_wait("-", reading)
        os.dup2(os.open(os.devnull, os.O_WRONLY), writing)  # for what is flushed at the end
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(BrokenPipeError):
        write_and_wait(pipe, reading)
    assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN


def test_a_reader_that_stays_gets_everything(tmp_path):
    """And no thread is left."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with replace_file(path, TABLE, force=False) as output:
        output.write(b"all\n")
    assert os.read(reading, 100) == b"all\n"
    os.close(reading)
    assert not [each for each in threading.enumerate() if "reader" in each.name]
    assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN


@pytest.mark.parametrize("ending", ["gz", "tsv"])
def test_a_full_device_is_named(ending, tmp_path):
    """Also where all is written when the compression ends."""
    link = tmp_path / f"a.{ending}"
    link.symlink_to("/dev/full")
    with (
        pytest.raises(OutputError, match=rf"a\.{ending}: cannot be written: No space left"),
        replace_file(link, TABLE, force=True, compress=True) as stream,
    ):
        stream.write(b"a few bytes")


def test_the_complete_file_can_be_looked_at_before_it_has_its_name(tmp_path):
    """By `finish`, which may also refuse it."""
    seen = []

    def finish(descriptor):
        assert not (tmp_path / "a.gz").exists()
        seen.append(os.pread(descriptor, 1 << 20, 0))

    with replace_file(
        tmp_path / "a.gz", TABLE, force=False, compress=True, finish=finish
    ) as stream:
        stream.write(CONTENT)
    assert seen == [(tmp_path / "a.gz").read_bytes()]

    def refuse(descriptor):
        raise OSError(28, "No space left on device")

    with (
        pytest.raises(OutputError, match=r"b\.gz: cannot be written: No space left"),
        replace_file(tmp_path / "b.gz", TABLE, force=False, compress=True, finish=refuse) as stream,
    ):
        stream.write(CONTENT)
    assert os.listdir(tmp_path) == ["a.gz"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x.tsv.gz", ("x.tsv", "gzip")),
        ("x.XZ", ("x", "xz")),
        ("x.zst.tsv", ("x.zst.tsv", None)),
        (".gz", (".gz", None)),
        ("-", ("-", None)),
    ],
)
def test_the_ending_of_the_compression_is_split_off(name, expected):
    assert split_compression(name) == expected


def test_a_link_to_a_pipe_is_written_as_it_is(tmp_path):
    """As the shell's >(...), whose link leads to a name that does not exist."""
    read, write = os.pipe()
    try:
        with replace_file(f"/dev/fd/{write}", TABLE, force=False) as stream:
            stream.write(b"a\tb\n")
        assert os.read(read, 99) == b"a\tb\n"
    finally:
        os.close(read)
        os.close(write)
