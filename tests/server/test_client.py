"""`swdual search --server`: the bytes, messages and exit codes of a search on this machine."""

from __future__ import annotations

import gzip
import json
import re
import socket
import threading

import pytest
from support.formats import FORMATS, OF_A_RUN
from support.servers import other_server, running_server
from support.taxa import TWO_SPECIES, write_dump

from swdual.database.makedb import makedb
from swdual.errors import InputError
from swdual.server import client
from swdual.server.limits import Limits

TOKEN = "0123456789abcdef"

_TIME = re.compile(r"[0-9.]+ s\n|under 1 ms\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("databases")


@pytest.fixture(scope="module")
def database(folder):
    (folder / "t.fa").write_bytes(
        b">t1 one OX=9606\nMKVLAWGGHERMKV\n>t2 \xe9 OX=562\nGGGGWW\n>t3\nACDEFGHIKLMNPQRSTVWYACD\n"
    )
    taxonomy = write_dump(TWO_SPECIES, folder / "taxdump")
    makedb([folder / "t.fa"], folder / "t.db", taxonomy=taxonomy).close()
    return folder / "t.db"


@pytest.fixture(scope="module")
def url(database):
    with running_server(database) as (address, _):
        yield address


@pytest.fixture
def both(run, here, database, url):
    """Run a search here and on the server; return both outcomes."""
    (here / "t.db").symlink_to(database)
    (here / "latin.fa").write_bytes(b">q\xe9 caf\xe9\nMKVLAWGGHER\n")
    (here / "packed.fa.gz").write_bytes(gzip.compress((here / "q.fa").read_bytes()))
    (here / "cut.fa.gz").write_bytes(gzip.compress((here / "q.fa").read_bytes())[:-9])
    (here / "empty.fa").write_bytes(b"")
    (here / "ids").write_bytes(b"# kept\nt1 one\n>t2\n\n")
    (here / "wrong.fa").write_bytes(b">q\nMKV\nMK1V\n")

    def search(*arguments, stdin=b""):
        return [run("search", *arguments, *more, stdin=stdin) for more in ((), ("--server", url))]

    return search


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_the_same_bytes(both, name):
    local, remote = both("q.fa", "t.db", "-f", name)
    if name in OF_A_RUN:  # it tells of the time and the command
        assert local.out.count("<script") == remote.out.count("<script")
        assert "hits of 2 queries in t.db" in remote.out
    else:
        assert remote.out == local.out
        assert local.out
    assert _TIME.sub("", remote.err) == _TIME.sub("", local.err)


@pytest.mark.parametrize(
    "arguments",
    [
        ("latin.fa", "t.db", "-f", "6 qseqid qtitle stitle"),
        ("packed.fa.gz", "t.db"),
        ("q.fa", "t.db", "-e", "1e-3", "-k", "1", "--matrix", "blosum45"),
        ("q.fa", "t.db", "-f", "csv", "--no-header"),
        ("q.fa", "t.db", "-f", "6 qseqid sseqid", "--comp-based-stats", "0", "--stats", "none"),
        ("-query", "q.fa", "-db", "t.db", "-outfmt", "7", "-seg", "yes", "-soft_masking", "true"),
        ("q.fa", "t.db", "-o", "-", "--max-hsps", "0", "--min-identity", "30"),
        ("q.fa", "t.db", "--taxids", "9606,562", "-f", "6 std staxids sscinames"),
        ("q.fa", "t.db", "-negative_taxids", "2", "--search-space", "database"),
        ("q.fa", "t.db", "--taxids", "Escherichia coli,human", "-f", "7"),
        ("q.fa", "t.db", "-seqidlist", "ids", "-f", "7"),
        ("q.fa", "t.db", "--not-target-ids", "ids"),
        ("q.fa", "t.db", "-query_loc", "3-", "-e", "1e6"),
        ("q.fa", "t.db", "-f", "lca", "-k", "1"),
        ("q.fa", "t.db", "-dbsize", "300000000000", "-e", "1e12"),
    ],
)
def test_options_have_the_same_effect(both, arguments):
    local, remote = both(*arguments)
    assert (remote.out, remote.code) == (local.out, local.code)
    assert local.code == 0
    assert local.out
    assert _TIME.sub("", remote.err) == _TIME.sub("", local.err)


@pytest.mark.parametrize(
    "arguments",
    [
        ("none.fa", "t.db"),
        ("empty.fa", "t.db"),
        ("wrong.fa", "t.db"),
        ("cut.fa.gz", "t.db"),
        ("q.fa", "t.db", "--task", "blastn"),
        ("q.fa", "t.db", "--gapopen", "-3"),
        ("q.fa", "t.db", "-f", "exe"),
        ("q.fa", "t.db", "-f", "0", "--align", "none"),
        ("q.fa", "t.db", "--db-hard-mask", "stored"),
        ("q.fa", "t.db", "--strand", "plus"),
        ("q.fa", "t.db", "-o", "hits.bam"),
        ("q.fa", "t.db", "--taxids", "many"),
        ("q.fa", "t.db", "--taxids", "homo sapient"),
        ("q.fa", "t.db", "--taxids", "7"),
        ("q.fa", "t.db", "-o", "q.fa", "--force"),
    ],
)
def test_errors_are_the_same(both, arguments):
    local, remote = both(*arguments)
    assert remote.code == local.code != 0
    assert remote.err == local.err


def test_standard_input_is_sent(both):
    local, remote = both("-", "t.db", stdin=b">q\nMKVLAWGGHER\n")
    assert remote.out == local.out != ""
    local, remote = both("-", "t.db", stdin=b"")
    assert remote.err == local.err
    assert "standard input" in local.err


def test_an_output_file_is_written_when_it_is_complete(run, here, url):
    done = run("search", "q.fa", "t.db", "--server", url, "-o", "hits.tsv.gz")
    assert done.code == 0
    assert gzip.decompress((here / "hits.tsv.gz").read_bytes()).startswith(b"q1\tt1\t")
    assert run("search", "q.fa", "t.db", "--server", url, "-o", "hits.tsv.gz").code == 6
    assert run("search", "q.fa", "x.db", "--server", url, "-o", "hits.csv").code == 5
    assert sorted(path.name for path in here.iterdir()) == [
        "hits.tsv.gz",
        "q.fa",
        "scratch",
        "t.fa",
    ]


@pytest.mark.parametrize(
    "more",
    [
        ("--cluster", "tcp://x:1"),
        ("-p", "2"),
        ("--resume", "-o", "x.tsv"),
        ("--trace", "x.json"),
        ("--device", "cpu"),
        ("-num_threads", "1"),
    ],
)
def test_options_of_this_machine_are_refused(run, more):
    done = run("search", "q.fa", "t.db", "--server", "http://127.0.0.1:1", *more)
    assert done.code == 1
    assert more[0] in done.err


@pytest.mark.parametrize(
    "server", ["", "127.0.0.1:80", "ftp://x", "http://", "http://a:b@x", "http://x:y", "http://[::"]
)
def test_an_address_that_is_none_is_refused(run, server):
    done = run("search", "q.fa", "t.db", "--server", server)
    assert done.code == 1
    assert "must be like http://127.0.0.1:8080" in done.err


def test_a_server_that_is_not_there_is_told_with_its_address(run, here):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        done = run("search", "q.fa", "t.db", "--server", url, "-o", "hits.tsv")
    assert done.code == 5
    assert f"{url}: the server cannot be reached" in done.err
    assert not (here / "hits.tsv").exists()


def test_the_token_comes_from_a_file_or_the_environment(run, here, database, monkeypatch):
    (here / "token").write_text(f"{TOKEN}\n")
    with running_server(database, tokens=[TOKEN]) as (url, _):
        refused = run("search", "q.fa", "t.db", "--server", url)
        assert refused.code == 5
        assert "asks for a token" in refused.err
        assert run("search", "q.fa", "t.db", "--server", url, "--token-file", "token").code == 0
        monkeypatch.setenv("SWDUAL_TOKEN", TOKEN)
        done = run("search", "q.fa", "t.db", "--server", url)
        assert done.code == 0
        assert TOKEN not in done.err


def test_a_limit_of_the_server_is_told(run, database):
    with running_server(database, limits=Limits(cells=10)) as (url, _):
        done = run("search", "q.fa", "t.db", "--server", url)
    assert done.code == 5
    assert "a job may have at most 10" in done.err


FINISHED = {
    **{"id": "abc", "state": "finished", "cells": 1, "cells_done": 1, "result_bytes": 3},
    **{"messages": [], "summary": "done", "problem": None},
}


def tell(state):
    """Return what answers every request of a search with a state, and its result with "abc"."""

    def answer(method, path):
        if path.endswith("/result"):
            return 200, b"abc"
        data = b"data: " + state + b"\n\n" if path.endswith("/events") else state
        return 202 if method == "POST" else 200, data

    return answer


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "a\r\nX: y"},
        {"messages": [{"level": "info"}]},
        {"problem": {"detail": "d", "exit_code": [1]}},
        {"cells": 10**400},
        {"summary": "x" * 5_000_000},
    ],
)
def test_what_is_no_server_of_swdual_is_told_so(run, here, changes):
    with other_server(tell(json.dumps(FINISHED | changes).encode())) as url:
        done = run("search", "q.fa", "t.db", "--server", url, "-o", "hits.tsv")
    assert done.code == 5
    assert f"{url}: what answers is no search server of swdual" in done.err
    assert not (here / "hits.tsv").exists()


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({}, 0, "done"),
        ({"messages": [{"level": "shutdown", "text": "x\x1b[31m"}]}, 0, "x?[31m"),
        ({"state": "running"}, 5, "cut off"),
        ({"result_bytes": 4}, 5, "cut off"),
    ],
)
def test_a_result_counts_only_if_the_server_says_that_it_is_all(run, changes, code, words):
    with other_server(tell(json.dumps(FINISHED | changes).encode())) as url:
        done = run("search", "q.fa", "t.db", "--server", url)
    assert (done.code, done.out) == (code, "abc")
    assert words in done.err


