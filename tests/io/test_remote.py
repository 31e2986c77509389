"""Remote files: ranges, streams, errors that pass and errors that stay."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import threading
import zipfile

import fsspec
import pytest
from support.http_files import ENDLESS_BYTES, HttpFiles

from swdual.errors import InputError
from swdual.io import remote
from swdual.io.remote import RemoteError, RemoteFile
from swdual.sequences.fasta import read_sequences

DATA = bytes(range(251)) * 40


@pytest.fixture(autouse=True)
def short_delays(monkeypatch):
    monkeypatch.setattr(remote, "DELAYS", (0.0, 0.0, 0.0))
    monkeypatch.setattr(remote, "CHUNK_BYTES", 1000)


@pytest.fixture
def server(here):
    (here / "data").write_bytes(DATA)
    with HttpFiles(here) as files:
        yield files


@pytest.fixture
def memory():
    """The files that fsspec has in memory."""
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()


def contents(url):
    """Return what a stream reads, and close it."""
    with RemoteFile(url).open_stream() as stream:
        return stream.read()


@pytest.mark.parametrize(
    "failures", [[], [500], [503, "cut"], ["cut"] * 3, ["slow"], [429, 408]], ids=str
)
def test_what_fails_for_the_moment_is_read_again(server, failures):
    """Every byte arrives once."""
    server.failures[:] = failures
    assert contents(server.url("data")) == DATA
    file = RemoteFile(server.url("data"))
    server.failures[:] = failures
    assert file.read(995, 2010) == DATA[995:2010]
    file.close()
    assert not server.failures


def test_only_what_is_asked_for_is_sent(server):
    file = RemoteFile(server.url("data"))
    assert file.size == len(DATA)
    assert file.read(3000, 3100) == DATA[3000:3100]
    assert file.read(len(DATA) - 5, len(DATA) + 5) == DATA[-5:]
    file.close()
    assert server.sent["data"] == 106  # one of them to find out that this works


def test_of_an_answer_without_an_end_no_more_is_read_than_was_asked_for(server):
    """What the server sends more than that is neither kept nor waited for."""
    file = RemoteFile(server.url("data"))
    assert file.is_seekable
    server.failures[:] = ["endless"]
    assert file.read(3000, 3100) == DATA[3000:3100]
    file.close()
    assert server.sent["data"] < ENDLESS_BYTES / 4  # the system takes some of what nobody reads


@pytest.mark.parametrize(
    ("failures", "words"),
    [
        ([404], "there is no such file; look at its name"),
        ([403], "access is denied (HTTP 403)"),
        ([500] * 4, "the server answers HTTP 500; try again later"),
        ([None, *["cut"] * 4], "; look at the network, and try again"),
    ],
)
def test_what_stays_is_an_error_without_secrets(server, failures, words):
    file = RemoteFile(server.url("data", "me:secret@", "?sig=secret"))
    server.failures[:] = failures
    with pytest.raises(RemoteError) as caught:
        file.read(0, 10)
    file.close()
    assert words in caught.value.strerror
    assert "secret" not in str(caught.value)
    assert not server.failures


def test_a_server_that_sends_whole_files_only_is_read_as_a_stream(server):
    """A part of a file is refused: to read it, all before it would be downloaded."""
    server.ranges = False
    assert contents(server.url("data")) == DATA
    file = RemoteFile(server.url("data"))
    with pytest.raises(RemoteError, match="cannot send parts of files; download it"):
        file.read(0, 10)
    file.close()
    server.failures[:] = [None, "cut"]
    with pytest.raises(RemoteError, match="look at the network"):
        contents(server.url("data"))


def test_a_file_that_changes_while_it_is_read_is_refused(server, here):
    file = RemoteFile(server.url("data"))
    stream = file.open_stream()
    assert stream.read(10) == DATA[:10]
    (here / "data").write_bytes(DATA[:5000] + b"x" + DATA[5001:])
    with pytest.raises(RemoteError, match="was changed while it was read"):
        stream.read()
    stream.close()


@pytest.mark.parametrize("name", ["nothing", "folder"])
@pytest.mark.parametrize("scheme", ["memory", "http"])
def test_what_is_no_file_is_refused(server, here, memory, name, scheme):
    memory.pipe("/folder/file", b"x")
    url = f"memory://{name}" if scheme == "memory" else server.url(name)
    with pytest.raises(RemoteError, match=r"no such file|is a directory"):
        RemoteFile(url)


def test_a_server_that_is_not_there_is_named_after_some_attempts(monkeypatch):
    attempts = []
    monkeypatch.setattr(remote, "DELAYS", (0.25, 0.5))
    monkeypatch.setattr(remote.time, "sleep", attempts.append)
    with pytest.raises(RemoteError, match="look at the network, and try again"):
        RemoteFile("http://127.0.0.1:1/q.fa")
    assert attempts == [0.25, 0.5]


@pytest.mark.parametrize(
    ("url", "module", "words"),
    [
        ("s3://bucket/q.fa", "s3fs", "s3:// needs s3fs: pip install s3fs"),
        ("gs://bucket/q.fa", "gcsfs", "gs:// needs gcsfs: pip install gcsfs"),
        ("zip://a::gs://bucket/q.zip", "gcsfs", "gs:// needs gcsfs: pip install gcsfs"),
        ("abfs://bucket/q.fa", "adlfs", "its protocol needs another package: Install adlfs"),
        ("http://host/q.fa", "aiohttp", "http:// needs aiohttp: pip install aiohttp"),
        ("memory://q.fa", "fsspec", "URLs need fsspec: pip install"),
    ],
)
def test_an_error_says_which_package_to_install(monkeypatch, url, module, words):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(RemoteError) as caught:
        RemoteFile(url)
    assert words in caught.value.strerror


def test_an_unknown_protocol_is_an_error():
    with pytest.raises(RemoteError, match="Protocol not known"):
        RemoteFile("nothing://q.fa")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_sequences_are_read_as_from_a_file(server, here, memory, pack):
    """The first bytes tell how a file is compressed, whatever its name."""
    text = "".join(f">s{k} title\n{'ACDEFGHIKLMNPQRSTVWY' * 5}\n" for k in range(200)).encode()
    (here / "s").write_bytes(pack(text))
    memory.pipe("/s", pack(text))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in/s", pack(text))
    (here / "s.zip").write_bytes(packed.getvalue())
    wanted = list(read_sequences(here / "s"))
    for url in (
        "memory://s",
        f"file://{here}/s",
        server.url("s"),
        f"zip://in/s::{server.url('s.zip')}",
        f"zip://in/s::file://{here}/s.zip",
    ):
        assert list(read_sequences(url)) == wanted


def test_errors_of_sequences_name_url_and_line(server, here):
    (here / "bad.fa").write_text(">a\nMK\n>b\nM1K\n")
    (here / "cut.gz").write_bytes(gzip.compress(b">a\nMKVL\n" * 500)[:-20])
    with pytest.raises(InputError, match=r"127\.0\.0\.1:\d+/bad\.fa\?\*\*\*:4: ") as caught:
        list(read_sequences(server.url("bad.fa", "me:secret@", "?key=secret")))
    assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="truncated gzip stream"):
        list(read_sequences(server.url("cut.gz")))
    with pytest.raises(InputError, match=r"none\.fa: cannot be opened: there is no such file"):
        list(read_sequences(server.url("none.fa")))


def test_a_stream_that_is_left_leaves_nothing(server):
    """Its thread ends with it."""
    before = threading.active_count()
    stream = RemoteFile(server.url("data")).open_stream()
    stream.read(10)
    stream.close()
    for thread in threading.enumerate():
        assert "reading ahead" not in thread.name
    assert threading.active_count() <= before + 2  # fsspec's own, and one of the server
