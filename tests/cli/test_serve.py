"""`swdual serve`: what it refuses before it listens."""

from __future__ import annotations

import socket
import sys

import pytest

from swdual.database.makedb import makedb


@pytest.fixture
def database(here):
    makedb([here / "t.fa"], here / "t.db").close()
    return "t.db"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 1, "DB..."),
        (("none.db",), 2, "none.db: cannot be opened"),
        (("t.fa",), 2, "t.fa"),
        (("t.db", "t.db"), 1, "two databases are called t.db; rename one"),
        (("t.db", "--host", "0.0.0.0"), 1, "--host lets other machines in, which needs a token"),
        (("t.db", "--allow-host", "x.org"), 1, "--allow-host lets other machines in"),
        (("t.db", "--token-file", "q.fa"), 1, "token 1 must have at least 16 printable ASCII"),
        (("t.db", "--token-file", "none"), 1, "none: cannot be opened"),
        (("t.db", "--port", "65536"), 1, "--port"),
        (("t.db", "--max-cells", "many"), 1, "not a size"),
    ],
)
def test_it_says_what_is_wrong_before_it_listens(run, database, arguments, code, words):
    done = run("serve", *arguments)
    assert done.code == code
    assert words in done.err
    assert "listening" not in done.err


def test_a_damaged_database_is_refused_at_the_start(run, here, database):
    data = (here / database).read_bytes()
    assert data.count(b"t1 one") == 1
    (here / database).write_bytes(data.replace(b"t1 one", b"t1 two"))
    done = run("serve", database)
    assert done.code == 2
    assert "t.db" in done.err


def test_a_port_that_is_taken_is_told(run, database):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("serve", database, "--port", str(taken.getsockname()[1]))
    assert done.code == 5
    assert "cannot listen on 127.0.0.1 port" in done.err
    assert "--port" in done.err


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_the_missing_extra_is_named_with_the_command_that_installs_it(
    run, database, monkeypatch, package
):
    for name in [*sys.modules]:
        if name.startswith(("swdual.server.", package)):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    done = run("serve", database)
    assert done.code == 5
    assert "pip install" in done.err
    assert package in done.err


def test_a_client_without_httpx_is_told_how_to_install_it(run, database, monkeypatch):
    monkeypatch.delitem(sys.modules, "swdual.server.client", raising=False)
    monkeypatch.delattr("swdual.server.client", raising=False)
    monkeypatch.setitem(sys.modules, "httpx", None)
    done = run("search", "q.fa", database, "--server", "http://127.0.0.1:1")
    assert done.code == 5
    assert "pip install" in done.err
    assert "httpx" in done.err