def test_a_compressed_answer_is_not_unpacked(run, monkeypatch):
    def fail(*arguments):
        raise AssertionError("something was unpacked")

    monkeypatch.setattr("zlib.decompressobj", fail)
    state = gzip.compress(json.dumps(FINISHED).encode())
    with other_server(tell(state), Content_Encoding="gzip") as url:
        done = run("search", "q.fa", "t.db", "--server", url)
    assert done.code == 5
    assert "no search server of swdual" in done.err


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
@pytest.mark.parametrize("by_proxy", [False, True])
def test_the_loss_of_the_machine_of_a_server_is_noticed(run, monkeypatch, host, by_proxy):
    """The connection that waits for the result is kept alive, wherever the server is."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    paths, connected = [], []
    connect = socket.create_connection

    def answer(method, path):
        paths.append(path)
        return tell(json.dumps(FINISHED).encode())(method, path)

    def note(*arguments, **options):
        connected.append(connect(*arguments, **options))
        return connected[-1].dup()

    monkeypatch.setattr(socket, "create_connection", note)
    with other_server(answer, host) as url:
        if by_proxy:
            monkeypatch.setenv("http_proxy", url)
        address = "http://192.0.2.1:8080" if by_proxy else url
        done = run("search", "q.fa", "t.db", "--server", address)
    assert done.code == 0, done.err
    assert (f"{address if by_proxy else ''}/jobs/abc/result") in paths
    kept = [each.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) for each in connected]
    for each in connected:
        each.close()
    assert kept.count(1) == 1  # of `dup`, the options are those of the same connection


def test_a_proxy_that_cannot_be_used_is_told(run, monkeypatch):
    monkeypatch.setenv("http_proxy", "ftp://192.0.2.1:1")
    done = run("search", "q.fa", "t.db", "--server", "http://192.0.2.2:1")
    assert done.code == 1
    assert "the proxy that the environment names cannot be used" in done.err


@pytest.mark.parametrize(("there", "code"), [(False, 5), (True, 0)])
def test_a_server_that_falls_silent_is_given_up_unless_it_answers(run, monkeypatch, there, code):
    """A proxy that holds events back makes a server look silent, too."""
    monkeypatch.setattr(client, "SILENT_SECONDS", 0.2)
    over, asked = threading.Event(), threading.Event()
    state = json.dumps(FINISHED).encode()

    def answer(method, path):
        if path.endswith("/events"):
            over.wait()
        elif path == "/healthz":
            asked.set()
            if not there:
                over.wait()
        elif path.endswith("/result"):
            (asked if there else over).wait()
            over.set()
        return tell(state)(method, path)

    with other_server(answer) as url:
        done = run("search", "q.fa", "t.db", "--server", url)
        over.set()
    assert asked.is_set()
    assert done.code == code, done.err
    assert done.out == ("abc" if there else "")
    assert there or "went away" in done.err


@pytest.mark.parametrize("token", ["short", "0123456789abcdeé", "0123456789abc\ndef"])
def test_a_token_that_no_header_can_have_is_refused(token):
    with (
        pytest.raises(InputError, match="printable ASCII"),
        client._connect("http://127.0.0.1:1", token),
    ):
        pass
