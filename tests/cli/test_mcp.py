"""`swdual mcp`: what it refuses before it listens; tests/server/test_mcp.py calls the tools."""

from __future__ import annotations

import sys

import pytest

from swdual.database.makedb import makedb


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 1, "DB..."),
        (("none.db",), 2, "none.db: cannot be opened"),
        (("t.fa",), 2, "t.fa"),
        (("t.db", "t.db"), 1, "two databases are called t.db; rename one"),
        (("t.db", "--max-cells", "many"), 1, "not a size"),
    ],
)
def test_it_says_what_is_wrong_before_it_listens(refuses, here, arguments, code, words):
    pytest.importorskip("mcp")
    makedb([here / "t.fa"], here / "t.db").close()
    refuses(code, [words], "mcp", *arguments)


def test_the_missing_extra_is_named_with_the_command_that_installs_it(refuses, monkeypatch):
    for name in [*sys.modules]:
        if name == "swdual.server.agents" or name.split(".")[0] == "mcp":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    refuses(1, ["pip install", "mcp"], "mcp", "t.db")
